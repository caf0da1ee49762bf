"""Which loop-carried registers are reductions, chains or rotations."""

from __future__ import annotations

import re

import pytest

from commanalyzer.foundation.flows import Fold
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.instrument.labelling.recurrences import Component
from commanalyzer.recording.instrument.plan import PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import rewrite
from tests.unit.recording.instrument.functions import loop, loop_components

STORE_RESULT = "  %r = phi double [ %s2, %leave ]\n  store double %r, ptr %out"
CARRIED = "  %s = phi double [ 0.0, %entry ], [ %s2, %back ]"


def only(components: list[Component]) -> Component:
    """The single component."""
    assert len(components) == 1
    return components[0]


@pytest.mark.parametrize(
    ("update", "fold"),
    [
        ("  %s2 = fadd double %s, %x", Fold.SUM),
        ("  %s2 = fadd double %x, %s", Fold.SUM),
        ("  %s2 = fsub double %s, %x", Fold.SUM),
        ("  %s2 = fmul double %s, %x", Fold.PRODUCT),
        ("  %s2 = call double @llvm.minnum.f64(double %s, double %x)", Fold.MIN),
        ("  %s2 = call double @llvm.fmuladd.f64(double %x, double %x, double %s)", Fold.SUM),
        # neither x - s nor Horner's scheme may be reordered
        ("  %s2 = fsub double %x, %s", Fold.NONE),
        ("  %s2 = fdiv double %s, %x", Fold.NONE),
        ("  %s2 = call double @llvm.fmuladd.f64(double %s, double 3.0, double %x)", Fold.NONE),
    ],
)
def test_reduction_read_only_behind_the_loop(update: str, fold: Fold) -> None:
    found = only(loop_components(loop(phis=CARRIED, body=update, exit=STORE_RESULT)))
    assert found.kind == "accumulator"
    assert found.accumulator is not None
    assert found.accumulator.members == {"%s", "%s2"}
    assert found.accumulator.updates == ("%s2",)
    assert found.accumulator.resets == (("entry", "0.0"),)
    assert found.accumulator.exits == ("%r",)
    assert found.accumulator.fold is fold


def test_horner_in_two_steps_is_no_fold() -> None:
    body = "  %t = fmul double %s, 3.0\n  %s2 = fadd double %t, %x"
    found = only(loop_components(loop(phis=CARRIED, body=body, exit=STORE_RESULT)))
    assert found.accumulator is not None
    assert found.accumulator.fold is Fold.NONE


def test_prefix_sum_is_a_chain() -> None:
    body = "  %s2 = fadd double %s, %x\n  store double %s2, ptr %p"
    assert only(loop_components(loop(phis=CARRIED, body=body))).kind == "chain"


def test_sum_read_inside_the_loop_is_a_chain() -> None:
    body = "  %s2 = fadd double %s, %x\n  %y = fmul double %s2, 2.0\n  store double %y, ptr %p"
    assert only(loop_components(loop(phis=CARRIED, body=body, exit=STORE_RESULT))).kind == "chain"


def test_sum_whose_running_value_only_steers_is_a_reduction() -> None:
    body = "  %s2 = fadd double %s, %x\n  %big = fcmp ogt double %s2, 9.0"
    assert only(loop_components(loop(phis=CARRIED, body=body, exit=STORE_RESULT))).kind == "accumulator"


def test_fibonacci_rotation_is_a_chain() -> None:
    phis = "  %u = phi double [ 0.0, %entry ], [ %v, %back ]"
    phis += "\n  %v = phi double [ %first, %entry ], [ %w, %back ]"
    text = loop(
        phis=phis,
        body="  %w = fadd double %u, %v",
        exit="  %r = phi double [ %w, %leave ]\n  store double %r, ptr %out",
    ).replace("entry:\n", "entry:\n  %first = load double, ptr %a\n")
    assert only(loop_components(text)).kind == "chain"


def test_exchange_of_two_registers_is_a_rotation() -> None:
    phis = "  %u = phi double [ %first, %entry ], [ %v, %back ]"
    phis += "\n  %v = phi double [ 1.0, %entry ], [ %u, %back ]"
    text = loop(
        phis=phis, body="", exit="  %r = phi double [ %v, %leave ]\n  store double %r, ptr %out"
    ).replace("entry:\n", "entry:\n  %first = load double, ptr %a\n")
    assert only(loop_components(text)).kind == "rotation"


def test_two_interleaved_sums_are_two_reductions() -> None:
    phis = CARRIED + "\n  %t = phi double [ 1.0, %entry ], [ %t2, %back ]"
    body = "  %s2 = fadd double %s, %x\n  %t2 = fadd double %t, %x"
    exit_ = (
        STORE_RESULT.replace("\n", "\n  %q = phi double [ %t2, %leave ]\n") + "\n  store double %q, ptr %a"
    )
    found = loop_components(loop(phis=phis, body=body, exit=exit_))
    assert [c.kind for c in found] == ["accumulator", "accumulator"]
    assert {c.accumulator.exits for c in found if c.accumulator} == {("%r",), ("%q",)}


CONDITIONAL = """
  %positive = fcmp ogt double %x, 0.0
  br i1 %positive, label %yes, label %no
yes:
  {yes}
  br label %join
no:
  br label %join
join:
  %s2 = phi double [ {taken}, %yes ], [ {kept}, %no ]
"""


@pytest.mark.parametrize("control_flows", [False, True])
def test_conditional_sum_is_one_reduction(control_flows: bool) -> None:
    body = CONDITIONAL.format(yes="%s1 = fadd double %s, %x", taken="%s1", kept="%s")
    text = loop(phis=CARRIED, body=body, exit=STORE_RESULT)
    found = only(loop_components(text, control_flows=control_flows))
    assert found.accumulator is not None
    assert found.accumulator.members == {"%s", "%s1", "%s2"}
    assert found.accumulator.updates == ("%s1",)
    assert found.accumulator.choices == (("%s2",) if control_flows else ())
    assert found.accumulator.fold is Fold.SUM


def test_sum_limited_by_its_running_value_is_a_chain() -> None:
    body = CONDITIONAL.replace("%x, 0.0", "%s, 0.0").format(
        yes="%s1 = fadd double %s, %x", taken="%s1", kept="%s"
    )
    assert only(loop_components(loop(phis=CARRIED, body=body, exit=STORE_RESULT))).kind == "chain"


def test_sum_that_starts_anew_inside_the_loop() -> None:
    body = "  %s1 = fadd double %s, %x\n  %last = icmp eq i64 %i, 7" + CONDITIONAL.replace(
        "  %positive = fcmp ogt double %x, 0.0\n", ""
    ).replace("%positive", "%last").format(yes="", taken="0.0", kept="%s1")
    found = only(loop_components(loop(phis=CARRIED, body=body, exit=STORE_RESULT)))
    assert found.accumulator is not None
    assert set(found.accumulator.resets) == {("entry", "0.0"), ("yes", "0.0")}
    assert found.accumulator.fold is Fold.SUM


MIN = "  %less = fcmp olt double %x, %s\n  %s2 = select i1 %less, double %x, double %s"


@pytest.mark.parametrize("control_flows", [True, False])
@pytest.mark.parametrize(
    ("body", "fold"),
    [
        (MIN, Fold.MIN),
        (MIN.replace("olt", "ogt"), Fold.MAX),
        (MIN.replace("olt double %x, %s", "oge double %s, %x"), Fold.MIN),
        (MIN.replace("double %x, double %s", "double %s, double %x"), Fold.MAX),
    ],
)
def test_minimum_by_selection_is_a_reduction(body: str, fold: Fold, control_flows: bool) -> None:
    text = loop(phis=CARRIED, body=body, exit=STORE_RESULT)
    found = only(loop_components(text, control_flows=control_flows))
    assert found.accumulator is not None
    assert found.accumulator.members == {"%s", "%s2"}
    assert found.accumulator.updates == ("%s2",)
    assert found.accumulator.fold is fold


ARGMIN = CARRIED + "\n  %k = phi double [ 0.0, %entry ], [ %k2, %back ]"


def test_argument_of_a_minimum_collects_what_is_compared() -> None:
    body = MIN + "\n  %k2 = select i1 %less, double 1.0, double %k"
    text = loop(phis=ARGMIN, body=body, exit=STORE_RESULT.replace("%s2", "%k2"))
    found = only(loop_components(text))
    assert found.accumulator is not None
    assert found.accumulator.members == {"%k", "%k2"}
    assert found.accumulator.fold is Fold.SELECTION
    assert found.accumulator.selection is not None
    assert found.accumulator.selection.conditions == {"%less": ("%x",)}
    assert [(p, o.text) for p, o in found.accumulator.selection.rivals] == [("entry", "0.0")]
    assert only(loop_components(text, control_flows=False)).kind == "rotation"


def test_choice_that_is_stored_in_the_loop_is_no_reduction() -> None:
    body = "  %big = fcmp ogt double %x, 2.0\n  %s2 = select i1 %big, double %x, double %s\n"
    text = loop(phis=CARRIED, body=body + "  store double %s2, ptr %p", exit=STORE_RESULT)
    assert only(loop_components(text)).kind == "chain"


def test_sum_computed_in_advance_is_a_reduction() -> None:
    body = "  %big = fcmp ogt double %x, 2.0\n  %t = fadd double %s, %x\n"
    body += "  %s2 = select i1 %big, double %t, double %s"
    found = only(loop_components(loop(phis=CARRIED, body=body, exit=STORE_RESULT)))
    assert found.accumulator is not None
    assert found.accumulator.tentative == {"%t": "%s2"}
    assert found.accumulator.fold is Fold.SUM


NESTED = """
define void @f(ptr %a, ptr %out, i64 %n) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i2, %outer.back ]
  %s = phi double [ 0.0, %entry ], [ %s.row, %outer.back ]
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j2, %inner.back ]
  %t = phi double [ %s, %outer ], [ %t2, %inner.back ]
  %p = getelementptr double, ptr %a, i64 %j
  %x = load double, ptr %p
  %t2 = fadd double %t, %x
  %j2 = add i64 %j, 1
  %c = icmp slt i64 %j2, %n
  br i1 %c, label %inner.back, label %row
inner.back:
  br label %inner
row:
  %s.row = phi double [ %t2, %inner ]
  %i2 = add i64 %i, 1
  %d = icmp slt i64 %i2, %n
  br i1 %d, label %outer.back, label %exit
outer.back:
  br label %outer
exit:
  %r = phi double [ %s.row, %row ]
  store double %r, ptr %out
  ret void
}
"""


def test_nested_sum_is_one_reduction_over_both_loops() -> None:
    found = only(loop_components(NESTED))
    assert found.accumulator is not None
    assert found.accumulator.members == {"%s", "%t", "%t2", "%s.row"}
    assert found.accumulator.resets == (("entry", "0.0"),)
    assert found.accumulator.exits == ("%r",)
    assert found.accumulator.fold is Fold.SUM


def test_sum_that_sets_what_scales_the_next_one_is_a_reduction() -> None:
    """As a step size that the error of the last step sets: it has a home, whatever its register is called."""
    carried = '  %s = phi double [ 1.0, %entry ], [ %"new s", %outer.back ]'
    text = re.sub(r"  %s = phi.*", carried, NESTED).replace("[ %s, %outer ]", "[ 0.0, %outer ]")
    text = text.replace("%t2 = fadd double %t, %x", "%y = fmul double %x, %s\n  %t2 = fadd double %t, %y")
    text = text.replace("  %i2 =", '  %"new s" = fmul double %s, %s.row\n  %i2 =')
    text = text.replace("[ %s.row, %row ]", '[ %"new s", %row ]')
    assert [c.kind for c in loop_components(text)] == ["result", "variable", "accumulator"]
    module = parse_module(text)
    assert '%"ca.home.new s" = getelementptr' in rewrite(module, plan_module(module, PlanOptions()))
