"""The report of real programs: written by the command, opened in a real browser."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import commanalyzer as ca
from commanalyzer.cli.main import main
from tests.e2e.browser import print_pdf, screenshot, visit
from tests.e2e.command import commanalyzer
from tests.e2e.conftest import Analyse
from tests.native import ROOT
from tests.unit.report.html.pages import read_page

MACHINE = 'name = "cluster A"\nbandwidth = "1GB/s"\nthroughput = "4GFlop/s"\nlatency = "1us"\n'


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory, analysed: Analyse) -> Path:
    """Folder with a result of heat2d, its report and the figures."""
    folder = tmp_path_factory.mktemp("report")
    ca.save(analysed("heat2d", 32, 4, nodes=(4,)), folder / "heat2d.cmz")
    (folder / "cluster.toml").write_text(MACHINE, encoding="utf-8")
    options = ("--machine", "cluster.toml", "--figures", "figures", "--source", ROOT)
    done = commanalyzer(folder, "report", "heat2d.cmz", "-o", "report.html", *options)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == ["wrote report.html", "wrote 7 figures to figures"]
    return folder


def test_the_report_names_the_array_and_shows_its_line(reported: Path) -> None:
    page = read_page((reported / "report.html").read_text(encoding="utf-8"))
    text = " ".join(page.text.split())
    source = (ROOT / "workloads/heat2d/heat2d.c").read_text(encoding="utf-8").splitlines()
    assert "u_new[i * w + j] = centre" in source[28]
    assert source[28].strip() in page.text
    assert "heat2d.c:29" in text
    assert "Best efficiency on cluster A" in text
    assert page.loaded == []


def test_a_grid_looks_like_blocks(reported: Path) -> None:
    with (reported / "figures" / "heat2d-parts-p4-blocks-2x2.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    owner = np.full((32, 32), -1)
    for r in rows:  # the border, row and column 0, keeps no computed values
        owner[int(r["row"]) - 1, int(r["column"]) - 1] = int(r["node"])
    assert np.array_equal(owner, np.kron([[0, 1], [2, 3]], np.ones((16, 16))))


def test_figures_and_their_numbers_are_those_of_the_result(reported: Path) -> None:
    result = ca.load(reported / "heat2d.cmz")
    document = json.loads((reported / "figures" / "heat2d-matrix-p4.json").read_text(encoding="utf-8"))
    assert document["schema"] == "commanalyzer.figure/1"
    matrix = np.zeros((4, 4), dtype=np.int64)
    columns = document["columns"]
    matrix[columns["from"], columns["to"]] = columns["bytes"]
    assert np.array_equal(matrix, result.matrix(4))
    with (reported / "figures" / "index.csv").open(encoding="utf-8") as stream:
        names = [row["name"] for row in csv.DictReader(stream)]
    assert len(names) == 7
    expected = {f"{name}.{e}" for name in names for e in ("svg", "pdf", "png", "csv", "json")}
    assert {path.name for path in (reported / "figures").iterdir()} == expected | {"index.csv"}


def test_nothing_is_overwritten_or_half_written(
    reported: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(reported)
    before = Path("report.html").read_bytes()
    refused = {
        ("heat2d.cmz", "-o", "report.html"): "--force",
        ("heat2d.cmz", "-o", "heat2d.cmz", "--force"): "expected another file for the page, found a result",
        ("heat2d.cmz", "-o", "other.html", "--figures", "figures"): "existing ones",
        (
            "heat2d.cmz",
            "-o",
            "other.html",
            "--figures",
            "report.html",
        ): "expected a directory for the figures",
        ("missing.cmz", "-o", "other.html"): "expected a result file",
        ("heat2d.cmz", "-o", "other.html", "--machine", "nowhere"): "nowhere",
    }
    for arguments, message in refused.items():
        assert main(["report", *arguments]) == 1
        assert message in capsys.readouterr().err
    assert Path("report.html").read_bytes() == before
    assert not Path("other.html").exists()


@pytest.mark.parametrize("is_dark", [False, True])
def test_a_browser_shows_the_page_without_errors_or_requests(
    reported: Path, tmp_path: Path, is_dark: bool
) -> None:
    seen = visit(reported / "report.html", tmp_path, is_dark=is_dark)
    assert seen.console == ()
    assert seen.requested == ()
    shown = re.findall(r"<h2[^>]*>([^<]*)</h2>", seen.document)
    assert len(shown) == 8 and shown[0] == "Summary"
    assert seen.document.count("<svg") == 7


@pytest.mark.slow
def test_a_browser_follows_the_colour_scheme_and_prints(reported: Path, tmp_path: Path) -> None:
    from matplotlib import image

    page = reported / "report.html"
    corners = [_corner(image.imread(screenshot(page, tmp_path, is_dark=d, width=400))) for d in (False, True)]
    assert corners[0] == pytest.approx([0xFE / 255] * 3)
    assert corners[1] == pytest.approx([0x14 / 255, 0x17 / 255, 0x1A / 255])
    assert print_pdf(page, tmp_path).startswith(b"%PDF")


def test_a_browser_would_notice_what_must_not_be(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        '<!DOCTYPE html><img src="http://127.0.0.1:9/x.png"><script>console.error("oh")</script>', "utf-8"
    )
    seen = visit(page, tmp_path, is_dark=False)
    assert any("oh" in message for message in seen.console)
    assert seen.requested == ("http://127.0.0.1:9/x.png",)


def _corner(pixels: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Sequence[float]:
    return [float(v) for v in pixels[2, 2, :3]]
