"""The document of simulated clusters: rows, what they show, and how they were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from commanalyzer.quantities import format_bandwidth, format_seconds, format_throughput
from commanalyzer.simulation.platforms import LinkParameters

LARGE_MESSAGES = 10.0  # times latency x bandwidth
ABOVE = 1.02
NEAR = 0.15
_COMMAND = "python -m tests.bench.simulated"


@dataclass(frozen=True, slots=True)
class Row:
    """A workload on a platform; efficiencies as fractions.

    Attributes:
        setting: Machine and placement.
        workload: Program and arguments.
        platform: Topology.
        nodes: Node count.
        message_ratio: Mean predicted message size over latency times bandwidth.
        bandwidth_share: Bandwidth of random matchings over that of a link.
        program: Efficiency of the simulated MPI program.
        replay: Efficiency of the replayed prediction.
        paper_bound: Eq. 4 with the bandwidth of random matchings.
        bound: Latency-aware bound.
        binds: What limits the communication in it.
    """

    setting: str
    workload: str
    platform: str
    nodes: int
    message_ratio: float
    bandwidth_share: float
    program: float
    replay: float
    paper_bound: float
    bound: float
    binds: str

    @property
    def is_large(self) -> bool:
        """Messages take much longer than the latency."""
        return self.message_ratio >= LARGE_MESSAGES

    @property
    def gap(self) -> float:
        """Latency-aware bound over the efficiency of the MPI program, less one."""
        return self.bound / self.program - 1.0


def document(
    rows: Sequence[Row],
    settings: Sequence[tuple[str, LinkParameters, bool]],
    simulator: str,
    platform_nodes: int,
) -> str:
    """Markdown text."""
    lines = [*_head(simulator, platform_nodes), *_settings(settings), *_summary(rows)]
    for name, _, _ in settings:
        lines += ["", f"## {name[:1].upper()}{name[1:]}", "", *_table([r for r in rows if r.setting == name])]
    return "\n".join(lines) + "\n"


def _head(simulator: str, platform_nodes: int) -> Iterator[str]:
    yield "# Simulated clusters"
    yield ""
    yield f"Made by `{_COMMAND}` with {simulator}. Deterministic; regenerate it after a change of the model."
    yield ""
    yield (
        f"On each of four networks of {platform_nodes} nodes (`commanalyzer simulate --platform star`, "
        "`fat-tree`, `torus`, `dragonfly`) the same machine runs"
    )
    yield ""
    yield (
        "* *MPI*: the MPI counterpart of the workload, compiled with SimGrid's `smpicc` or `smpicxx`. It "
        "computes and communicates for real; its clock is simulated. After each exchange it is charged its "
        "share of the flops of the sequential main loop."
    )
    yield (
        "* *replay*: the prediction, that is the cheapest decomposition found in the sequential program, "
        "replayed as rounds of messages (`commanalyzer simulate`)."
    )
    yield ""
    yield (
        "Beside them stand the bounds for the same program: *Eq. 4* of the paper and the bound *with "
        "latency*, for the best of all decompositions found. Their parameters were measured on the simulated "
        "platform by replayed benchmarks: throughput, latency between the first two nodes, bandwidth of a "
        "free link, and "
        "B_c of 50 random matchings on the nodes in use."
    )
    yield ""


def _settings(settings: Sequence[tuple[str, LinkParameters, bool]]) -> Iterator[str]:
    yield "| machine | link | latency | node | ranks on |"
    yield "| --- | --- | --- | --- | --- |"
    for name, link, is_shuffled in settings:
        where = "random nodes (seed 1)" if is_shuffled else "nodes in order"
        yield (
            f"| {name} | {format_bandwidth(link.bandwidth)} | {format_seconds(link.latency_s)} | "
            f"{format_throughput(link.throughput)} | {where} |"
        )
    yield ""


def _summary(rows: Sequence[Row]) -> Iterator[str]:
    yield "## What it shows"
    yield ""
    yield (
        "| machine | rows | MPI above Eq. 4 by more than 2 % | MPI above the bound with latency by more than "
        "2 % | highest MPI / bound with latency | large messages: rows | bound with latency above MPI, mean "
        "| worst | rows above 15 % |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for name in dict.fromkeys(row.setting for row in rows):
        yield _summary_row(name, [row for row in rows if row.setting == name])


def _summary_row(name: str, rows: Sequence[Row]) -> str:
    over_paper = sum(row.program > ABOVE * row.paper_bound for row in rows)
    over = sum(row.program > ABOVE * row.bound for row in rows)
    highest = max(row.program / row.bound for row in rows)
    large = [row for row in rows if row.is_large]
    gaps = [row.gap for row in large]
    cells = [name, str(len(rows)), str(over_paper), str(over), f"{highest:.3f}", str(len(large))]
    if gaps:
        far = sum(abs(gap) > NEAR for gap in gaps)
        cells += [f"{100 * sum(gaps) / len(gaps):.1f} %", f"{100 * max(gaps, key=abs):.1f} %", str(far)]
    else:
        cells += ["", "", ""]
    return f"| {' | '.join(cells)} |"


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield (
        "| workload | nodes | network | B_c / link | message / (latency x link) | MPI | replay | Eq. 4 | "
        "with latency | MPI / Eq. 4 | MPI / with latency | communication limited by |"
    )
    yield "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
    for row in rows:
        shares = (row.program, row.replay, row.paper_bound, row.bound)
        yield (
            f"| {row.workload} | {row.nodes} | {row.platform} | {row.bandwidth_share:.2f} | "
            f"{row.message_ratio:.1f} | {' | '.join(f'{100 * share:.1f} %' for share in shares)} | "
            f"{row.program / row.paper_bound:.3f} | {row.program / row.bound:.3f} | {row.binds} |"
        )
