# SPDX-License-Identifier: Apache-2.0
"""holt lock: take, extend, release, show, list, break; text, JSON and exit codes."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import unittest

from holt_case import HoltCase


class LockTest(HoltCase):
    def test_answers_as_people_see_them(self):
        owner = self.take("deploy", "--ttl", "10m", "--note", "release 1.2")
        text = self.transcript(
            ["lock", "show", "deploy"], ["lock", "list"], ["lock", "try", "deploy"],
            ["lock", "acquire", "deploy", "--wait", "10ms"], ["lock", "try", "other"],
            ["lock", "extend", "deploy", "--owner", owner, "--ttl", "20m"],
            ["lock", "break", "deploy", "--reason", "host is gone"], ["lock", "list"],
            ["lock", "break", "deploy", "--reason", "yes", "--now"],
            ["lock", "break", "deploy", "--reason", "again"], ["lock", "show", "deploy"],
            ["lock", "release", "deploy", "--owner", owner],
            ["lock", "list", "nothing/"])
        self.assert_golden("lock", text, tables=True)

    def test_answers_as_programs_see_them(self):
        self.take("a", "--ttl", "10m", "--note", 'quote " and ünïcode')
        self.take("b")
        text = self.transcript(
            *[["lock", "list", "-o", form] for form in ("json", "ndjson", "name")],
            *[["lock", "show", "a", "-o", form] for form in ("json", "ndjson", "name")],
            ["lock", "try", "c", "-o", "json"], ["lock", "list", "z", "-o", "json"],
            ["lock", "list", "z", "-o", "ndjson"], ["lock", "show", "z", "-o", "json"])
        self.assert_golden("lock_programs", text)

    def test_json_is_json(self):
        self.take("a", "--note", 'quote " \\ \n control \x01')
        self.take("b")
        listed = json.loads(self.check(0, "lock", "list", "-o", "json").stdout)
        self.assertEqual([lease["name"] for lease in listed], ["a", "b"])
        self.assertEqual(listed[0]["note"], 'quote " \\ \n control \x01')
        self.assertEqual(len(listed[0]["fence"]), 19)
        self.assertGreater(listed[1]["fence"], listed[0]["fence"])
        shown = json.loads(self.check(0, "lock", "show", "a", "-o", "json").stdout)
        self.assertEqual(shown.keys(), listed[0].keys())
        lines = self.check(0, "lock", "list", "-o", "ndjson").stdout.splitlines()
        self.assertEqual([json.loads(line)["name"] for line in lines], ["a", "b"])
        self.assertEqual(json.loads(self.check(0, "lock", "list", "z", "-o", "json").stdout), [])

    def test_control_characters_in_a_note_do_not_reach_the_terminal(self):
        self.take("a", "--note", "\x1b[2Jgone\nname  forged")
        for words in (["lock", "show", "a"], ["lock", "list"]):
            shown = self.check(0, *words).stdout
            self.assertNotIn("\x1b", shown)
            self.assertIn(r"\x1B[2Jgone\x0Aname  forged", shown)

    def test_a_taken_lock_stays_taken_and_ends_after_its_ttl(self):
        self.take("x", "--ttl", "500ms")
        self.check(5, "lock", "try", "x")
        self.check(0, "lock", "acquire", "x", "--wait", "20s")

    def test_extend_and_release(self):
        owner = self.take("x", "--ttl", "1h")
        self.check(0, "lock", "extend", "x", "--owner", owner, "--ttl", "2h")
        shown = json.loads(self.check(0, "lock", "show", "x", "-o", "json").stdout)
        self.assertEqual(shown["ttl_ms"], 7_200_000)
        self.assertGreater(shown["expires_in_ms"], 3_600_000)
        self.check(0, "lock", "release", "x", env={"HOLT_OWNER": owner})
        self.check(3, "lock", "show", "x")
        self.check(3, "lock", "release", "x", "--owner", owner)
        self.check(3, "lock", "extend", "x", "--owner", owner, "--ttl", "1s")

    def test_the_owner_is_told_that_it_should_stop(self):
        owner = self.take("x", "--ttl", "1h")
        self.check(0, "lock", "break", "x", "--reason", "my turn")
        done = self.check(5, "lock", "extend", "x", "--owner", owner, "--ttl", "2h")
        self.assertIn('cannot extend lock "x": you were asked to stop: "my turn"\n', done.stderr)
        way_out = re.search("Try: holt (.*)", done.stderr)[1]
        self.check(0, *shlex.split(way_out))

    def test_only_the_owner_may_extend_and_release(self):
        stranger = self.take("y")
        self.take("x")
        for words in (["release"], ["extend", "--ttl", "1h"]):
            done = self.check(5, "lock", words[0], "x", "--owner", stranger, *words[1:])
            self.assertIn("another owner holds it", done.stderr)
        self.check(0, "lock", "show", "x")

    def test_fences_grow(self):
        fences = []
        for _ in range(5):
            grant = json.loads(self.check(0, "lock", "try", "x", "-o", "json").stdout)
            fences.append(grant["fence"])
            self.check(0, "lock", "release", "x", "--owner", grant["owner"])
        self.assertEqual(fences, sorted(set(fences)))

    def test_break_asks_first(self):
        owner = self.take("x", "--ttl", "1h")
        done = self.check(0, "lock", "break", "x", "--reason", "maintenance")
        self.assertIn("asked the holder", done.stderr)
        shown = json.loads(self.check(0, "lock", "show", "x", "-o", "json").stdout)
        self.assertEqual(shown["broken"], "maintenance")
        self.check(5, "lock", "try", "x")
        self.check(0, "lock", "release", "x", "--owner", owner)
        self.check(0, "lock", "try", "x")

    def test_break_now_warns_and_frees(self):
        self.take("x", "--ttl", "1h")
        done = self.check(0, "lock", "break", "x", "--reason", "host burnt", "--now")
        self.assertIn("may still believe", done.stderr)
        self.check(0, "lock", "try", "x")

    def test_break_only_a_certain_grant(self):
        self.take("x")
        fence = json.loads(self.check(0, "lock", "show", "x", "-o", "json").stdout)["fence"]
        self.check(5, "lock", "break", "x", "--reason", "r", "--fence", str(int(fence) - 1))
        self.check(0, "lock", "break", "x", "--reason", "r", "--fence", fence)
        self.check(3, "lock", "break", "free", "--reason", "r")

    def test_a_prefix_lists_what_starts_with_it(self):
        for name in ("a/1", "a/2", "b", "a%"):
            self.take(name)
        self.assertEqual(self.check(0, "lock", "list", "a/", "-o", "name").stdout, "a/1\na/2\n")
        self.assertEqual(self.check(0, "lock", "list", "a%", "-o", "name").stdout, "a%\n")

    def test_instances_do_not_see_each_other(self):
        self.check(0, "lock", "try", "x", "--instance", "one")
        self.check(0, "lock", "try", "x", "--instance", "two")
        self.check(5, "lock", "try", "x", env={"HOLT_INSTANCE": "one"})
        self.check(3, "lock", "show", "x")

    def test_waiting_is_first_come_first_served(self):
        owner = self.take("x", "--ttl", "1h")
        waiting = []
        for place in (1, 2, 3):
            waiting.append(self.start("lock", "acquire", "x", "--ttl", "300ms", "-o", "json",
                                      stdout=subprocess.PIPE))
            self.wait_until_waiting("x", place)
        self.check(0, "lock", "release", "x", "--owner", owner)
        fences = [json.loads(self.finish(each, 0)[0])["fence"] for each in waiting]
        self.assertEqual(fences, sorted(set(fences)))

    def test_interrupted_while_waiting(self):
        self.take("x", "--ttl", "1h")
        for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            waiting = self.start("lock", "acquire", "x")
            self.wait_until_waiting("x")
            waiting.send_signal(sent)
            self.finish(waiting, code)
            self.wait_until_waiting("x", 0)

    def test_ignored_signals_stay_ignored(self):
        owner = self.take("x", "--ttl", "1h")
        waiting = self.start("lock", "acquire", "x",
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_until_waiting("x")
        waiting.send_signal(signal.SIGHUP)
        self.check(0, "lock", "release", "x", "--owner", owner)
        self.finish(waiting, 0)

    def test_a_person_is_told_who_they_wait_for(self):
        self.take("x", "--ttl", "1h", "--note", "the night shift")
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        waiting = self.start("lock", "acquire", "x", stderr=theirs)
        os.close(theirs)
        self.assertIn(b'waiting for lock "x" (next in line): held by "the night shift"',
                      os.read(ours, 1000))
        waiting.send_signal(signal.SIGINT)
        waiting.wait()

    def test_the_hint_can_be_pasted_into_a_shell(self):
        for name in ("plain/name-1", "two words", "it's", "$(reboot)", "-dash"):
            self.check(0, "lock", "try", "--", name)
            hint = self.check(5, "lock", "try", "--", name).stderr.splitlines()[-1]
            self.assertEqual(shlex.split(hint.removeprefix("Try: "))[-1], name)

    def test_a_short_wait_is_not_told(self):
        self.take("x", "--ttl", "1h")
        done = self.check(5, "lock", "acquire", "x", "--wait", "50ms")
        self.assertNotIn("waiting", done.stderr)


if __name__ == "__main__":
    unittest.main()
