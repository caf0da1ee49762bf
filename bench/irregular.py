"""Graphs whose order says nothing, divided by default, beside Mt-KaHyPar's default preset run alone.

    python -m bench.irregular [--only random,kronecker,smallworld,tetrahedra] [--rows 10000,100000]
                                    [--nodes 4,16] [--timeout 400] [-o workloads/LADDER.md]

Run from the checkout. A program multiplies a matrix of that graph with a vector, some steps. Mt-KaHyPar gets
what a programmer would give it: a vertex per row, which weighs its operations, and a net per element of the
vector; it has one thread. Of FILE, only the section of these graphs is written anew.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import resource
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import commanalyzer as ca
from bench.sections import Document, Passage, markdown_text
from commanalyzer.foundation.files import write_text
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.request import node_counts

_PROGRAM = Path(__file__).with_suffix(".c")
_TITLE = "Irregular graphs"
_STEPS, _DEGREE, _SLACK = 10, 8, 0.03
_REWIRED = 0.05  # of a small world's links
_KRONECKER = (0.57, 0.19, 0.19)  # of Graph 500
_FREUDENTHAL = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1))
Links = tuple[NDArray[np.int64], NDArray[np.int64]]  # rows and columns
_DIVIDE = "partition and count"


def _random(n: int, rng: np.random.Generator) -> Links:
    return np.repeat(np.arange(n), _DEGREE), rng.integers(0, n, n * _DEGREE)


def _kronecker(n: int, rng: np.random.Generator) -> Links:
    """Links of a graph of 2^k rows, as near to n as possible, whose rows are shuffled."""
    scale = round(float(np.log2(n)))
    one, other = (np.zeros(_DEGREE << scale, np.int64) for _ in range(2))
    a, b, c = _KRONECKER
    for bit in range(scale):
        draw = rng.random(len(one))
        one |= (draw >= a + b).astype(np.int64) << bit
        other |= (((draw >= a) & (draw < a + b)) | (draw >= a + b + c)).astype(np.int64) << bit
    number = rng.permutation(1 << scale)
    return number[one], number[other]


def _smallworld(n: int, rng: np.random.Generator) -> Links:
    row = np.repeat(np.arange(n), _DEGREE)
    step = np.tile([s for s in range(-_DEGREE // 2, _DEGREE // 2 + 1) if s], n)
    rewired = rng.random(len(row)) < _REWIRED
    return row, np.where(rewired, rng.integers(0, n, len(row)), (row + step) % n)


def _tetrahedra(n: int, rng: np.random.Generator) -> Links:
    """Edges of a cube of points cut into tetrahedra (Freudenthal), whose points are shuffled."""
    m = round(n ** (1 / 3))
    at = np.stack(np.unravel_index(np.arange(m**3), (m, m, m)))
    number, found = rng.permutation(m**3), list[Links]()
    for step in _FREUDENTHAL:
        to = at + np.array(step)[:, None]
        inside = (to < m).all(axis=0)
        one, other = number[inside], number[np.ravel_multi_index(tuple(to[:, inside]), (m, m, m))]
        found += [(one, other), (other, one)]
    rows, columns = zip(*found, strict=True)
    return np.concatenate(rows), np.concatenate(columns)


_GRAPHS: dict[str, Callable[[int, np.random.Generator], Links]] = {
    "random": _random,
    "kronecker": _kronecker,
    "smallworld": _smallworld,
    "tetrahedra": _tetrahedra,
}


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of a matrix: int32[n + 1] where they begin, int32[E] columns."""

    row: NDArray[np.int32]
    column: NDArray[np.int32]

    @property
    def rows(self) -> int:
        """Number of rows n."""
        return len(self.row) - 1

    def write(self, path: Path) -> None:
        """Write what the program reads."""
        head = np.array([self.rows, len(self.column)], np.int32)
        path.write_bytes(b"".join(part.tobytes() for part in (head, self.row, self.column)))


def made(name: str, rows: int) -> Matrix:
    """Return a graph of about so many rows, every link once."""
    one, other = _GRAPHS[name](rows, np.random.default_rng(1))
    n = int(max(one.max(), other.max())) + 1
    key = np.unique(one * n + other)
    return Matrix(np.searchsorted(key, np.arange(n + 1) * n).astype(np.int32), (key % n).astype(np.int32))


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in found)


class _Stages(SilentProgress):
    """Notes when dividing begins."""

    divide_at = 0.0

    def stage(self, name: str, steps: int = 1) -> None:
        """Called at the beginning of each stage."""
        del steps
        if name == _DIVIDE:
            self.divide_at = cpu_seconds()


def connected(matrix: Matrix, part: NDArray[np.int32], num_parts: int) -> int:
    """Return the sum over the elements of the vector of parts that read or make it, less one."""
    own = np.arange(matrix.rows)
    reader = np.repeat(own, np.diff(matrix.row))
    element = np.concatenate((own, matrix.column)).astype(np.int64)
    key: NDArray[np.int64] = element * num_parts + part[np.concatenate((own, reader))]
    return len(np.unique(key)) - matrix.rows


def _ask(pipe: Connection, matrix: Matrix, num_parts: int) -> None:
    """Divide by Mt-KaHyPar's default preset; send parts and CPU seconds."""
    import mtkahypar

    reader = np.repeat(np.arange(matrix.rows, dtype=np.int32), np.diff(matrix.row))
    order = np.argsort(matrix.column, kind="stable")
    ends = np.searchsorted(matrix.column[order], np.arange(matrix.rows + 1))
    pins = np.split(reader[order], ends[1:-1])
    nets = [np.union1d(net, [j]).tolist() for j, net in enumerate(pins)]
    mtkahypar.set_seed(1)
    library = mtkahypar.initialize(1)
    context = library.context_from_preset(mtkahypar.PresetType.DEFAULT)
    context.set_partitioning_parameters(num_parts, _SLACK, mtkahypar.Objective.KM1)
    context.logging = False
    weight = (np.diff(matrix.row) + 1).tolist()
    graph = library.create_hypergraph(context, matrix.rows, len(nets), nets, weight, [1] * len(nets))
    begin = cpu_seconds()
    part = np.array(graph.partition(context).get_partition(), np.int32)
    pipe.send((part, cpu_seconds() - begin))


def alone(matrix: Matrix, num_parts: int, timeout_s: float) -> tuple[int, float] | None:
    """Return bytes and CPU seconds of Mt-KaHyPar in a process of its own; ``None`` if it takes too long."""
    context = multiprocessing.get_context("spawn")
    mine, its = context.Pipe(duplex=False)
    process = context.Process(target=_ask, args=(its, matrix, num_parts))
    process.start()
    its.close()
    found = mine.recv() if mine.poll(timeout_s) else None
    process.kill()
    process.join()
    if found is None:
        return None
    return 8 * _STEPS * connected(matrix, found[0], num_parts), found[1]


def compared(name: str, rows: int, nodes: Sequence[int], timeout_s: float) -> list[tuple[str, ...]]:
    """Return a line of the table for each number of nodes; all of them are divided in one analysis."""
    matrix = made(name, rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph"
        matrix.write(path)
        stages, begin = _Stages(), cpu_seconds()
        result = ca.analyze(
            _PROGRAM,
            [str(path), str(_STEPS)],
            progress=stages,
            jobs=1,
            nodes=nodes,
            regions=["kernel"],
            program_output="discard",
        )
        end = cpu_seconds()
    lines: list[tuple[str, ...]] = []
    for p in nodes:
        best, other = result.best(p), alone(matrix, p, timeout_s)
        ours = f"{stages.divide_at - begin:.1f}", f"{end - stages.divide_at:.1f}", f"{best.comm_bytes:,}"
        theirs = (f"ended after {timeout_s:.0f} s", "-", "-")
        if other is not None:
            theirs = f"{other[1]:.1f}", f"{other[0]:,}", f"{best.comm_bytes / other[0]:.3f}"
        flows = f"{result.graph.num_flows:,}"
        lines.append((f"{name} {matrix.rows}", best.method, flows, str(p), *ours, *theirs))
    return lines


_COLUMNS = (
    *("graph", "division", "flows", "p", "recorded and graph, CPU s", "divide all p, CPU s", "bytes"),
    *("Mt-KaHyPar, CPU s", "its bytes", "ratio"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser("python -m bench.irregular")
    parser.add_argument("--only", default=",".join(_GRAPHS), help="comma-separated graphs")
    parser.add_argument("--rows", default="10000,100000", help="comma-separated numbers of rows")
    parser.add_argument("--nodes", default="4,16")
    parser.add_argument("--timeout", type=float, default=400.0, help="seconds for Mt-KaHyPar")
    parser.add_argument("-o", "--output", type=Path, help="document with a section of these graphs")
    options = parser.parse_args(words)
    rows: list[tuple[str, ...]] = []
    for size in map(int, options.rows.split(",")):
        for name in options.only.split(","):
            rows += compared(name, size, node_counts(options.nodes), options.timeout)
            print(*rows[-len(node_counts(options.nodes)) :], sep="\n", flush=True)  # noqa: T201
            if options.output is not None:
                _write(options.output, rows, shlex.join(["python", "-m", "bench.irregular", *words]))
    return 0


def _write(path: Path, rows: Sequence[tuple[str, ...]], command: str) -> None:
    """Write the section of ``path`` anew, or at its end."""
    said = (
        f"Made by `{command}`. {_STEPS} products of a matrix with a vector; time of one core. Mt-KaHyPar: "
        "its default preset, one thread, alone, on rows (work) and elements of the vector (nets), which it "
        "is told; reading and counting not included. Ratio: bytes of the division found by default over its."
    )
    text = markdown_text(Document("", (Passage(_TITLE, (said,), _COLUMNS, tuple(rows), 2),)))
    section = text[text.index(f"## {_TITLE}") :].rstrip() + "\n"
    before = path.read_text() if path.exists() else ""
    found = re.search(rf"^## {_TITLE}\n.*?(?=^## |\Z)", before, re.MULTILINE | re.DOTALL)
    rest = before[found.end() :] if found else ""
    start = before[: found.start()] if found else before.rstrip() + "\n\n"
    write_text(path, start + section + ("\n" + rest if rest else ""), force=True)


if __name__ == "__main__":
    sys.exit(main())
