"""Profiles, classes and extrapolation as text for a terminal, and extrapolation as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from commanalyzer.foundation.documents import document_text
from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent
from commanalyzer.profiles.classification.classes import Classes, RankGroup, RunClasses
from commanalyzer.profiles.extrapolation.models import (
    CDF,
    END,
    LARGEST,
    Accuracy,
    GridCount,
    MetricModel,
    Part,
)
from commanalyzer.profiles.extrapolation.passes import Made
from commanalyzer.profiles.extrapolation.profiles import ExtrapolatedRun
from commanalyzer.profiles.metrics import metrics_of
from commanalyzer.profiles.values import GROUPS, Exchange, Profile, RankProfile
from commanalyzer.report.result.json_document import picked
from commanalyzer.report.tables import Field, across, numeric, print_lines, terminal_table, worded
from commanalyzer.scaling.laws.formula import formula_text
from commanalyzer.scaling.laws.law import Formula, Law

_SHOWN = ("F0load", "F0store", "F0addr", "F0int", "F0fp", "F0control", "F0vector", "F0other")
_CACHES = ((32 << 10, "32 KiB"), (1 << 20, "1 MiB"), (32 << 20, "32 MiB"))
_MOST_RANKS = 32


def show_profile(profile: Profile, console: Console, *, quiet: bool = False) -> None:
    """Print the metrics of a sequential profile, or a table of the ranks of a division."""
    if len(profile.ranks) == 1:
        _show_rank(profile.ranks[0], console)
    else:
        _show_ranks(profile, console)
    print_lines(console, (f"note: {remark}" for remark in profile.remarks if not quiet))


def _show_rank(rank: RankProfile, console: Console) -> None:
    found = metrics_of(rank, 1)
    rows = [("instructions", format_count(int(rank.mix.instructions)))]
    for name in _SHOWN:
        if share := float(found.mixes[name].sum()):
            meaning = name.removeprefix("F0") if name in GROUPS else name
            rows.append((f"  {name} ({meaning})", format_percent(share)))
    for entry in rank.parallelism:
        window = f"window {entry.window}" if entry.window else "no window"
        spans = f"{entry.out_of_order.mean[0]:.2f}, in order {entry.in_order.mean[0]:.2f}"
        rows.append((f"instructions per cycle, {window}", spans))
    for reuse in rank.data_reuse:
        hits = [f"{name} {format_percent(reuse.at_most(size / reuse.line_bytes))}" for size, name in _CACHES]
        rows.append((f"hits of an LRU cache, lines of {reuse.line_bytes} bytes", ", ".join(hits)))
    rows.append(("memory touched", format_bytes(rank.footprint.data_bytes)))
    if rank.branches is not None:
        rows.append(("entropy of branches, bits", f"{rank.branches.last_entropy:.4f}"))
        rows.append(("best mispredictions", format_percent(rank.branches.best_misprediction)))
    rows.append(("registers read, written per instruction", _registers(rank)))
    fields: tuple[Field[tuple[str, str]], ...] = (
        worded("metric", lambda row: row[0]),
        numeric("value", lambda row: row[1]),
    )
    console.print(terminal_table(rows, fields, show_header=False))


def _registers(rank: RankProfile) -> str:
    total = max(rank.mix.instructions, 1.0)
    return f"{rank.register_reads / total:.2f}, {rank.register_writes / total:.2f}"


def _show_ranks(profile: Profile, console: Console) -> None:
    def of(form: Callable[[Exchange], str]) -> Callable[[RankProfile], str]:
        return lambda rank: form(rank.exchange) if rank.exchange else ""

    fields: tuple[Field[RankProfile], ...] = (
        numeric("rank", lambda rank: str(rank.process_id)),
        numeric("instructions", lambda rank: format_count(int(rank.mix.instructions))),
        numeric("memory", lambda rank: format_bytes(rank.footprint.data_bytes)),
        numeric("sent", of(lambda exchange: format_bytes(exchange.sent_bytes))),
        numeric("received", of(lambda exchange: format_bytes(exchange.received_bytes.sum()))),
        numeric("messages", of(lambda exchange: format_count(int(exchange.sent_messages)))),
        numeric("from", of(lambda exchange: str(len(exchange.source)))),
    )
    console.print(terminal_table(profile.ranks[:_MOST_RANKS], fields))
    if len(profile.ranks) > _MOST_RANKS:
        console.print(Text(f"and {len(profile.ranks) - _MOST_RANKS} more ranks"))


SCHEMA = "commanalyzer.extrapolation/1"
_EXTRAPOLATION_MOST_RANKS = 8
_MOST_GROUPS = 30


def scale_text(scale: RunClasses | ExtrapolatedRun) -> str:
    """``n = 64, p = 8``."""
    return ", ".join(f"{name} = {value:g}" for name, value in sorted(scale.scale.items()))


def show_classes(classes: Classes, console: Console, *, quiet: bool = False) -> None:
    """Print a table of runs and classes; unless ``quiet``, the communication groups of the last run."""

    def members(run: RunClasses, number: int) -> str:
        return _ranks([run.threads[i][0] for i in run.members(number).tolist()])

    topology: Field[RunClasses] = worded("pattern", lambda run: run.topology, no_wrap=True)
    fields: tuple[Field[RunClasses], ...] = (
        worded("run", scale_text),
        *((topology,) if any(run.topology for run in classes.runs) else ()),
        *across(classes.names, members),
    )
    console.print(terminal_table(classes.runs, fields))
    if quiet:
        return
    for number, name in enumerate(classes.names):
        present = [len(run.members(number)) > 0 for run in classes.runs]
        if not all(present):
            missing = f"class {name} is missing in {present.count(False)} of {len(present)} runs"
            console.print(Text(f"{missing}: its models see the others only"))
    groups = classes.runs[-1].groups
    if groups:
        more = [f"and {len(groups) - _MOST_GROUPS} more"] if len(groups) > _MOST_GROUPS else []
        shown = [*map(group_text, groups[:_MOST_GROUPS]), *more]
        print_lines(console, [f"groups of {scale_text(classes.runs[-1])}:", *(f"  {line}" for line in shown)])


def group_text(group: RankGroup) -> str:
    """``from rank 6: 3 times 1, 2 times 5; receives from +1, +5``."""
    shape = ", ".join(f"{n} ranks {stride} apart" for stride, n in group.dimensions) or "alone"
    sources = ", ".join(f"rank {s.relative}" if s.is_absolute else f"+{s.relative}" for s in group.sources)
    return f"from rank {group.start}: {shape}; receives from {sources or 'nobody'}"


def _ranks(ranks: Sequence[int]) -> str:
    shown = " ".join(map(str, ranks[:_EXTRAPOLATION_MOST_RANKS]))
    more = f" ... ({len(ranks)})" if len(ranks) > _EXTRAPOLATION_MOST_RANKS else ""
    return shown + more or "-"


def show_extrapolation(
    made: Made, runs: Sequence[ExtrapolatedRun], console: Console, *, quiet: bool = False
) -> None:
    """Print the models with their accuracy (only those to be inspected if ``quiet``), and predictions."""
    shown = [a for a in made.accuracy if a.flags or not quiet]
    table = terminal_table(shown, accuracy_fields(made))
    if shown:
        console.print(table)
    flagged = sum(1 for a in made.accuracy if a.flags)
    console.print(Text(f"{len(made.accuracy)} models, {flagged} to be inspected"))
    for run in runs:
        console.print(Text(f"{run.application} at {scale_text(run)}"))
        console.print(terminal_table(predicted_metrics(run), prediction_fields(run, "...")))
        print_lines(console, (f"note: {remark}" for remark in run.remarks))


def accuracy_fields(made: Made) -> tuple[Field[Accuracy], ...]:
    """Columns of models with their accuracy."""
    models = {c.name: c.models for c in made.models.classes}

    def own(a: Accuracy) -> MetricModel:
        return models[a.class_name][a.metric]

    return (
        worded("class", lambda a: a.class_name),
        worded("metric", lambda a: a.metric),
        worded("type", lambda a: own(a).setup.type, "what is modelled; Percentage: the product with LSys"),
        worded("model", lambda a: own(a).setup.model),
        worded("terms", lambda a: model_text(own(a).parts)),
        numeric(
            "R2",
            lambda a: f"{a.r2:.3f}",
            "coefficient of determination of the metric in the training runs",
            no_wrap=True,
        ),
        numeric(
            "training",
            lambda a: error_text(a.train, own(a).setup.type),
            "mean relative error; abs: mean difference of a function's values",
            no_wrap=True,
        ),
        numeric(
            "test", lambda a: error_text(a.test, own(a).setup.type), "likewise, in test runs", no_wrap=True
        ),
        worded("inspect", lambda a: "; ".join(a.flags), "why this model should be looked at", style="bold"),
    )


def predicted_metrics(run: ExtrapolatedRun) -> list[str]:
    """Names of metrics of any class."""
    return list(dict.fromkeys(name for own in run.classes for name in own.metrics if name != "NThreads"))


def prediction_fields(run: ExtrapolatedRun, to: str) -> tuple[Field[str], ...]:
    """Columns of a table with a line per metric; ``to`` stands between the ends of a band."""

    def band(metric: str, number: int) -> str:
        found = run.classes[number].metrics.get(metric)
        return "" if found is None else f"{found[0]:.5g} ({found[1]:.4g} {to} {found[2]:.4g})"

    heads = [f"{own.class_name} x {own.threads:g}" for own in run.classes]
    return (worded("metric", str), *across(heads, band))


def error_text(error: float, kind: str) -> str:
    """Relative errors as percentages, those of functions as they are."""
    if math.isnan(error):
        return ""
    return f"{error:.3f} abs" if kind == "memFunction" else f"{100 * error:.2f} %"


def model_text(parts: Mapping[str, Part]) -> str:
    """Formula of a metric; of several components, how many there are and the first one."""
    if not parts:
        return "always 0"
    if CDF in parts:
        return f"max: {_part_text(parts[LARGEST])}; values: {_part_text(parts[CDF])}"
    if END in parts:
        middle = list(parts)[len(parts) // 2]
        return f"end: {_part_text(parts[END])}; {middle}: {_part_text(parts[middle])}"
    first = next(iter(parts))
    text = _part_text(parts[first])
    return text if len(parts) == 1 else f"{len(parts)} parts; {first}: {text}"


def _part_text(part: Part) -> str:
    if isinstance(part, Law):
        return formula_text(part.formula, part.parameters)
    if isinstance(part, GridCount):
        return f"places on the most cubic {part.dimensions}-D grid of {part.parameter} ranks"
    terms = [formula_text(Formula("terms", (term,), (1.0,)), part.parameters) for term in part.terms]
    return f"{part.kind} of {', '.join(terms)}"


def extrapolation_json(made: Made, runs: Sequence[ExtrapolatedRun]) -> str:
    """Document of models, their accuracy and predictions."""
    models = made.models
    content = {
        "schema": SCHEMA,
        **picked(models, "application parameters"),
        "classes": [c.name for c in models.classes],
        "method": made.classes.method,
        "models": [_accuracy(a, made) for a in made.accuracy],
        "predictions": [_prediction(run) for run in runs],
    }
    return document_text(content)


def _accuracy(a: Accuracy, made: Made) -> dict[str, object]:
    own = next(c for c in made.models.classes if c.name == a.class_name).models[a.metric]
    return {
        "class": a.class_name,
        "metric": a.metric,
        **picked(own.setup, "type model"),
        "terms": model_text(own.parts),
        **picked(a, "r2 train"),
        "test": None if math.isnan(a.test) else a.test,
        "flags": a.flags,
    }


def _prediction(run: ExtrapolatedRun) -> dict[str, object]:
    return {
        **picked(run, "scale remarks"),
        "classes": [
            {
                "class": own.class_name,
                "threads": own.threads,
                "metrics": {
                    name: {"value": value, "low": low, "high": high}
                    for name, (value, low, high) in own.metrics.items()
                },
            }
            for own in run.classes
        ],
    }
