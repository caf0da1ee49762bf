"""The campaign that phase models are fitted to: nodes x processes per node x messages x sizes.

In a phase every process sends ``num_messages`` messages of one size and receives as many; all are under way
at once. Neighbours are on the next nodes (``shift``) or anywhere (``ring``): in real programs they are some
of each. Every finished point is one line of a table, so that a campaign that is killed goes on where it was.

As a job, every rank calls :func:`run_campaign`, and rank 0 appends to the table.

Reference: N. Papadopoulou, G. Goumas, N. Koziris, 2017, Section 3.3 (8 to 128 nodes, 1 to all processes per
node, 1 to 4 or 8 messages, 64 B to 16 MB, two executions). Departure: the paper does not say who exchanges
with whom.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from commanalyzer.foundation.documents import csv_text, read_csv, reading
from commanalyzer.foundation.errors import CommAnalyzerError, ConfigError, MachineModelError
from commanalyzer.machine.measuring.hosts import JobHosts, RankPlace, this_place
from commanalyzer.machine.measuring.kernels import ExchangePattern, pattern_times, random_rings, shifts
from commanalyzer.machine.measuring.mpi import MpiCommunicator, world

Pattern = Literal["shift", "ring"]
SIZES_BYTES = (64, 1024, 16384, 262144, 4194304, 16777216)
NUM_MESSAGES = (1, 4)
_REPETITIONS = 7
_LEAST_NODES = 2


@dataclass(frozen=True, slots=True, order=True)
class CampaignPoint:
    """One phase."""

    num_nodes: int  # N
    ranks_per_node: int  # PPN
    num_messages: int  # M, of each process
    message_bytes: int  # S
    pattern: Pattern  # who exchanges with whom


@dataclass(frozen=True, slots=True)
class MeasuredPhase:
    """A point and what was measured."""

    point: CampaignPoint
    allocation: str  # name of the job, to tell allocations apart
    positions: tuple[int, ...]  # places of the nodes in the network, in the order of the ranks' nodes
    time_s: float  # median over repetitions of the slowest rank's time, seconds


COLUMNS = (*(field.name for field in fields(CampaignPoint)), "allocation", "positions", "time_s")


def campaign_points(
    nodes: Sequence[int],
    processes: Sequence[int],
    messages: Sequence[int] = NUM_MESSAGES,
    sizes: Sequence[int] = SIZES_BYTES,
) -> tuple[CampaignPoint, ...]:
    """All points, small ones first; without those on one node, which use no network.

    Raises ``ConfigError`` if that leaves none.
    """
    found = [
        CampaignPoint(n, ppn, m, size, pattern)
        for n, ppn, m, size, pattern in product(nodes, processes, messages, sizes, get_args(Pattern))
        if n >= _LEAST_NODES
    ]
    if not found:
        raise ConfigError(
            f"expected {_LEAST_NODES} or more nodes, for a node alone uses no network, found "
            f"{', '.join(map(str, nodes))}",
            where="--nodes",
        )
    return tuple(sorted(found))


def pattern_of(point: CampaignPoint) -> ExchangePattern:
    """Who sends to whom, the same on all ranks."""
    ranks = point.num_nodes * point.ranks_per_node
    if point.pattern == "shift":
        return shifts(ranks, point.num_messages, point.ranks_per_node)
    return random_rings(ranks, point.num_messages, ranks + point.num_messages)


def measure_points(
    world: MpiCommunicator,
    node: Sequence[int],
    positions: Sequence[int],
    points: Sequence[CampaignPoint],
    allocation: str,
    keep: Callable[[MeasuredPhase], None],
) -> None:
    """Measure points on a communicator; ``keep`` is called on rank 0 as soon as one is done.

    ``node``: that of every rank, 0 ... N - 1; ``positions``: place of each node in the network. Points that
    need more nodes or processes than there are, are left out.

    Raises ``MachineModelError`` if that leaves none of the points.
    """
    layout = np.asarray(node)
    slot = np.array([int((layout[:r] == layout[r]).sum()) for r in range(len(layout))])
    full = np.bincount(layout)
    fitting = [
        p for p in points if p.num_nodes <= len(full) and p.ranks_per_node <= full[: p.num_nodes].min()
    ]
    if points and not fitting:
        raise MachineModelError(
            f"expected a point for the hosts of this job, {len(full)} with {full.min()} processes each, "
            f"found the least to be {points[0].num_nodes} with {points[0].ranks_per_node}",
            where="campaign",
            hint="start it on more hosts (mpiexec, srun), or choose --nodes and --ppn that it has",
        )
    for n, ppn in sorted({(p.num_nodes, p.ranks_per_node) for p in fitting}):
        members = (layout < n) & (slot < ppn)
        # Ranks of a node stay together: blocks.
        group = world.split(bool(members[world.rank]))
        if group is None:
            continue
        for point in (p for p in fitting if (p.num_nodes, p.ranks_per_node) == (n, ppn)):
            times_s = pattern_times(group, pattern_of(point), point.message_bytes, _REPETITIONS)
            slowest = group.gather(times_s)
            if group.rank == 0:
                time_s = float(np.median(slowest.max(axis=0)))
                keep(MeasuredPhase(point, allocation, tuple(positions[:n]), time_s))


def append_point(path: Path, found: MeasuredPhase) -> None:
    """Add a line to the table, with its header where it is new."""
    place = " ".join(map(str, found.positions))
    lines = [(*astuple(found.point), found.allocation, place, f"{found.time_s:.9e}")]
    if not path.exists() or not path.stat().st_size:
        lines.insert(0, COLUMNS)
    with path.open("a", encoding="utf-8", newline="") as stream:
        stream.write(csv_text(lines))


def read_points(path: Path) -> tuple[MeasuredPhase, ...]:
    """Points of a table; a last line that was cut off is left out.

    Raises ``MachineModelError`` if it cannot be read, columns are missing, or a cell cannot be read.
    """
    with reading(path, "a table of a campaign", error=MachineModelError):
        lines = read_csv(path)
    header = lines[0] if lines else []
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise MachineModelError(
            f"expected the columns {', '.join(COLUMNS)}, found no {', '.join(missing)}",
            where=str(path),
            hint="commanalyzer machine measure --campaign writes such a table",
        )
    return tuple(_points(lines, header, path))


def _points(lines: Sequence[Sequence[str]], header: Sequence[str], path: Path) -> Iterator[MeasuredPhase]:
    for number, line in enumerate(lines[1:], start=2):
        cells = dict(zip(header, line, strict=False))
        try:
            pattern = get_args(Pattern)[get_args(Pattern).index(cells["pattern"])]
            whole = [int(cells[name]) for name in COLUMNS[:4]]
            positions = tuple(int(word) for word in cells["positions"].split())
            time_s = float(cells["time_s"])
            if min(whole) < 1 or len(positions) != whole[0] or not 0.0 < time_s < float("inf"):
                raise ValueError("a number out of range")
        except (KeyError, ValueError) as error:
            if number == len(lines):
                return  # a job that was killed in the middle of a line
            raise MachineModelError(
                f"expected a measured point, found {', '.join(line)!r}: {error}", where=f"{path}:{number}"
            ) from error
        point = CampaignPoint(whole[0], whole[1], whole[2], whole[3], pattern)
        yield MeasuredPhase(point, cells["allocation"], positions, time_s)


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
    comm: MpiCommunicator,
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
            known = read_points(table) if table.exists() and table.stat().st_size else ()
            measured = {found.point for found in known if found.allocation == allocation}
            missing = json.dumps([k for k, point in enumerate(points) if point not in measured])
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
