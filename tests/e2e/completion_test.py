# SPDX-License-Identifier: Apache-2.0
"""Completion: what is offered, and that the shells really offer it."""

import re
import shutil
import subprocess
import time
import unittest

from holt_case import BINARY, PATIENCE, REPOSITORY, HoltCase
from screen import Shell

LINES = ["", "l", "lock ", "lock s", "lock show ", "lock show de", "lock show nothing",
         "lock list -",
         "lock list --out", "lock list -o ", "lock list --output n", "lock list --output=", "--",
         "--color ", "--color=a", "--instance other lock show ", "lock show --instance other ",
         "run --lock ", "run --lock=dep", "run --lock x --progress ", "run --lock x -- ca",
         "run --lock x ca", "run --lock x -- cat fi", "run --no-wait --", "lock break x --reason ",
         "poll s", "poll feeds ", "poll --stored -- cat fi",
         "nodes --out", "config ",
         "config show --", "b", "bench lock --names ", "help l", "help lock b",
         "help run ", "completion ",
         "completion b", "frob ", "lock frob ", "frob", "demo-w", "__c", "lock show -- ",
         "lock show deploy ", "--store sqlite:///proc/no/such/folder/x.db lock show ",
         "--store - lock show ",
         "lock show --store ''"]


class CompletionTest(HoltCase):
    def setUp(self):
        super().setUp()
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "holt").symlink_to(BINARY)
        self.env["PATH"] = f"{programs}:{self.env['PATH']}"

    def take_some(self):
        for name in ("deploy", "depot/a:b", "two words", "it's"):
            self.take(name, "--ttl", "1h")
        self.take("elsewhere", "--ttl", "1h", "--instance", "other")

    def offered(self, line: str) -> str:
        words = [] if line == "" else line.replace("''", "").split(" ")
        done = self.check(0, "__complete", "--", *(words or [""]))
        self.assertEqual(done.stderr, "")
        return done.stdout

    # What is offered

    def test_what_is_offered(self):
        self.take_some()
        self.assert_golden("completion", "\n".join(
            f"holt {line}<TAB>\n" + self.offered(line).replace("\t", "  ") for line in LINES))

    def test_scripts(self):
        text = "".join(self.check(0, "completion", shell).stdout for shell in
                       ("bash", "zsh", "fish"))
        self.assert_golden("completion_scripts", text)
        done = self.check(2, "completion", "bahs")
        self.assertIn('"bahs" is none of bash, zsh and fish; did you mean "bash"?', done.stderr)

    def test_every_command_and_flag_is_offered(self):
        def words(line):
            return [each.split("\t")[0] for each in self.offered(line).splitlines()]

        for first in words(""):
            shown = self.check(0, first, "--help").stdout
            commands = [first] if "\nOptions:\n" in shown else []
            if "(holt COMMAND --help says more)" in shown:
                commands += [f"{first} {second}" for second in words(f"{first} ")]
            for command in commands:
                text = self.check(0, *command.split(), "--help").stdout
                flags = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE)
                self.assertEqual(words(f"{command} --"), flags, command)

    def test_it_never_fails(self):
        (self.folder / ".holt.toml").write_text("this is no TOML")
        for env in ({"HOLT_STORE": "redis://a:b@c"}, {"HOLT_INSTANCE": "Upper"},
                    {"HOLT_LOG_LEVEL": "loud"}, {"HOLT_OUTPUT": "xml"}):
            for words in ([], ["lock", "show", ""], ["lock", "show", "\xff"]):
                done = self.check(0, "__complete", "--", *words, env=env, cwd=self.folder)
                self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_a_blocked_store_is_not_waited_for(self):
        self.take("deploy")
        with self.blocked_store():
            began = time.monotonic()
            self.offered("lock show ")
            self.assertLess(time.monotonic() - began, 3)

    # The shells

    def bash(self, *keys: tuple[str, str]):
        shell = Shell(self, ["bash", "--norc", "--noprofile", "-i"],
                      {"PS1": "ready> ", "TERM": "dumb", "HISTFILE": "", "INPUTRC": "/dev/null"})
        shell.expect("ready> ")
        shell.type("source <(holt completion bash); bind 'set bell-style none'\n")
        shell.expect("\nready> ")
        for typed, seen in keys:
            shell.type(typed + "\t")
            shell.expect(re.escape(seen))
            shell.type("\x15")

    def test_bash(self):
        self.take_some()
        self.bash(("holt lock sh", "holt lock show "), ("holt lock list --ou", "--output "),
                  ("holt lock list -o nd", "ndjson "), ("holt lock list --output=nd", "=ndjson "),
                  ("holt lock show depl", "deploy "),
                  ("holt lock show depot/a:", "depot/a:b "), ("holt lock show tw", "two\\ words "),
                  ("holt run --lock depl", "deploy "), ("holt ver", "version "),
                  ("holt run --lock x -- trut", "trut"),
                  ("holt run --lock x -- printen", "printenv "))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        self.zsh("compinit -u -D; source <(holt completion zsh)")

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_as_it_is_installed(self):
        """A function of its own in a folder that zsh looks into."""
        self.zsh(f"fpath=({REPOSITORY}/src/cli/completion $fpath); compinit -u -D")

    def zsh(self, loading: str):
        self.take_some()
        shell = Shell(self, ["zsh", "-f", "-i"], {"PS1": "ready> ", "TERM": "xterm",
                                                  "HOME": str(self.folder)})
        shell.expect("ready> ")
        shell.type("autoload -Uz compinit; " + loading + "; "
                   "show-line() { zle -I; print -r -- \"<$BUFFER>\"; BUFFER=; }; zle -N show-line; "
                   "bindkey '^X' show-line; print loa''ded\n")
        shell.expect("loaded[^<]*ready> ")
        for typed, added in (("holt lock sh", "ow "), ("holt lock list --ou", "tput "),
                             ("holt lock list -o nd", "json "), ("holt lock show depl", "oy "),
                             ("holt lock show depot/", "a:b "), ("holt lock show tw", "o\\ words "),
                             ("holt ver", "sion "), ("holt run --lock depl", "oy "),
                             ("holt run --lock x -- printen", "v ")):
            shell.type(typed + "\t\x18")
            shell.expect(re.escape(f"<{typed}{added}>") + "[^<]*ready> ")

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        self.fish("holt completion fish | source")

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_as_it_is_installed(self):
        """A file with the command's name in a folder that fish looks into."""
        self.fish(f"set -p fish_complete_path {REPOSITORY}/src/cli/completion")

    def fish(self, loading: str):
        self.take_some()
        for typed, seen in (("holt lock sh", "show\tShow who holds a lock\n"),
                            ("holt lock list --ou", "--output\ttable (the default), json, ndjson "
                             "or name\n"),
                            ("holt lock list -o nd", "ndjson\n"),
                            ("holt lock show dep", "deploy\ndepot/a:b\n"),
                            ("holt lock show tw", "two words\n"),
                            ("holt run --lock x -- holt lock sh", "show\tShow who holds a lock\n")):
            done = subprocess.run(
                ["fish", "--no-config", "-c", f"{loading}; complete -C $argv[1]", typed],
                capture_output=True, text=True, timeout=PATIENCE,
                env=self.env | {"HOME": str(self.folder)})
            self.assertEqual(done.stdout, seen, done.stderr)


if __name__ == "__main__":
    unittest.main()
