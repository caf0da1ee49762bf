"""What recording costs on programs in the style of code that others wrote: a table of ratios.

    python -m bench.foreign [--only lu,fft] [--short] [--repeat N] [-o workloads/PERFORMANCE.md]

Run from the checkout. ``-o`` replaces the section of this table in the document, or adds it.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.foreign.cases import CASES, Foreign
from bench.foreign.document import Found, foreign_section, with_section
from bench.measuring import cost_of
from bench.sections import Document, Passage, show_document
from commanalyzer.foundation.errors import CommAnalyzerError
from commanalyzer.foundation.files import write_text
from commanalyzer.foundation.heap import keep_freed_memory
from commanalyzer.report.result.text import make_console
from commanalyzer.result.provenance import collect_provenance


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = _options(words)
    wanted = set(options.only.split(",")) if options.only else set()
    progress = make_console(sys.stderr)
    found: list[Found] = []
    others = os.getloadavg()[0]
    for case in CASES:
        if wanted and case.name not in wanted:
            continue
        try:
            found.append(_measured(case, options.repeat, is_short=options.short))
        except CommAnalyzerError as error:
            progress.print(f"{case.name}: {error}")
            continue
        progress.print(*(f"{cost.case} {cost.ratio:.2f}" for cost in found[-1].costs))
        others = max(others, os.getloadavg()[0] - 1)
        if options.output is not None:  # whatever happens to the rest
            _write(options.output, foreign_section(found, _origin(words, others)))
    section = foreign_section(found, _origin(words, others))
    show_document(Document("Performance", (section,)), make_console(sys.stdout, width=160))
    return 0


def _origin(words: Sequence[str], others: float) -> str:
    made = collect_provenance(compiler="", flags=(), input_hashes=(), seed=0)
    command = shlex.join(["python", "-m", "bench.foreign", *words])
    return (
        f"Made by `{command}` on {made.host_class}, Python {platform.python_version()}, {os.cpu_count()} "
        f"cores; other work kept up to {others:.1f} processes busy meanwhile (load average)."
    )


def _write(path: Path, section: Passage) -> None:
    old = path.read_text() if path.exists() else "# Performance\n"
    write_text(path, with_section(old, section), force=True)


def _measured(case: Foreign, repeat: int, *, is_short: bool) -> Found:
    """Short run, then the long one; graphs exist one at a time."""
    cost, run, _ = cost_of(case.request(is_long=False), case.name, repeat)
    rows, flows = run.store.num_rows, run.store.num_flows
    del run
    costs = [cost] if is_short else [cost, cost_of(case.request(is_long=True), case.name, repeat)[0]]
    return Found(tuple(costs), rows, flows)


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.foreign", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="comma-separated programs")
    parser.add_argument("--short", action="store_true", help="runs of 0.1 s only")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, help="Markdown file")
    return parser.parse_args(words)


if __name__ == "__main__":
    keep_freed_memory()  # as the commands do
    raise SystemExit(main())
