"""Option types of the command line: units, node counts, flag strings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import click

from commanalyzer.errors import MachineModelError
from commanalyzer.quantities import (
    parse_bandwidth,
    parse_bytes,
    parse_fraction,
    parse_seconds,
    parse_throughput,
)
from commanalyzer.request import MAX_NODES

_ITEM = re.compile(r"(\d+)(?:(-|\.\.)(\d+)(?:([:x])(\d+))?)?")
_MOST_COUNTS = 1000


class Quantity(click.ParamType):
    """A number with a unit, parsed by one of the ``quantities`` functions."""

    def __init__(self, name: str, parse: Callable[[str], float]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Value in the base unit; a usage error when it does not parse."""
        if not isinstance(value, str):
            return float(value)
        try:
            return self._parse(value)
        except MachineModelError as error:
            hint = f" ({error.hint})" if error.hint else ""
            self.fail(f"{error.message}{hint}", param, ctx)


class NodeCounts(click.ParamType):
    """Node counts such as ``2,4,8-16``, ``4-64:4`` or ``2..64x2``."""

    name = "nodes"

    def convert(
        self, value: str | tuple[int, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Increasing distinct counts."""
        if not isinstance(value, str):
            return value
        try:
            return parse_nodes(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class FlagString(click.ParamType):
    """Several flags in one string, split as a shell does."""

    name = "flags"

    def convert(
        self, value: str | tuple[str, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """The flags."""
        if not isinstance(value, str):
            return value
        try:
            return tuple(shlex.split(value))
        except ValueError as error:
            self.fail(f"expected flags as in a shell, found {value!r}: {error}", param, ctx)


def parse_nodes(text: str) -> tuple[int, ...]:
    """Increasing distinct node counts of a comma-separated list.

    An item is a count (``4``), a range (``4-8``), a range with a step (``4-16:4``) or a geometric
    sequence (``2..64x2``).

    Raises:
        ValueError: If an item has another form, is 0, runs backwards or yields too many counts.
    """
    counts: set[int] = set()
    for item in text.split(","):
        counts.update(_item_counts(item.strip()))
    if len(counts) > _MOST_COUNTS:
        raise ValueError(f"expected at most {_MOST_COUNTS} node counts, found {len(counts)}")
    return tuple(sorted(counts))


def _item_counts(item: str) -> list[int]:
    match = _ITEM.fullmatch(item)
    if match is None:
        raise ValueError(f"expected counts such as 2,4,8-16 or 4-64:4 or 2..64x2, found {item!r}")
    first, _, last, kind, step_text = match.groups()
    low = int(first)
    high = int(last) if last else low
    step = int(step_text) if step_text else 1
    if not 1 <= low <= high <= MAX_NODES:
        raise ValueError(f"expected increasing node counts from 1 to {MAX_NODES}, found {item!r}")
    if step < (2 if kind == "x" else 1):
        raise ValueError(f"expected a positive step, or a factor of at least 2, found {item!r}")
    if kind != "x":
        if (high - low) // step >= _MOST_COUNTS:
            raise ValueError(f"expected at most {_MOST_COUNTS} node counts, found {item!r}")
        return list(range(low, high + 1, step))
    powers = [low]
    while powers[-1] * step <= high:
        powers.append(powers[-1] * step)
    return powers


BANDWIDTH = Quantity("bandwidth", parse_bandwidth)
FRACTION = Quantity("fraction", parse_fraction)
SECONDS = Quantity("time", parse_seconds)
SIZE = Quantity("size", parse_bytes)
THROUGHPUT = Quantity("flop/s", parse_throughput)
NODES = NodeCounts()
FLAGS = FlagString()
