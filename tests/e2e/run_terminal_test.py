# SPDX-License-Identifier: Apache-2.0
"""holt run in a terminal: an interactive shell with job control, and keys typed into it."""

import re
import unittest

from holt_case import BINARY, HoltCase, state_of
from screen import CTRL_C, Shell

CTRL_D = "\x04"
CTRL_Z = "\x1a"
PROMPT = "ready> "


class JobShell(Shell):
    """bash -i, whose jobs are commands of the test."""

    def __init__(self, case: HoltCase):
        super().__init__(case, ["bash", "--norc", "--noprofile", "--noediting", "-i"],
                         {"PS1": PROMPT, "TERM": "dumb", "HISTFILE": "", "holt": BINARY})
        self.expect(PROMPT)

    def run(self, line: str):
        """Types a line and skips its echo."""
        self.type(line + "\n")
        self.expect(re.escape(line) + "\r\n")

    def expect_status(self, status: int):
        self.expect(re.escape(PROMPT))
        self.run("echo status=$?")
        self.expect(f"status={status}\r\n" + re.escape(PROMPT))


class RunTerminalTest(HoltCase):
    def setUp(self):
        super().setUp()
        self.shell = JobShell(self)

    def wait_for_state(self, pid: int, states: str):
        self.wait_for(lambda: state_of(pid) in set(states), f"{pid} to be in state {states}")

    def shell_says_stopped(self) -> bool:
        self.shell.run("jobs")
        return self.shell.expect("Running|Stopped")[0] == "Stopped"

    def assert_free(self):
        self.wait_for(lambda: self.holt("lock", "show", "x").returncode == 3, "the lock to be free")

    def test_the_child_reads_the_terminal(self):
        self.shell.run("$holt run --lock x -- cat")
        self.shell.type("hello\n")
        self.shell.expect("hello\r\nhello\r\n")  # the echo and cat's
        self.shell.type(CTRL_D)
        self.shell.expect_status(0)
        self.shell.run("echo mine again")
        self.shell.expect("mine again\r\n")

    def test_the_child_is_in_the_foreground(self):
        command = self.script("print('foreground', os.tcgetpgrp(0) == os.getpgrp())")
        self.shell.run("$holt run --lock x -- " + " ".join(command))
        self.shell.expect("foreground True\r\n")
        self.shell.expect_status(0)

    def test_ctrl_c_reaches_the_child(self):
        command = self.script(
            "def end(*_):\n"
            "    os.write(1, b'interrupted\\n')\n"
            "    sys.exit(9)\n"
            "signal.signal(signal.SIGINT, end)\n"
            "os.write(1, b'started\\n')\n"
            "while True: time.sleep(0.01)\n")
        self.shell.run("$holt run --lock x -- " + " ".join(command))
        self.shell.expect("started\r\n")
        self.shell.type(CTRL_C)
        self.shell.expect("interrupted\r\n")
        self.shell.expect_status(9)
        self.assert_free()

    def test_ctrl_c_ends_an_ordinary_child(self):
        self.shell.run("$holt run --lock x -- sh -c 'echo started; exec sleep 1000'")
        self.shell.expect("started\r\n")
        self.shell.type(CTRL_C)
        self.shell.expect_status(130)
        self.assert_free()

    def test_ctrl_c_ends_a_loop_in_the_shell(self):
        command = "$holt run --lock x -- sh -c 'echo started; exec sleep 99'"
        self.shell.run(f"while true; do {command}; done")
        self.shell.expect("started\r\n")
        self.shell.type(CTRL_C)
        self.shell.expect(re.escape(PROMPT))

    def test_ctrl_c_while_waiting(self):
        self.take("x", "--ttl", "1h", "--note", "the day shift")
        self.shell.run("$holt run --lock x -- true")
        self.shell.expect(r'waiting for lock "x" \(next in line\): held by "the day shift"')
        self.shell.type(CTRL_C)
        self.shell.expect_status(130)

    def test_ctrl_z_and_fg(self):
        pid = self.suspend()
        self.shell.run("fg")
        self.wait_for_state(pid, "RS")
        self.shell.type("still here\n")
        self.shell.expect("still here\r\nstill here\r\n")
        self.shell.type(CTRL_D)
        self.shell.expect_status(0)
        self.assert_free()

    def test_ctrl_z_twice(self):
        pid = self.suspend()
        self.shell.run("fg")
        self.wait_for_state(pid, "RS")
        self.shell.type(CTRL_Z)
        self.shell.expect("Stopped")
        self.wait_for_state(pid, "T")
        self.shell.run("fg")
        self.wait_for_state(pid, "RS")
        self.shell.type(CTRL_C)
        self.shell.expect_status(130)

    def test_suspended_past_the_end_of_the_lease(self):
        pid = self.suspend("--ttl 2s")
        self.wait_until_gone(pid)  # the watchdog, while the wrapper is stopped
        self.shell.run("fg")
        self.shell.expect("was lost before this process could act")
        self.shell.expect_status(123)

    def suspend(self, options: str = "") -> int:
        """Starts cat under the lock and presses Ctrl-Z; the pid of cat."""
        self.shell.run(f"$holt run --lock x {options} -- sh -c 'echo $$ > pid; exec cat'")
        pid = self.wait_for_pid(self.folder / "pid")
        self.wait_for_state(pid, "S")
        self.shell.type(CTRL_Z)
        self.shell.expect(r'holt: suspended: lock "x" is not renewed meanwhile, and the command is '
                          r"killed in \w+ unless it is resumed")
        self.shell.expect("Stopped")
        self.wait_for_state(pid, "T")
        return pid

    def test_in_the_background_it_stops_when_it_wants_the_terminal(self):
        self.shell.run("$holt run --lock x -- sh -c 'echo $$ > pid; exec cat' &")
        pid = self.wait_for_pid(self.folder / "pid")
        self.wait_for_state(pid, "T")
        self.wait_for(self.shell_says_stopped, "the shell to see it stopped")
        self.shell.run("fg")
        self.wait_for_state(pid, "RS")
        self.shell.type("to the front\n")
        self.shell.expect("to the front\r\nto the front\r\n")
        self.shell.type(CTRL_D)
        self.shell.expect_status(0)

    def test_a_pager_keeps_the_terminal(self):
        # stdout is a pipe: the terminal stays with the other end of it.
        pager = self.script(
            "data = sys.stdin.read()\n"
            "tty = open('/dev/tty')\n"
            "print('key?', flush=True)\n"
            "print('got', tty.readline().strip(), data.strip())\n", "pager.py")
        self.shell.run("$holt run --lock x -- echo text | " + " ".join(pager))
        self.shell.expect(r"key\?\r\n")
        self.shell.type("q\n")
        self.shell.expect("got q text\r\n")
        self.shell.expect_status(0)

    def test_a_child_in_a_pipe_may_still_ask_for_the_terminal(self):
        asking = self.script("print('answer', open('/dev/tty').readline().strip())")
        self.shell.run("echo | $holt run --lock x -- " + " ".join(asking) + " | cat")
        self.shell.type("42\n")
        self.shell.expect("answer 42\r\n")
        self.shell.expect_status(0)

    def test_a_script_is_suspended_as_a_whole(self):
        (self.folder / "script").write_text(
            "$holt run --lock x -- sh -c 'echo $$ > pid; exec cat'\necho script goes on\n")
        self.shell.run("sh ./script")
        pid = self.wait_for_pid(self.folder / "pid")
        self.wait_for_state(pid, "S")
        self.shell.type(CTRL_Z)
        self.shell.expect("Stopped")
        self.shell.run("fg")
        self.wait_for_state(pid, "RS")
        self.shell.type(CTRL_D)
        self.shell.expect("script goes on\r\n")
        self.shell.expect_status(0)

    def test_the_modes_of_the_terminal_are_restored_after_a_kill(self):
        command = self.script("import tty\ntty.setraw(0)\nprint('raw', flush=True)\n"
                              "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                              "while True: time.sleep(0.01)\n")
        self.shell.run("stty -a > before; $holt run --lock x --ttl 2s -- " + " ".join(command) +
                       "; stty -a > after")
        self.shell.expect("raw")
        self.check(0, "lock", "break", "x", "--reason", "test")
        self.wait_for_text(self.folder / "after")
        self.assertEqual((self.folder / "after").read_text(), (self.folder / "before").read_text())


if __name__ == "__main__":
    unittest.main()
