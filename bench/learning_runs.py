"""Tables of simulated runs for bench.learning: kernels alone, and the applications of several tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from bench.learning_lab import (
    CLUSTERS,
    DEVICES,
    FLOAT_BYTES,
    Cluster,
    Kernel,
    Step,
    Work,
    bound_speedup,
    kernel_times,
    kernels,
    lab_machine,
    movement,
    platform_of,
    simulated_times,
)
from commanalyzer.foundation.files import write_text
from commanalyzer.kernels.features.kernels import COUNTED
from commanalyzer.kernels.learning.range_benchmark import chunks, moved_bytes
from commanalyzer.kernels.tasks.mappers import RangeMapper, parse_mapper
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.simulation.platforms import Platform

REPEATS = 5  # runs whose median counts, as in the paper
Line = dict[str, object]
TOTAL = COUNTED.index("total")
# Calls of the applications: kernel, and buffers by the names that the kernel has for them.
_SAME: dict[str, str] = {}
APPLICATIONS: Mapping[str, tuple[tuple[str, dict[str, str]], ...]] = {
    "syrk": (("syrk_scale", _SAME), ("syrk_product", _SAME)),
    "2mm": (("matmul", _SAME), ("matmul", {"a": "c", "b": "d", "c": "e"})),
    "matmulchain": (
        ("matmul", {"c": "p1"}),
        ("matmul", {"a": "c", "b": "d", "c": "q1"}),
        ("matmul", {"a": "p1", "b": "q1", "c": "r1"}),
    ),
    "atax": (("atax_clear", _SAME), ("atax_rows", _SAME), ("atax_columns", _SAME)),
    "fdtd2d": tuple((f"fdtd2d_{part}", _SAME) for _ in range(4) for part in ("source", "ey", "ex", "hz")),
    "bicg": (("bicg_rows", _SAME), ("bicg_columns", _SAME)),
    "covariance": tuple((f"covariance_{part}", _SAME) for part in ("mean", "centre", "product")),
    "correlation": tuple(
        (f"correlation_{part}", _SAME) for part in ("mean", "deviation", "normalise", "product")
    ),
}
# One size for all kernels of an application: matrices of N x N.
SIZES: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("syrk", "2mm", "matmulchain", "covariance", "correlation"), (1024, 4096)),
    **dict.fromkeys(("atax", "bicg"), (4096, 16384)),
    "fdtd2d": (2048, 8192),
}


class Lab:
    """The clusters with their networks, and the noise of their times.

    Args:
        sigma: Standard deviation of the logarithm of a run's time; 0 for none.
        seed: Of the noise.
    """

    def __init__(self, sigma: float, seed: int = 1) -> None:
        self.platforms: dict[str, Platform] = {c.name: platform_of(c) for c in CLUSTERS}
        self.machines: dict[str, MachineParameters] = {
            c.name: lab_machine(c, self.platforms[c.name]) for c in CLUSTERS
        }
        self.kernels: dict[str, Kernel] = {kernel.name: kernel for kernel in kernels()}
        self._sigma, self._random = sigma, np.random.default_rng(seed)

    def measured(self, exact_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Median of repeated runs of each, seconds."""
        noise = self._random.normal(0.0, self._sigma, (REPEATS, *exact_s.shape))
        return np.asarray(np.median(exact_s * np.exp(noise), axis=0))

    def kernel_lines(self, cluster: Cluster, *, in_place: bool) -> Iterator[Line]:
        """Runs of all kernels alone, on 1 to 64 devices, in two sizes.

        Args:
            cluster: Where.
            in_place: Every node has what it reads, as in the paper's single-task runs; otherwise it has
            blocks
                of rows, and the rest is sent.
        """
        cases = [(kernel, n) for kernel in self.kernels.values() for n in kernel.sizes]
        work = [kernel.at(n) for kernel, n in cases]
        matrices = {p: [() if in_place else _moving(k, n, p) for k, n in cases] for p in DEVICES}
        serial_s = [cluster.serial_s(w.counts, w.static["coalesced"]) for w in work]
        exact_s = np.stack(
            [
                kernel_times(self.platforms[cluster.name], cluster, list(map(Step, matrices[p], serial_s)), p)
                for p in DEVICES
            ]
        )
        times_s = self.measured(exact_s)
        names = [kernel.name for kernel, _ in cases]
        machine = self.machines[cluster.name]
        expected_s, launch_s = calibrated(work, names, times_s[0])
        for column, p in enumerate(DEVICES):
            for row, w in enumerate(work):
                operations = expected_s[row] * machine_throughput(machine)
                yield {
                    **features_line(names[row], w, p),
                    "machine": cluster.name,
                    "speedup": float(times_s[0, row] / times_s[column, row]),
                    "exact": float(exact_s[0, row] / exact_s[column, row]),
                    "bound": bound_speedup(w.counts[TOTAL], matrices[p][row], p, machine),
                    "physics": with_launch(
                        bound_speedup(operations, matrices[p][row], p, machine),
                        expected_s[row],
                        launch_s[row],
                    ),
                }

    def application_times(self, cluster: Cluster, p: int) -> dict[tuple[str, int], float]:
        """Simulated seconds of every application and size on p devices, without noise."""
        cases = [(name, n) for name in APPLICATIONS for n in SIZES[name]]
        runs = [self.steps(cluster, name, n, p) for name, n in cases]
        found = simulated_times(self.platforms[cluster.name], cluster, runs, p)
        return dict(zip(cases, found.tolist(), strict=True))

    def steps(self, cluster: Cluster, name: str, n: int, p: int) -> list[Step]:
        """Tasks of an application, with what each has to be sent."""
        result = []
        for (kernel_name, _), moved in zip(APPLICATIONS[name], self.flows(name, n, p), strict=True):
            work = self.kernels[kernel_name].at(n)
            serial_s = cluster.serial_s(work.counts, work.static["coalesced"])
            result.append(Step(tuple(m for _, m in moved if m.any()), serial_s))
        return result

    def flows(
        self, name: str, n: int, p: int
    ) -> list[list[tuple[tuple[RangeMapper, RangeMapper], NDArray[np.int64]]]]:
        """Per task and accessor the mappers of last write and read, and the bytes that move between nodes."""
        last: dict[str, tuple[RangeMapper, int]] = {}
        held: set[tuple[str, str]] = set()  # buffers that were sent already, by reading mapper
        found = []
        for kernel_name, names in APPLICATIONS[name]:
            kernel, own = self.kernels[kernel_name], []
            for access in (a for a in kernel.accesses if not a.writes):
                buffer = names.get(access.buffer, access.buffer)
                write, items = last.get(buffer, (parse_mapper("one-to-one"), access.dimensions))
                shape = (n,) * access.dimensions
                matrix = moved_bytes(
                    *(write, access.mapper, shape, FLOAT_BYTES),
                    *(chunks((n,) * items, p), chunks((n,) * kernel.items, p)),
                )
                if (buffer, str(access.mapper)) in held:
                    matrix = np.zeros_like(matrix)
                held.add((buffer, str(access.mapper)))
                own.append(((write, access.mapper), matrix))
            for access in (a for a in kernel.accesses if a.writes):
                buffer = names.get(access.buffer, access.buffer)
                last[buffer] = (access.mapper, kernel.items)
                held = {pair for pair in held if pair[0] != buffer}
            found.append(own)
        return found


def calibrated(
    work: Sequence[Work], names: Sequence[str], serial_s: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """float64[N] each: time on one device without and of the launch, from rates of all *other* kernels.

    Four rates alone (arithmetic, coalesced and other accesses, the rest): what a roofline of a node knows.
    """
    rates = np.stack([_coarse(w) for w in work])
    expected, launch = np.empty(len(work)), np.empty(len(work))
    kernel = np.array(names)
    for name in dict.fromkeys(names):
        others = kernel != name
        weight = 1.0 / serial_s[others]  # relative errors count
        found, _ = nnls(rates[others] * weight[:, None], np.ones(int(others.sum())))
        own = ~others
        expected[own], launch[own] = rates[own][:, :-1] @ found[:-1], found[-1]
    return expected, launch


def _coarse(work: Work) -> NDArray[np.float64]:
    count = dict(zip(COUNTED, work.counts.tolist(), strict=True))
    accesses = count["load"] + count["store"]
    arithmetic = count["total"] - accesses - count["other"]
    coalesced = accesses * work.static["coalesced"]
    return np.array([arithmetic, coalesced, accesses - coalesced, count["other"], 1.0])


def machine_throughput(machine: MachineParameters) -> float:
    """Of one device, operations per second."""
    assert machine.throughput is not None
    return machine.throughput.value


def with_launch(speedup: float, serial_s: float, launch_s: float) -> float:
    """Speed-up where every device also takes the time of a launch, which does not shrink."""
    return (serial_s + launch_s) / (serial_s / speedup + launch_s)


def _moving(kernel: Kernel, n: int, p: int) -> tuple[NDArray[np.int64], ...]:
    return tuple(m for m in movement(kernel, n, p).values() if m.any())


def features_line(name: str, work: Work, devices: int) -> Line:
    """A run's features."""
    return {"kernel": name, **work.static, **work.runtime, "devices": devices}


def save_lines(lines: list[Line], path: Path) -> None:
    """Write JSON Lines."""
    write_text(path, "".join(json.dumps(line) + "\n" for line in lines), force=True)
