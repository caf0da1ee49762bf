"""Runs the measurement of a network on a simulated one: ``python -m tests.simgrid.measure FOLDER``.

FOLDER holds ``platform.xml``, ``deployment.xml`` and ``job.json`` (options of SimGrid, fields of the plan);
``samples.json.gz`` is written there.
"""

import json
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.machine.measuring.hosts import RankPlace
from commanalyzer.machine.measuring.job import measure_machine
from commanalyzer.machine.measuring.mpi import MpiCommunicator
from commanalyzer.machine.measuring.phase_campaign import campaign_points, measure_missing
from commanalyzer.machine.measuring.samples import MeasurementPlan, Series, measure_network, write_samples
from tests.simgrid.communicator import SmpiCommunicator, run_ranks


def main(folder: Path) -> None:
    job = json.loads((folder / "job.json").read_text())
    plan = MeasurementPlan(**job["plan"] | {"message_bytes": tuple(job["plan"]["message_bytes"])})

    def rank_main(comm: SmpiCommunicator) -> None:
        if "campaign" in job:
            _campaign(comm, folder, job["campaign"], job["hosts"])
            return
        if job["hosts"]:
            series = _series_of_machine(comm, plan, job["hosts"][comm.rank])
        else:
            series = measure_network(cast(MpiCommunicator, comm), plan, SilentProgress())
        if comm.rank == 0:
            write_samples(folder / "samples.json.gz", series, {})

    failures = run_ranks(folder / "platform.xml", folder / "deployment.xml", job["options"], rank_main)
    sys.stderr.writelines(f"{failure!r}\n" for failure in failures)
    sys.stderr.flush()
    os._exit(1 if failures else 0)  # without the interpreter's own end: the simulation is over


def _on_host(comm: SmpiCommunicator, host: str) -> MpiCommunicator:
    """The communicator, where this rank says that it runs on ``host``."""

    class WithHosts(SmpiCommunicator):
        def gather_texts(self, text: str) -> tuple[str, ...]:
            with suppress(ValueError):  # another text
                text = replace(RankPlace.from_text(text), host=host).to_text()
            return super().gather_texts(text)

    return cast(MpiCommunicator, WithHosts(comm.library, comm.handle))


def _campaign(comm: SmpiCommunicator, folder: Path, fields: dict[str, list[int]], hosts: list[str]) -> None:
    """Measure what is missing in the table of a campaign."""
    points = campaign_points(fields["nodes"], fields["processes"], fields["messages"], fields["sizes"])
    measure_missing(_on_host(comm, hosts[comm.rank]), folder / "campaign.csv", points, "1", lambda _: None)


def _series_of_machine(comm: SmpiCommunicator, plan: MeasurementPlan, host: str) -> tuple[Series, ...]:
    """Series of a whole machine, where this rank says that it runs on ``host``."""
    world = _on_host(comm, host)
    found = measure_machine(world, "SMPI", plan, "simulated", SilentProgress())
    return found.series if found is not None else ()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
