"""Types of options, which click calls with the text that the user gave; options of several commands."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from commanalyzer.foundation.errors import CommAnalyzerError
from commanalyzer.foundation.quantities import (
    parse_bandwidth,
    parse_bytes,
    parse_fraction,
    parse_seconds,
    parse_throughput,
)
from commanalyzer.foundation.work import WorkWeights
from commanalyzer.machine.machine_file import load_machine, published_machines
from commanalyzer.machine.parameters import KINDS, MachineParameters, Parameter
from commanalyzer.request import MODELS, Coarsen, node_counts

T = TypeVar("T")
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


def file(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """Option that names a file or folder."""
    return click.option(*names, type=FILE, **settings)


def flag(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """Option without a value."""
    return click.option(*names, is_flag=True, **settings)


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


def _parsed(name: str, parse: Callable[[str], T]) -> Callable[[str], T]:
    """Type of an option whose value is ``parse`` of its text (or default); help shows its name."""

    def value(text: str) -> T:
        try:
            return parse(text)
        except CommAnalyzerError as error:
            hint = f" ({error.hint})" if error.hint else ""
            raise click.BadParameter(f"{error.message}{hint}") from error

    value.__name__ = name
    return value


bandwidth = _parsed("bandwidth", parse_bandwidth)  # bytes per second
fraction = _parsed("fraction", parse_fraction)
seconds: Callable[[str], float] = _parsed("seconds", parse_seconds)
size: Callable[[str], float] = _parsed("size", parse_bytes)  # bytes
throughput = _parsed("throughput", parse_throughput)  # floating-point operations per second
nodes = _parsed("nodes", node_counts)
work_weights = _parsed("work_weights", WorkWeights.parse)


def _rule(text: str) -> str:
    """A rule of ``--decompose`` as it is, once it is known to be one."""
    from commanalyzer.division.regular.rules import parse_rule

    parse_rule(text)
    return text


rule = _parsed("rule", _rule)


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


def _complete_machine(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Published machines that begin so, then files: what shells offer behind --machine."""
    names = [name for name in published_machines() if name.startswith(incomplete)]
    return [*map(CompletionItem, names), CompletionItem(incomplete, type="file")]


_OPTIONS = (
    click.option(
        "--machine",
        "machine_file",
        metavar="NAME|FILE",
        shell_complete=_complete_machine,
        help="Published machine, or machine file (TOML) with bandwidth, overlap, throughput and more.",
    ),
    click.option("--bandwidth", type=bandwidth, help="Bisection bandwidth per node: 12.5GB/s, 100Gbit/s."),
    click.option("--overlap", type=fraction, help="Largest communication overlap: 0.57 or 57%."),
    click.option("--throughput", type=throughput, help="Throughput of one node: 3.2GFlop/s."),
)
_LATENCY = click.option("--latency", type=latency, help="Time of a small message to another node: 1.5us.")

efficiency_option = with_default(
    "--efficiency", type=fraction, default="0.8", help="Least acceptable efficiency."
)


def machine_options(command: Command) -> Command:
    """Add --machine, --bandwidth, --overlap and --throughput; the command takes them as ``machine``."""
    return _with_options(command, _OPTIONS)


def machine_and_latency_options(command: Command) -> Command:
    """The same with --latency, for commands that count messages."""
    return _with_options(command, (*_OPTIONS, _LATENCY))


def _with_options(command: Command, added: Sequence[Callable[[Command], Command]]) -> Command:
    @functools.wraps(command)
    def with_machine(*arguments: object, machine_file: str | None, **others: Any) -> object:
        machine = load_machine(machine_file) if machine_file is not None else MachineParameters()
        names = [name for name in ("bandwidth", "overlap", "throughput", "latency") if name in others]
        single = {name: given(name, others.pop(name)) for name in names}
        return command(*arguments, machine=machine.updated(**single), **others)

    return all_of(*added)(cast(Command, with_machine))


def given(name: str, value: float | None) -> Parameter | None:
    """Parameter of the command line, in its own unit; ``None`` when the option was left out."""
    return None if value is None else Parameter(value, KINDS[name].unit, "given", note="command line")
