"""``fit`` and ``advise`` as a user calls them, and Extra-P in an environment of its own."""

import json
import os
import shutil
from itertools import product
from pathlib import Path

import pytest

from commanalyzer.scaling.laws.document import load_laws
from tests.e2e.command import HEAT, commanalyzer, refuse, succeed
from tests.native import run

EXTRA_P = os.environ.get("COMMANALYZER_TEST_EXTRA_P") or shutil.which("extrap") or ""
_RATES = ("--bandwidth", "1GB/s", "--throughput", "1GFlop/s")
needs_extra_p = pytest.mark.skipif(not EXTRA_P, reason="needs Extra-P: set COMMANALYZER_TEST_EXTRA_P")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """2-D halo of ten steps on square blocks, its messages and work."""
    path = tmp_path / "table.csv"
    rows = [
        f"{p},{n},{320 * n * (round(p**0.5) - 1)},{40 * (p - round(p**0.5))},{70 * n * n}"
        for p, n in product((4, 9, 16, 25, 36, 64), (32, 64, 96, 128, 192))
    ]
    path.write_text("\n".join(["p,n,comm_bytes,messages,work_flops", *rows]) + "\n")
    return path


def test_fit_prints_and_saves_laws(tmp_path: Path, table: Path) -> None:
    done = succeed(tmp_path, "fit", table, "--at", "p=1024,n=4096", "-o", "laws.json")
    laws = ("160 n (q1 + q2 - 2)", "2-D halo", "20 p (2 - 1/q1 - 1/q2)", "70 n^2")
    assert [text for text in (*laws, "40,632,320", "extrapolated") if text not in done.out] == []
    metrics = [law.metric for law in load_laws(tmp_path / "laws.json").laws]
    assert metrics == ["comm_bytes", "messages", "work_flops"]
    assert json.loads((tmp_path / "laws.json").read_text())["provenance"]["input_hashes"][0][0] == str(table)
    at = ("--at", "p=1024", "--at", "n=4096")
    quiet = commanalyzer(tmp_path, "fit", table, *at, "--quiet").out
    assert "40,632,320" in quiet and "the data allow" not in quiet
    ends = json.loads(commanalyzer(tmp_path, "fit", table, *at, "--json", "-").out)["predictions"]
    assert ends[0]["value"] == pytest.approx(40632320)
    refuse(tmp_path, "fit", table, "-o", "laws.json", says="--force")


def test_advise_names_node_counts(tmp_path: Path, table: Path) -> None:
    assert commanalyzer(tmp_path, "fit", table, "-o", "laws.json", "-q").status == 0
    machine = ("--bandwidth", "1GB/s", "--throughput", "10GFlop/s", "--overlap", "0.5")
    size = ("--param", "n=1000")
    done = succeed(tmp_path, "advise", "laws.json", *machine, *size, "--nodes", "..256", "--weak", "n")
    assert "Largest sensible: 64 nodes" in done.out and "weak scaling" in done.out
    document = json.loads(commanalyzer(tmp_path, "advise", "laws.json", *machine, *size, "--json", "-").out)
    assert document["advice"]["largest"] == 64
    curve = document["curves"][0]
    # 128 nodes, 16 x 8: T_o / T_1 = 160 * 1000 * 22 * 0.5 / 1e9 s / 7e-3 s = 0.2514, just below 80 %.
    # 16 nodes: T_o / T_1 = 320 * 1000 * 3 * 0.5 / 1e9 s / 7e-3 s.
    assert curve["efficiency"][curve["nodes"].index(16)] == pytest.approx(1 / (1 + 0.48e-3 / 7e-3))


def test_mistakes_are_explained(tmp_path: Path, table: Path) -> None:
    refuse(tmp_path, "fit", table, "--metric", "speed", says="comm_bytes")
    assert commanalyzer(tmp_path, "fit", table, "-o", "laws.json", "-q").status == 0
    half = ("--at", "n=10.5", "--at", "p=4", "-o", "no.json")
    for asked in (("fit", table, *half), ("advise", "laws.json", *_RATES, "--param", "n=10.5")):
        done = commanalyzer(tmp_path, *asked)
        assert done.status == 1 and "found 10.5" in done.err and "n=10 or n=11" in done.err
    assert not (tmp_path / "no.json").exists()
    refuse(tmp_path, "advise", "laws.json", "--param", "n=1000", says="--bandwidth")
    refuse(tmp_path, "advise", "laws.json", *_RATES, says="n=VALUE with --param")
    refuse(tmp_path, "advise", table, *_RATES, says="found: no JSON")


def test_laws_of_results(tmp_path: Path) -> None:
    """Three sizes analysed by themselves; n is the first argument. Work of heat2d: 7 n^2 flops in a step."""
    for n in (8, 12, 16):
        analyzed = ("analyze", HEAT, "--nodes", "2,4", "--region", "heat_solve", "-o", f"{n}.cmz", "-q")
        done = succeed(tmp_path, *analyzed, "--", n, 2)
    done = succeed(tmp_path, "fit", "8.cmz", "12.cmz", "16.cmz", "--argument", "n=1", "--metric", "work")
    assert "14 n^2" in done.out
    refuse(tmp_path, "fit", "8.cmz", "12.cmz", "--argument", "n=7", "--metric", "work", says="argument 7")


@needs_extra_p
def test_extra_p_reads_what_is_exported(tmp_path: Path, table: Path) -> None:
    """Both forms are read; Extra-P finds the same law of exact data within its search space."""
    for name in ("data.jsonl", "data.txt"):
        assert commanalyzer(tmp_path, "fit", table, "--export", name, "-q").status == 0
        form = "--json" if name.endswith("jsonl") else "--text"
        done = run(EXTRA_P, form, name, "--disable-progress", "--print", "metrics", cwd=tmp_path)
        assert done.status == 0, done.stderr
        assert done.stdout.split() == ["comm_bytes", "messages", "work_flops"]
    done_fit = succeed(tmp_path, "fit", table, "--extra-p", EXTRA_P, "--metric", "comm_bytes")
    assert "320 n sqrt(p) - 320 n" in done_fit.out
    assert "  agrees at p = 128, n = 384" in done_fit.out
