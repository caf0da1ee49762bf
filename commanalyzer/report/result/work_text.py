"""The work of a run in one line."""

from __future__ import annotations

from commanalyzer.foundation.quantities import format_count, format_work
from commanalyzer.foundation.work import DEFAULT_WEIGHTS, WorkCounts


def work_line(work: WorkCounts) -> str:
    """What was executed: W and its kinds of operations, loads, stores, instructions."""
    first = format_work(work.amount, work.unit)
    kinds = []
    if work.unit == "flop" and work.integer_ops:
        first += f", {format_count(work.integer_ops)} integer operations"
    elif work.unit == "op":
        kinds.append(f"{format_count(work.flops)} floating-point")
        kinds.append(f"{format_count(work.integer_ops)} integer")
        if work.weights.mem:
            kinds.append(f"{format_count(work.memory_ops)} accesses")
    if work.weights != DEFAULT_WEIGHTS:
        kinds.append(f"weights {work.weights}")
    if kinds:
        first += f" ({', '.join(kinds)})"
    return (
        f"{first}, {format_count(work.loads)} loads, {format_count(work.stores)} stores, "
        f"{format_count(work.instructions)} instructions"
    )
