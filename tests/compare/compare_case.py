# SPDX-License-Identifier: Apache-2.0
"""What is done alike to every peer: commands that note what happens to them, and the judgement of
what was seen. A lock is always called "x" and lives for TTL seconds without renewal. Nothing sleeps
for a fixed time: what must happen is waited for, and what does not happen has a deadline."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from holt_case import REPOSITORY, HoltCase, is_alive  # noqa: E402

OBSERVED = HERE / "observed.json"
PAGE = REPOSITORY / "docs/comparison.md"
TTL = 3  # seconds; the least that every peer takes, and enough for a machine under load
LONG_ENOUGH = TTL + 2.5  # whoever has not acted by then does not

# `python command.py NAME`: notes its start in NAME.start, then the time in NAME, over and over.
# It notes TERM, INT, HUP and USR1 in NAME.signals and goes on; it ends when a file `stop` appears.
COMMAND = """
clock = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)
name = sys.argv[1]
def note(file, text):
    with open(f'{name}.{file}', 'a') as f: f.write(f'{text}\\n')
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
    signal.signal(number, lambda number, _: note('signals', signal.Signals(number).name))
out = os.open(name, os.O_WRONLY | os.O_CREAT)
os.pwrite(out, b'%d\\n' % clock(), 0)
note('environment', '\\n'.join(f'{k}={v}' for k, v in os.environ.items()))
note('start', f'{os.getpid()} {clock()}')
while not os.path.exists('stop'):
    os.pwrite(out, b'%d\\n' % clock(), 0)
    time.sleep(0.002)
"""


def boot_seconds() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def observed(peer: str, update: dict) -> dict:
    """What observed.json says of a peer. HOLT_UPDATE_GOLDEN=1 writes `update` into it first."""
    everything = json.loads(OBSERVED.read_text()) if OBSERVED.exists() else {}
    if os.environ.get("HOLT_UPDATE_GOLDEN"):
        everything[peer] = everything.get(peer, {}) | update
        OBSERVED.write_text(json.dumps(everything, indent=2, sort_keys=True) + "\n")
    return everything.get(peer, {})


class CompareCase(HoltCase):
    def setUp(self):
        super().setUp()
        self.env = {k: v for k, v in self.env.items() if not k.lower().endswith("_proxy")}
        self.command = self.script(COMMAND, "command.py")

    def popen(self, *words, **options) -> subprocess.Popen:
        """Starts a program in the test's folder; it is killed at the end of the test."""
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                 "stderr": subprocess.DEVNULL, "cwd": self.folder, "env": self.env, "text": True}
        started = subprocess.Popen([str(word) for word in words], **(quiet | options))
        self.addCleanup(self._stop, started)
        return started

    def becomes(self, condition, seconds: float) -> bool:
        """Whether it becomes true in so many seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.005)
        return bool(condition())

    def see(self, peer: str, version: str, facts: dict):
        """Compares facts with what the page was made from. The version is noted, not compared:
        what counts is that a newer one still does the same."""
        said = observed(peer, facts | {"version": version})
        self.assertEqual({fact: said.get(fact) for fact in facts}, facts,
                         f"{peer} {version} does not do what {OBSERVED.name} says. If that is so:"
                         " HOLT_UPDATE_GOLDEN=1, and read what becomes of docs/comparison.md")

    # The command, by the name it was given

    def started(self, name: str) -> bool:
        path = self.folder / f"{name}.start"
        return path.exists() and path.read_text().endswith("\n")

    def pid_of(self, name: str) -> int:
        self.wait_for(lambda: self.started(name), f"{name} to start")
        pid = int((self.folder / f"{name}.start").read_text().split()[0])
        self.strays.append(pid)
        return pid

    def start_of(self, name: str) -> float:
        return int((self.folder / f"{name}.start").read_text().split()[1]) / 1e9

    def last_beat(self, name: str) -> float:
        return int((self.folder / name).read_text().split()[0]) / 1e9

    def signals_of(self, name: str) -> list[str]:
        path = self.folder / f"{name}.signals"
        return path.read_text().split() if path.exists() else []

    def variable(self, name: str, variable: str) -> str:
        lines = (self.folder / f"{name}.environment").read_text().splitlines()
        return next((line.partition("=")[2] for line in lines if line.startswith(f"{variable}=")),
                    "")

    def overlap(self, first: str, pid: int, second: str) -> str:
        """Whether `first`, with this pid, was still at work when `second` had started."""
        self.becomes(lambda: not is_alive(pid) or self.last_beat(first) > self.start_of(second), 10)
        return "yes" if self.last_beat(first) > self.start_of(second) else "no"

    def kill(self, pid: int):
        os.kill(pid, signal.SIGKILL)
        self.wait_until_gone(pid)

    def let_all_end(self):
        (self.folder / "stop").touch()
