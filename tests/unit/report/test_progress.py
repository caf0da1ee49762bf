import io

import pytest
from rich.console import Console

from commanalyzer.report.progress import LineProgress, TerminalProgress


def _terminal() -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, force_terminal=True, width=80, highlight=False), stream


def test_nothing_is_printed_without_a_terminal() -> None:
    stream = io.StringIO()
    with TerminalProgress(Console(file=stream)) as progress:
        progress.stage("compile")
        progress.stage("run the program")
        progress.stage("count", 3)
        progress.advance(2)
    assert stream.getvalue() == ""


def test_stages_and_steps_on_a_terminal() -> None:
    console, stream = _terminal()
    with TerminalProgress(console) as progress:
        progress.stage("count", 3)
        progress.advance(2)
        progress.stage("run the program")
    text = stream.getvalue()
    assert "count" in text
    assert "run the program ..." in text


def test_the_terminal_is_left_usable_after_an_error() -> None:
    console, stream = _terminal()
    with pytest.raises(ValueError, match="stop"), TerminalProgress(console) as progress:
        progress.stage("compile")
        raise ValueError("stop")
    # The last thing said about the cursor is to show it.
    assert stream.getvalue().rfind("\x1b[?25h") > stream.getvalue().rfind("\x1b[?25l")


def test_lines_say_what_begins() -> None:
    stream = io.StringIO()
    progress = LineProgress(stream)
    progress.stage("latency")
    progress.advance()
    progress.stage("overlap", 7)
    assert stream.getvalue() == "latency ...\noverlap ...\n"
