"""Divisions counted once more, exactly: what crosses in the order in which everything happened.

Counting by rows leaves a bracket where it is not known which versions of a value its readers saw. Where it is
wide and the run short, or where the user says so, the program is recorded with the order of its events
(:func:`commanalyzer.record.record_order`), and these are gone through with the owners that were found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from commanalyzer.communication.replay import replayed
from commanalyzer.decompose import Counted, CountOptions, bounds_of
from commanalyzer.errors import CommAnalyzerError, ConfigError, TraceError
from commanalyzer.foundation.heap import give_back
from commanalyzer.foundation.progress import Progress
from commanalyzer.foundation.quantities import format_count
from commanalyzer.partition.selection import cheapest_regular, headline, is_written, leading
from commanalyzer.record import record_order
from commanalyzer.request import AnalysisRequest
from commanalyzer.result.confidence import method_of, open_brackets
from commanalyzer.result.results import Decomposition
from commanalyzer.vcg.graph import Int32, ValueGraph
from commanalyzer.vcg.storage.store import GraphStore
from commanalyzer.vcg.timeline import Timeline, same_vertices
from commanalyzer.views import View


@dataclass(frozen=True, slots=True)
class ReplayPolicy:
    """When divisions are counted event by event.

    Attributes:
        wide: Upper end over lower end of a bracket from which on it is done by itself: a quarter decides
            between divisions, and between machines. How many programs another number adds was not measured.
        events: Most events for that, about 80 MB: runs of some 0.1 s.
        most_events: Most events at all, 8 GB.
        most_changes: Other divisions that are counted in this way because the first turned out dearer.
    """

    wide: float = 1.25
    events: int = 20_000_000
    most_events: int = 2_000_000_000
    most_changes: int = 8


POLICY = ReplayPolicy()


def counted_exactly(
    counted: Counted,
    request: AnalysisRequest,
    recorded: tuple[GraphStore, bytes, int],
    options: CountOptions,
    progress: Progress,
    doubt: float,
) -> Counted:
    """Count the divisions that are shown event by event, if that is asked for or worth it.

    Args:
        counted: What was counted by rows.
        request: What to record.
        recorded: The graph that was divided, what its recording was told of temporaries, and the work W.
        options: What was counted.
        progress: Told about stages.
        doubt: How many times as many bytes the other reading of private temporaries moves.

    Raises:
        ConfigError: If it is asked for and there are too many events.
        CommAnalyzerError: As :func:`commanalyzer.record.record_order`.
    """
    store = recorded[0]
    found = [d for d in counted.decompositions if d.model == "volume" and d.nodes > 1]
    events = int(sum(count.sum() for (count,) in store.row_columns(("row_count",))))
    if request.exact and events > POLICY.most_events:
        raise ConfigError(
            f"expected at most {format_count(POLICY.most_events)} events to be counted one by one, "
            f"found {format_count(events)}",
            where="--exact",
            hint="analyse a smaller problem, or fewer steps",
        )
    groups = groupby(found, key=lambda d: d.nodes)
    shown = [d.communication for _, group in groups for d in leading(list(group))]
    wide = any(c.high_bytes > POLICY.wide * c.low_bytes for c in shown)
    if not found or not (wide and events <= POLICY.events if request.exact is None else request.exact):
        return counted
    progress.stage(f"count {format_count(events)} events one by one", 1)
    try:
        result = _replayed(counted, request, recorded, options, progress, doubt)
    except CommAnalyzerError as error:
        if request.exact:
            raise
        text = f"brackets stay open, as counting event by event failed: {error.message}"
        return replace(counted, warnings=(*counted.warnings, text))
    known = set(open_brackets(counted.decompositions))
    kept = (text for text in counted.warnings if text not in known)
    return replace(counted, decompositions=tuple(result), warnings=(*kept, *open_brackets(result)))


def _replayed(
    counted: Counted,
    request: AnalysisRequest,
    recorded: tuple[GraphStore, bytes, int],
    options: CountOptions,
    progress: Progress,
    doubt: float,
) -> list[Decomposition]:
    """All divisions, those that are shown counted event by event; arguments as above."""
    store, workspace, work = recorded
    give_back()
    graph, timeline, _ = record_order(request, workspace, progress)
    give_back()
    if (same := same_vertices(graph, replace(store).graph())) is None:  # which is not kept
        raise TraceError("expected two recordings of the program to agree, found different values")
    give_back()
    view = View.of("volume", graph, options.high, is_tiled=lambda _: False, jobs=options.jobs)
    replay = _Replay(view, graph, timeline, same.astype(np.int32), work, options, doubt)
    result = list(counted.decompositions)
    for nodes in {d.nodes for d in result if d.nodes > 1 and d.model == "volume"}:
        replay.settle(result, [i for i, d in enumerate(result) if (d.nodes, d.model) == (nodes, "volume")])
    return result


@dataclass(frozen=True, slots=True)
class _Replay:
    """A run, event by event, and its graph; ``same`` are the vertices of the graph that was divided."""

    view: View
    recorded: ValueGraph
    timeline: Timeline
    same: Int32
    work: int
    options: CountOptions
    doubt: float

    def settle(self, found: list[Decomposition], places: list[int]) -> None:
        """Count the divisions at ``places`` that are shown; another one becomes the best if it sends less.

        Of those that can be written, the ones that may send less than the first are counted as well: where
        readers share versions, the likeliest number before is several times too high.
        """
        regular = cheapest_regular(found[i] for i in places)
        for i in places:
            if found[i] is regular or method_of(found[i]) == "given":
                found[i] = self.counted(found[i])
        even = [i for i in places if found[i].is_balanced]
        for change in range(POLICY.most_changes + 1):
            first = headline(found[i] for i in places)
            shown = [i for i in places if found[i].best or found[i] is first]
            unsure = [i for i in shown if not found[i].is_replayed]
            if not unsure:
                rivals = [i for i in even if not found[i].is_replayed and is_written(found[i])]
                rivals.sort(key=lambda i: found[i].communication.low_bytes)
                unsure = [i for i in rivals[:1] if found[i].communication.low_bytes < first.comm_bytes]
            if not unsure:
                break
            for i in unsure:
                found[i] = self.counted(found[i])
            best = next(i for i in places if found[i].best)
            if change == POLICY.most_changes:  # enough: the best of those that were counted
                even = [i for i in even if found[i].is_replayed]
            least = min(even, key=lambda i: found[i].comm_bytes) if found[best].is_balanced else best
            found[best] = replace(found[best], best=False)
            found[least] = replace(found[least], best=True)

    def counted(self, item: Decomposition) -> Decomposition:
        """One division with what it sends, event by event."""
        view, part = self.view, item.part[self.same]
        charges = view.charge(part, item.nodes)
        assert isinstance(view.graph, ValueGraph)  # it was made to be expanded
        exact = replayed(charges, view.graph, self.recorded, self.timeline, part, view.removed, view.totals)
        found, object_bytes = view.communication(part, exact, None)
        ends = found.low_bytes, found.high_bytes, round(self.doubt * found.total_bytes)
        communication = replace(found, low_bytes=min(ends), high_bytes=max(ends))
        intensity, bound = bounds_of(communication, self.work, self.options.machine)
        return replace(
            item,
            communication=communication,
            object_bytes=object_bytes,
            intensity=intensity,
            efficiency_bound=bound,
            is_replayed=True,
        )
