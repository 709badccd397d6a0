# SPDX-License-Identifier: Apache-2.0
"""Colour: on a terminal only, decided for each stream, and as the user wants it."""

import unittest

from holt_case import HoltCase
from screen import Screen

RED_HOLT = "\x1b[31mholt:\x1b[0m"
BOLD_TRY = "\x1b[1mTry:\x1b[0m"
BOLD_HEAD = "\x1b[1mNAME"


class ColorTest(HoltCase):
    def on_terminal(self, code, *args, **options) -> str:
        return Screen(self, *args, **options).end(code)

    def test_errors_on_a_terminal(self):
        text = self.on_terminal(2, "lock", "frob")
        self.assertIn(f"{RED_HOLT} \"frob\" is no command", text)
        self.assertIn(f"{BOLD_TRY} holt lock --help", text)

    def test_tables_on_a_terminal(self):
        self.take("x")
        head, line = self.on_terminal(0, "lock", "list").splitlines()
        self.assertTrue(head.startswith(BOLD_HEAD) and head.endswith("\x1b[0m"), head)
        self.assertNotIn("\x1b", line)

    def test_nothing_for_programs(self):
        self.take("x")
        for form in ("json", "ndjson", "name"):
            self.assertNotIn("\x1b", self.on_terminal(0, "lock", "list", "-o", form))

    def test_pipes_have_none(self):
        self.take("x")
        self.assertNotIn("\x1b", self.check(0, "lock", "list").stdout)
        self.assertNotIn("\x1b", self.check(2, "lock", "frob").stderr)

    def test_each_stream_by_itself(self):
        self.take("x")
        screen = Screen(self, "lock", "list", streams=("stderr",))
        self.assertNotIn("\x1b", screen.process.stdout.read())
        screen.end(0)
        screen = Screen(self, "lock", "frob", streams=("stdout",))
        self.assertNotIn("\x1b", screen.process.stderr.read())
        screen.end(2)

    def test_variables(self):
        for env, colored in (({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True),
                             ({"CLICOLOR": "0"}, False), ({"TERM": "dumb"}, False),
                             ({"TERM": ""}, False), ({"HOLT_COLOR": "never"}, False),
                             ({"NO_COLOR": "1", "HOLT_COLOR": "always"}, True),
                             ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, False),
                             ({"TERM": "dumb", "CLICOLOR_FORCE": "1"}, True)):
            with self.subTest(env):
                self.assertEqual("\x1b" in self.on_terminal(2, "frob", env=env), colored)
                self.assertEqual("\x1b" in self.on_terminal(2, "lock", "show", env=env), colored)

    def test_forced_into_a_pipe(self):
        self.take("x")
        for env, args in (({"CLICOLOR_FORCE": "1"}, []), ({}, ["--color", "always"]),
                          ({"HOLT_COLOR": "always"}, []), ({"NO_COLOR": "1"}, ["--color=always"])):
            self.assertIn(BOLD_HEAD, self.check(0, "lock", "list", *args, env=env).stdout)
        self.assertNotIn("\x1b", self.check(0, "lock", "list", env={"CLICOLOR_FORCE": "0"}).stdout)

    def test_the_flag(self):
        self.take("x")
        never = ("--color", "never")
        self.assertNotIn("\x1b", self.on_terminal(0, "lock", "list", *never))
        self.assertNotIn("\x1b", self.on_terminal(0, *never, "lock", "list"))
        for words in (["frob"], ["lock", "list", "--frob"], ["lock", "show"]):
            self.assertNotIn("\x1b", self.on_terminal(2, *never, *words))
        done = self.check(2, "lock", "list", "--color", "alwais")
        self.assertIn('--color: "alwais" is none of auto, always and never; did you mean "always"?',
                      done.stderr)

    def test_a_configuration_file(self):
        path = self.folder / "config/holt/config.toml"
        path.parent.mkdir(parents=True)
        path.write_text("color = 'never'\n")
        self.assertNotIn("\x1b", self.on_terminal(2, "lock", "try", ""))

    def test_loss_is_red(self):
        screen = Screen(self, "run", "--lock", "x", "--", "sh", "-c", "echo here; exec sleep 999")
        screen.expect("here")
        self.check(0, "lock", "break", "x", "--now", "--reason", "test")
        screen.expect('\x1b\\[31mholt:\x1b\\[0m lock "x" is lost')
        screen.end(123)

    def test_the_demo(self):
        self.env["TMPDIR"] = str(self.folder)
        text = self.on_terminal(0, "demo")
        self.assertRegex(text, "\x1b\\[1mfence \\d+\x1b\\[0m")
        self.assertRegex(text, "\x1b\\[31mREFUSED: \\d+ was here\x1b\\[0m")


if __name__ == "__main__":
    unittest.main()
