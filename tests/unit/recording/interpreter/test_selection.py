"""Selections: which conditions are sources of the values they choose, derived by hand."""

from __future__ import annotations

from collections.abc import Callable

from commanalyzer.foundation.flows import SourceRole
from commanalyzer.recording.interpreter.run import InterpretedRun
from commanalyzer.recording.interpreter.values import EXIT_HOME, Chain, Home

Run = Callable[..., InterpretedRun]
DATA, CONTROL = SourceRole.DATA, SourceRole.CONTROL


def at(name: str, offset: int = 0) -> Home:
    return Home("global", name, 0, offset)


def chain(sink: Home, *data: Home, control: tuple[Home, ...] = ()) -> Chain:
    return Chain(sink, frozenset([*((h, DATA) for h in data), *((h, CONTROL) for h in control)]))


ARGMIN = """
@d = global [3 x double] [double 5.0, double 2.0, double 4.0]
@best = global i32 0
define i32 @main() {
entry:
  %d0 = load double, ptr @d
  br label %loop
loop:
  %i = phi i32 [ 1, %entry ], [ %n, %join ]
  %m = phi double [ %d0, %entry ], [ %m1, %join ]
  %k = phi i32 [ 0, %entry ], [ %k1, %join ]
  %w = sext i32 %i to i64
  %p = getelementptr double, ptr @d, i64 %w
  %x = load double, ptr %p
  %lt = fcmp olt double %x, %m
  br i1 %lt, label %less, label %keep
less:
  br label %join
keep:
  br label %join
join:
  %m1 = phi double [ %x, %less ], [ %m, %keep ]
  %k1 = phi i32 [ %i, %less ], [ %k, %keep ]
  %n = add i32 %i, 1
  %e = icmp eq i32 %n, 3
  br i1 %e, label %done, label %loop
done:
  store i32 %k1, ptr @best
  ret i32 %k1
}
"""


def test_argmin_depends_on_what_was_compared(run: Run) -> None:
    result = run(ARGMIN)
    compared = (at("@d", 0), at("@d", 8), at("@d", 16))
    assert result.exit_status == 1
    assert result.chains == {
        chain(at("@best"), control=compared): 1,
        Chain(EXIT_HOME, frozenset((h, CONTROL) for h in compared)): 1,
    }


def test_without_control_flows_an_argmin_depends_on_nothing(run: Run) -> None:
    assert run(ARGMIN, control_flows=False).chains == {chain(at("@best")): 1}


def test_a_phi_after_an_inevitable_block_is_not_selected_by_an_outer_branch(run: Run) -> None:
    # %flag decides between %one and %two, both lead to %mid; only %inner selects at %join.
    text = """
@flag = global i32 1
@inner = global i32 0
@out = global i32 0
define i32 @main() {
entry:
  %f = load i32, ptr @flag
  %c = icmp eq i32 %f, 0
  br i1 %c, label %one, label %two
one:
  br label %mid
two:
  br label %mid
mid:
  %g = load i32, ptr @inner
  %e = icmp eq i32 %g, 0
  br i1 %e, label %yes, label %no
yes:
  br label %join
no:
  br label %join
join:
  %r = phi i32 [ 7, %yes ], [ 8, %no ]
  store i32 %r, ptr @out
  ret i32 0
}
"""
    assert run(text).chains == {chain(at("@out"), control=(at("@inner"),)): 1}


def test_nested_conditions_both_select(run: Run) -> None:
    text = """
@a = global i32 0
@b = global i32 0
@out = global i32 0
define i32 @main() {
entry:
  %f = load i32, ptr @a
  %c = icmp eq i32 %f, 0
  br i1 %c, label %then, label %else
then:
  %g = load i32, ptr @b
  %e = icmp eq i32 %g, 0
  br i1 %e, label %deep, label %shallow
deep:
  br label %join
shallow:
  br label %join
else:
  br label %join
join:
  %r = phi i32 [ 7, %deep ], [ 8, %shallow ], [ 9, %else ]
  store i32 %r, ptr @out
  ret i32 0
}
"""
    assert run(text).chains == {chain(at("@out"), control=(at("@a"), at("@b"))): 1}


def test_loop_exit_conditions_do_not_select(run: Run) -> None:
    # A while loop whose trip count is read from memory: the result does not depend on it.
    text = """
@n = global i32 2
@out = global i32 0
define i32 @main() {
entry:
  %n = load i32, ptr @n
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %latch ]
  %c = icmp slt i32 %i, %n
  br i1 %c, label %latch, label %done
latch:
  %j = add i32 %i, 1
  br label %loop
done:
  %r = phi i32 [ %i, %loop ]
  store i32 %r, ptr @out
  ret i32 0
}
"""
    assert run(text).chains == {chain(at("@out")): 1}


def test_select_takes_the_chosen_operand_and_its_condition(run: Run) -> None:
    text = "@a = global i32 1\n@b = global i32 2\n@c = global i32 3\n@out = global i32 0\n"
    body = """
  %a = load i32, ptr @a
  %b = load i32, ptr @b
  %c = load i32, ptr @c
  %t = icmp sgt i32 %c, 0
  %s = select i1 %t, i32 %a, i32 %b
  store i32 %s, ptr @out
"""
    assert run(text, body=body).chains == {chain(at("@out"), at("@a"), control=(at("@c"),)): 1}
    # Without control flows the select is a copy of @a: nothing flows.
    assert run(text, body=body, control_flows=False).chains == {}


def test_a_source_that_is_both_data_and_control_is_data(run: Run) -> None:
    body = """
  %a = load i32, ptr @a
  %t = icmp sgt i32 %a, 0
  %s = select i1 %t, i32 %a, i32 0
  store i32 %s, ptr @out
"""
    result = run("@a = global i32 1\n@out = global i32 0", body=body)
    assert result.chains == {chain(at("@out"), at("@a")): 1}
