#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holt's library in the scenes that a library can be in; with $SYNCGUARD_HOLDER, which `make
compare` makes from holder.mjs, SyncGuard too. What is seen must be what observed.json says."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import unittest

from compare_case import LONG_ENOUGH, TTL, CompareCase, boot_seconds
from peers import free_port, frozen

HOLDER = os.environ.get("HOLT_COMPARE_HOLDER")
SYNCGUARD = os.environ.get("SYNCGUARD_HOLDER")


class Holt:
    name = "Holt library"

    def __init__(self, case: CompareCase):
        self.case = case
        case.store = case.folder / "holt.db"
        case.env["HOLT_STORE"] = str(case.store)

    def version(self) -> str:
        return self.case.holt("version").stdout.split()[1]

    def words(self, _retry) -> list:
        return [HOLDER, self.case.store, TTL * 1000]

    def store_away(self):
        return self.case.blocked_store()

    def attempts(self):
        return 0

    def wait_for_waiter(self, _):
        self.case.wait_until_waiting("x")


class SyncGuard:
    name = "SyncGuard"

    def __init__(self, case: CompareCase):
        self.case = case
        self.port = free_port()
        self.server = case.popen("redis-server", "--port", self.port, "--bind", "127.0.0.1",
                                 "--save", "", "--appendonly", "no")
        case.wait_for(lambda: self.attempts() is not None, "redis to answer")

    def version(self) -> str:
        return pathlib.Path(SYNCGUARD).with_name("version").read_text().strip()

    def words(self, retry) -> list:
        return ["node", SYNCGUARD, self.port, TTL * 1000, retry]

    def store_away(self):
        return frozen(self.server.pid)

    def attempts(self):
        """How many scripts were called, of which each attempt is one; None: no answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5) as server:
                server.sendall(b"INFO commandstats\r\nQUIT\r\n")
                text = server.makefile().read()
        except OSError:
            return None
        return sum(int(n) for n in re.findall(r"cmdstat_eval(?:sha)?:calls=(\d+)", text))

    def wait_for_waiter(self, before):
        self.case.wait_for(lambda: self.attempts() > before, "an attempt")


class LibraryScenes:
    def setUp(self):
        super().setUp()
        self.peer = self.kind(self)

    def note(self, facts: dict):
        self.see(self.peer.name, self.peer.version(), facts)

    def start_holder(self, name: str, retry: int = 50) -> subprocess.Popen:
        """Its output goes to a file with this name."""
        with open(self.folder / name, "w") as out:
            return self.popen(*self.peer.words(retry), stdin=subprocess.PIPE, stdout=out)

    def said(self, name: str) -> str:
        return (self.folder / name).read_text()

    def holds(self, name: str):
        return re.search(r"^holding (\d+)(?: (\d+))?$", self.said(name), re.MULTILINE)

    def hold(self) -> subprocess.Popen:
        first = self.start_holder("first")
        self.wait_for(lambda: self.holds("first"), "the lock")
        return first

    def told(self, seconds: float) -> bool:
        return self.becomes(lambda: "lost\n" in self.said("first"), seconds)

    def let_go(self, holder: subprocess.Popen):
        holder.stdin.close()
        holder.wait(30)

    def test_holder_is_killed(self):
        first = self.hold()
        self.start_holder("next")
        killed_at = boot_seconds()
        first.kill()
        self.wait_for(lambda: self.holds("next"), "the next holder")
        soon = boot_seconds() - killed_at < TTL / 2
        self.note({"killed: lock is free": "at once" if soon else "after the ttl"})

    def test_holder_takes_long(self):
        first = self.hold()
        self.start_holder("next")
        renewed = not self.becomes(lambda: self.holds("next"), LONG_ENOUGH)
        self.note({"renewed": "yes" if renewed else "no"})
        if not renewed:
            self.note({"taken over: told": "yes" if self.told(1) else "no"})
        self.let_go(first)

    def test_holder_is_stopped(self):
        first = self.hold()
        self.start_holder("next")
        first.send_signal(signal.SIGSTOP)
        self.wait_for(lambda: self.holds("next"), "the next holder")
        first.send_signal(signal.SIGCONT)
        told = self.told(2)
        fences = [int(self.holds(name)[1]) for name in ("first", "next")]
        self.let_go(first)
        self.note({"stopped: told": "yes" if told else "no",
                   "stopped: release says": self.said("first").split("\n")[-2],
                   "fence": "grows" if fences[0] < fences[1] else "does not grow"})

    def test_fence_is_handed_over(self):
        self.hold()
        given = self.holds("first")[2]
        self.note({"fence is given": "with the lock" if given is None or given != "0"
                   else "on asking"})

    def test_store_is_away(self):
        first = self.hold()
        with self.peer.store_away():
            told = self.told(LONG_ENOUGH)
        self.note({"away: told": "before the lock can pass on" if told else "no"})
        self.let_go(first)

    def test_a_newcomer_does_not_overtake(self):
        """The one who waits tries again after 5 s, if it is one that tries again."""
        first = self.hold()
        before = self.peer.attempts()
        self.start_holder("waiting", retry=5000)
        self.peer.wait_for_waiter(before)
        self.start_holder("newcomer", retry=1)
        self.wait_for(lambda: "waiting\n" in self.said("newcomer"), "another to come")
        self.let_go(first)
        either = lambda: self.holds("waiting") or self.holds("newcomer")  # noqa: E731
        self.wait_for(either, "the next holder")
        fair = self.holds("waiting") is not None
        self.note({"order": "first come, first served" if fair else "a newcomer may be first"})


@unittest.skipUnless(HOLDER, "$HOLT_COMPARE_HOLDER is not set")
class HoltTest(LibraryScenes, CompareCase):
    kind = Holt


@unittest.skipUnless(SYNCGUARD, "run by `make compare`")
class SyncGuardTest(LibraryScenes, CompareCase):
    kind = SyncGuard


if __name__ == "__main__":
    unittest.main()
