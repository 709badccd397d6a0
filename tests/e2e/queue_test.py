# SPDX-License-Identifier: Apache-2.0
"""holt queue: tasks that are added, shown, listed and cancelled; on every store."""

import unittest

from queue_case import QueueCase
from servers import Postgres, Redis


class Tasks:
    """The cases; what makes them tests is the store, below."""

    def test_a_task_is_shown_as_it_was_added(self):
        task = self.add('{"to":"ada"}', "--priority", "2", "--max-attempts", "7", "--timeout",
                        "90s", "--metadata", "m", "--unique", "k")
        self.assertRegex(task, r"^jobs/\d+$")
        shown = self.task(task)
        wanted = {"id": task, "queue": "jobs", "state": "pending", "kind": "any", "priority": 2,
                  "payload": '{"to":"ada"}', "max_attempts": 7, "timeout_ms": 90_000,
                  "metadata": "m", "unique": "k", "attempt": 0, "errors": []}
        self.assertEqual(shown, shown | wanted)

    def test_lines_are_tasks(self):
        lines = "".join(f'{{"n":{n}}}\n' for n in range(1000))
        done = self.check(0, "queue", "add", "jobs", "--kind", "any", "--payload", "-",
                          input=lines)
        ids = done.stdout.splitlines()
        self.assertEqual(len(set(ids)), 1000)
        self.assertEqual(done.stderr, "holt: added 1000 tasks\n")
        self.assertEqual(self.check(0, "queue", "list", "jobs", "-o", "name").stdout,
                         done.stdout)
        self.assertEqual(self.task(ids[999])["payload"], '{"n":999}')

    def test_lists_by_state_and_kind(self):
        later = self.add("{}", "--delay", "1h")
        now = self.add(kind="other")
        self.assertEqual([t["id"] for t in self.listed()], [later, now])
        self.assertEqual([t["id"] for t in self.listed("--state", "scheduled")], [later])
        self.assertEqual([t["id"] for t in self.listed("--kind", "other")], [now])
        self.assertEqual([t["id"] for t in self.listed("--limit", "1")], [later])
        table = self.check(0, "queue", "list", "jobs")
        self.assertIn('holt: queue "jobs": 1 scheduled, 1 pending', table.stderr)

    def test_a_unique_key_is_added_once(self):
        first = self.add("1", "--unique", "k")
        again = self.check(0, "queue", "add", "jobs", "--kind", "any", "--unique", "k")
        self.assertEqual(again.stdout, first + "\n")
        self.assertIn("nothing was added", again.stderr)

    def test_cancel(self):
        task = self.add()
        self.check(0, "queue", "cancel", task)
        self.assertEqual(self.task(task)["state"], "cancelled")
        again = self.check(5, "queue", "cancel", task)
        self.assertIn("Try: holt queue show " + task, again.stderr)


class SqliteTest(Tasks, QueueCase):
    def refused(self, code: int, *words, **options) -> str:
        """What it complains of, with a way out."""
        done = self.check(code, "queue", *words, **options)
        self.assertEqual(done.stdout, "")
        self.assertIn("\nTry: ", done.stderr)
        return done.stderr

    def test_mistakes(self):
        add = ["add", "jobs", "--kind", "any"]
        for words, complaint in [
            ([*add, "--priority", "0"], "--priority 0 is not possible"),
            ([*add, "--priority", "11"], "--priority 11 is not possible"),
            ([*add, "--delay", "-5s"], "negative"),
            ([*add, "--max-attempts", "0"], "--max-attempts 0 is not possible"),
            ([*add, "--payload", "@" + str(self.folder / "none")], "No such file"),
            (["add", "jobs"], "--kind is missing"),
            ([*add, "--priority", "-1"], '"-1" is negative'),
            ([*add, "--priority", "9" * 30], "is too large"),
            ([*add, "--unique", ""], "--unique is empty"),
            ([*add, "--unique", "k", "--unique-for", "0s"], "--unique-for 0s is no period"),
            (["list", "jobs", "--limit", "0"], "--limit 0 would list nothing"),
            (["add", "jobs", "--kind", ""], "a kind is empty: use 1 to 128 bytes"),
            (["add", "no queue", "--kind", "any"], "queue"),
            (["show", "jobs"], "is no id of a task"),
            ([*add, "--unique-for", "1h"], "--unique KEY"),
        ]:
            with self.subTest(words):
                self.assertIn(complaint, self.refused(2, *words))

    def test_unknown_tasks(self):
        for command in ("show", "cancel"):
            self.assertIn("no such task", self.refused(3, command, "jobs/4711"))

    def test_payloads_are_any_bytes_up_to_a_mebibyte(self):
        file = self.folder / "payload"
        file.write_bytes(b"\0\xff" * (512 * 1024))
        task = self.add(f"@{file}")
        self.assertTrue(self.task(task)["payload_base64"].startswith("AP8A/wD/"))
        file.write_bytes(b"x" * (1024 * 1024 + 1))
        self.assertIn("above 1 MiB",
                      self.refused(2, "add", "jobs", "--kind", "any", "--payload", f"@{file}"))

    def test_a_payload_may_begin_with_an_at(self):
        self.assertEqual(self.task(self.add("@@ada"))["payload"], "@ada")

    def test_a_line_that_is_too_long_is_named(self):
        done = self.check(2, "queue", "add", "jobs", "--kind", "any", "--payload", "-",
                          input="1\n\n" + "x" * (1024 * 1024 + 1) + "\n")
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertIn("1 task", done.stderr)
        self.assertIn("line 3 of the input is above 1 MiB", done.stderr)

    def test_lines_that_come_slowly_are_added_at_once(self):
        adding = self.start("queue", "add", "jobs", "--kind", "any", "--payload", "-",
                            stdin=-1, stdout=-1)
        for line in ("1\n", "2\n"):
            adding.stdin.write(line)
            adding.stdin.flush()
            self.assertRegex(adding.stdout.readline(), r"^jobs/\d+\n$")
        adding.stdin.write("without an end")
        self.finish(adding, 0)
        self.assertEqual(len(self.listed()), 3)

    def test_a_result_is_waited_for(self):
        self.shell_worker("cat")
        done = self.check(0, "queue", "add", "jobs", "--kind", "any", "--payload", "hello",
                          "--wait", "60s")
        self.assertEqual(done.stdout, "hello")
        done = self.check(3, "queue", "add", "jobs", "--kind", "any", "--delay", "1h", "--wait",
                          "50ms")
        self.assertIn("it has not ended in 50ms", done.stderr)


class RedisTest(Tasks, QueueCase):
    def setUp(self):
        super().setUp()
        self.env["HOLT_STORE"] = Redis(self).url()


class PostgresTest(Tasks, QueueCase):
    def setUp(self):
        super().setUp()
        self.env["HOLT_STORE"] = Postgres(self).url()


if __name__ == "__main__":
    unittest.main()
