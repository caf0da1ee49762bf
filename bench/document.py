"""Measurements -> sections of a document."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.exponents import Growth
from bench.history import Change
from bench.measuring import Cost, Measured
from bench.peers import PROGRAMS, Peer
from bench.sections import Document, Passage, markdown_text, show_document
from commanalyzer.foundation.files import write_text
from commanalyzer.report.result.text import make_console

_NONE = "-"


def show_and_write(document: Document, output: Path | None) -> None:
    """Print a document, and write it to a Markdown file if one is named."""
    show_document(document, make_console(sys.stdout, width=200))
    if output is not None:
        write_text(output, markdown_text(document), force=True)


def performance_document(
    measured: Sequence[Measured],
    extra: Sequence[Measured],
    remarks: tuple[str, ...],
    laws: Sequence[Growth],
    others: Sequence[Peer],
    changes: Sequence[Change],
    preface: tuple[str, ...],
) -> Document:
    """Everything that a benchmark run says.

    Args:
        measured: One input of each workload, of which there are means.
        extra: Further inputs.
        remarks: About workloads.
        laws: How costs grow.
        others: Other tools.
        changes: What is slower than before.
        preface: Command, machine and its memory.
    """
    sections = [_recording(measured, extra, remarks, preface), _stages([*measured, *extra])]
    if laws:
        sections.append(_growth(laws))
    if others:
        sections.append(_peers(others))
    if changes:
        text = "A fifth or more above the last run of the history on this kind of machine."
        items = tuple(f"{c.what}: {c.before:.2f} before, {c.now:.2f} now" for c in changes)
        sections.append(Passage("Slower than before", (text,), items=items, text_columns=0))
    return Document("Performance", tuple(sections))


def _recording(
    measured: Sequence[Measured],
    extra: Sequence[Measured],
    remarks: tuple[str, ...],
    preface: tuple[str, ...],
) -> Passage:
    text = (
        "CPU time of the recording over that of the plain program (-O2), in turn, medians: of a short run "
        "and longer ones of the same data; per added second: of what a run does more than the one above it "
        "(steps that repeat what is known). Programs with private temporaries are recorded twice, the first "
        "time until they have shown these; all recordings are in the ratio."
    )
    columns = (
        *("run", "plain s", "recorded s", "ratio", "per added second"),
        *("recordings", "spread", "plain MB", "recorded MB"),
    )
    cells = tuple(
        _cells(*run) for m in (*measured, *extra) for run in zip(m.runs, m.added_ratios, strict=True)
    )
    return Passage(
        "Recording", (*preface, text, _means(measured), *_beside(extra)), columns, cells, items=remarks
    )


def _means(measured: Sequence[Measured]) -> str:
    """Geometric means of the ratios: of the first runs, of the second ones, ..."""
    means = []
    for number in range(max((len(m.runs) for m in measured), default=0)):
        runs = [m.runs[number] for m in measured if number < len(m.runs)]
        mean = math.exp(statistics.fmean(math.log(run.ratio) for run in runs))
        seconds = statistics.median(run.plain_s for run in runs)
        missing = [m.runs[0].case.split(" ", 1)[0] for m in measured if number >= len(m.runs)]
        without = f", without {', '.join(missing)}" if missing else ""
        means.append(f"{mean:.2f} of runs of {seconds:.1f} s (median{without})")
    return f"Geometric mean of the ratios: {'; '.join(means)}."


def _beside(extra: Sequence[Measured]) -> tuple[str, ...]:
    """What the means leave out."""
    runs = [f"{run.case} ({run.ratio:.2f})" for m in extra for run in m.runs]
    return (f"The means have one input of each workload; without {', '.join(runs)}.",) if runs else ()


def _cells(cost: Cost, added_ratio: float | None) -> tuple[str, ...]:
    return (
        cost.case,
        f"{cost.plain_s:.3f}",
        f"{cost.recorded_s:.2f}",
        f"{cost.ratio:.2f}",
        _NONE if added_ratio is None else f"{added_ratio:.2f}",
        str(cost.recordings),
        f"{cost.spread:.0%}",
        f"{cost.plain_bytes / 1e6:.0f}",
        f"{cost.recorded_bytes / 1e6:.0f}",
    )


def _stages(measured: Sequence[Measured]) -> Passage:
    text = (
        "The graphs of the short runs. Bytes per distinct flow, in memory and in the result file; vertices "
        "are included. Build: from the traces of all recordings. Divide: the whole portfolio for 16 nodes. "
        "Count: one division, 16 runs of values, without the totals that all divisions share."
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
                m.runs[0].case,
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
    return Passage("Graphs and stages", (text,), columns, tuple(rows))


def _growth(laws: Sequence[Growth]) -> Passage:
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
    return Passage("Growth", (text,), columns, tuple(rows), 3)


def _peers(others: Sequence[Peer]) -> Passage:
    text = (
        "CPU time over the plain program's (clang -O2 of the system), tools that are installed. None of them "
        "records where values come from."
    )
    names = (" ".join((name, *arguments)) for name, arguments in PROGRAMS)
    rows = [(p.name, *(_NONE if r is None else f"{r:.1f}" for r in p.ratios)) for p in others]
    return Passage("Other tools", (text,), ("tool", *names), tuple(rows))
