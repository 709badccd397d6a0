# SPDX-License-Identifier: Apache-2.0
"""holt doctor: what it finds, what it says to do, how it ends; and raising fences."""

import contextlib
import json
import os
import pty
import re
import sqlite3
import unittest

from holt_case import BINARY, REPOSITORY, HoltCase, as_root

# What depends on the machine, in the table and in JSON.
MACHINE = [
    (r"\d+(\.\d+)? (ms|MiB)\b", r"N \2"),
    (r"\b\d+ of \d+ open files", "N of N open files"),
    (r"room for \d+ more", "room for N more"),
    (r"socket holds \d+", "socket holds N"),
    (r"\b3\.\d+\.\d+, linked in", "3.x, linked in"),
    (r"; processes of other users that cannot be looked at: \d+", ""),
    (r"^\w+ +File system .*$", "STATUS File system KIND"),
    (r'"status":"\w+","title":"File system".*?"\}', '"title":"File system"}'),
    (r"\b0\.\d+\.\d+\b", "VERSION"),
]


class DoctorTest(HoltCase):
    def findings(self, *args, code=0, **options) -> dict[str, dict]:
        done = self.check(code, "doctor", "-o", "json", *args, **options)
        return {finding["id"]: finding for finding in json.loads(done.stdout)}

    def without_machine(self, text: str) -> str:
        for pattern, stand_in in MACHINE:
            text = re.sub(pattern, stand_in, text, flags=re.MULTILINE)
        return text

    # What it says

    def test_a_healthy_store_as_a_table(self):
        done = self.check(0, "doctor")
        self.assert_golden("doctor", self.without_machine(done.stdout), tables=True)

    def test_a_healthy_store_as_json(self):
        done = self.check(0, "doctor", "-o", "json")
        self.assertEqual(done.stderr, "")
        self.assert_golden("doctor_json", self.without_machine(done.stdout))
        for finding in json.loads(done.stdout):
            self.assertEqual(list(finding), ["id", "status", "title", "detail", "fix"])

    def test_lines_and_names(self):
        ids = self.check(0, "doctor", "-o", "name").stdout.split()
        lines = self.check(0, "doctor", "-o", "ndjson").stdout.splitlines()
        self.assertEqual(ids, [json.loads(line)["id"] for line in lines])

    def test_every_finding_is_documented(self):
        page = (REPOSITORY / "docs/commands/doctor.md").read_text()
        sources = list((REPOSITORY / "src").glob("*/findings.cpp"))
        sources += (REPOSITORY / "src/engines").glob("*/diagnose*.cpp")
        text = "\n".join(path.read_text() for path in sources)
        before = r"\{|judged\(|id = |step, |settings, |content, "
        ids = set(re.findall(rf'(?:{before})\s*"([a-z-]+)"', text))
        self.assertLessEqual(set(self.findings()), ids)
        for finding in ids:
            self.assertIn(f"| `{finding}` |", page)

    def test_it_leaves_nothing_behind(self):
        self.take("x")
        self.check(0, "doctor")
        self.assertEqual(self.check(0, "lock", "list", "-o", "name").stdout, "x\n")

    # What is broken

    def test_a_failure_has_a_way_out_that_works(self):
        self.take("x")
        self.store.chmod(0o666)
        done = self.check(1, "doctor")
        self.assertRegex(done.stdout, f"fail +Permissions +everybody may write to {self.store}")
        self.assertIn(f"\nTo do:\n  fail  Permissions: chmod o-w {self.store}", done.stdout)
        self.assertRegex(done.stderr, r"^holt: 1 failed, \d+ warnings?\n$")
        fix = re.search(r"Permissions: (chmod .*)", done.stdout)[1]
        self.assertEqual(os.system(fix), 0)
        self.assertNotEqual(self.findings()["permissions"]["status"], "fail")

    def test_a_fix_can_be_typed_into_a_shell(self):
        folder = self.folder / "it's a folder; with (trouble)"
        folder.mkdir(mode=0o700)
        store = folder / "holt.db"
        self.check(0, "lock", "try", "x", "--store", str(store))
        store.chmod(0o666)
        fix = self.findings("--store", str(store), code=1)["permissions"]["fix"]
        self.assertEqual(os.system(fix), 0)
        self.assertEqual(store.stat().st_mode & 0o777, 0o664)

    def test_a_warning_fails_only_when_asked(self):
        self.assertEqual(self.findings("--ttl", "2s")["timeout"]["status"], "warn")
        self.check(1, "doctor", "--ttl", "2s", "--strict")

    def test_a_store_that_answers_nobody(self):
        self.take("x")
        with self.blocked_store():
            found = self.findings(code=1)
        self.assertEqual(found["writable"]["status"], "fail")
        self.assertIn(f"process {os.getpid()}", found["writable"]["detail"])
        self.assertEqual(found["programs"]["status"], "warn")
        self.assertIn(f"{os.getpid()} (", found["programs"]["detail"])
        self.assertEqual(found["schema"]["status"], "ok")
        self.assertNotIn("latency", found)

    def test_a_deleted_table(self):
        self.take("x")
        with contextlib.closing(sqlite3.connect(self.store)) as store:
            store.execute("DROP TABLE counter")
            store.commit()
        self.assertEqual(self.findings(code=1)["schema"]["detail"], "missing: counter")

    def test_a_store_that_does_not_open(self):
        self.store.parent.mkdir(parents=True)
        self.store.write_bytes(b"this is not a database\n" * 1000)
        self.store.chmod(0o600)
        done = self.check(1, "doctor")
        self.assert_golden("doctor_no_store", self.without_machine(done.stdout + done.stderr),
                           tables=True)
        found = self.findings(code=1)
        self.assertEqual(list(found), ["version", "store", "instance", "timeout", "descriptors"])
        self.assertIn("move the file", found["store"]["fix"])

    def test_an_address_that_is_none(self):
        found = self.findings("--store", "nosuch://x", code=1)
        self.assertIn("this engine is not built in (that is sqlite)", found["store"]["detail"])

    @as_root
    def test_a_folder_that_may_only_be_read(self):
        self.folder.chmod(0o555)
        found = self.findings(code=1, **self.by_nobody())
        self.assertIn("Permission denied", found["store"]["detail"])
        self.assertIn("check who may write there", found["store"]["fix"])

    def test_wrong_usage(self):
        self.check(2, "doctor", "--ttl", "1ms")
        self.check(2, "doctor", "--instance", "not an instance!")
        self.check(2, "doctor", "x")
        self.check(2, "doctor", "--yes")

    # Raising fences

    def fence_of(self, name: str) -> int:
        return int(json.loads(self.check(0, "lock", "try", name, "-o", "json").stdout)["fence"])

    def test_raising_puts_later_fences_above(self):
        before = self.fence_of("a")
        done = self.check(0, "doctor", "--raise-fence", "--yes", "-o", "json")
        raised = json.loads(done.stdout)
        self.assertEqual(raised["instance"], "default")
        self.assertEqual(int(raised["before"]), before)
        self.assertEqual(int(raised["after"]), before + 2**32)
        self.assertEqual(self.fence_of("b"), before + 2**32 + 1)

    def test_raising_as_a_table(self):
        self.take("a")
        done = self.check(0, "doctor", "--raise-fence", "--yes")
        self.assertRegex(done.stdout, r"^instance +default\nbefore +\d{16}\nafter +\d{16}\n$")

    def test_without_a_terminal_it_wants_to_be_sure(self):
        before = self.fence_of("a")
        done = self.check(2, "doctor", "--raise-fence")
        self.assertIn("--yes", done.stderr)
        self.assertEqual(self.fence_of("b"), before + 1)

    def ask(self, answer: bytes) -> tuple[int, str]:
        """Runs it on a terminal of its own; the exit code and what it wrote."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(BINARY, [BINARY, "doctor", "--raise-fence"], self.env)
        self.strays.append(pid)
        written = b""
        with contextlib.suppress(OSError):  # how a terminal says that nobody is left
            while b"[y/N]" not in written:
                written += os.read(terminal, 1000)
            os.write(terminal, answer)
            while more := os.read(terminal, 1000):
                written += more
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), written.decode()

    def test_on_a_terminal_it_asks(self):
        before = self.fence_of("a")
        code, written = self.ask(b"n\n")
        self.assertEqual(code, 1)
        self.assertIn('raise the fences of instance "default"', written)
        self.assertIn("nothing was changed", written)
        self.assertEqual(self.ask(b"\n")[0], 1)
        self.assertEqual(self.fence_of("b"), before + 1)
        code, written = self.ask(b"y\n")
        self.assertEqual(code, 0, written)
        self.assertGreater(self.fence_of("c"), before + 2**32)


if __name__ == "__main__":
    unittest.main()
