"""Cuts an interpreted run into tasks: kernels, their work items, their buffers."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.patterns.find import ObservedRun, loop_patterns
from commanalyzer.kernels.patterns.source import SourceNames
from commanalyzer.kernels.tasks.accesses.buffers import Outside, moved_outside, private_objects
from commanalyzer.kernels.tasks.accesses.kernels import Execution, Judgement, executions, item_levels, judge
from commanalyzer.kernels.tasks.accesses.observer import (
    BLOCK,
    AccessLog,
    Bools,
    Ints,
    WordUses,
    WorkItemObserver,
    words_of,
)
from commanalyzer.program.ir.cfg import control_flow
from commanalyzer.program.ir.model import Module
from commanalyzer.program.ir.names.addresses import source_name


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
        SourceNames(module, run.registers),
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
