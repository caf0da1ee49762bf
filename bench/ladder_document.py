"""Rungs of the size ladder -> sections of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.ladder_cases import Series
from bench.sections import Document, Passage

_RECORD = ("record the program", "record the private temporaries")
_GRAPH = "build the value graph"
_DIVIDE = "partition and count"


@dataclass(frozen=True, slots=True)
class Volume:
    """The best division on some nodes.

    Attributes:
        nodes: Their number.
        comm_bytes: Bytes of the best division.
        method: How it was found.
        coarse_vertices: Of the coarse graph that it was found on, 0 for the values themselves.
        theory_bytes: Bytes of equal blocks by theory, ``None`` where there is no formula.
    """

    nodes: int
    comm_bytes: int
    method: str
    coarse_vertices: int
    theory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Rung:
    """One workload at one size, or why there is none.

    Attributes:
        series: Workload.
        size: Size.
        values: Vertices of the graph.
        flows: Distinct flows.
        graph_bytes: Memory of the graph.
        stages_s: Seconds of each stage.
        total_s: All of them.
        recorded_peak_bytes: Peak memory of the recorded program.
        own_peak_bytes: Peak memory of the analysis itself.
        volumes: For each number of nodes.
        failure: Why there is nothing, empty otherwise.
    """

    series: Series
    size: int
    values: int = 0
    flows: int = 0
    graph_bytes: int = 0
    stages_s: Mapping[str, float] = field(default_factory=dict)
    total_s: float = 0.0
    recorded_peak_bytes: int = 0
    own_peak_bytes: int = 0
    volumes: tuple[Volume, ...] = ()
    failure: str = ""

    @property
    def peak_bytes(self) -> int:
        """The larger of both peaks."""
        return max(self.recorded_peak_bytes, self.own_peak_bytes)

    @property
    def name(self) -> str:
        """Workload and arguments."""
        return " ".join((self.series.name, *self.series.command(self.size)))

    def line(self) -> str:
        """What to say while climbing."""
        if self.failure:
            return f"{self.name}: {self.failure}"
        return f"{self.name}: {self.flows:,} flows, {self.total_s:.0f} s, {self.peak_bytes / 1e9:.2f} GB"


def rung_of(series: Series, size: int, nodes: Sequence[int], report: Mapping[str, Any]) -> Rung:
    """Rung from the report of its process."""
    best = {d["nodes"]: d for d in report["decompositions"] if d["best"]}
    return Rung(
        series,
        size,
        report["vcg"]["values"],
        report["vcg"]["flows"],
        report["vcg"]["bytes"],
        report["stages_s"],
        report["total_s"],
        report["recording"]["peak_rss_bytes"],
        report["own_peak_bytes"],
        tuple(
            Volume(p, d["comm_bytes"], d["method"], d["coarse_vertices"], _theory(series, size, p))
            for p in nodes
            if (d := best.get(p)) is not None
        ),
    )


def _theory(series: Series, size: int, nodes: int) -> int | None:
    return series.theory(size, nodes) if nodes in (4, 16, 64) else None


def ladder_document(
    rungs: Sequence[Rung], nodes: Sequence[int], memory_limit_gb: float, origin: str
) -> Document:
    """Everything that a climb says; ``origin`` is its command and machine."""
    done = [rung for rung in rungs if not rung.failure]
    sections = [_cost(done, origin), _volumes(done, nodes), _limits(rungs, memory_limit_gb)]
    return Document("Size ladder", tuple(sections))


def _cost(rungs: Sequence[Rung], origin: str) -> Passage:
    text = (
        "Each row is one analysis from source to result in a process of its own, wall-clock seconds. "
        "Recorded: all recordings of the program. Divide: finding and counting divisions for all node "
        "counts. Peak memory of the recorded program and of the analysis."
    )
    columns = (
        *("workload", "values", "flows", "recorded s", "graph s", "divide s", "total s"),
        *("recorded GB", "analysis GB", "graph B/flow"),
    )
    return Passage("Cost", (origin, text), columns, tuple(_cost_cells(rung) for rung in rungs))


def _cost_cells(rung: Rung) -> tuple[str, ...]:
    seconds = rung.stages_s
    return (
        rung.name,
        f"{rung.values:,}",
        f"{rung.flows:,}",
        f"{sum(seconds.get(name, 0.0) for name in _RECORD):.1f}",
        f"{seconds.get(_GRAPH, 0.0):.1f}",
        f"{seconds.get(_DIVIDE, 0.0):.1f}",
        f"{rung.total_s:.1f}",
        f"{rung.recorded_peak_bytes / 1e9:.2f}",
        f"{rung.own_peak_bytes / 1e9:.2f}",
        f"{rung.graph_bytes / max(rung.flows, 1):.1f}",
    )


def _volumes(rungs: Sequence[Rung], nodes: Sequence[int]) -> Passage:
    text = (
        "Bytes of the best division that was found, counted on the full graph, and how many times those of "
        "equal blocks by theory (squares and boxes; of hydro3d cubes; main loop, without initial values). "
        "The last columns name the division for the most nodes and the vertices of the coarse graph that it "
        "was found on (0: the values themselves)."
    )
    head = [title for p in nodes for title in (f"p = {p}, bytes", "x theory")]
    columns = ("workload", *head, "division", "coarse vertices")
    return Passage("Volume", (text,), columns, tuple(_volume_cells(rung, nodes) for rung in rungs))


def _volume_cells(rung: Rung, nodes: Sequence[int]) -> tuple[str, ...]:
    found = {volume.nodes: volume for volume in rung.volumes}
    cells = [rung.name]
    for p in nodes:
        volume = found.get(p)
        cells.append("-" if volume is None else f"{volume.comm_bytes:,}")
        theory = volume.theory_bytes if volume is not None else None
        cells.append(f"{volume.comm_bytes / theory:.3f}" if volume is not None and theory else "-")
    last = rung.volumes[-1] if rung.volumes else None
    return (*cells, last.method if last else "-", f"{last.coarse_vertices:,}" if last else "-")


def _limits(rungs: Sequence[Rung], memory_limit_gb: float) -> Passage:
    """Where each workload ended, and which stage took most of the largest rung."""
    items = []
    for name in dict.fromkeys(rung.series.name for rung in rungs):
        mine = [rung for rung in rungs if rung.series.name == name]
        done = [rung for rung in mine if not rung.failure]
        items += [f"{rung.name}: {rung.failure}" for rung in mine if rung.failure]
        if done:
            items.append(_largest(done[-1]))
    text = f"At most {memory_limit_gb:g} GB for all processes of a rung."
    return Passage("Where it ends", (text,), items=tuple(items), text_columns=0)


def _largest(rung: Rung) -> str:
    stage, seconds = max(rung.stages_s.items(), key=lambda item: item[1], default=("nothing", 0.0))
    peak = "analysis" if rung.own_peak_bytes >= rung.recorded_peak_bytes else "recorded program"
    per_flow = rung.peak_bytes / max(rung.flows, 1)
    return (
        f"{rung.name} is the largest that was analysed: {rung.flows:,} flows in {rung.total_s:.0f} s, most "
        f"of it to {stage} ({seconds:.0f} s); memory is limited by the {peak}, {rung.peak_bytes / 1e9:.1f} "
        f"GB or {per_flow:.0f} bytes per flow"
    )
