# SPDX-License-Identifier: Apache-2.0
"""Wrong usage: refused before anything happens, with what was wrong and what would be right."""

import unittest

from holt_case import HoltCase

BAD_NAMES = {
    "empty": "",
    "blank": "   ",
    "newline": "a\nb",
    "crlf": "a\r\nb",
    "tab": "a\tb",
    "escape": "a\x1b[2Jb",
    "del": "a\x7f",
    "c1 control": "a\u0085b",
    "line separator": "a\u2028b",
    "right to left override": "a\u202eb",
    "too long": "n" * 513,
    "far too long": "n" * 100_000,
    "invalid utf-8": b"a\xff",
    "overlong utf-8": b"a\xc0\xaf",
    "surrogate": b"a\xed\xa0\x80",
    "cut short": b"a\xe2\x82",
}

GOOD_NAMES = ["../../etc/passwd", "/absolute/path", "*", "a?[b]", "'; DROP TABLE leases;--", '"',
              "holt", "CON", "nul", "a b", "-", "--", "{}", "[a,b]", "%s%n", "$HOME", "\\",
              "n" * 512, "日本語", "é", "ẹ́"]

BAD_DURATIONS = ["", "10", "0.1ms", "1.5s", "-1s", "-5", "1e309s", "nan", "inf", "s", "ms", "5 s",
                 " 5s", "5s ", "5S", "30m1h", "1s1s", "9223372036854775808ms",
                 "9223372036854775807ms", "99999999999999999999d", "106752d", "0x10s", "+5s",
                 "5sec", "1h30", "٣s"]


class UsageTest(HoltCase):
    def test_mistakes_and_what_they_are_told(self):
        self.assert_golden("usage", self.transcript(
            ["lokc"], ["lock", "lst"], ["lock", "frobnicate"], ["Run"], ["--frob", "run"],
            ["--store"], ["run"], ["run", "--lock", "x"], ["run", "--lock", "x", "--"],
            ["run", "--", "true"], ["run", "--lokc", "x", "--", "true"],
            ["run", "--lock"], ["run", "--lock", "x", "--lock", "y", "--", "true"],
            ["run", "--lock", "x", "--wait", "1s", "--no-wait", "--", "true"],
            ["run", "--lock", "x", "--ttl", "10", "--", "true"],
            ["run", "--lock", "x", "--ttl", "99ms", "--", "true"],
            ["run", "--lock", "x", "--ttl", "25h", "--", "true"],
            ["run", "--lock", "x", "--ttl", "30s", "--grace", "11s", "--", "true"],
            ["run", "--lock", "x", "-o", "json", "--", "true"],
            ["lock", "try"], ["lock", "show", "a", "b"], ["lock", "show", "-x"],
            ["lock", "show", "x", "-o", "xml"], ["lock", "extend", "x", "--ttl", "5s"],
            ["lock", "extend", "x", "--owner", "me"],
            ["lock", "release", "x", "--owner", "me"],
            ["lock", "release", "x", "--owner", ""],
            ["lock", "break", "x"], ["lock", "break", "x", "--reason", ""],
            ["lock", "break", "x", "--reason", "r" * 257],
            ["lock", "break", "x", "--reason", "y", "--fence", "abc"],
            ["lock", "break", "x", "--reason", "y", "--fence", "-1"],
            ["lock", "list", "--instance", "Upper"], ["lock", "list", "--instance", ""],
            ["lock", "list", "--store", ""], ["lock", "list", "--store", "etcd:/"],
            ["lock", "list", "--store", "nonsense://x"],
            ["help", "frob"], ["version", "extra"],
        ))
        self.assertEqual(self.check(0, "lock", "list", "-o", "name").stdout, "")

    def test_every_refusal_has_a_way_out(self):
        for words in (["frob"], ["lock", "frob"], ["run"], ["lock", "show"]):
            self.assertRegex(self.holt(*words).stderr, r"^holt: .+\nTry: .+\n$")

    def test_bad_names(self):
        for what, name in BAD_NAMES.items():
            with self.subTest(what):
                if isinstance(name, bytes):
                    done = self.holt(b"lock", b"try", name, text=False)
                    self.assertIn(b"the name", done.stderr)
                    self.assertNotIn(b"\xff", done.stderr)
                else:
                    done = self.holt("lock", "try", name)
                    self.assertIn("the name", done.stderr)
                    self.assertLess(len(done.stderr), 400)
                    self.assertNotRegex(done.stderr, r"[^\n -~]")
                self.assertEqual(done.returncode, 2)
                run = self.holt("run", "--lock", name, "--", "true", text=False)
                self.assertEqual(run.returncode, 125)
        self.assertFalse(self.store.exists())

    def test_strange_but_good_names(self):
        for name in GOOD_NAMES:
            with self.subTest(name):
                words = ["--", name]
                self.check(0, "lock", "try", "--ttl", "1d", *words)
                self.assertEqual(self.check(0, "lock", "show", "-o", "name", *words).stdout,
                                 name + "\n")
                self.check(124, "run", f"--lock={name}", "--no-wait", "--", "true")
        listed = self.check(0, "lock", "list", "-o", "name").stdout.splitlines()
        self.assertEqual(sorted(listed), sorted(GOOD_NAMES))

    def test_names_that_look_the_same_are_the_same(self):
        self.check(0, "lock", "try", "caf\u00e9")
        self.check(5, "lock", "try", "cafe\u0301")

    def test_bad_durations(self):
        for duration in BAD_DURATIONS:
            with self.subTest(duration):
                done = self.holt("lock", "try", "x", "--ttl", duration)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("500ms, 30s, 5m or 1h30m", done.stderr)
        self.assertFalse(self.store.exists())

    def test_ttl_out_of_range(self):
        for ttl in ("0s", "0ms", "1ms", "99ms", "24h1ms", "25h", "2d", "100000d"):
            with self.subTest(ttl):
                done = self.check(2, "lock", "try", "x", "--ttl", ttl)
                self.assertRegex(done.stderr, "24 ?h")
        self.assertEqual(self.check(0, "lock", "list", "-o", "name").stdout, "")

    def test_good_durations(self):
        for text, ttl_ms in {"100ms": 100, "1s": 1000, "1m1s1ms": 61_001, "1h30m": 5_400_000,
                             "24h": 86_400_000, "1d": 86_400_000, "0h5s": 5000,
                             "0000000000000000000005s": 5000}.items():
            with self.subTest(text):
                done = self.check(0, "lock", "try", f"ttl {text}", "--ttl", text, "-o", "json")
                self.assertIn(f'"ttl_ms":{ttl_ms},', done.stdout)

    def test_a_value_may_be_written_with_an_equals_sign(self):
        self.check(0, "run", "--lock=x", "--ttl=5s", "--", "true")
        self.check(125, "run", "--lock=", "--", "true")

    def test_options_may_stand_before_the_command(self):
        elsewhere = f"sqlite://{self.folder}/other.db"
        self.check(0, "--store", elsewhere, "lock", "try", "x")
        self.assertEqual(self.check(0, f"--store={elsewhere}", "-o", "name", "lock", "list").stdout,
                         "x\n")
        self.assertEqual(self.check(0, "lock", "list", "-o", "name").stdout, "")

    def test_a_bad_log_setting_is_refused(self):
        for setting in ({"HOLT_LOG_LEVEL": "loud"}, {"HOLT_LOG_FORMAT": "xml"}):
            done = self.check(2, "lock", "list", env=setting)
            self.assertIn(next(iter(setting)), done.stderr)


if __name__ == "__main__":
    unittest.main()
