# SPDX-License-Identifier: Apache-2.0
"""An installation to try: made once per test program from the build in $HOLT_BUILD, and then moved
away from where it was installed, so that nothing works by accident."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("HOLT_BUILD", REPOSITORY / "build/clang"))
COMPILERS = [os.environ.get("HOLT_GXX", "g++"), os.environ.get("HOLT_CLANGXX", "clang++-19")]
VERSION = re.search(r"project\(holt VERSION (\S+)", (REPOSITORY / "CMakeLists.txt").read_text())[1]
MAJOR, MINOR, _ = VERSION.split(".")
ABI = f"0.{MINOR}" if MAJOR == "0" else MAJOR  # what the library's name ends with
PATIENCE = 300  # seconds; a compiler on a busy machine needs some


def run(*command, env=None, code=0, **options) -> str:
    """What it printed; it must end with this exit code."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("HOLT_")} | (env or {})
    command = [str(word) for word in command]
    done = subprocess.run(command, env=env, text=True, timeout=PATIENCE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **options)
    if done.returncode != code:
        raise AssertionError(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}")
    return done.stdout


@contextlib.contextmanager
def redis_store(folder: pathlib.Path):
    """The URL of a Redis server of our own, which goes at the end."""
    socket = folder / "redis.sock"
    with subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
                           "--dir", folder], stdout=subprocess.DEVNULL) as server:
        try:
            deadline = time.monotonic() + 20
            while not socket.exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            yield f"redis+unix://{socket}"
        finally:
            server.kill()


@contextlib.contextmanager
def postgres_store(folder: pathlib.Path):
    """The URL of a PostgreSQL server of our own, which goes at the end. It will not run as root."""
    programs = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    other = {"user": "postgres", "group": "postgres", "extra_groups": []}
    user = other if os.geteuid() == 0 else {}
    place = pathlib.Path(tempfile.mkdtemp(prefix="holt-postgres-", dir="/tmp"))
    if user:
        shutil.chown(place, "postgres", "postgres")
    try:
        run(programs / "initdb", f"--pgdata={place}/data", "--username=postgres", "--auth=trust",
            "--encoding=UTF8", "--locale=C", "--no-sync", cwd=place, **user)
        command = [programs / "postgres", "-D", place / "data", "-k", place, "-p", "5432",
                   "-c", "listen_addresses="]
        with subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, **user) as server:
            try:
                deadline = time.monotonic() + 20
                ready = ["pg_isready", "-q", "-h", place]
                while subprocess.run(ready, check=False).returncode and time.monotonic() < deadline:
                    time.sleep(0.02)
                yield f"postgres:///postgres?host={place}&user=postgres"
            finally:
                server.send_signal(signal.SIGQUIT)
    finally:
        shutil.rmtree(place, ignore_errors=True)


class InstallCase(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holt-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        stage = cls.folder / "stage"
        run("cmake", "--install", BUILD, "--prefix", "/opt/holt", env={"DESTDIR": str(stage)})
        cls.prefix = cls.folder / "moved"
        (stage / "opt/holt").rename(cls.prefix)
        cls.library = next(cls.prefix.glob("lib*/**/libholt.so"))
        cls.state = {"XDG_STATE_HOME": str(cls.folder / "state")}

    def configure(self, source: pathlib.Path, name: str, *options, **more) -> str:
        """Runs CMake on a user's project, into the folder `name`."""
        return run("cmake", "-S", source, "-B", self.folder / name, "-G", "Ninja",
                   f"-DCMAKE_PREFIX_PATH={self.prefix}", *options, **more)

    def assert_takes_lock(self, program: pathlib.Path, **env):
        self.assertRegex(run(program, env=self.state | env), r"^fence \d+\n$")
