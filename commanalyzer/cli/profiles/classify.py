"""``commanalyzer classify``: classes of threads that behave alike."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.options import class_options
from commanalyzer.cli.parameters.output import Outputs, output_options
from commanalyzer.foundation.files import write_text


@click.command()
@click.argument("profiles", nargs=-1, required=True, type=options.FILE)
@class_options
@click.option("--html", type=options.FILE, help="Write pictures of the classes to this page.")
@output_options("Only the classes, without groups.")
def command(
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
    out.emit(
        lambda: classes_json(found), lambda console: show_classes(found, console, quiet=out.quiet), (html,)
    )
