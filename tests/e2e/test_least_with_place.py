"""A minimum with its place costs one partial result per node, guarded or not, over one pass or several."""

import numpy as np
import pytest

from commanalyzer.graph.structure.hubs import find_hubs
from tests.counts import count_volume
from tests.e2e.analysed import HEAD
from tests.property.test_flows import check
from tests.recorded import record_source

N, STEPS, P = 60, 4, 4
PROGRAM = """
enum { n = 60, lists = 3, steps = 4 };
static int list[lists][n / lists], place_of[steps + 1];
double least_of[steps + 1];
CALL static void constrain(const int *at, const double *x, const double *rate, double *bound, int *place) {
  double least = *bound;
  int where = -1;
  for (int k = 0; k < n / lists; k++) {
    int i = at[k];
    double f = sqrt(x[i] * x[i] + 1);
    if (rate[i] < 0.5) f = f / (2 + rate[i]);
    UPDATE
  }
  if (where != -1) { *bound = least; PLACE }
}
int main(void) {
  double *x = (double *)malloc(n * 8), *rate = (double *)malloc(n * 8);
  for (int i = 0; i < n; i++) list[i % lists][i / lists] = (i * 7 + i % lists) % n;
  for (int i = 0; i < n; i++) x[i] = 3 + (i * 5) % 7, rate[i] = (i % 3) * 0.4;
  for (int t = 0; t < steps; t++) {
    double bound = 1e20;
    int place = -1;
    for (int r = 0; r < lists; r++) constrain(list[r], x, rate, &bound, &place);
    least_of[t] = bound;
    place_of[t] = place;
    for (int i = 0; i < n; i++) x[i] = 1.1 * x[i];
  }
  for (int t = 0; t < steps; t++) printf("%g %d\\n", least_of[t], place_of[t]);
}
"""
GUARDED = "if (rate[i] != 0.0 && f < least) { least = f; where = i; }"
BRANCHES = "if (rate[i] != 0.0) { double g = f + 1; if (least > g) { least = g; where = i; } }"
TIES = "if (f < least || (f == least && i < where)) { least = f; where = i; }"
PLAIN = "if (f <= least) { where = i; least = f; }"


@pytest.mark.parametrize("place", ["", "*place = where;"])
@pytest.mark.parametrize("update", [GUARDED, BRANCHES, TIES, PLAIN])
@pytest.mark.parametrize("call", ["inline", "__attribute__((noinline))"])
def test_a_guarded_minimum_over_lists(call: str, update: str, place: str) -> None:
    text = HEAD + PROGRAM.replace("CALL", call).replace("UPDATE", update).replace("PLACE", place)
    recorded = record_source(text)
    check(text, recorded)
    graph = recorded.graph
    names = np.array([o.name for o in graph.objects])[graph.home_object]
    is_element = (names == "x") | (names == "rate")
    owner = np.where(is_element, graph.home_offset // 8 * P // N, 0).astype(np.int32)
    is_list = names == "list"
    at = (graph.home_offset // 4)[is_list]
    number = at % (N // 3) * 3 + at // (N // 3)
    owner[is_list] = (number * 7 + number % 3) % N * P // N
    assert (np.bincount(owner[is_element], minlength=P) == 2 * N // P).all()
    counted = count_volume(graph, owner, P, find_hubs(graph))
    passes = 3 * STEPS * (P - 1)
    assert 0 < counted.high_bytes <= passes * (8 + 8 + 4 + 4), counted
    assert counted.low_bytes <= passes * (8 + 4)
