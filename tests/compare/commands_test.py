# SPDX-License-Identifier: Apache-2.0
"""`holt run`, `flock` and `etcdctl lock` in the same scenes. What is seen must be what
observed.json says, which docs/comparison.md is made from."""

import os
import signal
import unittest

from compare_case import LONG_ENOUGH, TTL, CompareCase, boot_seconds
from holt_case import is_alive
from peers import Etcd, Flock, FlockClose, FlockNoFork, Holt


class Scenes:
    """The scenes; `kind` is the peer they are played with."""

    def setUp(self):
        super().setUp()
        self.peer = self.kind(self)

    def note(self, facts: dict):
        self.see(self.peer.name, self.peer.version(), facts)

    def run_under(self, name: str):
        """The wrapper of the command with this name."""
        return self.popen(*self.peer.words(*self.command, name))

    def hold(self):
        """A wrapper that has the lock, and the pid of its command."""
        wrapper = self.run_under("first")
        return wrapper, self.pid_of("first")

    def queue_up(self, name: str, place: int = 1):
        self.run_under(name)
        self.wait_for(lambda: self.peer.waiting() == place, f"{name} to wait")

    def test_wrapper_is_killed(self):
        wrapper, pid = self.hold()
        self.queue_up("next")
        killed_at = boot_seconds()
        wrapper.kill()
        wrapper.wait()
        if self.becomes(lambda: self.started("next"), LONG_ENOUGH):
            soon = self.start_of("next") - killed_at < TTL / 2
            free = "at once" if soon else "after the ttl"
            both = self.overlap("first", pid, "next")
        else:
            free, both = "when the command ends", "no"
        left = is_alive(pid)
        if left:
            self.kill(pid)
        self.pid_of("next")
        self.note({"killed: command": "left running" if left else "ended",
                   "killed: lock is free": free, "killed: overlap": both})


class LossScenes(Scenes):
    def test_wrapper_is_stopped(self):
        wrapper, pid = self.hold()
        self.queue_up("next")
        wrapper.send_signal(signal.SIGSTOP)
        passed_on = self.becomes(lambda: self.started("next"), LONG_ENOUGH)
        both = self.overlap("first", pid, "next") if passed_on else "no"
        wrapper.send_signal(signal.SIGCONT)
        if passed_on:
            self.becomes(lambda: not is_alive(pid), 1)
        self.note({"stopped: lock": "passes on" if passed_on else "is kept",
                   "stopped: overlap": both,
                   "stopped: command in the end": "goes on" if is_alive(pid) else "ended"})
        self.let_all_end()
        self.note({"stopped: status": wrapper.wait(30)})

    def test_store_is_away(self):
        if not self.peer.store_away:
            self.skipTest("its store is a file")
        wrapper, pid = self.hold()
        with self.peer.store_away():
            ended = self.becomes(lambda: not is_alive(pid), LONG_ENOUGH)
        told = "told, then ended" if "SIGTERM" in self.signals_of("first") else "ended"
        self.run_under("next")
        entered = self.becomes(lambda: self.started("next"), LONG_ENOUGH)
        both = self.overlap("first", pid, "next") if entered else "no"
        self.let_all_end()
        self.note({"away: command": told if ended else "goes on", "away: overlap": both,
                   "away: status": wrapper.wait(30)})

    def test_fence(self):
        if not self.peer.fence:
            self.skipTest("it has none")
        wrapper, _ = self.hold()
        self.queue_up("next")
        self.let_all_end()
        self.assertEqual(wrapper.wait(30), 0)
        self.pid_of("next")
        fences = [int(self.variable(name, self.peer.fence)) for name in ("first", "next")]
        self.note({"fence": self.peer.fence if fences[0] < fences[1] else "does not grow"})


class CommandScenes(LossScenes):
    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=number.name):
                self.note({f"signal: {number.name[3:]}": self.fate_of(number)})

    def fate_of(self, number: signal.Signals) -> str:
        wrapper = self.run_under(number.name)
        pid = self.pid_of(number.name)
        got = lambda what: what.name in self.signals_of(number.name)  # noqa: E731
        wrapper.send_signal(number)
        self.becomes(lambda: got(number) or wrapper.poll() is not None, 1)
        os.kill(pid, signal.SIGUSR1)
        self.wait_for(lambda: got(signal.SIGUSR1), "the command to answer")
        dead = wrapper.poll() is not None
        self.kill(pid)
        wrapper.wait(30)
        if got(number):
            return "passed on"
        return "wrapper dies, command runs on" if dead else "not passed on"

    def test_status(self):
        seven = self.popen(*self.peer.words("sh", "-c", "exit 7")).wait(30)
        killed = self.popen(*self.peer.words("sh", "-c", "kill -KILL $$")).wait(30)
        self.note({"status: 7": seven, "status: killed": killed})

    def test_order(self):
        if not self.peer.fair:
            self.skipTest("no order is promised")
        wrapper, _ = self.hold()
        names = ["a", "b", "c", "d"]
        for place, name in enumerate(names, start=1):
            self.queue_up(name, place)
        self.let_all_end()
        for name in names:
            self.pid_of(name)
        fair = sorted(names, key=self.start_of) == names
        self.note({"order": "first come, first served" if fair else "another"})


class HoltTest(CommandScenes, CompareCase):
    kind = Holt


class FlockTest(CommandScenes, CompareCase):
    kind = Flock


class FlockCloseTest(Scenes, CompareCase):
    kind = FlockClose


class FlockNoForkTest(Scenes, CompareCase):
    kind = FlockNoFork


class EtcdTest(CommandScenes, CompareCase):
    kind = Etcd


if __name__ == "__main__":
    unittest.main()
