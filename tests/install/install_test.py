#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make install` puts down works for a user who has nothing else of Holt."""

import concurrent.futures
import pathlib
import re
import shutil
import sys
import unittest

from install_case import (ABI, BUILD, COMPILERS, HERE, MAJOR, MINOR, REPOSITORY, VERSION,
                          InstallCase, postgres_store, redis_store, run)

CONSUMER = HERE / "consumer"


class ConsumerTest(InstallCase):
    """A program of ten lines, by both ways, by both compilers, shared and static."""

    def test_find_package(self):
        has_asio = (self.prefix / "include/holt/asio.hpp").exists()
        components = "sqlite;asio" if has_asio else "sqlite"
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                name = compiler.rpartition("/")[2]
                self.configure(CONSUMER, name, f"-DCMAKE_CXX_COMPILER={compiler}",
                               f"-Dcomponents={components}", f"-Dversion={VERSION}")
                run("cmake", "--build", self.folder / name)
                self.assert_takes_lock(self.folder / name / "consumer")
                self.assert_takes_lock(self.folder / name / "consumer_static")
                if has_asio:
                    self.assert_takes_lock(self.folder / name / "consumer_asio")

    def test_engines_are_found(self):
        for server in (redis_store, postgres_store):
            with server(self.folder) as store:
                taken = run(self.prefix / "bin/holt", "run", "--lock", "x", "--", "echo", "locked",
                            env={"HOLT_STORE": store})
            self.assertEqual(taken, "locked\n")

    def pkg_config(self, *options) -> list[str]:
        # PKG_CONFIG_LIBDIR: no other package is known, so none can be needed.
        where = {"PKG_CONFIG_LIBDIR": str(self.library.parent / "pkgconfig")}
        return run("pkg-config", *options, "holt", env=where).split()

    def test_pkg_config(self):
        cflags, shared = self.pkg_config("--cflags"), self.pkg_config("--libs")
        static = ["-l:libholt.a" if word == "-lholt" else word
                  for word in self.pkg_config("--static", "--libs")]
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                program = self.folder / f"by-pkg-config-{compiler.rpartition('/')[2]}"
                run(compiler, "-std=c++23", *cflags, "-c", CONSUMER / "main.cpp",
                    "-o", f"{program}.o")
                run(compiler, f"{program}.o", *shared, "-o", program)
                self.assert_takes_lock(program, LD_LIBRARY_PATH=str(self.library.parent))
                run(compiler, f"{program}.o", *static, "-o", f"{program}-static")
                self.assert_takes_lock(f"{program}-static")
        self.check_modules(program)

    def check_modules(self, program):
        """An engine module is found beside the library; in the archive's case it must be named."""
        store = {"HOLT_STORE": f"relay://{self.folder}/relayed.db",
                 "LD_LIBRARY_PATH": str(self.library.parent)}
        [folder] = self.pkg_config("--variable=moduledir")
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(BUILD / "tests/module/modules/holt-engine-relay.so", folder)
        self.assert_takes_lock(program, **store)
        self.assert_takes_lock(f"{program}-static", HOLT_ENGINE_PATH=folder, **store)
        self.assertTrue((self.folder / "relayed.db").exists())


class ExamplesTest(InstallCase):
    def test_examples_build_and_run_against_it(self):
        self.configure(REPOSITORY / "examples", "examples", f"-DCMAKE_CXX_COMPILER={COMPILERS[0]}")
        run("cmake", "--build", self.folder / "examples")
        run(sys.executable, REPOSITORY / "tests/examples/examples_test.py",
            env={"HOLT_EXAMPLES": str(self.folder / "examples"),
                 "HOLT_BINARY": str(self.prefix / "bin/holt")})


class DocumentTest(InstallCase):
    """What docs/install.md shows is what is compiled here."""

    def test_shows_the_consumer(self):
        page = (REPOSITORY / "docs/install.md").read_text()
        program = (CONSUMER / "main.cpp").read_text().split("\n", 2)[2]
        self.assertIn(f"```cpp\n{program}```", page)
        self.assertIn(f"find_package(holt {MAJOR}.{MINOR} REQUIRED)", page)
        self.assertIn("target_link_libraries(consumer PRIVATE holt::holt)", page)
        self.assertIn("g++ -std=c++23 $(pkg-config --cflags holt) main.cpp", page)


class ComponentTest(InstallCase):
    def refusal(self, *options) -> str:
        """What CMake says to a user whose find_package cannot be satisfied."""
        said = self.configure(CONSUMER, f"refused-{self._testMethodName}", *options, code=1)
        return re.sub(r"\s+", " ", said)

    def test_unknown_component_is_named_with_the_known_ones(self):
        said = self.refusal("-Dcomponents=sqlite;redsi")
        self.assertIn("component redsi: there is no such component; known: sqlite, asio", said)

    def test_other_minor_version_is_refused(self):
        other = f"{MAJOR}.{int(MINOR) + 1}"
        self.assertIn(f'requested version "{other}"', self.refusal(f"-Dversion={other}"))

    def test_asio_without_its_header_or_boost_says_what_is_missing(self):
        if (self.prefix / "include/holt/asio.hpp").exists():
            said = self.refusal("-Dcomponents=asio", "-DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON")
            self.assertIn("component asio: it needs the headers of Boost 1.81", said)
        else:
            said = self.refusal("-Dcomponents=asio")
            self.assertRegex(said, r"component asio: this installation of Holt \S+ has no <holt/as")


class ContentTest(InstallCase):
    def test_every_part_is_there(self):
        expected = ["bin/holt", "include/holt/holt.hpp", f"lib/libholt.so.{ABI}", "lib/libholt.a",
                    "lib/pkgconfig/holt.pc", "lib/cmake/holt/holtConfig.cmake",
                    "share/man/man1/holt.1", "lib/systemd/system/holt@.service",
                    "share/doc/holt/LICENSE", "share/doc/holt/copyright"]
        self.assertEqual([e for e in expected if not (self.prefix / e).exists()], [])
        self.assertRegex(run(self.prefix / "bin/holt", "version"), f"^holt {VERSION}\n$")
        manuals = {page.name for page in (REPOSITORY / "docs/man").glob("*.1")}
        self.assertEqual({p.name for p in (self.prefix / "share/man/man1").iterdir()}, manuals)

    def test_completion_is_where_the_shells_look(self):
        for shell, place in (("bash", "bash-completion/completions/holt"),
                             ("zsh", "zsh/site-functions/_holt"),
                             ("fish", "fish/vendor_completions.d/holt.fish")):
            self.assertEqual((self.prefix / "share" / place).read_text(),
                             run(self.prefix / "bin/holt", "completion", shell))

    def test_no_path_of_the_build_is_in_a_file(self):
        for file in self.prefix.rglob("*"):
            if file.is_file() and not file.is_symlink():
                data = file.read_bytes()
                for path in (str(BUILD), str(REPOSITORY), str(self.folder), "/opt/holt"):
                    self.assertNotIn(path.encode(), data, file.relative_to(self.prefix))

    def test_each_header_compiles_alone(self):
        include = self.prefix / "include"
        headers = sorted(header.relative_to(include) for header in include.rglob("*.hpp"))

        def compile_alone(header):
            run(COMPILERS[1], "-std=c++23", "-fsyntax-only", "-Wall", "-Werror", "-x", "c++",
                "-I", include, "-include", header, "/dev/null")

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.assertEqual(len(list(pool.map(compile_alone, headers))), len(headers))

    def test_each_header_exports_what_it_declares(self):
        marked = re.compile(r"^#pragma GCC visibility push\(default\)\nnamespace holt[:\w]* {\n.*"
                            r"^}  // namespace holt[:\w]*\n#pragma GCC visibility pop\n",
                            re.M | re.S)
        for header in self.prefix.rglob("include/holt/**/*.hpp"):
            text = marked.sub("", header.read_text())
            self.assertNotIn("\nnamespace holt", text, f"{header.name}: put visibility "
                             "push(default) and pop around namespace holt, as the others do")


class SharedLibraryTest(InstallCase):
    def exports(self) -> list[str]:
        listing = run("nm", "-DC", "--defined-only", self.library)
        names = [line.split(maxsplit=2)[2] for line in listing.splitlines()]
        return [re.sub(r"@@?HOLT_[\d.]+$|\[abi:\w+\]", "", name) for name in names]

    def test_exports_only_what_the_headers_declare(self):
        text = "\n".join(h.read_text() for h in self.prefix.rglob("include/holt/**/*.hpp"))
        words = set(re.findall(r"\w+", text))
        for name in self.exports():
            if re.fullmatch(r"HOLT_[\d.]+", name):
                continue  # the version itself
            plain = re.sub(r"^(typeinfo name|typeinfo|vtable) for ", "", name)
            path = re.match(r"holt::((?:\w+::)*~?\w+)", plain)
            self.assertTrue(path, f"{name} is exported and is not Holt's")
            self.assertNotIn("client::", path[1], f"{name} is exported and is internal")
            for word in path[1].replace("~", "").split("::"):
                self.assertIn(word, words, f"{name} is exported and in no public header")

    def test_exports_what_programs_call(self):
        exports = "\n".join(self.exports())
        for name in ("holt::open(", "holt::Holt::lock(", "holt::Lock::~Lock(", "holt::version()",
                     "holt::Name::parse(", "holt::Fence::padded()", "typeinfo for holt::EngineErr",
                     "holt::BootClock::now()", "holt::to_string(holt::LossReason)"):
            self.assertIn(name, exports)

    def test_needs_sqlite_and_the_compilers_own_libraries_only(self):
        needed = re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-d", self.library))
        own = re.compile(r"(libsqlite3|libstdc\+\+|libgcc_s|libm|libc|ld-linux[\w-]*)\.so")
        self.assertEqual([name for name in needed if not own.match(name)], [])

    def test_name_has_the_minor_version(self):
        self.assertIn(f"[libholt.so.{ABI}]", run("readelf", "-d", self.library))


if __name__ == "__main__":
    unittest.main(verbosity=1)
