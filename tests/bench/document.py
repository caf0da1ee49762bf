"""Measurements -> sections of a document."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from commanalyzer.validation.document import Document, Section
from tests.bench.exponents import Growth
from tests.bench.history import Change
from tests.bench.measuring import Measured
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
    sections = [_workloads(measured, origin)]
    if laws:
        sections.append(_growth(laws))
    if others:
        sections.append(_peers(others))
    if changes:
        text = "A fifth or more above the last run of the history on this kind of machine."
        items = tuple(f"{c.case}: {c.before:.1f} x before, {c.now:.1f} x now" for c in changes)
        sections.append(Section("Slower than before", (text,), items=items, text_columns=0))
    return Document("Performance", tuple(sections))


def _workloads(measured: Sequence[Measured], origin: str) -> Section:
    mean = math.exp(statistics.fmean(math.log(m.ratio) for m in measured))
    text = (
        "CPU time of the recording over that of the plain program (-O2), in turn, medians. Programs with "
        "private temporaries are recorded twice; both are in the ratio. Bytes per flow: of distinct flows, "
        "in memory and in the result file. Divide: the whole portfolio for 16 nodes. Count: one division."
    )
    columns = (
        *("workload", "plain s", "recorded s", "recordings", "ratio", "spread", "plain MB", "recorded MB"),
        *("flows", "B/flow", "B/flow in file", "graph s", "divide s", "count s", "count s per 10M flows"),
    )
    rows = [_cells(m) for m in measured]
    return Section(
        "Workloads",
        (origin, text, f"Geometric mean of the ratios: {mean:.2f}."),
        columns,
        tuple(rows),
    )


def _cells(m: Measured) -> tuple[str, ...]:
    flows = max(m.flows, 1)
    return (
        m.case,
        f"{m.plain_s:.3f}",
        f"{m.recorded_s:.2f}",
        str(m.recordings),
        f"{m.ratio:.1f}",
        f"{m.spread:.0%}",
        f"{m.plain_bytes / 1e6:.0f}",
        f"{m.recorded_bytes / 1e6:.0f}",
        f"{m.flows:,}",
        f"{m.graph_bytes / flows:.1f}",
        f"{m.file_bytes / flows:.2f}",
        f"{m.graph_s:.2f}",
        _NONE if m.divide_s is None else f"{m.divide_s:.1f}",
        f"{m.count_s:.2f}",
        f"{m.count_s / flows * 1e7:.2f}",
    )


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
