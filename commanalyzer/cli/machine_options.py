"""Machine options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from commanalyzer.cli import options
from commanalyzer.machine.catalog import find_machine
from commanalyzer.machine.parameters import MachineParameters, Parameter

F = TypeVar("F", bound=Callable[..., None])


def machine_options(command: F) -> F:
    """Add --machine, --bandwidth, --overlap and --throughput to a command."""
    added = (
        click.option(
            "--machine",
            "machine_file",
            metavar="NAME|FILE",
            help="Published machine, or machine file (TOML) with bandwidth, overlap, throughput and more.",
        ),
        click.option(
            "--bandwidth",
            type=options.bandwidth,
            help="Bisection bandwidth per node: 12.5GB/s, 100Gbit/s.",
        ),
        click.option("--overlap", type=options.fraction, help="Largest communication overlap: 0.57 or 57%."),
        click.option("--throughput", type=options.throughput, help="Throughput of one node: 3.2GFlop/s."),
    )
    for option in reversed(added):
        command = option(command)
    return command


def latency_option(command: F) -> F:
    """Add --latency to a command."""
    return click.option(
        "--latency",
        type=options.latency,
        help="Time of a small message to another node: 1.5us.",
    )(command)


def machine_from(
    machine_file: str | None,
    bandwidth: float | None,
    overlap: float | None,
    throughput: float | None,
    latency: float | None = None,
) -> MachineParameters:
    """Machine of the file or the name with the single options on top.

    Raises:
        MachineModelError: If the file is not usable or a value is out of range.
    """
    machine = find_machine(machine_file) if machine_file is not None else MachineParameters()
    return machine.updated(
        bandwidth=_given(bandwidth, "B/s"),
        overlap=_given(overlap, "1"),
        throughput=_given(throughput, "Flop/s"),
        latency=_given(latency, "s"),
    )


def _given(value: float | None, unit: str) -> Parameter | None:
    """Parameter of the command line; ``None`` when the option was left out."""
    return None if value is None else Parameter(value, unit, "given", note="command line")
