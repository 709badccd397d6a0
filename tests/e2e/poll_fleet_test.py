# SPDX-License-Identifier: Apache-2.0
"""holt poll on several nodes, which come, go, die and are stopped; on every store. The judge is
what the polled side has noted: nobody comes while somebody is there."""

import json
import signal
import unittest

from holt_case import is_alive
from servers import Postgres, Redis
from visits import VisitCase

ENDPOINTS = [f"endpoint-{number}" for number in range(8)]
OPTIONS = ["--ttl", "3s", "--every", "300ms"]


class Fleet:
    """The cases; what makes them tests is the store, below."""

    def setUp(self):
        super().setUp()
        self.listed(*ENDPOINTS)

    def shares(self) -> dict[str, int]:
        listed = json.loads(self.check(0, "nodes", "job", "-o", "json").stdout)
        return {node["node"]: node["endpoints"] for node in listed}

    def owners(self) -> dict[str, str]:
        """Who has what, if everybody has what it should have; else nothing."""
        shown = json.loads(self.holt("poll", "show", "job", "-o", "json").stdout)
        if [each for each in shown if each["node"] != each["preferred"] or not each["node"]]:
            return {}
        return {each["endpoint"]: each["node"] for each in shown}

    def wait_for_nodes(self, *names: str) -> dict[str, str]:
        """Until these share all endpoints, each of them some."""
        def shared():
            owners = self.owners()
            return owners if set(owners) == set(ENDPOINTS) and set(
                owners.values()) == set(names) else {}

        return self.wait_for(shared, f"{names} to share")

    def test_a_second_node_takes_its_part_and_leaves_it(self):
        one = self.node("one", *OPTIONS)
        self.wait_for_visits(ENDPOINTS, node="one")
        two = self.node("two", *OPTIONS)
        owners = self.wait_for_nodes("one", "two")
        for name in ("one", "two"):
            self.wait_for_visits([e for e in ENDPOINTS if owners[e] == name],
                                 after=len(self.visits()), node=name)
        self.assertEqual(sum(self.shares().values()), len(ENDPOINTS))
        self.end(one)
        self.assertNotIn("one", self.shares())
        self.wait_for_visits(ENDPOINTS, after=len(self.visits()), node="two")
        self.end(two)
        self.assertEqual(self.shares(), {})
        self.check_visits()

    def test_a_killed_node_is_replaced_when_its_ttl_is_over(self):
        one = self.node("one", *OPTIONS, "--jobs", "8", stay=1000)
        self.wait_for_visits(ENDPOINTS, node="one")
        pids = [visit.pid for visit in self.started(node="one")]
        one.kill()
        one.wait()
        for pid in pids:
            self.wait_until_gone(pid)
        two = self.node("two", *OPTIONS)
        self.wait_for_visits(ENDPOINTS, node="two")
        self.end(two)
        self.check_visits()

    def test_the_command_of_a_stopped_node_is_gone_before_another_comes(self):
        one = self.node("one", *OPTIONS, "--jobs", "8", stay=1000)
        self.wait_for_visits(ENDPOINTS, node="one")
        pids = {visit.endpoint: visit.pid for visit in self.started(node="one")}
        one.send_signal(signal.SIGSTOP)
        two = self.node("two", *OPTIONS)
        self.wait_for_visits(ENDPOINTS, node="two")
        for endpoint, pid in pids.items():
            self.assertFalse(is_alive(pid), endpoint)
        one.send_signal(signal.SIGCONT)
        self.wait_for_nodes("one", "two")
        said = self.end(one)
        self.assertRegex(said, r'poll of "endpoint-\d" was ended')
        self.end(two)
        self.check_visits()


class SqliteTest(Fleet, VisitCase):
    pass


class RedisTest(Fleet, VisitCase):
    def setUp(self):
        super().setUp()
        self.env["HOLT_STORE"] = Redis(self).url()


class PostgresTest(Fleet, VisitCase):
    def setUp(self):
        super().setUp()
        self.env["HOLT_STORE"] = Postgres(self).url()
        self.check(0, "migrate")


if __name__ == "__main__":
    unittest.main()
