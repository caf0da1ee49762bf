"""Names of what is added around loops that exist several times."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

BlockRole = Literal[
    "entry",
    "exit",
    "look",
    "over",
    "recall",
    "seen",
    "guard",
    "offer",
    "apart",
    "turn",
    "left",
    "gone",
]
"""Blocks that are added around a loop: ``entry`` in front of its copy; ``exit`` behind the instrumented loop;
``look`` in front of a preview, ``over`` behind its last round, ``recall`` takes what a preview found out
before, ``seen`` says what it found out, ``guard`` behind it; ``offer`` between a guard and the instrumented
loop. Around a loop that runs some rounds with hooks: ``apart`` in front of it, ``turn`` where a round begins,
``left`` and ``gone`` behind it."""

_LABEL = re.compile(r'([\w.$-]+|"[^"]*"):$')
INCOMING = re.compile(r'\[ ([^\[\]]+?), (%(?:[\w.$-]+|"[^"]*")) \]')


def suffixed(name: str, suffix: str) -> str:
    """A register or label with another name."""
    return f'{name[:-1]}{suffix}"' if name.endswith('"') else name + suffix


def block_at(role: BlockRole, header: str, number: int) -> str:
    """Label of a block that is added around loop ``number``."""
    return suffixed(f"%{header}", f".ca.{number}.{role}")


def blocks_of(lines: Iterable[str]) -> dict[str, list[str]]:
    """Lines of each block, by its label; the first line is a label."""
    found: dict[str, list[str]] = {}
    block: list[str] = []
    for line in lines:
        if label := _LABEL.match(line):
            block = found.setdefault(label[1], [])
        elif line:
            block.append(line)
    return found
