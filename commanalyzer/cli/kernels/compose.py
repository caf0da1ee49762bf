"""``commanalyzer compose``: a parallel system from models of its sequential blocks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.output import Outputs, output_options


@click.command()
@click.argument("design", type=options.FILE)
@click.option("--system", "expression", default="", help="Another system of the blocks of DESIGN.")
@options.at_option("sizes", "Sizes: n=4096,m=64; repeatable.")
@click.option("--set", "counts", type=options.setting, multiple=True, help="Count: T=4; repeatable.")
@click.option("--cores", type=click.IntRange(1), help="Threads that may run.")
@click.option("--elements", type=click.IntRange(1), help="Elements of the stream.")
@click.option("--figure", type=options.FILE, help="Draw the system with its times (.svg, .png).")
@output_options("Only times and counts.")
def command(
    design: Path,
    expression: str,
    sizes: dict[str, float],
    counts: tuple[tuple[str, float], ...],
    figure: Path | None,
    out: Outputs,
    **given: options.Raw,
) -> None:
    """Predict how fast the system of DESIGN (TOML) is, what limits it, and which counts are best.

    Counts that are given neither in the design nor with --set are found: those that make the system fastest
    on the cores.
    """
    out.check(figure)
    from commanalyzer.kernels.composition.answer import answer
    from commanalyzer.kernels.composition.design import load_design
    from commanalyzer.kernels.composition.systems import parse_system
    from commanalyzer.report.kernels.composition_text import answer_json, show_answer

    wrong = [f"{name}={value:g}" for name, value in counts if value < 1 or value != int(value)]
    if wrong:
        raise click.BadParameter(
            f"expected a whole number of 1 or more, found {wrong[0]}", param_hint="--set"
        )
    system = parse_system(expression) if expression else None
    loaded = load_design(design, system, {name: int(value) for name, value in counts})
    loaded = replace(
        loaded,
        values={**loaded.values, **sizes},
        **{name: count for name, count in given.items() if count is not None},  # cores, elements
    )
    found = answer(loaded)
    if figure is not None:
        from commanalyzer.report.kernels.composition_text import save_system

        save_system(found, figure, force=out.force)
    out.emit(
        lambda: answer_json(found),
        lambda console: show_answer(found, console, quiet=out.quiet),
        saved=(figure,),
    )
