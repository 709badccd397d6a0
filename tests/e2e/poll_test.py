# SPDX-License-Identifier: Apache-2.0
"""holt poll and holt nodes: a command for each endpoint, the list and its changes, onlookers."""

import json
import re
import signal
import time
import unittest

from holt_case import is_alive
from visits import VisitCase

FAST = ["--every", "50ms"]
# Does not end by TERM, but says that it came; $1 is a file.
STUBBORN = ["sh", "-c", 'trap "echo TERM >>$1.term" TERM; echo $$ >$1; '
            "while :; do sleep 0.05; done", "sh"]


class PollTest(VisitCase):
    def lines(self, name: str = "out") -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def wait_for_lines(self, count: int, name: str = "out") -> list[str]:
        self.wait_for(lambda: len(self.lines(name)) >= count, f"{count} lines")
        return self.lines(name)

    def poll(self, *words, **more):
        """A node whose command is what stands behind --."""
        return self.start("poll", "job", "--node", "one", "--endpoints",
                          str(self.folder / "endpoints"), *words, **more)

    def shown(self) -> dict[str, dict]:
        done = self.holt("poll", "show", "job", "-o", "json")
        return {each["endpoint"]: each for each in json.loads(done.stdout)}

    # The command

    def arguments(self, *command: str) -> list[str]:
        """What a command of these words gets for the endpoint "a b", each in a line."""
        self.listed("a b")
        out = self.folder / "out"
        node = self.poll("--", "sh", "-c", f'printf "%s\\n" "$@" >{out}.new; mv {out}.new {out}',
                         "sh", *command)
        self.wait_for(out.exists, "the command")
        self.end(node)
        return self.lines()

    def test_braces_are_replaced_wherever_they_stand(self):
        self.assertEqual(self.arguments("x{}y{}", "--to={}", "{", "}"),
                         ["xa bya b", "--to=a b", "{", "}"])

    def test_without_braces_the_endpoint_is_the_last_word(self):
        self.assertEqual(self.arguments("--from", "-v"), ["--from", "-v", "a b"])

    def test_no_shell_looks_at_the_endpoint(self):
        self.listed("$(touch x); {} `id`")
        out = self.folder / "out"
        node = self.poll("--", "sh", "-c", f'printf "%s\\n" "$1" >>{out}', "sh", "{}")
        self.assertEqual(self.wait_for_lines(1), ["$(touch x); {} `id`"])
        self.end(node)

    def test_environment_and_input(self):
        self.listed("a")
        out = self.folder / "out"
        node = self.poll("--", "sh", "-c", f'cat; env | grep ^HOLT_ | sort >{out}.new; '
                         f'mv {out}.new {out}', stdin=None)
        self.wait_for(out.exists, "the command")
        told = dict(line.split("=", 1) for line in self.lines())
        fence = self.shown()["a"]["fence"].lstrip("0")
        self.end(node)
        self.assertEqual({key: told.get(key) for key in (
            "HOLT_ENDPOINT", "HOLT_POLLING", "HOLT_NODE", "HOLT_FENCE")},
            {"HOLT_ENDPOINT": "a", "HOLT_POLLING": "job", "HOLT_NODE": "one", "HOLT_FENCE": fence})

    def test_output_passes_through(self):
        self.listed("a")
        with (self.folder / "out").open("w") as out:
            node = self.poll("--", "echo", "seen", stdout=out)
        self.assertEqual(self.wait_for_lines(1)[0], "seen a")
        self.end(node)

    def test_a_failing_command_is_reported_and_polled_again(self):
        self.listed("a")
        node = self.poll(*FAST, "--", "sh", "-c", f"echo >>{self.folder}/out; exit 3")
        self.wait_for_lines(3)
        said = self.end(node).splitlines()
        self.assertGreaterEqual(said.count('holt: poll of "a" failed: exit code 3'), 2)

    def test_so_many_at_a_time(self):
        endpoints = [f"e{number}" for number in range(6)]
        self.listed(*endpoints)
        node = self.node("one", "--jobs", "2", *FAST, stay=0.05)
        self.wait_for_visits(endpoints)
        self.end(node)
        inside, most = 0, 0
        for visit in self.visits():
            inside += -1 if visit.what == "end" else 1
            most = max(most, inside)
        self.assertLessEqual(most, 2)
        self.check_visits()

    def test_one_that_takes_too_long_is_ended(self):
        self.listed("a")
        node = self.poll("--timeout", "100ms", "--grace", "100ms", *FAST, "--",
                         "sh", "-c", f"echo $$ >>{self.folder}/out; exec sleep 1000")
        pids = self.wait_for_lines(2)
        self.wait_until_gone(int(pids[0]))
        self.assertIn('poll of "a" was ended: it took longer than 100ms', self.end(node))

    def test_a_command_that_cannot_be_started(self):
        self.listed("a", "b")
        plain = self.folder / "plain"
        plain.write_text("")
        for command, code in (("/nowhere/at/all", 127), (str(plain), 126)):
            done = self.check(code, "poll", "job", "--endpoints", str(self.folder / "endpoints"),
                              "--", command)
            self.assertEqual(done.stderr.count("cannot run"), 1, done.stderr)
        self.check(3, "poll", "show", "job")

    def test_a_command_that_is_there_for_some_endpoints_only(self):
        self.listed("true", "nothing-of-that-name")
        with (self.folder / "err").open("w") as err:
            node = self.poll(*FAST, "--", "/bin/{}", stderr=err)
        self.wait_for_lines(2, "err")
        self.assertIsNone(node.poll())
        self.end(node)
        self.assertRegex(self.lines("err")[0], 'poll of "nothing-of-that-name": cannot run')

    # The list

    def test_a_list_with_comments_from_stdin(self):
        node = self.start("poll", "job", "--endpoints", "-", "--", *self.visit, str(self.log), "{}",
                          "0", stdin=-1)
        node.stdin.write("# what we poll\n\n  a  \r\nhttp://x/#top\n#b")
        node.stdin.close()
        node.stdin = None
        self.wait_for_visits(["a", "http://x/#top"])
        self.assertEqual(sorted(self.shown()), ["a", "http://x/#top"])
        self.end(node)

    def test_hup_reads_the_list_again(self):
        self.listed("a", "b")
        with (self.folder / "err").open("w") as err:
            node = self.node("one", *FAST, stderr=err)
        self.wait_for_visits(["a", "b"])
        self.listed("b", "c")
        node.send_signal(signal.SIGHUP)
        self.wait_for_visits(["c"])
        self.wait_for(lambda: sorted(self.shown()) == ["b", "c"], "a to be gone")
        after = len(self.visits())
        self.wait_for_visits(["b", "c"], after=after)
        self.assertNotIn("a", {visit.endpoint for visit in self.visits()[after:]
                               if visit.what != "end"})
        self.listed("d", "x" * 600)
        node.send_signal(signal.SIGHUP)
        said = self.wait_for_lines(2, "err")
        self.assertIn("again: 2 endpoints", said[0])
        self.assertRegex(said[1], "nothing is changed: line 2 of .*/endpoints")
        self.wait_for_visits(["b", "c"], after=len(self.visits()))
        self.end(node)
        self.assertFalse(self.started(endpoint="d"))

    def test_hup_ends_it_where_nothing_can_be_read_again(self):
        node = self.start("poll", "job", "--stored", "--", "true")
        self.wait_for(lambda: "online" in self.holt("nodes", "job").stdout, "the node")
        self.end(node, signal.SIGHUP)

    def test_endpoints_in_the_store(self):
        node = self.start("poll", "job", "--node", "one", "--stored", *FAST, "--", *self.visit,
                          str(self.log), "{}", "0")
        self.wait_for(lambda: "online" in self.holt("nodes", "job").stdout, "the node")
        self.check(0, "poll", "add", "job", "a", "b")
        self.wait_for_visits(["a", "b"])
        self.check(0, "poll", "pause", "job", "a")
        self.wait_for(lambda: self.shown()["a"]["state"] == "unknown", "a to rest")
        after = len(self.visits())
        self.wait_for_visits(["b"], after=after)
        self.assertTrue(self.shown()["a"]["paused"])
        self.assertNotIn("a", {visit.endpoint for visit in self.visits()[after:]})
        self.check(0, "poll", "resume", "job", "a")
        self.wait_for_visits(["a"], after=after)
        self.check(0, "poll", "remove", "job", "b")
        self.wait_for(lambda: list(self.shown()) == ["a"], "b to be gone")
        self.end(node)

    # The end

    def test_term_ends_the_commands_and_hands_over(self):
        self.listed("a", "b")
        node = self.node("one", stay=1000)
        self.wait_for_visits(["a", "b"])
        pids = [visit.pid for visit in self.started()]
        self.assertEqual(self.end(node), "")
        self.assertFalse([pid for pid in pids if is_alive(pid)])
        self.check(3, "poll", "show", "job")

    def test_one_that_does_not_heed_term_is_killed(self):
        self.listed("a")
        node = self.poll("--grace", "200ms", "--", *STUBBORN, str(self.folder / "pid"))
        pid = self.wait_for_pid(self.folder / "pid")
        self.end(node, signal.SIGINT)
        self.assertFalse(is_alive(pid))
        self.check(3, "poll", "show", "job")

    def test_a_second_signal_ends_it_at_once(self):
        self.listed("a")
        node = self.poll("--ttl", "1h", "--grace", "10m", "--", *STUBBORN, str(self.folder / "pid"))
        pid = self.wait_for_pid(self.folder / "pid")
        node.send_signal(signal.SIGINT)
        self.wait_for_text(self.folder / "pid.term")
        time.sleep(0.25)  # the same one sooner is the same request
        node.send_signal(signal.SIGINT)
        self.assertIn("interrupted", self.finish(node, 130)[1])
        self.wait_until_gone(pid)

    def test_the_commands_die_with_it(self):
        self.listed("a", "b")
        node = self.poll("--", *STUBBORN, str(self.folder / "pid-{}"))
        pids = [self.wait_for_pid(self.folder / f"pid-{endpoint}") for endpoint in "ab"]
        node.kill()
        for pid in pids:
            self.wait_until_gone(pid)

    def test_what_cannot_be_renewed_is_not_polled(self):
        self.listed("a")
        node = self.node("one", "--ttl", "1s", "--grace", "200ms", *FAST, stay=1000)
        self.wait_for_visits(["a"])
        with self.blocked_store():
            self.wait_until_gone(self.started()[0].pid)
            self.wait_for(lambda: self.shown().get("a", {}).get("state") != "owned",
                          "the lease to run out")
            self.assertEqual(len(self.started()), 1)
        self.wait_for_visits(["a"], after=len(self.visits()))
        self.assertRegex(self.end(node), 'poll of "a" was ended: its lease ')
        self.check_visits()

    # Looking on

    def test_show_and_nodes(self):
        self.listed("a", "b")
        node = self.node("one", "--weight", "2.5", stay=1000)
        self.wait_for_visits(["a", "b"])
        self.check(0, "poll", "add", "job", "c")
        self.check(0, "poll", "pause", "job", "c")
        text = self.transcript(["poll", "show", "job"], ["poll", "show", "job", "-o", "name"],
                               ["nodes"], ["nodes", "job", "-o", "name"], ["nodes", "none"],
                               ["poll", "show"], ["poll", "show", "none", "-o", "json"])
        text = re.sub(r"\b(\d+(ms|s))+ ago", "A WHILE ago", text)
        self.assert_golden("poll_show", text, tables=True)
        self.end(node)

    def test_json(self):
        self.listed("a")
        node = self.node("one", stay=1000)
        self.wait_for_visits(["a"])
        shown = self.shown()["a"]
        self.assertEqual((shown["state"], shown["node"], shown["preferred"], shown["paused"]),
                         ("owned", "one", "one", False))
        self.assertEqual(int(shown["fence"]), self.visits()[0].fence)
        self.assertEqual(len(shown["fence"]), 19)
        listed = json.loads(self.check(0, "nodes", "-o", "json").stdout)
        self.assertEqual([(each["node"], each["polling"], each["status"], each["endpoints"],
                           each["ttl_ms"]) for each in listed],
                         [("one", "job", "online", 1, 30000)])
        self.assertLess(listed[0]["heartbeat_age_ms"], 30000)
        self.end(node)

    def test_changes_in_the_store(self):
        self.assert_golden("poll_changes", self.transcript(
            ["poll", "add", "job", "a", "b"], ["poll", "add", "job", "a", "c"],
            ["poll", "pause", "job", "a"], ["poll", "pause", "job", "a", "x"],
            ["poll", "resume", "job", "a"], ["poll", "resume", "job", "a"],
            ["poll", "remove", "job", "a", "b", "c"], ["poll", "remove", "job", "a"],
            ["poll", "add", "job"], ["poll", "add"], ["poll", "add", "a/b", "c"]))

    def test_completion(self):
        def offered(*words):
            done = self.check(0, "__complete", "--", *words)
            return [line.split("\t")[0] for line in done.stdout.splitlines()]

        self.listed("a", "b")
        node = self.node("one", stay=1000)
        self.wait_for_visits(["a", "b"])
        self.assertEqual(offered("poll", ""), ["show", "add", "remove", "pause", "resume", "job"])
        self.assertEqual(offered("poll", "j"), ["job"])
        self.assertEqual(offered("poll", "show", ""), ["job"])
        self.assertEqual(offered("nodes", ""), ["job"])
        self.assertEqual(offered("poll", "remove", "job", ""), ["a", "b"])
        self.assertEqual(offered("poll", "remove", "job", "a", ""), ["b"])
        self.assertEqual(offered("poll", "job", "--stor"), ["--stored", "--store"])
        self.assertEqual(offered("poll", "--weights", ""), ["mixed", "compatible"])
        self.assertEqual(offered("poll", "--stored", "--", "cu"), [":command 4"])
        self.assertEqual(offered("poll", "job", "--", "curl", "x"), [":command 4"])
        self.end(node)

    def test_help(self):
        text = self.check(0, "poll", "--help").stdout
        self.assertEqual(self.check(0, "help", "poll").stdout, text)
        self.assertIn("Options:", text)
        self.assertRegex(text, r"\n  poll show  ")
        self.assertEqual(self.check(0, "help", "poll", "show").stdout,
                         self.check(0, "poll", "show", "--help").stdout)

    # Wrong usage

    def test_wrong_usage(self):
        listed = ["--endpoints", self.listed("a")]
        for args, message in (
                ([], "the command to run is missing"),
                (["shwo"], 'did you mean "holt poll show"?'),
                (["job", "true"], 'unexpected argument "true"'),
                (["--", "true"], "what is to be polled? --endpoints or --stored"),
                ([*listed, "--stored", "--", "true"], "exclude each other"),
                (["--endpoints", "/no/such/file", "--", "true"], "cannot read the endpoints from"),
                ([*listed, "--jobs", "0", "--", "true"], "--jobs: use 1 to 1000"),
                ([*listed, "--weight", "heavy", "--", "true"], "is no number"),
                ([*listed, "--weight", "0", "--", "true"], "0.001 to 1000"),
                ([*listed, "--cap", "0.5", "--", "true"], "a cap of 0.5 is out of range"),
                ([*listed, "--moves", "0", "--", "true"], "0 moves at a time"),
                ([*listed, "--weights", "even", "--", "true"], "none of mixed and compatible"),
                ([*listed, "--ttl", "3s", "--grace", "2s", "--", "true"], "more than a third"),
                ([*listed, "--ttl", "3ms", "--", "true"], "a ttl of 3 ms is out of range"),
                (["a/b", *listed, "--", "true"], "has a slash in it"),
                (["job", *listed, "--frob", "--", "true"], 'unknown flag "--frob"')):
            with self.subTest(args=args):
                self.assertIn(message, self.check(125, "poll", *args).stderr)
        bad = self.folder / "bad"
        bad.write_text("a\n\nb\x01\n")
        done = self.check(125, "poll", "--endpoints", str(bad), "--", "true")
        self.assertIn(f'line 3 of "{bad}"', done.stderr)


if __name__ == "__main__":
    unittest.main()
