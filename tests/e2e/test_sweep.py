"""Sweeps as a user runs them: killed and resumed, with failing points, on processes, MPI, Dask and Slurm.

The program appends its n to a file whenever it runs: twice per analysis, plain and recorded.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from commanalyzer.scaling.sweep.table import NAMES, SweepTable, load_table
from tests.e2e.command import Done, commanalyzer, surroundings, words
from tests.native import run
from tests.unit.scaling.sweep.test_spec import SUBMIT

# Points of a line, averaged from one array into the other and copied back: 3 steps.
LINE_C = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    FILE *log = fopen(argv[2], "a");
    fprintf(log, "%d\\n", n);
    fclose(log);
    const char *gate = getenv("GATE");
    while (gate && n >= 42 && access(gate, F_OK)) usleep(10000);
#ifdef BROKEN
    broken;
#endif
    double *u = malloc(n * sizeof *u), *v = malloc(n * sizeof *v);
    for (int i = 0; i < n; i++) u[i] = i;
    for (int t = 0; t < 3; t++) {
        for (int i = 1; i < n - 1; i++) v[i] = 0.5 * (u[i - 1] + u[i + 1]);
        for (int i = 1; i < n - 1; i++) u[i] = v[i];
    }
    printf("%g\\n", u[n / 2]);
    return 0;
}
"""
STEPS = 3
COSTS = {
    *("native_s", "record_s", "compile_s", "graph_s", "partition_s", "count_s"),
    *("peak_rss_bytes", "tool_rss_bytes", "result"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "line.c").write_text(LINE_C)
    return tmp_path


def runs(folder: Path) -> Counter[int]:
    """How often the program ran, by n."""
    log = folder / "log"
    return Counter(map(int, log.read_text().split())) if log.exists() else Counter()


def sweep(folder: Path, n: str, *more: object, output: str = "out", **options: Any) -> Done:
    line = ("sweep", "line.c", "--param", f"n={n}", "--args", "{n} log", "-o", output, *more)
    return commanalyzer(folder, *line, **options)


def assert_theory(table: SweepTable) -> None:
    """A line in p pieces: 8 bytes each way across each of p - 1 cuts, every step."""
    expected = 16 * STEPS * (table.column("nodes") - 1)
    assert np.array_equal(table.column("comm_bytes"), expected)
    assert np.array_equal(table.column("work_flops"), 2 * STEPS * (table.numbers("n") - 2))
    # u as a whole, v but for its ends; doubles
    assert np.array_equal(table.column("footprint_bytes"), 8 * (2 * table.numbers("n") - 2))


def settled(table: SweepTable) -> dict[str, list[str]]:
    """Everything that does not depend on how fast the machine was, as text (NaN is equal to NaN)."""
    return {name: table.column(name).astype(str).tolist() for name in ("n", *NAMES) if name not in COSTS}


def finished(folder: Path) -> set[str]:
    return {path.stem for path in (folder / "out" / "results").glob("*.json")}


def killed_in_the_middle(folder: Path, n: str) -> None:
    """Start a sweep and kill it, without a chance to tidy up, when two points are finished.

    Programs of 42 and more wait at a gate that is never opened: however slow this process is, some are left.
    """
    line = ("sweep", "line.c", "--param", f"n={n}", "--args", "{n} log", "-o", "out", "--nodes", "2")
    with (folder / "err").open("w") as err:
        process = subprocess.Popen(
            words(*line, "--jobs", "2"),
            cwd=folder,
            env=surroundings(folder, {"GATE": str(folder / "gate")}),
            stdout=err,
            stderr=err,
        )
    end_s = time.monotonic() + 600
    while len(finished(folder)) < 2:
        assert process.poll() is None and time.monotonic() < end_s, (folder / "err").read_text()
        time.sleep(0.01)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    # Workers, and programs they run, end by themselves.
    _, alive = psutil.wait_procs(workers, timeout=300)
    assert alive == []


def test_a_killed_sweep_goes_on_where_it_was(folder: Path) -> None:
    n = "40..43"
    killed_in_the_middle(folder, n)
    before = {name: (folder / "out" / "results" / f"{name}.json").read_text() for name in finished(folder)}
    done_before = {int(json.loads(text)["parameters"]["n"]) for text in before.values()}
    assert 2 <= len(done_before) < 4
    runs_before = runs(folder)
    done = sweep(folder, n, "--nodes", 2, "--jobs", 2)
    assert done.status == 0, done.err
    # Nothing is lost, nothing is repeated.
    assert {k: runs(folder)[k] - runs_before[k] for k in range(40, 44)} == {
        k: 0 if k in done_before else 2 for k in range(40, 44)
    }
    for name, text in before.items():
        assert (folder / "out" / "results" / f"{name}.json").read_text() == text
    table = load_table(folder / "out")
    assert table.column("n").tolist() == list(range(40, 44))
    assert_theory(table)
    # The same table as of a sweep that nobody killed, by one process.
    alone = sweep(folder, n, "--nodes", 2, "--jobs", 1, output="alone")
    assert alone.status == 0, alone.err
    assert settled(table) == settled(load_table(folder / "alone"))
    assert [path.name for path in (folder / "out" / "results").iterdir() if path.suffix == ".tmp"] == []


def test_failed_points_do_not_stop_the_others_and_can_be_tried_again(folder: Path) -> None:
    (folder / "points.csv").write_text("n,flag\n24,OK\n32,BROKEN\n1,OK\n")
    given = ("line.c", "--points", "points.csv", "--cflags", "-D{flag}")
    line = ("sweep", *given, "-o", "out", "--nodes", 2, "--jobs", 1)
    done = commanalyzer(folder, *line, "--", "{n}", "log")
    assert done.status == 4, done.err
    assert "failed: n=32 flag=BROKEN" in done.out and "use of undeclared identifier 'broken'" in done.out
    assert "failed: n=1 flag=OK" in done.out
    table = load_table(folder / "out")
    assert table.column("n").tolist() == [24.0]
    costs = ("record_s", "compile_s", "graph_s", "partition_s", "count_s", "tool_rss_bytes", "graph_bytes")
    assert all(table.numbers(name)[0] > 0 for name in costs)
    state = json.loads((folder / "out" / "sweep.json").read_text())
    assert (state["kind"], state["schema"]) == ("commanalyzer.sweep", 1)
    assert [point["state"] for point in state["points"]] == ["finished", "failed", "failed"]
    assert state["points"][1]["error"]["kind"] == "CompileError"
    # Failures are remembered; a corrected source is another program.
    again = commanalyzer(folder, *line, "--", "{n}", "log")
    assert again.status == 4 and runs(folder)[1] == 2
    retried = commanalyzer(folder, *line, "--retry-failed", "--", "{n}", "log")
    assert retried.status == 4 and runs(folder)[1] == 4 and runs(folder)[24] == 2
    gathered = commanalyzer(folder, "sweep", "--gather", "out")
    assert gathered.status == 4 and "failed: n=1 flag=OK" in gathered.out


@pytest.mark.slow
def test_more_node_counts_need_no_new_run(folder: Path) -> None:
    machine = ("--bandwidth", "1GB/s", "--throughput", "1GFlop/s")
    assert sweep(folder, "32", "--nodes", 2).status == 0
    assert sweep(folder, "32,40", "--nodes", "2,4", *machine).status == 0
    assert runs(folder) == {32: 2, 40: 2}
    table = load_table(folder / "out")
    assert table.column("n").tolist() == [32, 32, 40, 40]
    assert_theory(table)
    # Analysed on its own, a point gives the same.
    assert sweep(folder, "32", "--nodes", "2,4", *machine, output="one").status == 0
    assert settled(load_table(folder / "one")) == settled(table.where(table.numbers("n") == 32))


@pytest.mark.slow
def test_ranks_of_mpi_analyse_points(folder: Path) -> None:
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("no mpiexec beside Python")
    done = sweep(folder, "24,32,40", "--nodes", "2", "--mpi", before=(str(mpiexec), "-n", "3"))
    assert done.status == 0, done.err
    assert runs(folder) == {24: 2, 32: 2, 40: 2}
    assert_theory(load_table(folder / "out"))
    alone = sweep(folder, "24", "--mpi", output="alone")
    assert alone.status == 1 and "expected at least 2 ranks" in alone.err


DASK = """
import subprocess, sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        sys.exit(subprocess.run([*sys.argv[1:], "--dask", cluster.scheduler_address]).returncode)
"""


@pytest.mark.slow
def test_workers_of_dask_analyse_points(folder: Path) -> None:
    pytest.importorskip("distributed")
    (folder / "cluster.py").write_text(DASK)
    done = sweep(folder, "24,32", "--nodes", "2", before=(sys.executable, str(folder / "cluster.py")))
    assert done.status == 0, done.err
    assert runs(folder) == {24: 2, 32: 2}
    assert_theory(load_table(folder / "out"))


@pytest.mark.slow
def test_a_slurm_script_analyses_and_gathers(folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "sbatch").write_text(SUBMIT)
    (folder / "bin" / "sbatch").chmod(0o755)
    assert sweep(folder, "24", "--nodes", 2).status == 0
    done = sweep(folder, "24,32", "--nodes", 2, "--slurm", "job.sh", "--slurm-options", "--mem=2G -t 10")
    assert done.status == 0 and "wrote job.sh (1 tasks)" in done.out
    script = (folder / "job.sh").read_text()
    assert "points=(1)\n" in script and "#SBATCH --mem=2G\n" in script
    assert runs(folder) == {24: 2}
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    known = {"JOB": "SLURM_JOB_ID", "TASK": "SLURM_ARRAY_TASK_ID", "SAID": "7", "NONE": ""}
    environment = {**surroundings(folder), **known, "PATH": path, "CALLS": str(folder / "calls")}
    submitted = run("bash", "job.sh", cwd=folder, env=environment)
    assert submitted.status == 0
    assert runs(folder) == {24: 2, 32: 2}, (folder / "calls.out").read_text()
    assert_theory(load_table(folder / "out"))
    assert load_table(folder / "out").column("n").tolist() == [24, 32]
    other = sweep(folder, "24,33", "--nodes", 2, "--task", 1)
    assert other.status == 1 and "expected the program and options of the prepared sweep" in other.err
