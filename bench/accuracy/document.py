"""Rows of a validation -> sections with tables and sentences, for any output format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

from bench.accuracy.cases import CaseProgram
from bench.accuracy.run import VARIANTS, AblationRow, CaseRow, Failure, OwnDecomposition
from bench.sections import Document, Passage
from commanalyzer.foundation.errors import ConfigError

_NONE = "-"
_ACCURATE = 0.97


def validation_document(
    found: Sequence[CaseRow | Failure],
    ablation: Sequence[AblationRow | Failure],
    command: str,
    versions: Sequence[str],
) -> Document:
    """Everything that a validation says; a :class:`ConfigError` if every case failed.

    ``found`` are comparisons, at least one, and what failed; ``ablation`` likewise, or empty. They were made
    by ``command`` with these ``versions`` of tool, compiler, MPI.
    """
    rows = [item for item in found if isinstance(item, CaseRow)]
    failures = [item for item in (*found, *ablation) if isinstance(item, Failure)]
    variants = [item for item in ablation if isinstance(item, AblationRow)]
    if not rows:
        raise ConfigError(f"expected a case that can be compared, found none: {failures[0].reason}")
    of_rows = (_summary, _found, _reasons, _own, _excesses, _notes)
    sections = [_head(rows, command, versions), *(make(rows) for make in of_rows), _failed(failures)]
    if variants:
        sections.append(_ablation(variants))
    return Document("Accuracy", tuple(section for section in sections if section is not None))


def percent(value: float | None) -> str:
    """``97.3 %``; a dash for nothing."""
    return _NONE if value is None else f"{100 * value:.1f} %"


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _workloads(rows: Sequence[CaseRow]) -> list[CaseProgram]:
    return list(dict.fromkeys(row.workload for row in rows))


def _head(rows: Sequence[CaseRow], command: str, versions: Sequence[str]) -> Passage:
    paragraphs = (
        f"Made by `{command}` with {', '.join(versions)}. Do not edit: notes and cases are in the data file.",
        "Counted: bytes between different ranks that the MPI counterpart of a workload sends in its loop "
        "(collectives at least volume). Predicted: what the analysis of the sequential program says for the "
        "same loop and as many parts; it never sees the MPI program. Accuracy is 1 - |predicted - counted| / "
        "counted. The pair agreement compares the matrices entry by entry, 2 sum min / (sum + sum), after "
        "the best numbering of the parts.",
        "Predicted is the likeliest number. The analysis looks for the cheapest decomposition, "
        "the MPI programs use blocks: a ratio below 1 lowers the accuracy. The found decomposition is "
        "better than the program for certain only if the upper end is below the counted bytes as well; if"
        " the bracket contains the counted bytes, it may or may not be. A second table of cases takes the"
        " choice out: both use the blocks of the MPI program.",
        "Blocks fix the arrays only. Where other values are (work on one element, sums in registers) "
        "follows from rules of the data file; these rules were chosen with the counted bytes of some of "
        "these runs in view.",
    )
    count = f"{len(rows)} runs of {len({row.workload.name for row in rows})} workloads."
    return Passage("How to read this", (*paragraphs, count), text_columns=0)


def _summary(rows: Sequence[CaseRow]) -> Passage:
    names = list(dict.fromkeys(row.workload.name for row in rows))
    lines = [_summary_line(name, [r for r in rows if r.workload.name == name]) for name in names]
    lines.append(_summary_line("all runs", rows))
    columns = (
        *("workload", "runs", "accuracy, mean", "worst", "better than MPI", "MPI in bracket", "ratio"),
        *("pair agreement", "least found, mean", "hpdc18, mean", "MPI's blocks, mean", "worst", "exact"),
    )
    return Passage("Summary", (), columns, tuple(lines))


def _summary_line(name: str, rows: Sequence[CaseRow]) -> tuple[str, ...]:
    ratios = [row.predicted_bytes / row.counted_bytes for row in rows if row.counted_bytes]
    own = [row.own_accuracy for row in rows]
    known = [value for value in own if value is not None]
    better = sum(row.high_bytes < row.counted_bytes for row in rows)
    inside = sum(row.predicted_bytes <= row.counted_bytes <= row.high_bytes for row in rows)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else _NONE
    found = [row.accuracy for row in rows]
    means = (
        _mean(row.agreement for row in rows),
        _mean(row.least_accuracy for row in rows),
        _mean(row.paper_accuracy for row in rows),
    )
    return (
        *(name, str(len(rows)), percent(_mean(found)), percent(_least(found))),
        *(f"{better} of {len(rows)}", f"{inside} of {len(rows)}", spread),
        *map(percent, (*means, _mean(own), _least(own))),
        f"{sum(value == 1.0 for value in known)} of {len(known)}" if known else _NONE,
    )


def _found(rows: Sequence[CaseRow]) -> Passage:
    columns = (
        *("workload", "arguments", "MPI blocks", "division", "p", "counted", "predicted"),
        *("upper end", "ratio", "accuracy", "pair agreement", "imbalance", "least found", "its bytes"),
        *("its accuracy", "hpdc18", "accuracy of hpdc18"),
    )
    text = (
        "What a programmer would write, model `volume`; bytes: the cheapest regular blocks, or one array by "
        "a table. Least found: by any means."
    )
    return Passage("Division found", (text,), columns, tuple(map(_found_cells, rows)), 4)


def _found_cells(row: CaseRow) -> tuple[str, ...]:
    ratio = f"{row.predicted_bytes / row.counted_bytes:.3f}" if row.counted_bytes else _NONE
    return (
        *(row.workload.name, " ".join(row.arguments), row.workload.grids[row.nodes].lstrip("=")),
        *(row.method, str(row.nodes)),
        *(f"{amount:,}" for amount in (row.counted_bytes, row.predicted_bytes, row.high_bytes)),
        *(ratio, percent(row.accuracy), percent(row.agreement), f"{row.imbalance:.3f}"),
        *(row.least_method, f"{row.least_bytes:,}", percent(row.least_accuracy)),
        *(_NONE if row.paper_bytes is None else f"{row.paper_bytes:,}", percent(row.paper_accuracy)),
    )


def _reasons(rows: Sequence[CaseRow]) -> Passage | None:
    """Difference of every run that is not accurate, as a sum of its reasons."""
    misfits = [(row, row.own) for row in rows if row.own is not None and row.accuracy < _ACCURATE]
    if not misfits:
        return None
    columns = (
        *("workload", "arguments", "p", "predicted - counted", "division found", "known differences", "rest"),
        "accuracy of the rest",
    )
    text = (
        f"Runs of less than {percent(_ACCURATE)}, in percent of the counted bytes. Division found: bytes of "
        "that division less those of the MPI program's blocks, both predicted; negative where the "
        "search has found something cheaper than the program's blocks, positive where it has missed them. "
        "Known differences: the excesses listed below. Rest: what is left; this alone is error of the model."
    )
    cells = tuple(_reason_cells(row, own) for row, own in misfits)
    return Passage("Reasons of differences", (text,), columns, cells, 2)


def _reason_cells(row: CaseRow, own: OwnDecomposition) -> tuple[str, ...]:
    division = row.predicted_bytes - own.predicted_bytes
    known = own.excess("predicted") - own.excess("counted")
    difference = row.predicted_bytes - row.counted_bytes
    shares = (difference, division, known, difference - division - known)
    return (
        row.workload.name,
        " ".join(row.arguments),
        str(row.nodes),
        *(f"{100 * amount / row.counted_bytes:+.1f} %" for amount in shares),
        percent(row.own_accuracy),
    )


def _own(rows: Sequence[CaseRow]) -> Passage | None:
    known = [(row, row.own) for row in rows if row.own is not None]
    if not known:
        return None
    columns = (
        *("workload", "arguments", "MPI blocks", "p", "counted", "without excess", "predicted"),
        *("upper end", "without excess", "difference", "accuracy", "pair agreement"),
    )
    text = (
        "Every array divided as in the MPI program; bytes. Excesses are known differences, listed below. The "
        "pair agreement is that of the plain matrices, rank by rank."
    )
    cells = tuple(_own_cells(row, own) for row, own in known)
    return Passage("Decomposition of the MPI program", (text,), columns, cells, 3)


def _own_cells(row: CaseRow, own: OwnDecomposition) -> tuple[str, ...]:
    counted = row.counted_bytes - own.excess("counted")
    predicted = own.predicted_bytes - own.excess("predicted")
    amounts = (row.counted_bytes, counted, own.predicted_bytes, own.high_bytes, predicted)
    return (
        *(row.workload.name, " ".join(row.arguments), row.workload.grids[row.nodes].lstrip("=")),
        *(str(row.nodes), *(f"{amount:,}" for amount in amounts)),
        f"{predicted - counted:+,}" if predicted != counted else "0",
        *(percent(row.own_accuracy), percent(own.agreement)),
    )


def _excesses(rows: Sequence[CaseRow]) -> Passage | None:
    lines = []
    for workload in _workloads(rows):
        for item in workload.excesses:
            mine = [row for row in rows if row.workload == workload and row.own is not None]
            amounts = [(row.own.excesses[item], row.counted_bytes) for row in mine if row.own is not None]
            shares = [amount / counted for amount, counted in amounts if counted]
            where = "sent by the MPI program only" if item.side == "counted" else "predicted only"
            amount = item.bytes.replace("**", "^").replace("*", "x") if item.bytes else "counted per run"
            most = percent(max(shares, default=None))
            lines.append((workload.name, item.name, where, item.why, amount, most))
    if not lines:
        return None
    columns = ("workload", "excess", "where", "why", "bytes", "most of counted")
    text = "p is the number of ranks, g0, g1, g2 the process grid, other names are arguments of the program."
    return Passage("Excesses", (text,), columns, tuple(dict.fromkeys(lines)), 5)


def _notes(rows: Sequence[CaseRow]) -> Passage | None:
    notes = [f"**{w.name}**: {w.note}" for w in _workloads(rows) if w.note]
    return Passage("Notes", items=tuple(dict.fromkeys(notes)), text_columns=0) if notes else None


def _failed(failures: Sequence[Failure]) -> Passage | None:
    items = [f"**{f.workload.name}** {' '.join(f.arguments)}: {' '.join(f.reason.split())}" for f in failures]
    return Passage("Not compared", items=tuple(items), text_columns=0) if items else None


def _ablation(rows: Sequence[AblationRow]) -> Passage:
    names = list(dict.fromkeys(row.workload.name for row in rows))
    best = _ablation_lines("best", rows, names, lambda row: row.best_accuracy)
    own = _ablation_lines("MPI program's", rows, names, lambda row: row.own_accuracy)
    text = (
        "Mean accuracy with one rule left out, smallest size of each workload, against equal counted bytes. "
        "Negative: more than twice as much is predicted as counted. A dash: not counted, or the graph would "
        "be too large. An accuracy of the best decomposition may rise where less is seen, because then less "
        "is counted; the decomposition of the MPI program shows what is seen."
    )
    return Passage("Ablation", (text,), ("decomposition", "variant", *names, "mean"), (*own, *best), 2)


def _ablation_lines(
    label: str,
    rows: Sequence[AblationRow],
    names: Sequence[str],
    value: Callable[[AblationRow], float | None],
) -> list[tuple[str, ...]]:
    lines = []
    for variant in VARIANTS:
        mine = [row for row in rows if row.variant == variant]
        if all(value(row) is None for row in mine):
            continue
        means = [_mean(value(row) for row in mine if row.workload.name == name) for name in names]
        lines.append((label, variant.name, *map(percent, means), percent(_mean(map(value, mine)))))
    return lines
