"""The page that compares coarse divisions with those found on the values."""

from __future__ import annotations

from tests.bench.coarse import Compared, Found, coarse_document


def test_ratios_their_mean_and_losses_are_shown() -> None:
    row = Compared(
        "heat2d 300 4",
        1000,
        64,
        Found((100, 200, 0), ("slabs 4", "blocks 4x4", "metis cut"), 1.25),
        Found((50, 400, 0), ("metis cut", "metis net", "metis cut"), 2.0),
    )
    volume, cost = coarse_document([row], (4, 16, 64), "made by hand").sections
    assert volume.rows[0] == ("heat2d 300 4", "4", "100", "50", "2.000", "slabs 4", "metis cut")
    assert [cells[4] for cells in volume.rows] == ["2.000", "0.500", "1.000"]
    assert volume.paragraphs[-1].startswith("Geometric mean of the ratios: 1.000.")
    assert volume.items == ("heat2d 300 4, p = 4: 2.000; the values' metis cut beats slabs 4",)
    assert cost.rows == (("heat2d 300 4", "1,000", "64", "1.2", "2.0"),)


def test_bytes_where_the_values_move_none_are_a_loss() -> None:
    row = Compared("a", 1, 1, Found((8,), ("one",), 0.0), Found((0,), ("other",), 0.0))
    assert row.ratios() == (float("inf"),)
