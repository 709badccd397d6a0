#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the Debian packages of a build: holt (the program, which needs no library of ours),
libholtABI (the shared library), libholt-dev (headers, archive, CMake and pkg-config files),
holt-engine-redis and holt-engine-postgres (the modules that `holt` and the library load for redis:
and postgres: URLs).

Usage: build_deb.py BUILD OUT    BUILD is configured for /usr and holds the target `installable`

Uses dpkg-deb and dpkg-shlibdeps only. Nothing is installed, no root is needed. DEBFULLNAME and
DEBEMAIL name the maintainer; SOURCE_DATE_EPOCH, else the last commit, else the date of the
CHANGELOG is the date of everything.
"""

import email.utils
import gzip
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
HOME_TEXT = """\
Holt gives replicas of a service fenced locks on the database they already
run, or on a file that all processes of one host share."""


def output_of(*command, **options) -> str:
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def date() -> int:
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    if (REPOSITORY / ".git").exists() and shutil.which("git"):
        return int(output_of("git", "-C", REPOSITORY, "log", "-1", "--format=%ct"))
    return int((REPOSITORY / "CHANGELOG.md").stat().st_mtime)


def write(path: pathlib.Path, data: str | bytes):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


class Release:
    """What the packages have in common."""

    def __init__(self, build: pathlib.Path):
        facts = json.loads((build / "packaging/facts.json").read_text())
        self.build = build
        self.version = facts["version"]
        self.abi = facts["abi"]
        self.library = f"libholt{self.abi}"
        self.date = date()
        self.arch = output_of("dpkg", "--print-architecture").strip()
        name = os.environ.get("DEBFULLNAME", "Holt maintainers")
        self.maintainer = f"{name} <{os.environ.get('DEBEMAIL', 'maintainers@holt.invalid')}>"

    def packages(self) -> list["Package"]:
        return [
            Package(self, "holt", "program", "utils", "run commands under a lock that is fenced",
                    "This package has the command line program."),
            Package(self, self.library, "library", "libs", "coordination of replicas: the library",
                    "This package has the shared library that programs need to run."),
            Package(self, "libholt-dev", "development", "libdevel",
                    "coordination of replicas: to build programs with",
                    "This package has headers, the archive, and files for CMake and pkg-config.",
                    f"{self.library} (= {self.version})",
                    # libholt.a needs the first three, <holt/asio.hpp> the last; most need none.
                    "libsqlite3-dev, libutf8proc-dev, libxxhash-dev, libboost1.81-dev"),
            Package(self, "holt-engine-redis", "engine_redis", "libs",
                    "coordination of replicas: on Redis",
                    f"This package lets holt and {self.library} use a Redis server. It fits only "
                    f"the\n very same version of them."),
            Package(self, "holt-engine-postgres", "engine_postgres", "libs",
                    "coordination of replicas: on PostgreSQL",
                    f"This package lets holt and {self.library} use a PostgreSQL server. It fits "
                    f"only\n the very same version of them."),
        ]

    def changelog(self) -> str:
        when = email.utils.formatdate(self.date)
        return (f"holt ({self.version}) unstable; urgency=medium\n\n"
                f"  * Release {self.version}; what changed is in the CHANGELOG of the project.\n\n"
                f" -- {self.maintainer}  {when}\n")


class Package:
    def __init__(self, release, name, part, section, summary, what, depends="", suggests=""):
        self.release = release
        self.name = name
        self.part = part
        self.section = section
        self.summary = summary
        self.what = what
        self.depends = depends
        self.suggests = suggests

    def build(self, scratch: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
        tree = scratch / self.name
        self._install(tree)
        self._document(tree)
        self._control(tree, scratch)
        for path in [tree, *tree.rglob("*")]:
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
            os.utime(path, (self.release.date,) * 2, follow_symlinks=False)
        target = out / f"{self.name}_{self.release.version}_{self.release.arch}.deb"
        epoch = {"SOURCE_DATE_EPOCH": str(self.release.date)}
        output_of("dpkg-deb", "--root-owner-group", "--build", tree, target,
                  env=os.environ | epoch)
        return target

    def _install(self, tree: pathlib.Path):
        output_of("cmake", "--install", self.release.build, "--prefix", "/usr", "--component",
                  self.part, "--strip", env=os.environ | {"DESTDIR": str(tree)})
        for archive in tree.glob("usr/lib/**/*.a"):  # CMake strips programs and libraries alone
            output_of("strip", "--strip-debug", "--enable-deterministic-archives", archive)
        shutil.rmtree(tree / "usr/share/doc/holt", ignore_errors=True)  # each has its own
        for functions in tree.glob("usr/share/zsh/site-functions"):  # Debian's is another
            functions.rename(functions.with_name("vendor-completions"))
        for page in tree.glob("usr/share/man/*/*.[1-9]"):
            write(page.with_name(page.name + ".gz"), gzip.compress(page.read_bytes(), 9, mtime=0))
            page.unlink()

    def _document(self, tree: pathlib.Path):
        folder = tree / "usr/share/doc" / self.name
        write(folder / "copyright", (self.release.build / "packaging/copyright").read_bytes())
        changelog = self.release.changelog().encode()
        write(folder / "changelog.gz", gzip.compress(changelog, 9, mtime=0))

    def _control(self, tree: pathlib.Path, scratch: pathlib.Path):
        files = sorted(p for p in tree.rglob("*") if p.is_file() and not p.is_symlink())
        sums = [f"{hashlib.md5(p.read_bytes()).hexdigest()}  {p.relative_to(tree)}\n"
                for p in files]
        write(tree / "DEBIAN/md5sums", "".join(sums))
        if self.part == "library":
            needs = f"{self.name} (>= {self.release.version})"
            write(tree / "DEBIAN/shlibs", f"libholt {self.release.abi} {needs}\n")
            write(tree / "DEBIAN/triggers", "activate-noawait ldconfig\n")
        size = sum(-(-p.stat().st_size // 1024) for p in files)
        fields = {
            "Package": self.name,
            "Source": "holt",
            "Version": self.release.version,
            "Architecture": self.release.arch,
            "Multi-Arch": "" if self.part == "program" else "same",
            "Maintainer": self.release.maintainer,
            "Installed-Size": str(size),
            "Depends": self.depends or self._needs_of_programs(tree, scratch),
            "Suggests": self.suggests,
            "Breaks": self._breaks(),
            "Section": self.section,
            "Priority": "optional",
            "Description": "\n ".join([self.summary, *HOME_TEXT.splitlines(), ".", self.what]),
        }
        text = "".join(f"{key}: {value}\n" for key, value in fields.items() if value)
        write(tree / "DEBIAN/control", text)

    def _breaks(self) -> str:
        """A module and its loader are of one version, whichever of them is there."""
        if not self.part.startswith("engine_"):
            return ""
        version = self.release.version
        return ", ".join(f"{name} ({than} {version})" for name in ("holt", self.release.library)
                         for than in ("<<", ">>"))

    def _needs_of_programs(self, tree: pathlib.Path, scratch: pathlib.Path) -> str:
        """The packages of the shared libraries that are needed, with the versions."""
        control = f"Source: holt\n\nPackage: {self.name}\nArchitecture: any\n"
        write(scratch / "debian/control", control)
        programs = [*tree.glob("usr/bin/*"), *tree.glob("usr/lib/**/libholt.so.*.*.*"),
                    *tree.glob("usr/lib/**/holt-engine-*.so")]
        found = output_of("dpkg-shlibdeps", "-O", *(f"-e{p}" for p in programs), cwd=scratch)
        return found.partition("=")[2].strip()


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    build, out = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="holt-deb-") as scratch:
        for package in Release(build).packages():
            made = package.build(pathlib.Path(scratch), out)
            print(f"==> done: {os.path.relpath(made)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
