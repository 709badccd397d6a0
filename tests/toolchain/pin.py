#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles one await shape with each compiler under ASan and UBSan, runs it, and compares.

Usage: pin.py SOURCE COMPILER...
A source with the line "// Bad with: g++ 12" must misbehave there (wrong result, crash, sanitizer
report, or no compilation): that is the proof of a house rule. With any other compiler, and for a
source without the line, it must behave. A g++ that nobody pinned only gives a note, so that a
newer one does not break the build but says which rule it could retire.
"""

import os
import re
import subprocess
import sys
import tempfile

INCLUDE = os.path.join(os.path.dirname(__file__), "../../include")
FLAGS = ["-std=c++23", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-w",
         "-I", INCLUDE]
PINNED_GCC = {12}


def gcc_version(compiler: str) -> int | None:
    """The major version if it is g++, None if it is not."""
    told = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    match = re.match(r"\S*g\+\+\S* .*?(\d+)\.\d+\.\d+", told.stdout)
    match = None if "clang" in told.stdout else match
    return int(match[1]) if match else None


def behaves(source: str, compiler: str) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "shape")
        command = [compiler, *FLAGS, source, "-o", program]
        built = subprocess.run(command, capture_output=True, text=True)
        if built.returncode != 0:
            return False, "does not compile: " + first_line(built.stderr, "error")
        ran = subprocess.run([program], capture_output=True, text=True, timeout=60)
        if ran.returncode != 0:
            what = first_line(ran.stderr + ran.stdout, "ERROR|runtime error|wrong result")
            return False, f"exit {ran.returncode}: {what}"
        return True, "right"


def first_line(text: str, pattern: str) -> str:
    found = [line for line in text.splitlines() if re.search(pattern, line)]
    return (found or text.splitlines() or ["(no output)"])[0].strip()


def judge(source: str, compiler: str, bad_versions: set[int]) -> bool:
    version = gcc_version(compiler)
    good, what = behaves(source, compiler)
    print(f"{os.path.basename(source)} with {compiler}: {what}")
    if version is None or not bad_versions:
        return good
    if version not in PINNED_GCC | bad_versions:
        verdict = "behaves, the rule could be retired for it" if good else "misbehaves, pin it"
        print(f"note: g++ {version} is not pinned; here it {verdict}")
        return True
    return good == (version not in bad_versions)


def main() -> int:
    source, *compilers = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        pin = re.search(r"^// Bad with: g\+\+ ([\d, ]+)$", file.read(), re.MULTILINE)
    bad_versions = {int(v) for v in pin[1].split(",")} if pin else set()
    results = [judge(source, compiler, bad_versions) for compiler in compilers]
    if not all(results):
        print("FAILED: not what is pinned in the source")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
