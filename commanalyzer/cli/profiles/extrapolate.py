"""``commanalyzer extrapolate``: profiles at scales that were never run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.options import class_options
from commanalyzer.cli.parameters.output import Outputs, output_options, shown_progress, together
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import write_text

if TYPE_CHECKING:
    from commanalyzer.profiles.extrapolation.passes import Choices


@click.command()
@click.argument("profiles", nargs=-1, required=True, type=options.FILE)
@click.option(
    "--to",
    "--at",
    "targets",
    type=options.settings,
    multiple=True,
    help="Where: p=64,n=512; p=64,p=128 for both.",
)
@click.option("--test", "tests", multiple=True, type=options.FILE, help="Profiles to test with.")
@click.option("--setup", type=options.FILE, help="Terms, types, constraints (TOML).")
@click.option("--project", type=options.FILE, help="Folder for setup, classes and models.")
@click.option("--only", multiple=True, help="Train this metric only; all others stay as they are.")
@class_options
@click.option("-o", "--output", type=options.FILE, help="Folder for extrapolated profiles.")
@click.option("--html", type=options.FILE, help="Write tables and plots to this page.")
@output_options("Only models to be inspected, and predictions.")
@together(choices="commanalyzer.profiles.extrapolation.passes:Choices")
def command(
    profiles: tuple[Path, ...],
    targets: tuple[options.Settings, ...],
    tests: tuple[Path, ...],
    output: Path | None,
    html: Path | None,
    out: Outputs,
    choices: Choices,
) -> None:
    """Extrapolate PROFILES (*.pisa files, or folders of them) of small runs to larger scales.

    Threads are classified, every metric of every class is modelled, and profiles are predicted. Inspect the
    models that are flagged, edit the setup in the project's folder, and run the same command again: only what
    has changed is trained.
    """
    out.check(html)
    if choices.only and choices.project is None:
        raise ConfigError("expected --project with --only, found none", hint="other models are kept there")
    if output is not None and not targets:
        raise ConfigError("expected --to with -o, found none", hint="for example --to p=64,n=512")
    from commanalyzer.profiles.extrapolation.passes import run_passes, target_points
    from commanalyzer.profiles.extrapolation.profiles import extrapolate, write_extrapolated
    from commanalyzer.report.profiles.text import extrapolation_json, show_extrapolation

    points = target_points(targets)
    with shown_progress(out.quiet or out.is_document) as progress:
        made = run_passes(profiles, tests, choices, progress)
    runs = [extrapolate(made.models, point) for point in points]
    written = [*made.written]
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for run in runs:
            name = "-".join(f"{k}{v:g}" for k, v in sorted(run.scale.items()))
            written.append(output / f"{made.models.application.replace('/', '_')}-{name}.pisa")
            write_extrapolated(run, written[-1], force=out.force)
    if html is not None:
        from commanalyzer.report.html.page import render_page
        from commanalyzer.report.profiles.extrapolation_page import extrapolation_page

        write_text(html, render_page(extrapolation_page(made, runs)), force=out.force)
        written.append(html)
    out.emit(
        lambda: extrapolation_json(made, runs),
        lambda console: show_extrapolation(made, runs, console, quiet=out.quiet),
        written,
    )
