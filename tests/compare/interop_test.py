#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holt in SyncGuard's layout beside SyncGuard itself, on one Redis: they exclude each other, see
each other and go on with each other's fences. Needs $SYNCGUARD_HOLDER, which `make compare`
makes."""

import json
import os
import re
import signal
import subprocess
import unittest

from compare_case import TTL, CompareCase
from holt_case import BINARY
from peers import free_port

SYNCGUARD = os.environ.get("SYNCGUARD_HOLDER")


@unittest.skipUnless(SYNCGUARD, "run by `make compare`")
class InteropTest(CompareCase):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.popen("redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", "",
                   "--appendonly", "no")
        self.env["HOLT_STORE"] = f"redis://127.0.0.1:{self.port}?layout=syncguard"
        self.wait_for(lambda: self.holt("lock", "list").returncode == 0, "redis to answer")

    def syncguard(self, name: str) -> subprocess.Popen:
        """Takes the lock by SyncGuard when it can; its output goes to a file with this name."""
        with open(self.folder / name, "w") as out:
            return self.popen("node", SYNCGUARD, self.port, TTL * 1000, 50, stdin=subprocess.PIPE,
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


if __name__ == "__main__":
    unittest.main()
