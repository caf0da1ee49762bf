"""Designs and measured blocks as text for a terminal, and as JSON.

A composed system as nested boxes, with the time of every block.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.files import write_atomically
from commanalyzer.foundation.quantities import format_count, format_percent, format_seconds
from commanalyzer.kernels.composition.answer import Answer
from commanalyzer.kernels.composition.expressions import Sum, element_time
from commanalyzer.kernels.composition.formulas import formula_of, formula_of_sum
from commanalyzer.kernels.composition.measurement import MeasuredBlock, SizeTimes
from commanalyzer.kernels.composition.models import Composed
from commanalyzer.kernels.composition.systems import OPERATORS, Block, Pattern, System
from commanalyzer.report.figures.chart import FONT_SIZE, INK, LINE, MUTED, SERIES, new_figure, report_style
from commanalyzer.report.result.json_document import picked
from commanalyzer.report.tables import Field, numeric, print_lines, terminal_table, worded
from commanalyzer.scaling.laws.formula import accuracy_text, law_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


_BLOCK = (1.5, 0.7)  # inches
_GAP = 0.3
_HEAD = 0.3  # height of a pattern's heading
_FULL = 1 - 1e-9  # share of the element time from which a part is the bottleneck


def save_system(found: Answer, path: Path, *, force: bool = False) -> None:
    """Write the drawing of an answer; the file's suffix says the format.

    Raises ``ArtifactError`` if the file exists (without ``force``) or cannot be written.
    """
    width, height = _size(found.system)
    with report_style():
        figure = new_figure(max(width + 0.3, 4.0), height + 0.5)
        draw_system(figure.add_subplot(), found)
        kind = path.suffix.removeprefix(".") or "svg"
        write_atomically(path, lambda draft: figure.savefig(draft, format=kind), force=force)


def draw_system(ax: Axes, found: Answer) -> None:
    """Draw the system; what takes the whole element time, the bottleneck, stands out."""
    width, height = _size(found.system)
    ax.set_xlim(-0.1, width + 0.1)
    ax.set_ylim(-0.1, height + 0.1)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(f"{format_seconds(found.element_time_s)} per element, {found.threads} threads")
    _draw(ax, found, found.system, 0.0, 0.0, 1)


def _is_row(system: Pattern) -> bool:
    """Parts follow one another from left to right; branches stand one above the other."""
    return system.name != "fork_join"


def _size(system: System) -> tuple[float, float]:
    """Width and height of a system's drawing, inches."""
    if isinstance(system, Block):
        return _BLOCK
    widths, heights = zip(*map(_size, system.parts), strict=True)
    gaps = _GAP * (len(system.parts) - 1)
    wide, high = (sum(widths) + gaps, max(heights)) if _is_row(system) else (max(widths), sum(heights) + gaps)
    return wide + _GAP, high + _GAP + _HEAD


def _draw(
    ax: Axes, found: Answer, system: System, x: float, y: float, replicas: int, shares: int = 1
) -> None:
    from matplotlib.patches import FancyBboxPatch

    width, height = _size(system)
    design = found.design
    values = dict(design.values)
    if design.divided in values:
        values[design.divided] /= shares
    seconds = float(Composed(element_time(system), design.models, design.divided).at(values)[0])
    is_bottleneck = found.element_time_s > 0 and seconds / replicas >= _FULL * found.element_time_s
    edge = SERIES[1] if is_bottleneck else (INK if isinstance(system, Block) else LINE)
    style = "round,pad=0,rounding_size=0.08"
    ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, ec=edge, fc="none", lw=1.2))
    middle, time = x + width / 2, format_seconds(seconds)
    if isinstance(system, Block):
        ax.text(middle, y + 0.44, system.name, ha="center", va="center", color=INK)
        ax.text(middle, y + 0.2, time, ha="center", va="center", color=MUTED, size=FONT_SIZE - 1)
        return
    head = f"{system.name} {system.count}" if OPERATORS[system.name].is_counted else system.name
    ax.text(x + 0.1, y + height - 0.17, f"{head}: {time}", va="center", color=MUTED, size=FONT_SIZE - 1)
    _draw_parts(ax, found, system, x, y, replicas, shares)


def _draw_parts(
    ax: Axes, found: Answer, system: Pattern, x: float, y: float, replicas: int, shares: int
) -> None:
    inner_height = _size(system)[1] - _HEAD - _GAP
    at_x, at_y = x + _GAP / 2, y + inner_height + _GAP / 2
    for index, part in enumerate(system.parts):
        width, height = _size(part)
        count = int(system.count) if not index else 1
        is_pool = system.name in ("tpool", "master_worker")
        own = (replicas * count, shares) if is_pool else (replicas, shares * count)
        if not _is_row(system):
            _draw(ax, found, part, at_x, at_y - height, *own)
            at_y -= height + _GAP
            continue
        low = at_y - (inner_height + height) / 2
        _draw(ax, found, part, at_x, low, *own)
        if index:
            middle = low + height / 2
            arrow = {"arrowstyle": "->", "color": MUTED}
            ax.annotate("", (at_x, middle), (at_x - _GAP, middle), arrowprops=arrow)
        at_x += width + _GAP
