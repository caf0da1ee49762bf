"""Every command on real programs: inputs of all kinds, outputs of all kinds."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.e2e.command import HEAT, Done, commanalyzer, leftovers, succeed
from tests.native import ROOT

Json = dict[str, Any]
SCHEMA = ROOT / "docs" / "reference" / "analysis-2.schema.json"

SUM_C = """
#include <stdio.h>
double scale(double);
double u[64], v[64];
int main(void) {
    for (int i = 0; i < 64; i++) u[i] = i;
    for (int i = 1; i < 63; i++) v[i] = scale(u[i - 1] + u[i + 1]);
    printf("%g\\n", v[62]);
    return 0;
}
"""
SCALE_C = "double scale(double x) { return 0.5 * x; }\n"
CXX = """
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>
static double checked(const std::vector<double> &v, std::size_t i) { return v.at(i); }
int main() {
    std::string word;
    std::cin >> word;
    std::vector<double> v;
    for (int i = 0; i < 50; i++) v.push_back(0.5 * i);
    double sum = 0.0;
    try {
        for (std::size_t i = 0;; i++) sum += checked(v, i) * 2.0;
    } catch (const std::out_of_range &) {
        std::cout << "caught " << sum << ' ' << word << ' ' << std::getenv("E2E_WORD") << std::endl;
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a saved result of heat2d, ``r.cmz``."""
    folder = tmp_path_factory.mktemp("saved")
    done = succeed(folder, "analyze", HEAT, "--nodes", "2,4", "--model", "both", "-o", "r.cmz", "--", 16, 3)
    assert "wrote r.cmz" in done.out
    return folder


def document(done: Done) -> Json:
    result: Json = json.loads(done.out)
    return result


def test_document_keeps_its_contract(tmp_path: Path) -> None:
    machine = ("--bandwidth", "1GB/s", "--throughput", "2e9", "--overlap", "0.5")
    words = ("analyze", HEAT, "--nodes", "2,4", "--model", "both", "--json", "-", *machine, "--", 16, 3)
    done = succeed(tmp_path, *words)
    assert "heat2d n 16 steps 3" in done.err, "the program's own output"
    found = json.loads(done.out)
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    assert found["command"] == ["heat2d.c", "16", "3"]
    bests = [(d["nodes"], d["model"]) for d in found["decompositions"] if d["best"]]
    assert sorted(bests) == [(2, "hpdc18"), (2, "volume"), (4, "hpdc18"), (4, "volume")]
    flops = found["work"]["flops"]
    for item in found["decompositions"]:
        matrix = item["comm_matrix"]
        assert len(matrix) == item["nodes"] == len(matrix[0])
        assert sum(map(sum, matrix)) == item["comm_bytes"]
        assert all(matrix[i][i] == 0 for i in range(len(matrix)))
        assert item["comm_bytes_low"] <= item["comm_bytes"] <= item["comm_bytes_high"]
        assert item["intensity"] == pytest.approx(item["comm_bytes"] / flops)
        # Paper Eq. 4 with R = 2 Gflop/s, B = 1 GB/s, O = 0.5: R (1 - O) / B = 1 flop per byte.
        assert item["efficiency_bound"] == pytest.approx(1.0 / (1.0 + item["intensity"]))
        assert item["imbalance"] >= 1.0
    assert leftovers(tmp_path) == []


def test_existing_files_are_kept_without_force(saved: Path) -> None:
    before = (saved / "r.cmz").read_bytes()
    done = commanalyzer(saved, "partition", "r.cmz", "--nodes", 2, "-o", "r.cmz")
    assert done.status == 1
    assert "--force" in done.err
    assert (saved / "r.cmz").read_bytes() == before
    shutil.copy(saved / "r.cmz", saved / "copy.cmz")
    succeed(saved, "partition", "copy.cmz", "--nodes", 8, "-o", "copy.cmz", "--force")
    assert [d["nodes"] for d in _shown(saved, "copy.cmz") if d["best"]] == [8]


def _shown(folder: Path, name: str) -> Any:
    return document(succeed(folder, "show", name, "--json", "-"))["decompositions"]


def without_seconds(items: Any) -> list[dict[str, object]]:
    """Decompositions without the time that finding them took."""
    return [{key: value for key, value in item.items() if key != "seconds"} for item in items]


def test_partition_of_a_saved_result_is_that_of_a_new_run(saved: Path) -> None:
    options = ("--nodes", "2,4", "--model", "both", "--json", "-", "--check")
    again = document(succeed(saved, "partition", "r.cmz", *options))
    fresh = document(succeed(saved, "show", "r.cmz", "--json", "-"))
    assert without_seconds(again["decompositions"]) == without_seconds(fresh["decompositions"])


def test_explain_shows_slice_and_chain(tmp_path: Path) -> None:
    line = 1 + next(i for i, text in enumerate(HEAT.read_text().splitlines()) if "R * (around - 4" in text)
    out = succeed(tmp_path, "explain", HEAT, "--line", line, "--occurrence", 10, "--", 8, 2).out
    assert f"line {line}, execution 10" in out
    assert len(re.findall(r"= load double", out)) == 5


def compile_ir(source: Path, target: Path, *options: str) -> None:
    command = [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=all", "-emit-llvm", *options]
    subprocess.run([*command, "-o", str(target), str(source)], check=True)


@pytest.fixture(scope="module")
def from_source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Json]:
    """Folder with two sources, and the document of their analysis."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "sum.c").write_text(SUM_C)
    (folder / "scale.c").write_text(SCALE_C)
    return folder, document(succeed(folder, "analyze", "sum.c", "scale.c", "--nodes", 2, "--json", "-"))


@pytest.mark.parametrize(
    ("suffix", "options"),
    [("ll", "-S -O2"), ("bc", "-c -O2"), ("bc", "-c -O3 -march=x86_64_v3 -ffast-math"), ("bc", "-c -O0")],
)
def test_ir_gives_what_its_source_gives(from_source: tuple[Path, Json], suffix: str, options: str) -> None:
    folder, expected = from_source
    names = []
    for name in ("sum", "scale"):
        target = folder / f"{name}{options.count(' ')}{options.split()[1][1:]}.{suffix}"
        compile_ir(folder / f"{name}.c", target, *options.split())
        names.append(target.name)
    done = succeed(folder, "analyze", *names, "--nodes", 2, "--json", "-")
    found = document(done)
    assert done.err.startswith("62\n") or "\n62\n" in done.err
    # 62 sums and 62 products, however they were compiled.
    assert found["work"]["flops"] == expected["work"]["flops"] == 124


def test_cxx_with_exceptions_and_streams(tmp_path: Path) -> None:
    (tmp_path / "p.cpp").write_text(CXX)
    given = {"stdin": "from_stdin\n", "extra": {"E2E_WORD": "from_env"}}
    done = succeed(tmp_path, "analyze", "p.cpp", "--nodes", 2, "--check", **given)
    # 2 * 0.5 * (0 + ... + 49)
    assert "caught 1225 from_stdin from_env" in done.out
    assert leftovers(tmp_path) == []


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs a clang of the system")
@pytest.mark.parametrize("name", ["sum.c", "sum.cpp", "sum.bc"])
def test_own_compiler(tmp_path: Path, name: str) -> None:
    text = SUM_C.replace("double scale(double);", SCALE_C)
    source = tmp_path / ("sum.cpp" if name.endswith("cpp") else "sum.c")
    source.write_text(text)
    if name.endswith(".bc"):
        subprocess.run(
            ["clang", "-O2", "-c", "-emit-llvm", "-o", name, source.name], cwd=tmp_path, check=True
        )
    found = json.loads(succeed(tmp_path, "analyze", name, "--cc", "clang", "--nodes", 2, "--json", "-").out)
    assert found["work"]["flops"] == 124
    if not name.endswith(".bc"):
        assert "clang version" in found["provenance"]["compiler"]
