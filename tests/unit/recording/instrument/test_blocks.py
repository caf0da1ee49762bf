"""Blocks that always execute together, against the definition on random control flow."""

from __future__ import annotations

import random

import pytest

from commanalyzer.program.ir.cfg import control_flow
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.instrument.work import _leaders


def _random_function(seed: int) -> str:
    """Blocks that go to one or two random ones, mostly further down, or return."""
    random_ = random.Random(seed)
    count = random_.randrange(2, 14)
    lines = ["define void @f(i1 %c) {"]
    for number in range(count):
        low = 1 if random_.random() < 0.3 else min(number + 1, count - 1)
        one, other = (random_.randrange(max(low, 1), count) for _ in range(2))
        kind = "ret" if number == count - 1 or random_.random() < 0.08 else random_.choice(("one", "two"))
        ends = {
            "ret": "ret void",
            "one": f"br label %b{one}",
            "two": f"br i1 %c, label %b{one}, label %b{other}",
        }
        lines += [f"b{number}:", f"  {ends[kind]}"]
    return "\n".join([*lines, "}"])


def _reached(start: str, successors: dict[str, tuple[str, ...]], without: str) -> set[str]:
    found: set[str] = set()
    waiting = [start] if start != without else []
    while waiting:
        block = waiting.pop()
        if block not in found:
            found.add(block)
            waiting += [s for s in successors[block] if s != without]
    return found


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_leaders_dominate_are_post_dominated_and_share_the_loop(start: int) -> None:
    for seed in range(start, start + 100):
        cfg = control_flow(parse_module(_random_function(seed)).functions[0])
        successors = dict(cfg.successors)
        reachable = _reached(cfg.entry, successors, "")
        ends = {block for block in reachable if not successors[block]}
        finite = {b for b in reachable if _reached(b, successors, "") & ends}
        dominates = {
            (a, b)
            for a in reachable
            for b in reachable - _reached(cfg.entry, successors, a) | {a} & reachable
        }
        for a in reachable:
            for b in reachable:
                assert cfg.dominates(a, b) == ((a, b) in dominates), (seed, a, b)
                passes = a == b or (b in finite and not _reached(b, successors, a) & ends)
                assert cfg.postdominates(a, b) == passes, (seed, a, b)
        for block, leader in _leaders(cfg).items():
            together = [
                a
                for a in reachable
                if (a, block) in dominates
                and cfg.postdominates(block, a)
                and cfg.innermost_loop.get(a) == cfg.innermost_loop.get(block)
            ]
            assert leader in together
            assert all((leader, a) in dominates for a in together), (seed, block)
