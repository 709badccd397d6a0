# SPDX-License-Identifier: Apache-2.0
"""The commands that run a command under a lock, each with what it needs: its words, its store, and
a way to see who waits. All servers are private: started here, on loopback, stopped by pid."""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess

from compare_case import TTL, CompareCase
from holt_case import BINARY


def output(*words, env=None) -> str:
    return subprocess.run(words, env=env, text=True, capture_output=True, timeout=30).stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def frozen(pid: int):
    """A server that does not answer."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


class Holt:
    name = "holt run"
    fence = "HOLT_FENCE"
    fair = True

    def __init__(self, case: CompareCase):
        self.case = case

    def version(self) -> str:
        return output(BINARY, "version").split()[1]

    def words(self, *command) -> list[str]:
        return [BINARY, "run", "--lock", "x", "--ttl", f"{TTL}s", "--", *command]

    def waiting(self) -> int:
        shown = self.case.holt("lock", "show", "x", "-o", "json").stdout
        return json.loads(shown)["waiting"] if shown else 0

    def store_away(self):
        return self.case.blocked_store()


class Flock:
    """Its store is a file of this machine, which cannot be away."""

    name = "flock"
    fence = None
    fair = False  # in practice often, promised nowhere
    options: list[str] = []
    store_away = None

    def __init__(self, case: CompareCase):
        self.file = case.folder / "x"
        self.file.touch()

    def version(self) -> str:
        return output("flock", "--version").split()[-1]

    def words(self, *command) -> list[str]:
        return ["flock", *self.options, str(self.file), *command]

    def waiting(self) -> int:
        lines = pathlib.Path("/proc/locks").read_text().splitlines()
        inode = self.file.stat().st_ino
        return sum(1 for line in lines if "-> FLOCK" in line and f":{inode} " in line)


class FlockClose(Flock):
    name = "flock -o"
    options = ["-o"]


class FlockNoFork(Flock):
    name = "flock -F"
    options = ["-F"]


class Etcd:
    name = "etcdctl lock"
    fence = "ETCD_LOCK_REV"
    fair = True

    def __init__(self, case: CompareCase):
        self.case = case
        case.env["ETCDCTL_API"] = "3"
        for _ in range(3):  # somebody else may take the port meanwhile
            if self._start():
                return
        case.fail("etcd does not start")

    def _start(self) -> bool:
        clients, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.case.env["ETCDCTL_ENDPOINTS"] = clients
        self.server = self.case.popen(
            "etcd", "--data-dir", self.case.folder / "etcd", "--listen-client-urls", clients,
            "--advertise-client-urls", clients, "--listen-peer-urls", peers,
            "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}")
        healthy = lambda: "is healthy" in self._ask("endpoint", "health")  # noqa: E731
        self.case.becomes(lambda: self.server.poll() is not None or healthy(), 30)
        return self.server.poll() is None

    def _ask(self, *words) -> str:
        done = subprocess.run(["etcdctl", *words], env=self.case.env, text=True, timeout=30,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout

    def version(self) -> str:
        return re.search(r"version: (\S+)", self._ask("version"))[1]

    def words(self, *command) -> list[str]:
        return ["etcdctl", "lock", f"--ttl={TTL}", "x", "--", *command]

    def waiting(self) -> int:
        return len(self._ask("get", "--prefix", "x/", "--keys-only").split()) - 1

    def store_away(self):
        return frozen(self.server.pid)
