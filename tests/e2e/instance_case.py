# SPDX-License-Identifier: Apache-2.0
"""What tests of holt up, down, list and serve share: folders to be workspaces, and orchestrators
that do not outlive the test."""

import contextlib
import json
import os
import pathlib
import re
import subprocess

from holt_case import HoltCase


class InstanceCase(HoltCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(self._stray_orchestrators)

    def workspace(self, name: str) -> pathlib.Path:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder.resolve()

    def up(self, *args, at: str = "one", code: int = 0, **options) -> subprocess.CompletedProcess:
        """holt up in a folder of this name."""
        return self.check(code, "up", *args, cwd=self.workspace(at), **options)

    def up_as(self, *args, at: str = "one") -> str:
        """The same, and the name it got."""
        first = self.up(*args, at=at).stdout.splitlines()[0]
        return re.fullmatch(r"Started instance: (\S+)", first)[1]

    def down(self, *args, at: str = "one", code: int = 0, **options):
        return self.check(code, "down", *args, cwd=self.workspace(at), **options)

    def instances(self) -> dict[str, dict]:
        shown = self.check(0, "list", "-o", "json")
        return {instance["name"]: instance for instance in json.loads(shown.stdout)}

    def pid_of(self, name: str) -> int:
        pid = self.instances()[name]["pid"]
        self.strays.append(pid)
        return pid

    def log_of(self, name: str) -> pathlib.Path:
        return self.folder / "state/holt/log" / f"{name}.log"

    def wait_for_status(self, name: str, status: str):
        self.wait_for(lambda: self.instances().get(name, {}).get("status") == status,
                      f"{name} to be {status}")

    def _stray_orchestrators(self):
        """Those that a test that failed has left: they work in its folders."""
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.folder.resolve() in pathlib.Path(os.readlink(process / "cwd")).parents:
                    self.strays.append(int(process.name))
