"""The section of PERFORMANCE.md about these programs."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.measuring import Cost
from bench.sections import Document, Passage, markdown_text

TITLE = "Programs in other styles"
_SECTION = re.compile(rf"^## {TITLE}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Found:
    """One program.

    Attributes:
        costs: Of its short run, and of its long one if that was asked for.
        rows: Of the graph of the short run.
        flows: Distinct ones, of the same.
    """

    costs: tuple[Cost, ...]
    rows: int
    flows: int


def foreign_section(found: Sequence[Found], origin: str) -> Passage:
    """Ratios of all programs, the worst and the geometric mean per length of run."""
    text = (
        "Single files in the styles of public codes, written for this table: tiles copied to buffers, levels "
        "in one pool, strided levels, array descriptors, members and accessors of C++, wavefronts, tables of "
        "integers and bytes, lists. CPU time of all recordings over that of the plain program, medians."
    )
    means = []
    for number in range(max((len(f.costs) for f in found), default=0)):
        costs = [f.costs[number] for f in found if number < len(f.costs)]
        mean = math.exp(statistics.fmean(math.log(cost.ratio) for cost in costs))
        worst = max(costs, key=lambda cost: cost.ratio)
        seconds = statistics.median(cost.plain_s for cost in costs)
        most = f"the most is {worst.ratio:.1f}, {worst.case}"
        means.append(f"{mean:.2f} of {len(costs)} runs of {seconds:.2f} s (median; {most})")
    columns = ("run", "plain s", "recorded s", "ratio", "recordings", "recorded MB", "rows", "flows")
    rows = [_cells(f, k) for f in found for k in range(len(f.costs))]
    return Passage(
        TITLE, (origin, text, f"Geometric mean of the ratios: {'; '.join(means)}."), columns, tuple(rows)
    )


def _cells(found: Found, number: int) -> tuple[str, ...]:
    cost = found.costs[number]
    sizes = (f"{found.rows:,}", f"{found.flows:,}") if number == 0 else ("-", "-")
    return (
        cost.case,
        f"{cost.plain_s:.3f}",
        f"{cost.recorded_s:.2f}",
        f"{cost.ratio:.2f}",
        str(cost.recordings),
        f"{cost.recorded_bytes / 1e6:.0f}",
        *sizes,
    )


def section_of(document: str) -> str:
    """The section in a document, empty if it has none."""
    found = _SECTION.search(document)
    return found[0] if found else ""


def with_section(document: str, section: Passage) -> str:
    """The document with this section in place of the one that it has, or behind all others."""
    text = markdown_text(Document("", (section,))).split("\n\n", 1)[1]
    old = section_of(document)
    return document.replace(old, f"{text}\n").rstrip() + "\n" if old else f"{document.rstrip()}\n\n{text}"
