"""``commanalyzer classify``: classes of threads that behave alike."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from commanalyzer.cli.parameters.options import class_options
from commanalyzer.cli.parameters.output import check_outputs, force_option, json_option, quiet_option
from commanalyzer.foundation.files import write_text


@click.command()
@click.argument("profiles", nargs=-1, required=True, type=click.Path(path_type=Path))
@class_options
@click.option("--html", type=click.Path(path_type=Path), help="Write pictures of the classes to this page.")
@json_option
@force_option
@quiet_option("Only the classes, without groups.")
def command(
    profiles: tuple[Path, ...],
    method: str | None,
    number: int | None,
    directed: bool,
    html: Path | None,
    json_output: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Find classes of threads in PROFILES (*.pisa files, or folders of them) of one program's runs.

    A class means the same in all runs. Every class should have threads in most of them: leave runs out that
    are too small for that.
    """
    check_outputs(html, json_output, force)
    from commanalyzer.profiles.classification.classify import classify
    from commanalyzer.profiles.classification.document import classes_json
    from commanalyzer.profiles.document import read_profiles
    from commanalyzer.report.profiles.extrapolation_text import show_classes
    from commanalyzer.report.result.text import make_console

    runs = read_profiles(profiles)
    found = classify(runs, "pattern" if method == "pattern" else "clusters", number=number, directed=directed)
    if html is not None:
        from commanalyzer.report.html.page import render_page
        from commanalyzer.report.profiles.extrapolation_page import classes_page

        write_text(html, render_page(classes_page(found, runs)), force=force)
    if json_output == "-":
        sys.stdout.write(classes_json(found))
        return
    if json_output is not None:
        write_text(Path(json_output), classes_json(found), force=force)
    show_classes(found, make_console(sys.stdout), quiet=quiet)
    for path in (html, None if json_output is None else Path(json_output)):
        if path is not None and not quiet:
            click.echo(f"wrote {path}")
