#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns an engine's SQL files or Lua scripts into one C++ header.

sql/lease_acquire.sql becomes `holt::<engine>::sql::lease_acquire`, a std::string_view.
migrations/NNN_name.sql become `holt::<engine>::migrations`, an array of {number, name, text} in
the order of their numbers, which must be 1, 2, 3 and so on without a gap. A folder x_migrations
becomes `x_migrations`, for another database of the same engine.
scripts/acquire.lua becomes `holt::<engine>::scripts::acquire`, a Script {name, text, sha} with the
SHA-1 that Redis knows it by. A line `-- include FILE` stands for that file of the same folder,
which becomes no script itself.
"""

import argparse
import hashlib
import pathlib
import re
import sys
import tempfile
import unittest

HEADER = """\
// Made by tools/embed.py from the .sql files of engine {engine}. Do not edit.
#pragma once

#include <array>
#include <string_view>

namespace holt::{engine} {{

namespace sql {{
{queries}
}}  // namespace sql

struct Migration {{
  int number;
  std::string_view name;
  std::string_view text;
}};

{migrations}
}}  // namespace holt::{engine}
"""

MIGRATIONS = """\
inline constexpr std::array<Migration, {count}> {folder}{{{{
{migrations}
}}}};
"""


SCRIPTS_HEADER = """\
// Made by tools/embed.py from the .lua files of engine {engine}. Do not edit.
#pragma once

#include <string_view>

namespace holt::{engine} {{

struct Script {{
  std::string_view name;
  std::string_view text;
  std::string_view sha;
}};

namespace scripts {{
{scripts}
}}  // namespace scripts

}}  // namespace holt::{engine}
"""


class EmbedError(Exception):
    pass


def literal(text: str) -> str:
    """A raw string literal, with a delimiter that the text does not contain."""
    delimiter = "sql"
    while f'){delimiter}"' in text:
        delimiter += "_"
    return f'R"{delimiter}({text}){delimiter}"'


def query(path: pathlib.Path) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", path.stem):
        raise EmbedError(f"{path}: a query is named with lower case letters, digits and _")
    return f"inline constexpr std::string_view {path.stem} = {literal(path.read_text('utf-8'))};"


def migration(path: pathlib.Path, number: int) -> str:
    match = re.fullmatch(r"(\d{3})_([a-z][a-z0-9_]*)", path.stem)
    if not match:
        raise EmbedError(f"{path}: a migration is named NNN_name.sql")
    if int(match[1]) != number:
        raise EmbedError(f"{path}: expected number {number:03}; no gaps, no doubles")
    return f'  {{{number}, "{match[2]}", {literal(path.read_text("utf-8"))}}},'


def included(path: pathlib.Path) -> list[str]:
    """The files that a script includes itself."""
    return re.findall(r"^-- include (\S+)$", path.read_text("utf-8"), re.MULTILINE)


def script_text(path: pathlib.Path, depth: int = 0) -> str:
    """The script with its includes, without comments and empty lines: servers keep every byte."""
    if depth > 3:
        raise EmbedError(f"{path}: includes go in a circle")
    lines = []
    for line in path.read_text("utf-8").splitlines():
        include = re.fullmatch(r"-- include (\S+)", line)
        if include:
            if not (path.parent / include[1]).exists():
                raise EmbedError(f"{path}: there is no {include[1]} to include")
            lines.append(script_text(path.parent / include[1], depth + 1).rstrip("\n"))
        elif line.strip() and not line.lstrip().startswith("--"):
            lines.append(line)
    return "\n".join(lines) + "\n"


def scripts_header(engine: str, files: list[pathlib.Path]) -> str:
    shared = {name for f in files for name in included(f)}
    scripts = []
    for file in sorted(f for f in files if f.name not in shared):
        text = script_text(file)
        sha = hashlib.sha1(text.encode()).hexdigest()
        scripts.append(
            f'inline constexpr Script {file.stem}{{"{file.stem}", {literal(text)}, "{sha}"}};'
        )
    return SCRIPTS_HEADER.format(engine=engine, scripts="\n".join(scripts))


def migrations_of(folder: str, files: list[pathlib.Path]) -> str:
    numbered = [f for f in files if f.parent.name == folder]
    migrations = [migration(f, i) for i, f in enumerate(numbered, start=1)]
    return MIGRATIONS.format(
        folder=folder, count=len(migrations), migrations="\n".join(migrations)
    )


def header(engine: str, files: list[pathlib.Path]) -> str:
    files = sorted(files)
    if any(f.suffix == ".lua" for f in files):
        return scripts_header(engine, files)
    queries = [query(f) for f in files if f.parent.name == "sql"]
    folders = {"migrations"} | {f.parent.name for f in files if f.parent.name != "sql"}
    return HEADER.format(
        engine=engine,
        queries="\n".join(queries),
        migrations="\n".join(migrations_of(folder, files) for folder in sorted(folders)),
    )


class EmbedTest(unittest.TestCase):
    def embed(self, files: dict[str, str]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, name) for name in files]
            for path, text in zip(paths, files.values()):
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            return header("sqlite", paths)

    def test_a_query_becomes_a_constant(self):
        text = self.embed({"sql/lease_find.sql": "SELECT 1;"})
        self.assertIn('std::string_view lease_find = R"sql(SELECT 1;)sql";', text)

    def test_migrations_are_ordered_by_number(self):
        text = self.embed({"migrations/002_b.sql": "B", "migrations/001_a.sql": "A"})
        self.assertIn("std::array<Migration, 2>", text)
        self.assertLess(text.index('{1, "a", '), text.index('{2, "b", '))

    def test_another_folder_of_migrations_has_its_own_numbers(self):
        text = self.embed({"migrations/001_a.sql": "A", "task_migrations/001_b.sql": "B"})
        self.assertIn('std::array<Migration, 1> migrations{{\n  {1, "a", ', text)
        self.assertIn('std::array<Migration, 1> task_migrations{{\n  {1, "b", ', text)

    def test_a_gap_between_migrations_is_refused(self):
        with self.assertRaises(EmbedError):
            self.embed({"migrations/001_a.sql": "A", "migrations/003_c.sql": "C"})

    def test_a_name_that_is_no_identifier_is_refused(self):
        with self.assertRaises(EmbedError):
            self.embed({"sql/lease-find.sql": ""})

    def test_a_script_has_its_includes_and_its_sha(self):
        a = "-- why\n-- include b.lua\nreturn b"
        text = self.embed({"scripts/a.lua": a, "scripts/b.lua": "local b = 1"})
        sha = hashlib.sha1(b"local b = 1\nreturn b\n").hexdigest()
        self.assertIn(f'Script a{{"a", R"sql(local b = 1\nreturn b\n)sql", "{sha}"}};', text)
        self.assertNotIn("Script b{", text)

    def test_an_include_that_is_not_there_is_refused(self):
        with self.assertRaises(EmbedError):
            self.embed({"scripts/a.lua": "-- include b.lua"})

    def test_the_text_may_contain_the_end_of_a_literal(self):
        self.assertEqual(literal('x)sql"'), 'R"sql_(x)sql")sql_"')


def main() -> None:
    if sys.argv[1:] == ["--self-test"]:
        unittest.main(argv=sys.argv[:1])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", required=True)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    try:
        text = header(args.engine, args.files)
    except EmbedError as error:
        sys.exit(str(error))
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
