"""Pages of classes and of models: what an inspector of both looks at (Sections 5.2 and 8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from commanalyzer.profiles.classification.classes import Classes, RunClasses
from commanalyzer.profiles.classification.features import processes_of, run_metrics
from commanalyzer.profiles.extrapolation.accuracy import Accuracy
from commanalyzer.profiles.extrapolation.passes import Made
from commanalyzer.profiles.extrapolation.profiles import ExtrapolatedRun
from commanalyzer.profiles.values import Profile
from commanalyzer.report.figures.chart import Chart
from commanalyzer.report.html.blocks import (
    Block,
    Chapter,
    Column,
    Figures,
    Fold,
    Points,
    Row,
    Section,
    Table,
    Words,
)
from commanalyzer.report.html.page import Page
from commanalyzer.report.profiles.extrapolation_figures import (
    graph_chart,
    radar_chart,
    scatter_chart,
    trend_chart,
)
from commanalyzer.report.profiles.extrapolation_text import error_text, group_text, model_text, scale_text
from commanalyzer.scaling.laws.terms import Floats

_SPOKES = (
    "LSys",
    "F0mem",
    "F0fp",
    "F0int",
    "F0control",
    "ILP0",
    "H0branch",
    "MPIrecvBytes",
    "MPIrecvMessages",
)
_MOST_RUNS = 4
_MOST_PLOTTED = 6  # metrics of a class, those to be inspected first: hundreds of figures load slowly
_MOST_GRAPH = 64  # ranks: more are one grey disc


def classes_page(classes: Classes, profiles: Sequence[Profile]) -> Page:
    """Radar per class and communication graph, for some of the runs."""
    chapter = Chapter("classes", classes.application, _method(classes), _class_sections(classes, profiles))
    return Page(f"CommAnalyzer: classes of {classes.application}", (chapter,))


def extrapolation_page(made: Made, runs: Sequence[ExtrapolatedRun]) -> Page:
    """Models with their accuracy and plots, predictions, and the classes."""
    subtitle = f"{len(made.profiles)} training runs, parameters {', '.join(made.models.parameters)}"
    chapters = [
        Chapter(
            "models", made.models.application, subtitle, (_table(made), *_plots(made), *_predictions(runs))
        ),
        Chapter("classes", "Classes", _method(made.classes), _class_sections(made.classes, made.profiles)),
    ]
    return Page(f"CommAnalyzer: extrapolation of {made.models.application}", tuple(chapters))


def _method(classes: Classes) -> str:
    how = "regularity of communication" if classes.method == "pattern" else "clusters of all metrics"
    return f"{len(classes.names)} classes of threads by {how}"


def _class_sections(classes: Classes, profiles: Sequence[Profile]) -> tuple[Section, ...]:
    places = np.unique(np.linspace(0, len(profiles) - 1, min(_MOST_RUNS, len(profiles))).round().astype(int))
    return tuple(_run_section(classes, classes.runs[i], profiles[i], i) for i in places.tolist())


def _run_section(classes: Classes, run: RunClasses, profile: Profile, number: int) -> Section:
    labels, values = _radar_values(profile)
    charts = [
        radar_chart(f"radar-{number}-{c}", f"class {name}", labels, values[run.members(c)], c)
        for c, name in enumerate(classes.names)
        if len(run.members(c))
    ]
    if all(r.exchange is not None for r in profile.ranks) and 1 < processes_of(profile) <= _MOST_GRAPH:
        from commanalyzer.profiles.classification.classify import exchanged

        own = np.zeros(processes_of(profile), dtype=np.int64)
        own[[process for process, _ in run.threads]] = run.classes
        received = exchanged(profile)[0]
        charts.append(
            graph_chart(f"graph-{number}", "who receives from whom", received, own.tolist(), classes.names)
        )
    blocks: list[Block] = [Figures(tuple(charts))]
    if run.groups:
        blocks.append(Fold("communication groups", (Points(tuple(map(group_text, run.groups))),)))
    title = scale_text(run) + (f": {run.topology}" if run.topology else "")
    return Section(f"run-{number}", title, tuple(blocks))


def _radar_values(profile: Profile) -> tuple[list[str], Floats]:
    """Metrics of all threads, as fractions of the largest of the run."""
    metrics = run_metrics(profile)
    rows = [{**m.scalars, **{name: float(mix.sum()) for name, mix in m.mixes.items()}} for m in metrics]
    labels = [name for name in _SPOKES if all(name in row for row in rows)]
    table = np.array([[row[name] for name in labels] for row in rows])
    most = table.max(axis=0)
    return labels, table / np.where(most > 0, most, 1.0)


def _table(made: Made) -> Section:
    columns = (
        Column("class", is_number=False),
        Column("metric", is_number=False),
        Column("type", is_number=False, meaning="what is modelled; Percentage: the product with LSys"),
        Column("model", is_number=False),
        Column("terms", is_number=False),
        Column("R2", meaning="coefficient of determination of the metric in the training runs"),
        Column("training", meaning="mean relative error; abs: mean difference of a function's values"),
        Column("test", meaning="likewise, in test runs"),
        Column("inspect", is_number=False, meaning="why this model should be looked at"),
    )
    rows = []
    for a in made.accuracy:
        own = next(c for c in made.models.classes if c.name == a.class_name).models[a.metric]
        kind = own.setup.type
        numbers = (f"{a.r2:.3f}", error_text(a.train, kind), error_text(a.test, kind))
        terms = model_text(own.parts)
        flags = "; ".join(a.flags)
        cells = (a.class_name, a.metric, kind, own.setup.model, terms, *numbers, flags)
        rows.append(Row(cells, is_marked=bool(a.flags)))
    table = Table("All models", columns, tuple(rows))
    advice = Words(
        (
            "Look at models that are marked: drop suspicious last terms, forbid impossible trends with "
            "constraints, or choose another type in the setup, then run the command again.",
        )
    )
    return Section("models-table", "Models", (advice, table))


def _plots(made: Made) -> tuple[Section, ...]:
    sections = []
    for number, own in enumerate(made.models.classes):
        blocks = []
        mine = sorted((a for a in made.accuracy if a.class_name == own.name), key=lambda a: not a.flags)
        for a in mine[:_MOST_PLOTTED]:
            name = f"{number}-{a.metric}"
            charts = [scatter_chart(f"scatter-{name}", a), *_trends(made, number, a, name)]
            blocks.append(Fold(f"{a.metric}{' (inspect)' if a.flags else ''}", (Figures(tuple(charts)),)))
        sections.append(Section(f"plots-{number}", f"Class {own.name}", tuple(blocks)))
    return tuple(sections)


def _trends(made: Made, number: int, a: Accuracy, name: str) -> list[Chart]:
    own = made.models.classes[number]
    model = own.models[a.metric]
    if model.setup.type == "memFunction" or not model.parts:
        return []
    return [
        trend_chart(f"trend-{name}-{axis}", made.models, own, a.metric, made.data, axis)
        for axis in range(len(made.models.parameters))
    ]


def _predictions(runs: Sequence[ExtrapolatedRun]) -> tuple[Section, ...]:
    sections = []
    for number, run in enumerate(runs):
        names = dict.fromkeys(name for own in run.classes for name in own.metrics if name != "NThreads")
        columns = (
            Column("metric", is_number=False),
            *(Column(f"{own.class_name} x {own.threads:g}") for own in run.classes),
        )
        rows = [Row((name, *(_band(own.metrics.get(name)) for own in run.classes))) for name in names]
        table = Table(f"Predicted metrics at {scale_text(run)}", columns, tuple(rows))
        sections.append(
            Section(f"prediction-{number}", f"At {scale_text(run)}", (table, Points(tuple(run.remarks))))
        )
    return tuple(sections)


def _band(band: tuple[float, float, float] | None) -> str:
    return "" if band is None else f"{band[0]:.5g} ({band[1]:.4g} to {band[2]:.4g})"
