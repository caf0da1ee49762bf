"""Raw timings in, machine parameters out: pure functions of the series."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.quantities import format_percent
from commanalyzer.machine.curves import Curve
from commanalyzer.machine.measuring.kernels import Role
from commanalyzer.machine.measuring.samples import Series
from commanalyzer.machine.parameters import KINDS, MachineParameters, Parameter
from commanalyzer.machine.statistics import (
    MedianInterval,
    availability,
    harmonic_mean_bandwidth,
    median_interval,
    significant,
    slowest,
)

# An overlap of 1 would make communication free; a measurement cannot tell it from 0.99.
_LARGEST_OVERLAP = 0.99


def estimate_network(
    series: Sequence[Series], *, name: str, date: str, flags: Sequence[str] = ()
) -> tuple[MachineParameters, tuple[str, ...]]:
    """Parameters of the network, and remarks about those that could not be told.

    Args:
        series: Of :func:`commanalyzer.machine.measuring.campaign.measure_network`.
        name: What to call the machine.
        date: ISO date of the measurement.
        flags: What spoils the numbers; goes before the note of every parameter.
    """
    prefix = f"[{', '.join(flags)}] " if flags else ""
    found = {
        "bandwidth": _bandwidth(series),
        "overlap": _overlap(series),
        "latency": _latency(series),
        "message_overhead": _message_overhead(series),
        "gap": _gap(series),
        "allreduce": _collective(series, "allreduce"),
        "bcast": _collective(series, "bcast"),
    }
    known, remarks = {}, []
    for key, p in found.items():
        if not _is_plausible(key, p.value):
            remarks.append(f"{key} was left out: {p.value:.3g} {KINDS[key].unit} is noise")
            continue
        curve = p.curve
        if curve is not None and not all(_is_plausible(key, value) for value in curve.values):
            curve = None
            remarks.append(f"{key} has no values over ranks and message sizes: some of them are noise")
        known[key] = Parameter(p.value, KINDS[key].unit, "measured", date, prefix + p.note, curve)
    return MachineParameters(name).updated(**known), tuple(remarks)


def estimate_throughput(flops: float, times_s: NDArray[np.float64], *, date: str, note: str) -> Parameter:
    """R of one program: its operations over the median time of its runs.

    Args:
        flops: Floating-point operations of one run, from the analysis.
        times_s: Wall time of each run, seconds.
        date: ISO date of the runs.
        note: What was run, and how.
    """
    time = median_interval(times_s)
    value = significant(flops / time.median)
    return Parameter(value, "Flop/s", "measured", date, f"{note}; wall time {_interval(time, 'throughput')}")


def _is_plausible(key: str, value: float) -> bool:
    """A machine file may hold it: differences of times may be negative, waiting for a core may take long."""
    return KINDS[key].low <= value <= KINDS[key].high


def _bandwidth(series: Sequence[Series]) -> Parameter:
    matchings = _select(series, "matching")
    curve = _curve(matchings, _rate)
    last = matchings[-1]
    seconds = median_interval(_round_means(last))
    sent = last.num_messages * last.message_bytes
    note = (
        f"harmonic mean over ranks and {last.times_s.shape[1]} random perfect matchings, each rank sends and "
        f"receives {last.num_messages} messages of {last.message_bytes} B at once; bytes sent per rank; "
        f"median round {KINDS['bandwidth'].show(sent / seconds.median)}, "
        f"{format_percent(seconds.confidence)} CI [{KINDS['bandwidth'].show(sent / seconds.high)}, "
        f"{KINDS['bandwidth'].show(sent / seconds.low)}]"
    )
    rings = _select(series, "ring")
    if rings:
        note += f"; random rings {KINDS['bandwidth'].show(_rate(rings[-1]))}"
    return Parameter(curve.values[-1], "B/s", note=note, curve=curve)


def _rate(item: Series) -> float:
    return harmonic_mean_bandwidth(item.num_messages * item.message_bytes, item.times_s)


def _round_means(item: Series) -> NDArray[np.float64]:
    """Mean time over the ranks of each round; idle ranks do not count."""
    return np.asarray(np.nanmean(item.times_s, axis=0), dtype=np.float64)


def _overlap(series: Sequence[Series]) -> Parameter:
    """O_c: both sides of a transfer count alike, as a program sends and receives (paper Section 5)."""
    send, receive, exchange = (np.array(_overlap_of(series, role)) for role in get_args(Role))
    sizes = tuple(float(item.message_bytes) for item in _select(series, "overlap.send.base"))
    found = np.minimum(np.maximum((send + receive) / 2.0, exchange), _LARGEST_OVERLAP)
    note = (
        "mean over message sizes; per size the mean of post-work-wait while sending and while receiving "
        "(SMB), or that of an exchange (IMB-NBC) if it is larger; means over sizes: "
        f"send {send.mean():.2f}, receive {receive.mean():.2f}, exchange {exchange.mean():.2f}"
    )
    values = tuple(significant(float(value)) for value in found)
    return Parameter(significant(float(found.mean())), "1", note=note, curve=Curve((), sizes, values))


def _overlap_of(series: Sequence[Series], role: Role) -> list[float]:
    """Hidden share of the transfer for each message size."""
    base, work, elapsed = (
        [float(np.nanmedian(item.times_s)) for item in _select(series, f"overlap.{role}.{part}")]
        for part in ("base", "work", "elapsed")
    )
    return [availability(b, w, e) for b, w, e in zip(base, work, elapsed, strict=True)]


def _latency(series: Sequence[Series]) -> Parameter:
    (trips,), (calls,) = _select(series, "round_trip"), _select(series, "call")
    call_s = median_interval(calls.times_s).median
    half = median_interval(trips.times_s / 2.0 - call_s)
    note = (
        f"half a ping-pong of {trips.message_bytes} B less {KINDS['gap'].show(call_s)} for an empty call, "
        f"median {_interval(half, 'latency')}"
    )
    return Parameter(significant(half.median), "s", note=note)


def _message_overhead(series: Sequence[Series]) -> Parameter:
    send, receive = (
        median_interval(_select(series, key)[0].times_s) for key in ("send_overhead", "receive_overhead")
    )
    note = (
        "mean of posting a send and of taking in a message that has arrived, per additional message of a "
        f"batch: send {_interval(send, 'message_overhead')}, receive {_interval(receive, 'message_overhead')}"
    )
    return Parameter(significant((send.median + receive.median) / 2.0), "s", note=note)


def _gap(series: Sequence[Series]) -> Parameter:
    (item,) = _select(series, "gap")
    gap = median_interval(item.times_s)
    note = f"per additional {item.message_bytes} B message of a stream, median {_interval(gap, 'gap')}"
    return Parameter(significant(gap.median), "s", note=note)


def _collective(series: Sequence[Series], name: str) -> Parameter:
    items = _select(series, name)
    curve = _curve(items, lambda item: median_interval(slowest(item.times_s)).median)
    largest = next(item for item in items if item.num_ranks == items[-1].num_ranks)
    time = median_interval(slowest(largest.times_s))
    note = (
        f"slowest rank, median over repetitions; value: {largest.num_ranks} ranks, "
        f"{largest.message_bytes} B, {_interval(time, name)}"
    )
    return Parameter(significant(time.median), "s", note=note, curve=curve)


def _select(series: Iterable[Series], benchmark: str) -> list[Series]:
    """Series of one benchmark by rank count, then message size."""
    found = [item for item in series if item.benchmark == benchmark]
    return sorted(found, key=lambda item: (item.num_ranks, item.message_bytes))


def _curve(items: Sequence[Series], summary: Callable[[Series], float]) -> Curve:
    return Curve(
        nodes=tuple(sorted({float(item.num_ranks) for item in items})),
        message_bytes=tuple(sorted({float(item.message_bytes) for item in items})),
        values=tuple(significant(summary(item)) for item in items),
    )


def _interval(found: MedianInterval, key: str) -> str:
    show = KINDS["latency" if key == "throughput" else key].show
    return (
        f"{show(found.median)}, {format_percent(found.confidence)} CI "
        f"[{show(found.low)}, {show(found.high)}] of {found.num_values}"
    )
