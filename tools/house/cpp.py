# SPDX-License-Identifier: Apache-2.0
"""A C++ source as the rules need it: code without comments and texts, tokens, and brackets.

This is no parser. It knows just enough to tell a block from a braced initialiser and a condition
from a call, and takes the layout that clang-format gives for granted.
"""

import bisect
import dataclasses
import functools
import re

HIDDEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?:u8|[uUL])?R"(?P<raw>[^(\n]*)\(.*?\)(?P=raw)"|"""
    r'''"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])*\'''',
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.']*|::|->|==|!=|<=|>=|&&|\|\||\+=|-=|\"\"|\S")

CONTROL = {"if", "for", "while", "switch", "catch", "constexpr"}
BEFORE_BLOCK = {")", "]", ";", "else", "do", "try", "namespace"}
AFTER_SIGNATURE = {"const", "noexcept", "override", "final", "mutable", "&", "&&"}
NAMED_SCOPES = {"namespace", "class", "struct", "union", "enum", "extern"}


@dataclasses.dataclass
class Bracket:
    """An opening bracket. Kinds: scope (of a namespace or type), function, block (a compound
    statement or a lambda's body), condition, macro, call, init, index, capture."""

    char: str
    kind: str
    token: int  # index of the opening token
    head: int  # index of the first token of the statement it stands in
    keyword: str = ""  # of a condition
    close: int = -1  # index of the closing token


class Source:
    def __init__(self, text: str):
        self.text = text
        without_texts = HIDDEN.sub(self._blank, text)
        self.directives = [m for m in DIRECTIVE.finditer(without_texts)]
        self.code = DIRECTIVE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), without_texts)
        self._line_starts = [0] + [m.end() for m in re.finditer("\n", text)]

    @staticmethod
    def _blank(match: re.Match) -> str:
        """A comment becomes spaces, a text becomes "" and spaces; lines and columns stay."""
        hidden = match[0]
        blank = re.sub(r"[^\n]", " ", hidden)
        return blank if hidden.startswith(("//", "/*")) else '""' + blank[2:]

    def line_of(self, offset: int) -> int:
        return bisect.bisect_right(self._line_starts, offset)

    def includes(self) -> list[tuple[int, str]]:
        """(line, what is included with its brackets or quotes)."""
        pattern = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>|"[^"\n]+")', re.MULTILINE)
        return [(self.line_of(m.start()), m[1]) for m in pattern.finditer(self.text)]

    @functools.cached_property
    def tokens(self) -> list[tuple[str, int]]:
        """(text, offset) of each token, directives left out."""
        return [(m[0], m.start()) for m in TOKEN.finditer(self.code)]

    @functools.cached_property
    def brackets(self) -> tuple[list[Bracket], list[Bracket | None]]:
        """All brackets in order, and for each token the innermost bracket around it."""
        return _Brackets(self.tokens).result


class _Brackets:
    def __init__(self, tokens: list[tuple[str, int]]):
        self.words = [text for text, _ in tokens]
        self.all: list[Bracket] = []
        self.around: list[Bracket | None] = []
        self.stack: list[Bracket] = []
        self.heads = [0]  # first token of the current statement, per level
        for i, word in enumerate(self.words):
            if word in ")]}":
                self._close(i)
            self.around.append(self.stack[-1] if self.stack else None)
            if word in "([{":
                self._open(i, word)
            elif word == ";" or (word == ":" and self._ends_label(i)):
                self.heads[-1] = i + 1
        self.result = (self.all, self.around)

    def _open(self, i: int, char: str) -> None:
        bracket = Bracket(char, "", i, self.heads[-1])
        before = self.words[i - 1] if i else ";"
        if char == "(":
            bracket.kind = "call"
            if before in CONTROL:
                bracket.kind, bracket.keyword = "condition", before
            elif re.fullmatch(r"[A-Z][A-Z0-9_]{2,}", before):
                bracket.kind = "macro"
        elif char == "[":
            subscript = before in (")", "]") or re.fullmatch(r"\w+", before)
            keyword = before in ("return", "co_return", "co_await", "else", "do")
            bracket.kind = "index" if subscript and not keyword else "capture"
        else:
            bracket.kind = self._brace_kind(i, before)
        self.all.append(bracket)
        self.stack.append(bracket)
        self.heads.append(i + 1)

    def _close(self, i: int) -> None:
        if not self.stack:
            return
        bracket = self.stack.pop()
        self.heads.pop()
        bracket.close = i
        if bracket.kind in ("block", "function", "scope"):
            in_expression = self.stack and self.stack[-1].char != "{"
            following = self.words[i + 1] if i + 1 < len(self.words) else ""
            if not in_expression and following not in (";", ",", ")", "("):
                self.heads[-1] = i + 1

    def _brace_kind(self, i: int, before: str) -> str:
        head = self._without_template(self.words[self.heads[-1] : i])
        in_parentheses = bool(self.stack) and self.stack[-1].char != "{"
        signature = ")" in head
        if not in_parentheses and any(w in NAMED_SCOPES for w in head[:4]) and before != ")":
            if "=" not in head and not (signature and before in AFTER_SIGNATURE):
                return "scope"
        last = len(head) - 1 - head[::-1].index(")") if signature else 0
        block = (
            before in BEFORE_BLOCK
            or (not head and not in_parentheses)
            or (before == ":" and not in_parentheses)
            or (signature and before in AFTER_SIGNATURE)
            or (signature and "->" in head[last:])
            or (before == "}" and not in_parentheses)
        )
        if not block:
            return "init"
        outside_functions = not self.stack or self.stack[-1].kind == "scope"
        return "function" if outside_functions and "=" not in head[:1] else "block"

    def _ends_label(self, i: int) -> bool:
        head = self.words[self.heads[-1] : i]
        return head[:1] in (["public"], ["private"], ["protected"], ["case"], ["default"])

    @staticmethod
    def _without_template(head: list[str]) -> list[str]:
        if head[:1] != ["template"]:
            return head
        depth = 0
        for i, word in enumerate(head):
            depth += (word == "<") - (word == ">")
            if word == ">" and depth == 0:
                return head[i + 1 :]
        return head
