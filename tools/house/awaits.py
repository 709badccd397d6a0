# SPDX-License-Identifier: Apache-2.0
"""Await shapes: where `co_await` may stand.

g++ 12 miscompiles it silently in conditions, and frees temporaries twice around braces, `?:` and
lambdas with captures (tests/toolchain holds the proofs). So: one co_await per statement, and it
stands alone, after `=`, or after `co_return`.
"""

import re

from house import cpp

EXEMPT = ("tests/toolchain/",)  # holds the bad shapes on purpose

INSTEAD = "name the result first: auto x = co_await ...;"
ENCLOSED = {
    "condition": f"co_await in the condition of {{}} is miscompiled by g++ 12, {INSTEAD}",
    "init": f"co_await inside braces frees twice with g++ 12, {INSTEAD}",
    "macro": f"co_await inside a macro, {INSTEAD}",
    "call": f"co_await inside another expression, {INSTEAD}",
    "index": f"co_await inside another expression, {INSTEAD}",
    "capture": f"co_await inside another expression, {INSTEAD}",
}
STATEMENTS = ("block", "function", "scope")
MAY_PRECEDE = {"=", "co_return", ";", "{", "}", "else", "do"}


def check(path: str, source: cpp.Source):
    if path.startswith(EXEMPT):
        return
    for directive in source.directives:
        if re.search(r"\bco_await\b", directive[0]):
            line = source.line_of(directive.start())
            yield line, "await", "co_await hidden in a macro, write it out"
    if "co_await" not in source.code:
        return
    brackets, around = source.brackets
    words = [word for word, _ in source.tokens]
    by_token = {bracket.token: bracket for bracket in brackets}
    for i, word in enumerate(words):
        if word == "co_await":
            message = _misplaced(i, words, around[i]) or _bad_company(i, words, around, by_token)
            if message:
                yield source.line_of(source.tokens[i][1]), "await", message


def _misplaced(i: int, words: list[str], inside: cpp.Bracket | None) -> str:
    if inside and inside.kind not in STATEMENTS:
        return ENCLOSED[inside.kind].format(inside.keyword)
    before = words[i - 1]
    if before in MAY_PRECEDE:
        return ""
    if before in (")", ":") and not {"?", "="} & set(_statement_before(i, words)):
        return ""  # if (x) co_await y();   case 1: co_await z();
    return f"co_await after `{before}`; it may stand alone, after = or after co_return, {INSTEAD}"


def _statement_before(i: int, words: list[str]) -> list[str]:
    start = i
    while start > 0 and words[start - 1] not in (";", "{", "}"):
        start -= 1
    return words[start:i]


def _bad_company(i, words, around, by_token) -> str:
    """What else stands in the same full expression."""
    before = _statement_before(i, words)
    if before[-1:] == ["="] and "]" in before and before[:-1][-1] == "]" and "auto" in before:
        return f"structured binding of a co_await loses a destructor in some compilers, {INSTEAD}"
    level = around[i]
    j = i + 1
    while j < len(words) and not (words[j] == ";" and around[j] is level):
        if around[j] is level and words[j] == "?":
            return f"co_await beside ?: frees twice with g++ 12, {INSTEAD}"
        if around[j] is level and words[j] == "co_await":
            break  # reported at that one
        bracket = by_token.get(j)
        if bracket and bracket.kind == "block":
            j = bracket.close  # a lambda's body is a function of its own
            continue
        captures = bracket and bracket.kind == "capture" and bracket.close > j + 1
        if captures and words[j + 1] != "[" and words[j - 1] != "[":
            return (
                "a lambda with captures beside co_await frees twice with g++ 12, "
                "name the operation first: auto op = f(...); co_await std::move(op);"
            )
        j += 1
    return ""
