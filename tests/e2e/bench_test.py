# SPDX-License-Identifier: Apache-2.0
"""holt bench lock: what it measures, how it ends, and that it leaves nothing behind."""

import json
import re
import signal
import subprocess
import time
import unittest

from holt_case import HoltCase
from screen import CTRL_C, Screen

# Of what is measured only the shape is the same every time.
FIGURES = [
    (r"\d+\.\d+ (µs|ms|s)\b", "TIME"),
    (r"(?<=^took  )\S+(?=$|,)", "TOOK"),
    (r"(?<=^per second  )\d+", "RATE"),
    (r'(?<="took_ms":)\d+', "MS"),
    (r'(?<="pairs_per_second":)\d+', "RATE"),
    (r'(?<=_ns":)\d+', "NS"),
]
QUICK = ("--for", "20s", "--pairs", "200")
CONTENDED = ("--for", "20s", "--pairs", "1000", "--names", "shared")  # time for all to begin
CALLS = ("acquire", "release", "handover")
RANKS = ("p50", "p90", "p99", "p999", "max")


class BenchTest(HoltCase):
    def without_figures(self, text: str) -> str:
        text = re.sub("  +", "  ", text)
        for pattern, stand_in in FIGURES:
            text = re.sub(pattern, stand_in, text, flags=re.MULTILINE)
        return text

    def measured(self, *args, code=0, **options) -> dict:
        done = self.check(code, "bench", "lock", "-o", "json", "--progress=quiet", *args, **options)
        self.assertEqual(done.stdout.count("\n"), 1)
        return json.loads(done.stdout)

    def assert_nothing_is_left(self):
        self.assertEqual(self.check(0, "lock", "list", "-o", "name").stdout, "")

    # What it says

    def test_as_a_table(self):
        done = self.check(0, "bench", "lock", *QUICK)
        self.assert_golden("bench_lock", self.without_figures(done.stdout))
        self.assertEqual(done.stderr, "holt: measuring for 20s; Ctrl-C ends it early\n")
        self.assert_nothing_is_left()

    def test_a_shared_name_as_a_table(self):
        done = self.check(0, "bench", "lock", *CONTENDED, "--callers", "4")
        text = re.sub(r"(?<=^hand-over  )\d+", "COUNT", self.without_figures(done.stdout),
                      flags=re.MULTILINE)
        self.assert_golden("bench_lock_shared", text)
        self.assert_nothing_is_left()

    def test_as_json(self):
        done = self.check(0, "bench", "lock", *QUICK, "-o", "json")
        self.assert_golden("bench_lock_json", self.without_figures(done.stdout))
        lines = self.check(0, "bench", "lock", *QUICK, "-o", "ndjson").stdout
        self.assertEqual(list(json.loads(lines)), list(json.loads(done.stdout)))

    def test_the_figures_agree_with_each_other(self):
        for args in (QUICK, (*QUICK, "--callers", "3"), ("--callers", "3", *CONTENDED)):
            with self.subTest(args=args):
                found = self.measured(*args)
                shared = "shared" in args
                pairs = 1000 if shared else 200
                self.assertEqual((found["pairs"], found["failures"]), (pairs, 0))
                self.assertEqual((found["acquire_count"], found["release_count"]), (pairs, pairs))
                self.assertEqual(found["handover_count"] > 0, shared)
                self.assertLess(found["handover_count"], pairs)
                seconds = pairs / found["pairs_per_second"]
                self.assertAlmostEqual(seconds * 1000, found["took_ms"], delta=2)
                for call in CALLS if shared else CALLS[:2]:
                    ranks = [found[f"{call}_{rank}_ns"] for rank in RANKS]
                    self.assertEqual(ranks, sorted(ranks))
                    self.assertGreater(ranks[0], 0)
                    self.assertLess(ranks[-1], found["took_ms"] * 1_000_000 + 1_000_000)
                self.assert_nothing_is_left()

    def test_it_ends_after_its_time(self):
        began = time.monotonic()
        found = self.measured("--for", "300ms", "--callers", "2")
        self.assertGreaterEqual(time.monotonic() - began, 0.3)
        self.assertLess(abs(found["took_ms"] - 300), 3000)
        self.assertGreater(found["pairs"], 0)
        self.assertEqual((found["callers"], found["names"], found["ttl_ms"], found["interrupted"]),
                         (2, "own", 30000, False))

    def test_its_names_are_its_own(self):
        self.take("x", "--ttl", "1h")
        watch = self.start("lock", "watch", "-o", "name", stdout=subprocess.PIPE)
        self.assertEqual(watch.stdout.readline(), "x\n")
        started = self.start("bench", "lock", "--for", "20s", "--callers", "2", "--names", "shared")
        self.assertRegex(watch.stdout.readline(), r"^holt-bench/[0-9a-f]{24}/\w+\n$")
        started.send_signal(signal.SIGINT)
        self.finish(started, 130)
        self.assertEqual(self.check(0, "lock", "list", "-o", "name").stdout, "x\n")

    # How it tells

    def test_a_bar_on_a_terminal(self):
        screen = Screen(self, "bench", "lock", "--for", "1s", columns=80)
        screen.expect(r"\rholt: \[\.{16}\]   0%, ")
        screen.expect(r"\rholt: \[#+\.+\]  ?\d+%, \d+ pairs/s, p99 [\d.]+ \S+; Ctrl-C ends it\x1b")
        text = screen.end(0)
        self.assertRegex(text, "\r\x1b\\[Kstore ")
        self.assertRegex(text, r"acquire +\d+ ")

    def test_json_progress(self):
        started = self.start("bench", "lock", *QUICK, "--progress", "json")
        told = [json.loads(line) for line in self.finish(started, 0)[1].splitlines()]
        self.assertEqual([told[0]["event"], told[-1]["event"]], ["measuring", "measured"])
        self.assertEqual((told[-1]["pairs"], told[-1]["failures"]), (200, 0))

    # How it ends

    def test_ctrl_c_gives_what_was_measured(self):
        for names in ("own", "shared"):
            with self.subTest(names=names):
                screen = Screen(self, "bench", "lock", "--for", "1m", "--callers", "8",
                                "--names", names)
                screen.expect(r"[1-9]\d* pairs/s")
                screen.type(CTRL_C)
                text = screen.end(130)
                self.assertIn("holt: interrupted; this is what was measured until then\n", text)
                self.assertRegex(text, r"took +\S+, interrupted\n")
                self.assertRegex(text, r"acquire +[1-9]\d* ")
                self.assert_nothing_is_left()

    def test_signals_and_json(self):
        for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            started = self.start("bench", "lock", "--for", "1m", "-o", "json",
                                 stdout=subprocess.PIPE)
            self.assertIn("measuring for 1m", started.stderr.readline())
            started.send_signal(sent)
            stdout, stderr = self.finish(started, code)
            self.assertTrue(json.loads(stdout)["interrupted"])
            self.assertEqual(stderr, "holt: interrupted; this is what was measured until then\n")
            self.assert_nothing_is_left()

    def test_ctrl_c_while_the_store_is_blocked(self):
        started = self.start("bench", "lock", "--for", "1m", "--callers", "4", "-o", "json",
                             "--ttl", "1s", stdout=subprocess.PIPE)
        self.assertIn("measuring for 1m", started.stderr.readline())
        with self.blocked_store():
            began = time.monotonic()
            started.send_signal(signal.SIGINT)
            stdout, _ = self.finish(started, 130)
            self.assertLess(time.monotonic() - began, 2)
            self.assertTrue(json.loads(stdout)["interrupted"])
        self.wait_for(lambda: self.check(0, "lock", "list", "-o", "name").stdout == "",
                      "what could not be released to end with its ttl")

    def test_a_store_that_goes_away_is_a_failure(self):
        started = self.start("bench", "lock", "--for", "1m", stdout=subprocess.PIPE)
        self.assertIn("measuring for 1m", started.stderr.readline())
        for path in self.store.parent.glob("holt.db*"):
            if path.is_file():
                path.unlink()
        stdout, stderr = self.finish(started, 1)
        self.assertRegex(stdout, r"failures +\d+")
        self.assertRegex(stderr, r"holt: cannot measure locks: \d+ failed; the first: .*deleted or")
        self.assertIn("\nTry: holt doctor\n", stderr)

    def test_a_blocked_store_is_said(self):
        self.take("x")
        with self.blocked_store():
            started = self.start("bench", "lock", *QUICK)
            self.assertEqual(started.stderr.readline(),
                             "holt: the store has not answered yet, waiting for it\n")
        self.finish(started, 0)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            done = self.check(1, "bench", "lock", *QUICK, capture_output=False, stdout=full,
                              stderr=subprocess.PIPE)
        self.assertIn("No space left on device", done.stderr)
        self.assert_nothing_is_left()

    # Wrong usage

    def test_wrong_usage(self):
        self.assert_golden("bench_mistakes", self.transcript(
            ["bench"], ["bench", "lokc"], ["bench", "lock", "--callers", "many"],
            ["bench", "lock", "--callers", "0"], ["bench", "lock", "--callers", "257"],
            ["bench", "lock", "--pairs", "0"], ["bench", "lock", "--pairs", "-1"],
            ["bench", "lock", "--names", "sahred"], ["bench", "lock", "--for", "1ms"],
            ["bench", "lock", "--for", "2h"], ["bench", "lock", "--ttl", "1ms"],
            ["bench", "lock", "x"], ["bench", "lock", "--store", "nosuch://x"]))

    def test_counts_in_variables_and_files(self):
        found = self.measured(env={"HOLT_BENCH_LOCK_PAIRS": "7", "HOLT_BENCH_LOCK_CALLERS": "2"})
        self.assertEqual((found["pairs"], found["callers"]), (7, 2))
        (self.folder / ".holt.toml").write_text("[bench.lock]\npairs = 9\nfor = '5s'\n")
        self.assertEqual(self.measured(cwd=self.folder)["pairs"], 9)
        (self.folder / ".holt.toml").write_text("[bench.lock]\npairs = 'x'\n")
        done = self.check(2, "bench", "lock", cwd=self.folder)
        self.assertIn('.holt.toml:2: bench.lock.pairs: "x" is no whole number', done.stderr)


if __name__ == "__main__":
    unittest.main()
