"""One rung of the size ladder: one analysis in a process of its own, so that its peak memory is its own.

    python -m bench.rung [--memory-limit-gb N] [--stage FILE] REPORT NODES COARSEN NAME [ARGUMENTS...]

Does what ``commanalyzer analyze`` does, on all cores, and writes REPORT: the JSON document of the analysis,
with the seconds of each stage and the peak memory of this process and its helpers added. FILE has the name of
the stage that is running.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.cases import request_of
from bench.measuring import StageClock
from commanalyzer.cli.parameters.options import coarsen
from commanalyzer.division.libraries.concurrency import usable_cores
from commanalyzer.foundation.files import write_text
from commanalyzer.foundation.heap import keep_freed_memory
from commanalyzer.pipeline import analyze
from commanalyzer.report.result.json_document import json_document
from commanalyzer.request import node_counts


@dataclass(slots=True)
class _ToldClock(StageClock):
    """A clock that tells which stage is running."""

    file: Path | None = None

    def stage(self, name: str, steps: int = 1) -> None:
        """See :meth:`StageClock.stage`."""
        StageClock.stage(self, name, steps)
        if self.file is not None:
            self.file.write_text(name)


def main(argv: Sequence[str] | None = None) -> int:
    """Analyse and write the report."""
    options = _options(argv)
    request = replace(
        request_of(options.name, tuple(options.arguments), node_counts(options.nodes)),
        coarsen=coarsen(options.coarsen),
        memory_limit_bytes=options.memory_limit_gb and int(options.memory_limit_gb * 1e9),
    )
    clock, begin = _ToldClock(file=options.stage), time.perf_counter()
    result = analyze(request, clock, usable_cores())
    clock.stage("")
    document = json_document(result)
    document["stages_s"] = dict(clock.seconds)
    document["total_s"] = time.perf_counter() - begin
    document["own_peak_bytes"] = result.peak_memory_bytes
    write_text(options.report, json.dumps(document), force=True)
    return 0


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.rung")
    parser.add_argument("--memory-limit-gb", type=float, help="as --memory-limit of an analysis")
    parser.add_argument("--stage", type=Path, help="file for the name of the stage")
    parser.add_argument("report", type=Path)
    for name in ("nodes", "coarsen", "name"):
        parser.add_argument(name)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(words)


if __name__ == "__main__":
    keep_freed_memory()
    raise SystemExit(main())
