"""Divisions counted event by event, beside the brackets that rows leave: the oracle of the counter.

    python -m bench.brackets [--only gemm_nn,heat2d] [--nodes 4,16] [--timeout 120] [-o FILE]

Every kernel, workload and program with decisions, each at its smallest size in a process of its own: the
divisions that are shown are counted in both ways. An exact count outside its bracket is a fault of the
counter: the last column says so, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import commanalyzer as ca
from bench.accuracy.cases import CASES_FILE, read_cases
from bench.cases import ROOT
from bench.sections import Document, Passage, markdown_text, show_document
from commanalyzer.foundation.errors import CommAnalyzerError
from commanalyzer.foundation.files import write_text
from commanalyzer.report.result.text import make_console
from commanalyzer.request import node_counts
from tests.kernels.table import kernels

_COLUMNS = ("program", "nodes", "division", "by rows", "likeliest", "exact", "outside")


@dataclass(frozen=True, slots=True)
class Program:
    """What is analysed."""

    name: str
    sources: tuple[Path, ...]
    arguments: tuple[str, ...] = ()
    region: str = "kernel"
    flags: tuple[str, ...] = ()


def programs() -> Iterator[Program]:
    """All programs, at their smallest sizes."""
    for kernel in kernels():
        yield Program(kernel.name, (kernel.source,), tuple(map(str, kernel.sizes[0])))
    for path in sorted((ROOT / "workloads" / "decisions").glob("*.c")):
        yield Program(f"decisions/{path.stem}", (path,), region="solve")
    for item in read_cases(CASES_FILE):
        if "decisions" not in item.sources[0].parts:
            yield Program(item.name, item.sources, item.sizes[0], item.region, item.flags)


def rows_of(program: Program, nodes: Sequence[int]) -> list[tuple[str, ...]]:
    """Return a row of the table for each division that was counted in both ways.

    Raises:
        CommAnalyzerError: If the program cannot be analysed.
    """
    rough, exact = (
        ca.analyze(
            program.sources,
            program.arguments,
            nodes=nodes,
            regions=[program.region],
            cflags=program.flags,
            exact=counted,
            program_output="discard",
        )
        for counted in (False, True)
    )
    rows = []
    for one, other in zip(rough.decompositions, exact.decompositions, strict=True):
        if other.is_replayed:
            assert (one.nodes, one.method) == (other.nodes, other.method)
            low, high = one.communication.low_bytes, one.communication.high_bytes
            count = other.communication.low_bytes
            bracket = f"{low:,}" if low == high else f"{low:,} - {high:,}"
            outside = "" if low <= count <= high else f"{count / (low if count < low else high):.2f}"
            likely = f"{one.comm_bytes:,}"
            rows.append((program.name, str(one.nodes), one.method, bracket, likely, f"{count:,}", outside))
    return rows


def _measured(name: str, nodes: str, timeout_s: float) -> list[tuple[str, ...]]:
    words = [sys.executable, "-m", "bench.brackets", "--point", name, "--nodes", nodes]
    nothing = (name, "-", "-", "-", "-", "-")
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return [(*nothing, f"ended: more than {timeout_s:.0f} s")]
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        return [(*nothing, f"failed: {lines[-1][:100]}")]
    return [tuple(row) for row in json.loads(done.stdout.splitlines()[-1])]


def main(argv: Sequence[str] | None = None) -> int:
    """Count, print, write."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="bench.brackets", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="names of programs (default: all)")
    parser.add_argument("--nodes", default="4,16", help="numbers of nodes (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds each (default: %(default)s)")
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: none)")
    parser.add_argument("--point", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.point:
        program = next(p for p in programs() if p.name == options.point)
        try:
            sys.stdout.write("\n" + json.dumps(rows_of(program, node_counts(options.nodes))) + "\n")
        except CommAnalyzerError as error:
            sys.stderr.write(f"{type(error).__name__}: {error.message.splitlines()[0]}\n")
            return 1
        return 0
    only, progress = set(filter(None, options.only.split(","))), make_console(sys.stderr)
    body: list[tuple[str, ...]] = []
    for program in (p for p in programs() if not only or p.name in only):
        progress.print(program.name)
        body += _measured(program.name, options.nodes, options.timeout)
        if options.output:
            write_text(options.output, markdown_text(_document(body, words)), force=True)
    show_document(_document(body, words), make_console(sys.stdout, width=160))
    return 1 if any(row[-1] for row in body) else 0


def _document(body: Sequence[tuple[str, ...]], words: Sequence[str]) -> Document:
    wrong = sum(bool(row[-1]) for row in body)
    text = f"{len(body)} divisions, {wrong} outside their bracket or not counted."
    section = Passage("By rows and event by event", (text,), _COLUMNS, tuple(body))
    return Document("Brackets", (Passage("", (f"`python -m bench.brackets {' '.join(words)}`",)), section))


if __name__ == "__main__":
    raise SystemExit(main())
