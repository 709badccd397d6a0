#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a copy of a source file with one known mistake in it.

Usage: mutate.py MUTANT.json SOURCE OUTPUT
The mutant is {"name", "file", "edits": [{"old", "new"}, ...], "seeds"}. Each `old` must stand in
the source exactly once, so that a mutant cannot silently become harmless when the source changes.
"""

import json
import pathlib
import sys
import unittest


class MutantError(Exception):
    pass


def mutate(text: str, edits: list[dict[str, str]]) -> str:
    if not edits:
        raise MutantError("a mutant needs at least one edit")
    for edit in edits:
        count = text.count(edit["old"])
        if count != 1:
            raise MutantError(
                f"this stands {count} times in the source, must be once; follow the change of the "
                f"source in the mutant:\n{edit['old']}"
            )
        if edit["old"] == edit["new"]:
            raise MutantError(f"this edit changes nothing:\n{edit['old']}")
        text = text.replace(edit["old"], edit["new"])
    return text


class MutateTest(unittest.TestCase):
    def test_edits_are_applied_in_order(self):
        edits = [{"old": "a < b", "new": "a <= b"}, {"old": "renew();", "new": ""}]
        self.assertEqual(mutate("if (a < b) renew();", edits), "if (a <= b) ")

    def test_a_text_that_is_missing_or_ambiguous_is_refused(self):
        for source in ("nothing", "x x"):
            with self.assertRaises(MutantError):
                mutate(source, [{"old": "x", "new": "y"}])

    def test_an_edit_that_changes_nothing_is_refused(self):
        for edits in ([], [{"old": "x", "new": "x"}]):
            with self.assertRaises(MutantError):
                mutate("x", edits)


def main() -> None:
    if sys.argv[1:] == ["--self-test"]:
        unittest.main(argv=sys.argv[:1])
    mutant, source, output = map(pathlib.Path, sys.argv[1:])
    if source.suffix != ".cpp":
        sys.exit(f"{mutant}: only a .cpp can be mutated, not {source.name}")
    edits = json.loads(mutant.read_text("utf-8"))["edits"]
    try:
        text = mutate(source.read_text("utf-8"), edits)
    except MutantError as error:
        sys.exit(f"{mutant}: {error}")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(f'#line 1 "{source.name} (mutated)"\n{text}', "utf-8")


if __name__ == "__main__":
    main()
