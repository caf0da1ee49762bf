"""Profiles of programs: ``profile``, ``classify``, ``extrapolate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import (
    WithProgramArguments,
    allow_failure_option,
    program_arguments,
    request_from,
    run_options,
    sources_or_result,
)
from commanalyzer.cli.parameters.output import Outputs, output_options, shown_progress, together
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import write_text

if TYPE_CHECKING:
    from commanalyzer.profiles.extrapolation.passes import Choices


@click.command(cls=WithProgramArguments)
@click.argument("sources", nargs=-1, required=True, type=options.FILE)
@options.file("-o", "--output", help="Save the profile (*.pisa).")
@click.option("--name", default="", help="Name of the application.  [default: the first source's]")
@click.option(
    "--scale",
    type=options.setting,
    multiple=True,
    metavar="NAME=VALUE",
    help="Scaling parameter of this run, for extrapolation; repeatable.",
)
@options.with_default(
    "--reuse",
    type=click.Choice(["sampled", "exact"]),
    default="sampled",
    help="Reuse distances of data: of a sample of the lines with a stated error, or of all.",
)
@click.option(
    "--window",
    "windows",
    type=click.IntRange(0),
    multiple=True,
    help="Window of the parallelism of instructions; 0 is no limit; repeatable.  [default: 54 and 0]",
)
@options.with_default(
    "--parallelism/--no-parallelism",
    default=True,
    help="Measure the parallelism of instructions, which takes most of the time.",
)
@options.file("--division", help="Result (*.cmz) whose division tells ranks apart.")
@click.option("--nodes", type=click.IntRange(1), help="Node count of the division.")
@run_options
@click.option("--memory-limit", type=options.size, help="Limit of the program's memory: 8GB.")
@allow_failure_option
@output_options("Only the table.")
def profile_command(
    sources: tuple[Path, ...],
    output: Path | None,
    name: str,
    scale: tuple[tuple[str, float], ...],
    reuse: str,
    windows: tuple[int, ...],
    parallelism: bool,
    division: Path | None,
    nodes: int | None,
    out: Outputs,
    **given: options.Raw,
) -> None:
    """Measure what SOURCES execute: instructions, parallelism, reuse of memory, branches.

    The program is run twice: plainly, and instrumented. With --division, the profile is divided among the
    ranks of a result's division. A saved result (*.cmz) stands for its sources and arguments, and with
    --nodes for its division.
    """
    out.check(output)
    if nodes is not None and division is None and sources[0].suffix != ".cmz":
        raise ConfigError("expected --division with --nodes, found none", where="--nodes")
    from commanalyzer.profiles.document import profile_text
    from commanalyzer.profiles.ranks import rank_profiles
    from commanalyzer.profiles.run.measure import DEFAULT_WINDOWS, ProfileRequest, profile_program
    from commanalyzer.report.profiles.text import show_profile
    from commanalyzer.result.artifacts import load
    from commanalyzer.result.provenance import require_same_program

    result = sources[0] if sources[0].suffix == ".cmz" and nodes is not None else None
    arguments = program_arguments()
    sources, arguments, given["cflags"] = sources_or_result(sources, arguments, given["cflags"])
    division = division or result
    divided = None if division is None else load(division)
    if divided is not None and division != result:
        require_same_program(divided, sources, arguments)
    program = request_from(sources, arguments, given, "stderr" if out.is_document else "inherit")
    request = ProfileRequest(
        program, name, dict(scale), reuse == "exact", (windows or DEFAULT_WINDOWS) if parallelism else ()
    )
    with shown_progress(out.quiet) as progress:
        profile = profile_program(request, progress).profile
    if divided is not None:
        profile = rank_profiles(profile, divided, divided.decomposition(nodes or divided.nodes[0]))
    if output is not None:
        write_text(output, profile_text(profile), force=out.force)
    out.present(profile, profile_text, show_profile, (output,))


@click.command()
@click.argument("profiles", nargs=-1, required=True, type=options.FILE)
@options.class_options
@options.file("--html", help="Write pictures of the classes to this page.")
@output_options("Only the classes, without groups.")
def classify_command(
    profiles: tuple[Path, ...],
    method: str | None,
    number: int | None,
    directed: bool,
    html: Path | None,
    out: Outputs,
) -> None:
    """Find classes of threads in PROFILES (*.pisa files, or folders of them) of one program's runs.

    A class means the same in all runs. Every class should have threads in most of them: leave runs out that
    are too small for that.
    """
    out.check(html)
    from commanalyzer.profiles.classification.classes import classes_json
    from commanalyzer.profiles.classification.classify import classify
    from commanalyzer.profiles.document import read_profiles
    from commanalyzer.report.profiles.text import show_classes

    runs = read_profiles(profiles)
    found = classify(runs, "pattern" if method == "pattern" else "clusters", number=number, directed=directed)
    if html is not None:
        from commanalyzer.report.html.page import render_page
        from commanalyzer.report.profiles.extrapolation_page import classes_page

        write_text(html, render_page(classes_page(found, runs)), force=out.force)
    out.present(found, classes_json, show_classes, (html,))


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
@options.file("--test", "tests", multiple=True, help="Profiles to test with.")
@options.file("--setup", help="Terms, types, constraints (TOML).")
@options.file("--project", help="Folder for setup, classes and models.")
@click.option("--only", multiple=True, help="Train this metric only; all others stay as they are.")
@options.class_options
@options.file("-o", "--output", help="Folder for extrapolated profiles.")
@options.file("--html", help="Write tables and plots to this page.")
@output_options("Only models to be inspected, and predictions.")
@together(choices="commanalyzer.profiles.extrapolation.passes:Choices")
def extrapolate_command(
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
