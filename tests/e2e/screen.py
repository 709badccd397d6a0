# SPDX-License-Identifier: Apache-2.0
"""Commands on a pseudo-terminal: what a person would see, and keys typed at it."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from holt_case import BINARY, PATIENCE, HoltCase

CTRL_C = "\x03"


class Terminal:
    """Our end of one: what was seen of it and not yet expected, and the keyboard."""

    def __init__(self, case: HoltCase, fd: int):
        self.case = case
        self.fd = fd
        self.seen = ""

    def type(self, keys: str):
        os.write(self.fd, keys.encode())

    def expect(self, pattern: str) -> re.Match:
        """Reads until the pattern has been seen; what came before it is forgotten."""
        end = time.monotonic() + PATIENCE
        while True:
            match = re.search(pattern, self.seen)
            if match:
                self.seen = self.seen[match.end():]
                return match
            if not self.read(max(0, end - time.monotonic())):
                self.case.fail(f"no {pattern!r} in {self.seen!r}")

    def read(self, seconds: float) -> bool:
        """What comes within this time. False: nothing came, or nothing will any more."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # nobody has the other end any more
            return False
        self.seen += data.decode(errors="replace")
        return bool(data)


class Shell(Terminal):
    """An interactive shell, or anything else, with a terminal of its own."""

    def __init__(self, case: HoltCase, words: list[str], env: dict):
        self.pid, fd = pty.fork()
        if self.pid == 0:
            os.chdir(case.folder)
            os.execvpe(words[0], words, case.env | env)
        super().__init__(case, fd)
        case.addCleanup(self.close)

    def close(self):
        os.close(self.fd)  # hangs up; then the shell ends, and its jobs
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Screen(Terminal):
    """The binary with a terminal of its own; `streams` of it are the terminal, others are pipes."""

    def __init__(self, case: HoltCase, *args, env=None, streams=("stdin", "stdout", "stderr"),
                 columns=100):
        ours, theirs = pty.openpty()
        super().__init__(case, ours)
        case.addCleanup(os.close, self.fd)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

        def own_terminal():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        pipes |= {stream: theirs for stream in streams}
        self.began = time.monotonic()
        self.process = subprocess.Popen([BINARY, *args], env=case.env | {"TERM": "xterm"} |
                                        (env or {}), preexec_fn=own_terminal, pass_fds=(theirs,),
                                        text=True, **pipes)
        os.close(theirs)
        case.addCleanup(case._stop, self.process)

    def end(self, code: int) -> str:
        """Waits for the end of the process; what was not yet expected of what it wrote."""
        while self.read(PATIENCE):
            pass
        self.case.assertEqual(self.process.wait(timeout=PATIENCE), code, self.seen)
        return self.seen.replace("\r\n", "\n")
