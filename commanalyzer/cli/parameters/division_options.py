"""Options about how values are divided among nodes, shared by the commands that partition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from commanalyzer.cli.parameters import options
from commanalyzer.foundation.errors import CommAnalyzerError
from commanalyzer.request import EFFORTS

_OPTIONS = (
    click.option(
        "--decompose",
        multiple=True,
        metavar="RULE",
        callback=lambda _context, _option, rules: _checked(rules),
        help="Also count this division: u=block2d, 'x[64x32]=block:4x2', 'x=cyclic:16x16'; repeatable.",
    ),
    click.option(
        "--owner-map",
        type=click.Path(path_type=Path),
        help="Also count these owners: CSV (object,index,part) or .npy.",
    ),
    click.option(
        "--imbalance",
        type=float,
        default=0.03,
        show_default=True,
        help="Allowed excess of the largest node's work over the mean.",
    ),
    click.option(
        "--work-weights",
        type=options.work_weights,
        metavar="fp=1,int=1,mem=0",
        help="What floating-point and integer operations and memory accesses count for in the work that "
        "is balanced.",
    ),
    click.option(
        "--coarsen",
        type=options.coarsen,
        default="auto",
        show_default=True,
        metavar="auto|never|N",
        help="Find divisions on tiles of arrays (counted on all values): of large arrays, never, or always "
        "with about N tiles.",
    ),
    click.option(
        "--effort",
        type=click.Choice(EFFORTS),
        default="normal",
        show_default=True,
        help="How long to look for divisions; by estimates, so that the result is the same everywhere.",
    ),
    click.option(
        "--time-limit",
        "time_limit_s",
        type=options.seconds,
        help="End looking for divisions after so long, with the best until then: 30, 2min.",
    ),
)


def division_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add options to a command that are called like fields of requests."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _checked(rules: tuple[str, ...]) -> tuple[str, ...]:
    """The rules, once each is known to be one."""
    if rules:
        from commanalyzer.division.regular.rules import parse_rule

        for text in rules:
            try:
                parse_rule(text)
            except CommAnalyzerError as error:
                raise click.BadParameter(error.message) from error
    return rules
