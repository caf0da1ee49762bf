"""One measurement of a machine: hosts, raw timings, parameters and where they come from."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from commanalyzer.foundation.progress import Progress
from commanalyzer.foundation.version import tool_version
from commanalyzer.machine.measuring.campaign import MeasurementPlan, measure_network
from commanalyzer.machine.measuring.communicator import Communicator
from commanalyzer.machine.measuring.estimate import estimate_network
from commanalyzer.machine.measuring.hosts import JobHosts, RankPlace, this_place
from commanalyzer.machine.measuring.samples import Series
from commanalyzer.machine.parameters import MachineParameters

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured.

    Attributes:
        machine: Parameters of the network.
        series: Raw timings.
        remarks: What a reader of the numbers must know, one sentence each.
        provenance: Library, hosts, settings, version.
    """

    machine: MachineParameters
    series: tuple[Series, ...]
    remarks: tuple[str, ...]
    provenance: Mapping[str, object]


def measure_machine(
    world: Communicator[R], library: str, plan: MeasurementPlan, name: str, progress: Progress
) -> Measurement | None:
    """The measured network on rank 0, ``None`` on the other ranks.

    With several hosts, the first rank of each takes part: the parameters are those of nodes.

    Args:
        world: All ranks, at least 2.
        library: Version line of the message-passing library.
        plan: How much to measure.
        name: What to call the machine.
        progress: Told of every stage.
    """
    texts = world.gather_texts(this_place().to_text())
    hosts = JobHosts(tuple(RankPlace.from_text(text) for text in texts))
    group = world if hosts.num_hosts == 1 else world.split(world.rank in hosts.leaders)
    if group is None:
        return None
    series = measure_network(group, plan, progress)
    if world.rank != 0:
        return None
    today = datetime.datetime.now(datetime.UTC)
    date = today.date().isoformat()
    machine, remarks = estimate_network(series, name=name, date=date, flags=hosts.flags)
    remarks = (*hosts.remarks(), *remarks)
    return Measurement(machine, series, remarks, _provenance(hosts, library, plan, today, remarks))


def _provenance(
    hosts: JobHosts,
    library: str,
    plan: MeasurementPlan,
    today: datetime.datetime,
    remarks: tuple[str, ...],
) -> dict[str, object]:
    first = hosts.places[0]
    return {
        "tool_version": tool_version(),
        "created": today.isoformat(timespec="seconds"),
        "library": library,
        "ranks": len(hosts.places),
        "hosts": hosts.num_hosts,
        "most_ranks_per_host": hosts.most_ranks_per_host,
        "hardware_threads_per_host": first.host_cpus,
        "cores_per_rank": len(first.cores),
        "is_pinned": hosts.is_pinned,
        "is_oversubscribed": hosts.is_oversubscribed,
        "is_busy": hosts.is_busy,
        "seed": plan.seed,
        "most_repetitions": plan.num_repetitions,
        "most_messages": plan.num_messages,
        "remarks": list(remarks),
    }
