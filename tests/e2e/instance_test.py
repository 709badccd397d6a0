# SPDX-License-Identifier: Apache-2.0
"""holt up, down and list as people see them: text, JSON, exit codes, completion."""

import json
import os
import re
import signal
import socket
import time
import unittest

from instance_case import InstanceCase
from servers import free_port


class InstanceTest(InstanceCase):
    def plain(self, text: str) -> str:
        """Without what differs from run to run and from host to host."""
        text = text.replace(socket.gethostname(), "HOST")
        text = re.sub(r"\b(pid|process) \d+", r"\1 PID", text)
        return re.sub(r"TIME +\d+s\b", "TIME  7s", re.sub(r"\d{4}-\S+Z", "TIME", text))

    def test_golden(self):
        self.workspace("two")
        here = {"cwd": self.workspace("one")}
        text = self.transcript(
            ["list"],
            ["list", "-o", "json"],
            ["list", "-o", "name"],
            ["down"],
            ["up", "--name", "myproject"],
            ["up", "--name", "myproject"],
            ["up"],
            ["up", "--force"],
            ["up", "--max-instances", "2", "--workspace", "../two"],
            ["list"],
            ["list", "-o", "name"],
            ["down", "--workspace", "../two"],
            ["down", "--name", "myprojekt"],
            ["down"],
            ["down", "--name", "myproject"], **here)
        self.assert_golden("instances", self.plain(text), tables=True)

    def test_golden_wrong_usage(self):
        """Nothing of this asks the store: there is none."""
        self.env["HOLT_STORE"] = f"redis://127.0.0.1:{free_port()}"
        commands = [["up", "--name", name] for name in ("My_Project", "9lives", "ends-", "a" * 64)]
        commands += [["up", "--join"], ["up", "--detach", "--foreground"], ["up", "--name", ""],
                     ["up", "--workspace", "/nowhere"], ["up", "--log-size", "0"],
                     ["down", "--name", "x", "--workspace", "."], ["down", "--name", "X"],
                     ["serve", "--name", "x y"]]
        text = self.transcript(*commands, cwd=self.workspace("one"))
        self.assert_golden("instances_usage", text)
        self.assertEqual(text.count("[2]"), len(commands))

    def test_values_that_cannot_be(self):
        for words in (("--ttl", "1ms"), ("--ttl", "10s", "--heartbeat", "6s"),
                      ("--max-instances", "0"), ("--address", "a" * 300)):
            with self.subTest(words=words):
                self.up(*words, code=2)
        self.assertEqual(self.instances(), {})

    def test_json(self):
        self.up("--name", "web", "--address", "10.1.2.3:80")
        shown = self.instances()["web"]
        self.assertEqual(list(shown), [
            "name", "status", "trouble", "workspace", "started_at", "uptime_ms", "replicas",
            "leader", "run_id", "pid", "hostname", "address", "fence", "replica_list"])
        self.assertEqual(shown["address"], "10.1.2.3:80")
        self.assertRegex(shown["fence"], r"^\d{19}$")
        replica = shown["replica_list"][0]
        self.assertEqual(list(replica), ["id", "hostname", "address", "pid", "leads"])
        self.assertEqual(shown["leader"], replica["id"])
        self.assertTrue(replica["leads"])
        lines = self.check(0, "list", "-o", "ndjson").stdout.splitlines()
        self.assertEqual([json.loads(line)["name"] for line in lines], ["web"])
        self.down()

    def test_a_store_that_is_not_there(self):
        """The orchestrator's failure is that of `up`: same words, same exit code."""
        self.env["HOLT_STORE"] = f"redis://127.0.0.1:{free_port()}"
        told = [self.check(6, command, "--name", "x", cwd=self.workspace("one")).stderr
                for command in ("up", "serve")]
        self.assertEqual(told[0], told[1])
        self.assertIn('holt: cannot start instance "x": ', told[0])
        self.check(6, "list")
        self.check(6, "down", "--name", "x")

    def test_no_room_for_its_words(self):
        with open("/dev/full", "w") as full:
            self.up("--name", "mute", code=1, stdout=full, capture_output=False)
        self.assertEqual(self.instances(), {})

    def test_no_place_for_its_log(self):
        (self.folder / "state/holt").mkdir(parents=True)
        (self.folder / "state/holt/log").write_text("")
        self.assertIn("cannot write the log", self.up("--name", "x", code=1).stderr)
        self.assertEqual(self.instances(), {})

    def test_the_store_is_read_from_stdin(self):
        url = f"sqlite://{self.folder}/other.db"
        self.up("--name", "x", "--store", "-", input=url)
        self.assertEqual(self.instances(), {})
        self.down("--name", "x", "--store", url)

    def test_settings(self):
        """As every flag: by variable, by file."""
        (self.workspace("one") / ".holt.toml").write_text('[up]\nname = "by-file"\n')
        self.assertEqual(self.up_as(), "by-file")
        self.down()
        self.env["HOLT_UP_NAME"] = "by-variable"
        self.assertEqual(self.up_as(), "by-variable")
        self.down()

    def test_the_default_instance_is_another_matter(self):
        """HOLT_INSTANCE says whose leases are meant, not which instance is started or stopped."""
        self.env["HOLT_INSTANCE"] = "staging"
        self.assertEqual(self.up_as(), "default-1")
        self.down()

    def test_completion(self):
        self.up("--name", "web")
        for line in (["down", "--name", ""], ["down", "--name=w"],
                     ["lock", "list", "--instance", ""]):
            with self.subTest(line=line):
                self.assertIn("web", self.check(0, "__complete", "--", *line).stdout)
        self.down()

    def interrupt_blocked_up(self, how: int, code: int):
        self.check(0, "list")
        with self.blocked_store():
            started = self.start("up", "--name", "interrupted", cwd=self.workspace("one"))
            child = self.wait_for(lambda: self.child_of(started.pid), "its child")
            self.strays.append(child)
            # It must have come to the store: then it has taken its files.
            self.wait_for(lambda: self.has_open(child, "holt.db"), "the store to be asked")
            asked = time.monotonic()
            started.send_signal(how)
            _, told = self.finish(started, code)
            self.assertLess(time.monotonic() - asked, 5)
        self.assertEqual(told, "holt: interrupted\n")
        self.wait_until_gone(child)
        self.assertEqual(self.instances(), {})

    def child_of(self, pid: int) -> int:
        path = f"/proc/{pid}/task/{pid}/children"
        try:
            with open(path) as file:
                return int((file.read().split() or ["0"])[0])
        except FileNotFoundError:
            return 0

    def has_open(self, pid: int, name: str) -> bool:
        folder = f"/proc/{pid}/fd"
        try:
            return any(os.readlink(f"{folder}/{fd}").endswith(name) for fd in os.listdir(folder))
        except FileNotFoundError:
            return False

    def test_interrupted(self):
        self.interrupt_blocked_up(signal.SIGINT, 130)

    def test_terminated(self):
        self.interrupt_blocked_up(signal.SIGTERM, 143)


if __name__ == "__main__":
    unittest.main()
