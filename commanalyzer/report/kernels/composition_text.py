"""Designs and measured blocks as text for a terminal, and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_count, format_percent, format_seconds
from commanalyzer.kernels.composition.answer import Answer
from commanalyzer.kernels.composition.expressions import Sum
from commanalyzer.kernels.composition.formulas import formula_of, formula_of_sum
from commanalyzer.kernels.composition.measured import MeasuredBlock, SizeTimes
from commanalyzer.report.result.json_document import picked
from commanalyzer.report.tables import Field, numeric, print_lines, terminal_table, worded
from commanalyzer.scaling.laws.formula import accuracy_text, law_text

SCHEMA = "commanalyzer.composition/1"


def show_answer(found: Answer, console: Console, *, quiet: bool = False) -> None:
    """Print a design's answer; only the time with ``quiet``."""
    design = found.design
    at = ", ".join(f"{name} = {value:g}" for name, value in design.values.items())
    console.print(Text(f"{design.name}: {found.system}"))
    console.print(Text(f"at {at}, {found.threads} of {design.cores} cores" if at else "at any size"))
    if found.counts is not None:
        chosen = ", ".join(f"{name} = {count}" for name, count in found.counts.counts.items())
        how = "no other counts are faster" if found.counts.is_exhaustive else "found by growing one by one"
        console.print(Text(f"best counts: {chosen} ({how})"))
    rate = format_count(1 / found.element_time_s) if found.element_time_s else "any number"
    console.print(
        Text(
            f"element time {format_seconds(found.element_time_s)} ({rate} elements/s), "
            f"latency {format_seconds(found.latency_s)}, "
            f"{found.speedup:.3g} times faster than one thread"
        )
    )
    if design.elements:
        console.print(Text(f"{format_count(design.elements)} elements: {format_seconds(found.total_s)}"))
    if quiet:
        return
    console.print(_stages(found))
    console.print(Text(f"element time = {found.time.form}"))
    print_lines(console, _lines(found))


def _stages(found: Answer) -> Table:
    def seconds(total: Sum) -> float:
        return float(found.time.sum_at(total, found.design.values)[0])

    def idle(total: Sum) -> float:
        return 1 - seconds(total) / found.element_time_s if found.element_time_s else 0.0

    fields: tuple[Field[Sum], ...] = (
        worded("sum", str),
        numeric("time", lambda total: format_seconds(seconds(total))),
        numeric("idle", lambda total: format_percent(idle(total))),
        worded("formula in us", lambda total: formula_of_sum(found.time, total)),
    )
    slowest = sorted(found.time.form.sums, key=seconds, reverse=True)
    return terminal_table(slowest, fields, "Sums of block times, the largest decides")


def _lines(found: Answer) -> list[str]:
    lines = []
    if len(found.pieces) > 1:
        name = found.design.divided
        borders = ", ".join(f"{name} = {piece.high:.6g}" for piece in found.pieces[:-1])
        sums = ", then ".join(str(piece.total) for piece in found.pieces)
        lines.append(f"bottleneck with growing {name}: {sums}; it changes at {borders}")
    gains = sorted(found.gains.items(), key=lambda item: -item[1])
    told = ", ".join(f"{name} {gain:.3g}x" for name, gain in gains)
    lines.append(f"if one block were twice as fast: {told}")
    if found.is_beyond:
        lines.append("some model is used outside of the sizes that it was measured for")
    return lines


def answer_json(found: Answer) -> str:
    """JSON text of an answer."""
    values, formula = found.design.values, formula_of(found.time)
    content: dict[str, object] = {
        "schema": SCHEMA,
        "name": found.design.name,
        "system": str(found.system),
        "values": dict(values),
        "cores": found.design.cores,
        "threads": found.threads,
        "counts": None if found.counts is None else asdict(found.counts),
        **picked(found, "element_time_s latency_s sequential_s"),
        "elements": found.design.elements,
        "total_s": found.total_s,
        "bottleneck": str(found.bottleneck),
        "formula": None if formula is None else formula._asdict(),
        "sums": [
            {
                "sum": str(total),
                "time_s": float(found.time.sum_at(total, values)[0]),
                "formula_us": formula_of_sum(found.time, total),
            }
            for total in found.time.form.sums
        ],
        "pieces": [{"low": p.low, "high": p.high, "sum": str(p.total)} for p in found.pieces],
        "gains": dict(found.gains),
        "is_beyond": found.is_beyond,
    }
    return json.dumps(content, indent=1) + "\n"


def show_block(block: MeasuredBlock, console: Console, *, quiet: bool = False) -> None:
    """Print the times of a block and its law; only the law with ``quiet``."""
    if not quiet:
        fields: tuple[Field[SizeTimes], ...] = (
            numeric(block.parameter, lambda t: f"{t.size:g}"),
            numeric("median", lambda t: format_seconds(t.seconds.median)),
            numeric(
                "95 % interval", lambda t: " - ".join(map(format_seconds, (t.seconds.low, t.seconds.high)))
            ),
            numeric("mean", lambda t: format_seconds(t.mean_s)),
            numeric("samples", lambda t: str(t.seconds.num_values)),
            numeric("calls", lambda t: str(t.calls_per_sample)),
        )
        console.print(terminal_table(block.times, fields, f"{block.name}, one call"))
    error = accuracy_text(block.law.formula)
    console.print(Text(f"time = {law_text(block.law)} s (error of prediction {error})"))
