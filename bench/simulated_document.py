"""The document of simulated clusters: rows, what they show, and how they were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from commanalyzer.foundation.quantities import format_bandwidth, format_seconds, format_throughput
from commanalyzer.machine.simulation.platforms import LinkParameters

ABOVE = 1.02
NEAR = 0.15
_COMMAND = "python -m bench.simulated"


@dataclass(frozen=True, slots=True)
class Row:
    """A workload on a platform; efficiencies as fractions.

    Attributes:
        setting: Machine and placement.
        workload: Program and arguments.
        platform: Topology.
        nodes: Node count.
        message_ratio: Mean message size of the MPI program's division over latency times bandwidth.
        bandwidth_share: Bandwidth of random matchings over that of a link.
        program: Efficiency of the simulated MPI program.
        replay_own: Efficiency of the replayed prediction for the division of the MPI program.
        replay_best: Efficiency of the replayed prediction for the best division found.
        expected: Eq. 4 with the bandwidth of random matchings: an estimate.
        paper_bound: Eq. 4 with the bandwidth of a link: the bound.
        found_bound: Latency-aware bound for the best of all divisions found.
        own_bound: Latency-aware bound for the division of the MPI program.
        binds: What limits the communication in it.
    """

    setting: str
    workload: str
    platform: str
    nodes: int
    message_ratio: float
    bandwidth_share: float
    program: float
    replay_own: float
    replay_best: float
    expected: float
    paper_bound: float
    found_bound: float
    own_bound: float
    binds: str

    @property
    def gap(self) -> float:
        """Latency-aware bound of the MPI program's division over its efficiency, less one."""
        return self.own_bound / self.program - 1.0


def document(
    rows: Sequence[Row],
    settings: Sequence[tuple[str, LinkParameters, str]],
    simulator: str,
    platform_nodes: int,
) -> str:
    """Markdown text."""
    lines = [*_head(simulator, platform_nodes), *_settings(settings), *_summary(rows)]
    for name, _, _ in settings:
        lines += ["", f"## {name[:1].upper()}{name[1:]}", "", *_table([r for r in rows if r.setting == name])]
    return "\n".join(lines) + "\n"


_TEXT = """# Simulated clusters

Made by `{command}` with {simulator}. Deterministic.

Four networks of {nodes} nodes (`commanalyzer simulate --platform star`, `fat-tree`, `torus`, `dragonfly`) run

* *MPI*: the MPI counterpart of the workload, compiled with SimGrid's `smpicc` or `smpicxx`. It computes and
  communicates for real, its clock is simulated: after each exchange it is charged its share of the flops of
  the sequential main loop. It does not overlap communication and computation.
* *replay*: the prediction from the sequential program, replayed as rounds of messages: for the blocks that
  the MPI program has (*own*), and for the cheapest division found (*best*).

Beside them stands what `commanalyzer bound` says about the same program; throughput, latency and bandwidths
were measured on the simulated platform by replayed benchmarks:

* *bound (Eq. 4)*: the paper's Eq. 4 with the bandwidth of a link, for the division with the least
  bytes. A bound for every program that moves as many bytes, wherever its ranks are.
* *with latency*: the bound that also knows messages, latency, the busiest node and phases that wait for each
  other. It is one for a given division: for the blocks that the MPI program has (*own*), and the
  highest one of all divisions found (*found*).
* *random partners*: Eq. 4 with B_c measured as on a real machine, by 50 random matchings on the nodes in
  use. No bound but an estimate: what to expect of traffic between random nodes.

*Near*: ranks are placed so that bytes times links is small (`--placement near`); *random*: on random nodes,
as a batch system may do.
"""


def _head(simulator: str, platform_nodes: int) -> Iterator[str]:
    yield _TEXT.format(command=_COMMAND, simulator=simulator, nodes=platform_nodes)


def _settings(settings: Sequence[tuple[str, LinkParameters, str]]) -> Iterator[str]:
    yield "| machine | link | latency | node | placement |"
    yield "| --- | --- | --- | --- | --- |"
    for name, link, placement in settings:
        yield (
            f"| {name} | {format_bandwidth(link.bandwidth)} | {format_seconds(link.latency_s)} | "
            f"{format_throughput(link.throughput)} | {placement} |"
        )
    yield ""


_SUMMARY = (
    "machine",
    "rows",
    "largest MPI / bound (Eq. 4)",
    "above it by 2 %",
    "largest MPI / with latency (own)",
    "above it by 2 %",
    "with latency (own) / MPI: mean",
    "worst",
    "more than 15 % off",
    "largest MPI / with latency (found)",
    "replay (own) / MPI",
    "MPI above random partners by 2 %",
)


_READING = """
* The bound with latency (own) knows links and latency, not routes. On the star messages of different nodes
  share no link on their way. Elsewhere messages share links or take several steps, more so with random
  placement; the bound is that of the best placement (*near* is a heuristic).
* A step of hydro3d has three phases: forces go to the owners of nodes, positions and velocities back,
  gradients to neighbouring elements. The prediction finds them in the order of the sequential statements: the
  bound adds them up and the replay waits for each. The rest of the gap on large messages is mostly the
  reduction of the time step, which the bound counts as a tree that may overlap.
* Rows that are more than 15 % off have random placement, or latency binds: each step of a route adds to it,
  and reductions take longer than the tree of the bound.
* In every division found for hydro3d on 27 and 64 nodes the busiest node has more traffic than that of the
  MPI program (in blocks more than twice as much: one block owns all nodes on its surface). So the program may
  come above the bound with latency of those (*found*), which is none for divisions that were not found. Eq. 4
  takes the mean node.
* MPI is above *random partners* where its ranks are near their partners and the network is slower for others:
  that bandwidth is what random partners get, not the most that a program can get.
"""


def _summary(rows: Sequence[Row]) -> Iterator[str]:
    yield "## What it shows"
    yield ""
    yield f"| {' | '.join(_SUMMARY)} |"
    yield f"|{' --- |' * len(_SUMMARY)}"
    for name in dict.fromkeys(row.setting for row in rows):
        mine = [row for row in rows if row.setting == name]
        yield _summary_row(name, mine)
        for platform in dict.fromkeys(row.platform for row in mine):
            yield _summary_row(f"... on {platform}", [row for row in mine if row.platform == platform])
    yield _READING


def _summary_row(name: str, rows: Sequence[Row]) -> str:
    replays = [row.replay_own / row.program for row in rows]
    gaps = [row.gap for row in rows]
    cells = [
        name,
        str(len(rows)),
        *_exceeded([row.program / row.paper_bound for row in rows]),
        *_exceeded([row.program / row.own_bound for row in rows]),
        f"{1 + sum(gaps) / len(gaps):.3f}",
        f"{1 + max(gaps, key=abs):.3f}",
        str(sum(abs(gap) > NEAR for gap in gaps)),
        _exceeded([row.program / row.found_bound for row in rows])[0],
        f"{min(replays):.2f} to {max(replays):.2f}",
        _exceeded([row.program / row.expected for row in rows])[1],
    ]
    return f"| {' | '.join(cells)} |"


def _exceeded(shares: Sequence[float]) -> tuple[str, str]:
    """Largest share of a bound, and how many are above it."""
    return f"{max(shares):.3f}", str(sum(share > ABOVE for share in shares))


_COLUMNS = (
    "workload",
    "nodes",
    "network",
    "B_c / link",
    "message / (latency x link)",
    "MPI",
    "replay own",
    "replay best",
    "bound (Eq. 4)",
    "with latency, own",
    "MPI / with latency, own",
    "with latency, found",
    "random partners",
    "communication limited by",
)


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield f"| {' | '.join(_COLUMNS)} |"
    yield "| --- | ---: | --- |" + " ---: |" * (len(_COLUMNS) - 4) + " --- |"
    for row in rows:
        first = (row.program, row.replay_own, row.replay_best, row.paper_bound, row.own_bound)
        yield (
            f"| {row.workload} | {row.nodes} | {row.platform} | {row.bandwidth_share:.2f} | "
            f"{row.message_ratio:.1f} | {_percents(first)} | {row.program / row.own_bound:.3f} | "
            f"{_percents((row.found_bound, row.expected))} | {row.binds} |"
        )


def _percents(shares: Sequence[float]) -> str:
    return " | ".join(f"{100 * share:.1f} %" for share in shares)
