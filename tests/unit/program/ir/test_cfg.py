"""Dominance and loops on hand-drawn graphs, and against networkx on random ones."""

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.program.ir.cfg import VIRTUAL_EXIT, ControlFlow, control_flow
from commanalyzer.program.ir.parsing.parser import parse_module


def _flow(edges: dict[str, list[str]]) -> ControlFlow:
    lines = ["define void @f(i32 %c) {"]
    for label, targets in edges.items():
        lines.append(f"{label}:")
        if not targets:
            lines.append("  ret void")
        elif len(targets) == 1:
            lines.append(f"  br label %{targets[0]}")
        else:
            cases = " ".join(f"i32 {i}, label %{t}" for i, t in enumerate(targets[1:]))
            lines.append(f"  switch i32 %c, label %{targets[0]} [ {cases} ]")
    return control_flow(parse_module("\n".join([*lines, "}"])).functions[0])


def test_nested_loops_with_two_latches() -> None:
    edges = {"entry": ["outer"], "outer": ["inner", "done"], "inner": ["body", "next"]}
    edges |= {"body": ["inner", "skip"], "skip": ["inner"], "next": ["outer"], "done": []}
    flow = _flow(edges)
    outer, inner = flow.loops["outer"], flow.loops["inner"]
    assert outer.blocks == {"outer", "inner", "body", "skip", "next"}
    assert (outer.parent, outer.depth, outer.latches, outer.exits) == (None, 1, ("next",), ("done",))
    assert inner.blocks == {"inner", "body", "skip"}
    assert (inner.parent, inner.depth, inner.latches) == ("outer", 2, ("body", "skip"))
    assert inner.exits == ("next",)
    assert flow.loop_of("skip") == inner
    assert flow.loop_of("next") == outer
    assert flow.loop_of("done") is None
    assert [loop.header for loop in flow.loops_around("body")] == ["inner", "outer"]
    assert flow.is_loop_header("inner")
    assert not flow.is_loop_header("body")


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=8, max_size=8))
def test_dominators_agree_with_networkx(targets: list[list[int]]) -> None:
    # The entry of a function has no predecessors.
    edges = {"entry": ["n0"]}
    edges |= {f"n{i}": [f"n{t}" for t in dict.fromkeys(ts)] for i, ts in enumerate(targets)}
    flow = _flow(edges)
    graph = nx.DiGraph((a, b) for a, bs in edges.items() for b in bs)
    expected = nx.immediate_dominators(graph, "entry")
    assert {k: v for k, v in flow.immediate_dominator.items() if v is not None} == {
        k: v for k, v in expected.items() if k != "entry"
    }
    reachable = graph.subgraph(flow.reverse_postorder)
    back = reachable.reverse(copy=True)
    back.add_edges_from((VIRTUAL_EXIT, label) for label in flow.reverse_postorder if not edges[label])
    back.add_node(VIRTUAL_EXIT)
    theirs = nx.immediate_dominators(back, VIRTUAL_EXIT)
    assert dict(flow.immediate_postdominator) == {k: v for k, v in theirs.items() if k != VIRTUAL_EXIT}
