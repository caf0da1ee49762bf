"""Reductions that begin right in front of a loop and end right behind it, as part of what the loop does.

Where the terms of a reduction do not follow from addresses alone (they are conditional, say), a previewed
loop takes the naming of the reduced value into what is recorded of it. The label goes through the shadow of
the accumulator: it is an effect of the loop like any other, so it comes back whenever the loop is known.

Input: the finished patch of a function and a loop. Output: :class:`Enclosed` per reduction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.events import HookCall
from commanalyzer.instrument.labelling.values import FunctionValues
from commanalyzer.instrument.loops.loop_code import inserted_lines
from commanalyzer.ir.loops.induction import LoopEnds
from commanalyzer.ir.model import Block


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A reduction of which nothing happens elsewhere than in a loop, at its entry and at its exit.

    Attributes:
        storage: The accumulator.
        site: Of the reduced value.
        label: Register with its label, behind the loop.
        place: Line of the exit that names the value.
    """

    storage: str
    site: int
    label: str
    place: int


def enclosed_reductions(
    values: FunctionValues, patch: FunctionPatch, ends: LoopEnds, blocks: Sequence[Block]
) -> tuple[Enclosed, ...]:
    """Reductions that a loop encloses.

    Args:
        values: Facts of the function.
        patch: What was inserted.
        ends: Edges of the loop.
        blocks: Its blocks.
    """
    closed = [
        Enclosed(line.uses[0], int(line.uses[1]), line.result, place)
        for place, line in enumerate(patch.tops.get(ends.exit, ()))
        if isinstance(line, HookCall) and line.hook == "ca_accumulator_close"
    ]
    if not closed:
        return ()
    preheader = next(b for b in values.function.blocks if b.label == ends.preheader)
    before = patch.before.get(preheader.terminator.first_line, ())
    begun = _accumulators(before, lambda hook: hook == "ca_accumulator_reset")
    inside = _accumulators((line for b in blocks for line in inserted_lines(patch, b)), _is_of_accumulator)
    everywhere = _accumulators(patch.lines(), lambda h: _is_of_accumulator(h) and h != "ca_accumulator_free")
    return tuple(
        e
        for e in closed
        if begun.count(e.storage) == 1 and everywhere.count(e.storage) == inside.count(e.storage) + 2
    )


def _is_of_accumulator(hook: str) -> bool:
    return hook.startswith(("ca_term_", "ca_collect", "ca_accumulator_"))


def _accumulators(lines: Iterable[str], concerns: Callable[[str], bool]) -> list[str]:
    """Accumulators of the calls of such hooks."""
    return [line.uses[0] for line in lines if isinstance(line, HookCall) and concerns(line.hook)]


def begin(patch: FunctionPatch, reductions: Sequence[Enclosed], out: list[str]) -> list[str]:
    """Write what precedes the loop; what enters the loop with each reduction."""
    return [patch.call(out, "ca_accumulator_begin", e.storage) for e in reductions]


def finish(patch: FunctionPatch, reductions: Sequence[Enclosed], out: list[str]) -> None:
    """Write what comes behind the loop with hooks."""
    for e in reductions:
        patch.call(out, "ca_accumulator_keep", e.storage, e.site)


def changes(patch: FunctionPatch, reductions: Sequence[Enclosed], out: list[str], total: str) -> str:
    """The digest ``total`` and that of the accumulators' shadow."""
    for e in reductions:
        address = patch.address(out, e.storage)
        total = patch.compute(out, "add", total, patch.call(out, "ca_changes", address, address))
    return total


def take_results(patch: FunctionPatch, exit_block: str, reductions: Sequence[Enclosed]) -> None:
    """Behind the loop, labels are what the loop left in the shadow."""
    tops = patch.tops[exit_block]
    for e in reductions:
        written: list[str] = []
        patch.call(written, "ca_accumulator_result", e.storage, result=e.label)
        tops[e.place] = written[0]
