# SPDX-License-Identifier: Apache-2.0
"""holt run when the lease is lost: the command is gone before the next holder starts.

The command under test notes the time over and over, and so does a child of its own; the next
holder notes when it starts. Whatever is done to the wrapper, the last note of the first two must
be before that.
"""

import json
import os
import signal
import subprocess
import unittest

from holt_case import PATIENCE, HoltCase, boot_ns

# Notes the time until killed; so does its child. `python child.py NAME [polite]`.
# Both ignore TERM; a polite command notes it and ends, but its child does not.
BEATING = """
clock = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)
name = sys.argv[1]
def end(*_):
    with open(name + '.term', 'w') as f: f.write(f'{clock()}\\n')
    sys.exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0: name += '.grandchild'
elif sys.argv[2:] == ['polite']: signal.signal(signal.SIGTERM, end)
with open(name + '.pid', 'w') as f: f.write(f'{os.getpid()}\\n')
out = os.open(name, os.O_WRONLY | os.O_CREAT)
while True:
    os.pwrite(out, b'%d\\n' % clock(), 0)
    time.sleep(0.0005)
"""


class RunLossTest(HoltCase):
    def setUp(self):
        super().setUp()
        self.beating = self.script(BEATING)

    def start_beating(self, *options, how: str = "", ttl: str = "1500ms"):
        """Runs the command under lock x; the wrapper, the pids of the command and its child."""
        started = self.start("run", "--lock", "x", "--ttl", ttl, *options, "--", *self.beating,
                             "beat", *([how] if how else []), cwd=self.folder)
        pids = [self.wait_for_pid(self.folder / f"{name}.pid")
                for name in ("beat", "beat.grandchild")]
        for name in ("beat", "beat.grandchild"):
            self.wait_for_text(self.folder / name)
        return started, pids

    def start_next(self):
        """The next holder, waiting in line; it notes when it starts."""
        command = self.script("print(time.clock_gettime_ns(time.CLOCK_BOOTTIME))", "next.py")
        started = self.start("run", "--lock", "x", "--", *command, stdout=subprocess.PIPE)
        self.wait_until_waiting("x")
        return started

    def last_beat(self) -> int:
        return max(int((self.folder / name).read_text().split()[0])
                   for name in ("beat", "beat.grandchild"))

    def assert_gone_before(self, waiting, pids):
        started_at = int(self.finish(waiting, 0)[0])
        for pid in pids:
            self.wait_until_gone(pid)
        self.assertLess(self.last_beat(), started_at)

    # The wrapper cannot act

    def test_wrapper_stopped(self):
        wrapper, pids = self.start_beating()
        waiting = self.start_next()
        wrapper.send_signal(signal.SIGSTOP)
        self.assert_gone_before(waiting, pids)
        wrapper.send_signal(signal.SIGCONT)
        _, stderr = self.finish(wrapper, 123)
        self.assertIn("was lost before this process could act", stderr)

    def test_wrapper_stopped_for_a_short_time(self):
        wrapper, _ = self.start_beating(how="polite", ttl="10s")
        wrapper.send_signal(signal.SIGSTOP)
        before = self.last_beat()
        self.wait_for(lambda: self.last_beat() > before, "another beat")
        wrapper.send_signal(signal.SIGCONT)
        wrapper.terminate()
        self.assertEqual(wrapper.wait(PATIENCE), 0)  # its child is left alone, and its stderr open

    def test_wrapper_killed(self):
        wrapper, pids = self.start_beating(ttl="30s")
        killed_at = boot_ns()
        wrapper.kill()
        for pid in pids:
            self.wait_until_gone(pid)
        # At once, not when the lease ends.
        self.assertLess(self.last_beat() - killed_at, 10e9)

    def test_wrapper_killed_and_the_lock_passes_on(self):
        wrapper, pids = self.start_beating()
        waiting = self.start_next()
        wrapper.kill()
        self.assert_gone_before(waiting, pids)

    def test_a_stopped_command_is_killed_too(self):
        wrapper, pids = self.start_beating(ttl="30s")
        os.kill(pids[0], signal.SIGSTOP)
        wrapper.kill()
        for pid in pids:
            self.wait_until_gone(pid)

    # The store cannot be reached

    def test_term_comes_a_grace_before_the_end(self):
        wrapper, pids = self.start_beating("--grace", "1s", how="polite", ttl="3s")
        with self.blocked_store():
            term_at = int(self.wait_for_text(self.folder / "beat.term"))
            _, stderr = self.finish(wrapper, 123)
        self.assertRegex(stderr, r'lock "x" could not be renewed in time: sent TERM to the '
                                 r"command, KILL follows in (1s|\d+ms)")
        for pid in pids:
            self.wait_until_gone(pid)
        self.assertLess(self.last_beat(), term_at + int(1.2e9))

    def test_kill_comes_at_the_end(self):
        wrapper, pids = self.start_beating()
        lease = json.loads(self.check(0, "lock", "show", "x", "-o", "json").stdout)
        self.assertEqual(lease["ttl_ms"], 1500)
        with self.blocked_store():
            blocked_at = boot_ns()
            _, stderr = self.finish(wrapper, 123)
        self.assertIn("sent TERM", stderr)
        for pid in pids:
            self.wait_until_gone(pid)
        # A renewal may have gone through just before; after that a lease lives no longer.
        self.assertLess(self.last_beat() - blocked_at, 1.5e9)

    def test_the_store_is_deleted(self):
        wrapper, pids = self.start_beating()
        for path in self.store.parent.iterdir():
            if path.is_file():
                path.unlink()
        _, stderr = self.finish(wrapper, 123)
        self.assertIn('lock "x"', stderr)
        for pid in pids:
            self.wait_until_gone(pid)

    def test_a_store_that_comes_back_in_time_does_no_harm(self):
        wrapper, _ = self.start_beating(how="polite", ttl="6s")
        expires = lambda: json.loads(  # noqa: E731
            self.check(0, "lock", "show", "x", "-o", "json").stdout)["expires_in_ms"]
        with self.blocked_store():
            self.wait_for(lambda: expires() < 3500, "a renewal to be due")
        self.wait_for(lambda: expires() > 4000, "the renewal")
        wrapper.terminate()
        self.assertEqual(wrapper.wait(PATIENCE), 0)  # its child is left alone, and its stderr open

    # Somebody else ends it

    def test_broken(self):
        wrapper, pids = self.start_beating(how="polite", ttl="30s")
        waiting = self.start_next()
        self.check(0, "lock", "break", "x", "--reason", "enough")
        _, stderr = self.finish(wrapper, 123)
        self.assertIn('lock "x" was broken by somebody: sent TERM to the command', stderr)
        # Let go when the command was gone, long before the lease ended.
        self.assert_gone_before(waiting, pids)

    def test_broken_and_the_command_does_not_care(self):
        wrapper, pids = self.start_beating()
        waiting = self.start_next()
        self.check(0, "lock", "break", "x", "--reason", "enough")
        self.finish(wrapper, 123)
        self.assert_gone_before(waiting, pids)

    def test_broken_now(self):
        wrapper, pids = self.start_beating(ttl="30s")
        self.check(0, "lock", "break", "x", "--reason", "enough", "--now")
        _, stderr = self.finish(wrapper, 123)
        self.assertIn('lock "x" is lost', stderr)
        for pid in pids:
            self.wait_until_gone(pid)

    def test_released_by_hand(self):
        wrapper, pids = self.start_beating()
        owner = json.loads(self.check(0, "lock", "show", "x", "-o", "json").stdout)["owner"]
        self.check(0, "lock", "release", "x", "--owner", owner)
        self.finish(wrapper, 123)
        for pid in pids:
            self.wait_until_gone(pid)

    # The smallest lease

    def test_the_shortest_ttl_holds_on_a_quiet_machine(self):
        done = self.holt("run", "--lock", "x", "--ttl", "100ms", "--", "sleep", "0.5")
        self.assertIn(done.returncode, (0, 123), done.stderr)


if __name__ == "__main__":
    unittest.main()
