"""Values that rounds leave in memory are loaded by the next round, where nothing else writes there."""

from __future__ import annotations

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
  %next = ADD TYPE %sum, %value
  store TYPE %next, ptr PLACE, align 8
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
    usual = {"TYPE": "double", "ADD": "fadd", "START": "%first", "PLACE": "%a", "BEFORE": "", "BEHIND": ""}
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
    ],
)
def test_a_stored_value_is_loaded_again(parts: dict[str, str]) -> None:
    text = with_reloads(_text(**parts))
    llvm.parse_assembly(text).verify()
    kind = parts.get("TYPE", "double")
    assert "%sum = phi" not in text
    lines = text.splitlines()
    last_phi = next(k for k, line in enumerate(lines) if "%i = phi" in line)
    assert lines[last_phi + 1] == f"  %sum = load {kind}, ptr %a, align 8"


def test_what_is_stored_to_a_place_of_its_own_is_loaded_for_later_readers() -> None:
    text = with_reloads(_text(PLACE="%p", BEHIND="%z = fadd double %next, %value"))
    llvm.parse_assembly(text).verify()
    assert "store double %next, ptr %p, align 8\n  %next.stored = load double, ptr %p, align 8" in text
    assert "[ %next, %again ]" in text  # the running value itself
    assert "%z = fadd double %next.stored, %value" in text


@pytest.mark.parametrize(
    "parts",
    [
        {"START": "0.0"},  # another first value than the memory's
        {"PLACE": "%y"},  # stored elsewhere
        {"BEFORE": "store double 1.0, ptr %y, align 8"},  # perhaps over the first value
        {"BEHIND": "store double 1.0, ptr %y, align 8"},  # perhaps over the stored one
        {"BEHIND": "call void @other()"},
        {"TYPE": "i64", "ADD": "add", "BEHIND": "%g = getelementptr double, ptr %x, i64 %sum"},  # an index
    ],
)
def test_other_registers_stay(parts: dict[str, str]) -> None:
    assert with_reloads(_text(**parts)).strip() == _text(**parts).strip()


SUM = """define void @f(ptr %x, ptr %a, ptr %q, i64 %n) {
entry:
  %start = load double, ptr %x, align 8
  br label %body

body:                                             ; preds = %back, %entry
  %i = phi i64 [ 0, %entry ], [ %next, %back ]
  %sum = phi double [ %start, %entry ], [ %more, %back ]
  %at = getelementptr double, ptr %a, i64 %i
  %v = load double, ptr %at, align 8
  %more = fadd double %sum, %v
  store double %more, ptr %x, align 8
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %back

back:                                             ; preds = %body
  br label %body

exit:                                             ; preds = %body
  ret void
}
"""


def check(text: str) -> str:
    """``text`` with reloads, which LLVM accepts."""
    found = with_reloads(text)
    llvm.parse_assembly(found).verify()
    return found


def test_a_sum_in_memory_is_read_from_memory() -> None:
    found = check(SUM)
    assert "%sum = load double, ptr %x, align 8\n  %at" in found
    assert "phi double" not in found


def test_a_sum_that_begins_with_what_was_just_stored_is_one() -> None:
    found = check(
        SUM.replace(
            "  %start = load double, ptr %x, align 8\n", "  store double 0.000000e+00, ptr %x, align 8\n"
        ).replace("[ %start,", "[ 0.000000e+00,")
    )
    assert "%sum = load double, ptr %x" in found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Another store in the loop may change what was stored.
        (
            "  %next = add",
            "  %e = getelementptr double, ptr %q, i64 %i\n  store double %v, ptr %e\n  %next = add",
        ),
        # The loop begins with a number that memory does not hold.
        ("[ %start,", "[ 1.000000e+00,"),
        # Memory may have changed since.
        ("align 8\n  br label %body", "align 8\n  store double 1.000000e+00, ptr %q\n  br label %body"),
        # What is stored is not what is carried.
        ("store double %more", "store double %v"),
    ],
)
def test_what_memory_may_not_hold_stays_in_the_register(old: str, new: str) -> None:
    text = SUM.replace(old, new)
    assert text != SUM
    assert check(text) == text


def test_a_store_that_some_rounds_leave_out_is_no_sum_in_memory() -> None:
    text = SUM.replace(
        "  store double %more, ptr %x, align 8\n  %next",
        "  %big = fcmp ogt double %v, 1.000000e+00\n  br i1 %big, label %write, label %on\n\n"
        "write:                                            ; preds = %body\n"
        "  store double %more, ptr %x, align 8\n  br label %on\n\n"
        "on:                                               ; preds = %write, %body\n  %next",
    ).replace("; preds = %body\n  br label %body", "; preds = %on\n  br label %body")
    assert check(text) == text


def test_a_counter_in_memory_keeps_its_register() -> None:
    text = SUM.replace("double", "i64").replace("fadd i64 %sum, %v", "add i64 %sum, 1")
    assert check(text) == text


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
