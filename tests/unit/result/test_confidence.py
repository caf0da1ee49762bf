"""The best division beside regular ones, other methods and provable minima; bytes counted by hand."""

import io
import json
import math
from functools import partial

import numpy as np
import pytest

from commanalyzer.division.bounds import Structure
from commanalyzer.division.decompose import CountOptions, decompose
from commanalyzer.division.portfolio import Candidate, Portfolio
from commanalyzer.division.selection import evenness
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.report.result.json_document import json_text
from commanalyzer.report.result.text import confidence_fields, make_console, show_result
from commanalyzer.result.artifacts import header_of
from commanalyzer.result.confidence import Confidence, confidence_of, method_of
from commanalyzer.result.results import Decomposition
from tests.graphs import grid
from tests.samples import offer, sample_decomposition, sample_result


def cells(known: Confidence) -> tuple[str, ...]:
    return tuple(field.cell(known) for field in confidence_fields())


def test_refinements_and_options_are_not_another_method() -> None:
    methods = ["metis cut seed 3 refined", "metis cut, tiles 184x184 refined", "mt-kahypar km1", "u=block2d"]
    methods += ["blocks 2x2 of 24x24 by work refined", "slabs 16, entries follow"]
    families = ["METIS", "METIS", "Mt-KaHyPar", "given", "regular", "regular"]
    assert [method_of(offer(m, 1)) for m in methods] == families


def test_uneven_blocks_are_balanced_unless_more_even_ones_send_hardly_more() -> None:
    """Walls of 36 x 60 points on 12 nodes: blocks 3x4 have 1.098 times the mean work, by whole rows."""
    uneven, metis = offer("blocks 3x4", 1000, imbalance=1.098), offer("metis cut", 900)
    for pair_bytes, is_even in ((1097, False), (1099, True)):
        three = [uneven, offer("blocks 2x6", pair_bytes), metis]
        assert evenness(three, [1.13, 1.03, 1.03]).tolist() == [is_even, True, True]
    assert not evenness([uneven, metis], [1.09, 1.03])[0]


def test_cheapest_balanced_of_each_kind() -> None:
    items = [
        offer("metis cut refined", 100, best=True, bound=150),
        offer("metis volume", 101),
        offer("mt-kahypar km1", 90, imbalance=1.2),
        offer("mt-kahypar km1 refined", 110),
        offer("blocks 2x2", 150),
        offer("slabs 4", 130, imbalance=1.2),
    ]
    known = Confidence.of(items)
    assert known.regular is items[4]
    assert known.other is items[3]
    assert known.times_bound == 2.0
    rivals = "blocks 2x2: +50 %", "mt-kahypar km1 refined: +10 %"
    assert cells(known) == ("4", *rivals, "best is 2.00 times it")
    assert known.doubt == ""


def test_a_single_method_without_a_minimum_near_is_doubted() -> None:
    rivals = [offer("metis cut", 210), offer("blocks 2x2", 350)]
    known = Confidence.of([offer("mt-kahypar km1", 100, best=True), *rivals])
    plain = Confidence.of([known.best, *rivals[1:]])  # regular: shown beside, not as another method again
    assert [cells(k)[1:3] for k in (known, plain)] == [
        ("blocks 2x2: 3.5 times as much", "metis cut: 2.1 times as much"),
        ("blocks 2x2: 3.5 times as much", "none found"),
    ]
    assert known.doubt == (
        "4 nodes (volume): only one method found this (mt-kahypar km1; no minimum is known), what others "
        "found sends 2.1 times as much (metis cut): ask with --effort thorough"
    )
    far = Confidence.of([offer("metis cut", 100, best=True, bound=100), *rivals[1:]])
    assert "3.0 times the minimum" in far.doubt
    # a proof nearby, or another method nearby, leaves none
    assert Confidence.of([offer("mt-kahypar km1", 100, best=True, bound=150), *rivals]).doubt == ""
    assert Confidence.of([offer("mt-kahypar km1", 150, best=True), *rivals]).doubt == ""


def test_a_cheaper_regular_division_beyond_the_balance_limit_is_named() -> None:
    best = offer("metis cut", 100, best=True)
    known = Confidence.of([best, offer("blocks 2x2", 60, imbalance=1.2)])
    said = "the regular division blocks 2x2 sends 40 % less than {}, with 1.20 times the mean work"
    assert said.format("metis cut") in known.doubt
    assert cells(known)[1] == "blocks 2x2: -40 %, imbalance 1.20"
    shown = offer("slabs 4", 100), offer("blocks 2x2", 60, imbalance=1.2)
    assert said.format("slabs 4") in Confidence.of([best, *shown]).doubt
    assert Confidence.of([best, offer("blocks 2x2", 60, imbalance=2.0)]).doubt == ""
    assert Confidence.of([best, offer("blocks 2x2", 90, imbalance=1.2)]).doubt == ""


def test_a_division_that_sends_nothing_is_compared_without_ratios() -> None:
    known = Confidence.of([offer("metis cut", 0, best=True), offer("slabs 4", 8), offer("mt-kahypar km1", 0)])
    assert known.ratio(known.best) == 1.0
    assert known.regular is not None and math.isinf(known.ratio(known.regular))
    assert cells(known)[1:3] == ("slabs 4: 24 B where the best sends nothing", "mt-kahypar km1: as much")
    document = json.loads(json_text(sample_result(*_all(known))))
    assert document["confidence"][0]["regular"]["times_best"] is None


def _all(known: Confidence) -> tuple[Decomposition, ...]:
    return tuple(d for d in (known.best, known.regular, known.other) if d is not None)


def test_one_node_has_nothing_to_compare() -> None:
    assert confidence_of([sample_decomposition(1)]) == ()


def test_unbalanced_division_is_no_answer() -> None:
    item = offer("metis cut", 40, best=True, imbalance=1.4)
    result, stream = sample_result(item), io.StringIO()
    show_result(result, make_console(stream))
    rows = [line for line in stream.getvalue().splitlines() if line.startswith("│")]
    assert rows[0].split("│")[1:4] == ["     4 ", " no balanced division found ", "     - "]
    assert "(nearest: metis cut)" in rows[1] and "120 B" in rows[1] and "1.400" in rows[1]
    assert json.loads(json_text(result))["decompositions"][0]["balanced"] is False
    assert header_of(result)["decompositions"][0]["is_balanced"] is False  # type: ignore[index, call-overload]
    assert "not balanced" in repr(item)


def test_what_is_far_above_blocks_may_be_missed_by_all_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """On 12 x 12 points, two blocks send 2 x 12 words per round; parts of alternate points send all 144."""
    store, said = GraphStore.of(grid(12, count=5)), "one that nothing looks for may be much better"
    known = Structure("grid", 10, 2, 5, 4, extent=12, shares=np.full(100, 1 / 144))
    for owners, is_missed in ((np.indices((12, 12)).sum(axis=0) % 2, True), (np.arange(144) // 72, False)):
        only = [Candidate("metis cut", np.tile(owners.ravel(), 2).astype(np.int32), 0.0)]
        monkeypatch.setattr(Portfolio, "candidates", lambda *_, only=only: iter(only))
        monkeypatch.setattr(Portfolio, "structure", known)
        monkeypatch.setattr(Portfolio, "refined", lambda *_: iter(()))
        monkeypatch.setattr(Portfolio, "of_one_array", lambda *_: iter(()))
        divided = decompose(store, 144, CountOptions((2,)), SilentProgress())
        assert any(said in text for text in divided.warnings) == is_missed


def test_divisions_know_whether_they_are_balanced(monkeypatch: pytest.MonkeyPatch) -> None:
    options = CountOptions((4,), check=True)
    divide = partial(decompose, GraphStore.of(grid(9)), 81, options, SilentProgress())
    assert all(d.is_balanced for d in divide().decompositions if d.best)
    monkeypatch.setattr(Portfolio, "allowed", lambda *_: 0.99)
    divided = divide()
    assert not any(d.is_balanced for d in divided.decompositions)
    assert np.sum([d.best for d in divided.decompositions]) == 1
    assert any("no decomposition on 4 nodes (volume)" in text for text in divided.warnings)
    monkeypatch.setattr(Portfolio, "allowed", lambda _, nodes, method="": 0.99 + (method == "mt-kahypar km1"))
    assert all(d.is_balanced and d.best == (d.method == "metis cut") for d in divide().decompositions)
