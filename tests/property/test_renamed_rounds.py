"""Rounds that do what they did before with other words: their chains are those of the interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graphs import assert_same_graph
from tests.property.loop_programs import loop_program
from tests.property.test_flows import check
from tests.recorded import graph_under, record_source

_CHANGES = ["little changed", "little changed elsewhere", "two exchanged", "to and fro"]


def test_chains_of_renamed_rounds_equal_the_interpreters() -> None:
    """Stores, updates and sums at indices of which few change, some to and fro; words of 2, 4 and 8 bytes."""
    names = ["rounds that gather", "rounds that meet", "rounds with short words", "rounds with packed words"]
    names += ["rounds with weights", "rounds with weighted sums", "rounds downwards"]
    text = loop_program([*names, *_CHANGES], 40, 12)
    recorded = record_source(text)
    assert recorded.num_renamings > 40
    check(text, recorded)


@pytest.mark.parametrize(
    "name",
    [
        "rounds beside others",  # words that move, and others of the same array
        "rounds that copy",
    ],
)
def test_rounds_that_cannot_be_renamed_run_with_hooks(name: str) -> None:
    text = loop_program([name, *_CHANGES], 40, 12)
    recorded = record_source(text)
    check(text, recorded)
    assert recorded.num_renamings == 0


_DIAGONAL = """
#include <stdio.h>
#define N 40
static double x[N], y[N], a[8 * N], b[8 * N], w[N];
int main(void) {
  for (int i = 0; i < N; i++) { x[i] = i + 0.5; y[i] = 100.5 + i; w[i] = 0.25 * i; }
  for (int t = 0; t < 12; t++) {
    for (int i = 0; i < N; i++) { a[(int)x[i]] += w[i]; b[(int)y[i]] += w[i]; }
    for (int i = 0; i < N; i += 7) if (t > 4) { x[i] += AHEAD; y[i] -= BACK; }
  }
  printf("%g %g\\n", a[7], b[101]);
  return 0;
}
"""


@pytest.mark.parametrize(("ahead", "back"), [(1, 1), (3, 1), (5, 3), (7, 5), (2, 2)])
def test_values_that_change_against_each_other_are_seen_to_change(ahead: int, back: int) -> None:
    """No sum of both stays what it was."""
    text = _DIAGONAL.replace("AHEAD", str(ahead)).replace("BACK", str(back))
    recorded = record_source(text)
    check(text, recorded)
    assert recorded.num_renamings > 6


_WANDERING = """
#include <stdio.h>
#define N 60000
static double grid[4 * N], weight[N];
static int cell[N];
int main(void) {
  for (int i = 0; i < N; i++) { cell[i] = i; weight[i] = 0.5 * i; }
  for (int t = 0; t < 60; t++) {
    for (int i = 0; i < N; i++) grid[cell[i]] += 0.5 * weight[i];
    for (int i = 0; t > 2 && i < N - 1; i++) if (i % 3) cell[i] = (cell[i] * 5 + t) % (4 * N);
  }
  printf("%g %g\\n", grid[7], grid[N]);
  return 0;
}
"""


def test_columns_may_move_to_the_disk_while_rounds_are_renamed(tmp_path: Path) -> None:
    """The graph is the same, wherever in the run the limit of memory is reached."""
    source = tmp_path / "wandering.c"
    source.write_text(_WANDERING)
    kept, most_renamings, statistics = graph_under(source, None)
    assert statistics.spilled_bytes == 0
    renamings = []
    for percent in (100, 140, 160):
        graph, num_renamings, spilled = graph_under(source, statistics.peak_rss_bytes * percent // 100)
        assert spilled.spilled_bytes > 0
        assert_same_graph(graph, kept)
        renamings.append(num_renamings)
    assert any(0 < number < most_renamings for number in renamings)  # it was reached among them


_RETURNING = """
#include <stdio.h>
#ifndef N
#define N 20000
#endif
static double grid[2 * N], weight[N];
static int cell[N];
int main(void) {
  for (int i = 0; i < N; i++) weight[i] = 0.5 * i;
  for (int t = 0; t < STEPS; t++) {
    for (int i = 0; i < N; i++) cell[i] = i % 2 ? i : (i + t % (i % 4 ? 5 : 4) * 5001) % (2 * N);
    for (int i = 0; i < N; i++) grid[cell[i]] += 0.5 * weight[i];
  }
  printf("%g %g\\n", grid[7], grid[N]);
  return 0;
}
"""


def test_rounds_that_were_renamed_alike_before_need_no_renaming() -> None:
    """However many there are, and however often they go to and fro."""
    few, many = (record_source(_RETURNING.replace("STEPS", steps)) for steps in ("14", "34"))
    assert few.num_renamings == many.num_renamings
    assert few.num_renamings == 35_000  # three other places of a quarter of the rounds, four of another
    assert few.graph.num_flows == many.graph.num_flows


def test_renamings_are_found_again_after_many_that_were_new(tmp_path: Path) -> None:
    """New ones that are too many for a small table are not looked up, until some are seen to come again."""
    found = []
    for steps in (14, 34):
        source = tmp_path / f"returning{steps}.c"
        source.write_text(f"#define N 80000\n#define STEPS {steps}\n" + _RETURNING)
        found.append(graph_under(source, None)[:2])
    (few, num_few), (many, num_many) = found
    assert num_few == num_many
    assert 140_000 < num_few < 2 * 140_000  # some are there twice
    assert few.num_flows == many.num_flows == 220_000  # as if none were
    assert many.row_count.sum() - few.row_count.sum() == 20 * 2 * 80_000  # two stores in each round
