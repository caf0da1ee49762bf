import sys
from pathlib import Path
from typing import Any

import pytest

from commanalyzer.cli.main import main
from commanalyzer.division.libraries.concurrency import usable_cores
from commanalyzer.scaling.sweep import run
from commanalyzer.scaling.sweep.executors import Engine
from commanalyzer.scaling.sweep.run import Sweep
from commanalyzer.scaling.sweep.store import PlannedPoint, PointError, PointRecord, SweepOutcome, SweepPlan
from tests.unit.scaling.sweep.records import record

Capture = pytest.CaptureFixture[str]


class Runner:
    """Stands for the sweep: remembers what it was given, answers with records."""

    def __init__(self) -> None:
        self.sweeps: list[Sweep] = []
        self.engines: list[Engine] = []
        self.options: list[dict[str, Any]] = []
        self.records: tuple[PointRecord | None, ...] = (record(8), record(16))

    def run_sweep(self, sweep: Sweep, engine: Engine, **options: Any) -> SweepOutcome:
        self.sweeps.append(sweep)
        self.engines.append(engine)
        self.options.append(options)
        points = tuple(PlannedPoint(f"{n:04d}-0", {"n": str(n)}) for n in (8, 16))
        plan = SweepPlan({}, (), ("n",), (2, 4), ("volume",), points)
        return SweepOutcome(sweep.directory, plan, self.records)


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    stub = Runner()
    monkeypatch.setattr(run, "run_sweep", stub.run_sweep)
    return stub


def test_options_reach_the_sweep(runner: Runner) -> None:
    words = "a.c b.c --param n=8,16 --param m=1 --nodes 2,4 --model both --region f --jobs 3 -o out"
    more = ["--cflags", "-DM={m}", "--args", "{n} 'x y'", "--memory-budget", "2GB", "--memory-limit", "1GB"]
    assert main(["sweep", *words.split(), "--retry-failed", "-q", *more]) == 0
    (sweep,) = runner.sweeps
    assert [point.label for point in sweep.points] == ["n=8 m=1", "n=16 m=1"]
    base = sweep.base
    assert base.sources == (Path("a.c"), Path("b.c")) and base.arguments == ("{n}", "x y")
    assert (base.nodes, base.models, base.regions) == ((2, 4), ("volume", "hpdc18"), ("f",))
    assert base.compiler.flags == ("-DM={m}",) and base.memory_limit_bytes == 10**9
    assert sweep.directory == Path("out") and sweep.command[:2] == ("sweep", "a.c")
    assert runner.options[0]["memory_budget_bytes"] == 2 * 10**9 and runner.options[0]["retry_failed"]
    assert (runner.engines[0].slots, runner.engines[0].is_local) == (3, True)


def test_defaults(runner: Runner, capsys: Capture) -> None:
    assert main(["sweep", "a.c", "--param", "n=8", "-o", "out", "--", "{n}"]) == 0
    assert runner.sweeps[0].base.arguments == ("{n}",)
    assert runner.engines[0].slots == usable_cores()
    assert runner.options[0]["memory_budget_bytes"] > 10**8 and not runner.options[0]["retry_failed"]
    out = capsys.readouterr().out
    assert "wrote out/table.csv" in out and "efficiency bound" in out


def test_what_failed_is_said_and_in_the_exit_code(runner: Runner, capsys: Capture) -> None:
    error = PointError("TargetRunError", "stopped it", "a.c", "smaller")
    runner.records = (PointRecord("0008-0", {"n": "8"}, error), None)
    assert main(["sweep", "a.c", "--param", "n=8", "-o", "out", "--args", "{n}"]) == 4
    out = capsys.readouterr().out
    assert "failed: n=8: a.c: stopped it\n  hint: smaller\nnot analysed yet: 1 of 2 points\n" in out


@pytest.mark.parametrize(
    ("words", "status", "found"),
    [
        ("a.c --param n=8", 2, "-o DIR"),
        ("--param n=8 -o out", 2, "SOURCES"),
        ("a.c -o out", 2, "either --param NAME=VALUES or --points FILE"),
        ("a.c --param n=8 --points p.csv -o out", 2, "either --param NAME=VALUES or --points FILE"),
        ("a.c --param n=8 -o out --jobs 2 --mpi", 2, "found --jobs and --mpi"),
        ("a.c --param n=8 -o out --args {n} -- {n}", 2, "found both"),
        ("a.c --param n -o out", 1, "expected NAME=VALUES"),
        ("a.c --points none.csv -o out", 1, "No such file"),
        ("a.c --param n=8 -o out --nodes 0", 2, "node counts"),
        ("--gather none", 1, "expected the directory of a sweep"),
    ],
)
def test_wrong_usage(
    words: str, status: int, found: str, runner: Runner, capsys: Capture, tmp_path: Path
) -> None:
    assert main(["sweep", *words.split()]) == status
    assert found in capsys.readouterr().err
    assert runner.sweeps == []


def test_parameters_are_checked_before_anything_is_made(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    assert main(["sweep", "a.c", "--param", "n=8", "--args", "{m}", "-o", str(out), "--jobs", "1"]) == 1
    assert "expected parameters in braces, found {m}" in capsys.readouterr().err
    assert not out.exists()


def test_dask_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["sweep", "a.c", "--param", "n=8", "--args", "{n}", "-o", "out", "--dask", "tcp://h:1"]) == 1
    assert "commanalyzer[dask]" in capsys.readouterr().err
