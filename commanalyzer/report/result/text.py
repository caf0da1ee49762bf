"""A result as text for a terminal: tables that fit its width, no colour where there is no terminal.

How far the best divisions can be trusted, and what a programmer can do about the communication, in words;
a counted MPI run.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import TextIO

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.communication.matrix import CallCounts, Communication, CountedRun
from commanalyzer.division.selection import cheapest_regular, headline
from commanalyzer.foundation.quantities import (
    format_bandwidth,
    format_bytes,
    format_count,
    format_percent,
    format_seconds,
    format_throughput,
    format_work,
)
from commanalyzer.foundation.work import DEFAULT_WEIGHTS, WorkCounts, WorkUnit
from commanalyzer.graph.value_graph import HomeKind, HomeObject
from commanalyzer.report.tables import (
    PLAIN,
    Field,
    TableLook,
    across,
    numeric,
    print_lines,
    terminal_table,
    worded,
)
from commanalyzer.result.confidence import Confidence, confidence_of
from commanalyzer.result.results import AnalysisResult, Decomposition

LARGEST_PRINTED = 8


def matrix_lines(communication: Communication, *, full: bool = False) -> list[str]:
    """Lines that show ``communication``; with ``full``, every entry even for many nodes."""
    if communication.num_parts <= LARGEST_PRINTED or full:
        return _entries(communication)
    return _summary(communication)


def _entries(communication: Communication) -> list[str]:
    amounts = communication.comm_bytes.tolist()
    cells = [[format_bytes(value) if value else "." for value in row] for row in amounts]
    return ["Sent from node (row) to node (column):", *entry_lines(cells)]


def entry_lines(cells: list[list[str]]) -> list[str]:
    """Lines of a square matrix with the numbers of its rows and columns."""
    nodes = [str(node) for node in range(len(cells))]
    width = max(len(cell) for row in (nodes, *cells) for cell in row)
    return [
        f"{name:>{max(4, len(nodes[-1]))}}  " + " ".join(f"{cell:>{width}}" for cell in row)
        for name, row in zip(("", *nodes), (nodes, *cells), strict=True)
    ]


def _summary(communication: Communication) -> list[str]:
    sent = communication.comm_bytes
    partners = np.count_nonzero(sent + sent.T, axis=1)
    rows, columns = sent.sum(axis=1), sent.sum(axis=0)
    p = communication.num_parts
    lines = [f"Who talks to whom on {p} nodes:"]
    low, middle, high = int(partners.min()), float(np.median(partners)), int(partners.max())
    lines.append(f"  partners per node  {low} to {high}, median {middle:g}")
    for name, amounts in (("sent per node", rows), ("received per node", columns)):
        top = int(np.argmax(amounts))
        mean = format_bytes(float(amounts.mean()))
        lines.append(f"  {name:<17}  mean {mean}, most {format_bytes(int(amounts[top]))} (node {top})")
    source, target = np.unravel_index(int(np.argmax(sent)), sent.shape)
    if sent.any():
        amount = format_bytes(int(sent[source, target]))
        lines.append(f"  largest pair       {amount} from node {source} to node {target}")
    return lines


_FACTS: TableLook = {**PLAIN, "show_header": False}
_FLUSH: TableLook = {**PLAIN, "pad_edge": False}
_WORTH_SAYING = 1.1


def advice_lines(candidates: list[Decomposition]) -> list[str]:
    """Sentences about all candidates of one node count and model, exactly one of them best."""
    best = next(d for d in candidates if d.best)
    lines = _comparison(candidates)
    bound = best.lower_bound_bytes
    if bound and best.comm_bytes:
        lines.append(
            f"Provable minimum on {best.nodes} nodes with equal work: {format_bytes(bound)} "
            f"(found: {best.comm_bytes / bound:.2f} times that; {best.bound_source})"
        )
    return lines


def _comparison(candidates: list[Decomposition]) -> list[str]:
    """Blocks against slabs; what is divided where the name of the division says it."""
    cheapest = cheapest_regular(candidates)
    if cheapest is None:
        return []
    lines = [f"Cheapest regular division: {cheapest.method}, {format_bytes(cheapest.comm_bytes)}"]
    slabs = [d for d in candidates if d.grid and sum(g > 1 for g in d.grid) <= 1 and d is not cheapest]
    for slab in sorted(slabs, key=lambda d: d.comm_bytes)[:1]:
        if slab.comm_bytes >= _WORTH_SAYING * max(cheapest.comm_bytes, 1):
            times = slab.comm_bytes / max(cheapest.comm_bytes, 1)
            more = f"{times:.1f} times" if cheapest.comm_bytes else format_bytes(slab.comm_bytes)
            lines.append(f"1D slabs ({slab.method}) move {more} more than {cheapest.method}")
    return lines


TITLE = "How the best divisions compare"
NOT_FOUND = "no balanced division found"


def confidence_fields() -> tuple[Field[Confidence], ...]:
    """Columns of a table with a line per node count."""
    return (
        numeric("nodes", lambda known: str(known.best.nodes)),
        worded("cheapest regular division", lambda known: _compared(known, known.regular)),
        worded("another method", lambda known: _compared(known, known.apart)),
        worded("provable minimum", _over_bound),
    )


def _over_bound(known: Confidence) -> str:
    return "not known" if known.times_bound is None else f"best is {known.times_bound:.2f} times it"


def _compared(known: Confidence, other: Decomposition | None) -> str:
    if other is None:
        return "none found"
    if other is known.best:
        return "is the best"
    far = "" if other.is_balanced else f", imbalance {other.imbalance:.2f}"
    return f"{other.method}: {difference(known.ratio(other), other)}{far}"


def difference(ratio: float, other: Decomposition) -> str:
    """How much another division sends beside the best, in words."""
    if not math.isfinite(ratio):
        return f"{format_bytes(other.comm_bytes)} where the best sends nothing"
    if ratio >= 2.0:
        return f"{ratio:.1f} times as much"
    return f"{100 * (ratio - 1):+.0f} %" if abs(ratio - 1) >= 0.005 else "as much"


_TOP_CALLS = 12


def show_counted(
    result: AnalysisResult, counted: CountedRun, console: Console, *, quiet: bool, every: bool
) -> None:
    """Print what was counted: only regions if ``quiet``; ``every`` call or those with the most bytes."""
    if not quiet:
        facts = {
            "counted": shlex.join(result.command),
            "ranks": str(counted.ranks),
            "MPI": counted.mpi or "unknown",
            "exit status": str(result.recording.exit_status or ""),
        }
        _show_facts(facts, console)
    console.print(_regions(result))
    if quiet:
        return
    console.print(_calls(counted, every))
    item = result.best(counted.ranks)
    print_lines(console, [f"{item.method}:"])
    print_lines(console, matrix_lines(item.communication), is_wide=True)


def _show_facts(facts: Mapping[str, str], console: Console) -> None:
    """Print what is known, a line each."""
    fields: tuple[Field[tuple[str, str]], ...] = (
        worded("", lambda fact: fact[0], no_wrap=True, style="bold"),
        worded("", lambda fact: fact[1]),
    )
    known = [fact for fact in facts.items() if fact[1]]
    console.print(terminal_table(known, fields, **_FACTS))
    console.print()


PARTS: tuple[Field[Decomposition], ...] = (
    worded("part of the run", lambda d: d.method),
    numeric("bytes", lambda d: format_bytes(d.comm_bytes)),
    numeric("exactly", lambda d: f"{d.comm_bytes:,}"),
    numeric("per rank", lambda d: format_bytes(d.comm_bytes / d.nodes)),
    numeric("messages", lambda d: format_count(d.communication.total_messages)),
)
PARTS_TITLE = "Counted communication between different ranks"
CALLS: tuple[Field[CallCounts], ...] = (
    worded("call", lambda call: call.name),
    worded("communicator", lambda call: call.communicator),
    worded("region", lambda call: "/".join(call.region)),
    numeric("root", lambda call: str(call.root) if call.root >= 0 else ""),
    numeric("calls", lambda call: format_count(call.operations)),
    numeric(
        "passed by ranks",
        lambda call: format_bytes(call.given_bytes),
        "count times datatype size, summed over ranks",
    ),
    numeric(
        "charged",
        lambda call: format_bytes(call.charged_bytes),
        "bytes between different ranks; collectives at their least volume",
    ),
    numeric(
        "to itself",
        lambda call: format_bytes(call.self_bytes) if call.self_bytes else "",
        "bytes that ranks send to themselves, in no matrix",
    ),
)


def _regions(result: AnalysisResult) -> Table:
    best = [d for d in result.decompositions if d.best and len(result.decompositions) > 1]
    part: Field[Decomposition] = worded(
        "part of the run", lambda d: f"{d.method} *" if d in best else d.method
    )
    return terminal_table(result.decompositions, (part, *PARTS[1:]), PARTS_TITLE)


def _calls(counted: CountedRun, every: bool) -> Table:
    shown = counted.calls if every else counted.calls[:_TOP_CALLS]
    more = f", {len(counted.calls) - len(shown)} more with --all" if len(shown) < len(counted.calls) else ""
    with_regions = any(call.region for call in counted.calls)
    fields = [field for field in CALLS if with_regions or field.name != "region"]
    return terminal_table(shown, fields, f"Calls; collectives at their least volume{more}")


def work_line(work: WorkCounts) -> str:
    """What was executed: W and its kinds of operations, loads, stores, instructions."""
    first = format_work(work.amount, work.unit)
    kinds = []
    if work.unit == "flop" and work.integer_ops:
        first += f", {format_count(work.integer_ops)} integer operations"
    elif work.unit == "op":
        kinds.append(f"{format_count(work.flops)} floating-point")
        kinds.append(f"{format_count(work.integer_ops)} integer")
        if work.weights.mem:
            kinds.append(f"{format_count(work.memory_ops)} accesses")
    if work.weights != DEFAULT_WEIGHTS:
        kinds.append(f"weights {work.weights}")
    if kinds:
        first += f" ({', '.join(kinds)})"
    return (
        f"{first}, {format_count(work.loads)} loads, {format_count(work.stores)} stores, "
        f"{format_count(work.instructions)} instructions"
    )


_LEAST_NAME = 16  # columns of an 80-column terminal that are left for the name


def exact_word(result: AnalysisResult) -> str:
    """What is said of bytes without doubt."""
    return "exact" if result.recording.is_complete else "of what is seen"


def show_candidates(items: Iterable[Decomposition], console: Console, exact: str = "exact") -> None:
    """Print ``items``; narrow enough for 80 columns, where long names are folded."""
    for (nodes, model), group in groupby(items, key=lambda d: (d.nodes, d.model)):
        found = list(group)
        first = headline(found)
        own = sorted(found, key=lambda d: (d is not first, d.comm_bytes))
        console.print(_table(nodes, model, own, exact))


def _table(nodes: int, model: str, items: list[Decomposition], exact: str) -> Table:
    title = (
        f"{nodes} {'node' if nodes == 1 else 'nodes'}, model {model}: {len(items)} candidates, * least found"
    )
    fields: list[Field[Decomposition]] = [
        worded("decomposition", lambda d: f"{d.method} *" if d.best else d.method, min_width=_LEAST_NAME),
        numeric("bytes", lambda d: format_bytes(d.comm_bytes), no_wrap=True),
        numeric("messages", lambda d: format_count(d.communication.total_messages), no_wrap=True),
        numeric("neighbours", lambda d: f"{d.neighbours.mean():.1f}/{d.neighbours.max()}", no_wrap=True),
        numeric("imbalance", lambda d: f"{d.imbalance:.3f}", no_wrap=True),
        numeric("bracket", lambda d: _excess(d, exact), no_wrap=True),
        numeric("found in", lambda d: format_seconds(d.seconds), no_wrap=True),
    ]
    if any(d.efficiency_bound is not None for d in items):
        fields.append(numeric("bound", _bound, no_wrap=True))
    return terminal_table(items, fields, title, **_FLUSH)


def _bound(item: Decomposition) -> str:
    return "" if item.efficiency_bound is None else format_percent(item.efficiency_bound)


def _excess(item: Decomposition, exact: str) -> str:
    """How much the upper end of the bracket is above the lower one."""
    low, high = item.communication.low_bytes, item.communication.high_bytes
    if low == high:
        return exact
    return f"+{format_percent((high - low) / low)}" if low else f"to {format_bytes(high)}"


_TOP_OBJECTS = 5
_METHOD_WIDTH = 24
ROOMY = 110  # characters that the table with all columns takes
_Row = tuple[Decomposition, str]  # with what is shown of its method
_BOUND = "efficiency bound"
_LEAST_FOUND = "least found"


def make_console(stream: TextIO, width: int | None = None) -> Console:
    """Console that writes to ``stream``; plain 132 columns wide text when it is not a terminal."""
    plain = not stream.isatty()
    return Console(file=stream, width=width or (132 if plain else None), highlight=False, soft_wrap=False)


def show_result(
    result: AnalysisResult, console: Console, *, quiet: bool = False, every: bool = False
) -> None:
    """Print ``result``; only the decompositions if ``quiet``; ``every`` candidate, or the best ones."""
    if result.counted is not None:
        show_counted(result, result.counted, console, quiet=quiet, every=every)
    else:
        _show_prediction(result, console, quiet, every)
    _show_remarks(result, console, quiet)


def _show_prediction(result: AnalysisResult, console: Console, quiet: bool, every: bool) -> None:
    if not quiet:
        _show_run(result, console)
    _show_decompositions(result, console, every)
    print_lines(console, (f"not tried {sentence}" for sentence in result.left_out if every))
    coarse = [d.coarse_vertices for d in result.decompositions if d.best]
    if any(coarse):
        console.print(coarse_line(max(coarse), is_all=all(coarse)))
    if not quiet and result.decompositions:
        _show_confidence(result, console)
        _show_largest(result, console)


def coarse_line(vertices: int, *, is_all: bool) -> str:
    """Sentence about divisions, all or some of those shown, that were found on a coarse graph."""
    which = "Divisions" if is_all else "Some divisions"
    where = f"on a coarse graph of {format_count(vertices)} vertices"
    return f"{which} were found {where}; bytes are counted on the full graph (--coarsen)."


def _show_run(result: AnalysisResult, console: Console) -> None:
    facts = {
        "program": shlex.join(result.command),
        "region": ", ".join(result.regions),
        "exit status": str(result.recording.exit_status or ""),
        "recording": recording_line(result),
        "work": work_line(result.work),
        "value graph": graph_line(result),
        "analysis": f"peak {format_bytes(result.peak_memory_bytes)}" if result.peak_memory_bytes else "",
        "singletons": singletons_line(result),
        "machine": _machine_line(result),
    }
    _show_facts(facts, console)


def singletons_line(result: AnalysisResult) -> str:
    """Values that the rules of the paper treat apart, where there are some."""
    counts = result.singletons
    if counts is None:
        return "not counted (--model hpdc18 counts them)" if result.decompositions else ""
    text = f"{counts.source} source, {counts.sink} sink, {counts.reduction} reduction (hpdc18)"
    return text if counts.total else ""


def graph_line(result: AnalysisResult) -> str:
    """How large the value graph is."""
    graph = result.store
    counts = map(format_count, (graph.num_vertices, graph.num_flows, graph.num_rows))
    size = "{} values, {} flows in {} chains, ".format(*counts) + format_bytes(graph.nbytes)
    return size + (f" ({format_bytes(graph.spilled_bytes)} in files)" if graph.spilled_bytes else "")


def recording_line(result: AnalysisResult) -> str:
    """What the recording cost: processor time, memory, disk."""
    recording = result.recording
    text = f"{format_seconds(recording.instrumented_s)} CPU"
    if recording.slowdown is not None and recording.native_s is not None:
        text += f" ({recording.slowdown:.1f} x the plain {format_seconds(recording.native_s)})"
    text += f", peak {format_bytes(recording.peak_rss_bytes)}"
    return f"{text}, {format_bytes(recording.spilled_bytes)} spilled" if recording.spilled_bytes else text


def _machine_line(result: AnalysisResult) -> str:
    machine = result.machine
    parts = [machine.name] if machine.name else []
    if machine.bandwidth is not None:
        parts.append(f"bandwidth {format_bandwidth(machine.bandwidth.value)} ({machine.bandwidth.source})")
    if machine.overlap is not None:
        parts.append(f"overlap {format_percent(machine.overlap.value)} ({machine.overlap.source})")
    if machine.throughput is not None:
        speed = format_throughput(machine.throughput.value, result.work.unit)
        parts.append(f"{speed} per node ({machine.throughput.source})")
    return ", ".join(parts)


def _show_decompositions(result: AnalysisResult, console: Console, every: bool) -> None:
    items = list(result.decompositions if every else result.shown())
    if not items:
        console.print("no decompositions")
        return
    if every:
        show_candidates(items, console, exact_word(result))
        return
    several_models = len(result.models) > 1
    with_bound = any(d.efficiency_bound is not None for d in items)
    rows, longest = list[_Row](), 0
    for item in items:
        is_written = item is result.decomposition(item.nodes, item.model)
        method = item.method if is_written else f"{_LEAST_FOUND} ({item.method})"
        longest = max(longest, len(method) + 2)
        if not item.is_balanced:
            rows.append((item, NOT_FOUND))
            method = f"(nearest: {method})"
        rows.append((item, method))
    is_wide = several_models and with_bound
    # A least width is added after all columns were made to fit: only where there is room for it.
    width = None if is_wide or console.width < ROOMY else min(longest, _METHOD_WIDTH)
    unit = result.work.unit
    left_out = _left_out(console.width, f"bytes/{unit}", is_wide)
    numbers = [*amount_fields(unit), numeric("bracket", lambda item: _bracket(item, exact_word(result)))]
    if with_bound:
        numbers.append(numeric(_BOUND, _bound))
    numbers = [field for field in numbers if field.name not in left_out]
    model: Field[_Row] = worded("model", lambda row: row[0].model)
    fields: tuple[Field[_Row], ...] = (
        numeric("nodes", lambda row: str(row[0].nodes)),
        *((model,) if several_models else ()),
        worded("decomposition", lambda row: row[1], min_width=width),
        *across(
            (field.name for field in numbers),
            lambda row, k: "-" if row[1] == NOT_FOUND else numbers[k].cell(row[0]),
        ),
    )
    console.print(terminal_table(rows, fields, f"Communication per node count, {extent(result)}"))
    if left_out:
        console.print(f"Left out here: {', '.join(left_out)} (--json, or a terminal of {ROOMY} columns).")


def _show_confidence(result: AnalysisResult, console: Console) -> None:
    """The best division of each node count beside what else is known, leading model."""
    known = [c for c in confidence_of(result.decompositions) if c.best.model == result.models[0]]
    if known:
        console.print(terminal_table(known, confidence_fields(), TITLE, **_FLUSH))
        console.print()


def extent(result: AnalysisResult) -> str:
    """Which part of the run the numbers are of."""
    return f"region {', '.join(result.regions)}" if result.regions else "whole analysed run"


def _left_out(width: int, intensity: str, is_wide: bool) -> tuple[str, ...]:
    """Columns that a narrow terminal has no room for; the JSON document has them all."""
    if width >= ROOMY:
        return ()
    return ("per node", intensity, "bracket") if is_wide else ("per node", intensity)


def amount_fields(unit: WorkUnit) -> tuple[Field[Decomposition], ...]:
    """Columns of what a decomposition sends, and how equal the work is."""
    return (
        numeric("bytes", lambda d: format_bytes(d.comm_bytes), "all bytes sent between nodes, C"),
        numeric("per node", lambda d: format_bytes(d.comm_bytes / d.nodes), "bytes / nodes"),
        numeric(
            "messages",
            lambda d: format_count(d.communication.total_messages),
            "all values of a pair of nodes and a round travel together",
        ),
        numeric(
            f"bytes/{unit}",
            lambda d: f"{d.intensity:.3g}" if math.isfinite(d.intensity) else "no work",
            "communication intensity C / W",
        ),
        numeric("imbalance", lambda d: f"{d.imbalance:.3f}", "work of the most loaded node over the mean"),
    )


def _bracket(item: Decomposition, exact: str) -> str:
    traffic = item.communication
    if traffic.low_bytes == traffic.high_bytes:
        return exact
    return f"{format_bytes(traffic.low_bytes)} - {format_bytes(traffic.high_bytes)}"


def _show_largest(result: AnalysisResult, console: Console) -> None:
    """Causes and matrix of the largest node count, leading model."""
    item = result.decomposition(result.nodes[-1])
    candidates = [d for d in result.decompositions if (d.nodes, d.model) == (item.nodes, item.model)]
    print_lines(console, [*object_lines(item, result.store.objects), *advice_lines(candidates), ""])
    print_lines(console, matrix_lines(item.communication), is_wide=True)


def largest_names(item: Decomposition, objects: tuple[HomeObject, ...]) -> list[str]:
    """Names of at most three variables in memory that cause most traffic."""
    order, total = np.argsort(-item.object_bytes, kind="stable").tolist(), int(item.object_bytes.sum())
    kinds = (HomeKind.GLOBAL, HomeKind.HEAP, HomeKind.STACK)
    large = (objects[i] for i in order if 20 * int(item.object_bytes[i]) > total)
    return list(dict.fromkeys(o.name for o in large if o.kind in kinds))[:3]


def object_lines(item: Decomposition, objects: tuple[HomeObject, ...]) -> list[str]:
    """The variables whose values cause the most traffic, one line each, the largest first."""
    amounts, total = dict.fromkeys(map(place_of_home, objects), 0), int(item.object_bytes.sum())
    for home, size in zip(objects, item.object_bytes.tolist(), strict=False):
        amounts[place_of_home(home)] += size  # what is inlined twice has one place
    shown = sorted(((k, size) for k, size in amounts.items() if size), key=lambda known: -known[1])
    if len(rest := [size for _, size in shown[_TOP_OBJECTS:]]) > 1:
        shown[_TOP_OBJECTS:] = [(f"{len(rest)} other variables", sum(rest))]
    rows = [f"  {format_bytes(size):>9}  {format_percent(size / total):>7}  {place}" for place, size in shown]
    return [f"What is communicated on {item.nodes} nodes:", *rows] if total else []


def place_of_home(home: HomeObject) -> str:
    """Variable with its function and line, as the source has them."""
    where = f" in {home.function}" if home.function else ""
    line = f" ({home.file}:{home.line})" if home.file and home.line else ""
    return f"{home.name}{where}{line}"


def remarks(result: AnalysisResult) -> list[str]:
    """Every reason for caution, one sentence each."""
    found, calls = list[str](), result.recording.unfollowed_calls
    if calls:
        named = ", ".join(f"{name} ({format_count(count)}x)" for name, count in calls[:8])
        more = f" and {len(calls) - 8} more" if len(calls) > 8 else ""
        found.append(
            f"values were not followed through these external functions: {named}{more}; --library-model can "
            "say what they do (docs/reference/library-model.md)"
        )
    if result.recording.dropped_events:
        found.append(f"{format_count(result.recording.dropped_events)} events could not be recorded")
    return [*found, *result.warnings]


def _show_remarks(result: AnalysisResult, console: Console, quiet: bool) -> None:
    for warning in remarks(result):
        console.print(Text(f"warning: {warning}", style="yellow"))
    said = result.counted is not None or any("no efficiency bound" in warning for warning in result.warnings)
    if not quiet and not said and not result.machine.is_complete:
        known = result.machine.parameters
        lacking = " and ".join(f"--{name}" for name in ("bandwidth", "throughput") if name not in known)
        console.print(Text(f"no efficiency bound: give {lacking}, or --machine FILE"))
