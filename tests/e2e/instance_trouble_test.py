# SPDX-License-Identifier: Apache-2.0
"""Named instances in trouble: an orchestrator that is stopped past its ttl, a store that starts
again, clocks that are set."""

import os
import signal
import struct
import unittest

from holt_case import boot_ns
from instance_case import InstanceCase
from servers import Postgres, Redis

TTL = ("--ttl", "2s")
HOUR = 3600 * 10**9


class Troubles:
    """On the store in self.env."""

    def serve(self, *args, at: str = "one", env=None):
        return self.start("serve", *args, cwd=self.workspace(at), env=env)

    def test_stopped_past_its_ttl_and_nobody_came(self):
        self.serve("--name", "web", *TTL)
        self.wait_for_status("web", "running")
        before = self.instances()["web"]
        os.kill(before["pid"], signal.SIGSTOP)
        self.wait_for_status("web", "stopped")
        os.kill(before["pid"], signal.SIGCONT)
        self.wait_for_status("web", "running")
        after = self.instances()["web"]
        self.assertEqual(after["run_id"], before["run_id"])
        self.assertGreater(after["fence"], before["fence"])

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


class ServerTroubles(Troubles):
    """On self.server."""

    def test_the_store_starts_again(self):
        self.serve("--name", "web", *TTL)
        self.wait_for_status("web", "running")
        before = self.instances()["web"]
        self.server.restart()
        self.wait_for(lambda: self.holt("list").returncode == 0, "the store to answer")
        self.wait_for_status("web", "running")
        self.assertEqual(self.instances()["web"]["run_id"], before["run_id"])
        self.assertEqual(self.down("--name", "web").stdout, "Stopped instance: web\n")


class SqliteTroubles(Troubles, InstanceCase):
    def test_clocks_are_set(self):
        """The wall clock of everybody, an hour on and an hour back."""
        shift = self.folder / "shift"
        self.env |= {"LD_PRELOAD": os.environ["HOLT_CLOCK_SHIM"], "CLOCKSHIM_FILE": str(shift),
                     "ASAN_OPTIONS": "verify_asan_link_order=0"}
        shift.write_bytes(struct.pack("q", 0))
        self.serve("--name", "web", *TTL)
        self.wait_for_status("web", "running")
        before = self.instances()["web"]
        for step in (HOUR, -HOUR):
            with shift.open("r+b") as file:
                file.write(struct.pack("q", step))
            end = boot_ns() + 3 * 10**9  # longer than the ttl
            while boot_ns() < end:
                now = self.instances()["web"]
                self.assertEqual((now["status"], now["fence"]), ("running", before["fence"]))
            self.up("--name", "web", at="two", code=5)
        self.down("--name", "web")


class RedisTroubles(ServerTroubles, InstanceCase):
    def setUp(self):
        super().setUp()
        self.server = Redis(self)
        self.env["HOLT_STORE"] = self.server.url()


class PostgresTroubles(ServerTroubles, InstanceCase):
    def setUp(self):
        super().setUp()
        self.server = Postgres(self)
        self.env["HOLT_STORE"] = self.server.url()
        self.check(0, "migrate")


if __name__ == "__main__":
    unittest.main()
