#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each example, run as its first lines say. The programs are in $HOLT_EXAMPLES."""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from holt_case import BINARY, PATIENCE, REPOSITORY, HoltCase  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["HOLT_EXAMPLES"])
SOURCES = REPOSITORY / "examples"
FEEDS = [f"feed-{number}" for number in range(8)]


class ExamplesTest(HoltCase):
    def run_one(self, *command, code=0) -> str:
        done = subprocess.run([str(word) for word in command], env=self.env, text=True,
                              capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_guarded_write(self):
        said = self.run_one(PROGRAMS / "guarded_write", self.folder)
        match = re.fullmatch(r"second: balance 20 with fence (\d+): written\n"
                             r"first : balance 10 with fence (\d+): refused\n", said)
        self.assertTrue(match, said)
        self.assertGreater(int(match[1]), int(match[2]))

    def start_singleton(self) -> subprocess.Popen:
        started = subprocess.Popen([PROGRAMS / "singleton", self.folder], env=self.env, text=True,
                                   stdout=subprocess.PIPE)
        self.addCleanup(self._stop, started)
        self.assertEqual(started.stdout.readline(), "waiting\n")
        return started

    def fence_of(self, started: subprocess.Popen) -> int:
        return int(re.fullmatch(r"in charge, fence (\d+)\n", started.stdout.readline())[1])

    def test_singleton_hands_over(self):
        first = self.start_singleton()
        fence = self.fence_of(first)
        second = self.start_singleton()
        first.send_signal(signal.SIGTERM)
        self.assertGreater(self.fence_of(second), fence)
        self.assertEqual(first.communicate(timeout=PATIENCE)[0], "stopped\n")
        self.assertEqual(first.returncode, 0)
        third = self.start_singleton()  # stops while it stands in line
        third.send_signal(signal.SIGINT)
        self.assertEqual(third.communicate(timeout=PATIENCE)[0], "stopped\n")
        second.send_signal(signal.SIGTERM)
        self.assertEqual(second.communicate(timeout=PATIENCE)[0], "stopped\n")

    # scheduler

    def start_scheduler(self, name: str) -> subprocess.Popen:
        self.env["HOLT_STORE"] = str(self.folder / "holt.db")
        started = subprocess.Popen([PROGRAMS / "scheduler", self.folder, name], env=self.env,
                                   text=True, stdout=subprocess.PIPE)
        self.addCleanup(self._stop, started)
        return started

    def said_by(self, started: subprocess.Popen, lines: int) -> set[str]:
        """What it says next; of two threads, so in no certain order."""
        return {started.stdout.readline() for _ in range(lines)}

    def term_in(self, lines: set[str]) -> int:
        found = re.search(r"^works in term (\d+)$", "".join(lines), re.M)
        self.assertTrue(found, lines)
        return int(found[1])

    def wait_for_candidates(self, count: int):
        def in_line():
            shown = self.holt("election", "show", "scheduler", "-o", "json")
            return shown.returncode == 0 and json.loads(shown.stdout)["candidates"] == count

        self.wait_for(in_line, f"{count} in line")

    def test_scheduler_hands_over(self):
        one = self.start_scheduler("one")
        first = self.term_in(self.said_by(one, 2))
        two = self.start_scheduler("two")
        self.assertEqual(self.said_by(two, 1), {"stands as two\n"})
        self.wait_for_candidates(1)
        self.check(0, "election", "resign", "scheduler")
        self.assertEqual(self.said_by(one, 1), {"has stopped its work\n"})
        second = self.term_in(self.said_by(two, 1))
        self.assertGreater(second, first)
        self.wait_for_candidates(1)
        two.terminate()
        third = self.term_in(self.said_by(one, 1))
        self.assertGreater(third, second)
        self.assertEqual(two.communicate(timeout=PATIENCE)[0], "has stopped its work\nstopped\n")
        one.send_signal(signal.SIGINT)
        self.assertEqual(one.communicate(timeout=PATIENCE)[0], "has stopped its work\nstopped\n")
        self.assertEqual((one.returncode, two.returncode), (0, 0))
        self.check(3, "election", "show", "scheduler")

    def test_scheduler_is_killed(self):
        one = self.start_scheduler("one")
        first = self.term_in(self.said_by(one, 2))
        two = self.start_scheduler("two")
        self.wait_for_candidates(1)
        one.kill()
        self.assertGreater(self.term_in(self.said_by(two, 2)), first)

    # feeds

    def start_feeds(self, node: str) -> subprocess.Popen:
        """A replica that fetches the feeds; what it says is in a file named after it."""
        self.env["HOLT_STORE"] = str(self.folder / "holt.db")
        with (self.folder / node).open("w") as said:
            started = subprocess.Popen([PROGRAMS / "feeds", self.folder, node, *FEEDS],
                                       env=self.env, text=True, stdout=said)
        self.addCleanup(self._stop, started)
        return started

    def fetched(self, node: str, after: int = 0) -> dict[str, int]:
        """What it has fetched, with the last fence, after so many lines."""
        lines = (self.folder / node).read_text().splitlines(keepends=True)[after:]
        found = [re.fullmatch(r"(\S+) fetched with fence (\d+)\n", line) for line in lines]
        return {match[1]: int(match[2]) for match in found if match}

    def feed_owners(self) -> dict[str, str]:
        shown = self.holt("poll", "show", "feeds", "-o", "json").stdout
        return {each["endpoint"]: each["node"] for each in json.loads(shown)}

    def test_feeds_are_shared(self):
        one = self.start_feeds("one")
        self.wait_for(lambda: set(self.fetched("one")) == set(FEEDS), "one to fetch all")
        two = self.start_feeds("two")
        self.wait_for(lambda: set(self.feed_owners().values()) == {"one", "two"}, "two to join")
        self.wait_for(lambda: self.fetched("two"), "two to fetch")
        lines = len((self.folder / "two").read_text().splitlines())
        before = self.fetched("one")
        one.terminate()
        self.assertEqual(one.wait(timeout=PATIENCE), 0)
        self.assertTrue((self.folder / "one").read_text().endswith("stopped\n"))
        after = self.wait_for(lambda: len(self.fetched("two", lines)) == len(FEEDS) and
                              self.fetched("two", lines), "two to fetch all")
        for feed, owner in self.feed_owners().items():
            self.assertEqual(owner, "two")
            self.assertGreaterEqual(after[feed], before[feed])
        two.send_signal(signal.SIGINT)
        self.assertEqual(two.wait(timeout=PATIENCE), 0)
        self.assertEqual(json.loads(self.holt("nodes", "-o", "json").stdout), [])

    def test_feeds_of_a_killed_replica(self):
        one = self.start_feeds("one")
        self.wait_for(lambda: set(self.fetched("one")) == set(FEEDS), "one to fetch all")
        one.kill()
        one.wait()
        self.start_feeds("two")
        self.wait_for(lambda: set(self.fetched("two")) == set(FEEDS), "two to fetch all")
        first, second = self.fetched("one"), self.fetched("two")
        for feed in FEEDS:
            self.assertGreater(second[feed], first[feed])

    # thumbnails, letters.sh

    def start_worker(self, *command) -> subprocess.Popen:
        self.env["HOLT_STORE"] = str(self.folder / "holt.db")
        started = subprocess.Popen([str(word) for word in command], env=self.env, text=True,
                                   stdout=subprocess.PIPE)
        self.addCleanup(self._stop, started)
        return started

    def test_thumbnails_are_made_though_a_worker_is_killed(self):
        first = self.start_worker(PROGRAMS / "thumbnails", self.folder, "work")
        self.assertEqual(first.stdout.readline(), "works\n")
        pictures = [f"{number}.png" for number in range(20)]
        adding = self.start_worker(PROGRAMS / "thumbnails", self.folder, "add", *pictures, "x")
        adding.stdout.readline()
        first.kill()
        second = self.start_worker(PROGRAMS / "thumbnails", self.folder, "work")
        said = adding.stdout.read().splitlines()  # communicate() forgets what is read already
        self.assertEqual(adding.wait(timeout=PATIENCE), 0)
        for picture, line in zip(pictures[1:], said):
            self.assertRegex(line, rf"^thumbnails/\d+ completed: small-{picture} with fence \d+$")
        self.assertRegex(said[-1], r"^thumbnails/\d+ dead: $")
        second.terminate()
        self.assertEqual(second.communicate(timeout=PATIENCE)[0], "works\nstopped\n")

    def test_letters(self):
        self.env["PATH"] = f"{pathlib.Path(BINARY).resolve().parent}:{self.env['PATH']}"
        worker = self.start_worker(SOURCES / "letters.sh", self.folder)
        add = ["queue", "add", "letters", "--kind", "letter", "--wait", "60s", "--payload"]
        self.assertEqual(self.check(0, *add, "ada").stdout, "Dear ada,\n")
        self.assertIn("it is dead", self.check(1, *add, "4711").stderr)
        worker.terminate()
        self.assertEqual(worker.wait(timeout=PATIENCE), 0)

    # job_service: each connection is one request

    def start_replica(self) -> tuple[subprocess.Popen, int]:
        """A replica on the test's folder, and its port. `holt` looks at its store from here on."""
        self.env["HOLT_STORE"] = str(self.folder / "holt.db")
        started = subprocess.Popen([PROGRAMS / "job_service", self.folder], env=self.env, text=True,
                                   stdout=subprocess.PIPE)
        self.addCleanup(self._stop, started)
        said = started.stdout.readline()
        return started, int(re.fullmatch(r"listening on (\d+)\n", said)[1])

    def ask(self, port: int, line: str):
        """Sends a request; the stream its answers come by."""
        client = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.addCleanup(client.close)
        client.sendall(f"{line}\n".encode())
        answers = client.makefile()
        self.addCleanup(answers.close)
        return client, answers

    def fence_in(self, answers, word: str) -> int:
        said = answers.readline()
        match = re.fullmatch(rf"{word}, fence (\d+)\n", said)
        self.assertTrue(match, said)
        return int(match[1])


    def last_writes(self) -> list[tuple[str, int, int]]:
        with contextlib.closing(sqlite3.connect(self.folder / "ledger.db")) as ledger:
            return ledger.execute("SELECT name, step, fence FROM job").fetchall()

    def test_job_service_does_a_job_on_one_replica_at_a_time(self):
        (one, one_port), (two, two_port) = self.start_replica(), self.start_replica()
        owner = self.take("job/report", "--ttl", "1m")  # so that both are in line, in this order
        _, first = self.ask(one_port, "report 10")
        self.wait_until_waiting("job/report", 1)
        _, second = self.ask(two_port, "report 3")
        self.wait_until_waiting("job/report", 2)
        _, other = self.ask(two_port, "other 1")  # another job, done meanwhile
        self.assertEqual(self.fence_in(other, "started"), self.fence_in(other, "done"))
        self.check(0, "lock", "release", "job/report", "--owner", owner)
        fence = self.fence_in(first, "started")
        self.assertEqual(self.fence_in(first, "done"), fence)
        later = self.fence_in(second, "started")
        self.assertGreater(later, fence)
        self.assertEqual(self.fence_in(second, "done"), later)
        self.assertIn(("report", 3, later), self.last_writes())
        self.assertEqual(self.ask(one_port, "re'port 1")[1].readline(),
                         "a request is: JOB STEPS, the job in a-z\n")
        for replica in (one, two):
            replica.terminate()
            self.assertEqual(replica.communicate(timeout=PATIENCE)[0], "stopped\n")
            self.assertEqual(replica.returncode, 0)

    def test_job_service_client_goes_away(self):
        _, port = self.start_replica()
        holder, first = self.ask(port, "report 100000")
        self.fence_in(first, "started")
        waiter, _ = self.ask(port, "report 1")
        self.wait_until_waiting("job/report", 1)
        waiter.shutdown(socket.SHUT_RDWR)  # leaves the line
        self.wait_until_waiting("job/report", 0)
        _, third = self.ask(port, "report 1")
        self.wait_until_waiting("job/report", 1)
        holder.shutdown(socket.SHUT_RDWR)  # leaves the lock
        self.assertEqual(self.fence_in(third, "started"), self.fence_in(third, "done"))

    def test_job_service_replica_is_killed(self):
        (one, one_port), (_, two_port) = self.start_replica(), self.start_replica()
        _, first = self.ask(one_port, "report 100000")
        fence = self.fence_in(first, "started")
        _, second = self.ask(two_port, "report 2")
        self.wait_until_waiting("job/report", 1)
        one.kill()
        later = self.fence_in(second, "started")
        self.assertGreater(later, fence)
        self.fence_in(second, "done")
        self.assertEqual(self.last_writes(), [("report", 2, later)])

    def test_job_service_stops_in_the_middle_of_work(self):
        replica, port = self.start_replica()
        _, working = self.ask(port, "report 100000")
        self.fence_in(working, "started")
        _, waiting = self.ask(port, "report 1")
        self.wait_until_waiting("job/report", 1)
        replica.terminate()
        for answers in (working, waiting):
            self.assertEqual(answers.readline(), "stopped\n")
        self.assertEqual(replica.communicate(timeout=PATIENCE)[0], "stopped\n")
        self.assertEqual(replica.returncode, 0)
        self.assertEqual(self.check(0, "lock", "list", "-o", "name").stdout, "")

    def test_nightly(self):
        path = pathlib.Path(BINARY).parent
        self.env["PATH"] = f"{path}:{self.env['PATH']}"
        target = self.folder / "backups"
        target.mkdir()
        said = self.run_one(SOURCES / "nightly.sh", target)
        self.assertEqual(said, f"backup done under fence {(target / 'fence').read_text()}")
        self.take("nightly")  # somebody else is at it
        self.run_one(SOURCES / "nightly.sh", target, code=124)
        self.assertTrue((target / "backup").exists())

    def test_every_example_is_in_the_list(self):
        listed = set(re.findall(r"^\| \[(\S+)\]", (SOURCES / "README.md").read_text(), re.M))
        there = {file.name for file in SOURCES.iterdir() if file.suffix in (".cpp", ".sh")}
        self.assertEqual(listed, there)


if __name__ == "__main__":
    unittest.main()
