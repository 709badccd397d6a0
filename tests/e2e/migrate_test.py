# SPDX-License-Identifier: Apache-2.0
"""holt migrate: what it does, what it says, how it ends; on every engine."""

import concurrent.futures
import contextlib
import json
import re
import sqlite3
import unittest

from holt_case import REPOSITORY, HoltCase, as_root
from servers import Postgres, Redis


class MigrateTest(HoltCase):
    def states(self, *args, code=0) -> dict[str, str]:
        done = self.check(code, "migrate", "-o", "json", *args)
        self.assertEqual(done.stderr, "")
        return {row["migration"]: row["state"] for row in json.loads(done.stdout)}

    # The embedded store

    def change(self, *statements: str):
        with contextlib.closing(sqlite3.connect(self.store)) as store:
            for statement in statements:
                store.execute(statement)
            store.commit()

    def test_the_embedded_store(self):
        shown = self.transcript(["migrate", "--dry-run"], ["migrate", "--check"], ["migrate"],
                                ["migrate"], ["migrate", "--check", "-o", "json"],
                                ["migrate", "-o", "ndjson"], ["migrate", "-o", "name"])
        self.assert_golden("migrate", shown)

    def test_a_look_makes_nothing(self):
        self.check(0, "migrate", "--dry-run")
        self.check(3, "migrate", "--check")
        self.assertFalse(self.store.parent.exists())

    def test_the_embedded_store_without_migrating(self):
        url = f"sqlite://{self.store}?migrate=no"
        shown = self.transcript(["lock", "list", "--store", url])
        self.assertFalse(self.store.parent.exists())
        shown += self.transcript(["migrate", "--store", url],
                                 ["lock", "try", "x", "-o", "name", "--store", url])
        self.change("UPDATE meta SET version = 0")
        shown += self.transcript(["lock", "list", "--store", url])
        self.assert_golden("migrate_no", shown)

    def test_a_file_that_is_no_store_is_left_alone(self):
        self.store.parent.mkdir(parents=True, mode=0o700)
        self.change("CREATE TABLE mine (x)")
        self.store.chmod(0o600)
        for args in (["--dry-run"], []):
            done = self.check(2, "migrate", *args)
            self.assertIn("is not a Holt store", done.stderr)

    def test_a_store_of_a_newer_holt(self):
        self.check(0, "migrate")
        self.change("UPDATE meta SET version = 3")
        self.assert_golden("migrate_newer", self.transcript(["migrate"], ["migrate", "--check"]))
        self.change("UPDATE meta SET min_reader = 3")
        done = self.check(2, "migrate", "--dry-run")
        self.assertIn("needs a Holt that knows format 3", done.stderr)

    @as_root
    def test_a_folder_that_may_only_be_read(self):
        self.folder.chmod(0o555)
        done = self.check(4, "migrate", **self.by_nobody())
        self.assertIn("Permission denied", done.stderr)

    def test_wrong_usage(self):
        self.check(2, "migrate", "now")
        self.check(2, "migrate", "--store", "sqlite:x.db?migrate=yes")

    # Redis

    def test_redis_has_nothing_to_migrate(self):
        server = Redis(self)
        shown = self.transcript(["migrate", "--store", server.url()],
                                ["migrate", "--check", "-o", "json", "--store", server.url()])
        self.assert_golden("migrate_redis", shown.replace(str(server.port), "PORT"))
        self.check(6, "migrate", "--store", "redis://127.0.0.1:1")

    # PostgreSQL

    @staticmethod
    def whatever_there_is(shown: str, server: Postgres) -> str:
        """The text without what each new migration would change."""
        newest = len(list((REPOSITORY / "src/engines/postgres/migrations").glob("*.sql")))
        shown = shown.replace(str(server.port), "PORT")
        shown = re.sub(rf"^{newest:03}_\w+ +", "NEWEST  ", shown, flags=re.MULTILINE)
        shown = re.sub(r"(?:^\d{3}_\w+ +(\w.*)\n)+", r"OLDER  \1\n", shown, flags=re.MULTILINE)
        shown = re.sub("^MIGRATION +", "MIGRATION  ", shown, flags=re.MULTILINE)
        for number, word in ((newest, "NEWEST"), (newest - 1, "BEFORE")):
            shown = re.sub(rf"\b(version|to|needs|knows) {number}\b", rf"\1 {word}", shown)
        return shown

    def test_postgres(self):
        server = Postgres(self)
        url = server.url()
        shown = self.transcript(["migrate", "--check", "--store", url])
        self.assertEqual(server.sql("SELECT to_regnamespace('holt') IS NULL"), "t")
        closed = url + "?migrate=no"
        shown += self.transcript(["lock", "list", "--store", closed],
                                 ["migrate", "--store", closed], ["migrate", "--store", url],
                                 ["lock", "try", "x", "-o", "name", "--store", closed])
        server.sql("UPDATE holt.meta SET version = version - 1")
        shown += self.transcript(["migrate", "--dry-run", "--store", url],
                                 ["lock", "list", "--store", closed])
        server.sql("UPDATE holt.meta SET version = 99, min_reader = 98")
        shown += self.transcript(["migrate", "--store", url])
        self.assert_golden("migrate_postgres", self.whatever_there_is(shown, server))

    def test_postgres_as_a_role_that_may_not(self):
        server = Postgres(self)
        server.sql("CREATE ROLE nobody LOGIN")
        shown = self.transcript(["migrate", "--store", server.url("nobody")])
        server.sql((REPOSITORY / "src/engines/postgres/roles.example.sql").read_text())
        app = server.url("holt_app")
        shown += self.transcript(["migrate", "--store", app], ["lock", "list", "--store", app])
        self.check(0, "migrate", "--store", server.url("holt_owner"))
        self.check(0, "migrate", "--check", "--store", app)
        self.check(0, "lock", "try", "x", "--store", app)
        server.sql("UPDATE holt.meta SET version = version - 1")
        shown += self.transcript(["migrate", "--dry-run", "--store", app],
                                 ["lock", "list", "--store", app])
        self.assert_golden("migrate_role", self.whatever_there_is(shown, server))

    def test_postgres_many_at_once(self):
        server = Postgres(self)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            runs = [pool.submit(self.states, "--store", server.url()) for _ in range(6)]
        migrated = [run.result() for run in runs if "applied_now" in run.result().values()]
        self.assertEqual(len(migrated), 1)


if __name__ == "__main__":
    unittest.main()
