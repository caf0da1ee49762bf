"""Sums in memory keep their loads where they add, if nothing else in the loop may write there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from commanalyzer.frontend.compile import compile_sources
from commanalyzer.frontend.promoted_loads import with_loads_in_loops
from commanalyzer.vcg.graph import Fold
from tests.recorded import record_source

_PROGRAM = """#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) void product(int n, double *c, double *a, double *b) {{
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) {{ {body} }}
}}
int main(void) {{
  double m[64], x[8], y[8];
  for (int i = 0; i < 64; i++) m[i] = i;
  for (int i = 0; i < 8; i++) x[i] = i + 1, y[i] = 0;
  product(8, y, m, x);
  printf("%g %g\\n", y[3], x[2]);
}}
"""
_SUM = "c[i] += a[i * n + k] * b[k];"


def _text(tmp_path: Path, body: str) -> str:
    source = tmp_path / "program.c"
    source.write_text(_PROGRAM.format(body=body))
    text = compile_sources([source]).ir_text
    begin = text.index("@product(")
    return text[begin : text.index("\n}", begin)]


def test_a_sum_is_loaded_where_it_is_stored(tmp_path: Path) -> None:
    assert "phi double" not in _text(tmp_path, _SUM)


@pytest.mark.parametrize("more", ["b[k] = 2.0;", 'puts("");'])
def test_what_else_may_write_there_keeps_the_register(tmp_path: Path, more: str) -> None:
    """Another store, or a call that may: what the optimiser made stays."""
    text = _text(tmp_path, _SUM + more)
    assert with_loads_in_loops(text) == text


def test_the_sum_may_be_combined() -> None:
    graph = record_source(_PROGRAM.format(body=_SUM), regions=("product",)).graph
    rows = np.flatnonzero(graph.row_fold == Fold.SUM)
    assert len(rows) == 64
    assert np.all(graph.row_accumulates[rows])
    assert np.diff(graph.source_ptr)[graph.term_ptr[rows]].tolist() == [2] * 64
