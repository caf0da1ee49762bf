"""``commanalyzer fit``: scaling laws of a sweep, of results or of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.output import Outputs, output_options

if TYPE_CHECKING:
    from commanalyzer.scaling.laws.data import Observations
    from commanalyzer.scaling.laws.law import Law

FAMILIES = ("polynomial", "lattice", "pmnf", "power")


def _position(text: str) -> tuple[str, int]:
    """``NAME=NUMBER`` of a command-line argument."""
    name, value = options.setting(text)
    if value < 1 or value != int(value):
        raise click.BadParameter(f"expected the number of an argument, 1 for the first, found {text!r}")
    return name, int(value)


@click.command()
@click.argument("inputs", nargs=-1, required=True, type=options.FILE, metavar="DIR|TABLE|RESULT...")
@click.option(
    "--metric",
    "metrics",
    default="",
    help="Columns to fit, separated by commas.  [default: bytes, messages, intensity, work, vcg]",
)
@click.option(
    "--param", "parameters", multiple=True, help="Column that is a parameter; repeatable, all if left out."
)
@click.option(
    "--argument",
    "arguments",
    type=_position,
    multiple=True,
    callback=lambda _context, _option, positions: dict(positions),
    metavar="NAME=K",
    help="For results: the K-th argument of the program is the parameter NAME; repeatable.",
)
@click.option("--model", default="", help="Communication model; the leading one if left out.")
@click.option(
    "--family",
    "families",
    type=click.Choice(FAMILIES),
    multiple=True,
    help="Only this family of formulas; repeatable.",
)
@options.at_option("targets", "Also predict at p=1024,n=6144; repeatable.")
@click.option("--extra-p", "extra_p", default="", metavar="COMMAND", help="Ask Extra-P for a second opinion.")
@click.option("--import", "imported", type=options.FILE, help="Compare with the models of an .extra-p file.")
@click.option("-o", "--output", type=options.FILE, help="Save the laws (JSON), for advise and report.")
@click.option("--export", "exported", type=options.FILE, help="Write the data for Extra-P: .jsonl or .txt.")
@output_options("Only the laws.")
def command(
    inputs: tuple[Path, ...],
    metrics: str,
    families: tuple[str, ...],
    targets: dict[str, float],
    extra_p: str,
    imported: Path | None,
    output: Path | None,
    exported: Path | None,
    out: Outputs,
    **read: options.Raw,
) -> None:
    """Find how bytes, messages, work and more grow with node count p and the program's parameters.

    DIR is the directory of a sweep, TABLE a CSV file, RESULT... are results (*.cmz) of several sizes.
    """
    out.check(output, exported)
    from commanalyzer.report.scaling.laws_text import predictions_content, show_laws
    from commanalyzer.scaling.laws.data import MACHINE_METRICS, read_observations
    from commanalyzer.scaling.laws.document import laws_json, save_laws
    from commanalyzer.scaling.laws.fit import fit_observations
    from commanalyzer.scaling.laws.law import require_whole

    seen = read_observations(inputs, **read)  # options that are called like its arguments
    wanted = tuple(filter(None, metrics.replace(" ", "").split(",")))
    document = fit_observations(seen, inputs, wanted, families)
    hidden = () if metrics else MACHINE_METRICS
    shown = replace(document, laws=tuple(x for x in document.laws if x.metric not in hidden))
    require_whole(shown.laws, targets)
    others = _second_opinions(seen, shown.laws, extra_p, imported)
    if exported is not None:
        _export(seen, shown.laws, exported)
    if output is not None:
        save_laws(document, output, force=out.force)
    out.emit(
        lambda: laws_json(document, **predictions_content(shown.laws, targets)),
        lambda console: show_laws(shown, targets, others, console, quiet=out.quiet),
        saved=(exported, output),
    )


def _second_opinions(
    seen: Observations, laws: Sequence[Law], extra_p: str, imported: Path | None
) -> tuple[Law, ...]:
    """Formulas to compare with: of the command Extra-P, of a file."""
    from commanalyzer.scaling.laws.document import import_models, second_opinion

    found: list[Law] = list(import_models(imported)) if imported is not None else []
    if extra_p:
        for law in laws:  # one run each: metrics may have different parameters
            x, names, y = seen.of(law.metric)
            found += second_opinion(extra_p, x, names, {law.metric: y})
    return tuple(found)


def _export(seen: Observations, laws: Sequence[Law], path: Path) -> None:
    import numpy as np

    from commanalyzer.foundation.errors import ConfigError
    from commanalyzer.result.export.files import write_extrap, write_extrap_text
    from commanalyzer.scaling.laws.document import measurements

    writers = {".jsonl": write_extrap, ".txt": write_extrap_text}
    if path.suffix not in writers:
        raise ConfigError("expected a name that ends in .jsonl or .txt, found another", where=str(path))
    names = [law.metric for law in laws]
    # Extra-P reads no missing values: only points where all metrics are known.
    known = np.all([np.isfinite(seen.metrics[name]) for name in names], axis=0)
    metrics = {name: seen.metrics[name][known] for name in names}
    writers[path.suffix](path, measurements(seen.points[known], seen.parameters, metrics))
