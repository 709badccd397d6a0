#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark programs of a build folder, several times over, and writes docs/benchmarks.md.

Usage: bench.py BUILD_FOLDER [--rounds N] [--output FILE]
A program prints Markdown: a heading, a paragraph, a table of (what, figure, target). Of each figure
the median of all rounds is shown, and the least and the greatest beside it.
"""

import argparse
import datetime
import os
import pathlib
import re
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "x": 1.0, "%": 1.0, "": 1.0}

INTRODUCTION = """# Benchmarks

Written by `make bench`. Each figure is taken next to its peer or its raw limit in the same run:
ratios say more than times, which are those of one machine. {shown} Targets are
goals of the project, met or not.

**{date}** · {system} · {compiler}, SQLite {sqlite} · store on {filesystem} · load average {load} at
the start
"""


def said(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else "unknown"


def settings(folder: pathlib.Path, rounds: int) -> str:
    kernel = first(r"^(\d+\.\d+)", os.uname().release)
    release = first(r'PRETTY_NAME="([^"]+)"', pathlib.Path("/etc/os-release").read_text())
    return INTRODUCTION.format(
        shown=("One round was run." if rounds == 1 else
               f"Of {rounds} rounds the median is shown, with the least and the greatest in "
               "brackets."),
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        system=f"{release}, Linux {kernel}, {os.cpu_count()} cores",
        compiler="g++ " + said("g++", "-dumpfullversion") + " -O2",
        sqlite=said("pkg-config", "--modversion", "sqlite3"),
        filesystem=said("stat", "-f", "-c", "%T", str(folder)),
        load=f"{os.getloadavg()[0]:.1f}")


def value(figure: str) -> float:
    found = re.fullmatch(r"(-?[\d.,]+)\s*(\S*)", figure)
    return float(found[1].replace(",", "")) * UNITS[found[2]] if found else 0.0


def run(program: pathlib.Path, folder: pathlib.Path) -> str:
    env = dict(os.environ, HOLT_BINARY=str(folder / "holt"))
    done = subprocess.run([program], cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: {program.name} failed with status {done.returncode}")
    print(done.stdout, end="", flush=True)
    return done.stdout


def is_row(line: str) -> bool:
    return line.startswith("| ") and not line.startswith(("| ---", "| what |"))


def merge(outputs: list[str]) -> str:
    """The first output with each figure replaced by the median of all."""
    rows = [[line for line in output.splitlines() if is_row(line)] for output in outputs]
    merged = iter(zip(*rows, strict=True))
    return "\n".join(merged_row(next(merged)) if is_row(line) else line
                     for line in outputs[0].splitlines())


def merged_row(lines: tuple[str, ...]) -> str:
    what, _, target = (cell.strip() for cell in lines[0].strip("|\n").split("|"))
    figures = sorted((line.split("|")[2].strip() for line in lines), key=value)
    median = figures[len(figures) // 2]
    spread = f" ({figures[0]} to {figures[-1]})" if figures[0] != figures[-1] else ""
    return f"| {what} | **{median}**{spread} | {target} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=pathlib.Path, default=REPOSITORY / "docs/benchmarks.md")
    given = parser.parse_args()
    folder = given.folder.resolve()
    programs = sorted(folder.glob("*_bench"))
    if not programs:
        sys.exit(f"bench: there is no *_bench in {folder}; make bench builds them")
    text = settings(folder, given.rounds)
    outputs: dict[pathlib.Path, list[str]] = {program: [] for program in programs}
    for number in range(1, given.rounds + 1):
        for program in programs:
            print(f"==> {program.name}, round {number} of {given.rounds}", flush=True)
            outputs[program].append(run(program, folder))
    text += "".join(merge(of_one) + "\n" for of_one in outputs.values())
    given.output.write_text(text)
    print(f"==> wrote {given.output}")


if __name__ == "__main__":
    main()
