"""Which loops are kernels, their executions, and their work items.

A *kernel* is an outermost loop whose iterations could be the work items of a data-parallel kernel: nothing
flows between them but reductions, or what flows is never written again by a later iteration (*ordered*: a
sweep in place, a recurrence). A loop that carries values which it writes again and again (time steps,
solver iterations), prints, or ends on what it computes is a *sequence*: its iterations are executions of
the kernels in it. The further dimensions of the range of work items are the loops directly inside, as long
as nothing else is in between and they combine nothing.

What is executed between kernels and touches their buffers is a task of the *host*; so is a sequence without
kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.patterns.find import FoundPattern, ObservedRun, SourceNames, loop_patterns
from commanalyzer.kernels.patterns.flows import CodeSite
from commanalyzer.kernels.tasks.accesses.buffers import (
    BLOCK,
    AccessLog,
    Bools,
    Ints,
    Outside,
    WordUses,
    WorkItemObserver,
    moved_outside,
    private_objects,
    words_of,
)
from commanalyzer.program.ir.cfg import control_flow
from commanalyzer.program.ir.model import Module
from commanalyzer.program.ir.names.addresses import source_name

_IN_ANY_ORDER = frozenset({"do-all", "stencil", "reduction", "task pool"})


class Judgement(IntEnum):
    """What a site is for the task graph."""

    OTHER = 0  # an activation, or a loop of one iteration
    KERNEL = 1
    REDUCTION = 2  # a kernel whose work items are combined
    ORDERED = 3
    SEQUENCE = 4


@dataclass(frozen=True, slots=True)
class Execution:
    """Which task each access belongs to."""

    task: Ints  # number of the task, per access, by the order in which they began
    root: Ints  # per task: depth of the kernel's loop or function in the places; -1 for the host
    site: Ints  # per task: index of the kernel's site; -1 for the host
    instance: Ints  # per task: number of the loop instance or activation; -1 for the host
    is_outside: Bools  # per access: it belongs to its task, but the compiler moved it out of the loop


def judge(
    log: AccessLog, words: WordUses, patterns: Mapping[CodeSite, FoundPattern], ancestors: Ints
) -> Ints:
    """What each site is: :class:`Judgement`, int64[sites]."""
    result = np.zeros(len(log.sites), np.int64)
    carrying = _carrying(log, words, ancestors)
    for index, site in enumerate(log.sites):
        pattern = patterns.get(site)
        if site.name == BLOCK:
            result[index] = Judgement.KERNEL
        if not site.is_loop or pattern is None:
            continue
        if pattern.kind in _IN_ANY_ORDER:
            is_combined = pattern.kind == "reduction" or bool(pattern.reduced)
            result[index] = Judgement.REDUCTION if is_combined else Judgement.KERNEL
            continue
        has_outside = any(not reason.variable for reason in pattern.forbidding)
        is_sequence = has_outside or index in carrying
        result[index] = Judgement.SEQUENCE if is_sequence else Judgement.ORDERED
    return result


def _carrying(log: AccessLog, words: WordUses, ancestors: Ints) -> Set[int]:
    """Loops of which some iterations need words of earlier ones that are written again and again."""
    found: set[int] = set()
    place = log.place[words.access]
    for level in ancestors:
        here = level[place]
        is_inside = here >= 0
        instance = np.where(is_inside, log.instance[here], -1)
        source = np.where(words.source >= 0, words.source, 0)
        is_carried = is_inside & (words.source >= 0) & (instance[source] == instance) & (here[source] != here)
        writes = np.flatnonzero(is_inside & words.is_write)
        iterations = np.unique(np.stack((instance[writes], words.word[writes], here[writes])), axis=1)
        pairs, counts = np.unique(iterations[:2], axis=1, return_counts=True)
        again = pairs[:, counts > 1]
        needed = np.stack((instance[is_carried], words.word[is_carried]))
        # columns of both as single numbers
        width = max(int(needed.max(initial=0)), int(again.max(initial=0))) + 1
        both = np.isin(needed[0] * width + needed[1], again[0] * width + again[1])
        found.update(log.site[here[np.flatnonzero(is_carried)[both]]].tolist())
    return found


def executions(log: AccessLog, is_root: Bools, ancestors: Ints, outside: Mapping[int, Outside]) -> Execution:
    """Cut the accesses of a run into tasks.

    ``is_root``: sites whose outermost executions are tasks; ``ancestors``: of :meth:`AccessLog.ancestors`;
    ``outside``: what the compiler moved out of sites that are roots.
    """
    depth_of_place = _outermost(log, is_root, ancestors)
    depth = depth_of_place[log.place]
    inside = depth >= 0
    root_place = np.where(inside, ancestors[np.maximum(depth, 0), log.place], -1)
    ranks = np.arange(len(inside))
    before = np.maximum.accumulate(np.where(inside, ranks, -1))
    after = np.minimum.accumulate(np.where(inside, ranks, len(ranks))[::-1])[::-1]
    for root, moved in outside.items():
        for lines, near in ((moved.loads, after), (moved.stores, before)):
            here = np.flatnonzero(
                ~inside & np.isin(log.line, list(lines)) & (near >= 0) & (near < len(ranks))
            )
            here = here[log.site[root_place[near[here]]] == root]
            root_place[here], depth[here] = root_place[near[here]], depth[near[here]]
    is_task = root_place >= 0
    instance = np.where(is_task, log.instance[root_place], -1)
    begins = np.concatenate(([True], instance[1:] != instance[:-1])) if len(instance) else inside
    at = np.flatnonzero(begins)
    site = np.where(is_task, log.site[root_place], -1)
    return Execution(np.cumsum(begins) - 1, depth[at], site[at], instance[at], is_task & ~inside)


def _outermost(log: AccessLog, is_root: Bools, ancestors: Ints) -> Ints:
    """Per place the smallest depth of a place around it whose site is a root; -1 for none."""
    result = np.full(len(log.parent), -1, np.int64)
    for depth, level in reversed(list(enumerate(ancestors))):
        here = np.flatnonzero(level >= 0)
        roots = here[is_root[log.site[level[here]]]]
        result[roots] = depth
    return result


def item_levels(log: AccessLog, judgement: Ints, ancestors: Ints, places: Ints, root: int) -> tuple[int, ...]:
    """Depths of the loops over work items of a kernel, the outermost first.

    ``judgement``: of :func:`judge`; ``ancestors``: of :meth:`AccessLog.ancestors`; ``places``: of the
    kernel's accesses to its buffers; ``root``: depth of its loop or function.
    """
    levels: list[int] = []
    depth = root
    while depth < len(ancestors):
        here = ancestors[depth][places]
        sites = np.unique(log.site[here]) if len(here) and here.min() >= 0 else np.empty(0, np.int64)
        if len(sites) != 1:
            break
        kind = Judgement(int(judgement[sites[0]]))
        is_function = depth == root and not log.sites[int(sites[0])].is_loop
        allowed = (Judgement.KERNEL, Judgement.ORDERED) if levels else tuple(Judgement)[1:4]
        if kind not in allowed and not is_function:
            break
        if not is_function:
            levels.append(depth)
        depth += 1
    return tuple(levels)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is known of a run before mappers and bytes."""

    log: AccessLog  # its accesses
    words: WordUses  # these in words
    ancestors: Ints  # of :meth:`AccessLog.ancestors`
    execution: Execution  # task of each access
    judgement: Ints  # of :func:`commanalyzer.kernels.tasks.accesses.kernels.judge`
    levels: tuple[tuple[int, ...], ...]  # per task the depths of its loops over work items
    is_buffer: Bools  # per object: kernels access it, and it is neither constant nor workspace
    is_index: Bools  # per access: it reads a bound, an index or an address, which is no flow
    is_update: Bools  # per access: it reads what a reduction adds to
    updates: Ints  # lines of the writes of reductions
    names: SourceNames


def analyse(module: Module, run: ObservedRun[WorkItemObserver], regions: Set[str] = frozenset()) -> Analysis:
    """Cut an observed run into tasks; errors as :func:`find_tasks`."""
    log = run.observer.log()
    words = words_of(log)
    ancestors = log.ancestors()
    judgement = judge(log, words, loop_patterns(module, run), ancestors)
    names = SourceNames(module, run.registers)
    for index, site in enumerate(log.sites):
        at = np.flatnonzero((log.site[log.place] == index) & site.is_loop)
        is_fill = len(np.unique(log.address[at[~log.is_write[at]]])) < 2  # a copy reads more than one
        if len(at) and is_fill and names.constructs(int(log.line[at[0]])):
            judgement[index] = Judgement.OTHER  # initial values
    is_root = _roots(log, judgement, regions)
    execution = executions(log, is_root, ancestors, _outside(module, run, log, is_root))
    is_index = np.isin(log.line, list(run.observer.indices)) & ~log.is_write
    is_plain = ~is_index & ~np.array([o.is_constant for o in log.objects], np.bool_)[log.object]
    levels = _levels(log, execution, judgement, ancestors, is_plain)
    private = _private(words, log, execution, ancestors, levels)
    is_plain &= ~np.isin(log.object, list(private))
    levels = _levels(log, execution, judgement, ancestors, is_plain)
    in_kernel = execution.site[execution.task] >= 0
    is_buffer = np.zeros(len(log.objects), np.bool_)
    is_buffer[log.object[in_kernel & (is_plain | is_index)]] = True
    is_buffer &= ~np.array([o.is_constant for o in log.objects], np.bool_)
    pairs = [(r, w) for w, reads in run.updates.items() for r in reads if (r, w) not in run.observer.moved]
    is_update = np.isin(log.line, [read for read, _ in pairs]) & ~log.is_write
    return Analysis(
        log,
        words,
        ancestors,
        execution,
        judgement,
        levels,
        is_buffer,
        is_index,
        is_update,
        np.array(sorted({write for _, write in pairs}), np.int64),
        names,
    )


def _roots(log: AccessLog, judgement: Ints, regions: Set[str]) -> Bools:
    if regions:
        names = [source_name(site.function) for site in log.sites]
        missing = sorted(regions - set(names))
        if missing:
            raise ConfigError(
                f"expected region {missing[0]} to be executed, it was not",
                hint="without --region, the kernel loops are the tasks",
            )
        return np.array(
            [not s.is_loop and name in regions for s, name in zip(log.sites, names, strict=True)], np.bool_
        )
    is_root = np.isin(judgement, (Judgement.KERNEL, Judgement.REDUCTION, Judgement.ORDERED))
    if not is_root.any():
        raise ConfigError(
            "expected a loop whose iterations could be work items, found none that ran more than once",
            hint="`commanalyzer patterns` says what every loop forbids; a larger input may run more loops",
        )
    return is_root


def _outside(
    module: Module, run: ObservedRun[WorkItemObserver], log: AccessLog, is_root: Bools
) -> dict[int, Outside]:
    functions = {function.name: function for function in module.functions}
    result = {}
    for index in np.flatnonzero(is_root).tolist():
        site = log.sites[index]
        if site.is_loop and site.name != BLOCK:
            loop = control_flow(functions[site.function]).loops[site.name]
            result[index] = moved_outside(run.registers[site.function], loop)
    return result


def _levels(
    log: AccessLog, execution: Execution, judgement: Ints, ancestors: Ints, is_plain: Bools
) -> tuple[tuple[int, ...], ...]:
    bounds = np.searchsorted(execution.task, np.arange(len(execution.root) + 1))
    result = []
    for task, root in enumerate(execution.root.tolist()):
        here = np.arange(bounds[task], bounds[task + 1])
        here = here[is_plain[here] & ~execution.is_outside[here]]
        result.append(item_levels(log, judgement, ancestors, log.place[here], root) if root >= 0 else ())
    return tuple(result)


def _private(
    words: WordUses, log: AccessLog, execution: Execution, ancestors: Ints, levels: Sequence[tuple[int, ...]]
) -> set[int]:
    depth = np.array([chosen[-1] if chosen else -1 for chosen in levels], np.int64)[execution.task]
    place = ancestors[np.maximum(depth, 0), log.place]
    item = np.where((depth >= 0) & (place >= 0), place, -1 - execution.task)
    access = words.access
    return private_objects(
        execution.task[access], log.object[access], words.word, words.source, words.is_write, item[access]
    )
