# SPDX-License-Identifier: Apache-2.0
"""holt run while all goes well: as people use flock."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import unittest

from holt_case import BINARY, PATIENCE, HoltCase, is_alive

FORWARDED = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGALRM",
             "SIGCONT", "SIGVTALRM", "SIGPROF", "SIGIO", "SIGPWR", "SIGURG", "SIGXCPU", "SIGTSTP",
             "SIGTTIN", "SIGTTOU", "SIGRTMIN", "SIGRTMAX"]


class RunTest(HoltCase):
    def run_under(self, lock: str, *command, **options):
        return self.holt("run", "--lock", lock, "--", *command, **options)

    # Status

    def test_the_status_is_the_childs(self):
        for status in (0, 1, 2, 42, 123, 124, 125, 126, 127, 128, 255):
            self.check(status, "run", "--lock", "x", "--", "sh", "-c", f"exit {status}")

    def test_a_child_that_dies_by_a_signal(self):
        for name in ("TERM", "KILL", "SEGV", "INT"):
            status = 128 + getattr(signal, f"SIG{name}")
            self.check(status, "run", "--lock", "x", "--", "sh", "-c", f"kill -{name} $$")

    def test_commands_that_cannot_run(self):
        script = self.folder / "not-executable"
        script.write_text("#!/bin/sh\n")
        broken = self.folder / "no-interpreter"
        broken.write_text("#!/does/not/exist\n")
        broken.chmod(0o755)
        self.assert_golden("run_cannot", self.transcript(
            ["run", "--lock", "x", "--", "no-such-command"],
            ["run", "--lock", "x", "--", "/no/such/file"],
            ["run", "--lock", "x", "--", str(script)],
            ["run", "--lock", "x", "--", str(self.folder)],
            ["run", "--lock", "x", "--", str(broken)]))
        self.assertEqual(self.check(0, "lock", "list", "-o", "name").stdout, "")

    def test_the_lock_is_free_afterwards_whatever_happened(self):
        for command in (["true"], ["false"], ["sh", "-c", "kill -9 $$"], ["no-such-command"]):
            self.run_under("x", *command)
            self.assertEqual(self.check(0, "lock", "list", "-o", "name").stdout, "", command)

    # What the child gets

    def test_the_words_reach_the_child_unchanged(self):
        words = ["a b", "", "*", "$HOME", "'", '"', "--lock", "--", "-o", "\n", "ü"]
        done = self.check(0, "run", "--lock", "x", "--", "printf", "%s\\0", *words)
        self.assertEqual(done.stdout.split("\0")[:-1], words)

    def test_the_marker_may_be_left_out(self):
        done = self.check(0, "run", "--lock", "x", "echo", "-n", "--lock", "--", "y")
        self.assertEqual(done.stdout, "--lock -- y")

    def test_the_environment(self):
        done = self.check(0, "run", "--lock", "a name", "--", "env",
                          env={"HOLT_FENCE": "old", "KEPT": "yes"})
        lines = done.stdout.splitlines()
        self.assertIn("HOLT_LOCK_NAME=a name", lines)
        self.assertIn("KEPT=yes", lines)
        fences = [line for line in lines if line.startswith("HOLT_FENCE=")]
        self.assertEqual(len(fences), 1)
        self.assertRegex(fences[0], r"^HOLT_FENCE=[1-9]\d*$")

    def test_the_fence_is_the_one_in_the_store_and_grows(self):
        fences = []
        for _ in range(5):
            shown = ["sh", "-c", '"$0" lock show x -o json && echo "$HOLT_FENCE"']
            done = self.check(0, "run", "--lock", "x", "--", *shown, BINARY)
            lease, fence = done.stdout.splitlines()
            self.assertEqual(int(json.loads(lease)["fence"]), int(fence))
            fences.append(int(fence))
        self.assertEqual(fences, sorted(set(fences)))

    def test_stdin_and_stdout_are_passed_on(self):
        data = "".join(f"line {i}\n" for i in range(20_000))
        self.assertEqual(self.check(0, "run", "--lock", "x", "--", "cat", input=data).stdout, data)

    def test_closed_streams_do_no_harm(self):
        for which in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            command = f'"$0" run --lock x -- sh -c "exit 7" {which}'
            done = subprocess.run(["sh", "-c", command, BINARY], env=self.env,
                                  timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 7, which)

    def test_no_descriptor_of_ours_reaches_the_child(self):
        listing = self.script("print(sorted(os.listdir('/proc/self/fd')))")
        alone = subprocess.run(listing, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(self.run_under("x", *listing).stdout, alone.stdout)

    def test_signals_are_as_they_were(self):
        status = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]

        def change():
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGINT])

        for before in (None, change):
            alone = subprocess.run(status, capture_output=True, text=True, preexec_fn=before)
            under = self.holt("run", "--lock", "x", "--", *status, preexec_fn=before)
            self.assertEqual(self.signal_sets(under.stdout), self.signal_sets(alone.stdout))

    @staticmethod
    def signal_sets(status):
        """Without 32 and 33: those belong to the C library, which sets them when threads start."""
        lines = (line.split(":") for line in status.splitlines())
        return {name: int(value, 16) & ~(3 << 31) for name, value in lines}

    def test_its_own_process_group(self):
        shown = self.script("print(os.getpgrp() == os.getpid(), os.getsid(0))")
        done = self.run_under("x", *shown)
        self.assertEqual(done.stdout, f"True {os.getsid(0)}\n")

    # Signals

    def test_every_signal_is_forwarded(self):
        listen = self.script(
            "say = lambda word: os.write(1, word.encode() + b'\\n')\n"
            "got = lambda number, frame: say(signal.Signals(number).name)\n"
            "for name in sys.argv[1:]: signal.signal(getattr(signal, name), got)\n"
            "say('ready')\n"
            "while True: time.sleep(0.01)\n")
        started = self.start("run", "--lock", "x", "--", *listen, *FORWARDED,
                             stdout=subprocess.PIPE)
        self.assertEqual(started.stdout.readline(), "ready\n")
        for name in FORWARDED:
            started.send_signal(getattr(signal, name))
            self.assertEqual(started.stdout.readline(), name + "\n")
        started.send_signal(signal.SIGABRT)  # a fault of our own: the watchdog kills the child
        self.assertEqual(started.wait(PATIENCE), -signal.SIGABRT)
        self.assertEqual(started.stdout.read(), "")

    def test_signals_reach_the_whole_group(self):
        command = self.script(
            "pid = os.fork()\n"
            "name = 'grandchild' if pid == 0 else 'child'\n"
            "def end(*_):\n"
            "    with open(name, 'w') as file: file.write('got it\\n')\n"
            "    os._exit(3)\n"
            "signal.signal(signal.SIGTERM, end)\n"
            "open(name + '.pid', 'w').write(f'{os.getpid()}\\n')\n"
            "while True: time.sleep(0.01)\n")
        started = self.start("run", "--lock", "x", "--", *command, cwd=self.folder)
        for name in ("child", "grandchild"):
            self.wait_for_pid(self.folder / f"{name}.pid")
        started.terminate()
        self.finish(started, 3)
        for name in ("child", "grandchild"):
            self.wait_for_text(self.folder / name)

    def test_sigterm_ends_it_with_the_childs_status(self):
        pid_file = self.folder / "pid"
        started = self.start("run", "--lock", "x", "--", "sh", "-c",
                             f"echo $$ > {pid_file}; exec sleep 1000")
        self.wait_for_pid(pid_file)
        started.terminate()
        self.finish(started, 143)
        self.assertEqual(self.check(0, "lock", "list", "-o", "name").stdout, "")

    # Waiting

    def test_no_wait(self):
        self.take("x", "--ttl", "1h", "--note", "me")
        marker = self.folder / "ran"
        done = self.check(124, "run", "--lock", "x", "--no-wait", "--", "touch", str(marker))
        self.assertRegex(done.stderr, r'^holt: lock "x" is not free: held by "me" '
                                      r"\(fence \d+, expires in .+\)\n")
        self.check(124, "run", "--lock", "x", "--wait", "0s", "--", "touch", str(marker))
        self.assertFalse(marker.exists())

    def test_wait_gives_up(self):
        self.take("x", "--ttl", "1h")
        done = self.check(124, "run", "--lock", "x", "--wait", "100ms", "--", "true")
        self.assertIn("was not free within 100ms", done.stderr)
        self.wait_until_waiting("x", 0)

    def test_it_waits_for_ever_by_default(self):
        owner = self.take("x", "--ttl", "1h")
        started = self.start("run", "--lock", "x", "--", "true")
        self.wait_until_waiting("x")
        self.check(0, "lock", "release", "x", "--owner", owner)
        self.finish(started, 0)

    def test_ctrl_c_while_waiting_leaves_the_line(self):
        self.take("x", "--ttl", "1h")
        for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            started = self.start("run", "--lock", "x", "--", "true")
            self.wait_until_waiting("x")
            started.send_signal(sent)
            self.finish(started, code)
            self.wait_until_waiting("x", 0)

    def test_killed_while_waiting_leaves_nothing_running(self):
        self.take("x", "--ttl", "1h")
        started = self.start("run", "--lock", "x", "--", "true")
        self.wait_until_waiting("x")
        watchdogs = self.children_of(started.pid)
        self.assertEqual(len(watchdogs), 1)
        started.kill()
        for pid in watchdogs:
            self.wait_until_gone(pid)

    @staticmethod
    def children_of(pid: int) -> list[int]:
        return [int(p) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
                for p in (task / "children").read_text().split()]

    # Holding

    def test_others_see_who_holds_it(self):
        started = self.start("run", "--lock", "x", "--", "sleep", "1000")
        show = ["lock", "show", "x", "-o", "json"]
        shown = self.wait_for(lambda: self.holt(*show).stdout, "the lock to be taken")
        self.assertEqual(json.loads(shown)["note"],
                         f"pid {started.pid} on {socket.gethostname()}: sleep")
        started.terminate()
        self.finish(started, 143)
        done = self.check(0, "run", "--lock", "x", "--note", "mine", "--",
                          BINARY, "lock", "show", "x")
        self.assertRegex(done.stdout, r"note +mine\n")

    def test_the_lease_is_renewed_while_it_runs(self):
        beats = self.folder / "beats"
        started = self.start("run", "--lock", "x", "--ttl", "1s", "--", "sh", "-c",
                             f"sleep 2.5; echo done > {beats}")
        self.wait_for(lambda: self.holt("lock", "show", "x").returncode == 0, "the lock")
        waiter = self.start("run", "--lock", "x", "--", "cat", str(beats), stdout=subprocess.PIPE)
        self.finish(started, 0)
        self.assertEqual(self.finish(waiter, 0)[0], "done\n")

    def test_only_one_at_a_time(self):
        counter = self.folder / "counter"
        counter.write_text("0\n")
        # Reads, pauses, writes: two at once would lose a count or meet in the room.
        inside = ("mkdir room || exit; read count < counter; sleep 0.002; "
                  'echo $((count + 1)) > counter; echo "$HOLT_FENCE" >> fences; rmdir room')
        loop = 'for i in 1 2 3 4 5; do "$0" run --lock x -- sh -c "$1" || exit; done'
        started = [subprocess.Popen(["sh", "-c", loop, BINARY, inside], env=self.env,
                                    cwd=self.folder) for _ in range(8)]
        self.assertEqual([p.wait(3 * PATIENCE) for p in started], [0] * 8)
        self.assertEqual(counter.read_text(), "40\n")
        fences = [int(f) for f in (self.folder / "fences").read_text().split()]
        self.assertEqual(fences, sorted(set(fences)))

    def test_what_the_child_leaves_behind_is_left_alone(self):
        pid_file = self.folder / "pid"
        self.check(0, "run", "--lock", "x", "--", "sh", "-c",
                   f"sleep 1000 > /dev/null 2>&1 & echo $! > {pid_file}")
        self.assertTrue(is_alive(self.wait_for_pid(pid_file)))

    def test_no_watchdog_stays_behind(self):
        started = self.start("run", "--lock", "x", "--", "sleep", "1000")
        self.wait_for(lambda: len(self.children_of(started.pid)) == 2, "watchdog and child")
        children = self.children_of(started.pid)
        started.terminate()
        self.finish(started, 143)
        self.assertEqual([is_alive(pid) for pid in children], [False, False])


if __name__ == "__main__":
    unittest.main()
