# SPDX-License-Identifier: Apache-2.0
"""What may not be written, where it may be nevertheless, and what to write instead."""

import re

from house import cpp

# May touch the machine's time, randomness and threads.
FREE = ("src/env/", "tests/", "bench/", "examples/")

# The processes around a child of `holt run` have no Env: the watchdog waits on a timer of its own,
# and a thread turns signals into a stop token while main is blocked in a call.
WATCHDOG = ("src/cli/boot_timer",)
SIGNALS = ("src/cli/interrupt",)
# and another tells meanwhile what it waits for.
PROGRESS = ("src/cli/wait_progress",)
# `holt poll` waits for what is due beside the thread that sees to its commands.
DUE_POLLS = ("src/cli/due_polls",)
# Stopping a worker blocks, and so does waiting for its last commands.
WORK_JOBS = ("src/cli/work_jobs",)
# `holt bench` is many callers at once, as a program with threads is.
CALLERS = ("src/cli/bench_callers",)
# So is a node of `holt demo`.
DEMO_NODE = ("src/cli/demo_node",)
# `holt list` says how long ago an instance was started, by the wall clock of who looks.
UPTIME = ("src/cli/instance_record",)

# Primitives run on one thread. These are where callers on other threads meet it, and lock:
#   keeper: the register of held leases; event: waited for on one thread, fired on another;
#   lock: the register of waiters; nursery: work is spawned from any thread; workbench, held_task:
#   handlers have threads of their own.
MEETING_POINTS = tuple(
    f"src/primitives/{name}"
    for name in (
        "ending",
        "event",
        "held_task",
        "keeper",
        "lock",
        "nursery",
        "present_term",
        "workbench",
    )
)

# (rule, where it holds, where not (both: beginnings of paths), pattern in the code, what to do)
BANS = [
    (
        "clock",
        "",
        FREE + UPTIME + WORK_JOBS,
        r"\b(steady|system|high_resolution|utc|file)_clock::now\b"
        r"|\b(clock_gettime|gettimeofday)\s*\(|\b(std::)?time\s*\(\s*(nullptr|NULL|0|&)",
        "a clock is read, use Env::now() or Env::wall()",
    ),
    (
        "clock",
        ("src/base/", "src/contracts/", "src/primitives/", "src/engines/"),
        (),
        r"\bBootClock::now\b",
        "a clock is read behind the simulator's back, use Env::now()",
    ),
    (
        "timer",
        "",
        FREE + WATCHDOG,
        r"\b(steady|system|deadline|high_resolution)_timer\b|\btimerfd_create\b",
        "a timer is made, use Env::sleep_until()",
    ),
    (
        "random",
        "",
        FREE,
        r"\brandom_device\b|(?<![\w.>])s?rand\s*\(|\b(getrandom|getentropy|arc4random\w*)\s*\(",
        "randomness is made, use Env::random()",
    ),
    (
        "sleep",
        "",
        FREE,
        r"\bthis_thread::sleep_\w+|(?<![\w.:>])(u|nano)?sleep\s*\(",
        "the thread sleeps, use Env::sleep_until() (a process loop: poll with a time-out)",
    ),
    (
        "thread",
        "",
        FREE + SIGNALS + PROGRESS + DUE_POLLS + WORK_JOBS + CALLERS + DEMO_NODE,
        r"\bstd::j?thread\b(?!::)|\bstd::async\b|\bpthread_create\b",
        "a thread is started, use Env::blocking() or add it to src/env",
    ),
    (
        "detached",
        "",
        ("src/primitives/nursery", "tests/", "bench/"),
        r"\bdetached\b",
        "work is spawned that nobody owns, spawn it in a Nursery",
    ),
    (
        "mutex",
        "src/primitives/",
        MEETING_POINTS,
        r"\bstd::(\w*mutex|condition_variable\w*|lock_guard|scoped_lock|unique_lock|shared_lock)\b",
        "a primitive locks, one thread owns its state: post to Env::executor()",
    ),
    (
        "using-namespace",
        "",
        (),
        r"\busing\s+namespace\s+std\s*;",
        "a whole namespace is opened, name what you use (std::chrono_literals is fine)",
    ),
    (
        "assert",
        "src/",
        (),
        r"(?<![\w:.])assert\s*\(",
        "assert() is gone in release, use HOLT_CHECK",
    ),
]

# SQL belongs in sql/*.sql, with a header that says why it is atomic.
SQL = re.compile(
    r'"\s*(SELECT\s|INSERT\s+(OR|INTO)\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|REPLACE\s+INTO\s'
    r"|CREATE\s+(TABLE|INDEX|UNIQUE)|ALTER\s+TABLE\s|DROP\s+TABLE\s|WITH\s+\w+\s+AS\s*\()"
)

NOLINT = re.compile(r"//\s*NOLINT(NEXTLINE|BEGIN)?\b(?!\([\w.,* -]+\):? +\S)")


def check(path: str, source: cpp.Source):
    for rule, inside, outside, pattern, message in BANS:
        if path.startswith(inside) and not path.startswith(outside or ("//",)):
            for match in re.finditer(pattern, source.code):
                yield source.line_of(match.start()), rule, message
    for match in NOLINT.finditer(source.text):
        line = source.line_of(match.start())
        yield line, "nolint", "no reason given, write NOLINT(check): why it is right here"
    if path.startswith("src/engines/"):
        for match in SQL.finditer(source.text):
            line = source.line_of(match.start())
            yield line, "sql", "SQL in a C++ string, move it to a file in sql/"
