"""What an answer costs and is worth: CPU seconds from source to answer, brackets, bytes beside theory; lines.

    python -m bench.answers [CHECKOUT] [--only heat2d,ssor] [--repeat 2] [-o workloads/ANSWERS.md]

Each program is analysed by the command, in a process of its own, ``repeat`` times, of which the one that
takes least counts: the first may compile loops. With the CHECKOUT of another revision, that one analyses the
first three in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.cases import ROOT, request_of
from bench.document import show_and_write
from bench.sections import Document, Passage
from commanalyzer.report.result.text import make_console
from commanalyzer.result.provenance import collect_provenance
from tests.kernels.table import kernels

Theory = Callable[[tuple[int, ...], int], int]  # arguments and p to bytes
_FOREIGN = Path("bench", "foreign")


@dataclass(frozen=True, slots=True)
class Program:
    """A program, how it is run, and what it must send.

    Attributes:
        name: Of the source without its ending.
        arguments: Numbers.
        nodes: Numbers of nodes p.
        is_gate: Another revision is asked as well.
        theory: What a programmer's division sends; ``None`` where no formula was derived.
        derived: How.
    """

    name: str
    arguments: tuple[int, ...]
    nodes: tuple[int, ...] = (2, 4, 8)
    is_gate: bool = False
    theory: Theory | None = None
    derived: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        """Words of an analysis, paths relative to a checkout."""
        workloads = ROOT / "workloads"
        if (workloads / self.name).is_dir():
            request = request_of(self.name, ())
            flags = request.compiler.flags
            sources = tuple(str(path.relative_to(ROOT)) for path in request.sources)
            return (*sources, *((f"--cflags={shlex.join(flags)}",) if flags else ()))
        if any(kernel.name == self.name for kernel in kernels()):
            found = next((workloads / "kernels").glob(f"{self.name}.*"))
            return (str(found.relative_to(ROOT)), "--region", "kernel")
        return (str(next((ROOT / _FOREIGN).glob(f"{self.name}.*")).relative_to(ROOT)),)


def _of_kernel(name: str) -> Theory:
    kernel = next(k for k in kernels() if k.name == name)

    def theory(arguments: tuple[int, ...], p: int) -> int:
        return kernel.plain(kernel.sizes.index(arguments), p)[0]

    return theory


def _cuts(p: int, dims: int) -> int:
    """Number of planes that cut a cube into ``p`` (a power of two) blocks, cut most evenly."""
    powers = p.bit_length() - 1
    return sum(2 ** (powers // dims + (d < powers % dims)) - 1 for d in range(dims))


def _split_hydro(arguments: tuple[int, ...], p: int) -> int:
    n, steps = arguments
    return 8 * 10 * n * steps * _cuts(p, 2)


def _multigrid_cg(arguments: tuple[int, ...], p: int) -> int:
    n, steps = arguments
    levels = [n >> k for k in range(n.bit_length()) if n >> k >= 4]
    words = sum(5 * m * m for m in levels[:-1]) + 3 * levels[-1] ** 2 + 2 * n * n
    return 8 * words * steps * _cuts(p, 3)


def _csr_assembly(arguments: tuple[int, ...], p: int) -> int:
    n, rounds = arguments
    return 8 * n * rounds * _cuts(p, 2)


def _ordinates(arguments: tuple[int, ...], p: int) -> int:
    n, rounds = arguments
    return 8 * n * n * 4 * 8 * rounds * _cuts(p, 3)


KERNEL = "formula in the first comment of the kernel"
PROGRAMS = (
    Program(
        "heat2d", (256, 50), (4, 16), True, lambda a, p: 8 * 2 * a[0] * a[1] * _cuts(p, 2), "rows beside cuts"
    ),
    Program("fem2d", (60, 3), (4, 16), True),
    Program("hydro3d", (12, 2), (8,), True),
    Program("ssor", (12, 2), theory=_of_kernel("ssor"), derived=KERNEL),
    Program("multigrid3d", (16, 2), theory=_of_kernel("multigrid3d"), derived=KERNEL),
    Program("cg27", (16, 3), theory=_of_kernel("cg27"), derived=KERNEL),
    Program("split_hydro", (64, 4), theory=_split_hydro, derived="state, pressure, speed; four fluxes back"),
    Program(
        "multigrid_cg", (16, 3), theory=_multigrid_cg, derived="a layer per half sweep, residual, product"
    ),
    Program("csr_assembly", (40, 4), theory=_csr_assembly, derived="material of the elements beside cuts"),
    Program("ordinates", (12, 2), theory=_ordinates, derived="angles through planes, sweeps in all octants"),
    Program("hydro_members", (40, 5)),
    Program("link_cells", (10, 3)),
    Program("randomcsr", (10000, 6, 3)),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one revision says of a program.

    Attributes:
        cpu_s: CPU seconds from source to answer, all processes.
        peak_bytes: Peak memory of its largest process.
        values: Of the graph.
        flows: Likewise.
        shown: JSON of the division that is shown first, by p.
        least: Bytes of the least that was found, by p.
        failure: Why there is no answer.
    """

    cpu_s: float = 0.0
    peak_bytes: int = 0
    values: int = 0
    flows: int = 0
    shown: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    least: Mapping[int, int] = field(default_factory=dict)
    failure: str = ""


def answer_of(program: Program, checkout: Path, timeout_s: float) -> Answer:
    """Analyse a program of this checkout with the code of another, or this one."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = [
            sys.executable,
            "-P",
            "-m",
            "commanalyzer",
            "analyze",
            *program.command,
            "--json",
            str(report),
        ]
        words += ["-q", "--nodes", ",".join(map(str, program.nodes)), "--", *map(str, program.arguments)]
        given = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}  # also its processes
        if checkout != ROOT:  # compiled parts, one set for each revision
            given["COMMANALYZER_CACHE"] = str(checkout / "build" / "cache")
        begin = _seconds_of_children()
        try:
            done = subprocess.run(
                words, cwd=ROOT, capture_output=True, text=True, env=given, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired:
            return Answer(failure=f"ended: more than {timeout_s:.0f} s")
        cpu_s = _seconds_of_children() - begin
        if not report.exists():
            lines = done.stderr.strip().splitlines() or ["no message"]
            return Answer(cpu_s, failure=lines[0][:100])
        return _read(json.loads(report.read_text()), cpu_s)


def _seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _read(document: Mapping[str, Any], cpu_s: float) -> Answer:
    """What a JSON document says; earlier ones know no headline: there, the best is shown first."""
    shown: dict[int, Mapping[str, Any]] = {}
    least: dict[int, int] = {}
    for entry in document["decompositions"]:
        if entry["model"] == "volume" and entry["best"]:
            least[entry["nodes"]] = entry["comm_bytes"]
            shown.setdefault(entry["nodes"], entry)
        if entry["model"] == "volume" and entry.get("headline"):
            shown[entry["nodes"]] = entry
    graph = document["vcg"]
    peak_bytes = document.get("peak_memory_bytes") or 0
    return Answer(cpu_s, peak_bytes, graph["values"], graph["flows"], shown, least)


def _rows(program: Program, answers: Sequence[Answer], *, is_compared: bool) -> list[tuple[str, ...]]:
    """A row for each number of nodes: of this revision, then of the other, if any was asked."""
    now, name = answers[-1], " ".join((program.name, *map(str, program.arguments)))
    if now.failure:
        return [(name, "-", "-", now.failure, *("-",) * 7, *(_before(answers, 0) if is_compared else ()))]
    rows = []
    for p in program.nodes:
        entry, theory = now.shown[p], program.theory and program.theory(program.arguments, p)
        low, high, comm_bytes = entry["comm_bytes_low"], entry["comm_bytes_high"], entry["comm_bytes"]
        rows.append(
            (
                *(name, f"{now.flows:,}", str(p), entry["method"], f"{comm_bytes:,}"),
                "exact" if low == high else f"{high / max(low, 1):.2f}",
                f"{theory:,}" if theory else "-",
                f"{comm_bytes / theory:.2f}" if theory else "-",
                f"{now.least[p] / max(comm_bytes, 1):.2f}",
                *(f"{now.cpu_s:.1f}", f"{now.peak_bytes / 1e6:.0f}"),
                *(_before(answers, p) if is_compared else ()),
            )
        )
    return rows


def _before(answers: Sequence[Answer], p: int) -> tuple[str, ...]:
    if len(answers) == 1:
        return ("-", "-")
    before = answers[0]
    found = f"{before.shown[p]['comm_bytes']:,}" if p in before.shown else before.failure or "-"
    return (found, f"{before.cpu_s:.1f}")


def _lines(checkout: Path) -> Counter[str]:
    """Lines of Python and C by part of a checkout."""
    count: Counter[str] = Counter()
    for path in (*(checkout / "commanalyzer").rglob("*.py"), *(checkout / "runtime_shim").rglob("*.[ch]")):
        parts = path.relative_to(checkout).parts
        count["/".join(parts[:2]) if len(parts) > 2 else parts[0]] += len(path.read_text().splitlines())
    return count


def _sections(
    found: Sequence[tuple[Program, Sequence[Answer]]], other: Path | None, origin: str
) -> tuple[Passage, ...]:
    columns = (
        *("program", "flows", "p", "shown first", "bytes", "high / low", "theory", "of theory"),
        *("least found", "CPU s", "MB", *(("bytes before", "CPU s before") if other else ())),
    )
    theories = "; ".join(f"{program.name}: {program.derived}" for program, _ in found if program.derived)
    text = (
        origin,
        "CPU seconds are those of all processes, for all numbers of nodes together. *High / low* is how wide "
        "the bracket is, *least found* the bytes of the best owner map found, over those shown first.",
        f"Theory: {theories}. Others have none.",
    )
    rows = [
        row for program, answers in found for row in _rows(program, answers, is_compared=other is not None)
    ]
    sections = [Passage("Answers", text, columns, tuple(rows))]
    if other:
        before, now = _lines(other), _lines(ROOT)
        parts = [(part, f"{before[part]:,}", f"{now[part]:,}") for part in sorted(before | now)]
        total = ("together", f"{before.total():,}", f"{now.total():,}")
        sections.append(Passage("Lines", (), ("part", "before", "now"), (*parts, total)))
    return tuple(sections)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser("python -m bench.answers")
    parser.add_argument("checkout", type=Path, nargs="?", help="of another revision")
    parser.add_argument("--only", default="", help="comma-separated programs")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds of each analysis")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file")
    options = parser.parse_args(words)
    wanted, progress = set(filter(None, options.only.split(","))), make_console(sys.stderr)
    other = options.checkout.resolve() if options.checkout else None
    found: list[tuple[Program, list[Answer]]] = []
    for program in PROGRAMS:
        if wanted and program.name not in wanted:
            continue
        answers = []
        for tree in filter(None, (other if program.is_gate else None, ROOT)):
            tries = [answer_of(program, tree, options.timeout) for _ in range(options.repeat)]
            answers.append(min(tries, key=lambda answer: (answer.failure, answer.cpu_s)))
        found.append((program, answers))
        progress.print(program.name, *(f"{answer.cpu_s:.1f} s {answer.failure}" for answer in answers))
    made = collect_provenance(compiler="", flags=(), input_hashes=(), seed=0)
    command = shlex.join(["python", "-m", "bench.answers", *words])
    where = f"{made.host_class}, Python {platform.python_version()}, {os.cpu_count()} cores"
    origin = f"Made by `{command}` on {where}."
    document = Document("Answers", _sections(found, other, origin))
    show_and_write(document, options.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
