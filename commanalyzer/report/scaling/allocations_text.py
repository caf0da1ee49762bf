"""Allocations as text for a terminal, and as a JSON document."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.documents import document_text, number, parse_json, reading, typed
from commanalyzer.foundation.quantities import format_bytes, format_percent, format_seconds
from commanalyzer.report.result.json_document import or_null, picked
from commanalyzer.report.tables import Field, numeric, print_lines, terminal_table, worded
from commanalyzer.scaling.allocations.advice import AllocationReport
from commanalyzer.scaling.allocations.decisions import AllocationLimits, Configurations, sbatch_lines
from commanalyzer.scaling.laws.terms import Floats

SCHEMA = "commanalyzer.allocations/1"
_FLOATS = ("compute_s", "comm_s", "node_bytes")
_WHOLE = ("nodes", "processes")
_FLAGS = ("is_beyond", "is_clamped", "is_memory_bound")


def show_allocations(report: AllocationReport, console: Console, *, every: bool = False) -> None:
    """Print the front (or all configurations), what to ask for, and lines for Slurm."""
    found, decision = report.found, report.decision
    console.print(
        Text(f"{report.program} on {report.machine or 'the machine'}, communication by {report.model}")
    )
    shown = range(len(found.nodes)) if every else decision.front
    console.print(_table(report, list(shown), every=every))
    lines = decision_lines(report)
    if decision.fastest is not None:
        lines += ["\nFor the fastest (half as much time again as predicted):"]
        lines += sbatch_lines(found, decision.fastest)
        if decision.cheapest != decision.fastest and decision.cheapest is not None:
            lines += ["For the cheapest:", *sbatch_lines(found, decision.cheapest)]
        lines += ["For PBS and LSF, see --json (pbs, bsub)."]
    print_lines(console, lines)


def _table(report: AllocationReport, shown: Sequence[int], *, every: bool) -> Table:
    title = "All configurations (front: *)" if every else "Fewest cores for each time (Pareto front)"
    stars = set(report.decision.front if every else ())
    nodes: Field[int] = numeric("nodes", lambda k: f"{report.found.nodes[k]}{' *' if k in stars else ''}")
    return terminal_table(shown, (nodes, *configuration_fields(report)[1:]), title)


def configuration_fields(report: AllocationReport) -> tuple[Field[int], ...]:
    """Columns of configurations, which are numbered."""
    found, hours = report.found, report.found.core_hours(report.limits.cores_per_node)

    def known(form: Callable[[float], str], values: Floats) -> Callable[[int], str]:
        return lambda k: form(values[k]) if math.isfinite(values[k]) else "?"

    return (
        numeric("nodes", lambda k: str(found.nodes[k])),
        numeric("per node", lambda k: str(found.processes[k]), "processes per node"),
        numeric("cores", lambda k: str(found.cores[k])),
        numeric("compute", lambda k: format_seconds(found.compute_s[k])),
        numeric("communication", known(format_seconds, found.comm_s)),
        numeric("time", known(format_seconds, found.time_s)),
        numeric(
            "efficiency", known(format_percent, found.efficiency), "time of one process over cores times time"
        ),
        numeric("core-hours", lambda k: f"{hours[k]:.3g}"),
        worded("remarks", lambda k: ", ".join(remarks_of(report, k))),
    )


def remarks_of(report: AllocationReport, index: int) -> list[str]:
    """What to know about a configuration, a few words each."""
    found = report.found
    flags = {
        "beyond the data": found.is_beyond[index],
        "formula below 0": found.is_clamped[index],
        "memory-bound": found.is_memory_bound[index],
    }
    return [*(name for name, is_so in flags.items() if is_so), *(
        f"not allowed: {why}" for why in report.decision.reasons[index]
    )]  # fmt: skip


def decision_lines(report: AllocationReport) -> list[str]:
    """What to ask for, in words."""
    found, decision = report.found, report.decision
    memory = memory_line(found.node_bytes, report.limits.memory_bytes or math.inf)
    if decision.fastest is None or decision.cheapest is None:
        return ["No configuration keeps to the limits", memory]
    hours = found.core_hours(report.limits.cores_per_node)
    lines = [
        f"Fastest: {_name(found, decision.fastest)}, {format_seconds(found.time_s[decision.fastest])}",
        f"Fewest core-hours: {_name(found, decision.cheapest)}, {hours[decision.cheapest]:.4g} core-hours, "
        f"{format_seconds(found.time_s[decision.cheapest])}",
    ]
    wanted = format_percent(decision.least_efficiency)
    if decision.largest is None:
        lines.append(f"No configuration reaches an efficiency of {wanted}")
    else:
        lines.append(f"Largest with an efficiency of {wanted}: {_name(found, decision.largest)}")
    lines.append(memory)
    if decision.break_cores is not None:
        lines.append(f"Scalability breaks after {decision.break_cores} cores: more take longer")
    marked = {
        "beyond the data": "outside of the data of the model or of a law: extrapolated",
        "formula below 0": "the formula is negative there, its time was taken as 0: do not rely on it",
    }
    said = {word for k in range(len(found.nodes)) for word in remarks_of(report, k)}
    return [*lines, *(f"{word}: {meaning}" for word, meaning in marked.items() if word in said)]


def memory_line(node_bytes: Floats, limit_bytes: float) -> str:
    """What nodes need and have; an infinite limit is not known."""
    if np.isnan(node_bytes).any():
        return "Memory that a node needs: not known (neither measured nor given): it limits nothing"
    ends = " to ".join(dict.fromkeys(format_bytes(f(node_bytes)) for f in (np.min, np.max)))
    has = "not known, it limits nothing" if math.isinf(limit_bytes) else format_bytes(limit_bytes)
    return f"Memory that a node needs: {ends}; that the machine's nodes have: {has}"


def _name(found: Configurations, index: int) -> str:
    return f"{found.nodes[index]} x {found.processes[index]} (nodes x processes per node)"


def allocations_json(report: AllocationReport) -> str:
    """JSON text; NaN, which JSON has not, is null."""
    found, decision = report.found, report.decision
    names = (*_WHOLE, *_FLOATS, *_FLAGS, "cores", "time_s", "efficiency")
    content = {
        "schema": SCHEMA,
        **picked(report, "program machine model"),
        "serial_s": found.serial_s if math.isfinite(found.serial_s) else None,
        "configurations": {
            **{name: or_null(getattr(found, name)) for name in names},
            "core_hours": or_null(found.core_hours(report.limits.cores_per_node)),
            "not_allowed": decision.reasons,
        },
        "limits": report.limits,
        "decision": {name: value for name, value in asdict(decision).items() if name != "reasons"},
        **{
            key: () if decision.fastest is None else sbatch_lines(found, decision.fastest, system=name)
            for key, name in (("sbatch", "Slurm"), ("pbs", "PBS"), ("bsub", "LSF"))
        },
    }
    return document_text(content)


def load_allocations(path: Path) -> AllocationReport:
    """Report of :func:`allocations_json`; ``ArtifactError`` if missing, of another schema or damaged."""
    from commanalyzer.scaling.allocations.decisions import decide

    hint = "write one with: commanalyzer advise ... --allocations --json allocations.json"
    with reading(path, f"a document of schema {SCHEMA} that is not damaged", hint=hint):
        data = parse_json(path.read_text(encoding="utf-8"), is_finite=True, schema=SCHEMA)
        table = data["configurations"]
        serial_s = math.nan if data["serial_s"] is None else data["serial_s"]
        found = typed({**table, "serial_s": serial_s}, Configurations)
        shapes = {getattr(found, name).shape for name in (*_WHOLE, *_FLOATS, *_FLAGS)}
        if shapes != {(len(found.nodes),)} or not (found.cores > 0).all():
            raise ValueError("columns of one length, with nodes and processes above 0")
        limits = typed(data["limits"], AllocationLimits)
        decision = decide(found, limits, number(data["decision"]["least_efficiency"]))
    program, machine, model = (str(data.get(name, "")) for name in ("program", "machine", "model"))
    return AllocationReport(program, machine, model, found, limits, decision)
