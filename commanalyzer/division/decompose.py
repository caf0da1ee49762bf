"""Value graph to decompositions: partitions for every node count and model, counted and bounded.

Input: a graph and what to count. Output: :class:`Decomposition` values, one best per (nodes, model). Memory
that dividing needs is estimated before it begins, and how much of that is done at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock

import numpy as np

from commanalyzer.communication.invariants import check_charges, check_matrix
from commanalyzer.communication.matrix import Communication
from commanalyzer.division.budget import SEARCH, budget_seconds
from commanalyzer.division.libraries.concurrency import (
    LEAST_SECONDS,
    LibraryCaller,
    StoppedError,
    ending_early,
    side_by_side,
)
from commanalyzer.division.options import PortfolioOptions, is_large
from commanalyzer.division.owners import Owners, in_order
from commanalyzer.division.portfolio import Candidate, Portfolio
from commanalyzer.division.regular.owner_map import read_owner_map
from commanalyzer.division.regular.rules import parse_rule
from commanalyzer.division.selection import best_of, evenness, headline, promising
from commanalyzer.division.views import View, paper_view
from commanalyzer.foundation.errors import ConfigError, GraphInvariantError
from commanalyzer.foundation.heap import give_back
from commanalyzer.foundation.progress import Progress
from commanalyzer.foundation.quantities import Bytes, Flop, format_bytes, format_seconds
from commanalyzer.graph.invariants import check_graph
from commanalyzer.graph.storage import slices
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.spill import machine_bytes
from commanalyzer.graph.storage.store import AnyGraph, GraphStore, LargeGraph
from commanalyzer.graph.value_graph import Int32, sink_of_source
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.roofline.equations import communication_intensity, machine_bound
from commanalyzer.request import PartitionRequest
from commanalyzer.result.confidence import Confidence, open_brackets
from commanalyzer.result.results import Decomposition, SingletonCounts

# By what graphs have needed: one division at a time with what all share; each of several, with its helper.
_VALUE_BYTES = 120  # by tiles, one at a time
_FLOW_BYTES, _MORE_FLOW_BYTES = 300, 160  # of values one by one
# By tiles, several at a time: libraries and slices; columns, work, totals, anchors and coarse vertices.
_PROCESS_BYTES, _SHARED_VALUE_BYTES = 1 << 28, 66
# Of each division. At its borders: owners three times, groups twice, nets of pins, pins, work twice.
_BORDER_VALUE_BYTES = 85
# While it is counted: owners, groups, lines; each row that folds as it is kept, a remote run, a group.
_COUNT_VALUE_BYTES, _FOLD_BYTES = 45, np.array([72, 9, 5])  # of a row that folds, its terms and sources


def require_memory(graph: AnyGraph | GraphStore, limit: int | None, hint: str, *, is_tiled: bool) -> None:
    """Raise ``ConfigError`` before a graph is divided that needs more memory than the user allows.

    By what graphs of its size have needed, with divisions on coarse vertices if it ``is_tiled``; the
    ``limit`` is bytes, None for none.
    """
    by_tiles, one_by_one = _VALUE_BYTES * graph.num_vertices, _FLOW_BYTES * graph.num_flows
    needed = by_tiles if is_tiled else one_by_one
    if limit is not None and needed > limit:
        raise ConfigError(
            f"expected to divide the values within {format_bytes(limit)}, found {graph.num_vertices} values "
            f"and {graph.num_flows} flows, which need about {format_bytes(needed)}",
            where="--memory-limit",
            hint=hint,
        )


def affordable_jobs(
    graph: AnyGraph, limit: int | None, wanted: int, *, is_tiled: bool, fold_bytes: int = 0
) -> int:
    """Return how many divisions may be made at a time, at least one and at most ``wanted``.

    The ``limit`` of memory is bytes, None for that of the machine. Divisions are found on coarse vertices
    where the graph ``is_tiled``; each of these may have to keep ``fold_bytes`` of rows while it is counted.
    """
    v, room = graph.num_vertices, limit or machine_bytes()
    if is_tiled:
        room -= _PROCESS_BYTES + _SHARED_VALUE_BYTES * v
        each = max(_BORDER_VALUE_BYTES * v, _COUNT_VALUE_BYTES * v + fold_bytes)
    else:
        room, each = room - _FLOW_BYTES * graph.num_flows, _MORE_FLOW_BYTES * graph.num_flows
    return max(1, min(wanted, room // max(each, 1)))


def tiled_jobs(graph: AnyGraph, limit: int | None, wanted: int, vertex: Int32) -> int:
    """As :func:`affordable_jobs`, once coarse vertices are known: they tell which rows may have to be kept.

    Those that fold from other coarse vertices: they combine what other parts contribute to their sinks;
    inside one, nothing has two owners. The rows are only passed over if not all of them would have room.
    Arguments as there, and ``vertex`` int32[V], the coarse vertex of each value, negative for hubs.
    """
    found = np.array([graph.num_rows, graph.num_flows, graph.num_flows])
    every = affordable_jobs(graph, limit, wanted, is_tiled=True, fold_bytes=int(_FOLD_BYTES @ found))
    if every == wanted:
        return wanted
    found[:] = 0
    for rows in row_slices(graph):
        own, other = vertex[sink_of_source(rows)], vertex[rows.source]
        before = np.concatenate(([0], np.cumsum((other >= 0) & (other != own))))[rows.row_ptr]
        kept = (np.diff(before) > 0) & (rows.row_fold != 0)
        found += kept.sum(), np.diff(rows.term_ptr)[kept].sum(), np.diff(rows.row_ptr)[kept].sum()
    return affordable_jobs(graph, limit, wanted, is_tiled=True, fold_bytes=int(_FOLD_BYTES @ found))


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CountOptions(PartitionRequest):
    """What to decompose and how to count it; ``memory_limit_bytes`` as in :class:`AnalysisRequest`.

    ``jobs`` is how many cores may be used at a time; the result does not depend on it. ``given`` are owners
    by number of nodes, int32[V] with -1 for what follows: these are counted, and nothing is looked for.
    """

    memory_limit_bytes: int | None = None
    jobs: int = 1
    given: Mapping[int, Int32] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counted:
    """Decompositions of a graph or for one node count; what the paper's singleton rule says."""

    decompositions: tuple[Decomposition, ...]
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # methods that did not fit into the budget of dividing, one sentence each
    helper_bytes: int = 0  # largest memory of the processes that partitioners ran in, together
    singletons: SingletonCounts | None = None
    vcg_words: int = 0
    view: View | None = None  # of the ``volume`` model, if it was asked for


def decompose(store: GraphStore, work: int, options: CountOptions, progress: Progress) -> Counted:
    """Partition a graph, as recorded, for every node count with every method, and count each with its model.

    Graphs that are divided by tiles are never expanded as a whole, but for the paper's model. Raises
    ``PartitionError`` if a node count is impossible and, with ``options.check``, ``GraphInvariantError`` if a
    conservation law is violated.
    """
    large, may_be_tiled = LargeGraph(store), options.coarsen != "never"
    is_tiled = may_be_tiled and is_large(large)
    hint = "allow more memory, or analyse a smaller problem"
    if not is_tiled and options.coarsen != "auto":
        hint += "; --coarsen auto needs less"
    require_memory(store, options.memory_limit_bytes, hint, is_tiled=is_tiled)
    graph = large if is_tiled else store.graph()
    if options.check:
        check_graph(graph)
    is_asked = "hpdc18" in options.models
    singletons, words = paper_view(graph, options.high, is_asked=is_asked, check=options.check)
    make_view = partial(View.of, high=options.high, may_be_tiled=may_be_tiled, jobs=options.jobs)
    views = [make_view(model, graph) for model in options.models]
    progress.stage("partition and count", len(views) * len(options.nodes) * 2)
    budget_s = budget_seconds(options.effort, store.num_flows, store.nbytes)
    before = slices.flows_visited
    divided = [item for v in views for item in _decompose_view(v, work, options, budget_s, progress)]
    passes = (slices.flows_visited - before) / max(store.num_flows, 1)
    logger.info("divided and counted in about %.0f passes over %d flows", passes, store.num_flows)
    found = [d for item in divided for d in item.decompositions]
    left_out = tuple(dict.fromkeys(text for item in divided for text in item.left_out))
    order: dict[str, int] = {model: i for i, model in enumerate(options.models)}
    found.sort(key=lambda d: (d.nodes, order[d.model], not d.best, d.method))
    warnings = (*(text for item in divided for text in item.warnings), *open_brackets(found))
    known = left_out, max(d.helper_bytes for d in divided), singletons, words
    return Counted(tuple(found), warnings, *known, next((v for v in views if v.model == "volume"), None))


def _decompose_view(
    view: View, work: int, options: CountOptions, budget_s: float, progress: Progress
) -> list[Counted]:
    """Decompositions of a view by node count; at last what is to be said of it, and memory of helpers."""
    is_tiled = options.coarsen != "never" and is_large(view.graph)  # divisions are found on coarse vertices
    lock, limit = Lock(), options.memory_limit_bytes
    jobs = affordable_jobs(view.graph, limit, options.jobs, is_tiled=is_tiled)
    give_back()
    caller = LibraryCaller(jobs, LEAST_SECONDS)
    portfolio = _portfolio(view, options, budget_s, caller)

    def advance() -> None:
        give_back()
        with lock:
            progress.advance()

    count = partial(_count, view, work=work, options=options)
    divide = partial(_divide, view, portfolio, count, caller, advance)
    with ending_early(caller, options.time_limit_s):
        if jobs > 1:
            with suppress(StoppedError):
                portfolio.prepare()
            if is_tiled:
                caller.leave(jobs - tiled_jobs(view.graph, limit, jobs, portfolio.view.tiling.vertex))
        try:
            divided = side_by_side(divide, options.nodes, caller)
        finally:
            caller.close()
    warnings = []
    for item in divided if not view.removed.all() else ():
        best = next(d for d in item.decompositions if d.best)
        if not best.is_balanced:
            warnings.append(
                f"no decomposition on {best.nodes} nodes ({best.model}) with at most "
                f"{portfolio.allowed(best.nodes):.3f} times the mean work in one part was found; "
                f"the best has {best.imbalance:.3f}"
            )
        elif (most := headline(item.decompositions).imbalance) > SEARCH.uneven:
            warnings.append(
                f"{best.nodes} nodes ({best.model}): one part has {most:.3f} times the mean work, as single "
                "values, or rows that are divided as wholes, have more than a part should have"
            )
        if best.nodes > 1 and (doubt := Confidence.of(item.decompositions).doubt):
            warnings.append(doubt)
    warnings += view.partial_sums(max(options.nodes))[1]
    if caller.stopped:
        warnings.append(f"dividing ended at {caller.stopped}: the best until then is shown ({view.model})")
    return [*divided, Counted((), tuple(warnings), helper_bytes=caller.peak_bytes)]


def _divide(
    view: View,
    portfolio: Portfolio,
    counted: Callable[..., Decomposition],
    caller: LibraryCaller,
    advance: Callable[[], None],
    nodes: int,
) -> Counted:
    """Decompositions for one node count, one of them best, and what has to be said about them."""
    count = partial(counted, nodes=nodes)
    shares_terms = len(view.totals.even) > 0 and nodes > view.num_divided
    if (view.num_divided < 2 or shares_terms) and nodes > 1:
        name = "terms in equal shares" if shares_terms else "on one node"
        whole = Candidate(name, np.zeros(len(view.removed), np.int32), 0.0)
        advance()
        advance()
        lone = replace(count(whole), best=True)
        if shares_terms:
            return Counted((lone,))
        lone = replace(lone, efficiency_bound=None)
        text = f"{nodes} nodes ({view.model}): nothing can be divided: of the values, {view.values_found}; "
        # the recording says where there is nothing
        return Counted((lone,), (text + "all stay on one node",) if len(view.removed) else ())
    view.require_values(nodes)
    found = caller.each(count, _until_stopped(portfolio.candidates(nodes)))
    if not found:
        found = [count(Candidate("slabs of all values", in_order(view.graph, view.removed, nodes), 0.0))]
    advance()
    volumes, imbalances = [d.comm_bytes for d in found], [d.imbalance for d in found]
    first, *rest = (found[i] for i in promising(volumes, imbalances, portfolio.allowed(nodes), SEARCH.far))
    rest.sort(key=lambda d: bool(first.grid and d.grid))  # two regular ones begin much alike
    best = [first, *rest][: SEARCH.refined]
    given = (Candidate(d.method, d.part, d.seconds, d.coarse_vertices) for d in best)
    found += caller.each(count, _until_stopped(portfolio.refined(given, nodes)))
    found += caller.each(count, _until_stopped(portfolio.of_one_array(_irregular(found, portfolio), nodes)))
    found = _with_bound(found, portfolio, nodes)
    advance()
    times = portfolio.left_out(nodes).items()
    left_out = tuple(f"at {nodes} nodes: {n}, about {format_seconds(s)} (--effort)" for n, s in times)
    chosen = _chosen(found, portfolio)
    said = (*portfolio.failures(nodes), *_missed(chosen, portfolio))
    return Counted(chosen, tuple(f"{nodes} nodes ({view.model}): {text}" for text in said), left_out)


def _irregular(found: list[Decomposition], portfolio: Portfolio) -> Iterator[Candidate]:
    """Yield the best division if it is irregular, and no regular one sends nearly as little."""
    chosen = _chosen(found, portfolio)
    best, written = next(d for d in chosen if d.best), headline(chosen)
    # what only its rows excuse is weighed as in :func:`evenness`
    excess = written.imbalance if written.imbalance > portfolio.allowed(best.nodes) else 1.0
    is_far = excess * written.comm_bytes > SEARCH.plain * best.comm_bytes
    if (written is best and not best.grid) or is_far:
        yield Candidate(best.method, best.part, best.seconds, best.coarse_vertices)


def _chosen(found: list[Decomposition], portfolio: Portfolio) -> tuple[Decomposition, ...]:
    """``found`` with one of them marked as best; what is as even as a balanced best is balanced, too."""
    even = evenness(found, [portfolio.allowed(d.nodes, d.method) for d in found])
    imbalance = np.array([d.imbalance for d in found])
    for _ in range(2):  # the second time with what is as even as the best of the first
        best = best_of([d.comm_bytes for d in found], np.where(even, 1.0, imbalance).tolist(), 1.0)
        even |= even[best] & (imbalance <= imbalance[best])
    return tuple(replace(d, best=i == best, is_balanced=bool(even[i])) for i, d in enumerate(found))


def _until_stopped(candidates: Iterator[Candidate]) -> Iterator[Candidate]:
    """What is found before an interrupt or the end of the time."""
    with suppress(StoppedError):
        yield from candidates


def _portfolio(view: View, options: CountOptions, budget_s: float, caller: LibraryCaller) -> Portfolio:
    """Candidates of a view, on as many coarse vertices as the user says."""
    chosen = PortfolioOptions(
        options.nodes,
        options.seed,
        options.imbalance,
        tuple(map(parse_rule, options.decompose)),
        None if options.owner_map is None else read_owner_map(options.owner_map),
        structured=view.model == "volume" and not options.given,
        given=options.given,
        caller=caller,
        budget_s=budget_s,
    )
    wanted = options.coarsen if isinstance(options.coarsen, int) else 0
    if options.coarsen == "never":
        wanted = view.graph.num_vertices
    return Portfolio(view.graph, view.removed, chosen, view.counted_cost, wanted)


def _with_bound(found: list[Decomposition], portfolio: Portfolio, nodes: int) -> list[Decomposition]:
    known = portfolio.structure
    if known is None:
        return found
    allowed = portfolio.allowed(nodes)
    least = known.bound_bytes(nodes, allowed)
    below = [d.method for d in found if d.comm_bytes < least and d.imbalance <= allowed]
    if below:
        raise GraphInvariantError(f"a provable minimum of {least} bytes is above what {below[0]} sends")
    return [replace(d, lower_bound_bytes=least, bound_source=known.source) for d in found]


def _missed(chosen: Sequence[Decomposition], portfolio: Portfolio) -> Iterator[str]:
    """What speaks against all that was found where it is far above what is usual; methods may all err."""
    known, best = portfolio.structure, next(d for d in chosen if d.best)
    if known is not None and best.comm_bytes > SEARCH.missed * (usual := known.usual_bytes(best.nodes)):
        least = format_bytes(best.lower_bound_bytes or 0)
        yield (
            f"the best division sends {format_bytes(best.comm_bytes)}, where blocks of a {known.kind} alone "
            f"send at most {format_bytes(usual)} and at least {least} is provable ({known.source}): one that "
            "nothing looks for may be much better (--decompose, --owner-map)"
        )


def _count(view: View, candidate: Candidate, nodes: int, work: int, options: CountOptions) -> Decomposition:
    part = candidate.part
    charges = view.charge(part, nodes)
    communication, object_bytes = view.communication(part, charges)
    intensity, efficiency_bound = bounds_of(communication, work, options.machine)
    cost = view.cost(part, charges, communication.total_bytes)
    if options.check:
        check_charges(view.graph, part, charges, view.removed if view.singletons is not None else None)
        check_matrix(charges, communication)
    return Decomposition(
        nodes=nodes,
        model=view.model,
        method=candidate.method,
        best=False,
        communication=communication,
        owners=Owners.of(part),
        intensity=intensity,
        efficiency_bound=efficiency_bound,
        imbalance=cost.imbalance,
        object_bytes=object_bytes,
        seconds=candidate.seconds,
        coarse_vertices=candidate.coarse_vertices,
    )


def bounds_of(
    communication: Communication, work: int, machine: MachineParameters
) -> tuple[float, float | None]:
    """Intensity and bound of the efficiency where work W communicates so much."""
    intensity = communication_intensity(Bytes(communication.total_bytes), Flop(work))
    nodes, message_bytes = communication.num_parts, communication.mean_message_bytes
    return intensity, machine_bound(intensity, machine, nodes=nodes, message_bytes=message_bytes)
