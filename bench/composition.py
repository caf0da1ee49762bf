"""Predicted against measured element times of pipelines and task pools of real threads.

    python -m bench.composition [--sizes 16384,65536,262144] [--elements 200] [--repeat 7]
                                      [-o workloads/COMPOSITION.md]

The blocks nop, inc and qsort of the paper (Table I) are measured one by one, the systems of Tables II to IV
that two cores can run as threads that hand elements through queues; blocks and systems take turns, medians
are compared. Larger task pools run on a simulated node: a queue whose hand-over costs what it costs here. On
a busy machine the numbers mean nothing.

Reference: Calotoiu et al. 2019, Section IV.
"""

from __future__ import annotations

import argparse
import heapq
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.sections import Document, Passage, markdown_text
from commanalyzer.foundation.files import write_text
from commanalyzer.foundation.quantities import format_seconds
from commanalyzer.kernels.composition.expressions import element_time
from commanalyzer.kernels.composition.models import Composed
from commanalyzer.kernels.composition.systems import Block, Pattern, System, parse_system
from commanalyzer.program.frontend.toolchain import find_toolchain
from commanalyzer.scaling.laws.formula_reader import read_formula

_SOURCE = Path(__file__).with_name("composition_threads.c")
_MEMORY_BYTES = 1 << 26  # of elements of quick tasks
_QUICK_S, _INC_S = 0.5, 2e-9  # a run of quick tasks, one addition of inc: about
MEASURED = (
    *("tpool(1, qsort)", "tpool(2, qsort)", "pipe(qsort, nop)", "pipe(qsort, inc)", "pipe(inc, qsort)"),
    *("pipe(inc, inc)", "pipe(inc, nop)"),
)
SIMULATED = ("tpool(4, qsort)", "tpool(8, qsort)", "pipe(tpool(8, qsort), tpool(8, inc))")


@dataclass(frozen=True, slots=True)
class Row:
    """One system at one size.

    Attributes:
        system: Expression.
        size: Elements of an array.
        predicted_s: Composed from measured blocks.
        seen_s: Measured, or simulated.
        is_simulated: The latter.
    """

    system: str
    size: int
    predicted_s: float
    seen_s: float
    is_simulated: bool

    @property
    def error(self) -> float:
        """Relative error of the prediction."""
        return abs(self.predicted_s - self.seen_s) / self.seen_s


def built(folder: Path) -> Path:
    """The program of threads."""
    toolchain = find_toolchain()
    program = folder / "threads"
    command = [
        *toolchain.driver("c"),
        *toolchain.target_flags,
        "-O2",
        str(_SOURCE),
        "-lpthread",
        "-o",
        str(program),
    ]
    subprocess.run(command, check=True)
    return program


def seconds(program: Path, system: System, size: int, elements: int) -> float:
    """Seconds per element of one run; a block runs as a pool of one thread.

    Sorting needs new elements every time; quick tasks take the same ones again, so that a run takes a while.
    """
    if isinstance(system, Block):
        system = Pattern("tpool", (system,), 1)
    tasks = list(map(str, system.parts))
    distinct = elements
    if "qsort" not in tasks:
        distinct, elements = (
            max(_MEMORY_BYTES // (4 * size), 4),
            max(int(_QUICK_S / (_INC_S * size)), elements),
        )
    words = [system.name, str(system.count), str(size), str(elements), str(distinct), *tasks]
    return float(subprocess.run([str(program), *words], check=True, capture_output=True, text=True).stdout)


def measured(program: Path, sizes: Sequence[int], elements: int, repeat: int) -> list[Row]:
    """All systems at all sizes; blocks and systems in turn."""
    rows = []
    for size in sizes:
        systems = [parse_system(text) for text in ("nop", "inc", "qsort", *MEASURED)]
        times: dict[str, list[float]] = {str(s): [] for s in systems}
        for _ in range(repeat):
            for system in systems:
                times[str(system)].append(seconds(program, system, size, elements))
        medians = {name: statistics.median(own) for name, own in times.items()}
        models = {name: read_formula(repr(medians[name])) for name in ("nop", "inc", "qsort")}
        for text in MEASURED:
            composed = Composed(element_time(parse_system(text)), models)
            rows.append(Row(text, size, float(composed.at({})[0]), medians[text], False))
        for text in SIMULATED:
            system = parse_system(text)
            predicted = float(Composed(element_time(system), models).at({})[0])
            rows.append(Row(text, size, predicted, simulated(system, medians), True))
    return rows


def simulated(system: System, block_s: Mapping[str, float], elements: int = 4800) -> float:
    """Seconds per element with a core per thread; a hand-over holds its queue for a nop's time."""
    arrivals = [0.0] * elements
    for workers, block in _pools(system):
        free = [0.0] * workers
        queue_free = 0.0
        leaving = []
        for arrival in arrivals:
            start = max(arrival, heapq.heappop(free), queue_free)
            queue_free = start + block_s["nop"]
            end = start + block_s[block]
            heapq.heappush(free, end)
            leaving.append(end)
        arrivals = sorted(leaving)
    return arrivals[-1] / elements


def _pools(system: System) -> list[tuple[int, str]]:
    if isinstance(system, Block):
        return [(1, system.name)]
    if system.name == "pipe":
        return [pool for part in system.parts for pool in _pools(part)]
    (task,) = system.parts
    assert isinstance(task, Block) and isinstance(system.count, int)
    return [(system.count, task.name)]


def document(rows: Sequence[Row], elements: int, repeat: int, command: str) -> Document:
    """The table as a document."""
    cells = [
        (
            row.system,
            f"{row.size:,}",
            format_seconds(row.predicted_s),
            f"{format_seconds(row.seen_s)}{' (simulated)' if row.is_simulated else ''}",
            f"{100 * row.error:.1f} %",
        )
        for row in rows
    ]
    own = [row for row in rows if not row.is_simulated]
    worst = max(own, key=lambda row: row.error)
    mean = 100 * statistics.mean(row.error for row in own)
    text = (
        f"Made by `{command}` on {platform.system()} {platform.machine()}, {elements} elements or more, "
        f"medians of {repeat} runs in turn. Predicted: composed from the measured blocks nop, inc and qsort, "
        f"each run as a pool of one thread. Mean error of the measured systems {mean:.1f} %, largest "
        f"{100 * worst.error:.1f} % ({worst.system}, {worst.size:,}); the paper: largest 11.3 %. Simulated: "
        "a node with a core per thread, whose queues are held for the time of a nop per element."
    )
    heads = ("system", "size", "predicted", "seen", "error")
    return Document("Composed models", (Passage("Prediction and measurement", (text,), heads, tuple(cells)),))


def main() -> int:
    """Measure and print or write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="16384,65536,262144")
    parser.add_argument("--elements", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = built(Path(folder))
        rows = measured(program, [int(s) for s in asked.sizes.split(",")], asked.elements, asked.repeat)
    text = markdown_text(document(rows, asked.elements, asked.repeat, "python -m bench.composition"))
    if asked.output is None:
        sys.stdout.write(text)
    else:
        write_text(asked.output, text, force=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
