"""What every command that has a result does with it: show, save, write the document; the options for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import require_writable, write_text

if TYPE_CHECKING:
    from rich.console import Console

    from commanalyzer.foundation.progress import Progress
    from commanalyzer.result.results import AnalysisResult

_Command = TypeVar("_Command", bound=Callable[..., Any])

json_option = click.option(
    "--json", "json_output", metavar="PATH|-", help="Write the JSON document; - for standard output."
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(1), help="Cores used for dividing.  [default: this machine's cores]"
)
force_option = click.option("--force", is_flag=True, help="Overwrite existing files.")


def quiet_option(text: str) -> Callable[[_Command], _Command]:
    """Option ``quiet``; ``text`` says what is still shown."""
    return click.option("-q", "--quiet", is_flag=True, help=text)


@contextmanager
def shown_progress(quiet: bool) -> Iterator[Progress]:
    """Progress of a long command, on standard error; with ``quiet``, nobody sees it."""
    from commanalyzer.foundation.progress import SilentProgress
    from commanalyzer.report.progress import TerminalProgress
    from commanalyzer.report.result.text import make_console

    if quiet:
        yield SilentProgress()
        return
    with TerminalProgress(make_console(sys.stderr)) as progress:
        yield progress


def check_outputs(output: Path | None, json_output: str | None, force: bool) -> None:
    """Raise before a long run if its results could not be written.

    Raises:
        ArtifactError: If a file exists and ``force`` is false, or cannot be written.
        ConfigError: If both outputs name the same file.
    """
    if output is not None:
        require_writable(output, force)
    if json_output is not None and json_output != "-":
        require_writable(Path(json_output), force)
        if output is not None and output.resolve() == Path(json_output).resolve():
            raise ConfigError("expected different files for -o and --json, found one", where=json_output)


def emit_document(
    document: Callable[[], str],
    show: Callable[[Console], None],
    json_output: str | None,
    *,
    saved: Sequence[Path | str | None] = (),
    force: bool = False,
    quiet: bool = False,
) -> None:
    """Write the JSON ``document`` to standard output, or to a file besides showing what it says.

    Args:
        document: Its text.
        show: Prints the same for people.
        json_output: Where the document goes; ``-`` for standard output, None for nowhere.
        saved: Files that have been written, to be named; None for none.
        force: Replace an existing file.
        quiet: Do not name files.
    """
    from commanalyzer.report.result.text import make_console

    if json_output == "-":
        sys.stdout.write(document())
        return
    if json_output is not None:
        write_text(Path(json_output), document(), force=force)
    show(make_console(sys.stdout))
    for path in (*saved, json_output):
        if path is not None and not quiet:
            click.echo(f"wrote {path}")


def emit(
    result: AnalysisResult,
    output: Path | None,
    json_output: str | None,
    *,
    force: bool = False,
    every: bool = False,
    quiet: bool = False,
) -> None:
    """Show ``result`` (unless the document goes to standard output), save it, write its document."""
    from commanalyzer.report.result.json_document import json_text
    from commanalyzer.report.result.text import make_console, show_result

    to_stdout = json_output == "-"
    if output is not None:
        from commanalyzer.result.artifacts import save

        save(result, output, force=force)
    if json_output is not None and not to_stdout:
        write_text(Path(json_output), json_text(result), force=force)
    if to_stdout:
        sys.stdout.write(json_text(result))
    else:
        show_result(result, make_console(sys.stdout), quiet=quiet, every=every)
    for path in (output, None if to_stdout or json_output is None else Path(json_output)):
        if path is not None and not quiet:
            click.echo(f"wrote {path}", err=to_stdout)
