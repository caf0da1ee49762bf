"""Measurements -> sections of a document."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from commanalyzer.validation.document import Document, Section
from tests.bench.exponents import Growth
from tests.bench.history import Change
from tests.bench.measuring import Cost, Measured
from tests.bench.peers import PROGRAMS, Peer

_NONE = "-"


def performance_document(
    measured: Sequence[Measured],
    laws: Sequence[Growth],
    others: Sequence[Peer],
    changes: Sequence[Change],
    origin: str,
) -> Document:
    """Everything that a benchmark run says; ``origin`` is its command and machine."""
    sections = [_recording(measured, origin), _stages(measured)]
    if laws:
        sections.append(_growth(laws))
    if others:
        sections.append(_peers(others))
    if changes:
        text = "A fifth or more above the last run of the history on this kind of machine."
        items = tuple(f"{c.what}: {c.before:.2f} before, {c.now:.2f} now" for c in changes)
        sections.append(Section("Slower than before", (text,), items=items, text_columns=0))
    return Document("Performance", tuple(sections))


def _recording(measured: Sequence[Measured], origin: str) -> Section:
    text = (
        "CPU time of the recording over that of the plain program (-O2), in turn, medians: of a short run, "
        "of a longer one of the same data, and of what the longer run does more (steps that repeat what is "
        "known). Programs with private temporaries are recorded twice, the first time until they have "
        "shown these; all recordings are in the ratio."
    )
    columns = (
        *("workload", "plain s", "recorded s", "ratio", "longer run", "plain s", "recorded s", "ratio"),
        *("per added second", "recordings", "spread", "plain MB", "recorded MB"),
    )
    ratios = [m.short.ratio for m in measured], [m.long.ratio for m in measured if m.long]
    means = [math.exp(statistics.fmean(map(math.log, values))) for values in ratios if values]
    mean = (
        f"Geometric mean of the ratios: {', '.join(f'{value:.2f}' for value in means)} (short, longer runs)."
    )
    return Section("Recording", (origin, text, mean), columns, tuple(map(_cells, measured)))


def _cells(m: Measured) -> tuple[str, ...]:
    longer = (_NONE,) * 4 if m.long is None else (m.long.case.split(" ", 1)[1], *_times(m.long))
    return (
        m.short.case,
        *_times(m.short),
        *longer,
        _NONE if m.added_ratio is None else f"{m.added_ratio:.2f}",
        str(m.short.recordings),
        f"{m.short.spread:.0%}",
        f"{m.short.plain_bytes / 1e6:.0f}",
        f"{m.short.recorded_bytes / 1e6:.0f}",
    )


def _times(cost: Cost) -> tuple[str, str, str]:
    return f"{cost.plain_s:.3f}", f"{cost.recorded_s:.2f}", f"{cost.ratio:.2f}"


def _stages(measured: Sequence[Measured]) -> Section:
    text = (
        "The graphs of the short runs. Bytes per distinct flow, in memory and in the result file; vertices "
        "are included. Build: from the traces of all recordings. Divide: the whole portfolio for 16 nodes. "
        "Count: one division."
    )
    columns = (
        *("workload", "flows", "B/flow", "B/flow in file", "build s", "divide s", "count s"),
        *("build s per 10M flows", "count s per 10M flows"),
    )
    rows = []
    for m in measured:
        s, flows = m.stages, max(m.stages.flows, 1)
        rows.append(
            (
                m.short.case,
                f"{s.flows:,}",
                f"{s.graph_bytes / flows:.2f}",
                f"{s.file_bytes / flows:.2f}",
                f"{s.graph_s:.2f}",
                _NONE if s.divide_s is None else f"{s.divide_s:.1f}",
                f"{s.count_s:.2f}",
                f"{s.graph_s / flows * 1e7:.2f}",
                f"{s.count_s / flows * 1e7:.2f}",
            )
        )
    return Section("Graphs and stages", (text,), columns, tuple(rows))


def _growth(laws: Sequence[Growth]) -> Section:
    text = (
        "Exponents of three sizes, fitted: 1 is proportional to what grows, 0 is constant. Memory of the "
        "graph should be constant in time steps; constant parts of times make small sizes fall below 1."
    )
    columns = ("workload", "sizes", "what grows", "recording", "memory of the graph", "building", "counting")
    rows = [
        (
            f"{g.series.name} {g.series.arguments.format('n')}",
            ", ".join(map(str, g.series.sizes)),
            g.series.grows,
            *(f"{value:.2f}" for value in (g.record, g.memory, g.build, g.count)),
        )
        for g in laws
    ]
    return Section("Growth", (text,), columns, tuple(rows), 3)


def _peers(others: Sequence[Peer]) -> Section:
    text = (
        "CPU time over the plain program's (clang -O2 of the system), tools that are installed. None of them "
        "records where values come from."
    )
    names = (" ".join((name, *arguments)) for name, arguments in PROGRAMS)
    rows = [(p.name, *(_NONE if r is None else f"{r:.1f}" for r in p.ratios)) for p in others]
    return Section("Other tools", (text,), ("tool", *names), tuple(rows))
