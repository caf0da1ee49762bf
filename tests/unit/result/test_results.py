import datetime
import platform

import numpy as np
import pytest

from commanalyzer.division.owners import Owners
from commanalyzer.foundation.errors import ConfigError, GraphInvariantError
from commanalyzer.result.provenance import collect_provenance
from tests.samples import sample_decomposition, sample_result


def test_lookup() -> None:
    cheap = sample_decomposition(4)
    dear = sample_decomposition(4, method="blocks", best=False, pair_bytes=80)
    paper = sample_decomposition(4, model="hpdc18", pair_bytes=48)
    result = sample_result(cheap, dear, paper)
    assert result.nodes == (4,)
    assert result.models == ("volume", "hpdc18")
    assert result.best(4) is cheap
    assert result.best(4, "hpdc18") is paper
    assert result.decomposition(4, method="blocks") is dear
    np.testing.assert_array_equal(result.matrix(4), np.diag([40, 40, 40], k=1))
    assert cheap.comm_bytes == 120


def test_unknown_lookup_names_what_there_is() -> None:
    result = sample_result(sample_decomposition(2))
    with pytest.raises(ConfigError, match=r"expected 2 nodes \(volume\), found 3 \(volume\)"):
        result.best(3)
    with pytest.raises(ConfigError):
        result.matrix(2, "hpdc18")
    with pytest.raises(ConfigError, match="on 2 nodes one of metis cut, found 'blocks'"):
        result.matrix(2, method="blocks")


@pytest.mark.parametrize("bests", [(True, True), (False, False)])
def test_exactly_one_best(bests: tuple[bool, bool]) -> None:
    items = [sample_decomposition(2, method=str(i), best=best) for i, best in enumerate(bests)]
    with pytest.raises(GraphInvariantError, match="one best"):
        sample_result(*items)


def test_decomposition_checks_owners() -> None:
    good = sample_decomposition(2)
    with pytest.raises(GraphInvariantError, match="owners"):
        type(good)(
            2, "volume", "m", True, good.communication, Owners.of(np.array([2], dtype=np.int32)), 0.0, 1.0
        )
    with pytest.raises(GraphInvariantError, match="3 x 3"):
        type(good)(3, "volume", "m", True, good.communication, good.owners, 0.0, 1.0)


def test_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        sample_decomposition(2).part[0] = 1


def test_representations() -> None:
    result = sample_result(sample_decomposition(2, bound=0.875))
    assert repr(result) == "AnalysisResult(größe.c, 5 flop, 3 values, nodes [2])"
    assert repr(result.best(2)) == "Decomposition(p=2, volume, metis cut, 40 B, bound 87.5 %, best)"
    html = result._repr_html_()
    assert "<td>87.5 %</td>" in html
    assert html.count("<tr>") == 2


def test_slowdown() -> None:
    recording = sample_result().recording
    assert recording.slowdown == 2.0
    assert type(recording)(None, 1.0, 1).slowdown is None
    assert type(recording)(1e-4, 1.0, 1).slowdown is None


def test_provenance() -> None:
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    origin = collect_provenance(compiler="clang 22", flags=["-O1"], input_hashes=[("a.c", "00")], seed=3)
    given = origin.compiler, origin.flags, origin.input_hashes, origin.seed
    assert given == ("clang 22", ("-O1",), (("a.c", "00"),), 3)
    assert origin.host_class.startswith(f"{platform.system()} {platform.machine()}")
    assert datetime.datetime.fromisoformat(origin.created) >= before
    assert len(origin.git_revision) in (0, 40)
