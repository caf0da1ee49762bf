"""How large programs can be: each workload analysed end to end at growing sizes, until it no longer fits.

    python -m bench.ladder [--only heat2d,matmul] [--from 512] [--up-to 2048] [--nodes 4,16,64]
                                 [--memory-limit-gb 20] [--timeout 1800] [--coarsen auto] [-o FILE]

Run from the checkout, with nothing else on the machine. Each rung is a process of its own, and is told how
much memory it may take: it divides for fewer numbers of nodes at a time, or says that it needs more. One that
takes more memory or time than allowed nevertheless is ended. That is reported with the reason, the stage, and
what it had taken, and the next workload follows.
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.cases import ROOT
from bench.ladder_cases import Series, chosen_series
from bench.ladder_document import Rung, ladder_document, rung_of
from bench.sections import markdown_text, show_document
from commanalyzer.foundation.files import write_text
from commanalyzer.report.result.text import make_console
from commanalyzer.request import node_counts
from commanalyzer.result.provenance import collect_provenance

_POLL_S = 0.2
_GB = 1e9


@dataclass(frozen=True, slots=True)
class Limits:
    """What a rung may take."""

    memory_bytes: float
    timeout_s: float


def climb(series: Series, sizes: range, nodes: str, coarsen: str, limits: Limits) -> Iterator[Rung]:
    """Yield the rungs of one workload with these ``sizes``; after one that failed there are no more."""
    for size in (size for size in series.sizes if size in sizes):
        rung = _run(series, size, nodes, coarsen, limits)
        yield rung
        if rung.failure:
            return


def _run(series: Series, size: int, nodes: str, coarsen: str, limits: Limits) -> Rung:
    with tempfile.TemporaryDirectory() as folder:
        report, errors, stage = (Path(folder) / name for name in ("report.json", "errors", "stage"))
        words = [sys.executable, "-m", "bench.rung", f"--memory-limit-gb={limits.memory_bytes / _GB}"]
        words += [f"--stage={stage}", str(report), nodes, coarsen, series.name, *series.command(size)]
        with errors.open("wb") as stream:
            process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=stream)
            failure = _watch(process, limits)
        if not failure and (process.returncode or not report.exists()):
            lines = errors.read_text(errors="replace").strip().splitlines() or ["no message"]
            failure = f"failed: {lines[-1][:200]}"
        if failure:
            running = stage.read_text() if stage.exists() else ""
            return Rung(series, size, failure=f"{failure} (stage: {running or 'none yet'})")
        return rung_of(series, size, node_counts(nodes), json.loads(report.read_text()))


def _watch(process: subprocess.Popen[bytes], limits: Limits) -> str:
    """Wait for the end; returns why it was ended early and what it had taken, empty if it was not."""
    begin, peak = time.monotonic(), 0.0
    while process.poll() is None:
        time.sleep(_POLL_S)
        used, seconds, reason = _tree_bytes(process.pid), time.monotonic() - begin, ""
        peak = max(peak, used)
        if used > limits.memory_bytes:
            reason = f"more than {limits.memory_bytes / _GB:.0f} GB, after {seconds:.0f} s"
        elif seconds > limits.timeout_s:
            reason = f"more than {limits.timeout_s:.0f} s, with at most {peak / _GB:.1f} GB"
        if reason and process.poll() is None:  # not one that has just ended by itself
            _end(process)
            return f"ended: {reason}"
    return ""


def _tree_bytes(pid: int) -> float:
    """Resident bytes of a process and all below it without pages of files, which the system can write out."""
    total = 0.0
    try:
        root = psutil.Process(pid)
        for item in (root, *root.children(recursive=True)):
            memory = item.memory_info()
            total += memory.rss - memory.shared
    except psutil.NoSuchProcess:
        pass
    return total


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and those that it started."""
    try:
        below = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        below = []
    process.kill()
    for item in below:
        try:
            item.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()


def main(argv: Sequence[str] | None = None) -> int:
    """Climb, print, write."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = _options(words)
    limits = Limits(options.memory_limit_gb * _GB, options.timeout)
    progress = make_console(sys.stderr)
    made = collect_provenance(compiler="", flags=(), input_hashes=(), seed=0)
    machine = f"{made.host_class}, Python {platform.python_version()}"
    origin = f"Made by `{shlex.join(['python', '-m', 'bench.ladder', *words])}` on {machine}."
    sizes, rungs = range(options.least, options.up_to + 1), list[Rung]()
    for series in chosen_series(options.only.split(",") if options.only else ()):
        for rung in climb(series, sizes, options.nodes, options.coarsen, limits):
            progress.print(rung.line())
            rungs.append(rung)
            document = ladder_document(rungs, node_counts(options.nodes), options.memory_limit_gb, origin)
            if options.output is not None:  # after each rung: a day's work must not be lost
                write_text(options.output, markdown_text(document), force=True)
    if rungs:
        show_document(document, make_console(sys.stdout, width=220))
    return 0


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.ladder", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="comma-separated workloads")
    parser.add_argument("--from", dest="least", type=int, default=1, help="smallest size")
    parser.add_argument("--up-to", type=int, default=10**9, help="largest size")
    parser.add_argument("--nodes", default="4,16,64", help="among 4, 16, 64 where there is theory")
    parser.add_argument("--coarsen", default="auto", help="auto, never or a number of vertices")
    parser.add_argument("--memory-limit-gb", type=float, default=20.0, help="of all processes of a rung")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds per rung")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file")
    return parser.parse_args(words)


if __name__ == "__main__":
    raise SystemExit(main())
