"""Names of modules from before the rooms."""

import importlib

import pytest


@pytest.mark.fast
@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("errors", "foundation.errors"),
        ("laws.formula", "scaling.laws.formula"),
        ("tasks.graph", "kernels.tasks.graph"),
        ("vcg.graph", "graph.value_graph"),
        ("partition.regular.rules", "division.regular.rules"),
    ],
)
def test_a_moved_module_is_the_same_module_and_says_where_it_is(before: str, now: str) -> None:
    module = importlib.import_module(f"commanalyzer.{now}")
    with pytest.warns(DeprecationWarning, match=f"commanalyzer.{before} has moved: write commanalyzer.{now}"):
        assert importlib.import_module(f"commanalyzer.{before}") is module
    assert module.__spec__ is not None and module.__spec__.name == f"commanalyzer.{now}"
