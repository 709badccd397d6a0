# SPDX-License-Identifier: Apache-2.0
"""holt work: a command for each task, what becomes of the task when it ends, or holt does; on every
store."""

import base64
import os
import pathlib
import resource
import shutil
import signal
import time
import unittest

from holt_case import BINARY, SANITIZED, is_alive
from queue_case import QueueCase
from servers import Postgres, Redis

FAST = ["--ttl", "1s", "--backoff", "1ms", "--again-after", "1ms"]
# Says who it is, and stays. $$ is the group's number as well.
STAY = "echo $$ >>{folder}/pids; sleep 600"
# Calls itself done when it is told to end, as many programs do that clean up.
CONTENT = "trap 'echo partial; exit 0' TERM; echo $$ >>{folder}/pids; sleep 600 & wait"


class Works:
    """The cases; what makes them tests is the store, below."""

    def pids(self, count: int) -> list[int]:
        path = self.folder / "pids"

        def enough():
            found = path.read_text().split() if path.exists() else []
            return found if len(found) >= count else None

        found = [int(pid) for pid in self.wait_for(enough, f"{count} commands")]
        self.strays += found
        return found

    def stay(self, *options, **more):
        return self.shell_worker(STAY.format(folder=self.folder), *FAST, *options, **more)

    def content(self, *options):
        return self.shell_worker(CONTENT.format(folder=self.folder), *FAST, *options)

    def wait_for_line(self, worker, what: str) -> str:
        """What it says up to the line with this text."""
        said = ""
        for line in worker.stderr:
            said += line
            if what in line:
                return said
        self.fail(said)

    def end(self, worker, how: int = signal.SIGTERM) -> str:
        worker.send_signal(how)
        return self.finish(worker, 0)[1]

    def test_payload_environment_and_result(self):
        payload = self.folder / "payload"
        payload.write_bytes(b"a\0b\xff\n")
        task = self.add(f"@{payload}", "--metadata", "m", "--timeout", "1h")
        worker = self.shell_worker("cat; env | grep '^HOLT_[TF]' | sort")
        found = self.wait_for_state(task, "completed")
        self.end(worker)
        result = base64.b64decode(found["result_base64"])
        self.assertEqual(result[:5], b"a\0b\xff\n")
        told = dict(line.split("=", 1) for line in result[5:].decode().splitlines())
        self.assertGreater(int(told.pop("HOLT_TASK_DEADLINE")), 1_600_000_000)
        self.assertEqual(told, {
            "HOLT_FENCE": found["fence"].lstrip("0"), "HOLT_TASK_ID": task,
            "HOLT_TASK_QUEUE": "jobs", "HOLT_TASK_KIND": "any", "HOLT_TASK_PRIORITY": "5",
            "HOLT_TASK_ATTEMPT": "1", "HOLT_TASK_MAX_ATTEMPTS": "3", "HOLT_TASK_METADATA": "m"})

    def test_exit_codes(self):
        tasks = {code: self.add(str(code)) for code in (0, 1, 65, 75)}
        worker = self.shell_worker(
            'read -r code; echo "bad $code" >&2; [ $code = 75 ] && '
            f"echo x >>{self.folder}/again && [ $(wc -l <{self.folder}/again) = 5 ] && exit 0; "
            "exit $code", *FAST)
        self.wait_for_state(tasks[0], "completed")
        failed = self.wait_for_state(tasks[1], "dead")
        self.assertEqual([e["error"] for e in failed["errors"]],
                         ["failed: exit code 1: bad 1"] * 3)
        rejected = self.wait_for_state(tasks[65], "dead")
        self.assertEqual(rejected["attempt"], 1)
        again = self.wait_for_state(tasks[75], "completed")
        self.assertEqual((again["attempt"], again["returns"]), (1, 4))
        said = self.end(worker)
        self.assertIn("bad 65\n", said)
        self.assertIn(f"holt: task {tasks[65]} failed: exit code 65\n", said)

    def test_cancel_of_a_running_task(self):
        task = self.add()
        worker = self.stay()
        pid = self.pids(1)[0]
        self.check(0, "queue", "cancel", task)
        self.wait_for_state(task, "cancelled")
        self.assertFalse(is_alive(pid))
        self.assertIn(f"task {task} was ended: it was cancelled", self.end(worker))

    def test_a_command_that_was_ended_has_not_done_its_task(self):
        stopped, late, cancelled = (
            self.add(), self.add("{}", "--timeout", "400ms", "--max-attempts", "1"), self.add())
        worker = self.content("--patience", "50ms", "--concurrency", "3")
        self.pids(3)
        self.assertIn("longer than 400ms", self.wait_for_state(late, "dead")["errors"][0]["error"])
        self.check(0, "queue", "cancel", cancelled)
        self.wait_for_state(cancelled, "cancelled")
        self.end(worker)
        found = self.task(stopped)
        self.assertEqual((found["state"], found["attempt"], found["result"]), ("pending", 0, ""))

    def test_a_killed_worker_takes_its_commands_along_and_others_do_the_task(self):
        task = self.add()
        first = self.stay()
        pid = self.pids(1)[0]
        first.kill()
        self.wait_until_gone(pid)
        second = self.shell_worker("echo $HOLT_TASK_ATTEMPT", *FAST)
        found = self.wait_for_state(task, "completed")
        self.assertEqual(found["result"], "2\n")
        self.end(second)

    def test_a_stopped_worker_has_no_command_when_the_task_goes_on(self):
        task = self.add()
        first = self.stay()
        pid = self.pids(1)[0]
        first.send_signal(signal.SIGSTOP)
        # Nobody reaps what the stopped one has left, so a dead one is a zombie.
        second = self.shell_worker(f"case $(cut -d' ' -f3 /proc/{pid}/stat) in "
                                   "Z | X | '') echo gone ;; *) echo alive ;; esac", *FAST)
        found = self.wait_for_state(task, "completed")
        self.assertEqual(found["result"], "gone\n")
        first.send_signal(signal.SIGCONT)
        self.end(second)
        said = self.wait_for_line(first, "its claim had ended, so this end does not count")
        self.assertRegex(said, rf"late .*reason=\"task {task[5:]}: |task {task} ended too late: ")
        self.end(first)
        self.assertEqual(self.task(task)["result"], "gone\n")

    def test_many_tasks_are_each_done_once(self):
        self.check(0, "queue", "add", "jobs", "--kind", "any", "--payload", "-",
                   input="".join(f"{n}\n" for n in range(60)))
        done = self.folder / "done"
        script = f'echo "$(cat)" >>{done}'
        workers = [self.shell_worker(script, "--concurrency", "3") for _ in range(2)]
        self.wait_for(lambda: len(self.listed("--state", "completed")) == 60, "all tasks")
        for worker in workers:
            self.end(worker)
        self.assertEqual(sorted(done.read_text().split(), key=int), [str(n) for n in range(60)])


class SqliteTest(Works, QueueCase):
    def test_a_timeout_is_a_failure(self):
        task = self.add("{}", "--timeout", "200ms", "--max-attempts", "1")
        worker = self.stay()
        found = self.wait_for_state(task, "dead")
        self.assertIn("it took longer than 200ms", found["errors"][0]["error"])
        self.end(worker)

    def test_too_large_a_result_is_a_failure(self):
        task = self.add("{}", "--max-attempts", "1")
        worker = self.shell_worker("head -c 1048577 /dev/zero")
        found = self.wait_for_state(task, "dead")
        self.assertIn("above 1 MiB", found["errors"][0]["error"])
        self.end(worker)

    def test_only_kinds_that_were_asked_for(self):
        other = self.add(kind="other")
        tasks = [self.add(kind=kind) for kind in ("one", "two")]
        worker = self.shell_worker("exit 0", "--kind", "one, two")
        for task in tasks:
            self.wait_for_state(task, "completed")
        self.end(worker)
        self.assertEqual(self.task(other)["state"], "pending")

    def test_variables_that_programs_with_workers_heed_too(self):
        self.env |= {"HOLT_QUEUE_WORKERS": "2", "HOLT_QUEUE_LOCK_DURATION": "1m30s",
                     "HOLT_QUEUE_POLL_INTERVAL": "20ms"}
        tasks = [self.add() for _ in range(3)]
        worker = self.shell_worker(STAY.format(folder=self.folder), "--patience", "0s")
        self.pids(2)
        states = {self.task(task)["state"] for task in tasks}
        self.assertEqual(states, {"running", "pending"})
        left = [found["expires_in_ms"] for task in tasks
                if (found := self.task(task))["state"] == "running"]
        self.assertEqual(len(left), 2)
        self.assertTrue(all(30_000 < ms <= 90_000 for ms in left), left)
        self.end(worker)
        for name, value in (("WORKERS", "0"), ("LOCK_DURATION", "10"), ("POLL_INTERVAL", "2h")):
            done = self.check(125, "work", "--queue", "jobs", "--", "true",
                              env={f"HOLT_QUEUE_{name}": value})
            self.assertIn(f"HOLT_QUEUE_{name}={value}", done.stderr)
        more = self.worker("true", env={"HOLT_WORK_CONCURRENCY": "3", "HOLT_QUEUE_WORKERS": "0"})
        for task in tasks:
            self.wait_for_state(task, "completed")
        self.end(more)

    def test_the_command_adds_to_the_same_store(self):
        store = f"sqlite:{self.folder}/other.db"
        self.check(0, "--store", store, "queue", "add", "--instance", "mine", "jobs", "--kind", "a")
        worker = self.shell_worker(f'{BINARY} queue add next --kind b', "--store", store,
                                   "--instance", "mine")
        listed = ["queue", "list", "next", "--store", store, "--instance", "mine", "-o", "name"]
        self.wait_for(lambda: self.check(0, *listed).stdout, "a task of the command's")
        self.end(worker)

    def test_a_deadline_does_not_lie_in_the_past(self):
        task = self.add("{}", "--timeout", "900ms")
        worker = self.shell_worker("echo $((HOLT_TASK_DEADLINE * 1000 - $(date +%s%3N)))")
        self.assertGreater(int(self.wait_for_state(task, "completed")["result"]), 0)
        self.end(worker)

    def test_term_lets_commands_finish(self):
        task = self.add()
        go = self.folder / "go"
        worker = self.shell_worker(f"echo $$ >{self.folder}/pids; "
                                   f"until [ -e {go} ]; do sleep 0.02; done; echo fine",
                                   "--patience", "60s", "--concurrency", "1")
        self.pids(1)
        waiting = self.add()
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.stderr.readline(),
                         "holt: waiting 1m at most for the command; once more to kill it\n")
        go.touch()
        self.finish(worker, 0)
        self.assertEqual(self.task(task)["result"], "fine\n")
        self.assertEqual(self.task(waiting)["attempt"], 0)

    def test_after_its_patience_commands_are_ended_at_no_cost(self):
        task = self.add()
        worker = self.stay("--patience", "50ms")
        pid = self.pids(1)[0]
        self.assertIn("was ended: holt work was told to stop", self.end(worker))
        self.assertFalse(is_alive(pid))
        found = self.task(task)
        self.assertEqual((found["state"], found["attempt"]), ("pending", 0))

    def test_a_command_that_ends_by_itself_while_others_are_stopped_counts(self):
        task = self.add()
        worker = self.content("--patience", "600s")
        pid = self.pids(1)[0]
        worker.send_signal(signal.SIGTERM)
        os.killpg(pid, signal.SIGTERM)  # not ours: it may well be done
        self.finish(worker, 0)
        self.assertEqual(self.task(task)["result"], "partial\n")

    def test_who_stops_all_of_a_service_costs_no_attempt(self):
        task = self.add()
        worker = self.stay("--patience", "600s")
        pid = self.pids(1)[0]
        worker.send_signal(signal.SIGTERM)  # systemd's order, and signals
        os.killpg(pid, signal.SIGTERM)
        self.finish(worker, 0)
        found = self.task(task)
        self.assertEqual((found["state"], found["attempt"]), ("pending", 0))

    def test_the_same_signal_twice_at_once_is_one_request(self):
        task = self.add()
        worker = self.shell_worker(f"echo $$ >{self.folder}/pids; sleep 1; echo fine",
                                   "--patience", "60s", "--ttl", "1m")
        self.pids(1)
        worker.send_signal(signal.SIGTERM)
        time.sleep(0.02)  # later than the first was read, sooner than a person
        worker.send_signal(signal.SIGTERM)
        self.finish(worker, 0)
        self.assertEqual(self.task(task)["result"], "fine\n")

    def test_a_second_signal_kills(self):
        self.add()
        worker = self.stay("--patience", "600s")
        pid = self.pids(1)[0]
        worker.send_signal(signal.SIGTERM)
        self.wait_for(lambda: worker.send_signal(signal.SIGINT) or worker.poll() is not None,
                      "the end")
        self.wait_until_gone(pid)

    def test_a_command_that_cannot_start_leaves_the_task_to_others(self):
        task = self.add()
        worker = self.worker("/no/such/command")
        said = self.finish(worker, 127)[1]
        self.assertIn("cannot run", said)
        self.assertEqual(self.task(task)["attempt"], 0)

    def test_a_command_that_is_not_there_is_noticed_before_there_are_tasks(self):
        (self.folder / "data").touch()
        for word, code in (("no-such-command", 127), ("/no/such/command", 127),
                           (str(self.folder / "data"), 126), (str(self.folder), 126)):
            with self.subTest(word):
                self.assertIn("cannot run", self.check(code, "work", "--queue", "jobs", "--",
                                                       word).stderr)

    def limited(self, soft: int, hard: int) -> dict:
        """Options for a process that may have so many files open."""
        return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))}

    def test_many_commands_need_no_ulimit_and_get_the_one_that_there_was(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        tasks = [self.add() for _ in range(100)]
        go = self.folder / "go"
        worker = self.shell_worker(
            f"echo $$ >>{self.folder}/pids; until [ -e {go} ]; do sleep 0.1; done; ulimit -n",
            "--concurrency", "100", **self.limited(256, hard))
        self.pids(100)
        go.touch()
        for task in tasks:
            self.assertEqual(self.wait_for_state(task, "completed")["result"], "256\n")
        self.end(worker)

    def test_more_commands_than_there_can_be_files_are_refused(self):
        done = self.check(125, "work", "--queue", "jobs", "--concurrency", "300", "--", "true",
                          **self.limited(256, 512))
        self.assertIn("300 commands at a time need 1850 open files", done.stderr)
        self.assertIn("Try: --concurrency 77 or less, or", done.stderr)

    @unittest.skipIf(SANITIZED, "a sanitizer needs descriptors for every exception")
    def test_without_descriptors_tasks_go_back_at_no_cost(self):
        task = self.add("{}", "--max-attempts", "1")
        other = self.add("{}", "--delay", "1s", "--max-attempts", "1")
        worker = self.shell_worker("echo done; sleep 0.2", *FAST)
        self.wait_for_state(task, "completed")
        # Four are free: enough for the store, and fewer than a command takes.
        used = {int(fd) for fd in os.listdir(f"/proc/{worker.pid}/fd")}
        few = next(n for n in range(1000) if n - len({fd for fd in used if fd < n}) == 4)
        limit = resource.prlimit(worker.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, (few, limit))
        found = self.wait_for(lambda: (found := self.task(other))["returns"] > 1 and found,
                              "the task to go back")
        self.assertEqual((found["attempt"], found["errors"]), (0, []))
        resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, (limit, limit))
        self.wait_for_state(other, "completed")
        self.assertEqual(self.end(worker).count("Too many open files"), 1)

    def test_a_program_that_is_being_written_costs_no_attempt(self):
        tool = pathlib.Path(shutil.copy("/bin/true", self.folder / "tool"))
        task = self.add("{}", "--max-attempts", "1")
        with tool.open("ab"):
            worker = self.worker(str(tool), options=FAST)
            time.sleep(1)
            found = self.task(task)
            self.assertIn(found["state"], ("pending", "retrying"))
            self.assertEqual(found["attempt"], 0)
            self.assertIn(found["returns"], range(1, 10))  # at 0, 100, 300, 700, 1500 ms ...
        self.wait_for_state(task, "completed")
        self.assertEqual(self.end(worker).count("Text file busy"), 1)

    def test_mistakes(self):
        for words, complaint in [
            (["--queue", "jobs"], "the command to run is missing"),
            (["--", "true"], "--queue is missing"),
            (["--queue", "jobs", "--concurrency", "0", "--", "true"], "use 1 to 1000"),
            (["--queue", "no queue", "--", "true"], "queue"),
            (["--queue", "jobs", "--kind", "", "--", "true"], "has an empty kind in it"),
            (["--queue", "jobs", "--kind", "a,,b", "--", "true"], "has an empty kind in it"),
            (["--queue", "jobs", "--kind", ",".join(map(str, range(33))), "--", "true"],
             'cannot work on queue "jobs": a worker handles at most 32 kinds'),
            (["--queue", "jobs", "--ttl", "10ms", "--", "true"], "ttl"),
            (["--queue", "jobs", "--grace", "5s", "--", "true"], "more than a third"),
        ]:
            with self.subTest(words):
                done = self.check(125, "work", *words)
                self.assertIn(complaint, done.stderr)
                self.assertIn("\nTry: ", done.stderr)


class RedisTest(Works, QueueCase):
    def setUp(self):
        super().setUp()
        self.env["HOLT_STORE"] = Redis(self).url()


class PostgresTest(Works, QueueCase):
    def setUp(self):
        super().setUp()
        self.env["HOLT_STORE"] = Postgres(self).url()


if __name__ == "__main__":
    unittest.main()
