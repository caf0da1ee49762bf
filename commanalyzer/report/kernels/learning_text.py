"""Trained models, predictions, insight and overheads as text for a terminal, and as JSON."""

from __future__ import annotations

import math

from rich.console import Console
from rich.text import Text

from commanalyzer.foundation.documents import document_text
from commanalyzer.foundation.quantities import format_bytes, format_seconds
from commanalyzer.kernels.learning.inputs import Application
from commanalyzer.kernels.learning.model import Prediction, SpeedupErrors, TrainedModel
from commanalyzer.kernels.learning.range_benchmark import OverheadTable, PairOverhead
from commanalyzer.kernels.learning.runs import DEVICES
from commanalyzer.kernels.learning.training import Insight
from commanalyzer.report.html.chapters import TRAINING_SCHEMA
from commanalyzer.report.result.json_document import picked
from commanalyzer.report.tables import Field, across, numeric, print_lines, terminal_table, worded

PREDICTION_SCHEMA = "commanalyzer.speedups/1"
_RULES = {
    "mean": "Eq. 1, mean",
    "weighted": "Eq. 2, weighted",
    "printed": "Eq. 3 as printed",
    "penalty": "Eq. 3 with 1 - rho",
    "time": "times and bytes",
}


def show_model(model: TrainedModel, console: Console) -> None:
    """Print how a model was trained and how it does on kernels that it had not seen."""
    parameters = ", ".join(f"{name} {value}" for name, value in model.parameters.items())
    where = f" on {model.machine}" if model.machine else ""
    console.print(
        Text(f"{model.estimator.kind} of {model.num_runs} runs of {len(model.kernels)} kernels{where}")
    )
    console.print(Text(f"learned the {model.target}; {parameters}"))
    console.print(Text(f"kernels left out one by one: {errors_text(model.left_out)}"))
    low, high = (math.exp(e) for e in model.log_error)
    console.print(Text(f"9 of 10 measured speed-ups are {low:.2f} to {high:.2f} times the predicted one"))


def errors_text(errors: SpeedupErrors) -> str:
    """Errors in one line."""
    return f"MSE {errors.mse:.3g}, MSLE {errors.msle:.3g}, MAPE {errors.mape:.2f} %, R2 {errors.r2:.3f}"


def show_prediction(found: Prediction, application: Application | None, console: Console) -> None:
    """Print predicted curves, and those of the application."""
    devices = found.runs.of(DEVICES)

    def trees(i: int) -> str:
        is_none = math.isnan(found.tree_low[i])
        return "" if is_none else f"{found.tree_low[i]:.2f} to {found.tree_high[i]:.2f}"

    fields: tuple[Field[int], ...] = (
        worded("kernel", lambda i: str(found.runs.kernels[i]), no_wrap=True),
        numeric("devices", lambda i: f"{devices[i]:.0f}"),
        numeric("speed-up", lambda i: f"{found.speedups[i]:.2f}{' *' if found.outside[i] else ''}"),
        numeric("90 % of left-out runs", lambda i: f"{found.low[i]:.2f} to {found.high[i]:.2f}"),
        numeric("90 % of trees", trees),
    )
    console.print(terminal_table(range(len(devices)), fields))
    outside_all = dict.fromkeys(text for texts in found.outside for text in texts)
    if outside_all:
        head = "* outside of what the model was trained on; such predictions are guesses:"
        print_lines(console, (head, *(f"  {text}" for text in outside_all)))
    if application is not None:
        _show_application(application, console)


def _show_application(found: Application, console: Console) -> None:
    rows = [(_RULES[rule], [f"{v:.3g}" for v in values]) for rule, values in found.speedups.items()]
    if found.overheads is not None:
        rows.append(("largest rho", [f"{v:.3f}" for v in found.overheads]))
    fields: tuple[Field[tuple[str, list[str]]], ...] = (
        worded("rule", lambda row: row[0]),
        *across((f"p = {p}" for p in found.devices), lambda row, k: row[1][k]),
    )
    console.print(terminal_table(rows, fields, "application", title_justify="center"))
    shares = ", ".join(f"{n} {w:.3f}" for n, w in zip(found.tasks, found.shares, strict=True))
    console.print(Text(f"weights: {shares}"))
    if "printed" in found.speedups:
        console.print(
            Text("As printed, Eq. 3 gives 0 where nothing moves (rho = 0); 1 - rho is what its text says.")
        )


def prediction_json(found: Prediction, application: Application | None) -> str:
    """JSON text of predictions."""
    rows = zip(
        found.runs.kernels.tolist(),
        found.runs.of(DEVICES).tolist(),
        *(a.tolist() for a in (found.speedups, found.low, found.high, found.tree_low, found.tree_high)),
        found.outside,
        strict=True,
    )
    names = ("kernel", "devices", "speedup", "low", "high", "tree_low", "tree_high", "outside")
    points = [
        {n: None if isinstance(v, float) and math.isnan(v) else v for n, v in zip(names, row, strict=True)}
        for row in rows
    ]
    content: dict[str, object] = {"schema": PREDICTION_SCHEMA, "points": points}
    if application is not None:
        content["application"] = {
            **picked(application, "devices tasks"),
            "weights": application.shares,
            "speedups": application.speedups,
            "largest_rho": application.overheads,
        }
    return document_text(content)


def model_json(model: TrainedModel, insight: Insight | None) -> str:
    """JSON text of how a model was trained, and what the features tell."""
    content: dict[str, object] = {
        "schema": TRAINING_SCHEMA,
        "estimator": model.estimator.kind,
        **picked(model, "target parameters machine kernels"),
        "runs": model.num_runs,
        **picked(model, "left_out log_error"),
        "range": {
            name: [low, high]
            for name, low, high in zip(
                model.scaling.features, model.scaling.low.tolist(), model.scaling.high.tolist(), strict=True
            )
        },
        "versions": model.versions,
    }
    if insight is not None:
        content["insight"] = insight
    return document_text(content)


def show_insight(insight: Insight, console: Console) -> None:
    """Print clusters, ranking and ablation."""
    print_lines(console, (f"alike {k}: {', '.join(names)}" for k, names in enumerate(insight.clusters, 1)))
    scores = [(str(rank), item.name, item.score) for rank, item in enumerate(insight.ranking, 1)]
    fields: tuple[Field[tuple[str, str, float]], ...] = (
        worded("rank", lambda row: row[0]),
        worded("feature", lambda row: row[1]),
        worded("R2 with those before", lambda row: f"{row[2]:.4f}"),
    )
    rows = [*scores, ("", "all features", insight.full_score)]
    console.print(terminal_table(rows, fields, "features by greedy selection", title_justify="center"))
    print_lines(console, (f"features {name}: {errors_text(e)}" for name, e in insight.ablation.items()))


def show_overheads(table: OverheadTable, console: Console) -> None:
    """Print the overheads of range mappers, the largest first."""
    fields: tuple[Field[PairOverhead], ...] = (
        worded("write -> read", lambda p: f"{p.write} -> {p.read}"),
        numeric("nodes", lambda p: str(p.num_nodes)),
        numeric("moved", lambda p: format_bytes(p.moved_bytes)),
        numeric("moving", lambda p: format_seconds(p.moving_s)),
        numeric("adding", lambda p: format_seconds(p.adding_s)),
        numeric("rho", lambda p: f"{p.rho:.3f}"),
    )
    pairs = sorted(table.pairs, key=lambda p: (p.num_nodes, -p.rho))
    title = f"{table.machine}, {table.elements} x {table.elements} floats"
    console.print(terminal_table(pairs, fields, title, title_justify="center"))
