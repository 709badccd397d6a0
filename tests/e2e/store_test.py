# SPDX-License-Identifier: Apache-2.0
"""Stores that cannot be used, output that cannot be written, and the log."""

import json
import pathlib
import subprocess
import unittest

from holt_case import BINARY, PATIENCE, SANITIZED, HoltCase, as_root


class StoreTest(HoltCase):
    def check_error(self, code: int, *args, **options) -> str:
        """Must fail with this code, and with what failed, why, and a way out."""
        stderr = self.check(code, *args, **options).stderr
        self.assertRegex(stderr, r"^holt: cannot list locks: .+\nTry: .+\n$")
        return stderr

    # Where it is

    def test_the_default_is_a_private_file_of_the_user(self):
        self.check(0, "lock", "try", "x")
        self.assertEqual(self.store.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.store.parent.stat().st_mode & 0o777, 0o700)

    def test_a_flag_wins_over_the_environment(self):
        one, two = (f"sqlite://{self.folder}/{name}.db" for name in ("one", "two"))
        self.check(0, "lock", "try", "x", env={"HOLT_STORE": one})
        self.check(5, "lock", "try", "x", "--store", one)
        self.check(0, "lock", "try", "x", "--store", two, env={"HOLT_STORE": one})

    # Trouble with it

    @as_root
    def test_not_allowed(self):
        self.check(0, "lock", "try", "x")
        self.folder.chmod(0o755)
        (self.folder / "state").chmod(0o755)
        nobody = self.by_nobody()
        self.check_error(4, "lock", "list", **nobody)
        done = self.check(125, "run", "--lock", "x", "--", "true", **nobody)
        self.assertIn('cannot take lock "x"', done.stderr)

    @as_root
    def test_a_folder_that_cannot_be_written(self):
        self.folder.chmod(0o555)
        stderr = self.check_error(4, "lock", "list", **self.by_nobody())
        self.assertIn(str(self.folder), stderr)

    def test_the_store_is_a_folder(self):
        self.store.mkdir(parents=True)
        self.assertIn(str(self.store), self.holt("lock", "list").stderr)
        self.assertIn(self.holt("lock", "list").returncode, (1, 2, 6))

    def test_a_file_in_place_of_the_folder(self):
        (self.folder / "state").write_text("in the way")
        self.assertIn(self.holt("lock", "list").returncode, (1, 2, 6))

    def test_the_store_is_no_database(self):
        self.store.parent.mkdir(parents=True)
        self.store.write_bytes(b"this is not a database\n" * 1000)
        self.store.chmod(0o600)
        self.check_error(1, "lock", "list")
        self.check(125, "run", "--lock", "x", "--", "true")
        self.assertTrue(self.store.read_bytes().startswith(b"this is not"))

    def test_a_store_that_answers_nobody(self):
        self.check(0, "lock", "try", "x")
        with self.blocked_store():
            done = self.check(6, "lock", "try", "y")
            self.assertIn('cannot take lock "y"', done.stderr)
            self.check(125, "run", "--lock", "y", "--no-wait", "--", "true")
        self.check(0, "lock", "try", "y")

    @unittest.skipIf(SANITIZED, "a sanitizer needs descriptors too")
    def test_too_few_descriptors(self):
        self.check(0, "lock", "try", "x")
        for limit in range(4, 20):
            command = f'ulimit -n {limit}; exec "$0" run --lock y -- true'
            done = subprocess.run(["sh", "-c", command, BINARY], env=self.env, text=True,
                                  capture_output=True, timeout=PATIENCE)
            self.assertIn(done.returncode, (125, 127, 0), done.stderr)
            if done.returncode == 125:
                self.assertRegex(done.stderr, r"^holt: cannot .*Too many open files")
                self.assertIn("Try: raise the limit of open files", done.stderr)
        self.assertEqual(self.check(0, "lock", "list", "-o", "name").stdout, "x\n")

    # Output

    def test_output_that_cannot_be_written(self):
        self.take("x")
        with open("/dev/full", "wb") as full:
            done = self.check(1, "lock", "list", capture_output=False, stdout=full,
                              stderr=subprocess.PIPE)
        self.assertIn("cannot write to standard output: No space left on device", done.stderr)

    def test_a_reader_that_goes_away(self):
        self.take("x")
        done = subprocess.run(["sh", "-c", '"$0" lock list | true', BINARY], env=self.env,
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    # Log

    def log_of_a_run(self, **settings) -> list[str]:
        return self.check(0, "run", "--lock", "the lock", "--", "true",
                          env=settings).stderr.splitlines()

    def test_the_log_is_quiet_unless_asked(self):
        self.assertEqual(self.log_of_a_run(), [])
        self.assertEqual(self.log_of_a_run(HOLT_LOG_LEVEL="off"), [])

    def test_the_log_as_text(self):
        lines = self.log_of_a_run(HOLT_LOG_LEVEL="info")
        self.assertRegex(lines[0], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info acquired "
                                   r'instance=default name="the lock" owner=\S+ fence=\d{19}$')
        self.assertTrue(any(" released " in line for line in lines), lines)

    def test_the_log_as_json(self):
        lines = self.log_of_a_run(HOLT_LOG_LEVEL="debug", HOLT_LOG_FORMAT="json")
        events = [json.loads(line) for line in lines]
        acquired = next(event for event in events if event["event"] == "acquired")
        self.assertEqual(list(acquired)[:7],
                         ["time", "level", "event", "instance", "name", "owner", "fence"])
        self.assertEqual(acquired["name"], "the lock")
        self.assertRegex(acquired["fence"], r"^\d{19}$")

    def test_a_lost_lock_is_logged_as_a_warning(self):
        started = self.start("run", "--lock", "x", "--", "sleep", "1000",
                             env={"HOLT_LOG_FORMAT": "json"})
        self.wait_for(lambda: self.holt("lock", "show", "x").returncode == 0, "the lock")
        self.check(0, "lock", "break", "x", "--reason", "out with it")
        _, stderr = self.finish(started, 123)
        events = [json.loads(line) for line in stderr.splitlines() if line.startswith("{")]
        self.assertTrue(any(event["event"] in ("broken", "lost") for event in events), stderr)
        self.assertTrue(any("out with it" in event.get("reason", "") for event in events), stderr)

    # The program itself

    @unittest.skipIf(SANITIZED, "built with a sanitizer")
    def test_it_links_next_to_nothing(self):
        listed = subprocess.run(["ldd", BINARY], capture_output=True, text=True).stdout
        names = {pathlib.Path(line.split()[0]).name.partition(".so")[0]
                 for line in listed.splitlines()}
        self.assertLessEqual(names, {"linux-vdso", "libstdc++", "libgcc_s", "libm", "libc",
                                     "ld-linux-x86-64", "ld-linux-aarch64"})


if __name__ == "__main__":
    unittest.main()
