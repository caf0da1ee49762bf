"""Numbers of profile files."""

from __future__ import annotations

from typing import Any

from commanalyzer.foundation.documents import number


def plain(value: float) -> int | float:
    """The number as files have it: whole ones without a point."""
    value = float(value)
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


def given_number(value: Any) -> float:
    """A number of a file that is not negative; older files have some as text.

    Raises:
        TypeError: If it is none.
        ValueError: If it is negative, or text that is none.
    """
    found = float(value) if isinstance(value, str) else number(value)
    if not found >= 0:
        raise ValueError(f"expected a number that is not negative, found {value}")
    return found


def objects(value: Any) -> list[dict[str, Any]]:
    """Objects of a list; one alone may stand without it.

    Raises:
        TypeError: If it is something else.
    """
    items = [value] if isinstance(value, dict) else value
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise TypeError(f"expected a list of objects, found {type(value).__name__}")
    return items
