# SPDX-License-Identifier: Apache-2.0
"""holt elect and holt election: a command on whoever leads, onlookers, another leader."""

import json
import re
import signal
import subprocess
import unittest

from holt_case import HoltCase, is_alive


class ElectionTest(HoltCase):
    def candidate(self, name: str, *options, code: str = "time.sleep(1000)") -> subprocess.Popen:
        """Stands for the election "job"; its command writes term and pid, then runs code."""
        log = self.folder / "log"
        program = f"""
with open({str(log)!r}, "a") as log:
    print({name!r}, os.environ["HOLT_ELECTION"], os.environ["HOLT_FENCE"], os.getpid(), file=log)
{code}
"""
        return self.start("elect", "job", "--id", name, *options, "--",
                          *self.script(program, f"{name}.py"))

    def terms(self) -> list[tuple[str, int, int]]:
        """Who led, in which term, with which pid; in order."""
        path = self.folder / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(name, int(term), int(pid)) for name, _, term, pid in map(str.split, lines)]

    def wait_for_leader(self, name: str, nth: int = 1) -> tuple[int, int]:
        """The term and pid of the nth command, which must be this candidate's."""
        self.wait_for(lambda: len(self.terms()) >= nth, f"term {nth}")
        leader, term, pid = self.terms()[nth - 1]
        self.assertEqual(leader, name)
        self.strays.append(pid)
        return term, pid

    def wait_for_candidates(self, count: int):
        def in_line():
            shown = self.holt("election", "show", "job", "-o", "json")
            return shown.returncode == 0 and json.loads(shown.stdout)["candidates"] == count

        self.wait_for(in_line, f"{count} in line")

    # Leading

    def test_the_next_leads_when_the_command_ends(self):
        one = self.candidate("one", code="sys.stdin.read(); sys.exit(7)")
        first, _ = self.wait_for_leader("one")
        two = self.candidate("two")
        second, _ = self.wait_for_leader("two", 2)
        self.finish(one, 7)
        self.assertGreater(second, first)
        two.send_signal(signal.SIGTERM)
        self.finish(two, 143)
        self.assertIn("has no leader", self.check(3, "election", "show", "job").stderr)

    def test_the_next_leads_when_the_leader_is_killed(self):
        one = self.candidate("one", "--ttl", "1s")
        first, pid = self.wait_for_leader("one")
        self.candidate("two", "--ttl", "1s")
        self.wait_for_candidates(1)
        one.kill()
        second, _ = self.wait_for_leader("two", 2)
        self.assertGreater(second, first)
        self.assertFalse(is_alive(pid), "the watchdog ends the command before anybody else leads")

    def test_a_stopped_leader_is_replaced_and_its_command_is_gone_before(self):
        one = self.candidate("one", "--ttl", "1s")
        _, pid = self.wait_for_leader("one")
        self.candidate("two", "--ttl", "1s")
        self.wait_for_candidates(1)
        one.send_signal(signal.SIGSTOP)
        self.wait_for_leader("two", 2)
        self.assertFalse(is_alive(pid))
        one.send_signal(signal.SIGCONT)
        self.finish(one, 123)

    def test_it_gives_up_when_the_wait_is_over(self):
        self.candidate("one")
        self.wait_for_leader("one")
        done = self.check(124, "elect", "job", "--wait", "100ms", "--", "true")
        self.assertIn('does not lead election "job" after 100ms', done.stderr)

    def test_ctrl_c_while_waiting_leaves_the_line(self):
        self.candidate("one")
        self.wait_for_leader("one")
        two = self.candidate("two")
        self.wait_for_candidates(1)
        two.send_signal(signal.SIGINT)
        self.finish(two, 130)
        self.wait_for_candidates(0)

    def test_a_command_that_cannot_be_started(self):
        self.assertIn("cannot run", self.check(127, "elect", "job", "--", "/nowhere/at/all").stderr)
        self.check(3, "election", "show", "job")

    # Looking on

    def test_show_and_list(self):
        self.candidate("one")
        self.wait_for_leader("one")
        text = self.transcript(["election", "show", "job"], ["election", "list"],
                               ["election", "list", "-o", "name"], ["election", "list", "x"],
                               ["election", "show", "none"])
        text = re.sub(r"\b(\d+(ms|s))+ ago", "A WHILE ago", text)
        self.assert_golden("election_show", text, tables=True)

    def test_json(self):
        self.candidate("one")
        term, _ = self.wait_for_leader("one")
        shown = json.loads(self.check(0, "election", "show", "job", "-o", "json").stdout)
        self.assertEqual((shown["name"], shown["leader"], int(shown["term"])), ("job", "one", term))
        self.assertEqual(shown["ttl_ms"], 30000)
        self.assertLess(shown["heartbeat_age_ms"], 30000)

    def test_watch(self):
        self.candidate("one")
        self.wait_for_leader("one")
        self.candidate("two")
        self.wait_for_candidates(1)
        watch = self.start("election", "watch", "job", "-o", "ndjson", stdout=subprocess.PIPE)
        events = [json.loads(watch.stdout.readline())]
        self.check(0, "election", "resign", "job")
        while events[-1]["event"] != "elected":
            events.append(json.loads(watch.stdout.readline()))
        said = [(event["event"], event["leader"]) for event in events]
        self.assertEqual(said, [("leads", "one"), ("stepped down", "one"), ("elected", "two")])
        watch.send_signal(signal.SIGINT)
        self.finish(watch, 130)

    # Another leader

    def test_resign_ends_the_command_first(self):
        one = self.candidate("one")
        _, pid = self.wait_for_leader("one")
        self.candidate("two")
        self.wait_for_candidates(1)
        done = self.check(0, "election", "resign", "job")
        self.assertIn('"two" leads election "job"', done.stderr)
        self.assertFalse(is_alive(pid))
        _, stderr = self.finish(one, 123)
        self.assertIn("is to be handed over: sent TERM to the command", stderr)

    def test_resign_to_a_named_candidate(self):
        self.candidate("one")
        self.wait_for_leader("one")
        for count, name in enumerate(("two", "three"), 1):
            self.candidate(name)
            self.wait_for_candidates(count)
        done = self.check(0, "election", "resign", "job", "--to", "three")
        self.assertIn('"three" leads election "job"', done.stderr)

    def test_resign_to_nobody_known(self):
        one = self.candidate("one")
        self.wait_for_leader("one")
        done = self.check(5, "election", "resign", "job", "--to", "none", "--wait", "500ms")
        self.assertIn("is there such a candidate?", done.stderr)
        self.assertIsNone(one.poll())

    def test_resign_without_a_leader(self):
        self.assertIn("has no leader", self.check(3, "election", "resign", "job").stderr)

    # Wrong usage

    def test_wrong_usage(self):
        for args, message in (
                ([], "ELECTION is missing"), (["x"], "the command to run is missing"),
                (["x", "--priority", "high", "--", "true"], "is no number"),
                (["x", "--priority", "11", "--", "true"], "1 (first) to 10"),
                (["x", "--ttl", "1s", "--renew-every", "1s", "--", "true"],
                 "two renewals must fit"),
                (["x", "--ttl", "3s", "--grace", "2s", "--", "true"], "more than a third")):
            self.assertIn(message, self.check(125, "elect", *args).stderr)


if __name__ == "__main__":
    unittest.main()
