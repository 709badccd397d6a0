# SPDX-License-Identifier: Apache-2.0
"""Help, version, and what the help promises."""

import unittest

from holt_case import HoltCase

COMMANDS = ["run", "lock try", "lock acquire", "lock extend", "lock release", "lock show",
            "lock list", "lock watch", "lock break", "elect", "election list", "election show",
            "election watch", "election resign", "poll", "poll show", "poll add", "poll remove",
            "poll pause", "poll resume", "nodes", "doctor", "migrate", "bench lock",
            "config show", "completion", "demo", "version", "help"]


class HelpTest(HoltCase):
    def test_top(self):
        self.assert_golden("help", self.check(0, "--help").stdout)

    def test_every_way_to_ask_gives_the_same(self):
        top = self.check(0, "--help").stdout
        for words in ([], ["-h"], ["help"]):
            self.assertEqual(self.check(0, *words).stdout, top)
        lock = self.check(0, "lock", "--help").stdout
        for words in (["lock"], ["lock", "-h"], ["help", "lock"]):
            self.assertEqual(self.check(0, *words).stdout, lock)
        run = self.check(0, "run", "--help").stdout
        for words in (["run", "-h"], ["help", "run"], ["run", "--lock", "x", "--help"]):
            self.assertEqual(self.check(0, *words).stdout, run)

    def test_lock_group(self):
        self.assert_golden("help_lock", self.check(0, "lock", "--help").stdout)

    def test_every_command(self):
        texts = [self.check(0, *words.split(), "--help").stdout for words in COMMANDS]
        rule = "\n" + "=" * 80 + "\n"
        self.assert_golden("help_commands", rule.join(texts))

    def test_help_starts_with_examples(self):
        for words in COMMANDS:
            text = self.check(0, *words.split(), "--help").stdout
            self.assertLess(text.index("Examples:"), text.index("Options:"), words)

    def test_help_goes_to_stdout_and_makes_no_store(self):
        for words in (["--help"], ["run", "--help"], ["lock", "list", "--help"]):
            self.assertEqual(self.check(0, *words).stderr, "")
        self.assertFalse(self.store.exists())

    def test_a_child_gets_its_own_help_flag(self):
        done = self.check(0, "run", "--lock", "x", "--", "sh", "-c", 'echo "$0"', "--help")
        self.assertEqual(done.stdout, "--help\n")

    def test_lines_fit_a_terminal(self):
        for words in [[], ["lock"], *[w.split() for w in COMMANDS]]:
            for line in self.check(0, *words, "--help").stdout.splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_version(self):
        self.assertRegex(self.check(0, "version").stdout, r"^holt \d+\.\d+\.\d+\n$")
        self.assertEqual(self.check(0, "--version").stdout, self.check(0, "version").stdout)
        self.assertRegex(self.check(0, "version", "-o", "json").stdout,
                         r'^\{"version":"\d+\.\d+\.\d+"\}\n$')


if __name__ == "__main__":
    unittest.main()
