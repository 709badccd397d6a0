# SPDX-License-Identifier: Apache-2.0
"""Servers of one test's own: on a free port of 127.0.0.1, in a temporary folder, ended by pid."""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import unittest


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def end(server: subprocess.Popen, how: int):
    if server.poll() is None:
        server.send_signal(how)
        server.wait(timeout=30)


class ShiftedClock:
    """Moves the wall clock of programs that are started with its `env` (tests/clock_shim)."""

    def __init__(self, case: unittest.TestCase):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="holt-e2e-"))
        case.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)  # a server that runs as another user reads it, too
        self.file = folder / "shift"
        shim = shutil.copy(os.environ["HOLT_CLOCK_SHIM"], folder)
        # ASan wants to come first; told that we know, it does without.
        self.env = {"LD_PRELOAD": str(shim), "CLOCKSHIM_FILE": str(self.file),
                    "ASAN_OPTIONS": "verify_asan_link_order=0"}
        self.file.write_bytes(struct.pack("q", 0))

    def set(self, nanoseconds: int):
        with self.file.open("r+b") as file:  # not truncated: the programs have it mapped
            file.write(struct.pack("q", nanoseconds))


class Postgres:
    """It does not run as root: as the user `postgres` then. Whoever connects is believed."""

    def __init__(self, case: unittest.TestCase, env: dict[str, str] | None = None):
        self.env = os.environ | (env or {})
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        if not programs:
            raise RuntimeError("there is no server in /usr/lib/postgresql")
        self.bin = programs[-1].parent
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holt-e2e-"))
        case.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.user = {}
        if os.getuid() == 0:
            account = pwd.getpwnam("postgres")
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            self.user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        data = self.folder / "data"
        self._tool("initdb", f"--pgdata={data}", "--username=postgres", "--auth=trust",
                   "--encoding=UTF8", "--locale=C", "--no-sync")
        self.port = free_port()
        self.case = case
        self._start()

    def _start(self):
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [self.bin / "postgres", "-D", self.folder / "data", "-p", str(self.port),
                 "-k", self.folder, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, env=self.env,
                **self.user)
        self.case.addCleanup(end, self.process, signal.SIGQUIT)
        self.case.wait_for(self._answers, "PostgreSQL to answer")

    def restart(self):
        end(self.process, signal.SIGINT)
        self._start()

    def _answers(self) -> bool:
        return self._tool("pg_isready", "-h", "127.0.0.1", "-p", str(self.port),
                          check=False).returncode == 0

    def url(self, user: str = "postgres") -> str:
        return f"postgres://{user}@127.0.0.1:{self.port}/postgres"

    def sql(self, text: str) -> str:
        """What psql prints, without decoration."""
        return self._tool("psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-qAt",
                          "-v", "ON_ERROR_STOP=1", "-c", text).stdout.strip()

    def _tool(self, name: str, *args: str, check: bool = True) -> subprocess.CompletedProcess:
        done = subprocess.run([self.bin / name, *args], capture_output=True, text=True, timeout=60,
                              cwd=self.folder, check=False, **self.user)
        if check and done.returncode != 0:
            raise RuntimeError(f"{name}: {done.stdout}{done.stderr}")
        return done


class Redis:
    def __init__(self, case: unittest.TestCase, env: dict[str, str] | None = None):
        self.env = os.environ | (env or {})
        self.port = free_port()
        self.folder = tempfile.mkdtemp(prefix="holt-e2e-")
        case.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.case = case
        self._start()

    def _start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
             "--dir", self.folder], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=self.env)
        self.case.addCleanup(end, self.process, signal.SIGTERM)
        self.case.wait_for(self._answers, "Redis to answer")

    def restart(self):
        """It comes back with nothing: it keeps no file."""
        end(self.process, signal.SIGTERM)
        self._start()

    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def tell(self, words: str):
        """One command whose answer is OK or a number."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(words.encode() + b"\r\n")
            answer = connection.recv(1000).decode()
        if answer[:1] not in ("+", ":"):
            raise RuntimeError(f"{words}: {answer}")

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
