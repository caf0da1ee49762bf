"""Tokens of LLVM IR text and a cursor over them.

One regular expression cuts a logical line (an instruction with its continuation lines, a header, an
initializer) into tokens; everything above works on tokens, so nesting, quotes and attributes need no
pattern of their own.
"""

from __future__ import annotations

import re
from typing import NoReturn

from commanalyzer.foundation.errors import IrError

_TOKEN = re.compile(
    r"""
      [%@$^](?:"[^"]*"|[-\w$.]+)        # registers, globals, comdats
    | c?"[^"]*"                         # strings; a quote inside is printed as \22
    | ![-\w$.\\]*                       # metadata
    | \#\d+                             # attribute groups
    | [-+\w$.]+                         # words, numbers, ...
    | [()\[\]{}<>,=*|:]
    | ;.*                               # comment
    | \S
    """,
    re.VERBOSE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_BRACKETS = frozenset("([{<)]}>")
END = ""


def tokenize(text: str) -> list[str]:
    """Return the tokens of ``text`` without comments."""
    tokens = _TOKEN.findall(text)
    if ";" in text:
        tokens = [token for token in tokens if not token.startswith(";")]
    return tokens


class Cursor:
    """A position in the tokens of one logical line, whose continuation lines are joined with a newline.

    ``line`` is the index of its first line in the module, for messages.
    """

    __slots__ = ("_spans", "line", "position", "text", "tokens")

    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.line = line
        # Two end markers, so that looking one token ahead never needs a bounds check.
        self.tokens = [*tokenize(text), END, END]
        self.position = 0
        self._spans: list[tuple[int, int]] | None = None

    def peek(self) -> str:
        """Return the next token, ``""`` at the end."""
        return self.tokens[self.position]

    def next(self) -> str:
        """Return the next token and step over it."""
        token = self.tokens[self.position]
        if token == END:
            self.fail("unexpected end of line")
        self.position += 1
        return token

    def accept(self, token: str) -> bool:
        """Step over ``token`` if it is next."""
        if self.tokens[self.position] == token:
            self.position += 1
            return True
        return False

    def expect(self, token: str) -> None:
        """Step over ``token``; IrError if another one is next."""
        if self.tokens[self.position] != token:
            self.fail(f"expected '{token}', found '{self.peek() or 'end of line'}'")
        self.position += 1

    def skip_balanced(self) -> None:
        """Step over a bracketed group; the opening bracket is next."""
        open_brackets: list[str] = []
        while True:
            token = self.next()
            if token not in _BRACKETS:
                continue
            if token in _CLOSING:
                open_brackets.append(_CLOSING[token])
            elif not open_brackets or open_brackets.pop() != token:
                self.fail(f"unbalanced '{token}'")
            if not open_brackets:
                return

    def slice(self, start: int, end: int) -> str:
        """Return the source text of tokens ``start`` up to ``end`` (exclusive)."""
        if end == start + 1:
            return self.tokens[start]
        if self._spans is None:
            self._spans = [m.span() for m in _TOKEN.finditer(self.text) if not m.group().startswith(";")]
        return self.text[self._spans[start][0] : self._spans[end - 1][1]]

    def fail(self, message: str) -> NoReturn:
        """Raise an IrError that shows the line."""
        shown = self.text.strip()
        raise IrError(
            f"cannot read LLVM IR: {message}: {shown[:200]}",
            where=f"line {self.line + 1}",
            hint="check that the text is a complete module as printed by LLVM 16 or later",
        )
