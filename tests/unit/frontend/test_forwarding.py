"""Values that rounds leave in memory are loaded by the next round, where nothing else writes there."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from commanalyzer.frontend.forwarding import with_reloads

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
    assert lines[last_phi + 1] == f"  %sum = load {kind}, ptr %a"


@pytest.mark.parametrize(
    "parts",
    [
        {"START": "0.0"},  # another first value than the memory's
        {"PLACE": "%y"},  # stored elsewhere
        {"PLACE": "%p"},
        {"BEFORE": "store double 1.0, ptr %y, align 8"},  # perhaps over the first value
        {"BEHIND": "store double 1.0, ptr %y, align 8"},  # perhaps over the stored one
        {"BEHIND": "call void @other()"},
        {"TYPE": "i64", "ADD": "add", "BEHIND": "%g = getelementptr double, ptr %x, i64 %sum"},  # an index
    ],
)
def test_other_registers_stay(parts: dict[str, str]) -> None:
    assert with_reloads(_text(**parts)).strip() == _text(**parts).strip()
