# SPDX-License-Identifier: Apache-2.0
"""What the tests of holt queue and holt work share: tasks of the queue "jobs"."""

import json
import subprocess

from holt_case import HoltCase


class QueueCase(HoltCase):
    def add(self, payload: str = "{}", *options, kind: str = "any") -> str:
        """Adds a task; its id."""
        return self.check(0, "queue", "add", "jobs", "--kind", kind, "--payload", payload,
                          *options).stdout.strip()

    def task(self, task: str) -> dict:
        return json.loads(self.check(0, "queue", "show", task, "-o", "json").stdout)

    def listed(self, *options) -> list[dict]:
        return json.loads(self.check(0, "queue", "list", "jobs", "-o", "json", *options).stdout)

    def wait_for_state(self, task: str, state: str) -> dict:
        def reached():
            found = self.task(task)
            return found if found["state"] == state else None

        return self.wait_for(reached, f"{task} to be {state}")

    def worker(self, *words, options=(), **more) -> subprocess.Popen:
        """A worker of the queue whose command is `words`."""
        return self.start("work", "--queue", "jobs", *options, "--", *words, **more)

    def shell_worker(self, script: str, *options, **more) -> subprocess.Popen:
        return self.worker("sh", "-c", script, options=options, **more)
