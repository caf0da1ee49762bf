"""Options of commands that classify profiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])


def class_options(command: _Command) -> _Command:
    """``--method``, ``--classes``, ``--directed``."""
    options = (
        click.option(
            "--method",
            type=click.Choice(["clusters", "pattern"]),
            help="Clusters of all metrics, or regularity of the communication pattern.  [default: clusters]",
        ),
        click.option(
            "--classes",
            "number",
            type=click.IntRange(1),
            help="Number of clusters.  [default: by silhouette]",
        ),
        click.option(
            "--directed", is_flag=True, help="Tell ranks apart whose neighbours are on different sides."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
