"""Divisions that the user names (``--decompose``, ``--owner-map``): volumes by hand, errors. The headline."""

import contextlib
import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commanalyzer.cli.main import main
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.request import PartitionRequest
from tests.e2e.analysed import analyse_text
from tests.e2e.command import HEAT, Done, succeed
from tests.e2e.theory import heat2d_words_per_step

N, STEPS, HALO = 16, 3, 18  # points, steps, points and halo


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("divisions")
    succeed(made, "analyze", HEAT, "--region", "heat_solve", "--nodes", 2, "-o", "heat.cmz", "--", N, STEPS)
    return made


def decompose(folder: Path, *options: object, nodes: object = 4) -> Done:
    """The command line, in this process: a fresh one would cost more than the analysis."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["partition", "heat.cmz", "--nodes", str(nodes), *map(str, options)])
    return Done(status, out.getvalue(), err.getvalue())


def refused(folder: Path, *options: object) -> str:
    """Errors of a division that cannot be made."""
    done = decompose(folder, *options)
    assert done.status == 1
    assert "Traceback" not in done.err
    return done.err


def candidates(folder: Path, *options: object, nodes: object = 4) -> dict[str, dict[str, Any]]:
    done = decompose(folder, *options, "-q", "--json", "-", nodes=nodes)
    assert done.status == 0, done.err
    return {item["method"]: item for item in json.loads(done.out)["decompositions"]}


def words(parts_y: int, parts_x: int) -> int:
    return STEPS * heat2d_words_per_step(N, parts_y, parts_x)


def block_of(index: int, parts: int) -> int:
    """Part of one of the points 1 .. N; halo points belong to their neighbours."""
    return min(max(index - 1, 0), N - 1) * parts // N


def owners(parts_y: int, parts_x: int) -> list[int]:
    places = [(i, j) for i in range(HALO) for j in range(HALO)]
    return [block_of(i, parts_y) * parts_x + block_of(j, parts_x) for i, j in places]


def write_map(path: Path, part: list[int], *, names: tuple[str, ...] = ("a", "b")) -> Path:
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["object", "index", "part"])
        rows.writerows((name, i, owner) for name in names for i, owner in enumerate(part))
    return path


# --- what is asked for is counted ------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [("a=block1d", "a=block2d"), ("*=block1d", "*=block2d")])
def test_an_array_has_one_rule(folder: Path, rules: tuple[str, str]) -> None:
    told = refused(folder, "--decompose", rules[0], "--decompose", rules[1])
    assert "expected one rule for each array" in told
    assert "all rules make one division; commanalyzer partition" in " ".join(told.split())
    if "*" not in rules[0]:
        with pytest.raises(ConfigError, match="one rule for each array"):  # before anything is recorded
            PartitionRequest(nodes=(2,), decompose=rules)


def test_a_rule_of_an_array_goes_before_that_of_all(folder: Path) -> None:
    done = decompose(folder, "--decompose", "a=block1d", "--decompose", "*=block2d")
    assert done.status == 0, done.err


@pytest.mark.parametrize(
    ("rules", "grid"),
    [
        (("*=block2d",), (2, 2)),
        (("a=block2d", "b=block2d"), (2, 2)),
        (("*=block:4x1",), (4, 1)),
        (("*=block:1x4",), (1, 4)),
        ((f"*[{HALO}x{HALO}]=block:2x2",), (2, 2)),
    ],
)
def test_named_blocks_move_their_borders(folder: Path, rules: tuple[str, ...], grid: tuple[int, int]) -> None:
    options = [word for rule in rules for word in ("--decompose", rule)]
    found = candidates(folder, *options)[", ".join(rules)]
    assert found["comm_bytes"] == 8 * words(*grid)


def test_columns_dealt_out_one_by_one_move_every_point(folder: Path) -> None:
    found = candidates(folder, "--decompose", "*=cyclic:1x1", nodes=2)["*=cyclic:1x1"]
    # Two parts have every second column. All N x N points are read beside them in every step; the halo
    # columns at both ends, which never change, once.
    assert found["comm_bytes"] == 8 * (STEPS * N * N + 2 * N)


@pytest.mark.parametrize("form", ["csv", "npy"])
def test_owner_maps_are_counted_as_given(folder: Path, form: str) -> None:
    path = folder / f"blocks.{form}"
    if form == "csv":
        write_map(path, owners(2, 2))
    else:
        np.save(path, np.array(owners(2, 2)))
    found = candidates(folder, "--owner-map", path.name)[f"owner map {path.name}"]
    assert found["comm_bytes"] == 8 * words(2, 2)


def test_arrays_without_owners_follow(folder: Path) -> None:
    write_map(folder / "only_a.csv", owners(2, 2), names=("a",))
    found = candidates(folder, "--owner-map", "only_a.csv")["owner map only_a.csv"]
    assert found["comm_bytes"] == 8 * words(2, 2)


def test_all_candidates_are_shown_with_the_headline_first(folder: Path) -> None:
    done = decompose(folder, "--decompose", "*=block:4x1", "--all")
    assert done.status == 0
    lines = done.out.splitlines()
    title = next(i for i, line in enumerate(lines) if line.startswith("4 nodes, model volume:"))
    heads = ["decomposition", "bytes", "messages", "neighbours", "imbalance", "bracket", "found", "in"]
    assert lines[title + 1].split() == heads
    assert lines[title + 2].startswith("blocks 2x2 ")
    assert sum(" * " in line for line in lines[title + 2 :]) == 1
    shown = [line for line in lines if line.startswith("*=block:4x1 ")]
    assert len(shown) == 1
    assert shown[0].split()[1:3] == ["2.3", "kB"]  # 2 * 16 * 3 cuts * 3 steps * 8 B = 2304 B


# --- errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("u=block2d", "expected the name of an array, found 'u'"),
        ("u=block2d", "arrays of this run: a, b"),
        ("a[7x9]=block2d", f"expected a shape of {HALO * HALO} elements"),
        ("a=block3d", "expected an array whose shape has 3 dimensions"),
        ("a=block:3x3", "expected a process grid for one of the node counts 4, found 3x3 = 9"),
    ],
)
def test_impossible_rules_are_refused(folder: Path, rule: str, message: str) -> None:
    assert message in refused(folder, "--decompose", rule, "-o", "wrong.cmz")
    assert not (folder / "wrong.cmz").exists()


def test_what_is_no_rule_is_a_usage_error(folder: Path) -> None:
    done = decompose(folder, "--decompose", "a=blocks")
    assert done.status == 2
    assert "expected a rule such as" in done.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [line.replace("a,", "u,") for line in lines], "name of an array, found 'u'"),
        (lambda lines: lines[:200], "found none for 125, the first at element 199"),
        (lambda lines: [*lines, "a,17,1"], "expected each element of 'a' once, found element 17 again"),
        (lambda lines: [*lines, "a,324,1"], "expected elements 0 to 323 of 'a', found 324"),
        (lambda lines: [*lines, "a,99"], "has not three cells"),
        (lambda lines: lines[1:], "does not begin with object,index,part"),
        (lambda lines: [line.replace(",3", ",8") for line in lines], "found 9 parts"),
    ],
)
def test_wrong_owner_maps_are_refused(folder: Path, change: Any, message: str) -> None:
    path = write_map(folder / "map.csv", owners(2, 2), names=("a",))
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    assert message in refused(folder, "--owner-map", path.name)


def test_owner_maps_of_numpy_need_the_length_of_an_array(folder: Path) -> None:
    np.save(folder / "short.npy", np.arange(100) % 4)
    told = refused(folder, "--owner-map", "short.npy")
    assert "found no array of 100 elements" in told and f"have {HALO * HALO} elements" in told


def test_an_owner_map_has_to_exist(folder: Path) -> None:
    assert "No such file" in refused(folder, "--owner-map", "missing.csv")


CUBE = """
enum { N = 6 };
static double u[N][N][N], v[N][N][N];
int main(void) {
    for (int p = 0; p < N * N * N; p++)
        u[0][0][p] = p % 5;
    for (int t = 0; t < 8; t++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                for (int k = 0; k < N; k++) {
                    double s = u[i][j][k] + (i ? u[i - 1][j][k] : 0) + (i < N - 1 ? u[i + 1][j][k] : 0);
                    s += (j ? u[i][j - 1][k] : 0) + (j < N - 1 ? u[i][j + 1][k] : 0);
                    v[i][j][k] = 0.1 * (s + (k ? u[i][j][k - 1] : 0) + (k < N - 1 ? u[i][j][k + 1] : 0));
                }
        for (int p = 0; p < N * N * N; p++)
            u[0][0][p] = v[0][0][p];
    }
    return u[1][2][3] > 1e9;
}
"""


def test_blocks_that_are_far_from_even_are_no_headline() -> None:
    """Of 216 points, 16 blocks have up to 18, 1.33 times the mean, and send 8 x 2 x 36 (1 + 1 + 3) words."""
    found = analyse_text(CUBE, nodes=16).decomposition(16)
    assert found.imbalance == pytest.approx(14 / 13.5)
    assert found.comm_bytes < 8 * 8 * 2 * 36 * (1 + 1 + 3)


CELLS = """
#include <stdlib.h>
enum { N = 32 };
static char at(char *cells, int i, int j) { return cells[(i + N) % N * N + (j + N) % N]; }
int main(int argc, char **argv) {
    char *now = malloc(N * N), *next = malloc(N * N);
    for (int p = 0; p < N * N; p++)
        now[p] = (argc * 1103515245u * (p + 9) >> 16) % 3 == 0;
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                int alive = -at(now, i, j);
                for (int k = 0; k < 9; k++)
                    alive += at(now, i + k / 3 - 1, j + k % 3 - 1);
                next[i * N + j] = alive == 3 || (alive == 2 && at(now, i, j));
            }
        char *last = now; now = next; next = last;
    }
    return now[argc] + argc > 9;
}
"""


def test_cells_that_conditions_pick_are_no_rows() -> None:
    """Each of two halves of a torus needs a row of cells beyond each of its ends in each step."""
    found = analyse_text(CELLS, nodes=2).decomposition(2)
    assert "[32x32]" in found.method
    assert found.comm_bytes == 3 * 2 * 2 * 32
