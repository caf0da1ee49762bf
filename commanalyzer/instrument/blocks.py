"""Execution counts of blocks, from which work, loads, stores and instructions follow."""

from __future__ import annotations

from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.costs import flops_of
from commanalyzer.instrument.sites import BlockRecord, SiteTable
from commanalyzer.instrument.values import FunctionValues
from commanalyzer.ir.cfg import ControlFlow
from commanalyzer.ir.model import Block


def plan_blocks(values: FunctionValues, patch: FunctionPatch, sites: SiteTable) -> dict[str, int]:
    """Count executions of every block; blocks that always execute together share a counter.

    Returns:
        Counter number per block label.
    """
    cfg = values.cfg
    leaders: dict[str, list[Block]] = {}
    for block in values.function.blocks:
        if block.label in cfg.immediate_dominator:
            leaders.setdefault(_leader(cfg, block.label), []).append(block)
    counters: dict[str, int] = {}
    for leader, blocks in leaders.items():
        number = len(sites.blocks)
        sites.blocks.append(_record(values, leader, blocks))
        counters.update((block.label, number) for block in blocks)
        patch.call(patch.tops.setdefault(leader, []), "ca_count_block", number)
    return counters


def _leader(cfg: ControlFlow, block: str) -> str:
    """First block that executes exactly as often: it dominates, is post-dominated, and shares the loop."""
    leader = block
    for candidate in cfg.dominator_chain(block)[1:]:
        same_loop = cfg.innermost_loop.get(candidate) == cfg.innermost_loop.get(block)
        if same_loop and cfg.postdominates(block, candidate):
            leader = candidate
    return leader


def _record(values: FunctionValues, leader: str, blocks: list[Block]) -> BlockRecord:
    instructions = [i for block in blocks for i in block.instructions]
    return BlockRecord(
        values.function.name,
        leader,
        sum(flops_of(i, values.calls) for i in instructions),
        sum(i.opcode == "load" for i in instructions),
        sum(i.opcode == "store" for i in instructions),
        len(instructions),
    )
