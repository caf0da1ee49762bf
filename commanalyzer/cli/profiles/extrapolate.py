"""``commanalyzer extrapolate``: profiles at scales that were never run."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from commanalyzer.cli.parameters.options import class_options
from commanalyzer.cli.parameters.output import (
    check_outputs,
    force_option,
    json_option,
    quiet_option,
    shown_progress,
)
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import write_text


@click.command()
@click.argument("profiles", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "targets", multiple=True, help="Where: p=64,n=512; p=64,p=128,n=512 for both.")
@click.option(
    "--test", "tests", multiple=True, type=click.Path(path_type=Path), help="Profiles to test with."
)
@click.option("--setup", type=click.Path(path_type=Path), help="Terms, types, constraints (TOML).")
@click.option("--project", type=click.Path(path_type=Path), help="Folder for setup, classes and models.")
@click.option("--only", multiple=True, help="Train this metric only; all others stay as they are.")
@class_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for extrapolated profiles.")
@click.option("--html", type=click.Path(path_type=Path), help="Write tables and plots to this page.")
@json_option
@force_option
@quiet_option("Only models to be inspected, and predictions.")
def command(
    profiles: tuple[Path, ...],
    targets: tuple[str, ...],
    tests: tuple[Path, ...],
    setup: Path | None,
    project: Path | None,
    only: tuple[str, ...],
    method: str | None,
    number: int | None,
    directed: bool,
    output: Path | None,
    html: Path | None,
    json_output: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Extrapolate PROFILES (*.pisa files, or folders of them) of small runs to larger scales.

    Threads are classified, every metric of every class is modelled, and profiles are predicted. Inspect the
    models that are flagged, edit the setup in the project's folder, and run the same command again: only what
    has changed is trained.
    """
    check_outputs(html, json_output, force)
    if only and project is None:
        raise ConfigError("expected --project with --only, found none", hint="other models are kept there")
    if output is not None and not targets:
        raise ConfigError("expected --to with -o, found none", hint="for example --to p=64,n=512")
    from commanalyzer.profiles.extrapolation.passes import Choices, parse_targets, run_passes
    from commanalyzer.profiles.extrapolation.profiles import extrapolate, write_extrapolated
    from commanalyzer.report.profiles.extrapolation_text import extrapolation_json, show_extrapolation
    from commanalyzer.report.result.text import make_console

    points = parse_targets(targets)
    with shown_progress(quiet or json_output == "-") as progress:
        made = run_passes(profiles, tests, Choices(method, number, directed, setup, project, only), progress)
    runs = [extrapolate(made.models, point) for point in points]
    written = []
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for run in runs:
            name = "-".join(f"{k}{v:g}" for k, v in sorted(run.scale.items()))
            written.append(output / f"{made.models.application.replace('/', '_')}-{name}.pisa")
            write_extrapolated(run, written[-1], force=force)
    if html is not None:
        from commanalyzer.report.html.page import render_page
        from commanalyzer.report.profiles.extrapolation_page import extrapolation_page

        write_text(html, render_page(extrapolation_page(made, runs)), force=force)
        written.append(html)
    if json_output == "-":
        sys.stdout.write(extrapolation_json(made, runs))
        return
    if json_output is not None:
        write_text(Path(json_output), extrapolation_json(made, runs), force=force)
        written.append(Path(json_output))
    show_extrapolation(made, runs, make_console(sys.stdout), quiet=quiet)
    for path in [] if quiet else [*made.written, *written]:
        click.echo(f"wrote {path}")
