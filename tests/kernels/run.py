"""One kernel analysed: what was found beside what its plain division sends."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import commanalyzer as ca
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.graph.value_graph import HomeObject
from tests.kernels.table import DeclaredArray, Kernel, bare_name

_BUDGET_FACTOR, _BUDGET_S = 3.0, 5.0  # times what the graph takes, plus seconds, for each number of parts
_DIVIDE = "partition and count"
_BLOCK_BYTES = 4096  # what an aligned allocation may be larger
_ROW_BYTES = 32  # and each row that is allocated by itself
_LISTED = 4  # arrays


@dataclass(frozen=True, slots=True)
class Found:
    """The best division for one number of parts.

    Attributes:
        found_bytes: Bytes, the lower end where there is doubt.
        crossing: (array, bytes), the largest first.
    """

    nodes: int
    method: str
    found_bytes: int
    high_bytes: int
    plain_bytes: int
    grid: tuple[int, ...]
    imbalance: float
    crossing: tuple[tuple[str, int], ...]

    @property
    def ratio(self) -> float:
        """Found over plain bytes; 1 where both are none."""
        if self.plain_bytes:
            return self.found_bytes / self.plain_bytes
        return float("inf") if self.found_bytes else 1.0


@dataclass(frozen=True, slots=True)
class Run:
    """An analysis of one kernel."""

    values: int
    flows: int
    found: tuple[Found, ...]
    graph_s: float
    divide_s: float
    objects: tuple[HomeObject, ...] = field(default=(), repr=False)

    @property
    def within_budget(self) -> bool:
        """Whether dividing took as long as it may."""
        return self.divide_s <= len(self.found) * (_BUDGET_FACTOR * self.graph_s + _BUDGET_S)


class _Stages(SilentProgress):
    """Notes when dividing begins, CPU seconds."""

    def __init__(self) -> None:
        self.divide_at = time.process_time()

    def stage(self, name: str, steps: int = 1) -> None:
        del steps
        if name == _DIVIDE:
            self.divide_at = time.process_time()


def run(kernel: Kernel, size: int, nodes: Sequence[int]) -> Run:
    """Analyse ``kernel`` with its arguments number ``size``.

    Raises:
        CommAnalyzerError: If that is not possible.
    """
    stages, begin = _Stages(), time.process_time()
    result = ca.analyze(
        kernel.source,
        kernel.sizes[size],
        progress=stages,
        jobs=1,
        nodes=nodes,
        regions=["kernel"],
        program_output="discard",
    )
    objects = result.graph.objects
    found = []
    for p in nodes:
        best, (plain, grid) = result.best(p), kernel.plain(size, p)
        crossing = sorted(
            ((o.name, int(b)) for o, b in zip(objects, best.object_bytes, strict=True) if b),
            key=lambda item: -item[1],
        )
        ends = best.communication.low_bytes, best.communication.high_bytes
        listed = tuple(crossing[:_LISTED])
        found.append(Found(p, best.method, *ends, plain, grid, best.imbalance, listed))
    end = time.process_time()
    graph = result.graph
    return Run(
        graph.num_vertices,
        graph.num_flows,
        tuple(found),
        stages.divide_at - begin,
        end - stages.divide_at,
        objects,
    )


def missing_arrays(kernel: Kernel, size: int, objects: Sequence[HomeObject]) -> list[str]:
    """Declared arrays with no object of that name, line and size."""
    return [a.name for a in kernel.arrays if not any(_is_same(kernel, size, a, o) for o in objects)]


def _is_same(kernel: Kernel, size: int, array: DeclaredArray, found: HomeObject) -> bool:
    extents = kernel.extents(array, size)
    elements = 1
    for extent in extents:
        elements *= extent
    rows = elements // extents[-1] if len(extents) > 1 else 0
    least = elements * array.width
    return (
        bare_name(found.name) == bare_name(array.name)
        and found.line == kernel.line(array)
        and least <= found.size_bytes <= least + _BLOCK_BYTES + _ROW_BYTES * rows
    )
