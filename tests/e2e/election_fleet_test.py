# SPDX-License-Identifier: Apache-2.0
"""holt elect and holt election beside a Sovereign fleet, whose processes are played with the
commands that they send."""

import json
import signal
import time
import unittest

from holt_case import HoltCase
from servers import Redis

ELECTION = "sovereign:leader"


class ElectionFleetTest(HoltCase):
    def setUp(self):
        super().setUp()
        self.server = Redis(self)
        self.env["HOLT_STORE"] = self.server.url() + "?layout=sovereign"

    def original_leads(self, ttl: int):
        """Takes or renews the key, as it does, and says that it lives."""
        self.server.tell(f"SET {ELECTION} java-1 EX {ttl}")
        self.server.tell(f"SETEX sovereign:heartbeat:java-1 {ttl + 5} {time.time_ns() // 10**6}")

    def leader(self) -> str:
        shown = self.holt("election", "show", ELECTION, "-o", "json")
        return json.loads(shown.stdout)["leader"] if shown.returncode == 0 else ""

    def test_a_command_runs_when_the_original_is_gone(self):
        self.original_leads(2)
        candidate = self.start("elect", ELECTION, "--id", "web-1", "--", "sleep", "1000")
        self.wait_for(lambda: self.leader() == "web-1", "its key to end")
        self.assertIn("web-1", self.check(0, "election", "list").stdout)
        candidate.send_signal(signal.SIGTERM)
        self.finish(candidate, 143)
        self.check(3, "election", "show", ELECTION)

    def test_what_is_shown_and_refused(self):
        self.original_leads(600)
        shown = self.check(0, "election", "show", ELECTION).stdout
        self.assertRegex(shown, r"leader +java-1\n")
        self.assertRegex(shown, r"term +none\n")
        self.assertRegex(shown, r"since +not known\n")
        watched = self.check(0, "election", "watch", ELECTION, "--for", "100ms").stdout
        self.assertRegex(watched, r"leads +java-1  term none\n")
        for code, why, words in (
                (2, "no process of Holt: stop it where it runs", ("election", "resign", ELECTION)),
                (125, f'use "{ELECTION}"', ("elect", "scheduler", "--", "true")),
                (125, "a lock delay is not possible",
                 ("elect", ELECTION, "--lock-delay", "1s", "--", "true")),
                (2, "stop it where it runs",
                 ("lock", "break", f"election/{ELECTION}", "--now", "--reason", "stuck"))):
            with self.subTest(words=words):
                self.assertIn(why, self.check(code, *words).stderr)
        self.assertEqual(self.leader(), "java-1")

    def test_our_leader_resigns_to_the_next(self):
        one = self.start("elect", ELECTION, "--id", "web-1", "--", "sleep", "1000")
        self.wait_for(lambda: self.leader() == "web-1", "web-1 to lead")
        two = self.start("elect", ELECTION, "--id", "web-2", "--", "sleep", "1000")

        def waits():
            shown = self.holt("election", "show", ELECTION, "-o", "json")
            return shown.returncode == 0 and json.loads(shown.stdout)["candidates"] == 1

        self.wait_for(waits, "web-2 to wait")
        self.check(0, "election", "resign", ELECTION, "--to", "web-2", "--wait", "30s")
        self.wait_for(lambda: self.leader() == "web-2", "web-2 to lead")
        self.finish(one, 123)
        two.send_signal(signal.SIGTERM)
        self.finish(two, 143)


if __name__ == "__main__":
    unittest.main()
