"""Profiles as text for a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent
from commanalyzer.profiles.metrics import metrics_of
from commanalyzer.profiles.mix import GROUPS
from commanalyzer.profiles.values import Profile, RankProfile

_SHOWN = ("F0load", "F0store", "F0addr", "F0int", "F0fp", "F0control", "F0vector", "F0other")
_CACHES = ((32 << 10, "32 KiB"), (1 << 20, "1 MiB"), (32 << 20, "32 MiB"))
_MOST_RANKS = 32


def show_profile(profile: Profile, console: Console, *, quiet: bool = False) -> None:
    """Print the metrics of a sequential profile, or a table of the ranks of a division."""
    if len(profile.ranks) == 1:
        _show_rank(profile.ranks[0], console)
    else:
        _show_ranks(profile, console)
    for remark in () if quiet else profile.remarks:
        console.print(Text(f"note: {remark}"))


def _show_rank(rank: RankProfile, console: Console) -> None:
    table = Table(show_header=False)
    table.add_column("metric")
    table.add_column("value", justify="right")
    found = metrics_of(rank, 1)
    table.add_row("instructions", format_count(int(rank.mix.instructions)))
    for name in _SHOWN:
        share = float(found.mixes[name].sum())
        if share:
            table.add_row(f"  {name} ({_meaning(name)})", format_percent(share))
    for entry in rank.parallelism:
        window = f"window {entry.window}" if entry.window else "no window"
        spans = f"{entry.out_of_order.mean[0]:.2f}, in order {entry.in_order.mean[0]:.2f}"
        table.add_row(f"instructions per cycle, {window}", spans)
    for reuse in rank.data_reuse:
        hits = [f"{name} {format_percent(reuse.at_most(size / reuse.line_bytes))}" for size, name in _CACHES]
        table.add_row(f"hits of an LRU cache, lines of {reuse.line_bytes} bytes", ", ".join(hits))
    table.add_row("memory touched", format_bytes(rank.footprint.data_bytes))
    if rank.branches is not None:
        table.add_row("entropy of branches, bits", f"{rank.branches.last_entropy:.4f}")
        table.add_row("best mispredictions", format_percent(rank.branches.best_misprediction))
    table.add_row("registers read, written per instruction", _registers(rank))
    console.print(table)


def _meaning(name: str) -> str:
    return name.removeprefix("F0") if name in GROUPS else name


def _registers(rank: RankProfile) -> str:
    total = max(rank.mix.instructions, 1.0)
    return f"{rank.register_reads / total:.2f}, {rank.register_writes / total:.2f}"


def _show_ranks(profile: Profile, console: Console) -> None:
    table = Table()
    for name in ("rank", "instructions", "memory", "sent", "received", "messages", "from"):
        table.add_column(name, justify="right")
    for rank in profile.ranks[:_MOST_RANKS]:
        exchange = rank.exchange
        sent = (
            [format_bytes(exchange.sent_bytes), format_bytes(exchange.received_bytes.sum())]
            if exchange
            else []
        )
        counts = [format_count(int(exchange.sent_messages)), str(len(exchange.source))] if exchange else []
        table.add_row(
            str(rank.process_id),
            format_count(int(rank.mix.instructions)),
            format_bytes(rank.footprint.data_bytes),
            *(sent + counts or [""] * 4),
        )
    console.print(table)
    if len(profile.ranks) > _MOST_RANKS:
        console.print(Text(f"and {len(profile.ranks) - _MOST_RANKS} more ranks"))
