# SPDX-License-Identifier: Apache-2.0
"""Which folder may include what: the table of docs/architecture.md as data."""

import posixpath
import re

from house import cpp

# What an include belongs to, first match wins. `<holt/...>` is the public API; quotes are ours and
# written from src/ ("base/check.hpp"), or stand alone for a file of the same folder.
GROUPS = [
    ("public", r"<holt/"),
    ("asio", r"<boost/(asio|system)[/.]"),
    ("beast", r"<boost/beast[/.]"),
    ("json", r"<boost/json[/.]"),
    ("url", r"<boost/url[/.]"),
    ("boost", r"<boost/"),
    ("fmt", r"<fmt/"),
    ("spdlog", r"<spdlog/"),
    ("cli11", r"<CLI/"),
    ("toml", r"<toml\+\+/"),
    ("sqlite3", r"<sqlite3\.h>"),
    ("hiredis", r"<hiredis/"),
    ("libpq", r"<libpq-fe\.h>"),
    ("utf8proc", r"<utf8proc\.h>"),
    ("xxhash", r"<xxhash\.h>"),
    ("gtest", r"<g(test|mock)/"),
    ("benchmark", r"<benchmark/"),
    ("posix", r"<[\w/]+\.h>"),
    ("std", r"<\w+>"),
    ("base", r'"base/'),
    ("env", r'"env/'),
    ("contracts", r'"contracts/'),
    ("primitives", r'"primitives/'),
    ("client", r'"client/'),
    ("http", r'"http/'),
    ("daemon", r'"daemon/'),
    ("cli", r'"cli/'),
    ("registry", r'"engines/registry\.hpp"'),
    ("factory", r'"engines/\w+/engine\.hpp"'),
    ("engine", r'"engines/'),
    ("support", r'"support/'),
    ("own", r'"[\w.]+"'),
]

# (files, what they may include, the rule in words). First match wins. A whole include in the list
# allows that one alone; "any" allows everything.
LAYERS = [
    ("include/holt/asio.hpp", "std public asio", "the coroutine API: std, Asio and <holt/...>"),
    ("include/holt/detail/asio_call.hpp", "std public asio", "a part of <holt/asio.hpp>"),
    ("include/holt/", "std public", "the public API includes std and itself only"),
    (
        "src/base/trust_word.cpp",
        "std base own <sys/mman.h> <pthread.h>",
        "the one file of base that asks the system for memory: pages that a fork wipes",
    ),
    ("src/base/", "std fmt utf8proc xxhash public base own", "base does no I/O and knows no layer"),
    (
        "src/env/",
        'std posix fmt public asio base own env "contracts/env.hpp"',
        "env implements contracts/env.hpp with Asio and the system",
    ),
    ("src/contracts/", "std public asio base own contracts", "contracts know no logic, no engine"),
    (
        "src/primitives/",
        "std fmt public asio base own contracts primitives",
        "primitives are policy: they know contracts, never an engine, env or the system",
    ),
    (
        "src/engines/registry",
        'std public base contracts registry factory own "engines/module/loader.hpp"',
        "the registry names each engine by its engines/X/engine.hpp and does nothing else",
    ),
    (
        "src/engines/module/",
        "std posix fmt public asio base contracts env own engines/module",
        "modules know contracts and the machine, no engine",
    ),
    (
        "src/engines/sqlite/",
        "std posix fmt public asio base contracts own sqlite3 engines/sqlite "
        '"env/worker_thread.hpp"',
        "an engine knows contracts and its own driver, never primitives or another engine",
    ),
    (
        "src/engines/redis/module.cpp",
        "public asio contracts engines/module engines/redis",
        "a module's one function joins its engine and engines/module",
    ),
    (
        "src/engines/redis/",
        "std posix fmt public asio url xxhash base contracts own hiredis engines/redis "
        '"redis_scripts.hpp"',
        "an engine knows contracts and its own driver, never primitives or another engine",
    ),
    (
        "src/engines/postgres/module.cpp",
        "public asio contracts engines/module engines/postgres",
        "a module's one function joins its engine and engines/module",
    ),
    (
        "src/engines/postgres/",
        "std posix fmt public asio url base contracts own libpq engines/postgres",
        "an engine knows contracts and its own driver, never primitives or another engine",
    ),
    (
        "src/client/",
        "std posix fmt public asio base own env contracts primitives registry client",
        "client joins registry, env and primitives; engines only through engines/registry.hpp",
    ),
    (
        "src/cli/",
        "std posix fmt public base own cli json url spdlog cli11 toml",
        "commands use the public API (<holt/...>), not contracts or engines",
    ),
    (
        "src/http/",
        "std posix fmt public base own http json url asio beast",
        "HTTP uses the public API (<holt/...>), not contracts or engines",
    ),
    (
        "src/daemon/",
        "std posix fmt public base own http daemon json url asio spdlog",
        "the daemon uses the public API (<holt/...>), not contracts or engines",
    ),
    ("examples/", "std posix public asio sqlite3", "an example shows what a user writes"),
    ("tests/", "any", ""),
    ("bench/", "any", ""),
]

# Headers so heavy that one file alone pays for them: (include, where the rule looks, why).
SINGLE_USERS = [
    (r"<CLI/", "src/", "CLI11 takes 14 s to compile at -O2; give the other file a plain interface"),
    (r"<toml\+\+/", "src/", "toml++ takes 5 s to compile at -O2; use cli/config_file.hpp"),
    (r"<spdlog/", "src/", "spdlog takes 10 s to compile; log through base/log.hpp"),
    (r"<boost/asio/impl/src\.hpp>", "", "Asio's code is compiled once, in src/env/asio_impl.cpp"),
]


def group_of(include: str) -> str:
    return next((group for group, pattern in GROUPS if re.match(pattern, include)), "unknown")


def check(path: str, source: cpp.Source):
    layer = next((layer for layer in LAYERS if path.startswith(layer[0])), None)
    if layer is None:
        yield 1, "layer", f"{posixpath.dirname(path)}/ is in no layer, add it to house/layers.py"
        return
    _, allowed, rule = layer
    if allowed == "any":
        return
    for line, include in source.includes():
        if not _is_allowed(include, allowed.split()):
            yield line, "layer", f"{include} may not be included here, {rule}"


def _is_allowed(include: str, allowed: list[str]) -> bool:
    own_folder = any(a.startswith("engines/") and include.startswith(f'"{a}/') for a in allowed)
    return group_of(include) in allowed or include in allowed or own_folder


def check_single_users(texts: dict[str, str]):
    """Findings over all files together: (path, line, rule, message)."""
    for pattern, folder, why in SINGLE_USERS:
        users = []
        for path, text in texts.items():
            if not path.startswith(folder) or not path.endswith((".cpp", ".hpp")):
                continue
            lines = [line for line, inc in cpp.Source(text).includes() if re.match(pattern, inc)]
            users += [(path, line) for line in lines[:1]]
        for path, line in users[1:]:
            yield path, line, "single-user", f"{users[0][0]} includes this already, {why}"
