"""One rung of the size ladder: one analysis in a process of its own, so that its peak memory is its own.

    python -m tests.bench.rung REPORT NODES COARSEN NAME [ARGUMENTS...]

Does what ``commanalyzer analyze`` does, on all cores, and writes REPORT: the JSON document of the analysis,
with the seconds of each stage and the peak memory of this process and its helpers added.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from commanalyzer.cli.options import coarsen, parse_nodes
from commanalyzer.files import write_text
from commanalyzer.pipeline import analyze
from commanalyzer.report.json_document import json_document
from commanalyzer.sweep.executors import usable_cores
from tests.bench.cases import request_of
from tests.bench.measuring import StageClock


def main(argv: Sequence[str] | None = None) -> int:
    """Analyse and write the report."""
    report, nodes, coarse, name, *arguments = list(sys.argv[1:] if argv is None else argv)
    request = replace(request_of(name, tuple(arguments), parse_nodes(nodes)), coarsen=coarsen(coarse))
    clock, begin = StageClock(), time.perf_counter()
    result = analyze(request, clock, usable_cores())
    clock.stage("")
    document = json_document(result)
    document["stages_s"] = dict(clock.seconds)
    document["total_s"] = time.perf_counter() - begin
    document["own_peak_bytes"] = result.peak_memory_bytes
    write_text(Path(report), json.dumps(document), force=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
