"""What each machine parameter is: unit, notation, plausible range.

The ranges are wide (the slowest network ever sold to the fastest planned one, and a margin); a value outside
is a mistaken unit or prefix. Bits and bytes are kept apart by the notation (:mod:`.quantities`),
and a number without a unit is refused wherever it could be read in two ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from commanalyzer.foundation.quantities import (
    format_bandwidth,
    format_bytes,
    format_count,
    format_percent,
    format_seconds,
    format_throughput,
    parse_bandwidth,
    parse_bytes,
    parse_fraction,
    parse_seconds,
    parse_throughput,
)


@dataclass(frozen=True, slots=True)
class ParameterKind:
    """One parameter of a machine.

    Attributes:
        meaning: What it is, with its symbol.
        unit: Unit of the values.
        parse: Reads the user's text.
        show: Writes a value for people.
        low: Least plausible value.
        high: Greatest plausible value.
        example: How to write one.
        needs_unit: A number alone could be read in two units.
        also: Another unit, in which a program may have measured it.
    """

    meaning: str
    unit: str
    parse: Callable[[str], float]
    show: Callable[[float], str]
    low: float
    high: float
    example: str
    needs_unit: bool = True
    also: str = ""


def _time(meaning: str, low: float, high: float, example: str) -> ParameterKind:
    return ParameterKind(meaning, "s", parse_seconds, format_seconds, low, high, example)


KINDS: Mapping[str, ParameterKind] = {
    "bandwidth": ParameterKind(
        "effective bisection bandwidth per node B_c",
        *("B/s", parse_bandwidth, format_bandwidth, 1e3, 1e14, "12.5GB/s or 100Gbit/s"),
    ),
    "overlap": ParameterKind(
        "largest overlap of communication and computation O_c",
        *("1", parse_fraction, format_percent, 0.0, 1.0, "0.57 or 57%"),
        needs_unit=False,
    ),
    "throughput": ParameterKind(
        "throughput of one node R",
        *("Flop/s", parse_throughput, format_throughput, 1e6, 1e18, "3.2GFlop/s"),
        needs_unit=False,
        also="Op/s",
    ),
    "latency": _time("time of a small message from one node to another L", 1e-8, 1.0, "1.5us"),
    "message_overhead": _time("time a processor is busy per message o", 1e-9, 1.0, "300ns"),
    "gap": _time("least time between two messages of one node g", 1e-10, 1.0, "100ns"),
    "allreduce": _time("time of an allreduce", 1e-8, 1e3, "12us"),
    "bcast": _time("time of a broadcast", 1e-8, 1e3, "8us"),
    "process_bandwidth": ParameterKind(
        "bandwidth that one process of a node gets alone R_C",
        *("B/s", parse_bandwidth, format_bandwidth, 1e3, 1e14, "5GB/s"),
    ),
    "memory_bandwidth": ParameterKind(
        "memory bandwidth of one node",
        *("B/s", parse_bandwidth, format_bandwidth, 1e6, 1e15, "80GB/s"),
    ),
    "memory": ParameterKind(
        "memory of one node", *("B", parse_bytes, format_bytes, 1e6, 1e16, "64GiB"), needs_unit=False
    ),
    "cores": ParameterKind(
        "cores of one node", *("1", float, format_count, 1.0, 1e6, "16"), needs_unit=False
    ),
}
# What only allocations of nodes depend on; bounds and the document of an analysis do without.
NODE_KINDS = frozenset({"process_bandwidth", "memory_bandwidth", "memory", "cores"})
