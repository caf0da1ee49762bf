"""Values that rounds leave in memory are loaded by the next round, where nothing else writes there."""

import llvmlite.binding as llvm
import numpy as np
import pytest

from commanalyzer.foundation.flows import Fold
from commanalyzer.program.frontend.forwarding import with_reloads
from tests.recorded import record_source

_LOOP = """
declare void @other()
declare double @llvm.fabs.f64(double)

define void @add(ptr %a, ptr %x, ptr %y, i64 %n) {
entry:
  %first = load TYPE, ptr %a, align 8
  BEFORE
  br label %loop

loop:
  %sum = phi TYPE [ START, %entry ], [ %next, %again ]
  %i = phi i64 [ 0, %entry ], [ %i.next, %again ]
  %p = getelementptr TYPE, ptr %x, i64 %i
  %value = load TYPE, ptr %p, align 8
  %next = ADD TYPE FROM, ADDED
  store TYPE STORED, ptr PLACE, align 8
  %i.next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %i.next, %n
  br i1 %done, label %exit, label %again

again:
  BEHIND
  br label %loop

exit:
  ret void
}
"""


def _text(**parts: str) -> str:
    usual = {"ADDED": "%value", "STORED": "%next", "TYPE": "double", "ADD": "fadd", "START": "%first"}
    usual |= {"PLACE": "%a", "BEFORE": "", "BEHIND": "", "FROM": "%sum"}
    text = _LOOP
    for name, part in (usual | parts).items():
        text = text.replace(name, part)
    return text


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"TYPE": "i64", "ADD": "mul"},
        {"BEHIND": "%z = call double @llvm.fabs.f64(double %next)"},
        {"START": "0.0", "BEFORE": "store double 0.0, ptr %a, align 8"},  # what was just stored there
    ],
)
def test_a_stored_value_is_loaded_again(parts: dict[str, str]) -> None:
    text = with_reloads(_text(**parts))
    llvm.parse_assembly(text).verify()
    assert "%sum = phi" not in text
    last_phi = next(line for line in text.splitlines() if "%i = phi" in line)
    assert f"{last_phi}\n  %sum = load {parts.get('TYPE', 'double')}, ptr %a, align 8\n" in text


@pytest.mark.parametrize(("made", "taken"), [("%sum", "%next"), ("%first", "%next.stored")])
def test_what_is_stored_to_a_place_of_its_own_is_loaded_for_later_readers(made: str, taken: str) -> None:
    text = with_reloads(_text(PLACE="%p", BEHIND="%z = fadd double %next, %value", FROM=made))
    llvm.parse_assembly(text).verify()
    assert "store double %next, ptr %p, align 8\n  %next.stored = load double, ptr %p, align 8" in text
    assert f"[ {taken}, %again ]" in text  # a running value itself; others as they are read here
    assert "%z = fadd double %next.stored, %value" in text


@pytest.mark.parametrize(
    "parts",
    [
        {"START": "0.0"},  # another first value than the memory's
        {"PLACE": "%y"},  # stored elsewhere
        {"STORED": "%value"},  # another value is stored
        {"TYPE": "i64", "ADD": "add", "ADDED": "1"},  # a counter
        {"BEFORE": "store double 1.0, ptr %y, align 8"},  # perhaps over the first value
        {"BEHIND": "store double 1.0, ptr %y, align 8"},  # perhaps over the stored one
        {"BEHIND": "call void @other()"},
        {"TYPE": "i64", "ADD": "add", "BEHIND": "%g = getelementptr double, ptr %x, i64 %sum"},  # an index
    ],
)
def test_other_registers_stay(parts: dict[str, str]) -> None:
    assert with_reloads(_text(**parts)).strip() == _text(**parts).strip()


def test_a_store_that_some_rounds_leave_out_is_no_sum_in_memory() -> None:
    store = "  store double %next, ptr %a, align 8\n"
    text = _text().replace(
        store,
        f"  %big = fcmp ogt double %value, 1.0\n  br i1 %big, label %write, label %on\n\n"
        f"write:\n{store}  br label %on\n\non:\n",
    )
    llvm.parse_assembly(text).verify()
    assert with_reloads(text).strip() == text.strip()


_PROGRAM = """#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) void product(int n, double *c, double *a, double *b) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) { c[i] += a[i * n + k] * b[k]; }
}
int main(void) {
  double m[64], x[8], y[8];
  for (int i = 0; i < 64; i++) m[i] = i;
  for (int i = 0; i < 8; i++) x[i] = i + 1, y[i] = 0;
  product(8, y, m, x);
  printf("%g %g\\n", y[3], x[2]);
}
"""


def test_the_sum_may_be_combined() -> None:
    graph = record_source(_PROGRAM, regions=("product",)).graph
    rows = np.flatnonzero(graph.rows.row_fold == Fold.SUM)
    assert len(rows) == 64
    assert np.all(graph.rows.row_accumulates[rows])
    assert np.diff(graph.rows.source_ptr)[graph.rows.term_ptr[rows]].tolist() == [2] * 64
