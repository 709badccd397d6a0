#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holt in SyncGuard's layout beside SyncGuard itself, on one Redis or PostgreSQL: they exclude each
other, see each other and go on with each other's fences. Needs $SYNCGUARD_HOLDER, which
`make compare` makes."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from compare_case import TTL, CompareCase
from holt_case import BINARY, REPOSITORY
from peers import free_port

SYNCGUARD = os.environ.get("SYNCGUARD_HOLDER")
TABLES = REPOSITORY / "src/engines/postgres/syncguard.example.sql"


class Interop:
    """What is the same on both; `where` is what SyncGuard is told of the server."""

    def use(self, where, url: str):
        self.where = where
        self.env["HOLT_STORE"] = f"{url}?layout=syncguard"
        self.wait_for(lambda: self.holt("lock", "list").returncode == 0, "the store to answer")

    def syncguard(self, name: str) -> subprocess.Popen:
        """Takes the lock by SyncGuard when it can; its output goes to a file with this name."""
        with open(self.folder / name, "w") as out:
            return self.popen("node", SYNCGUARD, self.where, TTL * 1000, 50, stdin=subprocess.PIPE,
                              stdout=out)

    def said(self, name: str) -> str:
        return (self.folder / name).read_text()

    def syncguard_fence(self, name: str) -> int:
        """0: does not hold it."""
        found = re.search(r"^holding (\d{15}) ", self.said(name), re.MULTILINE)
        return int(found[1]) if found else 0

    def syncguard_holds(self, name: str) -> subprocess.Popen:
        holder = self.syncguard(name)
        self.wait_for(lambda: self.syncguard_fence(name), "SyncGuard to hold the lock")
        return holder

    def holt_run(self, name: str) -> subprocess.Popen:
        return self.popen(BINARY, "run", "--lock", "x", "--ttl", f"{TTL}s", "--", *self.command,
                          name)

    def holt_fence(self, name: str) -> int:
        self.pid_of(name)
        return int(self.variable(name, "HOLT_FENCE"))

    def let_go(self, holder: subprocess.Popen):
        holder.stdin.close()
        self.assertEqual(holder.wait(30), 0)

    def test_each_sees_the_other_and_goes_on_with_its_fences(self):
        first = self.syncguard_holds("first")
        shown = json.loads(self.check(0, "lock", "show", "x", "-o", "json").stdout)
        self.assertEqual(int(shown["fence"]), self.syncguard_fence("first"))
        self.assertRegex(shown["owner"], r"^syncguard\.[\w-]{22}$")
        self.check(5, "lock", "try", "x")
        ours = self.holt_run("ours")
        self.assertFalse(self.becomes(lambda: self.started("ours"), 1))
        self.let_go(first)
        fence = self.holt_fence("ours")
        self.assertEqual(fence, self.syncguard_fence("first") + 1)

        second = self.syncguard("second")
        self.wait_for(lambda: "waiting\n" in self.said("second"), "SyncGuard to wait")
        held_longer_than_its_ttl = TTL + 1
        self.assertFalse(self.becomes(lambda: self.syncguard_fence("second"),
                                      held_longer_than_its_ttl))
        self.let_all_end()
        self.assertEqual(ours.wait(30), 0)
        self.wait_for(lambda: self.syncguard_fence("second"), "SyncGuard to hold the lock")
        self.assertEqual(self.syncguard_fence("second"), fence + 1)
        self.let_go(second)
        self.check(3, "lock", "show", "x")

    def test_each_takes_over_from_the_other_that_died(self):
        first = self.syncguard_holds("first")
        first.kill()
        ours = self.holt_run("ours")
        fence = self.holt_fence("ours")
        self.assertEqual(fence, self.syncguard_fence("first") + 1)
        child = self.pid_of("ours")
        ours.send_signal(signal.SIGKILL)
        second = self.syncguard_holds("second")
        self.assertEqual(self.syncguard_fence("second"), fence + 1)
        self.wait_until_gone(child)
        self.let_go(second)

    def test_what_holt_breaks_syncguard_has_lost(self):
        self.syncguard_holds("first")
        self.check(2, "lock", "break", "x", "--reason", "please")
        self.check(0, "lock", "break", "x", "--reason", "stuck", "--now")
        fence = json.loads(self.check(0, "lock", "acquire", "x", "-o", "json").stdout)["fence"]
        self.assertEqual(int(fence), self.syncguard_fence("first") + 1)

    def test_a_handle_of_holt_is_released_by_its_owner(self):
        taken = json.loads(self.check(0, "lock", "acquire", "x", "-o", "json").stdout)
        next_one = self.syncguard("next")
        self.wait_for(lambda: "waiting\n" in self.said("next"), "SyncGuard to wait")
        self.check(0, "lock", "release", "x", "--owner", taken["owner"])
        self.wait_for(lambda: self.syncguard_fence("next"), "SyncGuard to hold the lock")
        self.assertEqual(self.syncguard_fence("next"), int(taken["fence"]) + 1)
        self.let_go(next_one)


@unittest.skipUnless(SYNCGUARD, "run by `make compare`")
class RedisInteropTest(Interop, CompareCase):
    def setUp(self):
        super().setUp()
        port = free_port()
        self.popen("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
                   "--appendonly", "no")
        self.use(port, f"redis://127.0.0.1:{port}")


@unittest.skipUnless(SYNCGUARD, "run by `make compare`")
class PostgresInteropTest(Interop, CompareCase):
    def setUp(self):
        super().setUp()
        port = free_port()
        url = f"postgres://postgres@127.0.0.1:{port}/postgres"
        self.start_server(port)
        psql = ["psql", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={TABLES}", url]
        made = lambda: subprocess.run(psql, capture_output=True).returncode == 0  # noqa: E731
        self.wait_for(made, "PostgreSQL to answer")
        self.use(url, url)

    def start_server(self, port: int):
        """It refuses to run as root: as the user postgres then."""
        user = {"user": "postgres"} if os.geteuid() == 0 else {}
        programs = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        folder = pathlib.Path(tempfile.mkdtemp(prefix="holt-compare-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        if user:
            shutil.chown(folder, "postgres")
        options = {"cwd": folder, **user}
        subprocess.run([programs / "initdb", "--no-sync", "--auth=trust", "--username=postgres",
                        f"--pgdata={folder}/data"], check=True, capture_output=True, **options)
        server = self.popen(programs / "postgres", "-D", folder / "data", "-p", port, "-k", folder,
                            "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", **options)
        self.addCleanup(server.wait, 30)
        self.addCleanup(server.send_signal, signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
