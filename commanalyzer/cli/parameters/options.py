"""Option types of the command line: functions that click calls with the text the user gave."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from commanalyzer.foundation.errors import ConfigError, MachineModelError
from commanalyzer.foundation.quantities import (
    parse_bandwidth,
    parse_bytes,
    parse_fraction,
    parse_seconds,
    parse_throughput,
)
from commanalyzer.foundation.work import WorkWeights
from commanalyzer.request import MODELS, Coarsen, node_counts

Command = TypeVar("Command", bound=Callable[..., object])
Settings: TypeAlias = tuple[tuple[str, float], ...]
Raw: TypeAlias = Any  # values of options by name: click knows no types, whoever takes them checks
FILE = click.Path(path_type=Path)
NETWORK = click.Choice(("star", "fat-tree", "torus", "dragonfly", "hypercube"))

model_option = click.option(
    "--model",
    type=click.Choice(MODELS),
    callback=lambda _context, _option, model: model or "",
    help="Communication model; the leading one if left out.",
)
node_count_option = click.option(
    "--nodes", type=click.IntRange(1), help="Node count; the largest analysed one if left out."
)


def with_default(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """Option whose help shows its default."""
    return click.option(*names, show_default=True, **settings)


def all_of(*added: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one, in this order in the help."""

    def decorate(command: Command) -> Command:
        for option in reversed(added):
            command = option(command)
        return command

    return decorate


class_options = all_of(
    click.option(
        "--method",
        type=click.Choice(["clusters", "pattern"]),
        help="Clusters of all metrics, or regularity of the communication pattern.  [default: clusters]",
    ),
    click.option(
        "--classes", "number", type=click.IntRange(1), help="Number of clusters.  [default: by silhouette]"
    ),
    click.option(
        "--directed", is_flag=True, help="Tell ranks apart whose neighbours are on different sides."
    ),
)


def _quantity(name: str, parse: Callable[[str], float]) -> Callable[[str], float]:
    """Type of an option whose value is ``parse`` of its text; help shows its name."""

    def quantity(text: str) -> float:
        try:
            return parse(text)
        except MachineModelError as error:
            hint = f" ({error.hint})" if error.hint else ""
            raise click.BadParameter(f"{error.message}{hint}") from error

    quantity.__name__ = name
    return quantity


bandwidth = _quantity("bandwidth", parse_bandwidth)  # bytes per second
fraction = _quantity("fraction", parse_fraction)
seconds = _quantity("seconds", parse_seconds)
size = _quantity("size", parse_bytes)  # bytes
throughput = _quantity("throughput", parse_throughput)  # floating-point operations per second


def latency(text: str) -> float:
    """Seconds; a number alone could be microseconds."""
    if re.fullmatch(r"[-+.\deE\s]*", text):
        raise click.BadParameter(f"expected a time with its unit such as 1.5us, found {text!r}")
    return seconds(text)


def sizes(text: str | tuple[int, ...]) -> tuple[int, ...]:
    """Increasing distinct message sizes, multiples of 8 bytes, from a comma-separated list."""
    if not isinstance(text, str):
        return text
    found = sorted({size(item) for item in text.split(",")})
    if any(x < 8 or x % 8 for x in found):
        raise click.BadParameter(f"expected positive multiples of 8 bytes, found {text!r}")
    return tuple(int(x) for x in found)


def nodes(text: str | tuple[int, ...]) -> tuple[int, ...]:
    """Node counts; a default passes through."""
    try:
        return node_counts(text)
    except ConfigError as error:
        raise click.BadParameter(error.message) from error


def flags(text: str | tuple[str, ...]) -> tuple[str, ...]:
    """Several flags in one string, split as a shell does; a default passes through."""
    if not isinstance(text, str):
        return text
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise click.BadParameter(f"expected flags as in a shell, found {text!r}: {error}") from error


def coarsen(text: str) -> Coarsen:
    """``auto``, ``never`` or a number of vertices."""
    if text == "auto" or text == "never":
        return "auto" if text == "auto" else "never"
    if re.fullmatch(r"[1-9]\d{0,8}", text) is None:
        raise click.BadParameter(f"expected auto, never or a number of vertices, found {text!r}")
    return int(text)


def work_weights(text: str) -> WorkWeights:
    """Weights of operations."""
    try:
        return WorkWeights.parse(text)
    except ConfigError as error:
        raise click.BadParameter(error.message) from error


def settings(text: str) -> Settings:
    """``NAME=NUMBER,NAME=NUMBER``."""
    return tuple(setting(part.strip()) for part in text.split(","))


def at_option(name: str, text: str) -> Callable[[Command], Command]:
    """``--at``, which says one point, in one option or several."""

    def joined(_context: object, _option: object, given: Iterable[Settings]) -> dict[str, float]:
        return dict(chain.from_iterable(given))

    return click.option("--at", name, type=settings, multiple=True, callback=joined, help=text)


def setting(text: str) -> tuple[str, float]:
    """``NAME=NUMBER`` as name and number."""
    name, _, number = text.partition("=")
    try:
        if not name.isidentifier():
            raise ValueError
        return name, float(number)
    except ValueError as error:
        raise click.BadParameter(f"expected NAME=NUMBER, found {text!r}") from error
