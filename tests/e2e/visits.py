# SPDX-License-Identifier: Apache-2.0
"""What the polled side sees of `holt poll`: a command that notes each visit's start and end, one
visit after the other, and says so when an earlier visit of the same endpoint is still alive."""

import pathlib
import signal
import subprocess
from typing import NamedTuple

from holt_case import HoltCase

# Arguments: the log, the endpoint, how long to stay.
VISIT = """
import fcntl

path, endpoint, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])

def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False

def note(what, file):
    print(what, endpoint, os.environ["HOLT_FENCE"], os.getpid(), os.environ["HOLT_NODE"],
          file=file, flush=True)

with open(path, "a+") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    file.seek(0)
    inside = set()
    for line in file:
        what, whose, _, pid, _ = line.split()
        if whose == endpoint:
            (inside.discard if what == "end" else inside.add)(pid)
    note("double" if any(map(is_alive, inside)) else "start", file)
time.sleep(seconds)
with open(path, "a") as file:
    note("end", file)
"""


class Visit(NamedTuple):
    what: str
    endpoint: str
    fence: int
    pid: int
    node: str


class VisitCase(HoltCase):
    def setUp(self):
        super().setUp()
        self.log = self.folder / "visits"
        self.visit = self.script(VISIT, "visit.py")

    def listed(self, *endpoints: str) -> str:
        """A file with these endpoints."""
        path = self.folder / "endpoints"
        path.write_text("".join(f"{endpoint}\n" for endpoint in endpoints))
        return str(path)

    def node(self, name: str, *options, stay: float = 0, **more) -> subprocess.Popen:
        """A node of the polling "job", which visits the endpoints that are listed."""
        return self.start("poll", "job", "--node", name, "--endpoints",
                          str(self.folder / "endpoints"), *options, "--", *self.visit,
                          str(self.log), "{}", str(stay), **more)

    def visits(self) -> list[Visit]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [Visit(what, endpoint, int(fence), int(pid), node)
                for what, endpoint, fence, pid, node in map(str.split, lines)]

    def started(self, **wanted) -> list[Visit]:
        """The visits that began, of a node or an endpoint."""
        found = [visit for visit in self.visits() if visit.what != "end"]
        self.strays.extend({visit.pid for visit in found if pathlib.Path(
            f"/proc/{visit.pid}/cmdline").exists()} - set(self.strays))
        return [visit for visit in found
                if all(getattr(visit, key) == value for key, value in wanted.items())]

    def wait_for_visits(self, endpoints, after: int = 0, **wanted):
        """Until each of them is visited, after so many lines of the log."""
        def all_of_them():
            seen = {visit.endpoint for visit in self.visits()[after:]
                    if visit.what != "end"
                    and all(getattr(visit, key) == value for key, value in wanted.items())}
            return set(endpoints) <= seen

        self.wait_for(all_of_them, f"visits of {sorted(endpoints)}")

    def check_visits(self):
        """Nobody came while somebody was there, and no fence went down."""
        fences: dict[str, int] = {}
        for visit in self.visits():
            self.assertNotEqual(visit.what, "double", visit)
            if visit.what == "start":
                self.assertGreaterEqual(visit.fence, fences.get(visit.endpoint, 0), visit)
                fences[visit.endpoint] = visit.fence

    def end(self, node: subprocess.Popen, how: int = signal.SIGTERM) -> str:
        """What it said, once it has ended as it should."""
        node.send_signal(how)
        return self.finish(node, 0)[1]

    def _stop_strays(self):
        # A pid of the log may be somebody else's by now: only what still runs the visit is ended.
        ours = str(self.folder).encode()
        self.strays = [pid for pid in self.strays if ours in _command_line(pid)]
        super()._stop_strays()


def _command_line(pid: int) -> bytes:
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
