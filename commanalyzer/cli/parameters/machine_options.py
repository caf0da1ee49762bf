"""Machine options shared by several commands."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import cast

import click
from click.shell_completion import CompletionItem

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.options import Command
from commanalyzer.machine.machine_file import load_machine, published_machines
from commanalyzer.machine.parameters import MachineParameters, Parameter


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
    click.option(
        "--bandwidth", type=options.bandwidth, help="Bisection bandwidth per node: 12.5GB/s, 100Gbit/s."
    ),
    click.option("--overlap", type=options.fraction, help="Largest communication overlap: 0.57 or 57%."),
    click.option("--throughput", type=options.throughput, help="Throughput of one node: 3.2GFlop/s."),
)
_LATENCY = click.option(
    "--latency", type=options.latency, help="Time of a small message to another node: 1.5us."
)

efficiency_option = options.with_default(
    "--efficiency", type=options.fraction, default="0.8", help="Least acceptable efficiency."
)


def machine_options(command: Command) -> Command:
    """Add --machine, --bandwidth, --overlap and --throughput; the command takes them as ``machine``."""
    return _with_options(command, _OPTIONS)


def machine_and_latency_options(command: Command) -> Command:
    """The same with --latency, for commands that count messages."""
    return _with_options(command, (*_OPTIONS, _LATENCY))


def _with_options(command: Command, added: Sequence[Callable[[Command], Command]]) -> Command:
    @functools.wraps(command)
    def with_machine(
        *arguments: object,
        machine_file: str | None,
        bandwidth: float | None,
        overlap: float | None,
        throughput: float | None,
        latency: float | None = None,
        **others: object,
    ) -> object:
        machine = load_machine(machine_file) if machine_file is not None else MachineParameters()
        single = {
            "bandwidth": given(bandwidth, "B/s"),
            "overlap": given(overlap, "1"),
            "throughput": given(throughput, "Flop/s"),
            "latency": given(latency, "s"),
        }
        return command(*arguments, machine=machine.updated(**single), **others)

    return options.all_of(*added)(cast(Command, with_machine))


def given(value: float | None, unit: str) -> Parameter | None:
    """Parameter of the command line; ``None`` when the option was left out."""
    return None if value is None else Parameter(value, unit, "given", note="command line")
