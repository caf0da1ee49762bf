"""What a chapter is about: a result, the machines it is judged on, and what several sections need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from commanalyzer.graph.contraction.dissolve import dissolve_registers
from commanalyzer.graph.value_graph import HomeObject, ValueGraph
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.machine.roofline.bound import ScalingBound, scaling_bound
from commanalyzer.result.results import AnalysisResult, Decomposition

MOST_SHOWN_NODES = 4  # node counts with pictures of their own


@dataclass(frozen=True, slots=True)
class Subject:
    """A result as a chapter sees it."""

    result: AnalysisResult
    name: str  # unique in the page, for identifiers and file names
    title: str
    judged_on: tuple[MachineParameters, ...] = ()  # machines, the leading one first
    folders: tuple[Path, ...] = ()  # where source files are looked for

    @property
    def machines(self) -> tuple[MachineParameters, ...]:
        """Machines that a bound can be computed for."""
        return tuple(m for m in self.judged_on if m.is_complete)

    @property
    def bests(self) -> tuple[Decomposition, ...]:
        """What a programmer would write with the leading model, by node count."""
        return tuple(self.result.decomposition(nodes) for nodes in self.result.nodes)

    @property
    def largest(self) -> Decomposition:
        """The best decomposition of the largest node count."""
        return self.bests[-1]

    @property
    def pictured(self) -> tuple[Decomposition, ...]:
        """Best decompositions of the node counts with pictures: evenly chosen, the largest among them."""
        bests = self.bests
        chosen = np.unique(np.linspace(0, len(bests) - 1, MOST_SHOWN_NODES).round().astype(np.int64))
        return tuple(bests[k] for k in chosen.tolist())

    @property
    def bounds(self) -> tuple[ScalingBound, ...]:
        """Bounds on each machine, over the candidates of the leading model; none without work."""
        if not self.result.work.amount or not self.result.decompositions:
            return ()
        found = [d for d in self.result.decompositions if d.model == self.largest.model]
        items, uneven = [(d.method, d.communication) for d in found], [d.imbalance for d in found]
        work = self.result.work
        return tuple(scaling_bound(work.amount, items, m, "best", work.unit, uneven) for m in self.machines)

    def candidates(self, item: Decomposition) -> list[Decomposition]:
        """All decompositions of the same node count and model."""
        return [d for d in self.result.decompositions if (d.nodes, d.model) == (item.nodes, item.model)]


def counted_graph(result: AnalysisResult, item: Decomposition) -> ValueGraph:
    """Return the graph whose vertices ``item`` divides; the paper's model counts without register values."""
    if len(item.part) == result.graph.num_vertices:
        return result.graph
    return dissolve_registers(result.graph)


def machines_of(
    result: AnalysisResult, given: Sequence[MachineParameters], throughput: Parameter | None = None
) -> tuple[MachineParameters, ...]:
    """Return the machines to judge a result on: the given ones, or its own.

    A machine without a throughput gets ``throughput``, or that of the nodes on which the program ran;
    parameters of networks are not mixed.
    """
    own = result.machine
    default = throughput or own.throughput
    return tuple(m if m.throughput else m.updated(throughput=default) for m in (given or [own]))


def machine_name(machine: MachineParameters) -> str:
    """What to call ``machine`` in a sentence."""
    return machine.name or "the given machine"


def count_nodes(nodes: int) -> str:
    """``1 node``, ``4 nodes``."""
    return "1 node" if nodes == 1 else f"{nodes} nodes"


def place_of(home: HomeObject) -> str:
    """Where a variable is declared: ``file:line``, empty when unknown."""
    return f"{home.file}:{home.line}" if home.file and home.line else ""
