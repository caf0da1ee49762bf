"""The laboratory of bench.learning: two simulated clusters, the kernels of workloads/tasks, runs.

A kernel reads buffers that blocks of rows of the nodes hold; what its range mappers say it needs beside is
sent (exact bytes per pair of nodes), then every node computes its share, a time by kind of instruction.
SimGrid replays the messages with their contention. Applications run their kernels one after another; what a
task wrote is where it was written, and what was sent once need not be sent again until it is written anew.

Work and buffer sizes at any N are polynomials through interpreted runs of small N, checked at another N.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication.matrix import Communication
from commanalyzer.kernels.features.kernels import COUNTED, KernelFeatures, run_kernels
from commanalyzer.kernels.learning.range_benchmark import chunks, moved_bytes
from commanalyzer.kernels.tasks.mappers import RangeMapper, parse_mapper
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.roofline.bound import scaling_bound
from commanalyzer.machine.simulation.platforms import LinkParameters, Platform, make_platform
from commanalyzer.machine.simulation.run import SimulationOptions, measured_machine
from commanalyzer.machine.simulation.schedule import BARRIER, COMPUTE, Actions, joined, replay, transfers
from commanalyzer.program.ir.model import Module
from commanalyzer.recording.record import compile_request
from commanalyzer.request import AnalysisRequest, CompilerOptions

TASKS = Path(__file__).resolve().parents[1] / "workloads" / "tasks"
DEVICES = (1, 2, 4, 8, 16, 32, 64)
FLOAT_BYTES = 4
_TIMEOUT_S = 400.0
_FITTED = (8, 10, 12, 14)  # sizes N of interpreted runs: cubic polynomials
_CHECKED = 18
_STEPS = 4  # time steps of fdtd2d
# Buffers of one dimension; those of kernels over rows that are no matrices either.
_VECTORS = frozenset(("x", "y", "tmp", "p", "q", "r", "s", "mean", "stddev", "fict"))
_ALL_SIZES: Mapping[str, tuple[int, int]] = {
    # two sizes N each, so that one device takes 0.1 ms to some seconds
    "lines": (1 << 20, 1 << 24),  # kernels over N items
    "vectors": (4096, 16384),  # over N items that take N steps each
    "points": (2048, 8192),  # over N x N items
    "products": (1024, 4096),  # over N x N items that take N steps each
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A simulated machine.

    Attributes:
        name: Its name.
        topology: Of its network.
        per_node: Devices of a node, which share its link.
        link: Links; the throughput is that of a device in instructions of cost 1 per second.
        launch_s: Time to start a task, seconds.
        costs: Cost of an instruction by kind, relative to an addition.
        strided: Factor of an access that is not coalesced.
    """

    name: str
    topology: str
    per_node: int
    link: LinkParameters
    launch_s: float
    costs: Mapping[str, float]
    strided: float

    def serial_s(self, counts: NDArray[np.float64], coalesced: float) -> float:
        """Time of float64[len(COUNTED)] instructions on one device, seconds."""
        cost = sum(self.costs.get(kind, 0.0) * float(c) for kind, c in zip(COUNTED, counts, strict=True))
        accesses = float(counts[COUNTED.index("load")] + counts[COUNTED.index("store")])
        cost += self.costs["load"] * accesses * (1.0 - coalesced) * (self.strided - 1.0)
        return cost / self.link.throughput


_COSTS = {
    **dict.fromkeys(("bitwise", "int_addsub", "int_mul", "f32_addsub", "f32_mul"), 1.0),
    **dict.fromkeys(("f64_addsub", "f64_mul"), 2.0),
    **{"f32_div": 8.0, "f64_div": 16.0, "load": 2.0, "store": 2.0, "other": 0.5},
}
CPU = Cluster("fat-tree", "fat-tree", 1, LinkParameters(1.2e10, 1.5e-6, 2.5e11), 2e-5, _COSTS, strided=4.0)
GPU = Cluster(
    "dragonfly",
    "dragonfly",
    4,
    LinkParameters(2.4e10, 1.5e-6, 2.5e12),
    1e-5,
    {**_COSTS, "f64_addsub": 4.0, "f64_mul": 4.0, "load": 3.0, "store": 3.0},
    strided=8.0,
)
CLUSTERS = (CPU, GPU)


@dataclass(frozen=True, slots=True)
class Access:
    """An accessor of a kernel."""

    buffer: str
    writes: bool
    mapper: RangeMapper
    dimensions: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of the workloads: application, function, dimensions of its items, accessors."""

    application: str
    name: str
    items: int
    accesses: tuple[Access, ...]

    @property
    def sizes(self) -> tuple[int, int]:
        """The two sizes N."""
        deep = _deepness(self)
        if self.items == 1:
            return _ALL_SIZES["lines" if deep == 1 else "vectors" if deep == 2 else "products"]
        return _ALL_SIZES["points" if deep == 2 else "products"]

    def at(self, n: int) -> Work:
        """Work at a size."""
        return _extrapolated(self.application, self.name, n)


@dataclass(frozen=True, slots=True)
class Work:
    """What a launch at one size executes, and its features.

    Attributes:
        counts: float64[len(COUNTED)], executed instructions.
        static: Static features.
        runtime: Run-time features but the devices.
        instructions: Of one work item by the heuristic.
    """

    counts: NDArray[np.float64]
    static: Mapping[str, float]
    runtime: Mapping[str, float]
    instructions: float


def kernels() -> tuple[Kernel, ...]:
    """The 30 kernels, each once."""
    found: dict[str, Kernel] = {}
    for application in tomllib.loads((TASKS / "tasks.toml").read_text(encoding="utf-8"))["application"]:
        for entry in application["kernel"]:
            items = int(entry["items"])
            accesses = tuple(_access(words, items) for words in entry["access"])
            found.setdefault(
                entry["function"], Kernel(application["name"], entry["function"], items, accesses)
            )
    return tuple(found.values())


def _access(words: Sequence[str], items: int) -> Access:
    buffer, mode, _, needed = words
    if needed == "fixed":
        needed = "fixed(0:1)"
    mapper = parse_mapper(needed)
    is_line = items == 1 and mapper.kind in ("one-to-one", "neighborhood")
    return Access(buffer, mode == "write", mapper, 1 if buffer in _VECTORS or is_line else 2)


def _deepness(kernel: Kernel) -> int:
    """Power of N that the instructions of a launch grow with."""
    totals = [_measured(kernel.application, n)[kernel.name].measured for n in (_FITTED[0], _CHECKED)]
    counted = [t.counts[COUNTED.index("total")] / t.launches for t in totals if t is not None]
    return round(float(np.log(counted[1] / counted[0]) / np.log(_CHECKED / _FITTED[0])))


@cache
def _measured(application: str, n: int) -> Mapping[str, KernelFeatures]:
    arguments = (str(n), "2") if application == "fdtd2d" else (str(n),)
    found = run_kernels(_module(application), arguments)
    return {kernel.name.partition(":")[0]: kernel for kernel in found}


@cache
def _module(application: str) -> Module:
    # as a call of memset a kernel that only clears would not be seen
    compiler = CompilerOptions(flags=("-fno-builtin-memset",))
    request = AnalysisRequest(sources=(TASKS / f"{application}.c",), arguments=(), compiler=compiler)
    return compile_request(request)[1]


@cache
def _extrapolated(application: str, name: str, n: int) -> Work:
    """Polynomials through the small runs, at N = n."""
    seen = {k: _measured(application, k)[name] for k in (*_FITTED, _CHECKED)}

    def numbers(kernel: KernelFeatures) -> NDArray[np.float64]:
        assert kernel.measured is not None
        run = kernel.runtime
        size = [run["work_items"], run["input_buffers"], run["output_buffers"]]
        size += [
            run["input_bytes_per_item"] * run["work_items"],
            run["output_bytes_per_item"] * run["work_items"],
        ]
        return np.concatenate((kernel.measured.counts / kernel.measured.launches, size))

    table = np.stack([numbers(seen[k]) for k in _FITTED])
    through = np.linalg.solve(np.vander(np.array(_FITTED, dtype=np.float64), 4), table)
    known = numbers(seen[_CHECKED])
    apart = np.abs(np.vander([float(_CHECKED)], 4)[0] @ through - known).max() / known.max()
    assert apart < 0.02, (application, name, apart)  # median and borders: counts that depend on data a little
    at = np.maximum(np.vander([float(n)], 4)[0] @ through, 0.0)
    counts, (items, inputs, outputs, read, written) = at[: len(COUNTED)], at[len(COUNTED) :].tolist()
    runtime = {
        "work_items": items,
        "input_buffers": round(inputs),
        "output_buffers": round(outputs),
        "input_bytes_per_item": read / items,
        "output_bytes_per_item": written / items,
        "problem_size": read + written,
    }
    static = seen[_CHECKED].static
    return Work(counts, static, runtime, static["total"])


def movement(kernel: Kernel, n: int, p: int) -> dict[str, NDArray[np.int64]]:
    """int64[p, p] per buffer, what a kernel needs of buffers that lie in blocks of rows."""
    own = chunks((n,) * kernel.items, p)
    found: dict[str, NDArray[np.int64]] = {}
    for access in kernel.accesses:
        if access.writes:
            continue
        shape = (n,) * access.dimensions
        rows = chunks(shape, p)
        found[access.buffer] = moved_bytes(
            parse_mapper("one-to-one"), access.mapper, shape, FLOAT_BYTES, rows, own
        )
    return found


@dataclass(frozen=True, slots=True)
class Step:
    """A task of a simulated run: bytes that are sent before it per buffer, and its time on one device."""

    matrices: tuple[NDArray[np.int64], ...]
    serial_s: float


def platform_of(cluster: Cluster) -> Platform:
    """The cluster with 64 devices."""
    nodes = DEVICES[-1] // cluster.per_node
    made = make_platform(cluster.topology, nodes, cluster.link)
    if cluster.per_node == 1:
        return made
    # Devices of a node compute side by side and exchange faster than through the network.
    loopback = f'loopback_bw="{4 * cluster.link.bandwidth!r}Bps" loopback_lat="5e-7s"'
    inside = f'core="{cluster.per_node}" {loopback} speed='
    hosts = tuple(host for host in made.hosts for _ in range(cluster.per_node))
    return replace(made, xml=made.xml.replace("speed=", inside, 1), hosts=hosts)


def simulated_times(
    platform: Platform, cluster: Cluster, runs: Sequence[Sequence[Step]], p: int
) -> NDArray[np.float64]:
    """float64[runs], seconds of each run of one or more tasks on p devices; one replay for all of them."""
    lines: list[Actions] = []
    at = 0
    for run in runs:
        lines.append(Actions(np.arange(p), np.full(p, at), BARRIER, "barrier"))
        for step in run:
            at += 1
            lines += _step_lines(step, p, at, cluster)
        at += 1
    actions = replay(platform, joined(p, lines), _TIMEOUT_S)
    ends = np.array([action.end_s for action in actions])
    who = np.array([action.rank for action in actions])
    kinds = np.array([action.kind for action in actions])
    found = np.zeros(len(runs))
    for r in range(p):
        own = who == r
        turn = np.cumsum(kinds[own] == "barrier") - 1
        started = ends[own][kinds[own] == "barrier"]
        keep = turn >= 0
        last = np.zeros(len(runs))
        np.maximum.at(last, turn[keep], ends[own][keep])
        found = np.maximum(found, last - started)
    return found


def _step_lines(step: Step, p: int, at: int, cluster: Cluster) -> list[Actions]:
    found = np.concatenate([np.zeros((3, 0), np.int64), *map(_messages, step.matrices)], axis=1)
    work = (step.serial_s / p + cluster.launch_s) * cluster.link.throughput
    computed = Actions(np.arange(p), np.full(p, at), COMPUTE, f"compute {work!r}")
    return [*transfers(found[0], found[1], np.full(found.shape[1], at), found[2]), computed]


def _messages(matrix: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[3, M], senders, receivers and bytes."""
    return np.stack((*np.nonzero(matrix), matrix[np.nonzero(matrix)]))


def kernel_times(platform: Platform, cluster: Cluster, steps: Sequence[Step], p: int) -> NDArray[np.float64]:
    """float64[steps], seconds of kernels that run alone.

    All nodes compute for the same time after their messages, so equal messages are replayed once.
    """
    patterns = {tuple(m.tobytes() for m in step.matrices): step for step in steps}
    idle = [(replace(step, serial_s=0.0),) for step in patterns.values()]
    sending = dict(zip(patterns, simulated_times(platform, cluster, idle, p).tolist(), strict=True))
    own = [sending[tuple(m.tobytes() for m in step.matrices)] + step.serial_s / p for step in steps]
    return np.array(own)


def lab_machine(cluster: Cluster, platform: Platform) -> MachineParameters:
    """Parameters of the bound, measured on the simulated network by replayed benchmarks."""
    order = dict.fromkeys(DEVICES, platform)
    return measured_machine(platform, order, SimulationOptions(timeout_s=_TIMEOUT_S))


def communication(matrices: Sequence[NDArray[np.int64]], p: int) -> Communication:
    """All buffers' bytes together, one message per buffer and pair."""
    none = np.zeros((p, p), dtype=np.int64)
    total = sum(matrices, none)
    messages = sum(((m > 0).astype(np.int64) for m in matrices), none)
    return Communication(total, messages, int(total.sum()), int(total.sum()))


def exposed_s(matrices: Sequence[NDArray[np.int64]], p: int, machine: MachineParameters) -> float:
    """Time of the busiest node's messages by the latency-aware bound, seconds."""
    if p == 1 or not matrices:
        return 0.0
    return scaling_bound(1, [("blocks", communication(matrices, p))], machine).points[-1].times.exposed_s


def bound_speedup(
    work: float, matrices: Sequence[NDArray[np.int64]], p: int, machine: MachineParameters
) -> float:
    """Speed-up of the latency-aware bound."""
    if p == 1:
        return 1.0
    points = scaling_bound(max(int(work), 1), [("blocks", communication(matrices, p))], machine).points
    return p * points[-1].efficiency
