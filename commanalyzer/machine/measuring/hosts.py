"""Hosts that the ranks of a measurement run on, and what about them spoils the numbers."""

from __future__ import annotations

import math
import os
import re
import socket
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from commanalyzer.machine.placement import Placement, of_hosts

_BUSY_SHARE = 0.1
_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")


@dataclass(frozen=True, slots=True)
class RankPlace:
    """Where one rank runs."""

    host: str
    cpus: frozenset[int]  # hardware threads that it may use
    cores: frozenset[int]  # cores of these threads, each named by its first hardware thread
    host_cpus: int  # hardware threads of the host
    # Processes that ran on the host before the measurement (load average of the last minute)
    load: float = 0.0
    # Processors that a container or batch system grants at a time; the host's without a limit
    quota: float = math.inf

    def to_text(self) -> str:
        """Text that :meth:`from_text` reads, to be sent to the other ranks."""
        quota = min(self.quota, float(self.host_cpus))
        return msgspec.json.encode(replace(self, quota=quota)).decode()

    @staticmethod
    def from_text(text: str) -> RankPlace:
        """Place written by :meth:`to_text`."""
        return msgspec.json.decode(text, type=RankPlace)


@dataclass(frozen=True, slots=True)
class JobHosts:
    """Where all ranks run, in rank order."""

    places: tuple[RankPlace, ...]

    @property
    def placement(self) -> Placement:
        """Ranks on hosts."""
        return of_hosts([place.host for place in self.places])

    @property
    def num_hosts(self) -> int:
        """Distinct hosts."""
        return self.placement.num_nodes

    @property
    def most_ranks_per_host(self) -> int:
        """Ranks of the fullest host."""
        return self.placement.ranks_per_node

    @property
    def leaders(self) -> tuple[int, ...]:
        """First rank of each host."""
        return tuple(sorted(ranks[0] for ranks in self._by_host().values()))

    @property
    def is_oversubscribed(self) -> bool:
        """Some host has more ranks than cores, or processors granted, that they may use."""
        return any(len(ranks) > self._processors_for(ranks) for ranks in self._by_host().values())

    @property
    def is_pinned(self) -> bool:
        """No rank may wander over all of its host, and no two ranks share a hardware thread."""
        if any(len(p.cpus) == p.host_cpus > 1 for p in self.places):
            return False
        groups = self._by_host().values()
        return all(
            sum(len(self.places[r].cpus) for r in ranks)
            == len(frozenset[int]().union(*(self.places[r].cpus for r in ranks)))
            for ranks in groups
        )

    @property
    def is_busy(self) -> bool:
        """Some host had work of others: more than one process, and more than a tenth of its threads."""
        return any(p.load > max(1.0, _BUSY_SHARE * p.host_cpus) for p in self.places)

    @property
    def flags(self) -> tuple[str, ...]:
        """The same as :meth:`remarks` in a few words, for the note of every parameter."""
        return tuple(flag for flag, _ in self._spoilt() if flag)

    def remarks(self) -> tuple[str, ...]:
        """What a reader of the numbers must know, one sentence each."""
        return tuple(sentence for _, sentence in self._spoilt())

    def _spoilt(self) -> Iterator[tuple[str, str]]:
        if self.num_hosts == 1:
            yield "one host", "all ranks share one host: this is its memory, not a network"
        elif self.most_ranks_per_host > 1:
            yield "", f"up to {self.most_ranks_per_host} ranks per host: one of each host was measured"
        if self.is_oversubscribed:
            yield "oversubscribed", "oversubscribed, more ranks than cores: times include waiting for a core"
        if not self.is_pinned:
            yield (
                "not pinned",
                "ranks are not pinned to cores of their own: times scatter more than they need to",
            )
        if self.is_busy:
            yield "busy", "other processes were running: measure again on idle hosts"

    def _by_host(self) -> dict[str, list[int]]:
        ranks: dict[str, list[int]] = defaultdict(list)
        for rank, place in enumerate(self.places):
            ranks[place.host].append(rank)
        return ranks

    def _processors_for(self, ranks: Sequence[int]) -> float:
        """Cores that ranks of one host may use together, as far as they are granted at a time."""
        places = [self.places[rank] for rank in ranks]
        cores = frozenset[int]().union(*(place.cores for place in places))
        return min(len(cores), *(place.quota for place in places))


def this_place() -> RankPlace:
    """Where this process runs."""
    cpus = frozenset(os.sched_getaffinity(0))
    cores = frozenset(_first_sibling(cpu) for cpu in cpus)
    host_cpus = os.cpu_count() or len(cpus)
    quota = min(granted_processors(_CPU_MAX), float(host_cpus))
    return RankPlace(socket.gethostname(), cpus, cores, host_cpus, os.getloadavg()[0], quota)


def granted_processors(limit: Path) -> float:
    """Processors that a control group grants at a time, unlimited where the file does not say.

    ``limit`` is its file ``cpu.max``: microseconds of processor time (or ``max``) per period, both in the
    file.
    """
    try:
        granted, period = limit.read_text().split()
        return float(granted) / float(period)
    except (OSError, ValueError):
        return math.inf


def _first_sibling(cpu: int) -> int:
    """First hardware thread of the core of ``cpu``; ``cpu`` itself where the system does not tell."""
    siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    try:
        match = re.match(r"\d+", siblings.read_text())
    except OSError:
        return cpu
    return int(match.group()) if match else cpu
