"""Execution counts of blocks, from which work, loads, stores and instructions follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.labelling.values import FunctionValues
from commanalyzer.instrument.operations.costs import flops_of
from commanalyzer.instrument.regions import Regions
from commanalyzer.instrument.sites import BlockRecord, SiteTable
from commanalyzer.ir.cfg import ControlFlow
from commanalyzer.ir.model import Block, Instruction


@dataclass(frozen=True, slots=True)
class BlockCounters:
    """Which counter tells how often an instruction was executed inside the analysed region.

    Attributes:
        of_block: Counter per block label.
        behind: Per block in which the region can begin or end: (index of the instruction behind which another
            counter counts, counter), in program order.
    """

    of_block: Mapping[str, int]
    behind: Mapping[str, tuple[tuple[int, int], ...]]

    def counter_of(self, block: str, index: int) -> int | None:
        """Counter of the instruction at ``index`` of a block; ``None`` if it cannot be reached."""
        counter = self.of_block.get(block)
        for first, number in self.behind.get(block, ()):
            counter = number if index > first else counter
        return counter


def plan_blocks(
    values: FunctionValues, patch: FunctionPatch, sites: SiteTable, regions: Regions
) -> BlockCounters:
    """Count executions of every block.

    Blocks that always execute together share a counter, unless a marked region may begin or end between them;
    then what lies behind a mark in its block is counted by itself, too.
    """
    cfg = values.cfg
    leader_of = {} if regions.marks else _leaders(cfg)
    leaders: dict[str, list[Block]] = {}
    for block in values.function.blocks:
        if block.label in cfg.immediate_dominator:
            leaders.setdefault(leader_of.get(block.label, block.label), []).append(block)
    counters: dict[str, int] = {}
    behind: dict[str, tuple[tuple[int, int], ...]] = {}
    for leader, blocks in leaders.items():
        number = len(sites.blocks)
        cuts = [k for k, i in enumerate(blocks[0].instructions) if regions.switches(i)]
        first = [blocks[0].instructions[: cuts[0] + 1]] if cuts else [b.instructions for b in blocks]
        sites.blocks.append(_record(values, leader, first))
        counters.update((block.label, number) for block in blocks)
        patch.call(patch.tops.setdefault(leader, []), "ca_count_block", number)
        pieces = []
        for cut, following in pairwise([*cuts, len(blocks[0].instructions)]):
            pieces.append((cut, len(sites.blocks)))
            piece = blocks[0].instructions[cut + 1 : following + 1]
            sites.blocks.append(_record(values, leader, [piece]))
            if piece:
                out = patch.after.setdefault(blocks[0].instructions[cut].last_line, [])
                patch.call(out, "ca_count_block", pieces[-1][1])
        behind[leader] = tuple(pieces)
    return BlockCounters(counters, behind)


def _leaders(cfg: ControlFlow) -> dict[str, str]:
    """Per block the first that executes exactly as often: it dominates, is post-dominated, shares the loop.

    The next block that always executes with a block is its immediate post-dominator, if it dominates that:
    otherwise there is a way past the block to there, and to all that lies behind.
    """
    first: dict[str, str] = {}  # of the blocks that always execute together, whatever their loops
    leaders: dict[tuple[str, str | None], str] = {}
    found: dict[str, str] = {}
    for block in cfg.reverse_postorder:
        together = first.setdefault(block, block)
        following = cfg.immediate_postdominator.get(block, "")
        if following and cfg.dominates(block, following):
            first[following] = together
        found[block] = leaders.setdefault((together, cfg.innermost_loop.get(block)), block)
    return found


def _record(values: FunctionValues, leader: str, parts: Sequence[Sequence[Instruction]]) -> BlockRecord:
    instructions = [i for part in parts for i in part]
    return BlockRecord(
        values.function.name,
        leader,
        sum(flops_of(i, values.calls) for i in instructions),
        sum(i.opcode == "load" for i in instructions),
        sum(i.opcode == "store" for i in instructions),
        len(instructions),
    )
