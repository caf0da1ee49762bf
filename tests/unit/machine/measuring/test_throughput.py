import sys

import pytest

from commanalyzer.foundation.errors import MachineModelError, TargetRunError
from commanalyzer.machine.measuring.job import run_times


def test_runs_are_timed_after_a_warm_up(tmp_path_factory: pytest.TempPathFactory) -> None:
    log = tmp_path_factory.mktemp("runs") / "log"
    code = f"import time; open({str(log)!r}, 'a').write('x'); time.sleep(0.02)"
    times_s = run_times((sys.executable, "-c", code), 3)
    assert times_s.shape == (3,)
    assert times_s.min() >= 0.02
    assert log.read_text() == "xxxx"


def test_the_program_does_not_see_the_measurement_s_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    code = "import os, sys; sys.exit('PMI_RANK' in os.environ or os.environ['OMP_NUM_THREADS'] != '3')"
    assert run_times((sys.executable, "-c", code), 1).size == 1


def test_programs_that_fail_are_reported() -> None:
    with pytest.raises(TargetRunError, match="exit status 3: last"):
        run_times(
            (sys.executable, "-c", "import sys; print('first\\nlast', file=sys.stderr); sys.exit(3)"), 1
        )
    with pytest.raises(MachineModelError, match="found none"):
        run_times(("no-such-program-anywhere",), 1)
