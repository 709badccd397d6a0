#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns an engine's SQL files into one C++ header.

sql/lease_acquire.sql becomes `holt::<engine>::sql::lease_acquire`, a std::string_view.
migrations/NNN_name.sql become `holt::<engine>::migrations`, an array of {number, name, text} in
the order of their numbers, which must be 1, 2, 3 and so on without a gap.
"""

import argparse
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

inline constexpr std::array<Migration, {count}> migrations{{{{
{migrations}
}}}};

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


def header(engine: str, files: list[pathlib.Path]) -> str:
    files = sorted(files)
    queries = [query(f) for f in files if f.parent.name == "sql"]
    numbered = [f for f in files if f.parent.name == "migrations"]
    migrations = [migration(f, i) for i, f in enumerate(numbered, start=1)]
    return HEADER.format(
        engine=engine,
        queries="\n".join(queries),
        count=len(migrations),
        migrations="\n".join(migrations),
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

    def test_a_gap_between_migrations_is_refused(self):
        with self.assertRaises(EmbedError):
            self.embed({"migrations/001_a.sql": "A", "migrations/003_c.sql": "C"})

    def test_a_name_that_is_no_identifier_is_refused(self):
        with self.assertRaises(EmbedError):
            self.embed({"sql/lease-find.sql": ""})

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
