# SPDX-License-Identifier: Apache-2.0
"""docs/comparison.md says what was seen: its tables are those that page.py makes, nothing that was
seen is left out, and the versions it names are those that were run."""

import os
import unittest

from compare_case import PAGE
from page import TABLES, known, with_tables


class PageTest(unittest.TestCase):
    maxDiff = None

    def test_its_tables_are_what_was_seen(self):
        page = PAGE.read_text()
        for name in TABLES:
            self.assertIn(f"<!-- table: {name} -->", page)
        if os.environ.get("HOLT_UPDATE_GOLDEN"):
            PAGE.write_text(with_tables(page))
        self.assertEqual(PAGE.read_text(), with_tables(page),
                         "HOLT_UPDATE_GOLDEN=1 writes the tables anew; read the difference, and "
                         "whether the text around them still says the truth")

    def test_every_fact_has_a_row(self):
        run, read = known()
        for known_by in (run, read):
            for peer, facts in known_by.items():
                shown = {fact for rows, peers in TABLES.values() if peer in peers for fact in rows}
                self.assertEqual(set(facts) - shown - {"version"}, set(), peer)

    def test_what_was_run_is_not_said_to_be_read(self):
        run, read = known()
        for peer, facts in read.items():
            self.assertEqual(set(facts) & set(run.get(peer, {})), set(), peer)

    def test_versions(self):
        run, _ = known()
        page = PAGE.read_text()
        for peer, named in (("flock", "util-linux"), ("etcdctl lock", "etcd"),
                            ("SyncGuard", "SyncGuard")):
            self.assertIn(f"{named} {run[peer]['version']}", page)


if __name__ == "__main__":
    unittest.main()
