"""All benchmarks in one run: cost of recording, size of graphs, time of the stages, growth, other tools.

    python -m bench [--scale S] [--repeat N] [--only heat2d,cg] [--no-division] [--no-peers]
                           [--without NAMES] [-o FILE]

Run from the checkout. Times of one run compare with each other; the history keeps ratios of earlier runs.
"""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.cases import ROOT, chosen, request_of
from bench.document import performance_document
from bench.exponents import SERIES, growth
from bench.foreign.document import section_of
from bench.history import append, slow_downs
from bench.measuring import Measured, measure
from bench.mechanisms import without
from bench.memory import page_cost
from bench.peers import peers
from bench.sections import markdown_text, show_document
from commanalyzer.foundation.files import write_text
from commanalyzer.foundation.heap import keep_freed_memory
from commanalyzer.report.result.text import make_console
from commanalyzer.result.provenance import collect_provenance

_HISTORY = ROOT / "build" / "bench-history.jsonl"  # of this checkout: other machines have other numbers


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = _options(words)
    mechanisms = without(options.without.split(",") if options.without else ())
    is_complete = not options.only and not options.without
    progress = make_console(sys.stderr)
    pages = page_cost()
    measured: list[Measured] = []
    extra: list[Measured] = []
    laws = []
    cases = chosen(options.only.split(",") if options.only else ())
    for case in cases:
        progress.print(f"{case.name} {' '.join(case.command(options.scale))}")
        request = request_of(case.name, case.command(options.scale))
        longer = [request_of(case.name, case.command(options.scale * scale)) for scale in case.longer]
        divide = not options.no_division
        found = measure(
            request, case.name, options.repeat, longer=longer, divide=divide, mechanisms=mechanisms
        )
        (extra if case.is_extra else measured).append(found)
    for series in SERIES if is_complete else ():
        progress.print(f"growth of {series.name} in {series.grows}")
        laws.append(growth(series, options.repeat))
    others = list(peers(options.repeat)) if is_complete and not options.no_peers else []
    made = collect_provenance(compiler="", flags=(), input_hashes=(), seed=0)
    machine = f"{made.host_class}, Python {platform.python_version()}"
    origin = f"Made by `{shlex.join(['python', '-m', 'bench', *words])}` on {machine}."
    changes = slow_downs(options.history, made.host_class, [*measured, *extra])
    remarks = tuple(
        f"{case.name} {case.arguments.format('STEPS')}: {case.remark}" for case in cases if case.remark
    )
    preface = (origin, pages.text)
    document = performance_document(measured, extra, remarks, laws, others, changes, preface)
    show_document(document, make_console(sys.stdout, width=200))
    if options.output is not None:
        kept = section_of(options.output.read_text()) if options.output.exists() else ""
        write_text(options.output, f"{markdown_text(document)}\n{kept}".rstrip() + "\n", force=True)
    if is_complete:
        append(options.history, made.git_revision, made.created, made.host_class, [*measured, *extra])
    return 0


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of steps")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="comma-separated workloads; no growth, tools and history")
    parser.add_argument("--no-division", action="store_true", help="leave out finding divisions")
    parser.add_argument("--no-peers", action="store_true", help="leave out other tools")
    parser.add_argument("--without", default="", help="comma-separated mechanisms to switch off")
    parser.add_argument("--history", type=Path, default=_HISTORY)
    parser.add_argument("-o", "--output", type=Path, help="Markdown file")
    return parser.parse_args(words)


if __name__ == "__main__":
    keep_freed_memory()  # as the commands do
    raise SystemExit(main())
