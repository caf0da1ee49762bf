"""Polynomials of addresses and rounds of loops, against what the loops compute by hand."""

import pytest

from commanalyzer.program.ir.cfg import control_flow
from commanalyzer.program.ir.loops import induction
from commanalyzer.program.ir.model import Operand
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.program.ir.types import PTR

_NEST = """
define void @f(ptr %a, i64 %n, i64 %m, i32 %k) {{
entry:
  br label %outer
outer:
  %i = phi i64 [ 1, %entry ], [ %i.next, %outer.back ]
  %row = mul i64 %i, %m
  br label %inner
inner:
  %j = phi i64 [ {start}, %outer ], [ %j.next, %inner.back ]
  %q = phi ptr [ %a, %outer ], [ %q.next, %inner.back ]
  %w = phi i32 [ 0, %outer ], [ %w.next, %inner.back ]
{body}
  %q.next = getelementptr i8, ptr %q, i64 16
  %w.next = add nsw i32 %w, 3
  %j.next = add i64 %j, {step}
  %more = icmp {test}
  br i1 %more, label %inner.back, label %inner.exit
inner.back:
  br label %inner
inner.exit:
  %i.next = add i64 %i, 1
  %again = icmp ne i64 %i.next, %n
  br i1 %again, label %outer.back, label %exit
outer.back:
  br label %outer
exit:
  ret void
}}
"""
_J, _I = induction.round_number("inner"), induction.round_number("outer")
Terms = dict[tuple[str, ...], int]


def _numbers(
    body: str = "", start: str = "0", step: str = "1", test: str = "ne i64 %j.next, %m"
) -> tuple[induction.NestNumbers, induction.Rounds | None]:
    function = parse_module(_NEST.format(body=body, start=start, step=step, test=test)).functions[0]
    cfg = control_flow(function)
    numbers = induction.NestNumbers(function, cfg, cfg.loops["outer"])
    ends = induction.loop_ends(cfg, cfg.loops["inner"])
    assert ends == induction.LoopEnds("outer", "inner", "inner.exit")
    return numbers, numbers.rounds(cfg.loops["inner"], ends)


def _terms(polynomial: induction.Polynomial | None) -> Terms | None:
    return None if polynomial is None else dict(polynomial.terms)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("getelementptr double, ptr %a, i64 %j", {("%a",): 1, (_J,): 8}),
        ("getelementptr [4 x i32], ptr %a, i64 %j, i64 2", {("%a",): 1, (_J,): 16, (): 8}),
        ("getelementptr { i8, double }, ptr %a, i64 %j, i32 1", {("%a",): 1, (_J,): 16, (): 8}),
        ("getelementptr i8, ptr %a, i64 %row", {("%a",): 1, ("%m",): 1, (_I, "%m"): 1}),
        ("getelementptr i8, ptr %q, i64 -1", {("%a",): 1, (_J,): 16, (): -1}),
    ],
)
def test_addresses_are_polynomials(code: str, expected: dict[tuple[str, ...], int]) -> None:
    numbers, _ = _numbers(f"  %p = {code}")
    found = numbers.polynomial(Operand(PTR, "%p"))
    assert _terms(found) == {tuple(sorted(m)): c for m, c in expected.items()}


@pytest.mark.parametrize(
    "code",
    [
        "%p = load ptr, ptr %a",
        "%x = load i64, ptr %a\n  %p = getelementptr i8, ptr %a, i64 %x",
        "%x = add i32 %w, 1\n  %y = sext i32 %x to i64\n  %p = getelementptr i8, ptr %a, i64 %y",  # may wrap
        "%x = zext i32 %w to i64\n  %p = getelementptr i8, ptr %a, i64 %x",  # may be negative
        "%x = and i64 %j, 7\n  %p = getelementptr i8, ptr %a, i64 %x",
    ],
)
def test_other_addresses_are_none(code: str) -> None:
    numbers, _ = _numbers(f"  {code}")
    assert numbers.polynomial(Operand(PTR, "%p")) is None


def test_narrow_integers_that_do_not_wrap_are_exact() -> None:
    numbers, _ = _numbers("  %x = sext i32 %w to i64\n  %p = getelementptr i8, ptr %a, i64 %x")
    assert _terms(numbers.polynomial(Operand(PTR, "%p"))) == {(_J,): 3, ("%a",): 1}


@pytest.mark.parametrize(
    ("start", "step", "test", "expected"),
    [
        ("0", "1", "ne i64 %j.next, %m", ({(): 1}, {("%m",): 1}, 1, True, False)),
        ("%n", "-2", "ne i64 %j, %m", ({("%n",): 1}, {("%m",): 1}, -2, True, False)),
        ("0", "2", "slt i64 %j.next, %m", ({(): 2}, {("%m",): 1}, 2, False, False)),
        ("0", "2", "ule i64 %j, %m", ({}, {("%m",): 1, (): 1}, 2, False, True)),
        ("%n", "-1", "sgt i64 %j.next, 0", ({("%n",): -1, (): 1}, {}, 1, False, False)),
        ("0", "%n", "slt i64 %j.next, %m", ({("%n",): 1}, {("%m",): 1}, "%n", False, False)),
    ],
)
def test_rounds(
    start: str, step: str, test: str, expected: tuple[Terms, Terms, int | str, bool, bool]
) -> None:
    _, rounds = _numbers(start=start, step=step, test=test)
    assert rounds is not None
    each = rounds.step.constant if rounds.step.is_constant else next(iter(rounds.step.symbols))
    ends = _terms(rounds.left), _terms(rounds.right)
    assert (*ends, each, rounds.until_equal, rounds.is_unsigned) == expected


@pytest.mark.parametrize(
    ("start", "step", "test"),
    [
        ("0", "1", "sgt i64 %j.next, %m"),  # goes the other way
        ("0", "1", "eq i64 %j.next, %m"),
        ("%i", "1", "ne i64 %j.next, %m"),  # differs from round to round of the outer loop
    ],
)
def test_other_rounds_are_none(start: str, step: str, test: str) -> None:
    assert _numbers(start=start, step=step, test=test)[1] is None


@pytest.mark.parametrize(
    ("start", "step", "test", "expected"),
    [
        ("0", "1", "ne i64 %j.next, 3", 3),
        ("8", "-2", "ne i64 %j.next, 0", 4),
        ("0", "2", "slt i64 %j.next, 5", 3),
        ("0", "1", "slt i64 %j.next, %m", None),
    ],
)
def test_constant_rounds(start: str, step: str, test: str, expected: int | None) -> None:
    rounds = _numbers(start=start, step=step, test=test)[1]
    assert rounds is not None and rounds.constant == expected


def test_polynomials_multiply_and_split() -> None:
    x, y = induction.Polynomial.of("x"), induction.Polynomial.of("y")
    product = (x + induction.Polynomial.number(2)) * (y - x)
    assert dict(product.terms) == {("x", "y"): 1, ("x", "x"): -1, ("y",): 2, ("x",): -2}
    assert product.coefficient("x") is None
    linear = product.coefficient("y")
    assert linear is not None and dict(linear.terms) == {("x",): 1, (): 2}
    assert dict((x - x).terms) == {}
    assert dict(product.without(["x"]).terms) == {("y",): 2}
