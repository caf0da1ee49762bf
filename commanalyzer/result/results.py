"""Result of an analysis: everything that reports, notebooks and files need, and nothing to compute later."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication.matrix import Communication, CountedRun
from commanalyzer.division.owners import Owners
from commanalyzer.division.selection import cheapest_regular, headline, leading
from commanalyzer.foundation.errors import ConfigError, GraphInvariantError
from commanalyzer.foundation.files import write_text
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent
from commanalyzer.foundation.work import WorkCounts as WorkCounts
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.value_graph import ValueGraph
from commanalyzer.machine.machine_file import as_machine
from commanalyzer.machine.parameters import MachineParameters, Quantity
from commanalyzer.machine.roofline.bound import ScalingBound, scaling_bound
from commanalyzer.machine.roofline.traffic import Placement
from commanalyzer.report.figures import methods
from commanalyzer.report.figures.methods import Machine
from commanalyzer.request import Nodes, node_counts

if TYPE_CHECKING:
    from pandas import DataFrame

    from commanalyzer.machine.simulation.run import Simulation
    from commanalyzer.result.causes import Causes
    from commanalyzer.result.comparison.compare import Comparison
    from commanalyzer.result.comparison.difference import Difference

REGULAR = "blocks", "slabs", "cyclic"  # first words of the names of divisions by rows, in Layouts
# Names of regular divisions with all remarks: blocks 4x4 of u[9x9] and slabs 16 of x, entries follow by work.
_REGULAR = re.compile(
    rf"(?:{'|'.join(REGULAR)}) ([\dx]+)( of [^,]+?)?(, \w+ follow)?( by work)?(?<! refined)"
)
PROCESSES = frozenset(("fork", "vfork", "clone", "posix_spawn", "posix_spawnp", "system", "popen"))
_HTML_TITLES = ("nodes", "model", "method", "communication", "efficiency bound")


@dataclass(frozen=True, slots=True)
class Recording:
    """How the recording went.

    Attributes:
        native_s: CPU time of the plain program, seconds; ``None`` when it was not run.
        instrumented_s: CPU time of the instrumented program, seconds.
        peak_rss_bytes: Peak resident memory of the instrumented program, bytes.
        exit_status: Exit status of the program.
        unmodelled_calls: External functions without a model, with the number of calls.
        dropped_events: Events that could not be recorded.
        warnings: What the user should know about the recording, one sentence each.
        spilled_bytes: What the recorder kept in its file instead of in memory while the program ran, bytes.
        steering: Comparisons of elements that only decide what is done next: what they need is not counted.
        doubt: Bytes if private temporaries in doubt are read the other way, over those shown; else 1.
    """

    native_s: float | None
    instrumented_s: float
    peak_rss_bytes: int
    exit_status: int = 0
    unmodelled_calls: tuple[tuple[str, int], ...] = ()
    dropped_events: int = 0
    warnings: tuple[str, ...] = ()
    spilled_bytes: int = 0
    steering: int = 0
    doubt: float = 1.0

    @property
    def slowdown(self) -> float | None:
        """Instrumented over plain CPU time; ``None`` when unknown or too short to be meaningful."""
        if self.native_s is None or self.native_s < 1e-3:
            return None
        return self.instrumented_s / self.native_s

    @property
    def is_complete(self) -> bool:
        """Nothing is known to have moved values unseen: bytes may be called exact."""
        return not (self.unmodelled_calls or self.steering or self.dropped_events)

    @property
    def unfollowed_calls(self) -> tuple[tuple[str, int], ...]:
        """Those that a model would help: not what starts processes, which a warning of their own names."""
        return tuple(call for call in self.unmodelled_calls if call[0] not in PROCESSES)


@dataclass(frozen=True, slots=True)
class SingletonCounts:
    """Singleton values by direction (paper Definitions 4.2 and 4.3)."""

    source: int = 0
    sink: int = 0
    reduction: int = 0

    @property
    def total(self) -> int:
        """All singletons."""
        return self.source + self.sink + self.reduction


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a result comes from.

    Attributes:
        tool_version: Version of this package.
        git_revision: Commit of the tool's working tree, empty when there is none.
        created: Time, UTC, ISO 8601.
        host_class: Operating system, architecture and processor model; never the host's name.
        compiler: Compiler version line.
        flags: The user's compiler flags.
        input_hashes: (path as given, SHA-256) of each source.
        seed: Seed of the random choices.
    """

    tool_version: str
    git_revision: str = ""
    created: str = ""
    host_class: str = ""
    compiler: str = ""
    flags: tuple[str, ...] = ()
    input_hashes: tuple[tuple[str, str], ...] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Decomposition:
    """One way to distribute the values over nodes, and what it costs.

    Attributes:
        nodes: Node count p.
        model: Communication model, ``volume`` or ``hpdc18``; ``counted`` for the bytes of an MPI run.
        method: What made it (``metis cut``, ``blocks 2D`` ...).
        best: It moves the least bytes of its (nodes, model) within the balance limit.
        communication: Matrix, messages and bracket.
        owners: Owner of each vertex of the graph the model counts on, in coded form (see :attr:`part`).
        intensity: I_c, bytes per operation of W (infinite without any, NaN when not known).
        imbalance: Largest part's work over mean work, >= 1; NaN when not known.
        efficiency_bound: Paper Eq. 4; ``None`` when the machine is not known.
        object_bytes: int64[len(objects)], bytes moved per home object, singletons aside; empty when not
            counted.
        lower_bound_bytes: Bytes that no balanced division stays below, 0 when none is known.
        bound_source: Where that is proved.
        seconds: Time that finding it took, seconds (differs from run to run).
        coarse_vertices: Vertices of the coarse graph it was found on, 0 for the values themselves.
        is_balanced: Its imbalance is within the limit.
        is_replayed: Its communication was counted event by event, in the order of the run.
        transfers: int64[K, 4], value, sender, receiver and how often, of a replayed one: ``None`` elsewhere,
            as counting by rows finds them again, and in files of older versions.

    Raises:
        GraphInvariantError: If sizes contradict each other.
    """

    nodes: int
    model: str
    method: str
    best: bool
    communication: Communication
    owners: Owners
    intensity: float
    imbalance: float
    efficiency_bound: float | None = None
    object_bytes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    seconds: float = 0.0
    lower_bound_bytes: int = 0
    bound_source: str = ""
    coarse_vertices: int = 0
    is_balanced: bool = True
    is_replayed: bool = False
    transfers: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.communication.num_parts != self.nodes:
            raise GraphInvariantError(
                f"expected a {self.nodes} x {self.nodes} matrix, found {self.communication.num_parts} parts"
            )
        if not 0 <= self.owners.least <= self.owners.most + 1 <= self.nodes:
            raise GraphInvariantError(f"expected owners in [0, {self.nodes}), found others")
        moved = int(self.object_bytes.sum()) + self.communication.singleton_bytes
        if len(self.object_bytes) and moved != self.comm_bytes:
            raise GraphInvariantError(f"expected {self.comm_bytes} bytes of all arrays, found {moved}")
        self.object_bytes.setflags(write=False)

    @property
    def part(self) -> NDArray[np.int32]:
        """int32[V] owner of each vertex of the graph the model counts on; expanded in every call."""
        return self.owners.expand()

    @property
    def comm_bytes(self) -> int:
        """Communication C, bytes."""
        return self.communication.total_bytes

    @property
    def neighbours(self) -> NDArray[np.int64]:
        """int64[p], number of parts that each part exchanges anything with."""
        m = self.communication.comm_bytes
        return np.asarray(((m + m.T) > 0).sum(axis=1, dtype=np.int64))

    @property
    def grid(self) -> tuple[int, ...]:
        """Nodes per dimension where arrays are divided into plain blocks or slabs; empty for others."""
        match = _REGULAR.fullmatch(self.method)
        return tuple(int(extent) for extent in match.group(1).split("x")) if match else ()

    def __repr__(self) -> str:
        bound = "" if self.efficiency_bound is None else f", bound {format_percent(self.efficiency_bound)}"
        marks = (", best" if self.best else "") + ("" if self.is_balanced else ", not balanced")
        size = format_bytes(self.comm_bytes)
        return f"Decomposition(p={self.nodes}, {self.model}, {self.method}, {size}{bound}{marks})"


def groups_of(found: Iterable[Decomposition]) -> list[list[Decomposition]]:
    """Return decompositions, in the order of a result, by node count and model."""
    return [list(group) for _, group in groupby(found, key=lambda d: (d.nodes, d.model))]


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """Result of one analysis.

    Attributes:
        program: Name of the program (its main source file).
        command: Program and arguments as analysed.
        provenance: Origin.
        work: Operation counts.
        recording: Recording quality.
        store: Value communication graph in coded form.
        singletons: Singleton counts of the paper's rule; ``None`` where the graph is too large to count them
            for nothing but this number.
        vcg_words: Size of the graph in the unit of the paper's Table 2, 0 when not counted.
        machine: Machine of the efficiency bounds.
        decompositions: All candidates, ordered by nodes; exactly one best per (nodes, model).
        regions: Functions the analysis was restricted to.
        warnings: What the user should know, one sentence each.
        left_out: Methods that did not fit into the budget, one sentence each.
        peak_memory_bytes: Peak resident memory of this tool during the analysis, bytes; 0 when not known.
        counted: How an MPI run was counted: then there is no value graph, no work and no machine, and
            decompositions are regions of the run.

    Raises:
        GraphInvariantError: If a (nodes, model) has not exactly one best decomposition.
    """

    program: str
    command: tuple[str, ...]
    provenance: Provenance
    work: WorkCounts
    recording: Recording
    store: GraphStore
    singletons: SingletonCounts | None
    vcg_words: int
    machine: MachineParameters
    decompositions: tuple[Decomposition, ...]
    regions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    counted: CountedRun | None = None
    left_out: tuple[str, ...] = ()
    peak_memory_bytes: int = 0

    def __post_init__(self) -> None:
        for nodes, model in {(d.nodes, d.model) for d in self.decompositions}:
            bests = sum(d.best for d in self._candidates(nodes, model))
            if bests != 1:
                found = f"for {nodes} nodes and model {model}, found {bests}"
                raise GraphInvariantError(f"expected one best decomposition {found}")

    @property
    def graph(self) -> ValueGraph:
        """Value communication graph, expanded (:meth:`GraphStore.graph`)."""
        return self.store.graph()

    @property
    def nodes(self) -> tuple[int, ...]:
        """Analysed node counts, increasing."""
        return tuple(sorted({d.nodes for d in self.decompositions}))

    @property
    def models(self) -> tuple[str, ...]:
        """Models counted with, in order of appearance."""
        return tuple(dict.fromkeys(d.model for d in self.decompositions))

    def best(self, nodes: int | str, model: str = "") -> Decomposition:
        """The least found by any means; as :meth:`decomposition`."""
        known = self._candidates(nodes, model)
        return next((d for d in known if d.best), None) or self.decomposition(nodes, model)

    def shown(self) -> Iterator[Decomposition]:
        """For each node count and model what a programmer would write, then the best if that sends less."""
        for group in groups_of(self.decompositions):
            yield from leading(group)

    def regular(self, nodes: int | str, model: str = "") -> Decomposition | None:
        """The cheapest division of the arrays into plain blocks or slabs; ``None`` if none was found."""
        return cheapest_regular(self._candidates(nodes, model))

    def _candidates(self, nodes: int | str, model: str) -> list[Decomposition]:
        wanted = (node_counts(nodes), model or (self.models[0] if self.models else ""))
        return [d for d in self.decompositions if ((d.nodes,), d.model) == wanted]

    def decomposition(self, nodes: int | str, model: str = "", method: str = "") -> Decomposition:
        """One decomposition; what a programmer would write when no method is named.

        Raises:
            ConfigError: If there is none like it; an empty ``model`` is the first that was counted.
        """
        candidates = self._candidates(nodes, model)
        if candidates and not method:
            return headline(candidates)
        if found := [d for d in candidates if d.method == method]:
            return found[0]
        if candidates:
            known = ", ".join(d.method for d in candidates)
            raise ConfigError(f"expected on {nodes} nodes one of {known}, found {method!r}")
        counts, models = ", ".join(map(str, self.nodes)), " and ".join(self.models)
        raise ConfigError(
            f"expected {counts or 'no'} nodes ({models}), found {nodes} ({model or models or 'any model'})",
            hint=f"others, without running the program again: commanalyzer partition RESULT --nodes {nodes}",
        )

    def chosen(self, nodes: Nodes | None, model: str = "", method: str = "") -> list[Decomposition]:
        """As :meth:`decomposition` for each of these node counts; for all that have it when ``None``."""
        wanted = model or (self.models[0] if self.models else "")
        fitting = [d for d in self.decompositions if d.model == wanted and method in ("", d.method)]
        known = dict.fromkeys(d.nodes for d in fitting) or self.nodes  # one of which says what there is
        return [
            self.decomposition(n, model, method) for n in (known if nodes is None else node_counts(nodes))
        ]

    def on(self, nodes: Nodes) -> AnalysisResult:
        """The result with the divisions for these node counts only.

        Raises:
            ConfigError: If one was not analysed.
        """
        counts = [d.nodes for d in self.chosen(nodes)]
        return replace(self, decompositions=tuple(d for d in self.decompositions if d.nodes in counts))

    def matrix(self, nodes: int | str, model: str = "", method: str = "") -> NDArray[np.int64]:
        """int64[p, p] bytes that the row's node sends to the column's node.

        Raises:
            ConfigError: If there is no such decomposition.
        """
        return self.decomposition(nodes, model, method).communication.comm_bytes

    def bound(
        self,
        machine: Machine = None,
        *,
        nodes: Nodes | None = None,
        model: str = "",
        method: str = "",
        placement: Placement = "best",
        **parameters: Quantity | None,
    ) -> ScalingBound:
        """Bounds of efficiency and time over the analysed node counts.

        Args:
            machine: Machine, its file or name, that goes before :attr:`machine`, the one of the analysis.
            nodes: Node counts, ``16``, ``"4,16"`` or ``[4, 16]``; all analysed ones when ``None``.
            model: ``volume`` or ``hpdc18``; empty for the first model that was counted.
            method: Only this decomposition; empty for what a programmer would write.
            placement: Neighbours are ``best`` placed in the network or at ``random``.
            parameters: What goes before the machine's own: ``throughput="3.2GFlop/s"``, ``bandwidth``,
                ``overlap``, ``latency`` and others; a number is in B/s, Flop/s or seconds.

        Raises:
            ConfigError: If a node count, the model or the decomposition is not in the result.
            MachineModelError: If bandwidth or throughput is not known, or there is no work.
        """
        several = None if nodes is None else set(node_counts(nodes)) - {1}
        chosen = self.chosen(several, model, method)
        items, uneven = [(d.method, d.communication) for d in chosen], [d.imbalance for d in chosen]
        judged = self.machine.replaced_by(as_machine(machine, **parameters))
        return scaling_bound(self.work.amount, items, judged, placement, self.work.unit, uneven)

    def simulate(
        self,
        machine: Machine = None,
        *,
        platform: str = "star",
        nodes: Nodes | None = None,
        model: str = "",
        method: str = "",
        **parameters: Quantity | None,
    ) -> Simulation:
        """Simulated time (SimGrid) of divisions on a network of this topology, beside the bounds.

        Arguments as of :meth:`bound`; latency, bandwidth and throughput of the machine have to be known.
        """
        from commanalyzer.machine.simulation.platforms import link_parameters, make_platform
        from commanalyzer.machine.simulation.run import SimulationOptions, simulate

        chosen = self.chosen(nodes, model, method)
        judged = self.machine.replaced_by(as_machine(machine, **parameters))
        network = make_platform(platform, max(d.nodes for d in chosen), link_parameters(judged))
        overhead = judged.message_overhead
        how = SimulationOptions(message_overhead_s=overhead.value if overhead else 0.0)
        return simulate(self, chosen, network, how, SilentProgress())

    def why(
        self, nodes: int | str | None = None, pair: tuple[int, int] | None = None, *, method: str = ""
    ) -> Causes:
        """Variables and source lines behind what is sent; as :func:`commanalyzer.causes_of`."""
        from commanalyzer.result.causes import causes_of

        return causes_of(self, nodes, pair, method=method)

    def diff(
        self,
        after: AnalysisResult,
        nodes: Nodes | None = None,
        *,
        model: str = "",
        method: str | tuple[str, str] = "",
    ) -> tuple[Difference, ...]:
        """What changed from this result to another; as :func:`commanalyzer.differences`.

        A ``method`` is that of both results, two are that of each.
        """
        from commanalyzer.result.comparison.difference import differences

        methods = (method, method) if isinstance(method, str) else method
        return differences(self, after, model=model, methods=methods, nodes=nodes)

    def compare(
        self,
        counted: AnalysisResult,
        *,
        times: Mapping[int, float] | str | None = None,
        machine: Machine = None,
        model: str = "",
        method: str = "",
        region: str = "",
        **parameters: Quantity | None,
    ) -> Comparison:
        """This prediction beside a counted MPI run, with the numbering of nodes that agrees best.

        Measured ``times``, ``{4: 2.8}`` or ``"1=10.2s,4=2.8s"``, are set against bounds (see :meth:`bound`).
        """
        from commanalyzer.result.comparison.compare import compare, measured_runs

        found = compare(self, counted, model=model, method=method, region=region)
        if times is None:
            return found
        judged = as_machine(machine, **parameters)
        runs = measured_runs(self, found.counted, times, judged, found.predicted.model)
        return replace(found, measured=runs)

    def report(
        self,
        path: str | os.PathLike[str],
        *others: AnalysisResult,
        machine: Machine = None,
        force: bool = False,
        **parameters: Quantity | None,
    ) -> None:
        """Write this result, and others beside it, as one HTML page that needs nothing else.

        Args:
            path: File to write, ``*.html``.
            others: Further results on the same page.
            machine: Machine of the bounds, as of :meth:`bound`; the one of each result when ``None``.
            force: Replace an existing file.
            parameters: As of :meth:`bound`.
        """
        from commanalyzer.report.html.page import NamedResult, make_page, render_page

        named = [NamedResult(Path(result.program).stem, result) for result in (self, *others)]
        judged = as_machine(self.machine if machine is None else machine, **parameters)
        machines = (judged,) if machine is not None or parameters else ()
        page = make_page(named, machines=machines, folders=(Path(), Path(path).parent))
        write_text(Path(path), render_page(page), force=force)

    plot_matrix = methods.plot_matrix
    plot_network = methods.plot_network
    plot_parts = methods.plot_parts
    plot_roofline = methods.plot_roofline
    plot_scaling = methods.plot_scaling

    def to_frame(self) -> DataFrame:
        """All decompositions as a pandas table: one row each, units in the column names.

        Raises:
            ConfigError: If pandas is not installed.
        """
        return data_frame([_frame_row(item) for item in self.decompositions], _FRAME_COLUMNS)

    def __repr__(self) -> str:
        return (
            f"AnalysisResult({self.program}, {format_count(self.work.amount)} {self.work.unit}, "
            f"{format_count(self.store.num_vertices)} values, nodes {list(self.nodes)})"
        )

    def _repr_html_(self) -> str:
        """Small table for notebooks: what a programmer would write on each number of nodes, and the best."""
        rows = [_html_cells(d) for d in self.shown()]
        head = "".join(f"<th>{title}</th>" for title in _HTML_TITLES)
        body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
        return f"<p>{escape(repr(self))}</p><table><tr>{head}</tr>{body}</table>"


def data_frame(rows: Sequence[tuple[object, ...]], columns: list[str]) -> DataFrame:
    """A pandas table; a :class:`ConfigError` if pandas is not installed."""
    try:
        import pandas
    except ImportError as error:
        raise ConfigError("expected pandas for tables, found none", hint="pip install pandas") from error
    return pandas.DataFrame(rows, columns=columns)


_FRAME_COLUMNS = [
    *("nodes", "model", "method", "best", "comm_bytes", "low_bytes", "high_bytes", "messages"),
    *("intensity", "imbalance", "neighbours_mean", "neighbours_max", "efficiency_bound", "seconds"),
]


def _frame_row(item: Decomposition) -> tuple[object, ...]:
    traffic, neighbours = item.communication, item.neighbours
    return (
        *(item.nodes, item.model, item.method, item.best),
        *(traffic.total_bytes, traffic.low_bytes, traffic.high_bytes, traffic.total_messages),
        *(item.intensity, item.imbalance, float(neighbours.mean()), int(neighbours.max())),
        *(item.efficiency_bound, item.seconds),
    )


def _html_cells(item: Decomposition) -> tuple[str, ...]:
    bound = "" if item.efficiency_bound is None else format_percent(item.efficiency_bound)
    return (str(item.nodes), item.model, item.method, format_bytes(item.comm_bytes), bound)
