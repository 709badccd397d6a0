#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each example, run as its first lines say. The programs are in $HOLT_EXAMPLES."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from holt_case import BINARY, PATIENCE, REPOSITORY, HoltCase  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["HOLT_EXAMPLES"])
SOURCES = REPOSITORY / "examples"


class ExamplesTest(HoltCase):
    def run_one(self, *command, code=0) -> str:
        done = subprocess.run([str(word) for word in command], env=self.env, text=True,
                              capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_guarded_write(self):
        said = self.run_one(PROGRAMS / "guarded_write", self.folder)
        match = re.fullmatch(r"second: balance 20 with fence (\d+): written\n"
                             r"first : balance 10 with fence (\d+): refused\n", said)
        self.assertTrue(match, said)
        self.assertGreater(int(match[1]), int(match[2]))

    def start_singleton(self) -> subprocess.Popen:
        started = subprocess.Popen([PROGRAMS / "singleton", self.folder], env=self.env, text=True,
                                   stdout=subprocess.PIPE)
        self.addCleanup(self._stop, started)
        self.assertEqual(started.stdout.readline(), "waiting\n")
        return started

    def fence_of(self, started: subprocess.Popen) -> int:
        return int(re.fullmatch(r"in charge, fence (\d+)\n", started.stdout.readline())[1])

    def test_singleton_hands_over(self):
        first = self.start_singleton()
        fence = self.fence_of(first)
        second = self.start_singleton()
        first.send_signal(signal.SIGTERM)
        self.assertGreater(self.fence_of(second), fence)
        self.assertEqual(first.communicate(timeout=PATIENCE)[0], "stopped\n")
        self.assertEqual(first.returncode, 0)
        third = self.start_singleton()  # stops while it stands in line
        third.send_signal(signal.SIGINT)
        self.assertEqual(third.communicate(timeout=PATIENCE)[0], "stopped\n")
        second.send_signal(signal.SIGTERM)
        self.assertEqual(second.communicate(timeout=PATIENCE)[0], "stopped\n")

    def test_nightly(self):
        path = pathlib.Path(BINARY).parent
        self.env["PATH"] = f"{path}:{self.env['PATH']}"
        target = self.folder / "backups"
        target.mkdir()
        said = self.run_one(SOURCES / "nightly.sh", target)
        self.assertEqual(said, f"backup done under fence {(target / 'fence').read_text()}")
        self.take("nightly")  # somebody else is at it
        self.run_one(SOURCES / "nightly.sh", target, code=124)
        self.assertTrue((target / "backup").exists())

    def test_every_example_is_in_the_list(self):
        listed = set(re.findall(r"^\| \[(\S+)\]", (SOURCES / "README.md").read_text(), re.M))
        there = {file.name for file in SOURCES.iterdir() if file.suffix in (".cpp", ".sh")}
        self.assertEqual(listed, there)


if __name__ == "__main__":
    unittest.main()
