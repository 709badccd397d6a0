# SPDX-License-Identifier: Apache-2.0
"""What every end-to-end test stands on: the binary in $HOLT_BINARY, a store of its own, processes
that are stopped by pid, conditions that are waited for, and golden files.

HOLT_UPDATE_GOLDEN=1 writes the golden files instead of comparing with them.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("HOLT_BINARY", str(REPOSITORY / "build/holt"))
GOLDEN = REPOSITORY / "tests/e2e/golden"
SANITIZED = re.search(r"lib(a|t|ub)san", subprocess.run(["ldd", BINARY], capture_output=True,
                                                       text=True, check=True).stdout)
PATIENCE = 30  # seconds; a machine under load and a sanitizer need some
NOBODY = 65534
as_root = unittest.skipUnless(os.getuid() == 0, "must be root to become somebody else")

# What differs from run to run, and what stands for it in golden files.
CHANGING = [
    (r"\b\d+-[0-9a-f]{16}\.[\w-]{22}(?![\w-])", "OWNER"),
    (r'(?<="fence":")\d{19}', "FENCE19"),
    (r"\b\d{16}\b", "FENCE"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "TIME"),
    (r"pid \d+ on [^:]+:", "pid PID on HOST:"),
    (r"(?<=expires_in_ms\":)\d+", "MS"),
    (r"/\S+/holt/engines(, /\S+/holt/engines)*", "FOLDERS"),
    (r"\bin (\d+(d|h|ms|m|s))+\b", "in A WHILE"),
]


def boot_ns() -> int:
    """Holt's clock."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def is_alive(pid: int) -> bool:
    """False for a zombie: an orphan may stay one for a while."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def state_of(pid: int) -> str:
    """R, S, T and so on; empty when there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


class HoltCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holt-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.store = self.folder / "state" / "holt" / "holt.db"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("HOLT_")}
        self.env |= {"XDG_STATE_HOME": str(self.folder / "state"), "LC_ALL": "C.UTF-8",
                     "XDG_CONFIG_HOME": str(self.folder / "config"),
                     "HOLT_SYSTEM_CONFIG": "/dev/null"}
        self.strays: list[int] = []
        self.addCleanup(self._stop_strays)
        signal.signal(signal.SIGALRM, self._give_up)
        signal.alarm(4 * PATIENCE)  # nothing waits for ever, not even for a line of a pipe
        self.addCleanup(signal.alarm, 0)

    # Running it

    def holt(self, *args, env=None, **options) -> subprocess.CompletedProcess:
        """Runs it to its end, as text."""
        options = {"capture_output": True, "timeout": PATIENCE, "text": True} | options
        if not ({"stdin", "input"} & options.keys()):
            options["stdin"] = subprocess.DEVNULL
        return subprocess.run([BINARY, *args], env=self.env | (env or {}), **options)

    def check(self, code: int, *args, **options) -> subprocess.CompletedProcess:
        """The same, and it must end with this exit code."""
        done = self.holt(*args, **options)
        self.assertEqual(done.returncode, code, f"{args}\n{done.stdout}{done.stderr}")
        return done

    def by_nobody(self) -> dict:
        """Options for the above: a user who owns nothing runs it. A copy, since the build folder
        may be inside a home that is closed to others, like /root."""
        open_to_all = pathlib.Path(tempfile.mkdtemp(prefix="holt-e2e-"))
        self.addCleanup(shutil.rmtree, open_to_all, ignore_errors=True)
        open_to_all.chmod(0o755)
        return {"executable": shutil.copy(BINARY, open_to_all), "cwd": open_to_all,
                "user": NOBODY, "group": NOBODY, "extra_groups": []}

    def start(self, *args, env=None, **options) -> subprocess.Popen:
        """Starts it; it is killed at the end of the test."""
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        options = quiet | {"stderr": subprocess.PIPE, "text": True} | options
        started = subprocess.Popen([BINARY, *args], env=self.env | (env or {}), **options)
        self.addCleanup(self._stop, started)
        return started

    def finish(self, started: subprocess.Popen, code: int) -> tuple[str, str]:
        """Waits for its end, which must be with this exit code; what it wrote, if that was kept."""
        stdout, stderr = started.communicate(timeout=PATIENCE)
        self.assertEqual(started.returncode, code, stderr)
        return stdout, stderr

    def take(self, name: str, *args) -> str:
        """Takes a lock with `lock try`; the owner."""
        done = self.check(0, "lock", "try", name, *args)
        return re.search(r"^owner +(\S+)$", done.stdout, re.MULTILINE)[1]

    # Waiting

    def wait_for(self, condition, what: str):
        """The first result of `condition` that is true."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            result = condition()
            if result:
                return result
            time.sleep(0.005)
        self.fail(f"waited {PATIENCE} s for {what}")

    def wait_for_text(self, path: pathlib.Path) -> str:
        """What is in the file, once a whole line is."""

        def text():
            found = path.read_text() if path.exists() else ""
            return found if found.endswith("\n") else ""

        return self.wait_for(text, f"{path.name} to be written")

    def wait_for_pid(self, path: pathlib.Path) -> int:
        """The pid that a child wrote to the file; it is killed at the end of the test."""
        pid = int(self.wait_for_text(path))
        self.strays.append(pid)
        return pid

    def wait_until_gone(self, pid: int):
        self.wait_for(lambda: not is_alive(pid), f"process {pid} to be gone")

    def wait_until_waiting(self, name: str, count: int = 1):
        """Until so many stand in line for the lock."""

        def in_line():
            shown = self.holt("lock", "show", name).stdout
            return re.search(rf"^waiting +{count}$", shown, re.MULTILINE)

        self.wait_for(in_line, f"{count} to wait for {name}")

    # Making trouble

    @contextlib.contextmanager
    def blocked_store(self):
        """While it lasts nobody can write to the store."""
        with contextlib.closing(sqlite3.connect(self.store, isolation_level=None)) as store:
            store.execute("BEGIN IMMEDIATE")
            yield
            store.execute("ROLLBACK")

    def script(self, text: str, name: str = "child.py") -> list[str]:
        """A Python program for a child, as the words of a command."""
        path = self.folder / name
        path.write_text("import os, signal, sys, time\n" + text)
        return [sys.executable, "-I", "-S", str(path)]

    # Golden files

    def assert_golden(self, name: str, text: str, tables: bool = False):
        """Tables have columns as wide as what stands in them, which may be what changes."""
        text = text.replace(str(self.folder), "FOLDER")
        for pattern, stand_in in CHANGING:
            text = re.sub(pattern, stand_in, text)
        if tables:
            text = re.sub("  +", "  ", text)
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("HOLT_UPDATE_GOLDEN"):
            path.write_text(text)
        self.assertEqual(path.read_text() if path.exists() else "", text, f"see {path}")

    def transcript(self, *commands: list[str], **options) -> str:
        """Commands and what they answered, as one would see it in a terminal."""
        lines = []
        for command in commands:
            done = self.holt(*command, **options)
            shown = " ".join(word if re.fullmatch(r"[\w./:=-]+", word) else repr(word)
                             for word in command)
            lines.append(f"$ holt {shown}\n{done.stdout}{done.stderr}[{done.returncode}]\n")
        return "\n".join(lines)

    # Cleaning up

    def _give_up(self, *_):
        self.fail(f"not done after {4 * PATIENCE} s")

    def _stop(self, started: subprocess.Popen):
        if started.poll() is None:
            started.kill()
            started.wait()
        for stream in (started.stdin, started.stdout, started.stderr):
            if stream:
                stream.close()

    def _stop_strays(self):
        for pid in self.strays:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
