# SPDX-License-Identifier: Apache-2.0
"""The orchestrator as a process: in the background with its log, in the foreground under systemd or
in a container, its signals and its end."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest

from holt_case import BINARY, PATIENCE, SANITIZED, is_alive, state_of
from instance_case import InstanceCase
from servers import Redis


def ids(pid: int) -> tuple[int, int, int]:
    """Its parent, its group and its session."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1]), int(fields[2]), int(fields[3])


def open_files(pid: int) -> dict[int, str]:
    folder = f"/proc/{pid}/fd"
    return {int(fd): os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)}


class BackgroundTest(InstanceCase):
    def test_it_is_on_its_own(self):
        ours, theirs = os.pipe()
        self.addCleanup(os.close, ours)
        started = subprocess.Popen([BINARY, "up", "--name", "web"], env=self.env, text=True,
                                   cwd=self.workspace("one"), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   pass_fds=[theirs], start_new_session=True)
        os.close(theirs)
        # Its streams have an end: nobody else has them.
        told, troubles = started.communicate(timeout=PATIENCE)
        self.assertEqual((started.returncode, troubles), (0, ""))
        self.assertEqual(told.splitlines()[0], "Started instance: web")
        self.assertEqual(os.read(ours, 1), b"")
        pid = self.pid_of("web")
        parent, group, session = ids(pid)
        self.assertNotEqual(parent, started.pid)
        self.assertEqual((group, session), (pid, pid))
        self.assertIn(state_of(pid), "SR")
        self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), str(self.workspace("one")))
        files = open_files(pid)
        log = str(self.log_of("web"))
        self.assertEqual([files[0], files[1], files[2]], ["/dev/null", log, log])
        self.assertFalse([file for file in files.values() if file.startswith("pipe:")])
        self.down()
        self.wait_until_gone(pid)

    def test_log(self):
        self.up("--name", "web")
        log = self.log_of("web")
        self.assertEqual(log.stat().st_mode & 0o777, 0o600)
        self.assertEqual(log.parent.stat().st_mode & 0o777, 0o700)
        leads = re.compile(r"^\S+Z info leading instance=web fence=\d{19}\n", re.MULTILINE)
        self.wait_for(lambda: leads.search(log.read_text()), "its first word")
        pid = self.pid_of("web")
        self.down("--reason", "no longer needed")
        self.wait_until_gone(pid)
        self.assertIn('stopped instance=web reason="no longer needed"\n', log.read_text())
        before = log.read_text()
        self.up("--name", "web", env={"HOLT_LOG_FORMAT": "json"})
        self.wait_for(lambda: '"event":"leading"' in log.read_text(), "its first word in JSON")
        for line in log.read_text().removeprefix(before).splitlines():
            self.assertIn("event", json.loads(line))
        self.down()

    def test_logs_rotate(self):
        self.up("--name", "web", "--ttl", "1s", "--heartbeat", "50ms", "--log-size", "2000",
                env={"HOLT_LOG_LEVEL": "debug"})
        log = self.log_of("web")
        pid = self.pid_of("web")
        old = [log.with_name("web.1.log"), log.with_name("web.2.log")]
        self.wait_for(lambda: all(file.exists() for file in old), "two old logs")
        first = old[1].read_text()
        self.wait_for(lambda: old[1].read_text() not in ("", first), "another rotation")
        self.assertFalse(log.with_name("web.3.log").exists())
        # What it says on stderr is not lost in an old file.
        self.wait_for(lambda: open_files(pid)[2] == str(log), "its stderr to have moved")
        for file in old:
            self.assertLess(file.stat().st_size, 3000)
            self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.down()

    def test_replicas_of_a_host_have_logs_of_their_own(self):
        first = self.up("--name", "web", "--join")
        second = self.up("--name", "web", "--join", at="two")
        self.assertIn(f"Log: {self.log_of('web')}\n", first.stdout)
        self.assertIn(f"Log: {self.log_of('web@2')}\n", second.stdout)
        self.wait_for(lambda: " info following " in self.log_of("web@2").read_text(), "its word")
        self.down("--name", "web")

    def test_one_after_the_other_has_the_same_log(self):
        for _ in range(5):
            self.assertIn(f"Log: {self.log_of('web')}\n", self.up("--name", "web").stdout)
            self.down()

    def test_no_log(self):
        self.up("--name", "web", env={"HOLT_LOG_LEVEL": "off"})
        self.assertEqual(self.log_of("web").read_text(), "")
        self.down()

    def test_the_terminal_goes_away(self):
        session = self.script(
            f"import subprocess\nsubprocess.run([{BINARY!r}, 'up', '--name', 'web'], check=True)\n"
            "os.kill(0, signal.SIGHUP)\n")
        subprocess.run(session, env=self.env, cwd=self.workspace("one"), start_new_session=True,
                       stdout=subprocess.DEVNULL, timeout=PATIENCE, check=False)
        self.assertTrue(is_alive(self.pid_of("web")))
        self.assertEqual(self.instances()["web"]["status"], "running")
        self.down()

    def test_term_releases(self):
        self.up("--name", "web", "--ttl", "1h")
        pid = self.pid_of("web")
        os.kill(pid, signal.SIGTERM)
        self.wait_until_gone(pid)
        self.assertEqual(self.instances(), {})
        self.assertIn('stopped instance=web reason="signal TERM"', self.log_of("web").read_text())

    def test_a_pid_is_never_signalled(self):
        """A record may name a process that is somebody else's by now."""
        server = Redis(self)
        self.env["HOLT_STORE"] = server.url()
        self.up("--name", "web", "--ttl", "500ms")
        os.kill(self.pid_of("web"), signal.SIGKILL)
        self.wait_for_status("web", "stopped")
        other = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(self._stop, other)
        redis = ["redis-cli", "-p", str(server.port)]
        record = json.loads(subprocess.run([*redis, "HGET", "holt:instances", "web"], check=True,
                                           capture_output=True, timeout=30).stdout)
        record["orchestrator_pid"] = other.pid
        subprocess.run([*redis, "HSET", "holt:instances", "web", json.dumps(record)], check=True,
                       capture_output=True, timeout=30)
        self.assertEqual(self.instances()["web"]["pid"], other.pid)
        self.down("--name", "web", "--force")
        self.assertIsNone(other.poll())


class ForegroundTest(InstanceCase):
    def serve(self, *args, command: str = "serve", **options) -> subprocess.Popen:
        options = {"cwd": self.workspace("one"), "stdout": subprocess.PIPE} | options
        started = self.start(command, *args, **options)
        self.assertRegex(started.stdout.readline(), r"^Started instance: \S+\n$")
        return started

    def test_signals(self):
        for command in (("serve",), ("up", "--foreground")):
            for how, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
                with self.subTest(command=command, how=how):
                    started = self.serve(*command[1:], "--name", "web", command=command[0])
                    asked = time.monotonic()
                    started.send_signal(how)
                    _, told = self.finish(started, code)
                    self.assertLess(time.monotonic() - asked, 4 if SANITIZED else 1)
                    self.assertIn(f"signal {how.name[3:]}", told)
                    self.assertEqual(self.instances(), {})

    def test_a_store_that_hangs_does_not_hold_it_up(self):
        server = Redis(self)
        self.env["HOLT_STORE"] = server.url()
        started = self.serve("--name", "web")
        server.process.send_signal(signal.SIGSTOP)
        self.addCleanup(server.process.send_signal, signal.SIGCONT)
        asked = time.monotonic()
        started.send_signal(signal.SIGTERM)
        _, told = self.finish(started, 0)
        self.assertLess(time.monotonic() - asked, 4 if SANITIZED else 1)
        self.assertIn("the store was not reached", told)

    def test_the_name_is_lost_to_another_run(self):
        started = self.serve("--name", "web", "--ttl", "1s")
        started.send_signal(signal.SIGSTOP)
        self.wait_for(lambda: self.holt("up", "--name", "web", "--ttl", "1m",
                                        cwd=self.workspace("two")).returncode == 0,
                      "another to have the name")
        successor = self.instances()["web"]
        started.send_signal(signal.SIGCONT)
        _, told = self.finish(started, 123)
        self.assertIn(" info stopped instance=web reason=", told)
        self.assertEqual(self.instances()["web"]["run_id"], successor["run_id"])
        self.down("--name", "web")

    def test_somebody_says_down(self):
        started = self.serve("--name", "web")
        self.down("--name", "web", "--reason", "host is being replaced")
        _, told = self.finish(started, 0)
        self.assertIn("host is being replaced", told)

    def test_trouble_is_told(self):
        server = Redis(self)
        self.env["HOLT_STORE"] = server.url()
        started = self.serve("--name", "web", "--ttl", "1s", stderr=subprocess.PIPE)
        server.process.kill()
        server.process.wait()
        line = ""
        while " warn trouble instance=web" not in line:
            line = started.stderr.readline()
            self.assertNotEqual(line, "", "it has ended")
        started.send_signal(signal.SIGTERM)
        self.finish(started, 0)

    def check_notices(self, address: str):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(listener.close)
        listener.settimeout(PATIENCE)
        listener.bind(address.replace("@", "\0", 1))
        started = self.start("serve", "--name", "web", cwd=self.workspace("one"),
                             env={"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "200000"})
        heard: list[str] = []

        def hear_until(word: str, count: int = 1):
            while sum(word in one.splitlines() for one in heard) < count:
                heard.append(listener.recv(4096).decode())

        hear_until("READY=1")
        self.assertRegex(next(one for one in heard if "READY=1" in one),
                         r"(?m)^STATUS=(leading|following)")
        begun = time.monotonic()
        hear_until("WATCHDOG=1", 4)
        self.assertGreater(time.monotonic() - begun, 0.25)  # every 100 ms, not all the time
        started.send_signal(signal.SIGTERM)
        hear_until("STOPPING=1")
        self.finish(started, 0)

    def test_notices_by_path(self):
        self.check_notices(str(self.folder / "notify"))

    def test_notices_by_abstract_name(self):
        self.check_notices(f"@holt-e2e-{os.getpid()}-{threading.get_ident()}")

    def test_nobody_listens(self):
        for address in (str(self.folder / "nobody"), "nonsense", "/" + "x" * 200):
            with self.subTest(address=address):
                started = self.serve("--name", "web", env={"NOTIFY_SOCKET": address})
                started.send_signal(signal.SIGTERM)
                self.finish(started, 0)


class UnitTest(InstanceCase):
    def test_unit(self):
        """systemd knows its own language best, where it is installed."""
        unit = pathlib.Path(__file__).resolve().parents[2] / "deploy/systemd/holt@.service"
        text = unit.read_text()
        command = "ExecStart=holt serve --name %i --join\n"
        for line in (command, "Type=notify\n", "WatchdogSec=30s\n", "NoNewPrivileges=true\n",
                     "ProtectSystem=strict\n"):
            self.assertIn(line, text)
        if shutil.which("systemd-analyze"):
            copy = self.folder / "holt@web.service"
            copy.write_text(text.replace("=holt serve", f"={BINARY} serve"))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], text=True,
                                  capture_output=True, timeout=PATIENCE, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
