"""Values in registers that enter loops whose rounds are known apart, in recordings with workspaces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from commanalyzer.vcg.graph import Bool
from tests.graphs import assert_same_graph
from tests.property.loop_programs import loop_program
from tests.property.test_workspaces import check
from tests.recorded import Recorded, graph_of, record_source, trace_again

_CHANGES = ["value renewed", "little changed", "to and fro"]
_TOO_LITTLE = 60_000  # bytes: less than the rounds of a loop take


@pytest.mark.parametrize(
    ("name", "workspaces"),
    [
        ("rounds with an invariant", ["s"]),
        ("rounds with an invariant", ["s", "p4"]),
        ("rounds with an invariant", ["s", "a"]),  # lifetimes in the memory that rounds look at
        ("rounds with invariants", ["s"]),  # several, one of which takes turns
        ("rounds with invariants", ["s", "d"]),  # one of which is a lifetime
        ("rounds with what others left", ["d"]),  # in words that are no workspaces
        ("rounds with what others left", ["s"]),  # a round may go on with the lifetime that entered
    ],
)
def test_what_enters_is_seen_where_others_may_matter(
    name: str, workspaces: list[str], tmp_path: Path
) -> None:
    """Compared with a recording that knows no rounds, and with the interpreter."""
    text = loop_program([name, *_CHANGES], 40, 14)
    recorded = record_source(text)
    assert any(loop.apart for patch in recorded.plan.patches.values() for loop in patch.repeated)
    mask = _mask(recorded, workspaces)
    (tmp_path / "hooks").mkdir()
    trace = trace_again(recorded, mask, tmp_path)
    hooks = trace_again(recorded, mask, tmp_path / "hooks", _TOO_LITTLE)
    assert_same_graph(graph_of(trace, recorded), graph_of(hooks, recorded))
    check(text, recorded, workspaces)


def _mask(recorded: Recorded, names: list[str]) -> Bool:
    graph = recorded.graph
    chosen = [number for number, item in enumerate(graph.objects) if item.name in names]
    assert len(chosen) == len(names)
    return np.isin(graph.home_object, chosen) & ~graph.is_register & (graph.home_object > 0)
