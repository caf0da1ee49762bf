"""Compare predictions with the counted bytes of the MPI programs of the workloads.

    python -m bench.accuracy [--workloads heat2d,cg] [--nodes 4,8] [--quick] [--ablation] [--jobs 2] [-o FILE]

Builds the MPI programs, counts their main loops, analyses the sequential programs, and shows counted and
predicted bytes, their ratio and the accuracy. All cases take an hour or more, ``--quick`` some minutes.
``workloads/ACCURACY.md`` is made with ``--ablation``.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.accuracy.cases import CASES_FILE, read_cases
from bench.accuracy.document import validation_document
from bench.accuracy.run import CaseSelection, ablate, selected, validate, versions
from bench.document import show_and_write
from commanalyzer.cli.parameters.output import shown_progress
from commanalyzer.foundation.errors import CommAnalyzerError, ConfigError
from commanalyzer.foundation.files import require_writable
from commanalyzer.request import node_counts


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, print, write; 1 where a case or a file is not usable."""
    words = list(sys.argv[1:] if argv is None else argv)
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m bench.accuracy", description=about)
    parser.add_argument("--workloads", default="", help="heat2d,cg (default: all)")
    parser.add_argument("--nodes", default="", help="numbers of processes: 4,8 (default: all)")
    parser.add_argument("--quick", action="store_true", help="the smallest sizes, on 4 or 8 processes")
    parser.add_argument("--ablation", action="store_true", help="leave out one rule after the other, too")
    parser.add_argument("--cases", type=Path, default=CASES_FILE, help="default: workloads/validation.toml")
    parser.add_argument("--jobs", type=int, default=1, help="cases side by side (default: %(default)s)")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file to write (default: none)")
    options = parser.parse_args(words)
    try:
        if options.jobs < 1:
            raise ConfigError(f"expected --jobs of 1 or more, found {options.jobs}")
        names = tuple(filter(None, map(str.strip, options.workloads.split(","))))
        selection = CaseSelection(names, node_counts(options.nodes) if options.nodes else (), options.quick)
        found = read_cases(options.cases)
        selected(found, selection)
        if options.output is not None:
            require_writable(options.output, force=True)
        with shown_progress(False) as progress:
            rows = list(validate(found, selection, progress, options.jobs))
            smallest = replace(selection, quick=True)
            left_out = list(ablate(found, smallest, progress, options.jobs)) if options.ablation else []
        made_by = shlex.join(["python", "-m", "bench.accuracy", *words])
        show_and_write(validation_document(rows, left_out, made_by, versions()), options.output)
    except CommAnalyzerError as error:
        sys.stderr.write(f"error: {error.text}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
