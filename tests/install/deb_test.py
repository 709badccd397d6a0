#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages: what is in them, what they depend on, and that dpkg installs them, into a
root of their own. Nothing is installed on the machine that runs this."""

import gzip
import os
import pathlib
import re
import shutil
import tempfile
import unittest

from install_case import ABI, BUILD, REPOSITORY, VERSION, postgres_store, redis_store, run

LIBRARY = f"libholt{ABI}"
PACKAGES = ("holt", LIBRARY, "libholt-dev", "holt-engine-redis", "holt-engine-postgres")


class DebTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holt-deb-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        run(REPOSITORY / "packaging/build_deb.py", BUILD, cls.folder,
            env={"SOURCE_DATE_EPOCH": "1700000000"})
        cls.arch = run("dpkg", "--print-architecture").strip()

    def package(self, name: str) -> pathlib.Path:
        return self.folder / f"{name}_{VERSION}_{self.arch}.deb"

    def field(self, name: str, field: str) -> str:
        return run("dpkg-deb", "--field", self.package(name), field).strip()

    def files(self, name: str) -> dict[str, str]:
        """The paths in a package, each with its mode and owner."""
        rows = [line.split(maxsplit=5) for line in
                run("dpkg-deb", "--contents", self.package(name)).splitlines()]
        return {row[5].split(" -> ")[0].lstrip("."): f"{row[0]} {row[1]}" for row in rows}

    def test_each_has_what_belongs_into_it(self):
        wanted = {
            "holt": ["/usr/bin/holt", "/usr/share/man/man1/holt.1.gz",
                     "/usr/share/man/man1/holt-lock-try.1.gz",
                     "/usr/lib/systemd/system/holt@.service",
                     "/usr/share/bash-completion/completions/holt",
                     "/usr/share/zsh/vendor-completions/_holt",
                     "/usr/share/fish/vendor_completions.d/holt.fish"],
            LIBRARY: [rf"/usr/lib/(\S+/)?libholt\.so\.{ABI}",
                      rf"/usr/lib/(\S+/)?libholt\.so\.{VERSION}"],
            "libholt-dev": ["/usr/include/holt/holt.hpp", r"/usr/lib/(\S+/)?libholt\.(so|a)",
                            r"/usr/lib/(\S+/)?pkgconfig/holt\.pc",
                            r"/usr/lib/(\S+/)?cmake/holt/holtConfig\.cmake"],
            "holt-engine-redis": [r"/usr/lib/(\S+/)?holt/engines/holt-engine-redis\.so"],
            "holt-engine-postgres": [
                r"/usr/lib/(\S+/)?holt/engines/holt-engine-postgres\.so",
                "/usr/share/doc/holt-engine-postgres/roles.example.sql",
                "/usr/share/doc/holt-engine-postgres/syncguard.example.sql"],
        }
        for name, patterns in wanted.items():
            files = self.files(name)
            patterns += [f"/usr/share/doc/{name}/copyright", f"/usr/share/doc/{name}/changelog.gz"]
            for pattern in patterns:
                self.assertTrue([f for f in files if re.fullmatch(pattern, f)], (name, pattern))
        shared = set(self.files("holt")) & set(self.files(LIBRARY)) & set(self.files("libholt-dev"))
        self.assertEqual([path for path in shared if not path.endswith("/")], [])

    def test_everything_is_roots_and_nobody_elses_to_write(self):
        for name in PACKAGES:
            for path, mode in self.files(name).items():
                self.assertRegex(mode, r"^(d|-|l)rw.r[w-].r[w-]. root/root$", path)
                if not mode.startswith("l"):
                    self.assertRegex(mode, r"^.(rwxr-xr-x|rw-r--r--) ", path)

    def test_control(self):
        self.assertRegex(self.field("holt", "Depends"), r"^libc6 \(>= [\d.]+\)$")
        depends = self.field(LIBRARY, "Depends")
        for package in ("libc6", "libgcc-s1", "libsqlite3-0", r"libstdc\+\+6"):
            self.assertRegex(depends, rf"\b{package} \(>= ")
        self.assertEqual(self.field("libholt-dev", "Depends"), f"{LIBRARY} (= {VERSION})")
        self.assertRegex(self.field("holt-engine-redis", "Depends"), r"\blibstdc\+\+6 \(>= ")
        self.assertRegex(self.field("holt-engine-postgres", "Depends"), r"\blibpq5 \(>= ")
        for engine in ("redis", "postgres"):
            self.assertIn(f"holt (<< {VERSION})", self.field(f"holt-engine-{engine}", "Breaks"))
        for name in PACKAGES:
            self.assertEqual(self.field(name, "Version"), VERSION)
            self.assertGreater(int(self.field(name, "Installed-Size")), 0)
            self.assertEqual(self.field(name, "Conffiles"), "")

    def test_sums_and_changelog_are_right(self):
        for name in PACKAGES:
            tree = self.folder / f"tree-{name}"
            run("dpkg-deb", "--raw-extract", self.package(name), tree)
            run("md5sum", "--check", "--strict", "DEBIAN/md5sums", cwd=tree)
            listed = (tree / "DEBIAN/md5sums").read_text().count("\n")
            files = [p for p in tree.glob("usr/**/*") if p.is_file() and not p.is_symlink()]
            self.assertEqual(listed, len(files))
            changelog = gzip.decompress((tree / f"usr/share/doc/{name}/changelog.gz").read_bytes())
            self.assertTrue(changelog.decode().startswith(f"holt ({VERSION}) "), changelog)
        self.assertEqual((self.folder / f"tree-{LIBRARY}/DEBIAN/shlibs").read_text(),
                         f"libholt {ABI} {LIBRARY} (>= {VERSION})\n")

    def test_is_built_the_same_way_twice(self):
        again = self.folder / "again"
        again.mkdir()
        run(REPOSITORY / "packaging/build_deb.py", BUILD, again,
            env={"SOURCE_DATE_EPOCH": "1700000000"})
        for name in PACKAGES:
            path = self.package(name)
            self.assertEqual(path.read_bytes(), (again / path.name).read_bytes(), name)

    @unittest.skipUnless(os.geteuid() == 0, "dpkg and chroot need root")
    def test_dpkg_installs_and_the_program_runs_there(self):
        root = self.folder / "root"
        for folder in ("info", "updates", "triggers"):
            (root / "var/lib/dpkg" / folder).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        (root / "tmp").mkdir()
        packages = [self.package(name) for name in PACKAGES]
        # The root has no libc6 that dpkg knows of; what the program needs is copied in below.
        run("dpkg", f"--root={root}", "--force-depends", "--install", *packages)
        self.assertIn("install ok installed", run("dpkg", f"--root={root}", "--status", "holt"))
        for path in re.findall(r"(/\S+) \(0x", run("ldd", root / "usr/bin/holt")):
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        self.assertEqual(run("chroot", root, "/usr/bin/holt", "version"), f"holt {VERSION}\n")
        taken = run(root / "usr/bin/holt", "run", "--lock", "x", "--", "echo", "locked",
                    env={"HOLT_STORE": f"sqlite://{root}/tmp/holt.db"})
        self.assertEqual(taken, "locked\n")
        for server in (redis_store, postgres_store):
            with server(self.folder) as store:
                taken = run(root / "usr/bin/holt", "run", "--lock", "x", "--", "echo", "locked",
                            env={"HOLT_STORE": store})
            self.assertEqual(taken, "locked\n")
        run("dpkg", f"--root={root}", "--force-depends", "--remove", *PACKAGES)
        self.assertFalse((root / "usr/bin/holt").exists())


if __name__ == "__main__":
    unittest.main()
