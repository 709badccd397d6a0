# SPDX-License-Identifier: Apache-2.0
"""Named instances in trouble: an orchestrator that is stopped past its ttl, a store that starts
again, clocks that are set."""

import os
import signal
import unittest

from holt_case import boot_ns
from instance_case import InstanceCase
from servers import Postgres, Redis, ShiftedClock

TTL = ("--ttl", "2s")
HOUR = 3600 * 10**9


class Troubles:
    """On the store in self.env."""

    def serve(self, *args, at: str = "one", env=None):
        return self.start("serve", *args, cwd=self.workspace(at), env=env)

    def serve_web(self) -> dict:
        self.serve("--name", "web", *TTL)
        self.wait_for_status("web", "running")
        return self.instances()["web"]

    def fence_of(self, name: str) -> int:
        return int(self.instances().get(name, {}).get("fence", 0))

    def test_stopped_past_its_ttl_and_nobody_came(self):
        before = self.serve_web()
        os.kill(before["pid"], signal.SIGSTOP)
        self.wait_for_status("web", "stopped")
        os.kill(before["pid"], signal.SIGCONT)
        self.wait_for_status("web", "running")
        after = self.instances()["web"]
        self.assertEqual(after["run_id"], before["run_id"])
        self.assertGreater(int(after["fence"]), int(before["fence"]))

    def test_stopped_past_its_ttl_and_another_came(self):
        stopped = self.serve("--name", "web", *TTL)
        self.wait_for_status("web", "running")
        os.kill(stopped.pid, signal.SIGSTOP)
        self.wait_for_status("web", "stopped")
        self.up("--name", "web")
        successor = self.instances()["web"]
        os.kill(stopped.pid, signal.SIGCONT)
        _, told = self.finish(stopped, 123)
        self.assertIn("was taken by another instance", told)
        after = self.instances()["web"]
        for key in ("status", "run_id", "fence", "pid", "started_at", "replicas"):
            self.assertEqual(after[key], successor[key], key)
        self.down("--name", "web")


    def test_stopped_past_its_ttl_and_another_has_its_folder(self):
        stopped = self.serve("--name", "web", *TTL)
        self.wait_for_status("web", "running")
        os.kill(stopped.pid, signal.SIGSTOP)
        self.wait_for_status("web", "stopped")
        self.up("--name", "other")
        os.kill(stopped.pid, signal.SIGCONT)
        _, told = self.finish(stopped, 123)
        self.assertIn("its workspace was taken by instance", told)
        self.assertEqual(self.instances()["other"]["status"], "running")
        self.down("--name", "other")

    def test_the_clocks_of_all_programs_are_set(self):
        clock = ShiftedClock(self)
        self.env |= clock.env
        before = self.serve_web()
        for step in (HOUR, -HOUR):
            clock.set(step)
            self.stays_as(before)
            self.up("--name", "web", at="two", code=5)
        self.down("--name", "web")

    def stays_as(self, before: dict):
        end = boot_ns() + 3 * 10**9  # longer than the ttl
        while boot_ns() < end:
            now = self.instances()["web"]
            self.assertEqual((now["status"], now["fence"]), ("running", before["fence"]))


class ServerTroubles(Troubles):
    """On self.server."""

    def test_the_store_starts_again(self):
        before = self.serve_web()
        self.server.restart()
        self.wait_for(lambda: self.holt("list").returncode == 0, "the store to answer")
        self.wait_for_status("web", "running")
        self.assertEqual(self.instances()["web"]["run_id"], before["run_id"])
        self.assertEqual(self.down("--name", "web").stdout, "Stopped instance: web\n")


    def test_the_servers_clock_is_set_forward(self):
        """That ends all leases early. The instance notices, and is there again."""
        before = self.serve_web()
        self.server_clock.set(HOUR)
        self.wait_for(lambda: self.fence_of("web") > int(before["fence"]), "a new lease")
        self.wait_for_status("web", "running")
        after = self.instances()["web"]
        self.assertEqual(after["run_id"], before["run_id"])
        self.up("--name", "web", at="two", code=5)
        self.up("--name", "other", code=5)
        self.stays_as(after)
        self.down("--name", "web")

    def test_the_servers_clock_is_set_back(self):
        """That prolongs leases by as much: a dead instance is freed by hand then."""
        before = self.serve_web()
        self.server_clock.set(-HOUR)
        self.stays_as(before)
        self.up("--name", "web", at="two", code=5)
        os.kill(before["pid"], signal.SIGKILL)
        self.wait_until_gone(before["pid"])
        self.up("--name", "web", at="two", code=5)
        self.down("--name", "web", "--force")
        self.up("--name", "web", at="two")
        self.assertGreater(self.fence_of("web"), int(before["fence"]))
        self.down("--name", "web")


class SqliteTroubles(Troubles, InstanceCase):
    pass


class RedisTroubles(ServerTroubles, InstanceCase):
    def setUp(self):
        super().setUp()
        self.server_clock = ShiftedClock(self)
        self.server = Redis(self, self.server_clock.env)
        self.env["HOLT_STORE"] = self.server.url()


class PostgresTroubles(ServerTroubles, InstanceCase):
    def setUp(self):
        super().setUp()
        self.server_clock = ShiftedClock(self)
        self.server = Postgres(self, self.server_clock.env)
        self.env["HOLT_STORE"] = self.server.url()
        self.check(0, "migrate")


if __name__ == "__main__":
    unittest.main()
