"""The scaling table as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bench.scaling_cases import LEAST_POINTS, SMALLER
from commanalyzer.scaling.laws.formula import accuracy_text, law_name, law_text
from commanalyzer.scaling.laws.law import Law

if TYPE_CHECKING:
    from bench.scaling import CaseResult

_HEAD = f"""# Scaling

Made by `python -m bench.scaling --extra-p COMMAND -o workloads/SCALING.md` with VERSIONS. Do not
edit: cases and notes are in `bench/scaling_cases.py`.

A law of the bytes is fitted to small problems and must predict a large one: at least {SMALLER} times the
volume of the largest one fitted (n to the power of the dimensions of what is divided). Small problems are
*analysed*: the sequential program, at the blocks of its MPI counterpart (`workloads/validation.toml`),
known differences taken out. The large problem is *counted*: real bytes between the ranks of the MPI program
in its main loop. The law never sees a counted byte or the large problem.

Parts have at least {LEAST_POINTS} points along each divided direction, in the fit and in the prediction:
smaller ones exchange other things. q1 x q2 (x q3) is the most cubic grid of p nodes. Error is predicted /
counted - 1. Extra-P is version 4.2 with negative exponents allowed, fitted to the same points; it is not
told that p is a node count.

The terms of process grids, of neighbours and of random gathers, the sizes, and what the notes say were
chosen with these workloads in view. This table joins several runs of the command (`--data`).
"""


def document(results: Sequence[CaseResult], failed: Sequence[str], versions: Sequence[str]) -> str:
    """Markdown text of all results."""
    lines = [
        _HEAD.replace("VERSIONS", ", ".join(versions)),
        *_summary(results),
        *_laws(results),
        *_errors(results),
    ]
    if failed:
        lines += ["", "## Failed", "", *(f"* {text}" for text in failed)]
    return "\n".join(lines) + "\n"


def _summary(results: Sequence[CaseResult]) -> list[str]:
    lines = [
        "## Summary",
        "",
        "| workload | fitted n | predicted n | p | median error | worst | Extra-P: median | worst |",
        "| --- | --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    ours: list[float] = []
    theirs: list[float] = []
    for result in results:
        sizes = sorted({n for _, n in result.data.points})
        counts = [p for p, _ in result.data.targets]
        own = np.abs(result.errors(result.law))
        ours += own.tolist()
        other = np.abs(result.errors(result.extrap)) if result.extrap else None
        theirs += other.tolist() if other is not None else []
        lines.append(
            f"| {result.case.title} | {sizes[0]} to {sizes[-1]} | {result.case.target} "
            f"| {counts[0]} to {counts[-1]} | {_pair(own)} | {_pair(other)} |"
        )
    lines.append(
        f"| **all runs** | | | | {_pair(np.array(ours))} | {_pair(np.array(theirs) if theirs else None)} |"
    )
    notes = [f"* `{r.case.title}`: {r.case.note}" for r in results if r.case.note]
    return [*lines, "", *notes, ""] if notes else [*lines, ""]


def _pair(errors: np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None) -> str:
    return (
        "- | -"
        if errors is None
        else f"{_percent(float(np.median(errors)))} | {_percent(float(errors.max()))}"
    )


def _percent(error: float) -> str:
    return f"{100 * error:.1f} %"


def _laws(results: Sequence[CaseResult]) -> list[str]:
    lines = [
        "## Laws",
        "",
        "Bytes of the whole main loop. The prediction error is that of leaving points out, one by one "
        "and those with the largest n and p.",
        "",
        "| workload | law | reads as | prediction error | Extra-P |",
        "| --- | --- | --- | ---: | --- |",
    ]
    for r in results:
        lines.append(
            f"| {r.case.title} | {law_text(r.law)} | {law_name(r.law)} | {accuracy_text(r.law.formula)} "
            f"| {_extrap(r.extrap)} |"
        )
    return [*lines, ""]


def _extrap(law: Law | None) -> str:
    return "-" if law is None else law_text(law)


def _errors(results: Sequence[CaseResult]) -> list[str]:
    lines = [
        "## Runs",
        "",
        "| workload | p | counted bytes | predicted | band | error | Extra-P | error |",
        "| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for r in results:
        targets = np.array(r.data.targets, dtype=np.float64)
        point = {"p": targets[:, 0], "n": targets[:, 1]}
        own, (low, high) = r.law.predict(point), r.law.band(point)
        other = r.extrap.predict(point) if r.extrap else np.full(len(own), np.nan)
        for i, ((p, n), counted) in enumerate(zip(r.data.targets, r.data.counted_bytes, strict=True)):
            shown = f"{other[i]:,.0f} | {_signed(other[i] / counted - 1)}" if r.extrap else "- | -"
            lines.append(
                f"| {r.case.title.replace(' n ', f' {n} ')} | {p} | {counted:,} | {own[i]:,.0f} | "
                f"{low[i]:,.0f} to {high[i]:,.0f} | {_signed(own[i] / counted - 1)} | {shown} |"
            )
    return lines


def _signed(error: float) -> str:
    return f"{100 * error:+.1f} %"
