"""The report of real programs: written by the command, opened in a real browser."""

import base64
import csv
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import commanalyzer as ca
from commanalyzer.cli.main import main
from commanalyzer.foundation.quantities import format_bytes, parse_bytes
from commanalyzer.report.result.text import place_of_home
from tests.e2e.browser import Browser, opened
from tests.e2e.command import commanalyzer
from tests.e2e.conftest import Analyse
from tests.native import ROOT
from tests.unit.report.html.pages import read_page

MACHINE = 'name = "cluster A"\nbandwidth = "1GB/s"\nthroughput = "4GFlop/s"\nlatency = "1us"\n'


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory, analysed: Analyse) -> Path:
    """Folder with a result of heat2d, its report and the figures."""
    folder = tmp_path_factory.mktemp("report")
    ca.save(analysed("heat2d", 32, 4, nodes=(4, 12)), folder / "heat2d.cmz")
    (folder / "cluster.toml").write_text(MACHINE, encoding="utf-8")
    options = ("--machine", "cluster.toml", "--figures", "figures", "--source", ROOT)
    done = commanalyzer(folder, "report", "heat2d.cmz", "-o", "report.html", *options)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == ["wrote report.html", "wrote 11 figures to figures"]
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
    assert len(names) == 11
    expected = {f"{name}.{e}" for name in names for e in ("svg", "pdf", "png", "csv", "json")}
    assert {path.name for path in (reported / "figures").iterdir()} == expected | {"index.csv"}


def test_nothing_is_overwritten_or_half_written(
    reported: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(reported)
    before = Path("report.html").read_bytes()
    refused = {
        "heat2d.cmz -o report.html": "--force",
        "heat2d.cmz -o heat2d.cmz --force": "expected another file for the page, found a result",
        "heat2d.cmz -o other.html --figures figures": "existing ones",
        "heat2d.cmz -o other.html --figures report.html": "expected a directory for the figures",
        "missing.cmz -o other.html": "expected a result file",
        "heat2d.cmz -o other.html --machine nowhere": "nowhere",
    }
    for words, message in refused.items():
        assert main(["report", *words.split()]) == 1
        assert message in capsys.readouterr().err
    assert Path("report.html").read_bytes() == before
    assert not Path("other.html").exists()


@pytest.fixture(scope="module")
def used(reported: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with opened(reported / "report.html", tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(used: Browser, reported: Path) -> Iterator[Browser]:
    """The report as it is when it was just opened; whatever is done with it says and requests nothing."""
    used.open(reported / "report.html")
    yield used
    assert (used.console, used.requested) == ([], [])


def _column(browser: Browser, table: str, number: int) -> list[str]:
    rows = f"[...document.querySelectorAll('{table} tbody tr:not([hidden])')]"
    return list(browser.run(f"{rows}.map(row => row.cells[{number}].textContent)"))


def test_heads_sort_by_what_numbers_mean(browser: Browser) -> None:
    table = "#heat2d-division > .scroll > table"
    amounts = _column(browser, table, 1)
    assert len(amounts) > 2
    by_size = sorted(amounts, key=parse_bytes)
    browser.click(f"{table} th:nth-child(2)")
    assert _column(browser, table, 1) == by_size[::-1]
    browser.press("Enter")
    assert _column(browser, table, 1) == by_size
    assert browser.run(f"document.querySelector('{table} th:nth-child(2)').ariaSort") == "ascending"
    browser.press(" ")
    assert _column(browser, table, 1) == amounts


@pytest.mark.parametrize(
    ("texts", "ordered"),
    [
        (["950 B", "1.2 kB", "", "0.02 MB"], ["0.02 MB", "1.2 kB", "950 B", ""]),
        (["9.5 %", "10.1 %", "nothing", "1,234"], ["1,234", "10.1 %", "9.5 %", "nothing"]),
        (["3 min 20 s", "190 s", "900 ms", "5 us"], ["3 min 20 s", "190 s", "900 ms", "5 us"]),
        (["1.5 MOp", "9.9 k", "2e+07", "3, 4"], ["2e+07", "1.5 MOp", "9.9 k", "3, 4"]),
    ],
)
def test_units_are_understood(browser: Browser, texts: list[str], ordered: list[str]) -> None:
    table = "#heat2d-division > .scroll > table"
    browser.run(f"""(texts => [...document.querySelectorAll('{table} tbody tr')].forEach((row, k) => {{
        if (k < texts.length) row.cells[1].textContent = texts[k]; else row.cells[1].textContent = '-';
    }}))({json.dumps(texts)})""")
    browser.click(f"{table} th:nth-child(2)")
    assert [text for text in _column(browser, table, 1) if text != "-"] == ordered


def test_a_filter_shows_the_rows_with_all_words(browser: Browser) -> None:
    table = "#heat2d-talk details:last-of-type"
    browser.run(f"document.querySelector('{table}').open = true")
    read = f"[...document.querySelectorAll('{table} tbody tr')].map(row => [row.hidden, row.textContent])"
    before, amounts = browser.run(read), _column(browser, table, 1)
    words = next(filter(None, amounts))
    browser.click(f"{table} .filter input")
    browser.press(*words)
    assert len(before) == 12 and words in _column(browser, table, 1)
    assert [shown for shown, _ in browser.run(read)] == [
        any(w not in text for w in words.split()) for _, text in before
    ]


def test_one_node_count_can_be_chosen(browser: Browser) -> None:
    all_ = "[...document.querySelectorAll('[data-nodes]')]"
    visible = f"{all_}.filter(e => !e.hidden).map(e => e.dataset.nodes)"
    assert set(browser.run(visible)) == {"4", "12"}
    browser.click(".choice button:nth-child(3)")
    assert set(browser.run(visible)) == {"12"}


def test_cells_and_pairs_are_explained(browser: Browser, reported: Path) -> None:
    """0 to 1, then by keys 0 to 2: the same bytes and variables as ``why``."""
    result = ca.load(reported / "heat2d.cmz")
    browser.click("#heat2d-talk image", 0.375, 0.125, is_hover=True)
    told = browser.run("document.querySelector('.tip').textContent")
    assert told.startswith(f"from node 0 to node 1: {format_bytes(result.matrix(4)[0, 1])}")
    browser.click("#heat2d-talk image", 0.375, 0.125)
    browser.run("document.querySelector('#heat2d-talk .stage').focus()")
    browser.press("ArrowRight", "Enter")
    found = result.why(4, (0, 2))
    told = browser.run("document.querySelector('.pair').textContent")
    assert told.startswith(f"from node 0 to node 2: {format_bytes(found.comm_bytes)}.")
    rows = _column(browser, ".pair table", 0)
    assert rows[: len(found.variables)] == [place_of_home(v.variable) for v in found.variables]
    assert any(f"{t.file}:{t.line}" in rows for t in found.lines)


def test_a_map_tells_owners_and_is_enlarged(browser: Browser) -> None:
    browser.click("#heat2d-division image", 0.75, 0.25)
    told = browser.run("document.querySelector('.tip').textContent")
    assert re.fullmatch(r"\w+\[\d+\]\[\d+\]: node 1, whose part lies in rows 1 to 16, columns 17 to 32", told)
    width = "document.querySelector('#heat2d-division svg').clientWidth"
    before = browser.run(width)
    browser.click("#heat2d-division .tools button")
    assert browser.run(width) == 2 * before
    browser.run("document.querySelector('#heat2d-division .stage').focus()")
    browser.press("0")
    assert browser.run(width) == before


def test_without_script_the_page_is_complete(browser: Browser, reported: Path) -> None:
    told = [browser.document()]
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(reported / "report.html")
    told.append(browser.document())
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert ['class="tools"' in text for text in told] == [True, False]
    for part in ("<svg", "<td", "<th", "<figcaption", "<h2"):
        assert told[0].count(part) == told[1].count(part) > 0
    assert "hidden=" not in told[1]


def test_a_browser_follows_the_colour_scheme_and_prints(browser: Browser, tmp_path: Path) -> None:
    from matplotlib import image

    path = tmp_path / "shot.png"
    corners = [_corner(image.imread(browser.picture(path, is_dark=d, width=400))) for d in (False, True)]
    assert corners[0] == pytest.approx([0xFE / 255] * 3)
    assert corners[1] == pytest.approx([0x14 / 255, 0x17 / 255, 0x1A / 255])
    assert browser.run("document.documentElement.scrollWidth") == 400
    assert base64.b64decode(browser.call("Page.printToPDF")["data"]).startswith(b"%PDF")


def test_a_browser_would_notice_what_must_not_be(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        '<!DOCTYPE html><img src="http://127.0.0.1:9/x.png"><script>console.error("oh")</script>', "utf-8"
    )
    with opened(page, tmp_path) as seen:
        assert "oh" in seen.console
        assert seen.requested == ["http://127.0.0.1:9/x.png"]


def _corner(pixels: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Sequence[float]:
    return [float(v) for v in pixels[2, 2, :3]]
