"""Control flow of one function: dominance, post-dominance and natural loops.

Blocks are named by label. Dominators are computed with the iterative algorithm of Cooper, Harvey and
Kennedy on reverse postorder, post-dominators with the same algorithm on the reversed graph, from a virtual
exit behind every block without successors.

What depends on each other, such as registers: strongly connected components, and all that is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from commanalyzer.program.ir.model import Function

Node = TypeVar("Node", bound=Hashable)


def strong_components(
    names: Iterable[Node], inputs: Callable[[Node], Iterable[Node]]
) -> list[tuple[Node, ...]]:
    """Tarjan's algorithm without recursion; components come behind everything that theirs depend on."""
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    place: dict[Node, int] = {}  # on the stack
    result: list[tuple[Node, ...]] = []

    def enter(name: Node) -> tuple[Node, Iterator[Node]]:
        number[name] = low[name] = len(number)
        place[name] = len(stack)
        stack.append(name)
        return name, iter(inputs(name))

    for root in names:
        work = [] if root in number else [enter(root)]
        while work:
            name, pending = work[-1]
            following = next(pending, None)
            if following is None:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[name])
                if low[name] == number[name]:
                    result.append(members := tuple(stack[place[name] :]))
                    del stack[place[name] :]
                    for member in members:
                        del place[member]
            elif following not in number:
                work.append(enter(following))
            elif following in place:
                low[name] = min(low[name], number[following])
    return result


def reached(start: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> dict[Node, None]:
    """All nodes on ways from ``start``, these included, in the order in which they are found."""
    found = dict.fromkeys(start)
    pending = list(found)
    while pending:
        fresh = [node for node in dict.fromkeys(following(pending.pop())) if node not in found]
        found.update(dict.fromkeys(fresh))
        pending += fresh
    return found


_Graph = Mapping[str, Sequence[str]]
_Intervals = Mapping[str, tuple[int, int]]  # of a tree: blocks before, and before what follows its subtree
VIRTUAL_EXIT = ""


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop; back edges to the same header belong to the same loop."""

    header: str
    blocks: frozenset[str]  # labels of all blocks, inner loops and the header included
    latches: tuple[str, ...]  # blocks with a back edge to the header, in printed order
    exits: tuple[str, ...]  # blocks outside that are entered from inside, in printed order
    parent: str | None  # header of the smallest enclosing loop, ``None`` for an outermost one
    depth: int  # 1 for an outermost loop


@dataclass(frozen=True, slots=True)
class ControlFlow:
    """Control flow analyses of a function.

    Only ``successors`` and ``predecessors``, distinct and in printed order, have unreachable blocks, too.
    """

    entry: str
    successors: Mapping[str, tuple[str, ...]]
    predecessors: Mapping[str, tuple[str, ...]]
    reverse_postorder: tuple[str, ...]
    immediate_dominator: Mapping[str, str | None]  # per reachable block; ``None`` for the entry
    # per reachable block that can reach an exit; ``""`` is the virtual exit
    immediate_postdominator: Mapping[str, str]
    loops: Mapping[str, Loop]  # by header, outer loops before inner ones
    innermost_loop: Mapping[str, str]  # header of the innermost loop of every block that lies in one
    _in_dominators: _Intervals
    _in_postdominators: _Intervals

    def dominates(self, a: str, b: str) -> bool:
        """Every path from the entry to ``b`` passes ``a``; a reachable block dominates itself."""
        return _is_below(b, a, self._in_dominators)

    def postdominates(self, a: str, b: str) -> bool:
        """Every path from ``b`` to an exit passes ``a``.

        False when ``b`` cannot reach an exit, except that a reachable block post-dominates itself.
        """
        if a == b:
            return a in self.immediate_dominator
        return _is_below(b, a, self._in_postdominators)

    def dominator_chain(self, block: str) -> tuple[str, ...]:
        """Return ``block``, its immediate dominator, and so on up to the entry; empty if unreachable."""
        chain: list[str] = []
        at: str | None = block if block in self.immediate_dominator else None
        while at is not None:
            chain.append(at)
            at = self.immediate_dominator[at]
        return tuple(chain)

    def between(self, first: str, last: str) -> set[str]:
        """Blocks on paths from ``first``, which dominates ``last``, to ``last`` that pass ``first`` once."""
        return _body(first, [last], self.predecessors, self._in_dominators)

    def is_loop_header(self, block: str) -> bool:
        """The block is the header of a natural loop."""
        return block in self.loops

    def loop_of(self, block: str) -> Loop | None:
        """Return the innermost loop that contains ``block``."""
        header = self.innermost_loop.get(block)
        return None if header is None else self.loops[header]

    def loops_around(self, block: str) -> tuple[Loop, ...]:
        """Return the loops that contain ``block``, innermost first."""
        found: list[Loop] = []
        header = self.innermost_loop.get(block)
        while header is not None:
            found.append(self.loops[header])
            header = self.loops[header].parent
        return tuple(found)

    def common_loop(self, blocks: Iterable[str]) -> Loop | None:
        """Return the innermost loop that contains all of some blocks."""
        inside = set(blocks)
        around = self.loops_around(next(iter(inside)))
        return next((loop for loop in around if inside <= loop.blocks), None)

    def by_inner_loop(self, names: Iterable[Node], block_of: Callable[[Node], str]) -> list[list[Node]]:
        """Of names in blocks, those in loops within the innermost one that contains all, by these loops."""
        names, inner = list(names), dict[str, list[Node]]()
        loop = self.common_loop(map(block_of, names))
        for name in names:
            around = self.loops_around(block_of(name))
            if loop in around[1:]:
                inner.setdefault(around[around.index(loop) - 1].header, []).append(name)
        return list(inner.values())


def control_flow(function: Function, without: Container[str] = ()) -> ControlFlow:
    """Analyse ``function``, but some blocks; those that cannot be reached are tolerated."""
    blocks = {b.label: b.terminator.targets for b in function.blocks if b.label not in without}
    labels = list(blocks)
    successors = {b: tuple(t for t in dict.fromkeys(blocks[b]) if t not in without) for b in labels}
    predecessors = _reversed(labels, successors)
    order = _reverse_postorder(labels[0], successors)
    dominator = _immediate_dominators(order, predecessors)
    in_dominators = _intervals(labels[0], dominator)
    postdominator = _postdominators(labels, order, successors)
    loops, innermost = _loops(labels, order, successors, predecessors, in_dominators)
    above = {block: None if block == labels[0] else dominator[block] for block in order}
    found = labels[0], successors, predecessors, tuple(order), above, postdominator, loops, innermost
    return ControlFlow(*found, in_dominators, _intervals(VIRTUAL_EXIT, postdominator))


def _intervals(root: str, parent: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Where the subtree of each block lies when the tree is written down, parents first."""
    children: dict[str, list[str]] = {}
    for block, above in parent.items():
        if block != root:
            children.setdefault(above, []).append(block)
    first: dict[str, int] = {}
    found: dict[str, tuple[int, int]] = {}
    stack = [root]
    while stack:
        block = stack[-1]
        if block in first:
            found[block] = (first[block], len(first))
            stack.pop()
        else:
            first[block] = len(first)
            stack += children.get(block, ())
    return found


def _is_below(block: str, above: str, tree: _Intervals) -> bool:
    """``above`` is ``block``, or lies on its way to the root."""
    if block not in tree or above not in tree:
        return False
    low, high = tree[above]
    return low <= tree[block][0] < high


def _reversed(labels: Sequence[str], graph: _Graph) -> dict[str, tuple[str, ...]]:
    result: dict[str, list[str]] = {label: [] for label in labels}
    for label in labels:
        for successor in graph[label]:
            result[successor].append(label)
    return {label: tuple(sources) for label, sources in result.items()}


def _reverse_postorder(entry: str, graph: _Graph) -> list[str]:
    """Depth-first without recursion: generated functions can have very long chains of blocks."""
    postorder: list[str] = []
    seen = {entry}
    stack = [(entry, iter(graph[entry]))]
    while stack:
        block, pending = stack[-1]
        following = next((s for s in pending if s not in seen), None)
        if following is None:
            postorder.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(graph[following])))
    return postorder[::-1]


def _immediate_dominators(order: Sequence[str], predecessors: _Graph) -> dict[str, str]:
    """Return immediate dominators of the blocks in ``order``; the first is its own."""
    number = {block: i for i, block in enumerate(order)}
    dominator = {order[0]: order[0]}

    def meet(a: str, b: str) -> str:
        while a != b:
            while number[a] > number[b]:
                a = dominator[a]
            while number[b] > number[a]:
                b = dominator[b]
        return a

    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [p for p in predecessors[block] if p in dominator]
            best = known[0]
            for other in known[1:]:
                best = meet(best, other)
            if dominator.get(block) != best:
                dominator[block] = best
                changed = True
    return dominator


def _postdominators(labels: Sequence[str], order: Sequence[str], successors: _Graph) -> dict[str, str]:
    reachable = set(order)
    forward = {block: successors[block] or (VIRTUAL_EXIT,) for block in labels if block in reachable}
    forward[VIRTUAL_EXIT] = ()
    backward = _reversed(list(forward), forward)
    backward_order = _reverse_postorder(VIRTUAL_EXIT, backward)
    dominator = _immediate_dominators(backward_order, forward)
    return {block: dominator[block] for block in backward_order if block != VIRTUAL_EXIT}


def _loops(
    labels: Sequence[str],
    order: Sequence[str],
    successors: _Graph,
    predecessors: _Graph,
    in_dominators: _Intervals,
) -> tuple[dict[str, Loop], dict[str, str]]:
    """Loops by header, and the header of each block's innermost loop."""
    number = {label: i for i, label in enumerate(labels)}
    loops: dict[str, Loop] = {}
    innermost: dict[str, str] = {}
    # A header precedes the headers of inner loops in reverse postorder, so parents are made first.
    for header in order:
        latches = [p for p in predecessors[header] if _is_below(p, header, in_dominators)]
        if not latches:
            continue
        body = _body(header, latches, predecessors, in_dominators)
        parent = innermost.get(header)
        exits = {s for block in body for s in successors[block]} - body
        loops[header] = Loop(
            header,
            frozenset(body),
            tuple(latches),
            tuple(sorted(exits, key=number.__getitem__)),
            parent,
            1 if parent is None else loops[parent].depth + 1,
        )
        innermost.update(dict.fromkeys(body, header))
    return loops, innermost


def _body(header: str, latches: Sequence[str], predecessors: _Graph, reachable: _Intervals) -> set[str]:
    def before(block: str) -> list[str]:
        return [p for p in predecessors[block] if p in reachable and p != header]

    return {header, *reached((b for b in latches if b != header), before)}
