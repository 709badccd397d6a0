#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Engine modules as the binary finds, checks and refuses them. The modules that were built for this
are in the folder $HOLT_TEST_MODULES."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from holt_case import BINARY, PATIENCE, HoltCase  # noqa: E402

MODULES = pathlib.Path(os.environ["HOLT_TEST_MODULES"])


class ModuleTest(HoltCase):
    def setUp(self):
        super().setUp()
        self.modules = self.folder / "engines"
        self.modules.mkdir(mode=0o755)
        self.env["HOLT_ENGINE_PATH"] = str(self.modules)
        self.url = f"relay://{self.folder}/store.db"

    def add(self, scheme: str, built_as: str | None = None) -> pathlib.Path:
        module = self.modules / f"holt-engine-{scheme}.so"
        shutil.copy(MODULES / f"holt-engine-{built_as or scheme}.so", module)
        module.chmod(0o644)
        return module

    def refusal(self, code: int, scheme: str) -> str:
        done = self.check(code, "lock", "list", "--store", f"{scheme}://x")
        self.assertEqual(done.stdout, "")
        return done.stderr

    # A module that is right

    def test_runs_a_command_under_a_lock(self):
        self.add("relay")
        done = self.check(0, "run", "--store", self.url, "--lock", "x", "--",
                          "sh", "-c", "echo $HOLT_FENCE; $0 lock list -o name --store $1",
                          BINARY, self.url)
        self.assertRegex(done.stdout, r"^\d+\nx\n$")
        self.assertTrue((self.folder / "store.db").exists())

    def test_waiters_are_woken_through_the_module(self):
        self.add("relay")
        taken = self.check(0, "lock", "try", "x", "--store", self.url, "-o", "json").stdout
        owner = re.search(r'"owner":"([^"]+)"', taken)[1]
        waiter = self.start("lock", "acquire", "x", "--wait", "1h", "--store", self.url)
        self.wait_for(lambda: '"waiting":1' in self.check(
            0, "lock", "show", "x", "--store", self.url, "-o", "json").stdout, "a waiter")
        self.check(0, "lock", "release", "x", "--owner", owner, "--store", self.url)
        self.finish(waiter, 0)

    def test_errors_come_through_as_what_they_are(self):
        self.add("relay")
        done = self.check(2, "lock", "list", "--store", "relay://host/x.db")
        self.assertIn("has a host", done.stderr)
        (self.folder / "store.db").write_text("no database at all, and long enough to say so")
        done = self.check(1, "lock", "list", "--store", self.url)
        self.assertIn("sqlite", done.stderr)

    def test_the_first_folder_that_has_it_is_taken(self):
        self.add("relay")
        empty = self.folder / "empty"
        empty.mkdir()
        self.env["HOLT_ENGINE_PATH"] = f"{empty}:{self.modules}:/nowhere"
        self.check(0, "lock", "list", "--store", self.url)

    def test_is_found_beside_the_program(self):
        del self.env["HOLT_ENGINE_PATH"]
        tree = self.folder / "tree"
        engines = tree / "lib/holt/engines"
        engines.mkdir(parents=True)
        (tree / "bin").mkdir()
        shutil.copy(BINARY, tree / "bin/holt")
        shutil.move(self.add("relay"), engines)
        link = self.folder / "holt"  # as make build leaves one
        link.symlink_to(tree / "bin/holt")
        for program in (tree / "bin/holt", link):
            done = subprocess.run([program, "lock", "list", "--store", self.url], env=self.env,
                                  capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stderr), (0, "holt: no locks are held\n"))

    # One that is not

    def test_missing_names_the_file_the_folder_and_the_package(self):
        said = self.refusal(2, "redis")
        self.assertIn("this engine is not built in (that is sqlite), and there is no "
                      f"holt-engine-redis.so in {self.modules}\n", said)
        self.assertIn("Try: install the package holt-engine-redis, or name the module's folder in "
                      "HOLT_ENGINE_PATH\n", said)

    def test_other_version_is_refused_with_both_numbers(self):
        self.add("other", "other-version")
        ours = self.check(0, "version", "-o", "name").stdout.strip()
        self.assertRegex(self.refusal(1, "other"),
                         rf"of Holt 9\.8\.7 with Asio \d+, and this is Holt {re.escape(ours)} with")

    def test_what_is_no_module_is_refused(self):
        self.add("stranger")
        self.assertIn("is no engine module: it has no function holt_engine_module",
                      self.refusal(1, "stranger"))
        (self.modules / "holt-engine-text.so").write_text("hello")
        self.assertRegex(self.refusal(1, "text"), r"cannot load \S+holt-engine-text\.so: .*\nTry: ")

    def test_file_that_others_can_write_is_refused(self):
        module = self.add("relay")
        for mode in (0o666, 0o664):
            module.chmod(mode)
            said = self.refusal(4, "relay")
            self.assertIn(f"{module} can be written by other users\nTry: chmod go-w {module}", said)

    def test_folder_that_others_can_write_is_refused(self):
        self.add("relay")
        self.modules.chmod(0o757)
        said = self.refusal(4, "relay")
        self.assertIn(f"{self.modules} can be written by other users\nTry: chmod o-w", said)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a file away")
    def test_file_of_another_user_is_refused(self):
        os.chown(self.add("relay"), 12345, 12345)
        self.assertIn("belongs to another user", self.refusal(4, "relay"))


if __name__ == "__main__":
    unittest.main()
