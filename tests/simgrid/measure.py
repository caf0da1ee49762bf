"""Runs the measurement of a network on a simulated one: ``python -m tests.simgrid.measure FOLDER``.

FOLDER holds ``platform.xml``, ``deployment.xml`` and ``job.json`` (options of SimGrid, fields of the plan);
``samples.json.gz`` is written there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from commanalyzer.machine.campaign import MeasurementPlan, measure_network
from commanalyzer.machine.samples import write_samples
from commanalyzer.progress import SilentProgress
from tests.simgrid.communicator import SmpiCommunicator, run_ranks


def main(folder: Path) -> int:
    """Measure; returns the exit status."""
    job = json.loads((folder / "job.json").read_text())
    plan = MeasurementPlan(**job["plan"] | {"message_bytes": tuple(job["plan"]["message_bytes"])})

    def rank_main(comm: SmpiCommunicator) -> None:
        series = measure_network(comm, plan, SilentProgress())
        if comm.rank == 0:
            write_samples(folder / "samples.json.gz", series, {})

    failures = run_ranks(folder / "platform.xml", folder / "deployment.xml", job["options"], rank_main)
    sys.stderr.writelines(f"{failure!r}\n" for failure in failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
