import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from commanalyzer import AllocationOptions, advise, fit, save
from commanalyzer.cli.main import main
from commanalyzer.foundation.errors import ArtifactError, ConfigError, MachineModelError
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.report.scaling.allocations_text import allocations_json
from commanalyzer.result.results import WorkCounts
from commanalyzer.scaling.laws.document import save_laws
from tests.samples import sample_decomposition, sample_result

RESULT = replace(
    sample_result(
        *(
            replace(each, imbalance=1.0)
            for each in (
                sample_decomposition(2, pair_bytes=60_000),
                sample_decomposition(2, pair_bytes=90_000, method="blocks", best=False),
                sample_decomposition(2, pair_bytes=30_000, model="hpdc18"),
                sample_decomposition(4, pair_bytes=60_000, bound=0.5),
            )
        ),
        machine=MachineParameters("m", throughput=Parameter(1e9, "Flop/s", "measured")),
    ),
    work=WorkCounts(1_000_000, 0, 0, 0),
)


def test_frame() -> None:
    pytest.importorskip("pandas")
    frame = RESULT.to_frame()
    assert frame["nodes"].tolist() == [2, 2, 2, 4]
    assert frame["comm_bytes"].tolist() == [60_000, 90_000, 30_000, 180_000]
    assert frame[frame.best & (frame.model == "volume")]["messages"].tolist() == [1, 3]
    assert frame["neighbours_max"].tolist() == [1, 1, 1, 2]
    assert frame["efficiency_bound"].isna().tolist() == [True, True, True, False]


def test_frame_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError) as caught:
        RESULT.to_frame()
    assert "pip install" in caught.value.hint


def test_bound_of_a_machine_file(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text('bandwidth = "1GB/s"')
    found = RESULT.bound(file)
    # 500 us + 60 us with the throughput that the analysis measured
    assert [p.num_nodes for p in found.points] == [1, 2, 4]
    assert found.points[1].time_s == pytest.approx(560e-6)
    assert found.points[1].method == "metis cut"
    fewer = RESULT.bound(file, nodes=[2], method="blocks")
    assert fewer.points[-1].time_s == pytest.approx(590e-6)
    # the paper's model does not tell hubs apart: its mean node sends 15 kB
    assert RESULT.bound(file, model="hpdc18").points[-1].time_s == pytest.approx(515e-6)


def test_parameters_of_a_bound_as_texts_and_numbers() -> None:
    given = RESULT.bound(throughput="2GFlop/s", bandwidth=1e9, latency="1us", nodes="2,4", overlap=None)
    assert [p.num_nodes for p in given.points] == [1, 2, 4]
    assert given.points[1].time_s == pytest.approx(250e-6 + 60e-6 + 1e-6)
    speed = Parameter(2e9, "Flop/s")
    again = RESULT.bound(nodes=[2, 4], bandwidth="8Gbit/s", latency=1e-6, overlap=0.0, throughput=speed)
    assert again.points == given.points
    with pytest.raises(MachineModelError, match="found unit 'apples'"):
        RESULT.bound(bandwidth="1 apples")
    with pytest.raises(MachineModelError, match=r"expected one of bandwidth, .*, found speed"):
        RESULT.bound(speed=1.0)


def test_some_node_counts() -> None:
    assert RESULT.on(4).decompositions == RESULT.on("4").decompositions == RESULT.decompositions[-1:]
    assert RESULT.decomposition("4") is RESULT.decomposition(4)
    with pytest.raises(ConfigError, match="found 3"):
        RESULT.on([3, 4])


def test_difference_of_divisions_that_some_node_counts_lack() -> None:
    (found,) = RESULT.diff(RESULT, method=("metis cut", "blocks"))
    assert repr(found) == (
        "Difference(p=2, volume, metis cut -> blocks, 60 kB -> 90 kB, "
        "not compared on 4 nodes, which have no metis cut or blocks)"
    )
    assert [item.nodes for item in RESULT.diff(RESULT, "2,4", method="metis cut")] == [2, 4]
    for nodes, method in ((4, "blocks"), (None, "spirals")):
        with pytest.raises(ConfigError, match=f"found '{method}'"):
            RESULT.diff(RESULT, nodes, method=method)


def test_report_of_several_results(tmp_path: Path) -> None:
    RESULT.report(tmp_path / "r.html", RESULT, machine="hpdc18-opa", throughput=1e9)
    assert "Omni-Path" in (tmp_path / "r.html").read_text()
    with pytest.raises(ArtifactError, match=r"overwrite it with force$"):
        RESULT.report(str(tmp_path / "r.html"))
    quoted = ArtifactError("unknown option --no-such", hint="give --force")  # what others say stays
    assert (str(quoted), quoted.text[-7:]) == ("unknown option --no-such\n  hint: give force", "--force")


def test_laws_of_results_and_advice(tmp_path: Path) -> None:
    laws = fit([RESULT, RESULT.on(2)], ["bytes", "work"])
    assert repr(laws).startswith("LawsDocument(comm_bytes = ")
    save_laws(laws, tmp_path / "laws.json")
    for known in (laws, tmp_path / "laws.json"):
        asked = advise(known, {}, nodes="1,2", bandwidth="1GB/s", throughput=1e9, efficiency=0.5)
        assert asked.curves[0].nodes.tolist() == [1, 2] and "largest=2" in repr(asked)
        curve = "100.0 % on 1, 94.3 % on 2"  # laws are of the mean node, which sends for 30 us
        assert repr(asked.curves[0]) == f"Projection(strong, efficiency at most {curve})"
    assert all("loo_error" in repr(law) and len(repr(law)) < 600 for law in laws.laws)


def test_python_has_the_allocations_of_the_command(tmp_path: Path) -> None:
    machine, out = tmp_path / "m.toml", tmp_path / "a.json"
    machine.write_text('bandwidth = "1GB/s"\nlatency = "2us"\ncores = 4\nmemory = "1GB"')
    save(RESULT, tmp_path / "r.cmz")
    save_laws(fit([RESULT, RESULT.on(2)], ["bytes", "messages", "work"]), tmp_path / "laws.json")
    words = "--allocations --throughput 1GFlop/s --nodes ..4 --ppn 1,2 --param n=4 --steps n --whole-nodes"
    asked = AllocationOptions(ppn=[1, 2], steps="n", whole_nodes=True)
    near, small = replace(asked, order="near"), replace(asked, memory="3GB")
    for source, own, option in (("r.cmz", near, "--order=near"), ("laws.json", small, "--memory=3GB")):
        given = [option, "--machine", str(machine), "--json", str(out), "--force"]
        assert main(["advise", str(tmp_path / source), *words.split(), *given]) == 0
        found = advise(tmp_path / source, {"n": 4}, machine, "1,2,4", allocations=own, throughput=1e9)
        assert json.loads(out.read_text()) == json.loads(allocations_json(found))
        with pytest.raises(ConfigError, match=r"^ppn: expected at most the 4 cores of a node, found 8$"):
            advise(tmp_path / source, {"n": 4}, machine, 2, allocations=replace(own, ppn=8), throughput=1e9)
        with pytest.raises(ConfigError, match=r"between 0 and 1, found 80$"):
            advise(tmp_path / source, {"n": 4}, machine, efficiency=80, allocations=own, throughput=1e9)


def test_parts_of_results_are_shown_in_a_line() -> None:
    """On 2 and 4 nodes 500 and 250 us of work, and 60 us of communication."""
    bounds = RESULT.bound(bandwidth="1GB/s")
    assert repr(bounds) == "ScalingBound(m, efficiency at most 100.0 % on 1, 89.3 % on 2, 80.6 % on 4)"
    assert repr(bounds.machine) == "MachineParameters(m, bandwidth 1e+09 B/s, throughput 1e+09 Flop/s)"
    assert repr(RESULT.best(4).communication) == "Communication(p=4, 180000 B, 3 messages)"
    assert all(len(repr(point)) < 300 for point in bounds.points)


def test_bound_refused() -> None:
    machine = MachineParameters(bandwidth=Parameter(1e9, "B/s"))
    with pytest.raises(ConfigError, match="found 3 "):
        RESULT.bound(machine, nodes=[1, 3])
    with pytest.raises(ConfigError, match="found 'spirals'"):
        RESULT.bound(machine, method="spirals")
    with pytest.raises(MachineModelError, match="no bandwidth"):
        RESULT.bound()
