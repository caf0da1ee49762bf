import gzip
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.machine.measuring.samples import Series, read_samples, write_samples

TIMES_S = np.array([[1.5e-6, np.nan], [2.0, 3.25e-7]])


def test_raw_timings_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "m.samples.json.gz"
    series = (Series("matching", 2, 4096, 20, TIMES_S), Series("call", 2, 0, 1, np.zeros((2, 0))))
    write_samples(path, series, {"seed": 1, "library": "MPICH"})
    found, provenance = read_samples(path)
    assert provenance == {"seed": 1, "library": "MPICH"}
    assert [(s.benchmark, s.num_ranks, s.message_bytes, s.num_messages) for s in found] == [
        ("matching", 2, 4096, 20),
        ("call", 2, 0, 1),
    ]
    assert np.array_equal(found[0].times_s, TIMES_S, equal_nan=True)
    assert found[1].times_s.shape == (2, 0)


def test_the_same_timings_give_the_same_file(tmp_path: Path) -> None:
    series = (Series("matching", 2, 4096, 20, TIMES_S.copy()),)
    paths = [tmp_path / name for name in ("a.json.gz", "b.json.gz")]
    for path in paths:
        write_samples(path, series, {})
    assert paths[0].read_bytes() == paths[1].read_bytes()


_OTHER = (b"no gzip", gzip.compress(b"no json", mtime=0), gzip.compress(b'{"kind": "x"}', mtime=0))


@pytest.mark.parametrize("content", _OTHER, ids=["text", "zipped text", "other kind"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.json.gz"
    path.write_bytes(content)
    with pytest.raises(MachineModelError) as caught:
        read_samples(path)
    assert str(path) in caught.value.where


def test_series_have_ranks_and_repetitions() -> None:
    with pytest.raises(ValueError, match=r"\(2,\)"):
        Series("matching", 2, 8, 1, np.zeros(2))
