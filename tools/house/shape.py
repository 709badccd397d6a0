# SPDX-License-Identifier: Apache-2.0
"""Shape of files: licence line, header order, names, line, function and file sizes."""

import posixpath
import re

from house import cpp

MAX_COLUMNS = 100
MAX_FUNCTION = 60
MAX_FILE = 500

COMMENT = {".cpp": "//", ".hpp": "//", ".sql": "--", ".lua": "--", ".py": "#", ".sh": "#"}
COMMENT |= {".cmake": "#"}
LICENCE = "SPDX-License-Identifier: Apache-2.0"
EMPTY_NAMES = {"util", "utils", "common", "manager", "helper", "helpers"}


def check_text(path: str, text: str):
    stem, suffix = posixpath.splitext(posixpath.basename(path))
    if suffix not in COMMENT:
        return
    lines = text.splitlines()
    first = [line for line in lines[:2] if not line.startswith("#!")][:1]
    if lines and first != [f"{COMMENT[suffix]} {LICENCE}"]:
        yield 1, "spdx", f"no licence line, begin with: {COMMENT[suffix]} {LICENCE}"
    for word in set(stem.lower().split("_")) & EMPTY_NAMES:
        yield 1, "file-name", f"'{word}' says nothing, name the file after what it holds"
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_COLUMNS and not re.search(r"https?://\S{60}", line):
            yield number, "columns", f"{len(line)} columns, break the line before {MAX_COLUMNS + 1}"
    if len(lines) > MAX_FILE:
        yield MAX_FILE, "file-size", f"{len(lines)} lines, split the file (limit {MAX_FILE})"


def check_cpp(path: str, source: cpp.Source):
    if path.endswith(".hpp"):
        yield from _check_header(source)
    brackets, _ = source.brackets
    for bracket in brackets:
        if bracket.kind == "function" and bracket.close > 0:
            first = source.line_of(source.tokens[bracket.token][1])
            last = source.line_of(source.tokens[bracket.close][1])
            if last - first + 1 > MAX_FUNCTION:
                size = last - first + 1
                yield first, "function-size", f"{size} lines, split it (limit {MAX_FUNCTION})"


def _check_header(source: cpp.Source):
    lines = source.text.splitlines()
    if "#pragma once" not in lines:
        yield 1, "header", "no include guard, add #pragma once after the licence line"
    top = []
    for line in lines[1:]:
        if line.strip() and not line.startswith(("//", "#pragma once")):
            break
        top.append(line)
    if not any(line.startswith("//") for line in top):
        yield 1, "header", "no file comment, say what it is, promises, and does not (3-10 lines)"
