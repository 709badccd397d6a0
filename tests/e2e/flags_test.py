# SPDX-License-Identifier: Apache-2.0
"""Every command and every flag is in the help, the manual pages, the completion and the docs, and
can be set by a variable and in a file. Nothing is listed here: the binary is asked."""

import filecmp
import json
import re
import shutil
import subprocess
import unittest

from holt_case import PATIENCE, REPOSITORY, HoltCase

DOCS = REPOSITORY / "docs"
RENEW = "made anew by: holt __docs docs"


class FlagsTest(HoltCase):
    def commands(self) -> list[str]:
        text = self.check(0, "--help").stdout
        listing = text.partition("Commands (")[2].partition("\n\n")[0]
        found = re.findall(r"^  (\w+(?: \w+)*)   ", listing, re.MULTILINE)
        self.assertGreater(len(found), 10)
        return found

    def flags(self, command: str) -> dict[str, str]:
        """What --help says of each flag, by its long name."""
        options = self.check(0, *command.split(), "--help").stdout.partition("\nOptions:\n")[2]
        lines = re.findall(r"^  ((?:-\w, )?(--[a-z-]+).*?)   +(\S.*)$",
                           options.partition("\n\n")[0], re.MULTILINE)
        self.assertGreaterEqual(len(lines), 2, command)
        return {long: usage for usage, long, _ in lines}

    def every_flag(self) -> list[tuple[str, str, str]]:
        return [(command, flag, usage) for command in self.commands()
                for flag, usage in self.flags(command).items()]

    @staticmethod
    def names(command: str, flag: str, shared: set[str]) -> tuple[str, str]:
        """The variable and the key, by the scheme of docs/configuration.md."""
        words = [] if flag in shared else command.split()
        key = ".".join([*words, flag.removeprefix("--")])
        return "HOLT_" + re.sub("[.-]", "_", key).upper(), key

    def shared(self) -> set[str]:
        text = (DOCS / "configuration.md").read_text()
        row = re.search(r"The last row holds for ([^.]*)\.", text)[1]
        return set(re.findall(r"`(--[a-z]+)`", row))

    def test_every_flag_has_a_variable_and_a_key(self):
        rows = {row["key"]: row["variable"] for row in
                json.loads(self.check(0, "config", "show", "--all", "-o", "json").stdout)}
        shared = self.shared()
        expected = {}
        for command, flag, _ in self.every_flag():
            if flag != "--help":
                variable, key = self.names(command, flag, shared)
                expected[key] = variable
        self.assertEqual(rows, expected)

    def test_no_variable_is_one_that_run_gives_to_its_command(self):
        told = self.check(0, "run", "--lock", "x", "--", "env").stdout
        given = set(re.findall(r"^(HOLT_\w+)=", told, re.MULTILINE)) - self.env.keys()
        self.assertEqual(given, {"HOLT_LOCK_NAME", "HOLT_FENCE"})
        rows = json.loads(self.check(0, "config", "show", "--all", "-o", "json").stdout)
        variables = {row["variable"] for row in rows}
        self.assertFalse(variables & (given | {"HOLT_LOG_LEVEL", "HOLT_LOG_FORMAT",
                                               "HOLT_PROJECT_CONFIG", "HOLT_SYSTEM_CONFIG"}))

    def test_every_variable_that_is_read_is_documented(self):
        """Each stands in the sources as a text of its own, whoever reads it there."""
        found = set()
        for path in (REPOSITORY / "src").rglob("*.[ch]pp"):
            found |= set(re.findall(r'"(HOLT_[A-Z_]+)"', path.read_text()))
        self.assertLessEqual({"HOLT_ENGINE_PATH", "HOLT_LOG_LEVEL", "HOLT_STORE"}, found)
        rows = json.loads(self.check(0, "config", "show", "--all", "-o", "json").stdout)
        without_flag = found - {row["variable"] for row in rows}
        top, manual = self.check(0, "--help").stdout, self.plain(DOCS / "man/holt.1")
        page = (DOCS / "configuration.md").read_text()
        for variable in without_flag:
            self.assertIn(variable, manual)
            self.assertIn(variable, page)
            if variable not in ("HOLT_LOCK_NAME", "HOLT_FENCE"):  # told to the command of run
                self.assertIn(f"\n  {variable} ", top)
        pages = "".join(self.plain(path) for path in (DOCS / "man").iterdir())
        for variable in found - without_flag:
            self.assertIn(variable, pages)

    def test_every_variable_is_heeded(self):
        """A value that nothing accepts is complained about, if it is looked at."""
        shared = self.shared()
        for command, flag, usage in self.every_flag():
            if re.search(r" (DURATION|COUNT|FORM|WHEN|WHICH)$", usage):
                variable, _ = self.names(command, flag, shared)
                done = self.holt(*command.split(), *self.words(command),
                                 env={variable: "frob nicate"})
                self.assertIn(f'{variable}: "frob nicate"', done.stderr, command)

    @staticmethod
    def words(command: str) -> list[str]:
        known = {"run": ["--", "true"], "elect": ["x", "--", "true"], "completion": ["bash"],
                 "poll": ["--stored", "--", "true"], "poll show": ["x"],
                 "work": ["--queue", "x", "--", "true"], "queue add": ["x", "--kind", "x"],
                 "queue list": ["x"]}
        return known.get(command, ["x"] if command.startswith(
                             ("lock ", "election ")) else ["x/1"] if
                         command.startswith("queue ") else
                         ["x", "y"] if command.startswith("poll ") else [])

    def test_manual_pages(self):
        top = self.plain(DOCS / "man/holt.1")
        for command, flag, usage in self.every_flag():
            page = "holt-" + command.replace(" ", "-")
            self.assertIn(f".BR {page} (1)", top)
            text = self.plain(DOCS / f"man/{page}.1")
            self.assertIn(f"holt {command}", text)
            bold, _, value = usage.partition(flag)
            self.assertIn(f"\\fB{bold}{flag}\\fP" + (f" \\fI{value.strip()}\\fP" if value else ""),
                          text)
            if flag != "--help":
                self.assertIn(", ".join(self.names(command, flag, self.shared())), text)

    @staticmethod
    def plain(path) -> str:
        return path.read_text().replace("\\-", "-")

    def test_the_page_of_commands(self):
        text = (DOCS / "commands.md").read_text()
        for command, flag, usage in self.every_flag():
            part = text.partition(f"\n## holt {command}\n")[2].partition("\n## ")[0]
            self.assertIn(f"| `{usage}` |", part)

    def test_every_command_has_a_page_of_its_own(self):
        """One that somebody has written, in docs/commands, and the index leads to it."""
        text = (DOCS / "commands.md").read_text()
        index, guides = text.partition("\n## ")[0], set()
        for command in self.commands():
            with self.subTest(command=command):
                anchor = "holt-" + command.replace(" ", "-")
                row = rf"^\| \[`holt {command}`\]\((commands/[a-z-]+\.md)\) \|.*\(#{anchor}\)"
                name = re.search(row, index, re.MULTILINE)[1]
                guides.add(DOCS / name)
                self.assertIn(f"]({name})", text.partition(f"\n## holt {command}\n")[2])
                page = (DOCS / name).read_text()
                self.assertIn(f"holt {command}", page)
                self.assertIn(f"(../commands.md#{anchor})", page)
                self.assertRegex(page, r"(?ms)```console\n(?:(?!```).)*^\$ [^\n]*\bholt ")
                self.assertIn("**Exit code**: ", page)
        others = set((DOCS / "commands").iterdir()) - guides
        for page in others:  # of a single flag, linked from its command's
            self.assertTrue(any(f"({page.name})" in guide.read_text() for guide in guides), page)

    def test_links_lead_somewhere(self):
        for path in DOCS.rglob("*.md"):
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
                self.assertTrue((path.parent / link).exists(), f"{path}: {link}")

    def test_completion(self):
        for command, flag, _ in self.every_flag():
            offered = self.check(0, "__complete", "--", *command.split(), flag).stdout
            self.assertIn(f"\n{flag}\t", "\n" + offered)

    def test_what_is_made_from_the_commands_is_up_to_date(self):
        self.check(0, "__docs", str(self.folder / "docs"))
        made = sorted(path.name for path in (self.folder / "docs/man").iterdir())
        self.assertEqual(sorted(path.name for path in (DOCS / "man").iterdir()), made, RENEW)
        _, different, missing = filecmp.cmpfiles(DOCS / "man", self.folder / "docs/man", made,
                                                 shallow=False)
        self.assertEqual((different, missing), ([], []), RENEW)
        self.assertEqual((DOCS / "commands.md").read_text(),
                         (self.folder / "docs/commands.md").read_text(), RENEW)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_manual_pages_are_good_roff(self):
        for path in sorted((DOCS / "man").iterdir()):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", str(path)], text=True,
                                  capture_output=True, timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stderr), (0, ""), path)

    def test_did_you_mean(self):
        for words, meant in ((["lokc"], '"lock"'), (["lock", "shwo"], '"show"'),
                             (["help", "lcok"], '"lock"'), (["help", "lock", "shwo"], '"show"'),
                             (["lock", "list", "--instnace", "x"], "--instance"),
                             (["--colour", "never", "version"], "--color"),
                             (["lock", "list", "-o", "jsno"], '"json"'),
                             (["version", "--color", "nevre"], '"never"'),
                             (["demo", "--progress", "quite"], '"quiet"'),
                             (["completion", "fihs"], '"fish"')):
            done = self.check(2, *words)
            self.assertIn(f"did you mean {meant}?", done.stderr)
        (self.folder / ".holt.toml").write_text("[lock.try]\ntll = '5s'\n")
        done = self.check(2, "version", cwd=self.folder)
        self.assertIn('.holt.toml:2: unknown key "lock.try.tll"; did you mean "lock.try.ttl"?',
                      done.stderr)


if __name__ == "__main__":
    unittest.main()
