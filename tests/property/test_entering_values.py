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
    ("name", "workspaces", "least"),
    [
        ("rounds with an invariant", ["s"], 10),
        ("rounds with an invariant", ["s", "p4"], 10),
        ("rounds with invariants", ["s"], 20),  # several, one of which takes turns
        ("rounds with invariants", ["s", "d"], 20),  # one of which is a lifetime
        ("rounds with what others left", ["d"], 10),  # in words that are no workspaces
    ],
)
def test_rounds_stay_known_apart(name: str, workspaces: list[str], least: int, tmp_path: Path) -> None:
    assert _renamed_again(name, workspaces, tmp_path) >= least


@pytest.mark.parametrize(
    ("name", "workspaces"),
    [
        ("rounds with what others left", ["s"]),  # a round may go on with the lifetime that entered
        ("rounds with an invariant", ["s", "a"]),  # lifetimes in the memory that rounds look at
    ],
)
def test_rounds_run_with_hooks_where_others_may_matter(
    name: str, workspaces: list[str], tmp_path: Path
) -> None:
    assert _renamed_again(name, workspaces, tmp_path) == 0


def _renamed_again(name: str, workspaces: list[str], folder: Path) -> int:
    """Renamings of a recording with workspaces, compared with one without and with the interpreter."""
    text = loop_program([name, *_CHANGES], 40, 14)
    recorded = record_source(text)
    mask = _mask(recorded, workspaces)
    (folder / "hooks").mkdir()
    trace = trace_again(recorded, mask, folder)
    hooks = trace_again(recorded, mask, folder / "hooks", _TOO_LITTLE)
    assert len(hooks.renamings) == 0
    assert_same_graph(graph_of(trace, recorded), graph_of(hooks, recorded))
    check(text, recorded, workspaces)
    return len(trace.renamings)


def _mask(recorded: Recorded, names: list[str]) -> Bool:
    graph = recorded.graph
    chosen = [number for number, item in enumerate(graph.objects) if item.name in names]
    assert len(chosen) == len(names)
    return np.isin(graph.home_object, chosen) & ~graph.is_register & (graph.home_object > 0)
