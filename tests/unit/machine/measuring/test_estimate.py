"""Parameters computed by hand from made-up timings."""

import sys

import numpy as np
import pytest

from commanalyzer.foundation.errors import MachineModelError, TargetRunError
from commanalyzer.machine.measuring.job import estimate_network, estimate_throughput, run_times
from commanalyzer.machine.measuring.samples import Series
from commanalyzer.machine.parameters import Curve

NAN = np.nan


def _series(benchmark: str, ranks: int, size: int, times_s: list[list[float]], messages: int = 1) -> Series:
    return Series(benchmark, ranks, size, messages, np.array(times_s))


def _overlap(role: str, size: int, base: float, work: float, elapsed: float) -> list[Series]:
    parts = {"base": base, "work": work, "elapsed": elapsed}
    return [_series(f"overlap.{role}.{part}", 2, size, [[t], [t]]) for part, t in parts.items()]


def _all(overhead_s: float = 2e-6) -> list[Series]:
    return [
        # 4 messages of 1000 B: rates from mean times 4 us, 5 us (2 ranks), 8 us (4 ranks)
        _series("matching", 2, 1000, [[3e-6, 5e-6], [4e-6, 4e-6]], 4),
        _series("matching", 2, 2000, [[5e-6, 5e-6], [5e-6, 5e-6]], 4),
        _series("matching", 4, 1000, [[8e-6, 8e-6]] * 4, 4),
        _series("matching", 4, 2000, [[12e-6, 20e-6]] * 4, 4),
        _series("ring", 4, 1000, [[8e-6, 8e-6]] * 4, 4),
        _series("ring", 4, 2000, [[20e-6, 20e-6]] * 4, 4),
        _series("round_trip", 4, 8, [[3e-6, 5e-6], [NAN, NAN], [4e-6, NAN], [NAN, 4e-6]]),
        _series("call", 4, 0, [[1e-7, 1e-7]] * 4),
        _series("send_overhead", 4, 8, [[1e-6, 1e-6], [NAN, NAN]]),
        _series("receive_overhead", 4, 8, [[NAN, NAN], [2 * overhead_s - 1e-6] * 2]),
        _series("gap", 4, 8, [[NAN, NAN], [3e-6, 5e-6]]),
        *_overlap("send", 8, 10.0, 20.0, 20.0),
        *_overlap("receive", 8, 10.0, 20.0, 30.0),
        *_overlap("exchange", 8, 10.0, 20.0, 29.0),
        *_overlap("send", 1000, 10.0, 20.0, 28.0),
        *_overlap("receive", 1000, 10.0, 20.0, 28.0),
        *_overlap("exchange", 1000, 10.0, 20.0, 26.0),
        *(
            _series(name, ranks, size, [[ranks * 1e-6, ranks * 2e-6], [ranks * 3e-6, ranks * 1e-6]])
            for name in ("allreduce", "bcast")
            for ranks in (2, 4)
            for size in (8, 1000)
        ),
    ]


def test_every_parameter_by_hand() -> None:
    machine, remarks = estimate_network(_all(), name="m", date="2026-01-31")
    assert remarks == ()
    known = machine.parameters
    assert {p.source for p in known.values()} == {"measured"}
    assert {p.date for p in known.values()} == {"2026-01-31"}
    values = {key: p.value for key, p in known.items()}
    assert values == pytest.approx(
        {
            "bandwidth": 8000 / 16e-6,  # most ranks, largest message
            "overlap": (0.5 + 0.4) / 2,  # 8 B: mean(1, 0) > 0.1; 1000 B: mean(0.2, 0.2) < 0.4
            "latency": 1.9e-6,  # median of 1.5, 2.5, 2, 2 us less 0.1 us
            "message_overhead": 2e-6,  # mean of 1 and 3 us
            "gap": 4e-6,
            "allreduce": 10e-6,  # 4 ranks: the slowest take 12 and 8 us
            "bcast": 10e-6,
        }
    )
    assert known["bandwidth"].curve == Curve((2.0, 4.0), (1000.0, 2000.0), (1e9, 1.6e9, 5e8, 5e8))
    assert known["overlap"].curve == Curve((), (8.0, 1000.0), (0.5, 0.4))
    assert known["bcast"].curve == Curve((2.0, 4.0), (8.0, 1000.0), (5e-6, 5e-6, 1e-5, 1e-5))
    assert "random rings 400 MB/s" in known["bandwidth"].note
    assert "send 0.60, receive 0.10, exchange 0.25" in known["overlap"].note
    assert machine.name == "m"


def test_what_cannot_be_told_is_left_out() -> None:
    machine, remarks = estimate_network(_all(overhead_s=-1e-9), name="m", date="2026-01-31")
    assert machine.message_overhead is None
    assert machine.gap is not None
    assert remarks == ("message_overhead was left out: -1e-09 s is noise",)


def test_a_curve_with_noise_is_left_out() -> None:
    series = [s for s in _all() if not (s.benchmark == "matching" and s.num_ranks == 2)]
    series.append(_series("matching", 2, 1000, [[9.0], [9.0]], 4))  # 444 B/s
    series.append(_series("matching", 2, 2000, [[5e-6], [5e-6]], 4))
    machine, remarks = estimate_network(series, name="m", date="2026-01-31")
    assert machine.bandwidth is not None
    assert (machine.bandwidth.value, machine.bandwidth.curve) == (5e8, None)
    assert len(remarks) == 1
    assert remarks[0].startswith("bandwidth has no values over ranks")


def test_what_spoils_the_numbers_is_in_every_note() -> None:
    machine, _ = estimate_network(_all(), name="m", date="2026-01-31", flags=("one host", "not pinned"))
    assert all(p.note.startswith("[one host, not pinned] ") for p in machine.parameters.values())


def test_hidden_completely_is_not_free() -> None:
    series = [s for s in _all() if not s.benchmark.startswith("overlap")]
    series += [s for role in ("send", "receive", "exchange") for s in _overlap(role, 8, 10.0, 20.0, 20.0)]
    machine, _ = estimate_network(series, name="m", date="2026-01-31")
    assert machine.overlap is not None and machine.overlap.value == 0.99


def test_throughput() -> None:
    found = estimate_throughput(6e9, np.array([2.0, 4.0, 3.0]), date="2026-01-31", note="./a")
    assert (found.value, found.unit, found.source, found.date) == (2e9, "Flop/s", "measured", "2026-01-31")
    assert "./a; wall time 3 s, 75.0 % CI [2 s, 4 s] of 3" in found.note


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
