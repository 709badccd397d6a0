# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: a command ends soon wherever it is, even if the store is blocked, and leaves no lock."""

import os
import signal
import subprocess
import time
import unittest

from holt_case import HoltCase
from screen import CTRL_C, Screen

# A blocked store is waited for 5 s, so 2 s on a machine under load show that it was not.
SOON = 2
RUN = ("run", "--lock", "x", "--", "true")
ACQUIRE = ("lock", "acquire", "x")
TRY = ("lock", "try", "x")


class InterruptTest(HoltCase):
    def setUp(self):
        super().setUp()
        self.check(0, "lock", "list")  # makes the store

    def send_and_expect_end(self, started, sent, code):
        began = time.monotonic()
        started.send_signal(sent)
        _, stderr = self.finish(started, code)
        self.assertLess(time.monotonic() - began, SOON)
        return stderr

    def expect_slow_store(self, started):
        self.assertEqual(started.stderr.readline(),
                         "holt: the store has not answered yet, waiting for it\n")

    def assert_free(self):
        self.check(3, "lock", "show", "x")

    def test_in_the_first_call_to_a_blocked_store(self):
        for words in (RUN, ACQUIRE, TRY):
            for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                with self.subTest(words=words, sent=sent), self.blocked_store():
                    started = self.start(*words)
                    self.expect_slow_store(started)
                    stderr = self.send_and_expect_end(started, sent, code)
                    self.assertEqual(stderr, "holt: interrupted\n")
                self.assert_free()

    def test_in_line_while_the_store_is_blocked(self):
        owner = self.take("x", "--ttl", "1h")
        waiting = self.start(*ACQUIRE)
        self.wait_until_waiting("x")
        with self.blocked_store():  # so that it cannot leave the line
            self.send_and_expect_end(waiting, signal.SIGINT, 130)
        self.check(0, "lock", "release", "x", "--owner", owner)
        # Nobody waits for the dead one.
        self.check(0, "lock", "acquire", "x", "--wait", "20s")

    def test_in_line_it_leaves_the_line(self):
        self.take("x", "--ttl", "1h")
        for words in (RUN, ACQUIRE):
            waiting = self.start(*words)
            self.wait_until_waiting("x")
            stderr = self.send_and_expect_end(waiting, signal.SIGINT, 130)
            self.assertIn('cannot take lock "x": interrupted while waiting', stderr)
            self.wait_until_waiting("x", 0)

    def test_while_it_releases_into_a_blocked_store(self):
        go = self.folder / "go"
        os.mkfifo(go)
        started = self.start("run", "--lock", "x", "--ttl", "3s", "--", "sh", "-c",
                             f"read x < {go}; echo done; exec >&-", stdout=subprocess.PIPE)
        self.wait_for(lambda: self.holt("lock", "show", "x").returncode == 0, "the lock")
        with self.blocked_store():
            with open(go, "w") as pipe:
                pipe.write("\n")
            self.assertEqual(started.stdout.readline(), "done\n")
            # Its release now waits for the store: then the signals are ours again.
            self.wait_for(lambda: not self.blocks(started.pid, signal.SIGINT), "the release")
            began = time.monotonic()
            started.send_signal(signal.SIGINT)
            self.finish(started, 130)
            self.assertLess(time.monotonic() - began, SOON)
        self.wait_for(lambda: self.holt("lock", "show", "x").returncode == 3, "the ttl to end")

    @staticmethod
    def blocks(pid: int, number: int) -> bool:
        with open(f"/proc/{pid}/status") as status:
            mask = next(int(li.split()[1], 16) for li in status if li.startswith("SigBlk"))
        return bool(mask >> (number - 1) & 1)

    def test_a_second_signal_ends_it_at_once(self):
        with self.blocked_store():
            started = self.start(*ACQUIRE)
            self.expect_slow_store(started)
            started.send_signal(signal.SIGTERM)
            started.send_signal(signal.SIGINT)
            started.communicate()
            self.assertIn(started.returncode, (130, 143))
        self.assert_free()

    def test_ignored_signals_stay_ignored(self):
        with self.blocked_store():
            started = self.start(*ACQUIRE, preexec_fn=lambda: signal.signal(signal.SIGHUP,
                                                                            signal.SIG_IGN))
            self.expect_slow_store(started)
            started.send_signal(signal.SIGHUP)
            self.send_and_expect_end(started, signal.SIGINT, 130)

    def test_a_time_limit_from_outside_still_works(self):
        def limit():
            signal.setitimer(signal.ITIMER_REAL, 0.5)

        with self.blocked_store():
            started = self.start(*ACQUIRE, preexec_fn=limit)
            self.finish(started, -signal.SIGALRM)

    def test_other_commands_in_a_blocked_store(self):
        owner = self.take("x", "--ttl", "1h")
        for words in (["lock", "release", "x", "--owner", owner],
                      ["lock", "break", "x", "--reason", "r"],
                      ["lock", "extend", "x", "--owner", owner, "--ttl", "2h"]):
            with self.subTest(words), self.blocked_store():
                started = self.start(*words)
                gate = f"{self.store}.gate"
                self.wait_for(lambda: self.has_open(started.pid, gate), "it to be in the store")
                began = time.monotonic()
                started.send_signal(signal.SIGINT)
                self.finish(started, -signal.SIGINT)  # 130 in a shell
                self.assertLess(time.monotonic() - began, SOON)

    @staticmethod
    def has_open(pid: int, path: str) -> bool:
        links = (f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd"))
        return any(os.path.exists(link) and os.readlink(link) == path for link in links)

    # On a terminal

    def test_ctrl_c_on_a_terminal(self):
        for words in (RUN, ACQUIRE):
            with self.blocked_store():
                screen = Screen(self, *words)
                screen.expect("the store has not answered yet")
                screen.type(CTRL_C)
                self.assertIn("holt: interrupted\n", screen.end(130))
            self.assert_free()

    def test_ctrl_c_on_a_terminal_while_in_line(self):
        self.take("x", "--ttl", "1h", "--note", "the day shift")
        for words in (RUN, ACQUIRE):
            screen = Screen(self, *words)
            screen.expect(r'waiting for lock "x" \(next in line\): held by "the day shift"')
            self.wait_until_waiting("x")
            screen.type(CTRL_C)
            screen.expect("interrupted while waiting")
            screen.end(130)
            self.wait_until_waiting("x", 0)


if __name__ == "__main__":
    unittest.main()
