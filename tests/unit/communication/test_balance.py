"""Work of parts: what is combined tells what all rows tell."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings

from commanalyzer.communication import balance
from commanalyzer.communication.totals import totals_of
from commanalyzer.communication.volume import charge_volume
from tests.counts import imbalance_of_work
from tests.graphs import build, folded
from tests.strategies import Case, cases

SUM = build(7, [folded(6, *([i] for i in range(6)))], work={6: 12.0})  # three terms are combined in part 1


@given(cases())
@example(Case(SUM, (0, 0, 0, 1, 1, 1, 0), 2, (False,) * 7))
@settings(max_examples=100, deadline=None)
def test_what_is_combined_tells_the_imbalance(case: Case) -> None:
    work_flops = np.arange(1.0, case.graph.num_vertices + 1)
    graph, hubs = replace(case.graph, work_flops=work_flops), np.array(case.hubs)
    part = np.array(case.part, np.int32)
    charges = charge_volume(graph, part, case.num_parts, hubs)
    folds = charges.fold.value, charges.fold.sender
    arguments = (graph, balance.term_work(graph), hubs, part, case.num_parts, folds)
    readers = totals_of(graph).readers if charges.splits_terms else None
    expected = imbalance_of_work(balance.work_by_value(*arguments, readers), part, case.num_parts)
    assert balance.imbalance_with_folds(*arguments, charges.fold_terms) == pytest.approx(expected, rel=1e-12)
