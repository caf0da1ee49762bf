"""A campaign as a job: every rank calls :func:`run_campaign`, rank 0 appends to the table."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from commanalyzer.foundation.errors import CommAnalyzerError, MachineModelError
from commanalyzer.machine.measuring.communicator import Communicator
from commanalyzer.machine.measuring.hosts import JobHosts, RankPlace, this_place
from commanalyzer.machine.measuring.mpi import world
from commanalyzer.machine.measuring.phase_campaign import (
    CampaignPoint,
    MeasuredPhase,
    append_point,
    measure_points,
    read_points,
)

R = TypeVar("R")

_SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=phases
#SBATCH --exclusive
#
# Campaign for the time of communication phases. Submit all jobs with:  bash {name}
# One job runs at a time, for all write one table; submitting again goes on with what is missing in
# {table}.
set -eu
cd {folder}
if [ -z "${{SLURM_JOB_ID:-}}" ]; then
    for allocation in 1 2; do
        for nodes in {nodes}; do
            sbatch --dependency=singleton --nodes="$nodes" --ntasks-per-node={most_processes} \\
                {name} "$nodes" "$allocation"
        done
    done
    exit
fi
exec srun --cpu-bind=cores {tool} machine measure --campaign {table} \\
    --nodes "$1" --ppn {processes} --allocation "$2"
"""


def run_campaign(
    table: Path, points: Sequence[CampaignPoint], allocation: str, say: Callable[[str], None]
) -> int:
    """Measure the points that the table does not have yet; their number on rank 0, 0 elsewhere.

    The CSV file ``table`` grows by a line per point; ``say`` is told of what spoils the numbers, on rank 0.
    Raises ``MachineModelError`` if there is one rank only, the table cannot be read, or MPI is not usable.
    """
    comm = world()
    if comm.size == 1:
        raise MachineModelError(
            "expected at least 2 ranks to measure phases, found 1",
            hint="mpiexec -n RANKS commanalyzer machine measure --campaign ..., or --slurm for a script",
        )
    return measure_missing(comm, table, points, allocation, say)


def measure_missing(
    comm: Communicator[R],
    table: Path,
    points: Sequence[CampaignPoint],
    allocation: str,
    say: Callable[[str], None],
) -> int:
    """See :func:`run_campaign`, on any communicator."""
    places = tuple(RankPlace.from_text(text) for text in comm.gather_texts(this_place().to_text()))
    hosts = JobHosts(places)
    missing, failure = "", None
    if comm.rank == 0:
        try:
            missing = json.dumps(_missing(table, points, allocation))
        except CommAnalyzerError as error:
            failure = error
    first = comm.gather_texts(missing)[0]
    if not first:
        raise failure or MachineModelError("rank 0 could not begin")
    todo = [points[k] for k in json.loads(first)]
    if comm.rank == 0:
        for remark in hosts.remarks():
            say(remark)
    done = 0

    def keep(found: MeasuredPhase) -> None:
        nonlocal done
        append_point(table, found)
        done += 1

    placement = hosts.placement
    measure_points(comm, placement.node.tolist(), placement.position.tolist(), todo, allocation, keep)
    return done


def _missing(table: Path, points: Sequence[CampaignPoint], allocation: str) -> list[int]:
    """Numbers of the points that are not in the table."""
    known = read_points(table) if table.exists() and table.stat().st_size else ()
    done = {found.point for found in known if found.allocation == allocation}
    return [k for k, point in enumerate(points) if point not in done]


def campaign_script(
    *, script: Path, table: Path, tool: Sequence[str], nodes: Sequence[int], processes: Sequence[int]
) -> str:
    """Script that submits a job per number of nodes and allocation; ``tool`` starts this tool."""
    return _SCRIPT.format(
        name=shlex.quote(str(script.absolute())),
        table=shlex.quote(str(table.absolute())),
        folder=shlex.quote(str(Path.cwd())),
        nodes=" ".join(map(str, sorted(nodes))),
        processes=",".join(map(str, sorted(processes))),
        most_processes=max(processes),
        tool=shlex.join(tool),
    )
