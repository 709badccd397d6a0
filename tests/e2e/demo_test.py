# SPDX-License-Identifier: Apache-2.0
"""holt demo: it shows what it says, quickly, and leaves nothing behind."""

import pathlib
import re
import signal
import subprocess
import time
import unittest

from holt_case import HoltCase, is_alive


class DemoTest(HoltCase):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.env["TMPDIR"] = str(self.temporary)

    def workers(self) -> list[int]:
        """The workers of demos that use our temporary folder."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = process.read_bytes()
            except OSError:
                continue
            if b"demo-worker" in words and str(self.temporary).encode() in words:
                found.append(int(process.parent.name))
        return [pid for pid in found if is_alive(pid)]

    def test_it_shows_what_it_says(self):
        began = time.monotonic()
        shown = self.check(0, "demo").stdout
        self.assertLess(time.monotonic() - began, 20)
        self.assertRegex(shown, r"Worker \d is killed \(SIGKILL\) while it holds the lock")
        self.assertRegex(shown, r"Worker \d is stopped \(SIGSTOP\) while it holds the lock")
        self.assertRegex(shown, r"held\(\) is false")
        self.assertRegex(shown, r"REFUSED")
        self.assertRegex(shown, r"clean hand-overs +12, median \d+\.\d\d ms")
        self.assertRegex(shown, r"Instance demo is up: .*, fence \d+\.")
        self.assertRegex(shown, r"A second one of that name is REFUSED: .*, process \d+")
        for claim in ("one instance under one name", "the stopped one saw held\\(\\) false",
                      "its late write was refused",
                      "no two holders at once", "no two leaders at once",
                      "no two polls of one endpoint at once",
                      "every task completed, none twice"):
            self.assertRegex(shown, rf"{claim} +true\b")
        fences = [int(f) for f in re.findall(r"enters +fence (\d+)", shown)]
        self.assertEqual(len(fences), 15)
        self.assertEqual(fences, sorted(set(fences)))
        self.assertRegex(shown, r"Worker \d, the leader, is killed \(SIGKILL\)")
        self.assertRegex(shown, r"leads +term \d+ +\d+\.\d\d ms after worker \d stopped")
        self.assertRegex(shown, r"a leader stopped, the next led +\d+\.\d\d ms later")
        terms = [int(term) for term in re.findall(r"leads +term (\d+)", shown)]
        self.assertEqual(len(terms), 3)
        self.assertEqual(terms, sorted(set(terms)))
        self.check_polling(shown)
        self.check_queue(shown)
        self.assertEqual(list(self.temporary.iterdir()), [])
        self.assertEqual(self.workers(), [])

    def check_polling(self, shown: str):
        """Two poll all endpoints, then three, then the two that are left; all have their part."""
        acts = shown[shown.index(" share 9 endpoints"):].split("\n\n")
        shares = [{worker: set(polled.split()) for worker, polled
                   in re.findall(r"worker (\d) polls +([a-i](?: [a-i])*)", act)}
                  for act in acts[:3]]
        self.assertEqual([sorted(len(e) for e in share.values()) for share in shares],
                         [[4, 5], [3, 3, 3], [4, 5]], shown)
        for share in shares:
            self.assertEqual(set().union(*share.values()), set("abcdefghi"), shown)
        joined = re.search(r"Worker (\d) joins", acts[1]).group(1)
        self.assertEqual(shares[1].keys(), shares[0].keys() | {joined})
        killed, had = re.search(r"Worker (\d) is killed \(SIGKILL\) while it polls ([a-i ]+)\.",
                                acts[2]).groups()
        self.assertEqual(shares[2].keys(), shares[1].keys() - {killed})
        taken = re.findall(r"took ([a-i ]+) \d+\.\d\d ms after those leases ended", acts[2])
        self.assertEqual(sorted(" ".join(taken).split()), had.split(), shown)
        polls = re.search(r"at once +true: (\d+) polls, whose fences only grew\n", shown)
        self.assertGreater(int(polls.group(1)), 9 * 5)

    def check_queue(self, shown: str):
        """Each task is begun once; that of the killed one again, later, by another."""
        before, after = shown[shown.index(" do the 12 tasks"):].split("\n\n")[:2]
        begun = re.compile(r"worker (\d) begins +([a-l]) +fence (\d+)(?: +attempt (\d))?")
        killed, task = re.search(r"Worker (\d) is killed \(SIGKILL\) in the middle of ([a-l])\.",
                                 after).groups()
        runs = begun.findall(before) + begun.findall(after)
        self.assertEqual(sorted(run[1] for run in runs), sorted("abcdefghijkl" + task), shown)
        first, again = [run for run in runs if run[1] == task]
        self.assertEqual((first[0], first[3]), (killed, ""), shown)
        self.assertNotEqual(again[0], killed, shown)
        self.assertEqual(again[3], "2", shown)
        self.assertGreater(int(again[2]), int(first[2]), shown)
        self.assertNotIn(killed, [run[0] for run in begun.findall(after)], shown)
        self.assertRegex(after, r"attempt 2, \d+\.\d\d ms after that lease ended")
        self.assertRegex(shown, r"task ran again +\d+\.\d ms after its lease ended")
        self.assertRegex(shown, r"none twice +true: 12 tasks\n")

    def test_it_touches_no_other_store(self):
        started = self.start("demo", env={"HOLT_STORE": "sqlite:///proc/no/such/folder/x.db"})
        self.wait_for(lambda: len(self.workers()) == 4, "four workers")
        started.send_signal(signal.SIGINT)
        self.finish(started, 130)
        self.assertFalse(self.store.exists())

    def test_ctrl_c_cleans_up(self):
        for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            started = self.start("demo")
            self.wait_for(lambda: len(self.workers()) == 4, "four workers")
            started.send_signal(sent)
            self.finish(started, code)
            self.assertEqual(self.workers(), [])
            self.assertEqual(list(self.temporary.iterdir()), [])

    def test_a_reader_that_goes_away(self):
        started = self.start("demo", stdout=subprocess.PIPE)
        started.stdout.readline()
        started.stdout.close()
        started.stdout = None
        _, stderr = self.finish(started, 1)
        self.assertIn("Broken pipe", stderr)
        self.assertEqual(self.workers(), [])
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_killed_it_leaves_no_workers(self):
        started = self.start("demo")
        self.wait_for(lambda: len(self.workers()) == 4, "four workers")
        started.kill()
        self.wait_for(lambda: not self.workers(), "the workers to end")


if __name__ == "__main__":
    unittest.main()
