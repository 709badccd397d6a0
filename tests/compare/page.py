# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/comparison.md, made from observed.json (what was run) and read.json (what was
read in documentation and source, and is marked so)."""

import json
import re

from compare_case import HERE, OBSERVED

READ = "ʳ"  # after what was read, not run

# fact -> what a reader sees
COMMAND_ROWS = {
    "killed: command": "**The wrapper gets SIGKILL**: the command is",
    "killed: lock is free": "the lock is free",
    "killed: overlap": "two commands at once",
    "stopped: lock": "**The wrapper is stopped for longer than the ttl**: the lock",
    "stopped: overlap": "two commands at once",
    "stopped: command in the end": "the command, when the wrapper goes on",
    "stopped: status": "the wrapper's exit status",
    "away: command": "**The store is away for longer than the ttl**: the command",
    "away: overlap": "two commands at once, when it is back",
    "away: status": "the wrapper's exit status",
    "fence": "**Fence** for the command",
    "signal: TERM": "**Signals** to the wrapper: TERM",
    "signal: INT": "INT",
    "signal: HUP": "HUP",
    "status: 7": "**Exit status** when the command ends with 7",
    "status: killed": "when the command is killed by SIGKILL",
    "order": "**Those who wait** are served",
}
LIBRARY_ROWS = {
    "killed: lock is free": "**The holder gets SIGKILL**: the lock is free",
    "renewed": "**The work takes longer than the ttl**: renewed by itself",
    "taken over: told": "if not: the holder is told of its loss",
    "stopped: told": "**The holder is stopped for longer than the ttl**: told of its loss",
    "stopped: release says": "its release answers",
    "away: told": "**The store is away for longer than the ttl**: told",
    "fence": "**Fence**",
    "fence is given": "it is given",
    "order": "**Those who wait** are served",
}
FLOCK_ROWS = {fact: COMMAND_ROWS[fact] for fact in list(COMMAND_ROWS)[:3]}

TABLES = {
    "commands": (COMMAND_ROWS, ["holt run", "flock", "etcdctl lock", "consul lock"]),
    "flock": (FLOCK_ROWS, ["flock", "flock -o", "flock -F"]),
    "libraries": (LIBRARY_ROWS, ["Holt library", "SyncGuard", "Redisson"]),
}


def known() -> tuple[dict, dict]:
    return json.loads(OBSERVED.read_text()), json.loads((HERE / "read.json").read_text())


def cell(peer: str, fact: str) -> str:
    run, read = known()
    if fact in run.get(peer, {}):
        text = str(run[peer][fact])
        return f"`{text}`" if text.isupper() else text
    if fact in read.get(peer, {}):
        return f"{read[peer][fact]} {READ}"
    return ""


def table(name: str) -> str:
    rows, peers = TABLES[name]
    named = [f"`{peer}`" if peer.islower() or " -" in peer else peer for peer in peers]
    lines = [f"| | {' | '.join(named)} |", "|" + " --- |" * (len(peers) + 1)]
    for fact, text in rows.items():
        lines.append(f"| {text} | {' | '.join(cell(peer, fact) for peer in peers)} |")
    return "\n".join(lines)


def with_tables(page: str) -> str:
    """The page with every table as it has to be."""
    for name in TABLES:
        block = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.S)
        page = block.sub(lambda found: found[1] + table(name) + "\n" + found[2], page)
    return page
