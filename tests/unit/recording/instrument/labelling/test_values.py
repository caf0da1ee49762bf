"""Which registers carry labels, and which conditions select."""

from __future__ import annotations

from commanalyzer.recording.instrument.labelling.values import Flow
from tests.unit.recording.instrument.functions import facts

STRAIGHT = """
define i64 @f(ptr %a, i64 %k, i32 %m) {
  %x = load double, ptr %a
  %y = fmul double %x, 2.0
  %c = fadd double 1.0, 2.0
  %p = getelementptr double, ptr %a, i64 %k
  %q = load ptr, ptr %a
  %n = ptrtoint ptr %q to i64
  %w = sext i32 %m to i64
  %z = add i64 %w, %n
  %s = call double @sqrt(double %y)
  %u = call double @unknown(double %y)
  %h = call i64 @strtol(ptr %a, ptr null, i32 10)
  %o = call double @g(double %c)
  ret i64 %z
}
define double @g(double %v) {
  ret double %v
}
declare double @sqrt(double)
declare double @unknown(double)
declare i64 @strtol(ptr, ptr, i32)
"""


def test_labels_start_at_memory_parameters_and_calls_and_stop_at_addresses() -> None:
    values = facts(STRAIGHT)
    assert values.parameters == {"%k": 1, "%m": 2}
    assert values.carrying == {"%k", "%m", "%x", "%y", "%w", "%z", "%s", "%u", "%h", "%o"}
    assert values.flows["%p"] is Flow.NONE
    assert values.flows["%q"] is Flow.NONE
    assert values.flows["%n"] is Flow.NONE
    assert values.flows["%h"] is Flow.SOURCE  # the text may show a value
    assert values.data_inputs("%h") == ()
    assert values.flows["%w"] is Flow.COPY
    assert values.flows["%o"] is Flow.SOURCE
    assert values.data_inputs("%z") == ("%w",)
    assert values.data_inputs("%o") == ()


DIAMOND = """
define double @f(ptr %a, i1 %flag) {
entry:
  %x = load double, ptr %a
  %c = fcmp ogt double %x, 0.0
  br i1 %c, label %yes, label %no
yes:
  br label %join
no:
  br label %join
join:
  %r = phi double [ 1.0, %yes ], [ 2.0, %no ]
  ret double %r
}
"""


def test_condition_of_a_diamond_selects_on_both_edges() -> None:
    values = facts(DIAMOND)
    assert values.selected.deciding == {("join", "yes"): ("%c",), ("join", "no"): ("%c",)}
    assert values.control_inputs("%r") == ("%c",)
    assert "%r" in values.carrying


def test_without_control_flows_a_choice_of_constants_carries_nothing() -> None:
    values = facts(DIAMOND, control_flows=False)
    assert values.carrying == {"%x", "%c", "%flag"}
    assert values.control_inputs("%r") == ()


LOOP = """
define double @f(ptr %a) {
entry:
  br label %loop
loop:
  %s = phi double [ 0.0, %entry ], [ %t, %loop ]
  %x = load double, ptr %a
  %t = fadd double %s, %x
  %c = fcmp olt double %t, 9.0
  br i1 %c, label %loop, label %exit
exit:
  %r = phi double [ %t, %loop ]
  ret double %r
}
"""


def test_how_often_a_loop_runs_selects_nothing() -> None:
    values = facts(LOOP)
    assert ("loop", "loop") not in values.selected.deciding
    assert values.selected.deciding["exit", "loop"] == ()
    assert values.control_inputs("%s") == ()
    assert values.control_inputs("%r") == ()


EARLY = """
define double @f(ptr %a) {
entry:
  %x = load double, ptr %a
  %c = fcmp olt double %x, 9.0
  br i1 %c, label %middle, label %join
middle:
  %b = getelementptr double, ptr %a, i64 1
  %y = load double, ptr %b
  %d = fcmp olt double %y, 9.0
  br i1 %d, label %last, label %join
last:
  br label %join
join:
  %r = phi double [ %x, %entry ], [ %y, %middle ], [ 0.0, %last ]
  ret double %r
}
"""


def test_nested_conditions_select_where_they_lead() -> None:
    values = facts(EARLY)
    assert values.edge_conditions("join", "entry") == ("%c",)
    assert values.edge_conditions("join", "middle") == ("%d", "%c")
    assert values.edge_conditions("join", "last") == ("%d", "%c")
