# SPDX-License-Identifier: Apache-2.0
"""The end-to-end scripts of the specification of named instances, on every engine, and what must
hold wherever an instance runs."""

import json
import os
import signal
import subprocess
import unittest

from holt_case import boot_ns, is_alive
from instance_case import InstanceCase
from servers import Postgres, Redis

TTL = ("--ttl", "3s")


class Scripts:
    """On the store in self.env."""

    def test_1_auto_increment_naming(self):
        self.assertEqual(self.up_as(at="one"), "default-1")
        self.assertEqual(self.up_as(at="two"), "default-2")
        shown = self.instances()
        self.assertEqual(list(shown), ["default-1", "default-2"])
        for name, at in (("default-1", "one"), ("default-2", "two")):
            self.assertEqual(shown[name]["status"], "running")
            self.assertEqual(shown[name]["workspace"], str(self.workspace(at)))
            self.assertEqual(shown[name]["replicas"], 1)
        self.assertEqual(self.down(at="two").stdout, "Stopped instance: default-2\n")
        self.assertEqual(self.down("--name", "default-1", at="two").stdout,
                         "Stopped instance: default-1\n")
        self.assertEqual(self.instances(), {})
        self.assertEqual(self.up_as(at="one"), "default-3")  # a number is never used again
        self.down()

    def test_2_explicit_naming(self):
        self.assertEqual(self.up_as("--name", "test1"), "test1")
        refused = self.up("--name", "test1", at="two", code=5)
        self.assertIn("Instance name 'test1' is already in use\n", refused.stderr)
        self.down("--name", "test1")
        self.down("--name", "test1", code=3)

    def test_3_workspace_path_collision(self):
        first = self.up_as()
        refused = self.up(code=5)
        self.assertIn(f"workspace '{self.workspace('one')}' is already in use by instance "
                      f"'{first}'\n", refused.stderr)
        forced = self.up("--force")
        self.assertEqual(forced.stderr, "Warning: Overriding workspace path collision check\n")
        # The refused one has burnt no number.
        self.assertEqual(forced.stdout.splitlines()[0], "Started instance: default-2")
        self.assertEqual(self.down().stdout, "Stopped instance: default-2\n")  # the newest
        self.down("--name", first)

    def test_4_crash_recovery(self):
        self.up("--name", "crash-test", *TTL)
        before = self.instances()["crash-test"]
        killed = boot_ns()
        os.kill(self.pid_of("crash-test"), signal.SIGKILL)
        self.wait_for(lambda: self.holt("up", "--name", "crash-test", *TTL,
                                        cwd=self.workspace("one")).returncode == 0,
                      "the name to be free")
        self.assertGreater(boot_ns() - killed, 10**9)
        after = self.instances()["crash-test"]
        self.assertNotEqual(after["run_id"], before["run_id"])
        self.assertGreater(after["fence"], before["fence"])
        self.down()

    def test_5_metadata(self):
        self.up("--name", "meta-test")
        told = self.metadata("meta-test")
        self.assertEqual(told["workspace_path"], str(self.workspace("one")))
        self.assertRegex(told["run_id"], r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        self.assertTrue(is_alive(told["orchestrator_pid"]))
        self.assertRegex(told["started_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
        self.down("--name", "meta-test")
        self.assertIsNone(self.metadata("meta-test"))

    def metadata(self, name: str) -> dict | None:
        shown = self.instances().get(name)
        return shown and {"workspace_path": shown["workspace"], "run_id": shown["run_id"],
                          "orchestrator_pid": shown["pid"], "started_at": shown["started_at"]}

    def race(self, commands: list[tuple[str, tuple[str, ...]]]) -> list[str]:
        """Of many that start at once, each in its folder, one comes up; what the others say."""
        started = [self.start("up", *words, cwd=self.workspace(at)) for at, words in commands]
        ended = [(one.communicate(timeout=60)[1], one.returncode) for one in started]
        self.assertEqual(sorted(code for _, code in ended), [0] + [5] * (len(commands) - 1), ended)
        self.assertEqual(len(self.instances()), 1)
        return [told for told, code in ended if code == 5]

    def test_a_race_for_a_name(self):
        for told in self.race([(f"at-{n}", ("--name", "race")) for n in range(20)]):
            self.assertIn("Instance name 'race' is already in use\n", told)
        self.down("--name", "race")

    def test_a_race_for_a_workspace(self):
        for told in self.race([("one", ())] * 20):
            self.assertRegex(told, "workspace '.*' is already in use by instance 'default-1'\n")
        self.down()
        self.assertEqual(self.up_as(), "default-2")  # the refused ones have drawn no number
        self.down()

    def test_replicas_take_over(self):
        self.up("--name", "web", "--join", *TTL, at="one")
        joined = self.up("--name", "web", "--join", *TTL, at="two")
        self.assertEqual(joined.stdout.splitlines()[0], "Joined instance: web")
        self.wait_for(lambda: self.instances()["web"]["replicas"] == 2, "both to be seen")
        before = self.instances()["web"]
        self.assertEqual(sum(replica["leads"] for replica in before["replica_list"]), 1)
        os.kill(self.pid_of("web"), signal.SIGKILL)
        self.wait_for(lambda: self.instances()["web"]["pid"] != before["pid"], "the other to lead")
        self.assertEqual(self.instances()["web"]["run_id"], before["run_id"])
        self.down("--name", "web")

    def test_a_dead_one_is_listed_and_cleaned(self):
        self.up("--name", "dead", *TTL)
        os.kill(self.pid_of("dead"), signal.SIGKILL)
        self.wait_for_status("dead", "stopped")
        self.assertEqual(self.instances()["dead"]["uptime_ms"], 0)
        self.assertIn(" -  ", self.check(0, "list").stdout)
        done = self.down("--name", "dead")
        self.assertEqual(done.stdout, "Cleaned up instance: dead\n")
        self.assertEqual(done.stderr, "holt: it was dead already; what was left of it is gone\n")
        self.assertEqual(self.instances(), {})

    def test_down_reaches_it_from_anywhere(self):
        """Through the store: neither the folder nor the process matters."""
        serving = self.start("serve", "--name", "far", cwd=self.workspace("one"))
        self.wait_for_status("far", "running")
        self.down("--name", "far", "--reason", "moving out", at="two")
        _, told = self.finish(serving, 0)
        self.assertIn("moving out", told)

    def test_one_that_does_not_listen(self):
        self.up("--name", "deaf", "--ttl", "1m")
        pid = self.pid_of("deaf")
        os.kill(pid, signal.SIGSTOP)
        late = self.down("--name", "deaf", "--wait", "300ms", code=5)
        self.assertIn("instance 'deaf' was asked to stop and has not within 300ms", late.stderr)
        self.assertIn("Try: holt down --name deaf --force", late.stderr)
        forced = self.down("--name", "deaf", "--force")
        self.assertIn("Warning: name and workspace are freed at once", forced.stderr)
        self.assertEqual(self.up_as("--name", "deaf"), "deaf")
        successor = self.instances()["deaf"]
        os.kill(pid, signal.SIGCONT)
        self.wait_until_gone(pid)  # it has noticed, and left its successor alone
        self.assertEqual(self.instances()["deaf"]["run_id"], successor["run_id"])
        self.assertEqual(self.instances()["deaf"]["status"], "running")
        self.down("--name", "deaf")


class SqliteScripts(Scripts, InstanceCase):
    pass


class RedisScripts(Scripts, InstanceCase):
    def setUp(self):
        super().setUp()
        self.server = Redis(self)
        self.env["HOLT_STORE"] = self.server.url()

    def redis(self, *words: str) -> str:
        return subprocess.run(["redis-cli", "-p", str(self.server.port), *words], check=True,
                              capture_output=True, text=True, timeout=30).stdout.strip()

    def metadata(self, name: str) -> dict | None:
        text = self.redis("HGET", "holt:instances", name)
        return json.loads(text) if text else None

    def test_the_readable_keys(self):
        self.up()
        self.assertEqual(self.redis("GET", "holt:instance_counter"), "1")
        lock = json.loads(self.redis("GET", "holt:default-1:lock"))
        self.assertEqual(lock["pid"], self.instances()["default-1"]["pid"])
        self.down()
        self.assertEqual(self.redis("EXISTS", "holt:default-1:lock"), "0")
        self.assertEqual(self.redis("GET", "holt:instance_counter"), "1")


class PostgresScripts(Scripts, InstanceCase):
    def setUp(self):
        super().setUp()
        self.env["HOLT_STORE"] = Postgres(self).url()
        self.check(0, "migrate")


if __name__ == "__main__":
    unittest.main()
