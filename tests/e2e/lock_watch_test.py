# SPDX-License-Identifier: Apache-2.0
"""holt lock watch: what happens to locks, told while it happens."""

import json
import pathlib
import re
import signal
import subprocess
import time
import unittest

from holt_case import BINARY, PATIENCE, HoltCase


class LockWatchTest(HoltCase):
    def watch(self, *args) -> subprocess.Popen:
        """A watch that has begun: what is taken from here on it sees."""
        self.take("first")
        started = self.start("lock", "watch", *args, stdout=subprocess.PIPE)
        self.assertIn("first", started.stdout.readline())
        return started

    def events_until(self, started: subprocess.Popen, wanted: str) -> list[str]:
        """As "event name", up to the one that is wanted."""
        events = []
        while not events or events[-1] != wanted:
            line = started.stdout.readline()
            self.assertTrue(line, f"ended before {wanted}; {events}")
            event = json.loads(line)
            events.append(f"{event['event']} {event['name']}")
        return events

    # What it tells

    def test_a_life_as_text(self):
        started = self.watch()
        owner = self.take("deploy", "--note", "me", "--ttl", "30s")
        text = started.stdout.readline()
        self.check(0, "lock", "break", "deploy", "--reason", "out with it")
        text += started.stdout.readline()
        self.check(0, "lock", "release", "deploy", "--owner", owner)
        text += started.stdout.readline()
        self.assert_golden("lock_watch", text)

    def test_a_life_as_json_lines(self):
        started = self.watch("-o", "ndjson")
        owner = self.take("deploy", "--note", "me", "--ttl", "30s")
        text = started.stdout.readline()
        self.check(0, "lock", "release", "deploy", "--owner", owner)
        text += started.stdout.readline()
        self.assert_golden("lock_watch_ndjson", text)

    def test_a_command_and_one_that_waits_for_it(self):
        started = self.watch("-o", "json")
        one = self.start("run", "--lock", "x", "--", "sleep", "1000")
        self.events_until(started, "acquired x")
        two = self.start("run", "--lock", "x", "--", "sleep", "1000")
        self.events_until(started, "waiting x")
        one.send_signal(signal.SIGTERM)
        self.finish(one, 143)
        self.assertEqual(self.events_until(started, "acquired x")[0], "released x")
        two.send_signal(signal.SIGTERM)
        self.finish(two, 143)
        self.events_until(started, "released x")

    def test_an_expiry(self):
        started = self.watch("-o", "ndjson")
        self.take("x", "--ttl", "300ms")
        self.assertEqual(self.events_until(started, "expired x"), ["acquired x", "expired x"])

    def test_a_prefix(self):
        self.take("a/1")
        self.take("b/1")
        started = self.start("lock", "watch", "a/", "-o", "name", stdout=subprocess.PIPE)
        self.assertEqual(started.stdout.readline(), "a/1\n")
        self.take("b/2")
        self.take("a/2")
        self.assertEqual(started.stdout.readline(), "a/2\n")

    def test_names_are_made_safe_in_json_and_text(self):
        started = self.watch()
        self.take("x", "--note", "a\x1b[31mred\nline")
        self.assertIn(r'"a\x1B[31mred\x0Aline"', started.stdout.readline())

    # How it ends

    def test_after_a_time(self):
        begun = time.monotonic()
        done = self.check(0, "lock", "watch", "--for", "300ms")
        self.assertGreaterEqual(time.monotonic() - begun, 0.3)
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_with_ctrl_c(self):
        started = self.watch()
        started.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(started, 130), ("", ""))

    def test_with_term(self):
        started = self.watch()
        started.send_signal(signal.SIGTERM)
        self.finish(started, 143)

    def test_when_nobody_reads_though_nothing_happens(self):
        started = self.watch()
        started.stdout.close()
        self.assertEqual(started.wait(PATIENCE), 0)
        self.assertEqual(started.stderr.read(), "")

    def test_when_nobody_reads_what_happens(self):
        self.take("x")
        done = subprocess.run(["sh", "-c", '"$0" lock watch | head -n 1', BINARY], env=self.env,
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertRegex(done.stdout, "present +x")
        self.assertEqual(done.stderr, "")

    def test_output_that_cannot_be_written(self):
        self.take("x")
        with open("/dev/full", "wb") as full:
            done = self.check(1, "lock", "watch", capture_output=False, stdout=full,
                              stderr=subprocess.PIPE)
        self.assertIn("No space left on device", done.stderr)

    def test_when_the_store_is_deleted(self):
        started = self.watch()
        for path in self.store.parent.glob("holt.db*"):
            if path.is_file():
                path.unlink()
        _, stderr = self.finish(started, 6)
        self.assertIn("deleted or replaced", stderr)

    def test_wrong_usage(self):
        self.check(2, "lock", "watch", "--for", "soon")
        self.check(2, "lock", "watch", "-o", "xml")
        self.check(2, "lock", "watch", "a", "b")

    # What it costs

    def switches(self, pid: int) -> int:
        """How often its threads were woken."""
        count = 0
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            text = (task / "status").read_text()
            count += sum(int(n) for n in re.findall(r"ctxt_switches:\s+(\d+)", text))
        return count

    def test_nothing_while_nothing_happens(self):
        started = self.watch()

        def quiet_for_a_second():
            before = self.switches(started.pid)
            time.sleep(1)  # that nothing happens can only be seen by letting time pass
            return self.switches(started.pid) == before

        self.wait_for(quiet_for_a_second, "a second without being woken")


if __name__ == "__main__":
    unittest.main()
