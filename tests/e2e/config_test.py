# SPDX-License-Identifier: Apache-2.0
"""Settings: flags, variables, configuration files, and which of them wins."""

import json
import os
import re
import unittest

from holt_case import HoltCase

SHOW = ("config", "show", "-o", "json")


class ConfigTest(HoltCase):
    def setUp(self):
        super().setUp()
        self.project = self.folder / "project"
        self.inside = self.project / "src" / "deep"
        self.inside.mkdir(parents=True)
        self.files = {"project": self.project / ".holt.toml",
                      "user": self.folder / "config/holt/config.toml",
                      "system": self.folder / "etc/config.toml"}
        self.env["HOLT_SYSTEM_CONFIG"] = str(self.files["system"])
        self.write("system", "")

    def write(self, which: str, text: str):
        path = self.files[which]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def here(self, code, *args, **options):
        return self.check(code, *args, cwd=self.inside, **options)

    def shown(self, *args, **options) -> dict:
        rows = json.loads(self.here(0, *SHOW, *args, **options).stdout)
        return {row["key"]: row for row in rows if row["key"] != "output"}

    # Which one wins

    def test_precedence(self):
        def ttl(**options):
            row = self.shown(**options)["run.ttl"]
            return row["value"], row["set_by"], row["origin"].replace(str(self.folder), "")

        self.write("system", "\n[run]\nttl = '1s'\n")
        self.assertEqual(ttl(), ("1s", "system", "/etc/config.toml:3"))
        self.write("user", "run.ttl = '2s'\n")
        self.assertEqual(ttl(), ("2s", "user", "/config/holt/config.toml:1"))
        self.write("project", "# mine\nrun = {ttl = '3s'}\n")
        self.assertEqual(ttl(), ("3s", "project", "/project/.holt.toml:2"))
        self.assertEqual(ttl(env={"HOLT_RUN_TTL": "4s"}), ("4s", "environment", "HOLT_RUN_TTL"))
        self.assertEqual(ttl(env={"HOLT_RUN_TTL": ""}), ("3s", "project", "/project/.holt.toml:2"))

    def test_every_level_is_used_by_the_command_itself(self):
        def ttl_ms(*args, **options):
            self.holt("lock", "break", "x", "--now", "--reason", "next", cwd=self.inside)
            return json.loads(self.here(0, "lock", "try", "x", *args, **options).stdout)["ttl_ms"]

        self.write("system", "output = 'json'\nlock.try.ttl = '1s'\n")
        self.assertEqual(ttl_ms(), 1000)
        self.write("user", "lock.try.ttl = '2s'\n")
        self.assertEqual(ttl_ms(), 2000)
        self.write("project", "lock.try.ttl = '3s'\n")
        self.assertEqual(ttl_ms(), 3000)
        self.assertEqual(ttl_ms(env={"HOLT_LOCK_TRY_TTL": "4s"}), 4000)
        self.assertEqual(ttl_ms("--ttl", "5s", env={"HOLT_LOCK_TRY_TTL": "4s"}), 5000)

    def test_flags_are_shown_too(self):
        row = self.shown("--store", "sqlite:x.db", env={"HOLT_STORE": "sqlite:y.db"})["store"]
        self.assertEqual((row["value"], row["set_by"], row["origin"]),
                         ("sqlite:x.db", "flag", "--store"))

    def test_what_run_tells_its_child_is_no_flag(self):
        done = self.here(0, "run", "--lock", "outer", "--", "sh", "-c",
                         "$holt lock try inner -o json && $holt lock break inner --reason x",
                         env={"holt": os.environ.get("HOLT_BINARY", "holt")})
        self.assertEqual(json.loads(done.stdout)["name"], "inner")

    def test_boolean_flags(self):
        self.take("x", "--ttl", "1h")
        run = ("run", "--lock", "x", "--", "true")
        for value in ("1", "true", "yes"):
            self.here(124, *run, env={"HOLT_RUN_NO_WAIT": value})
        done = self.here(125, *run, env={"HOLT_RUN_NO_WAIT": "perhaps"})
        self.assertIn('HOLT_RUN_NO_WAIT: "perhaps" is neither true nor false', done.stderr)
        self.write("project", "run.no-wait = true\n")
        self.here(124, *run)
        self.write("user", "run.wait = '1h'\n")
        self.here(124, *run)  # the project's wins

    def test_a_flag_wins_over_its_opposite_in_a_file(self):
        self.write("project", "run.no-wait = true\n")
        self.take("x", "--ttl", "1h")
        done = self.here(124, "run", "--lock", "x", "--wait", "10ms", "--", "true")
        self.assertIn("was not free within 10ms", done.stderr)
        done = self.here(125, "run", "--lock", "x", "--wait", "1s", "--no-wait", "--", "true")
        self.assertIn("contradict", done.stderr)

    # Where the project's file is looked for

    def test_the_nearest_project_file_counts(self):
        self.write("project", "instance = 'outer'\n")
        self.assertEqual(self.shown()["instance"]["value"], "outer")
        (self.inside / ".holt.toml").write_text("instance = 'inner'\n")
        self.assertEqual(self.shown()["instance"]["value"], "inner")

    def test_the_search_ends_at_a_repository(self):
        (self.folder / ".holt.toml").write_text("instance = 'outside'\n")
        self.assertEqual(self.shown()["instance"]["value"], "outside")
        (self.project / ".git").mkdir()
        self.assertNotIn("instance", self.shown())
        self.write("project", "instance = 'beside-git'\n")
        self.assertEqual(self.shown()["instance"]["value"], "beside-git")

    def test_a_project_file_can_be_named_or_left_out(self):
        self.write("project", "instance = 'found'\n")
        other = self.folder / "other.toml"
        other.write_text("instance = 'named'\n")
        row = self.shown(env={"HOLT_PROJECT_CONFIG": str(other)})["instance"]
        self.assertEqual((row["value"], row["set_by"]), ("named", "project"))
        self.assertEqual(self.shown(env={"HOLT_PROJECT_CONFIG": "/dev/null"}), {})
        done = self.here(1, *SHOW, env={"HOLT_PROJECT_CONFIG": "/nowhere.toml"})
        self.assertIn("/nowhere.toml is not there, though HOLT_PROJECT_CONFIG names it",
                      done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a file away")
    def test_a_project_file_of_somebody_else_is_refused(self):
        self.write("project", "store = 'sqlite:///tmp/theirs.db'\n")
        os.chown(self.files["project"], 65534, 65534)
        self.assertIn("belongs to another user", self.here(1, "lock", "list").stderr)

    def test_a_relative_store_is_beside_its_file(self):
        for store in ("sqlite:app.db", "./app.db"):
            self.write("project", f"store = '{store}'\n")
            self.here(0, "lock", "try", store)
        found = self.check(0, "lock", "list", "-o", "name", cwd=self.project).stdout
        self.assertEqual(found.splitlines(), ["./app.db", "sqlite:app.db"])
        self.assertTrue((self.project / "app.db").exists())
        self.assertEqual(list(self.inside.iterdir()), [])

    # Mistakes

    def test_mistakes_and_what_they_are_told(self):
        texts = []
        for text in ("sotre = 'x'\n", "\n[rum]\nttl = '5s'\n", "[run]\nttl = '5s'\nstore = 'x'\n",
                     "ttl = '5s'\n", "frobnicate = 1\n", "[run]\nttl = 30\n", "run.ttl = 30s\n",
                     "run.ttl = ['30s']\n", "run.ttl = 2020-01-01\n", "run.ttl = 1.5\n",
                     "[[run]]\nttl = '5s'\n", "run.no-wait = 'perhaps'\n", "output = 'jsno'\n",
                     "instance = 'Upper'\n", "[run]\nttl = '10ms'\n", "run = 3\n",
                     "a = 1\na = 2\n", "[run\n", "\x00", "'run.ttl' = '5s'\n", "store = '-'\n",
                     "store = 'redis://me:secret@host'\n", "store = '@missing'\n",
                     "help = true\n", "output = \"\\u001b[31m\"\n"):
            self.write("project", text)
            line = "run --lock x -- true"
            done = self.holt(*line.split(), cwd=self.inside)
            text = text.replace("\0", "NUL\n")
            texts.append(f"{text}$ holt {line}\n{done.stderr}[{done.returncode}]\n")
        self.assertNotIn("secret@", "".join(texts).replace("me:secret@host'", ""))
        self.assert_golden("config_mistakes", "\n".join(texts))

    def test_a_value_for_another_command_is_checked_too(self):
        self.write("user", "[lock.acquire]\nwait = 'long'\n")
        done = self.here(2, "lock", "list")
        self.assertIn('config.toml:2: lock.acquire.wait: "long" ', done.stderr)

    def test_help_works_with_a_broken_file(self):
        self.write("project", "this is no TOML")
        for words in ([], ["help"], ["help", "run"], ["run", "--help"], ["--help"]):
            self.here(0, *words)

    def test_a_file_that_cannot_be_read(self):
        self.files["project"].mkdir()
        done = self.here(1, "lock", "list")
        self.assertIn(".holt.toml cannot be read: Is a directory", done.stderr)

    def test_a_huge_file_is_refused(self):
        self.write("project", "#" * (2 << 20))
        self.assertIn("is larger than 1 MiB", self.here(1, "lock", "list").stderr)

    def test_a_wrong_variable_is_named(self):
        for name, value in {"HOLT_LOCK_TRY_TTL": "5", "HOLT_OUTPUT": "xml",
                            "HOLT_INSTANCE": "Upper"}.items():
            done = self.here(2, "lock", "try", "x", env={name: value})
            self.assertRegex(done.stderr, rf"^holt: .*{name}: ")

    def test_a_value_that_is_refused_later_tells_where_it_is_set(self):
        self.write("project", "lock.try.ttl = '1ms'\n")
        done = self.here(2, "lock", "try", "x")
        self.assertIn(f"Set: --ttl by {self.files['project']}:1\n", done.stderr)

    # Showing

    def test_show(self):
        self.write("system", "store = 'sqlite:///var/lib/holt/holt.db'\n")
        self.write("project", "instance = 'staging'\n[run]\nttl = '1m'\nno-wait = true\n")
        env = {"HOLT_LOCK_BREAK_REASON": "a b", "HOLT_COLOR": "never"}
        text = ""
        for args in ([], ["--origin"], ["-o", "json"], ["-o", "name"]):
            done = self.here(0, "config", "show", *args, env=env)
            text += f"$ holt config show {' '.join(args)}\n{done.stdout}{done.stderr}\n"
        self.assert_golden("config_show", text, tables=True)

    def test_nothing_set(self):
        done = self.here(0, "config", "show")
        self.assertEqual((done.stdout, done.stderr),
                         ("", "holt: nothing is set: all is as it comes\n"))

    def test_all_has_every_key_and_its_variable(self):
        rows = self.shown("--all")
        self.assertEqual(rows["store"]["variable"], "HOLT_STORE")
        self.assertEqual(rows["lock.break.reason"]["variable"], "HOLT_LOCK_BREAK_REASON")
        self.assertEqual(rows["run.no-wait"]["set_by"], "default")

    # Secrets

    def test_a_password_on_the_command_line_is_refused(self):
        for store in ("redis://me:secret@host", "postgresql://host/db?user=me&password=secret"):
            for words in (["lock", "list", "--store", store], [f"--store={store}", "lock", "list"]):
                done = self.here(2, *words)
                self.assertIn("--store has a password in it", done.stderr)
                self.assertRegex(done.stderr, r"Try: --store @FILE .* or --store - ")
                self.assertNotIn("secret", done.stderr)

    def test_passwords_are_never_printed(self):
        store = "redis://me:se/cr:et@host/0?password=hush&x=1"
        for words in (["lock", "list"], ["config", "show"], ["config", "show", "-o", "json"],
                      ["run", "--lock", "x", "--", "true"]):
            done = self.holt(*words, env={"HOLT_STORE": store})
            self.assertNotRegex(done.stdout + done.stderr, "se/cr|et@|hush")
        self.assertEqual(self.shown(env={"HOLT_STORE": store})["store"]["value"],
                         "redis://me:***@host/0?password=***&x=1")

    def test_a_url_from_a_file(self):
        secret = self.folder / "url"
        secret.write_text(f"sqlite://{self.folder}/secret.db  \nsecond line\n")
        secret.chmod(0o600)
        self.here(0, "lock", "try", "x", "--store", f"@{secret}")
        self.assertTrue((self.folder / "secret.db").exists())
        listed = self.here(0, "lock", "list", "-o", "name", env={"HOLT_STORE": f"@{secret}"})
        self.assertEqual(listed.stdout, "x\n")
        self.write("project", "store = '@../url'\n")
        self.assertEqual(self.here(0, "lock", "list", "-o", "name").stdout, "x\n")

    def test_a_secret_file_that_others_can_read(self):
        secret = self.folder / "url"
        secret.write_text("redis://me:secret@host\n")
        secret.chmod(0o644)
        done = self.here(2, "lock", "list", "--store", f"@{secret}")
        self.assertRegex(done.stderr, f"others can read {secret}")
        self.assertIn(f"Try: chmod 600 {secret}\n", done.stderr)
        self.assertNotIn("secret@", done.stderr)

    def test_a_password_in_a_configuration_file_that_others_can_read(self):
        self.write("project", "store = 'etcd://me:secret@host'\n")
        self.files["project"].chmod(0o644)
        self.assertIn("Try: chmod 600", self.here(2, "lock", "list").stderr)
        self.files["project"].chmod(0o600)
        self.assertIn("this engine is not built in", self.here(2, "lock", "list").stderr)

    def test_a_url_on_standard_input_leaves_the_rest_to_the_child(self):
        text = f"sqlite://{self.folder}/in.db\nfor the child\n"
        done = self.here(0, "run", "--lock", "x", "--store", "-", "--", "cat", input=text)
        self.assertEqual(done.stdout, "for the child\n")
        self.assertTrue((self.folder / "in.db").exists())
        done = self.here(2, "lock", "list", env={"HOLT_STORE": "-"}, input="")
        self.assertIn("no URL of a store in standard input", done.stderr)

    # The documentation says the same

    def test_the_help_states_the_scheme(self):
        text = self.check(0, "--help").stdout
        for word in ("HOLT_STORE", "HOLT_RUN_TTL", ".holt.toml",
                     "$XDG_CONFIG_HOME/holt/config.toml", "/etc/holt/config.toml"):
            self.assertIn(word, re.sub(r"\s+", " ", text))


if __name__ == "__main__":
    unittest.main()
