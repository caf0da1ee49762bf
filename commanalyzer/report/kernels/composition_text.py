"""Designs and measured blocks as text for a terminal, and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_count, format_percent, format_seconds
from commanalyzer.kernels.composition.answer import Answer
from commanalyzer.kernels.composition.formulas import formula_of, formula_of_sum
from commanalyzer.kernels.composition.measured import MeasuredBlock
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
    for line in _lines(found):
        console.print(Text(line))


def _stages(found: Answer) -> Table:
    table = Table(title="Sums of block times, the largest decides", title_justify="left")
    for name, justify in (("sum", "left"), ("time", "right"), ("idle", "right"), ("formula in us", "left")):
        table.add_column(name, justify="right" if justify == "right" else "left")
    values = found.design.values
    for total in sorted(found.time.form.sums, key=lambda s: -float(found.time.sum_at(s, values)[0])):
        seconds = float(found.time.sum_at(total, values)[0])
        idle = 1 - seconds / found.element_time_s if found.element_time_s else 0.0
        table.add_row(
            str(total), format_seconds(seconds), format_percent(idle), formula_of_sum(found.time, total)
        )
    return table


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
    content = {
        "schema": SCHEMA,
        "name": found.design.name,
        "system": str(found.system),
        "values": dict(values),
        "cores": found.design.cores,
        "threads": found.threads,
        "counts": None if found.counts is None else asdict(found.counts),
        "element_time_s": found.element_time_s,
        "latency_s": found.latency_s,
        "sequential_s": found.sequential_s,
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
        table = Table(title=f"{block.name}, one call", title_justify="left")
        for name in (block.parameter, "median", "95 % interval", "mean", "samples", "calls"):
            table.add_column(name, justify="right")
        for t in block.times:
            low, high = format_seconds(t.seconds.low), format_seconds(t.seconds.high)
            table.add_row(
                f"{t.size:g}",
                format_seconds(t.seconds.median),
                f"{low} - {high}",
                format_seconds(t.mean_s),
                str(t.seconds.num_values),
                str(t.calls_per_sample),
            )
        console.print(table)
    error = accuracy_text(block.law.formula)
    console.print(Text(f"time = {law_text(block.law)} s (error of prediction {error})"))
