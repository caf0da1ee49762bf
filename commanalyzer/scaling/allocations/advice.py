"""The allocations of a program on a machine, for ``advise --allocations`` and ``commanalyzer.advise``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.quantities import parse_bytes
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.simulation.routes import make_network
from commanalyzer.request import Nodes, node_counts
from commanalyzer.result.artifacts import load
from commanalyzer.result.results import AnalysisResult
from commanalyzer.scaling.allocations import decisions, workload
from commanalyzer.scaling.allocations.metrics import injection_of, model_of, units_of
from commanalyzer.scaling.laws.document import LawsDocument, load_laws
from commanalyzer.scaling.laws.projection import Division, usual_division


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationOptions:
    """What is asked of all nodes x processes per node; the fields are called like the command's options.

    Raises ``ConfigError`` if there is no such ``model`` or ``order``.
    """

    ppn: Nodes | None = None  #: Processes per node to consider; powers of two to all cores if None.
    steps: str | float = ""  #: Phases of the run, for laws and results: a number, or the name of a size.
    model: Literal["machine", "max-rate"] = "machine"  #: Areas, where the machine has some; or max-rate.
    order: workload.RankOrder = "blocks"  #: Of ranks on the nodes; ``near``: partners together, of results.
    network: str | None = None  #: With known routes, for models with LT: ``star``, ``torus``, ...
    memory_traffic: float = 0.0  #: Bytes from memory per operation; 0 never limits.
    memory: str | float | None = None  #: Of the program, bytes or ``"200GB"``; as measured if None.
    least_nodes: int = 1  #: Of the queue.
    most_nodes: int | None = None  #: Of the queue.
    budget: float | None = None  #: Core-hours to spend at most.
    whole_nodes: bool = False  #: Core-hours count all cores of a node.

    def __post_init__(self) -> None:
        known = {"model": ("machine", "max-rate"), "order": get_args(workload.RankOrder)}
        for name, values in known.items():
            found = getattr(self, name)
            _refuse(found not in values, f"--{name}", f"expected one of {', '.join(values)}, found {found!r}")


@dataclass(frozen=True, slots=True)
class AllocationReport:
    """Configurations of a program on a machine, and what was chosen."""

    program: str
    machine: str
    model: str  # what predicted communication
    found: decisions.Configurations  # all configurations
    limits: decisions.AllocationLimits
    decision: decisions.Decision

    def __repr__(self) -> str:
        nodes, ppn, choices = self.found.nodes, self.found.processes, self.decision
        of = {"fastest": choices.fastest, "cheapest": choices.cheapest}
        names = (f"{name} {'none' if k is None else f'{nodes[k]} x {ppn[k]}'}" for name, k in of.items())
        return f"AllocationReport({self.program}, nodes x processes per node: {', '.join(names)})"


def find_allocations(
    source: LawsDocument | AnalysisResult | Path,
    machine: MachineParameters,
    nodes: Sequence[int],
    sizes: Mapping[str, float],
    asked: AllocationOptions,
    efficiency: float,
    deadline_s: float | None,
    division: Division | None,
) -> AllocationReport:
    """Times of all nodes x processes per node, and what to choose; as :func:`commanalyzer.api.advise`.

    Raises ``CommAnalyzerError`` if an option is without effect or misses something, or nothing can run.
    """
    program = _workload(source, sizes, asked, division)
    cores = 1 if machine.cores is None else int(machine.cores.value)
    powers = (1 << k for k in range(cores.bit_length()))
    ppn = node_counts([*powers, cores] if asked.ppn is None else asked.ppn)
    _check(asked, machine, max(ppn, default=1), is_halo=isinstance(program, workload.HaloWorkload))
    model = injection_of(machine) if asked.model == "max-rate" else model_of(machine)
    network = make_network(asked.network, max(nodes, default=1)) if asked.network else None
    units = machine.units or (units_of(network) if network is not None else ())
    site = workload.Ranks(units, network, asked.order)
    found = decisions.configurations(program, nodes, ppn, model, decisions.rates_of(machine), site)
    memory = None if machine.memory is None else machine.memory.value
    queue = (asked.most_nodes, asked.least_nodes)
    limits = decisions.AllocationLimits(memory, *queue, deadline_s, asked.budget, cores * asked.whole_nodes)
    decision = decisions.decide(found, limits, efficiency)
    return AllocationReport(program.title, machine.name, model.title, found, limits, decision)


def _check(asked: AllocationOptions, machine: MachineParameters, most: int, *, is_halo: bool) -> None:
    """Raise where an option would be without effect, or ask for what a node does not have."""
    cores = math.inf if machine.cores is None else machine.cores.value
    has_memory = asked.memory is not None
    _refuse(most > cores, "--ppn", f"expected at most the {cores:g} cores of a node, found {most}")
    unknown = "expected the cores of a node to charge whole nodes, found none"
    _refuse(asked.whole_nodes and machine.cores is None, "--whole-nodes", unknown)
    beside = "expected the memory of a grid in its file, found it given beside"
    _refuse(has_memory and is_halo, "--memory", beside, "resident_bytes_per_point = 16")
    nowhere = "expected a machine whose memory is known, found none: no node count would be refused"
    _refuse(has_memory and machine.memory is None, "--memory", nowhere, 'memory = "64GB" in its file')


def _refuse(is_wrong: bool, option: str, message: str, hint: str = "") -> None:
    if is_wrong:
        raise ConfigError(message, where=option, hint=hint)


def _workload(
    source: LawsDocument | AnalysisResult | Path,
    sizes: Mapping[str, float],
    asked: AllocationOptions,
    division: Division | None,
) -> workload.Workload:
    if isinstance(source, Path):
        if source.suffix == ".toml":
            return workload.read_halo(source)
        source = load(source) if source.suffix == ".cmz" else load_laws(source)
    try:
        steps = float(sizes.get(asked.steps, asked.steps) if isinstance(asked.steps, str) else asked.steps)
    except ValueError:
        steps = math.nan
    message = f"expected the number of communication phases of the run, found {asked.steps!r}"
    hint = "a number, or the name of a size: one exchange per time step is usual"
    _refuse(not 0 < steps < math.inf, "--steps", message, hint)
    traffic = asked.memory_traffic
    memory = math.nan if asked.memory is None else parse_bytes(str(asked.memory))
    if isinstance(source, AnalysisResult):
        return workload.ResultWorkload(source, max(1, round(steps)), traffic, memory)
    division = division or usual_division(source.laws)
    return workload.LawsWorkload(source.program, source.laws, sizes, steps, traffic, memory, division)
