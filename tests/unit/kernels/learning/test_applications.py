"""The equations of applications on numbers of the paper; bytes of mappers by hand; overheads."""

from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import ArtifactError, CommAnalyzerError, ConfigError
from commanalyzer.kernels.learning import inputs
from commanalyzer.kernels.learning import range_benchmark as overheads
from commanalyzer.kernels.learning.range_benchmark import chunks, moved_bytes, pair_matrices
from commanalyzer.kernels.tasks.mappers import parse_mapper

CURVES = np.array([[1.0, 2.0, 4.0], [1.0, 1.5, 2.0]])


def test_equations() -> None:
    shares = inputs.weights([inputs.TaskWeight(100, 3), inputs.TaskWeight(100, 9)])
    np.testing.assert_allclose(shares, [0.25, 0.75])
    np.testing.assert_allclose(inputs.mean_speedup(CURVES), [1, 1.75, 3])
    np.testing.assert_allclose(inputs.weighted_speedup(CURVES, shares), [1, 1.625, 2.5])
    # 12 s in all: 3 s and 9 s take 0.75 s and 4.5 s on 4 devices
    np.testing.assert_allclose(inputs.timed_speedup(CURVES, shares, np.zeros(3))[2], 12 / (0.75 + 4.5))
    np.testing.assert_allclose(
        inputs.timed_speedup(CURVES, shares, np.full(3, 0.25))[2], 12 / (0.75 + 4.5 + 3)
    )


def test_as_printed_no_movement_is_no_speedup() -> None:
    """Table 2, Marconi-100: one-to-one -> one-to-one has 0.001, all -> all 0.986."""
    shares = np.array([0.5, 0.5])
    still, moving = (inputs.printed_speedup(CURVES, shares, [rho])[2] for rho in (0.001, 0.986))
    assert still == pytest.approx(0.003) and moving == pytest.approx(2.958)
    still, moving = (inputs.penalised_speedup(CURVES, shares, [rho])[2] for rho in (0.001, 0.986))
    assert still == pytest.approx(2.997) and moving == pytest.approx(0.042)
    np.testing.assert_allclose(
        inputs.penalised_speedup(CURVES, shares, []), inputs.weighted_speedup(CURVES, shares)
    )
    assert inputs.penalised_speedup(CURVES, shares, [0.1, 0.4])[2] == pytest.approx(1.8)  # the largest counts


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(ConfigError, match="overheads"):
        inputs.printed_speedup(CURVES, np.array([0.5, 0.5]), [1.5])
    with pytest.raises(ConfigError, match="work items"):
        inputs.weights([inputs.TaskWeight(0, 3)])
    with pytest.raises(ConfigError, match="nodes"):
        chunks((8,), 0)


@pytest.mark.parametrize(
    ("write", "read", "expected"),
    [
        ("one-to-one", "one-to-one", 0),
        ("one-to-one", "neighborhood(1,1)", 3 * 2 * 8 * 4),  # three cuts, a row of 8 floats each way
        ("one-to-one", "slice(1)", 0),
        ("one-to-one", "slice(0)", 3 * 256),  # all columns of all rows
        ("one-to-one", "all", 3 * 256),
        ("one-to-one", "fixed(0:1,0:8)", 3 * 32),
        ("all", "all", 0),
    ],
)
def test_bytes_of_pairs(write: str, read: str, expected: int) -> None:
    blocks = chunks((8, 8), 4)
    found = moved_bytes(parse_mapper(write), parse_mapper(read), (8, 8), 4, blocks, blocks)
    assert found.sum() == expected
    assert not np.diagonal(found).any()


def test_columns_of_a_matrix_in_rows_are_a_transposition() -> None:
    found = moved_bytes(
        parse_mapper("one-to-one"), parse_mapper("slice(0)"), (8, 8), 4, chunks((8, 8), 4), chunks((8,), 4)
    )
    np.testing.assert_array_equal(found, 16 * (1 - np.eye(4, dtype=np.int64)))


def brute(write: str, read: str, n: int, p: int) -> int:
    """Elements one by one: who has written it, who wants it."""
    blocks = chunks((n, n), p)
    w = [parse_mapper(write).region(b, (n, n)) for b in blocks]
    r = [parse_mapper(read).region(b, (n, n)) for b in blocks]

    def holds(box: tuple[tuple[int, int], ...], i: int, j: int) -> bool:
        return box[0][0] <= i < box[0][1] and box[1][0] <= j < box[1][1]

    return 4 * sum(
        holds(r[k], i, j) and not holds(w[k], i, j) for k in range(p) for i in range(n) for j in range(n)
    )


@pytest.mark.parametrize("p", [2, 3, 5])
def test_all_pairs_against_single_elements(p: int) -> None:
    for (write, read), matrix in pair_matrices(7, p).items():
        assert matrix.sum() == brute(write, read, 7, p), (write, read)


def test_overheads_are_saved_and_looked_up(tmp_path: Path) -> None:
    pairs = tuple(
        overheads.PairOverhead("one-to-one", "neighborhood(1,1)", p, 64, p * 1e-3, 1e-3) for p in (1, 3)
    )
    table = overheads.OverheadTable("made", 8, pairs)
    path = tmp_path / "rho.json"
    overheads.save_overheads(table, path)
    again = overheads.load_overheads(path)
    assert again == table
    near = parse_mapper("neighborhood(2,0)")
    assert again.rho(parse_mapper("one-to-one"), near, 64) == pytest.approx(0.75)
    with pytest.raises(ConfigError, match="expected the overhead of all -> all"):
        again.rho(parse_mapper("all"), parse_mapper("all"), 2)
    path.write_text(path.read_text().replace("neighborhood(1,1)", "diagonal"))
    with pytest.raises(ArtifactError, match="unknown range mapper"):
        overheads.load_overheads(path)
    with pytest.raises(CommAnalyzerError):
        overheads.load_overheads(tmp_path / "none.json")
