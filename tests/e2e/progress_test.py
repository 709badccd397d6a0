# SPDX-License-Identifier: Apache-2.0
"""--progress: what commands that wait tell of it, on stderr."""

import json
import re
import time
import unittest

from holt_case import HoltCase
from screen import CTRL_C, Screen

WAITING = r'waiting for lock "x" \(next in line%s\): held by "the day shift" \(fence \d+.*?'
AT_FIRST = WAITING % ""


class ProgressTest(HoltCase):
    def setUp(self):
        super().setUp()
        self.owner = self.take("x", "--ttl", "1h", "--note", "the day shift")

    def release(self):
        self.check(0, "lock", "release", "x", "--owner", self.owner)

    def commands(self):
        return (["run", "--lock", "x", "--", "true"], ["lock", "acquire", "x", "--ttl", "1s"])

    def test_a_line_that_is_kept_up_to_date(self):
        screen = Screen(self, "run", "--lock", "x", "--", "true")
        screen.expect(f"\rholt: {AT_FIRST}\x1b\\[K")
        for seconds in ("[12]", "[23]"):
            screen.expect(f"\rholt: {WAITING % f', {seconds}s'}\x1b\\[K")
        self.release()
        rest = screen.end(0)
        self.assertNotIn("\n", rest)
        self.assertTrue(rest.endswith("\r\x1b[K"), rest)

    def test_something_is_said_soon(self):
        for words in self.commands():
            screen = Screen(self, *words)
            screen.expect("waiting for lock")
            self.assertLess(time.monotonic() - screen.began, 2)

    def test_it_fits_the_terminal(self):
        screen = Screen(self, "run", "--lock", "x", "--", "true", columns=40)
        shown = screen.expect("\r(holt: waiting[^\x1b]*)\x1b\\[K")[1]
        self.assertLess(len(shown), 40)
        self.assertTrue(shown.endswith("..."), shown)

    def test_plain_lines_in_a_log(self):
        for args in ([], ["--progress", "plain"]):
            started = self.start("lock", "acquire", "x", "--ttl", "100ms", *args)
            self.assertRegex(started.stderr.readline(), f"^holt: {AT_FIRST}\n$")
            began = time.monotonic()
            self.wait_for(lambda: time.monotonic() - began > 1, "a wait that is worth a line")
            self.release()
            self.assertRegex(self.finish(started, 0)[1], r'^holt: got lock "x" after \w+\n$')
            self.wait_for(lambda: self.holt("lock", "show", "x").returncode == 3, "it to be free")
            self.owner = self.take("x", "--ttl", "1h", "--note", "the day shift")

    def test_plain_on_a_terminal(self):
        for options in ({"env": {"HOLT_PROGRESS": "plain"}}, {"env": {"TERM": "dumb"}}):
            screen = Screen(self, "run", "--lock", "x", "--", "true", **options)
            screen.expect(f"holt: {AT_FIRST}\r\n")
            screen.type(CTRL_C)
            self.assertNotIn("\x1b[K", screen.end(130))

    def test_quiet(self):
        for words in self.commands():
            done = self.holt(*words, env={"HOLT_PROGRESS": "quiet", "HOLT_RUN_WAIT": "1200ms",
                                          "HOLT_LOCK_ACQUIRE_WAIT": "1200ms"})
            self.assertRegex(done.stderr, r'\Aholt: lock "x" was not free within 1s200ms: .*\n')
            self.assertNotIn("waiting", done.stderr)

    def test_json(self):
        started = self.start("lock", "acquire", "x", "--ttl", "1s", "--progress", "json")
        told = json.loads(started.stderr.readline())
        self.assertEqual(told["event"], "waiting")
        self.assertEqual((told["name"], told["note"], told["holder"]),
                         ("x", "the day shift", self.owner))
        self.assertEqual((told["waiting"], told["before_at_most"]), (1, 0))
        self.assertRegex(told["fence"], r"^\d{19}$")
        self.assertLess(told["waited_ms"], 2000)
        self.release()
        told = json.loads(self.finish(started, 0)[1])
        self.assertEqual((told["event"], told["name"]), ("acquired", "x"))

    def test_json_when_it_gives_up(self):
        done = self.holt("run", "--lock", "x", "--wait", "500ms", "--progress", "json", "--",
                         "true")
        events = [json.loads(line)["event"] for line in done.stderr.splitlines()[:-1]]
        self.assertEqual((events[0], events[-1]), ("waiting", "gave_up"))

    def test_those_before_us(self):
        first = self.start("lock", "acquire", "x", "--ttl", "1h", "--progress=quiet")
        self.wait_until_waiting("x", 1)
        second = self.start("lock", "acquire", "x", "--ttl", "1h", "--progress=json")
        self.assertEqual(json.loads(second.stderr.readline())["before_at_most"], 1)
        self.release()
        self.finish(first, 0)

        def next_in_line():
            return json.loads(second.stderr.readline())["before_at_most"] == 0

        self.wait_for(next_in_line, "a line that says so")

    def test_a_blocked_store(self):
        for form, text in (("plain", "holt: the store has not answered yet, waiting for it\n"),
                           ("json", '{"event":"waiting_for_store"}\n')):
            with self.blocked_store():
                started = self.start("lock", "acquire", "y", "--progress", form)
                self.assertEqual(started.stderr.readline(), text)
            self.finish(started, 0)
            self.check(0, "lock", "break", "y", "--now", "--reason", "next")
            self.wait_for(lambda: self.holt("lock", "show", "y").returncode == 3, "it to be free")

    def test_no_line_is_left_behind_what_follows(self):
        screen = Screen(self, "run", "--lock", "x", "--wait", "300ms", "--", "true")
        text = screen.end(124)
        self.assertRegex(text, "\r\x1b\\[K(\x1b\\[31m)?holt:(\x1b\\[0m)? lock \"x\" was not free")

    def test_the_demo(self):
        self.env["TMPDIR"] = str(self.folder)
        text = Screen(self, "demo").end(0)
        self.assertRegex(text, r"the others wait for its lease to end: \d\.\d s")
        self.assertNotRegex(re.sub("\r[^\r\n]*?\x1b\\[K", "", text), "the others wait")
        self.assertEqual(self.check(0, "demo", "--progress", "quiet").stderr, "")
        told = self.check(0, "demo", "--progress", "json").stderr.splitlines()
        self.assertGreaterEqual(len(told), 1)
        for line in told:
            self.assertGreaterEqual(json.loads(line)["lease_ends_in_ms"], 0)

    def test_a_form_that_is_none(self):
        done = self.check(125, "run", "--progress", "jsno", "--lock", "x", "--", "true")
        self.assertIn('--progress: "jsno" is none of auto, plain, quiet and json; '
                      'did you mean "json"?', done.stderr)


if __name__ == "__main__":
    unittest.main()
