# SPDX-License-Identifier: Apache-2.0
"""holt run --once-per: at most one run that counts per period, whoever starts it."""

import signal
import subprocess
import unittest

from holt_case import HoltCase

SKIPPED = (r'^holt: skipped: "job" was done at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z '
           r'by "pid \d+ on \S+: \S+", once per 1h\n$')


class RunOnceTest(HoltCase):
    def setUp(self):
        super().setUp()
        self.runs = self.folder / "runs"

    def job(self, then: str = "true") -> list[str]:
        """A command that leaves a line behind each time it runs."""
        return ["sh", "-c", f'echo "$$" >> "{self.runs}"; {then}']

    def once(self, *args, period="1h", then="true") -> list[str]:
        return ["run", "--lock", "job", "--once-per", period, "--progress", "quiet", *args, "--",
                *self.job(then)]

    def count(self) -> int:
        return len(self.runs.read_text().splitlines()) if self.runs.exists() else 0

    # What counts

    def test_the_second_run_is_skipped(self):
        self.assertEqual(self.check(0, *self.once()).stderr, "")
        done = self.check(0, *self.once())
        self.assertRegex(done.stderr, SKIPPED)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.count(), 1)
        self.assertEqual(self.check(0, "lock", "list", "-o", "name").stdout, "")

    def test_many_at_the_same_time_run_it_once(self):
        fleet = [self.start(*self.once(then="sleep 0.3")) for _ in range(8)]
        said = [self.finish(one, 0)[1] for one in fleet]
        self.assertEqual(self.count(), 1)
        self.assertEqual(sum(text == "" for text in said), 1)
        for text in said:
            if text:
                self.assertRegex(text, SKIPPED)

    def test_a_failure_does_not_count_and_the_next_one_tries(self):
        mark = self.folder / "failed-once"
        then = f'if [ -e "{mark}" ]; then exit 0; fi; touch "{mark}"; exit 7'
        fleet = [self.start(*self.once(then=then)) for _ in range(4)]
        codes = sorted(one.wait() for one in fleet)
        self.assertEqual(codes, [0, 0, 0, 7])
        self.assertEqual(self.count(), 2)

    def test_a_command_that_cannot_start_does_not_count(self):
        self.check(127, "run", "--lock", "job", "--once-per", "1h", "--", "no-such-command")
        self.check(0, *self.once())
        self.assertEqual(self.count(), 1)

    def test_a_crash_does_not_count(self):
        pid = self.folder / "pid"
        started = self.start(*self.once("--ttl", "300ms", then=f'echo $$ > "{pid}"; sleep 1000'))
        child = self.wait_for_pid(pid)
        started.send_signal(signal.SIGKILL)
        self.wait_until_gone(child)
        self.assertEqual(self.check(0, *self.once()).stderr, "")
        self.assertEqual(self.count(), 2)

    def test_a_command_that_a_signal_ends_does_not_count(self):
        self.check(143, *self.once(then="kill -TERM $$"))
        self.check(0, *self.once())
        self.assertEqual(self.count(), 2)

    def test_a_run_that_lost_its_lock_does_not_count(self):
        pid = self.folder / "pid"
        started = self.start(*self.once(then=f'trap "exit 0" TERM; echo $$ > "{pid}"; '
                                             "while :; do sleep 0.05; done"))
        self.wait_for_pid(pid)
        self.check(0, "lock", "break", "job", "--reason", "out with it")
        self.finish(started, 123)
        self.check(0, *self.once())
        self.assertEqual(self.count(), 2)

    def test_a_run_without_the_option_neither_counts_nor_is_skipped(self):
        self.check(0, "run", "--lock", "job", "--", *self.job())
        self.check(0, *self.once())
        self.check(0, "run", "--lock", "job", "--", *self.job())
        self.assertEqual(self.count(), 3)

    def test_names_and_instances_are_apart(self):
        self.check(0, *self.once())
        self.check(0, "run", "--lock", "other", "--once-per", "1h", "--", *self.job())
        self.check(0, *self.once("--instance", "other"))
        self.assertEqual(self.count(), 3)

    # The period

    def test_it_runs_again_when_the_period_is_over(self):
        self.check(0, *self.once(period="400ms"))

        def runs_again():
            self.check(0, *self.once(period="400ms"))
            return self.count() == 2

        self.wait_for(runs_again, "the period to be over")

    def test_the_period_is_counted_from_the_start(self):
        self.check(0, *self.once(period="200ms", then="sleep 0.3"))
        self.assertEqual(self.check(0, *self.once(period="200ms")).stderr, "")
        self.assertEqual(self.count(), 2)

    def test_while_it_runs_nobody_waits_who_does_not_want_to(self):
        pid = self.folder / "pid"
        started = self.start(*self.once(then=f'echo $$ > "{pid}"; sleep 1000'))
        self.wait_for_pid(pid)
        self.check(124, *self.once("--no-wait"))
        started.send_signal(signal.SIGTERM)
        self.finish(started, 143)

    # Trouble

    def test_a_run_that_cannot_be_counted_is_said(self):
        done = self.check(0, *self.once(then=f'rm "{self.store}"*; true'))
        self.assertIn('the run of "job" is not counted, it may run again', done.stderr)

    def test_wrong_usage(self):
        for period in ("0s", "50ms", "367d", "often"):
            done = self.check(125, *self.once(period=period))
            self.assertRegex(done.stderr, r"^holt: .*--once-per.*\nTry: ")
        self.assertEqual(self.count(), 0)

    def test_the_output_of_the_command_is_left_alone(self):
        done = self.check(0, "run", "--lock", "job", "--once-per", "1h", "--", "echo", "hello",
                          stderr=subprocess.PIPE, stdout=subprocess.PIPE, capture_output=False)
        self.assertEqual((done.stdout, done.stderr), ("hello\n", ""))


if __name__ == "__main__":
    unittest.main()
