#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the house rules: what may include what, what is banned where, await shapes, sizes, words.

Usage: tidy.py [FILE...]      checks these files, or the whole tree
       tidy.py --self-test    checks the checker, with planted mistakes

Says `file:line: rule: what is wrong, what to do instead` for each finding and exits with 1 if
there is one. The rules are data in tools/house/*.py.
"""

import os
import pathlib
import sys

from house import awaits, bans, cpp, layers, shape, words

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED_FOLDERS = {"build", "__pycache__", "node_modules"}
SHOWN_FOLDERS = {".ci"}
SUFFIXES = {".cpp", ".hpp", ".py", ".sh", ".sql", ".lua", ".cmake", ".txt", ".md", ".json", ""}


def tree() -> list[str]:
    """Every text file of the project, relative to its root."""
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(
            f
            for f in folders
            if f not in SKIPPED_FOLDERS and (not f.startswith(".") or f in SHOWN_FOLDERS)
        )
        for file in sorted(files):
            if pathlib.Path(file).suffix in SUFFIXES and file != ".git":
                found.append(os.path.relpath(os.path.join(folder, file), ROOT))
    return found


def check_text(path: str, text: str) -> list[tuple[int, str, str]]:
    """The findings of one file: (line, rule, message)."""
    findings = [*shape.check_text(path, text), *words.check(path, text)]
    if path.endswith((".cpp", ".hpp")):
        source = cpp.Source(text)
        findings += layers.check(path, source)
        findings += bans.check(path, source)
        findings += awaits.check(path, source)
        findings += shape.check_cpp(path, source)
    return sorted(set(findings))


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        from house import self_test

        return self_test.run(check_text)
    texts = {}
    for path in sys.argv[1:] or tree():
        absolute = pathlib.Path(os.path.abspath(path)) if sys.argv[1:] else ROOT / path
        texts[os.path.relpath(absolute, ROOT)] = absolute.read_text("utf-8")
    findings = [(path, *f) for path, text in texts.items() for f in check_text(path, text)]
    findings += layers.check_single_users(texts)
    for path, line, rule, message in findings:
        print(f"{path}:{line}: {rule}: {message}", file=sys.stderr)
    if findings:
        print(f"tidy: {len(findings)} findings in {len(texts)} files", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
