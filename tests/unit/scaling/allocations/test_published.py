"""Tables 1 and 2 of Papadopoulou et al. (2017), evaluated here from the print, against the machine files."""

import numpy as np
import pytest

from commanalyzer.foundation.errors import FitError
from commanalyzer.machine.machine_file import load_machine
from commanalyzer.scaling.allocations.metrics import model_of


def _check(machine: str, area: str, expected_s: float, **metrics: float) -> None:
    columns = {name: np.array([float(value)]) for name, value in metrics.items()}
    found = model_of(load_machine(machine)).predict(columns)
    assert found.area[0] == area
    assert found.time_s[0] == pytest.approx(expected_s, rel=1e-12)


def test_vilje_area_1a() -> None:
    # 16 nodes x 8, one message of 1 kB per process to another node; 2 switches, 1 rack.
    ppn, s, ni, nt, r = 8.0, 1024.0, 8.0, 8192.0, 1.0
    expected = (
        6.6111e-6 + 5.8226e-12 * ppn * nt + -1.42e-13 * s * nt + -5.967e-11 * r * nt + 2.1315e-08 * ppn * ni
        + 1.0384e-9 * s * ni + 8.1344e-8 * r * ni + -5.9903e-16 * ppn * s * nt + 1.2994e-12 * ppn * r * nt
        + 1.2228e-14 * s * r * nt + -4.7418e-9 * ppn * r * ni + -3.7129e-16 * ppn * s * r * nt
    )  # fmt: skip
    _check("vilje", "Ia", expected, PPN=ppn, S=s, NI=ni, NT=nt, R=r, SW=2, V=131072)


def test_vilje_area_1b() -> None:
    # 32 nodes x 2, one message of 16 kB; 4 switches in 2 racks.
    s, nt, v, ratio = 16384.0, 32768.0, 1048576.0, 4 / 2
    expected = (
        7.7787e-10 * s + 1.2193e-6 * ratio + -6.1059e-11 * s * ratio + 2.8278e-10 * nt + 1.2398e-12 * v
        + -5.7408e-15 * s * nt + 2.6589e-11 * ratio * nt + 3.6211e-18 * s * v + -1.8116e-13 * ratio * v
        + 6.9513e-16 * s * ratio * nt + 2.3784e-18 * s * ratio * v
    )  # fmt: skip
    _check("vilje", "Ib", expected, PPN=2, S=s, NI=2, NT=nt, R=2, SW=4, V=v)


def test_vilje_area_2() -> None:
    # 64 nodes x 16, four messages of 256 kB; 8 switches, 1 rack.
    ppn, s, sw = 16.0, 262144.0, 8.0
    nt = ppn * 4 * s
    expected = (
        -3.5128e-11 * s + -1.3962e-11 * ppn * s + 1.8077e-11 * sw * s + -1.0744e-12 * ppn * s * sw
        + 2.5808e-10 * nt + -3.8401e-12 * ppn * nt + 4.5466e-18 * s * nt + 1.3029e-11 * sw * nt
        + 1.5495e-19 * ppn * s * nt + 3.5872e-13 * ppn * sw * nt + -1.6864e-19 * s * sw * nt
        + 2.1983e-20 * ppn * s * sw * nt
    )  # fmt: skip
    _check("vilje", "II", expected, PPN=ppn, S=s, NI=64, NT=nt, R=1, SW=sw, V=64 * nt)


def test_piz_daint_area_1a() -> None:
    # 32 nodes on 8 routers of 2 chassis, 4 messages of 1 kB from each of 2 processes.
    ni, per_router, c = 8.0, 32 / 8, 2.0
    expected = (
        1.816e-5 + 5.0144e-8 * ni + -2.927e-6 * per_router + 3.2788e-8 * ni * per_router + -6.4923e-7 * c
        + 1.3872e-8 * ni * c + 2.9738e-7 * per_router * c + -1.8538e-9 * ni * c * per_router
    )  # fmt: skip
    _check("piz-daint", "Ia", expected, N=32, A=8, C=c, PPN=2, S=1024, PT=4096, NI=ni, NT=8192)


def test_piz_daint_area_1b() -> None:
    # 64 nodes on 16 routers of 1 chassis, 8 messages of 4 kB from the only process.
    ppn, ni, nt, per_chassis = 1.0, 8.0, 32768.0, 16 / 1
    expected = (
        2.0604e-5 + -1.7625e-5 * ppn + 1.9318e-10 * nt + 2.7981e-7 * ni + 7.5479e-7 * per_chassis
        + 5.3778e-13 * ppn * nt + -1.98e-8 * ppn * ni + 2.7822e-12 * nt * per_chassis
    )  # fmt: skip
    _check("piz-daint", "Ib", expected, N=64, A=16, C=1, PPN=ppn, S=4096, PT=32768, NI=ni, NT=nt)


def test_piz_daint_area_2() -> None:
    ppn, nt = 8.0, 8 * 4 * 65536.0
    expected = 7.0526e-5 + -2.7899e-5 * ppn + 2.2196e-10 * nt + 1.4061e-11 * nt * ppn
    _check("piz-daint", "II", expected, N=64, A=16, C=1, PPN=ppn, S=65536, PT=4 * 65536, NI=32, NT=nt)


def test_printed_formulas_below_zero_are_cut_off_and_marked() -> None:
    # 7.05e-5 - 8 x 2.79e-5 < 0: little traffic from 8 processes.
    metrics = {"N": 16, "A": 4, "C": 1, "PPN": 8, "S": 16384, "PT": 16384, "NI": 8, "NT": 131072}
    found = model_of(load_machine("piz-daint")).predict({k: np.array([float(v)]) for k, v in metrics.items()})
    assert found.time_s[0] == 0.0
    assert found.is_clamped[0]


def test_out_of_range_is_marked_and_missing_metrics_are_named() -> None:
    model = model_of(load_machine("piz-daint"))
    metrics = {"A": 4, "C": 1, "PPN": 1, "S": 65536, "PT": 65536, "NI": 1, "NT": 65536}
    columns = {k: np.full(3, float(v)) for k, v in metrics.items()}
    found = model.predict(columns | {"N": np.array([8.0, 128.0, 129.0])})
    assert found.is_beyond.tolist() == [False, False, True]
    del columns["A"]
    with pytest.raises(FitError, match="found no A") as caught:
        model.predict(columns | {"N": np.full(3, 8.0)})
    assert "[[units]]" in str(caught.value.hint)
