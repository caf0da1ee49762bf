"""A step that is found, and a cheapest path, in several languages and styles: as by hand."""

import pytest

import commanalyzer as ca
from tests.e2e.analysed import analyse_text, flang
from tests.e2e.theory import heat2d_words_per_step
from tests.native import ROOT

APART = "__attribute__((noinline)) static"
WAYS = [  # suffix, type of a number, bytes, how functions are declared
    (".c", "double", 8, "static"),
    (".c", "float", 4, APART),
    (".cpp", "double", 8, APART),
    (".cpp", "float", 4, "static"),
    (".f90", "real(8)", 8, ""),
    (".f90", "real(4)", 4, ""),
]


def courant_bytes(width: int, p: int) -> int:
    """8 steps: borders of blocks of 24 x 24 points, the minimum of all lists with its place, the step."""
    q = round(p**0.5)
    return 8 * (width * heat2d_words_per_step(24, q, q) + (p - 1) * (width + 4 + width))


def path_bytes(width: int, p: int) -> int:
    """Slabs: both borders of 24 rows but the last, and the sum."""
    return (p - 1) * width * (2 * 23 + 1)


@pytest.mark.parametrize("p", [4, 16])
@pytest.mark.parametrize(("suffix", "real", "width", "call"), WAYS)
@pytest.mark.parametrize("name", ["courant", "cheapest_path"])
def test_what_is_shown_and_the_least_cost_what_one_by_hand_does(
    name: str, suffix: str, real: str, width: int, call: str, p: int
) -> None:
    if suffix == ".f90":
        flang()
    program = ROOT / "tests" / "e2e" / "fused" / (name + (".f90" if suffix == ".f90" else ".c"))
    text = program.read_text(encoding="utf-8").replace("REAL_", real).replace("REAL", real)
    result = analyse_text(text.replace("CALL", call), suffix=suffix, nodes=p)
    by_hand = courant_bytes(width, p) if name == "courant" else path_bytes(width, p)
    assert 0.8 * by_hand <= result.best(p).comm_bytes <= 1.05 * by_hand  # a little less than squares
    assert result.decomposition(p).comm_bytes <= 1.1 * by_hand  # where the least place of each list is sent


def test_a_sum_of_each_cell_over_its_own_scratch_is_made_where_the_cell_is() -> None:
    """Each step sends the row and the column behind a cut, 62 points each, to one of its sides."""
    source = ROOT / "tests/e2e/fused/cell_sums.c"
    result = ca.analyze(source, (5,), nodes=4, decompose=("q=block:2x2",), program_output="discard", jobs=1)
    assert result.best(4).comm_bytes == 5 * (62 + 62) * 8
    (given,) = (d for d in result.decompositions if d.method.startswith("q="))
    assert given.comm_bytes <= 1.01 * 5 * (62 + 62) * 8
