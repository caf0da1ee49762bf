"""``commanalyzer machine`` with real ranks: the shape of what it writes, not its numbers."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.cli.main import main
from commanalyzer.machine.measuring.samples import read_samples
from commanalyzer.machine.parameters import read_machine
from tests.e2e.command import commanalyzer, leftovers
from tests.native import ROOT, NativeRun, compile_native, run

MPIEXEC = Path(sys.executable).with_name("mpiexec")
NO_VARIABLES: dict[str, str] = {}
RELAXATION = """
#include <stdio.h>
static double x[64];
int main(void) {
  for (int step = 0; step < 10; step++)
    for (int i = 0; i < 64; i++)
      x[i] = x[i] * 0.5 + 1.0;
  printf("%g\\n", x[63]);
  return 0;
}
"""


def _run(*words: str, folder: Path, ranks: int = 0, variables: dict[str, str] = NO_VARIABLES) -> NativeRun:
    assert MPIEXEC.is_file(), "mpich belongs to the package's dependencies"
    launcher = [str(MPIEXEC), "-n", str(ranks)] if ranks else []
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    return run(*launcher, sys.executable, *words, cwd=folder, env=environment)


def _machine(
    *words: str, folder: Path, ranks: int = 0, variables: dict[str, str] = NO_VARIABLES
) -> NativeRun:
    if not ranks:
        done = commanalyzer(folder, "machine", *words, extra=variables)
        return NativeRun(done.status, done.out, done.err)
    return _run("-m", "commanalyzer", "machine", *words, folder=folder, ranks=ranks)


def test_two_ranks_measure_a_machine(tmp_path: Path) -> None:
    options = ["--sizes", "8,4KiB", "--repetitions", "8", "--series-time", "20ms", "--seed", "7"]
    done = _machine("measure", "-o", "two.toml", *options, ranks=2, folder=tmp_path)
    assert done.status == 0, done.stderr
    assert "wrote two.toml" in done.stdout
    assert "all ranks share one host" in done.stdout
    machine = read_machine(tmp_path / "two.toml")
    # on a busy host a difference of two times may come out negative; such a parameter is left out, and said
    missing = {key for key in ("message_overhead", "gap", "latency") if f"{key} was left out" in done.stdout}
    everything = {"bandwidth", "overlap", "latency", "message_overhead", "gap", "allreduce", "bcast"}
    assert set(machine.parameters) == everything - missing
    assert {p.source for p in machine.parameters.values()} == {"measured"}
    for key in ("bandwidth", "allreduce", "bcast"):
        curve = machine.parameters[key].curve
        assert curve is not None
        assert (curve.nodes, curve.message_bytes) == ((2.0,), (8.0, 4096.0))
    series, provenance = read_samples(tmp_path / "two.samples.json.gz")
    assert (provenance["ranks"], provenance["hosts"], provenance["seed"]) == (2, 1, 7)
    assert "MPICH" in str(provenance["library"])
    assert all(s.times_s.shape[0] == 2 and 6 <= s.times_s.shape[1] <= 8 for s in series)
    assert sum(s.benchmark == "matching" for s in series) == 2
    (trips,) = (s for s in series if s.benchmark == "round_trip")
    assert np.array_equal(np.isfinite(trips.times_s).all(axis=1), [True, False])
    shown = _machine("show", "two.toml", "--all", folder=tmp_path)
    assert shown.status == 0
    assert "4.1 kB" in shown.stdout


def test_rank_0_says_what_is_wrong_once(tmp_path: Path) -> None:
    (tmp_path / "there.toml").write_text("mine")
    done = _machine("measure", "-o", "there.toml", ranks=2, folder=tmp_path)
    assert done.status == 1
    assert done.stderr.count("found an existing one") == 1
    assert (tmp_path / "there.toml").read_text() == "mine"
    assert list(tmp_path.iterdir()) == [tmp_path / "there.toml"]
    words = ["--program", "none.cmz", "--", "true"]
    done = _machine("measure", "-o", "new.toml", *words, ranks=2, folder=tmp_path)
    assert done.status == 1
    assert done.stderr.count("none.cmz") == 1


def test_a_rank_that_fails_ends_all(tmp_path: Path) -> None:
    script = tmp_path / "failing.py"
    script.write_text(
        "import sys\n"
        "from commanalyzer.cli.main import main\n"
        "from commanalyzer.machine.measuring import mpi, samples\n"
        "def fail(*_):\n"
        "    raise ValueError('on purpose')\n"
        "if mpi.launcher_rank() == 1:\n"
        "    samples.kernels.collective_times = fail\n"
        "sys.exit(main(['machine', 'measure', '-o', 'm.toml', '--sizes', '8']))\n"
    )
    done = _run(str(script), ranks=2, folder=tmp_path)
    assert done.status != 0
    assert "rank 1: ValueError: on purpose" in done.stderr
    assert list(tmp_path.iterdir()) == [script]


def test_one_rank_is_no_network(tmp_path: Path) -> None:
    done = _machine("measure", "-o", "m.toml", folder=tmp_path)
    assert done.status == 1
    assert "at least 2 ranks" in done.stderr
    assert "mpiexec -n" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]
    assert leftovers(tmp_path) == []


def test_the_launcher_of_another_library_is_noticed(tmp_path: Path) -> None:
    variables = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"}
    done = _machine("measure", "-o", "m.toml", folder=tmp_path, variables=variables)
    assert done.status == 1
    assert "expected 4 ranks" in done.stderr
    assert "MPICH" in done.stderr
    others = _machine("measure", "-o", "m.toml", folder=tmp_path, variables=variables | {"SLURM_PROCID": "1"})
    assert (others.status, others.stderr) == (1, "")


def test_throughput_of_the_analysed_program(tmp_path: Path) -> None:
    source = tmp_path / "relax.c"
    source.write_text(RELAXATION)
    compile_native(source, tmp_path / "relax", "-O2")
    words = ["-m", "commanalyzer", "analyze", "relax.c", "--nodes", "2", "-o", "relax.cmz", "-q"]
    analysed = _run(*words, folder=tmp_path)
    assert analysed.status == 0, analysed.stderr
    (tmp_path / "base.toml").write_text('name = "base"\nbandwidth = "1GB/s"\n')
    words = ["--program", "relax.cmz", "--base", "base.toml", "--runs", "3", "--", "./relax"]
    done = _machine("measure", "-o", "m.toml", *words, folder=tmp_path)
    assert done.status == 0, done.stderr
    machine = read_machine(tmp_path / "m.toml")
    assert set(machine.parameters) == {"bandwidth", "throughput"}
    (series,), _ = read_samples(tmp_path / "m.samples.json.gz")
    assert (series.benchmark, series.times_s.shape) == ("program", (1, 3))
    assert machine.throughput is not None
    # 10 x 64 multiplications and additions per run
    assert machine.throughput.value == pytest.approx(1280 / np.median(series.times_s), rel=1e-3)


def test_a_base_that_is_not_there(tmp_path: Path) -> None:
    done = _machine("measure", "-o", "m.toml", "--base", "no-such-machine", folder=tmp_path)
    assert done.status == 1
    assert "no-such-machine" in done.stderr
    assert "hpdc18-opa" in done.stderr


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--program", "none.cmz"], "belong together"),
        (["--", "./a"], "belong together"),
        (["--sizes", "7"], "multiples of 8"),
        (["--repetitions", "2"], "2"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str], found: str) -> None:
    assert main(["machine", "measure", "-o", "m.toml", *words]) == 2
    assert found in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("mpiexec.openmpi"), reason="needs Open MPI (Debian: openmpi-bin)")
def test_open_mpi_s_launcher_gets_open_mpi(tmp_path: Path) -> None:
    launcher = ["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    options = ["--sizes", "8", "--repetitions", "6", "--series-time", "20ms", "-q"]
    command = [sys.executable, "-m", "commanalyzer", "machine", "measure", "-o", "m.toml", *options]
    done = run(*launcher, *command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.status == 0, done.stderr
    assert 'library = "Open MPI' in (tmp_path / "m.toml").read_text()
