"""Names of what is added around loops that exist several times."""

from __future__ import annotations

import re
from typing import Literal

BlockRole = Literal["entry", "exit", "look", "recall", "seen", "guard", "offer"]
"""Blocks that are added around a loop: ``entry`` in front of its copy; ``exit`` behind the instrumented loop;
``look`` in front of a preview, ``recall`` takes what a preview found out before, ``seen`` says what it found
out, ``guard`` behind it; ``offer`` between a guard and the instrumented loop."""

INCOMING = re.compile(r'\[ ([^\[\]]+?), (%(?:[\w.$-]+|"[^"]*")) \]')


def suffixed(name: str, suffix: str) -> str:
    """A register or label with another name."""
    return f'{name[:-1]}{suffix}"' if name.endswith('"') else name + suffix


def block_at(role: BlockRole, header: str, number: int) -> str:
    """Label of a block that is added around loop ``number``."""
    return suffixed(f"%{header}", f".ca.{number}.{role}")
