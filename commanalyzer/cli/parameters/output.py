"""What every command that has a result does with it: show, save, write the document; the options for it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.options import Command
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import require_writable, write_text

if TYPE_CHECKING:
    from rich.console import Console

    from commanalyzer.foundation.progress import Progress
    from commanalyzer.result.results import AnalysisResult

T = TypeVar("T", contravariant=True)
json_option = click.option(
    "--json", "json_output", metavar="PATH|-", help="Write the JSON document; - for standard output."
)
force_option = options.flag("--force", help="Overwrite existing files.")


def quiet_option(text: str) -> Callable[[Command], Command]:
    """Option ``quiet``; ``text`` says what is still shown."""
    return options.flag("-q", "--quiet", help=text)


def result_options(saved: str) -> Callable[[Command], Command]:
    """Add ``--output`` with its text, ``--json``, ``--force``, ``--all``, ``--jobs`` and ``--quiet``."""
    return options.all_of(
        options.file("-o", "--output", help=saved),
        json_option,
        force_option,
        options.flag("--all", "every", help="Show every candidate decomposition."),
        click.option(
            "--jobs",
            type=click.IntRange(1),
            help="Cores used for dividing.  [default: this machine's cores]",
        ),
        quiet_option("Only the table; no progress."),
    )


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


def together(**kinds: type | str) -> Callable[[Command], Command]:
    """Hand options that are called like the fields of a dataclass to the command as one value.

    ``together(out=Outputs)`` stands below the options; the command takes ``out``. A class that is slow to
    import is given as ``module:name``.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_values(*arguments: object, **given: object) -> object:
            for name, known in kinds.items():
                kind = resolve_name(known) if isinstance(known, str) else known
                given[name] = kind(**{f.name: given.pop(f.name) for f in fields(kind) if f.name in given})
            return command(*arguments, **given)

        return cast(Command, with_values)

    return decorate


class Shows(Protocol[T]):
    """What prints something for people."""

    def __call__(self, found: T, console: Console, /, *, quiet: bool) -> None:
        """Print ``found``, or only what matters most if ``quiet``."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a command writes and says: values of ``--json``, ``--force`` and ``--quiet``."""

    force: bool
    quiet: bool
    json_output: str | None = None  # of commands that have no document

    @property
    def is_document(self) -> bool:
        """Standard output is the document: nothing else may be mixed into it."""
        return self.json_output == "-"

    def check(self, *files: Path | None) -> None:
        """Raise before a long run if its results could not be written: the document or ``files``.

        Raises:
            ArtifactError: If a file exists and may not be overwritten, or cannot be written.
            ConfigError: If an output names the same file as the document.
        """
        for path in filter(None, files):
            require_writable(path, self.force)
        if self.json_output is not None and not self.is_document:
            require_writable(Path(self.json_output), self.force)
            if Path(self.json_output).resolve() in (path.resolve() for path in filter(None, files)):
                raise ConfigError(
                    "expected different files for -o and --json, found one", where=self.json_output
                )

    def emit(
        self,
        document: Callable[[], str],
        show: Callable[[Console], None],
        saved: Sequence[Path | str | None] = (),
    ) -> None:
        """Write the JSON ``document`` to standard output, or to a file besides showing what it says.

        ``show`` prints the same for people; files that have been ``saved`` are named.
        """
        from commanalyzer.report.result.text import make_console

        if self.is_document:
            sys.stdout.write(document())
        else:
            if self.json_output is not None:
                write_text(Path(self.json_output), document(), force=self.force)
            show(make_console(sys.stdout))
        for path in (*saved, None if self.is_document else self.json_output):
            if path is not None and not self.quiet:
                click.echo(f"wrote {path}", err=self.is_document)

    def present(
        self, found: T, document: Callable[[T], str], show: Shows[T], saved: Sequence[Path | None] = ()
    ) -> None:
        """Write and show what was ``found``, as :meth:`emit` says; ``show`` is told of ``--quiet``."""
        self.emit(lambda: document(found), lambda console: show(found, console, quiet=self.quiet), saved)


def output_options(quiet: str) -> Callable[[Command], Command]:
    """Add ``--json``, ``--force``, and ``--quiet`` with its text; the command takes ``out``."""

    def decorate(command: Command) -> Command:
        return json_option(force_option(quiet_option(quiet)(together(out=Outputs)(command))))

    return decorate


def emit(result: AnalysisResult, output: Path | None, out: Outputs, *, every: bool = False) -> None:
    """Show ``result`` (unless the document goes to standard output), save it, write its document."""
    from commanalyzer.report.result.json_document import json_text
    from commanalyzer.report.result.text import show_result

    if output is not None:
        from commanalyzer.result.artifacts import save

        save(result, output, force=out.force)
    out.present(result, json_text, partial(show_result, every=every), (output,))
