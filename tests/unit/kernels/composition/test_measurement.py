from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import ArtifactError, CompileError, ConfigError, TargetRunError
from commanalyzer.kernels.composition.answer import load_design
from commanalyzer.kernels.composition.measurement import BlockRequest, load_block, measure_block, save_block
from commanalyzer.kernels.composition.models import TimeTable

# Checks its input: fresh, the same sequence in every run, and of the size asked for.
SOURCE = """
#include <stddef.h>
#include <stdlib.h>
void block(int *data, size_t n) {
    long sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (data[i] < 0) abort(); /* seen before */
        sum += data[i];
        data[i] = -1;
    }
    if (sum == 0) exit(3);
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("block") / "block.c"
    path.write_text(SOURCE)
    return path


def request(source: Path) -> BlockRequest:
    return BlockRequest((source,), "block", sizes=(64, 256, 4096), repetitions=8)


def test_a_function_is_measured_and_read_back(source: Path, tmp_path: Path) -> None:
    done: list[int] = []
    block = measure_block(request(source), done.append)
    assert done == [64, 256, 4096] == [t.size for t in block.times]
    for t in block.times:
        assert 0 < t.seconds.low <= t.seconds.median <= t.seconds.high
        assert t.seconds.num_values == 8
    # 4096 reads and writes take longer than 64, on the busiest of machines
    assert block.times[2].seconds.low > block.times[0].seconds.low
    path = tmp_path / "block.json"
    save_block(block, path)
    again = load_block(path)
    assert again == replace(block, provenance=again.provenance)
    design = 'system = "tpool(2, block)"\nat = { n = 256 }\ncores = 2\n[blocks.block]\ntable = "block.json"\n'
    (tmp_path / "design.toml").write_text(design)
    table = load_design(tmp_path / "design.toml").models["block"]
    assert isinstance(table, TimeTable)
    assert table.predict({"n": np.array([256.0])})[0] == pytest.approx(block.times[1].seconds.median)


def test_a_command_is_measured() -> None:
    block = measure_block(BlockRequest(command="sleep 0.0{n}", sizes=(1, 4), repetitions=2))
    assert block.times[0].seconds.low >= 0.01
    assert block.times[1].seconds.low >= 0.04


def test_what_fails(source: Path, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="void other"):
        measure_block(replace(request(source), function="other"))
    with pytest.raises(TargetRunError, match="status"):
        measure_block(BlockRequest(command="false {n}", sizes=(1, 2), repetitions=2))
    with pytest.raises(TargetRunError, match="too long"):
        measure_block(BlockRequest(command="sleep {n}", sizes=(1, 2), repetitions=2, timeout_s=0.2))
    with pytest.raises(ConfigError, match="expected a command"):
        measure_block(BlockRequest(command=f"{tmp_path}/none {{n}}", sizes=(1, 2), repetitions=2))
    broken = tmp_path / "laws.json"
    broken.write_text(
        '{"kind": "commanalyzer.laws", "schema": 1, "program": "", "provenance": {}, "laws": []}'
    )
    with pytest.raises(ArtifactError, match="measured times"):
        load_block(broken)


@pytest.mark.parametrize(
    "changes",
    [
        {"command": "x {n}"},
        {"sources": (), "command": "x"},
        {"function": "a b"},
        {"sizes": (4,)},
        {"sizes": (0, 4)},
    ],
)
def test_wrong_requests(source: Path, changes: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        replace(request(source), **changes)  # type: ignore[arg-type]
