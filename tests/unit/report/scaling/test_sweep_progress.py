import io
from pathlib import Path

import pytest
from rich.console import Console

from commanalyzer.report.scaling.sweep_text import SweepProgress, show_sweep
from commanalyzer.scaling.sweep.run import SweepStatus
from commanalyzer.scaling.sweep.store import PlannedPoint, PointError, PointRecord, SweepOutcome, SweepPlan
from tests.unit.scaling.sweep.records import record

FAILED = PointRecord("k", {"n": "9"}, PointError("TargetRunError", "out of [memory]"))
STATUSES = (
    SweepStatus(5, 1, 0, ("n=8",), None),
    SweepStatus(5, 2, 1, ("n=16", "n=[32]"), 90.0, (record(8), FAILED)),
)


def shown(*, is_terminal: bool, quiet: bool = False) -> str:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=is_terminal, width=110, highlight=False, color_system=None)
    with SweepProgress(console, quiet=quiet) as progress:
        for status in STATUSES:
            progress.show(status)
    return stream.getvalue()


def test_a_line_per_point_without_a_terminal() -> None:
    assert shown(is_terminal=False) == "[2/5] n=8: 1 s\n[3/5] n=9: failed: out of [memory]\n"
    assert shown(is_terminal=False, quiet=True) == ""


def test_a_live_line_on_a_terminal() -> None:
    text = shown(is_terminal=True)
    assert "3/5 points" in text and "1 failed, running n=16, n=[32], about 90 s left" in text
    assert shown(is_terminal=True, quiet=True) == ""


def outcome(*records: PointRecord | None) -> SweepOutcome:
    points = tuple(PlannedPoint("k", {"n": "8"}) for _ in records)
    plan = SweepPlan({}, (), ("n",), (4,), ("volume",), points)
    return SweepOutcome(Path("out"), plan, records)


def test_the_table_shows_what_is_known() -> None:
    stream = io.StringIO()
    show_sweep(outcome(record(8), FAILED, None), Console(file=stream, width=130, highlight=False))
    text = stream.getvalue()
    assert "│ 8 │" in text and "failed: n=9: out of [memory]" in text
    assert "not analysed yet: 1 of 3 points" in text and text.endswith("wrote out/table.csv\n")


@pytest.mark.parametrize("width", [50, 80])
def test_no_number_is_cut_on_a_narrow_terminal(width: int) -> None:
    stream = io.StringIO()
    show_sweep(outcome(record(8)), Console(file=stream, width=width, highlight=False))
    text = stream.getvalue()
    assert "…" not in text and max(map(len, text.splitlines())) <= width


def test_many_warnings_are_counted() -> None:
    records = [PointRecord("k", {"n": str(n)}, lines=(), warnings=("same", f"own {n}")) for n in range(6)]
    stream = io.StringIO()
    show_sweep(outcome(*records), Console(file=stream, width=130, highlight=False))
    text = stream.getvalue()
    assert "warning (n=0 and 5 more): same" in text and text.count("warning (") == 5
    assert "2 more warnings, by point, are in out/sweep.json" in text
