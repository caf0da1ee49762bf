"""Divisions counted once more, exactly: what crosses in the order in which everything happened.

Counting by rows leaves a bracket where it is not known which versions of a value its readers saw. Where it is
wide and the run short, or where the user says so, the program is recorded with the order of its events
(:func:`commanalyzer.recording.record.record_order`), and these are gone through with the owners that were
found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from commanalyzer.communication.charges import Charges
from commanalyzer.communication.replay import replayed
from commanalyzer.division.decompose import Counted, CountOptions, bounds_of
from commanalyzer.division.selection import cheapest_regular, headline, is_written, leading
from commanalyzer.division.views import View
from commanalyzer.foundation.errors import CommAnalyzerError, ConfigError, TraceError
from commanalyzer.foundation.heap import give_back
from commanalyzer.foundation.progress import Progress
from commanalyzer.foundation.quantities import format_count
from commanalyzer.graph.contraction.simplify import rows_kept
from commanalyzer.graph.storage.store import LargeGraph
from commanalyzer.graph.timeline import Timeline, is_same_graph
from commanalyzer.graph.value_graph import Bool, Int32, ValueGraph
from commanalyzer.recording.record import RecordedProgram, record_order
from commanalyzer.request import AnalysisRequest
from commanalyzer.result.confidence import method_of, open_brackets
from commanalyzer.result.results import Decomposition, groups_of

# Upper end over lower end of a bracket from which on it is done by itself, in runs of so many events.
# A quarter decides between divisions, and between machines; 20 million are about 80 MB, runs of some 0.1 s.
# Where it takes less than a second, it is done wherever a bracket would be worth a sentence.
_WIDE = ((1.25, 20_000_000), (1.05, 2_000_000))
_MOST_EVENTS = 2_000_000_000  # at all, 8 GB
_MOST_CHANGES = 8  # other divisions that are counted in this way because the first turned out dearer


def counted_exactly(
    counted: Counted,
    request: AnalysisRequest,
    recorded: RecordedProgram,
    options: CountOptions,
    progress: Progress,
) -> Counted:
    """Count the divisions that are shown event by event, if that is asked for or worth it.

    Raises ``ConfigError`` if it is asked for and there are too many events, else as
    :func:`commanalyzer.recording.record.record_order`.
    """
    groups = groups_of(counted.decompositions)
    divided = [i for i, (d, *_) in enumerate(groups) if d.nodes > 1 and d.model == "volume"]
    events = int(sum(count.sum() for (count,) in recorded.store.row_columns(("row_count",))))
    if request.exact and events > _MOST_EVENTS:
        raise ConfigError(
            f"expected at most {format_count(_MOST_EVENTS)} events to be counted one by one, "
            f"found {format_count(events)}",
            where="--exact",
            hint="analyse a smaller problem, or fewer steps",
        )
    shown = [d.communication for i in divided for d in leading(groups[i])]
    least = min((ratio for ratio, most in _WIDE if events <= most), default=float("inf"))
    wide = any(c.high_bytes > least * c.low_bytes for c in shown)
    if not shown or not (wide if request.exact is None else request.exact):
        return counted
    progress.stage(f"count {format_count(events)} events one by one", 1)
    try:
        replay = Replay.of(request, recorded, counted.view, options, progress)
        for i in divided:
            groups[i] = replay.settled(groups[i])
    except CommAnalyzerError as error:
        if request.exact:
            raise
        text = f"brackets stay open, as counting event by event failed: {error.message}"
        return replace(counted, warnings=(*counted.warnings, text))
    result = tuple(d for group in groups for d in group)
    known = set(open_brackets(counted.decompositions))
    kept = (text for text in counted.warnings if text not in known)
    return replace(counted, decompositions=result, warnings=(*kept, *open_brackets(result)))


@dataclass(frozen=True, slots=True)
class Replay:
    """A run, event by event; rows of its recording that its view ``kept`` (bool[R])."""

    view: View
    timeline: Timeline
    kept: Bool
    recorded: RecordedProgram
    options: CountOptions

    @classmethod
    def of(
        cls,
        request: AnalysisRequest,
        recorded: RecordedProgram,
        view: View | None,
        options: CountOptions,
        progress: Progress,
    ) -> Replay:
        """Record the program once more, in order; ``view`` is what was divided, if that is at hand.

        Errors as of :func:`counted_exactly`.
        """
        store, timeline = record_order(request, recorded, progress)
        if not is_same_graph(store, recorded.store):
            raise TraceError("expected two recordings of the program to agree, found different values")
        give_back()
        graph = LargeGraph(recorded.store)
        view = view or View.of("volume", graph, options.high, may_be_tiled=False, jobs=options.jobs)
        if isinstance(view.graph, LargeGraph):
            view = replace(view, graph=view.graph.store.graph())
        return cls(view, timeline, rows_kept(graph, view.graph), recorded, options)

    def settled(self, found: list[Decomposition]) -> list[Decomposition]:
        """Count those of one node count that are shown; another one becomes the best if it sends less.

        Of those that can be written, the ones that may send less than the first are counted as well: where
        readers share versions, the likeliest number before is several times too high.
        """
        regular = cheapest_regular(found)
        found = [self.counted(d) if d is regular or method_of(d) == "given" else d for d in found]
        even = [i for i, d in enumerate(found) if d.is_balanced]
        for change in range(_MOST_CHANGES + 1):
            first = headline(found)
            unsure = [i for i, d in enumerate(found) if (d.best or d is first) and not d.is_replayed]
            if not unsure:
                low = {i: found[i].communication.low_bytes for i in even if is_written(found[i])}
                rivals = [i for i in low if not found[i].is_replayed and low[i] < first.comm_bytes]
                unsure = sorted(rivals, key=low.__getitem__)[:1]
            if not unsure:
                break
            for i in unsure:
                found[i] = self.counted(found[i])
            if change == _MOST_CHANGES:  # enough: the best of those that were counted
                even = [i for i in even if found[i].is_replayed]
            best = next(i for i, d in enumerate(found) if d.best)
            if found[best].is_balanced:
                best = min(even, key=lambda i: found[i].comm_bytes)
            found = [replace(d, best=i == best) for i, d in enumerate(found)]
        return found

    def charges(self, part: Int32, num_parts: int) -> tuple[Charges, float | None]:
        """What owners int32[V] of the view's values send; the imbalance, unless it is as it was counted."""
        assert isinstance(self.view.graph, ValueGraph)  # it was made to be expanded
        known = self.view.graph, self.kept, self.timeline, part, self.view.removed, self.view.totals
        charges = self.view.charge(part, num_parts)
        exact = replayed(charges, *known)
        # Whether sums find their operands where these are sent for others, too, is known only now.
        others = self.view.charge(part, num_parts, reads_others=True)
        other = exact if others.combines_as(charges) else replayed(others, *known)
        if other.comm_bytes >= exact.comm_bytes:
            return exact, None
        return other, self.view.cost(part, others, other.comm_bytes).imbalance

    def counted(self, item: Decomposition) -> Decomposition:
        """One division with what it sends, event by event."""
        exact, imbalance = self.charges(item.part, item.nodes)
        imbalance = item.imbalance if imbalance is None else imbalance
        found, object_bytes = self.view.communication(item.part, exact)
        ends = found.low_bytes, found.high_bytes, round(self.recorded.recording.doubt * found.total_bytes)
        communication = replace(found, low_bytes=min(ends), high_bytes=max(ends))
        intensity, bound = bounds_of(communication, self.recorded.work.amount, self.options.machine)
        return replace(
            item,
            communication=communication,
            object_bytes=object_bytes,
            intensity=intensity,
            efficiency_bound=bound,
            imbalance=imbalance,
            is_balanced=item.is_balanced or imbalance <= 1.0 + self.options.imbalance,
            is_replayed=True,
            transfers=exact.listed(),
        )
