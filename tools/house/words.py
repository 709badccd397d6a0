# SPDX-License-Identifier: Apache-2.0
"""Words that do not belong in the project's texts."""

import re

EXEMPT = ("tools/house/words.py", "tools/house/self_test.py")

WORDS = [
    (r"(?<![\w/.}-])/(work|root)/", "path", "a path of one machine, use a relative path"),
    (r"(?i)\bsandbox", "word", "a word about one machine, say what the reader's machine does"),
    (r"\b(TODO|FIXME)\b(?!\(#\d+\))", "todo", "nobody will find it again, write TODO(#issue)"),
]


def check(path: str, text: str):
    if path in EXEMPT:
        return
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, rule, message in WORDS:
            match = re.search(pattern, line)
            if match:
                yield number, rule, f"'{match[0].strip()}': {message}"
