"""Strategies for expressions of the generated C programs: indices, integers, doubles, conditions.

Choices are drawn first and only the chosen alternative is built: every scope is new, so building all
alternatives as strategies would cost far more than the drawing.
"""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

from tests.property.c_ast import ELEMENT_BOUND, INT_LIMIT, POINTS, TABLE, Array, CType, Expr, Scope

T = TypeVar("T")

_DOUBLE_CONSTANTS = ("0.5", "1.0", "-0.25", "2.0", "0.0", "1.5")
_DOUBLE_BINARY = (
    *("({0} + {1})", "({0} - {1})", "(0.5 * {0} * {1})", "({0} / (1.0 + fabs({1})))"),
    *("fmin({0}, {1})", "fmax({0}, {1})", "fma({0}, 0.5, {1})"),
)
_DOUBLE_UNARY = ("sqrt(fabs({0}))", "exp(-fabs({0}))", "fabs({0})", "(-({0}))", "(double)(float){0}")


def pick(draw: st.DrawFn, choices: Sequence[T]) -> T:
    """One of ``choices``; the first is the simplest."""
    return choices[draw(st.integers(0, len(choices) - 1))]


def reduce_to(value: Expr, modulus: int) -> Expr:
    """``value`` itself if its magnitude is below ``modulus``, otherwise its remainder."""
    if value.bound < modulus:
        return value
    return Expr(f"({{0}} % {modulus})", (value,), modulus - 1)


def _counter(scope: Scope, size: int) -> list[Expr]:
    """The loop variables of the scope, innermost first, as indices below ``size``."""
    names = [v.name if v.limit <= size else f"{v.name} % {size}" for v in reversed(scope.loops)]
    return [Expr(name, bound=size - 1) for name in names]


@st.composite
def indices(draw: st.DrawFn, scope: Scope, size: int) -> Expr:
    """Expressions of an integer type with values in [0, size)."""
    counters = _counter(scope, size)
    integers = scope.of_type(CType.INT, CType.LONG, CType.BYTE, CType.SHORT)
    kinds = ["constant"] + ["counter"] * (4 if counters else 0) + ["indirect"] * (1 if integers else 0)
    kind = pick(draw, kinds)
    if kind == "constant":
        return Expr(str(draw(st.integers(0, size - 1))), bound=size - 1)
    if kind == "indirect":
        array = pick(draw, integers)
        # Through the unsigned type of the same rank, so that a negative element gives a valid index.
        cast = "unsigned long" if array.ctype is CType.LONG else "unsigned"
        inner = pick(draw, [*_counter(scope, array.size), Expr("0")])
        return Expr(f"({cast}){array.name}[{{0}}] % {size}", (inner,), size - 1)
    shift = draw(st.integers(0, 6))
    if 1 <= shift <= 3:
        return Expr(f"({pick(draw, scope.loops).name} + {shift}) % {size}", bound=size - 1)
    return pick(draw, counters)


@st.composite
def _element(draw: st.DrawFn, scope: Scope, arrays: Sequence[Array]) -> Expr:
    array = pick(draw, arrays)
    cast = "(int)" if array.ctype is CType.LONG else ""
    bound = 0 if array.ctype.is_floating else array.ctype.bound
    return Expr(f"{cast}{array.name}[{{0}}]", (draw(indices(scope, array.size)),), bound)


@st.composite
def ints(draw: st.DrawFn, scope: Scope, depth: int) -> Expr:
    """Expressions of type ``int``; ``bound`` is below INT_LIMIT."""
    if depth > 0 and draw(st.booleans()):
        return draw(_compound_int(scope, depth))
    arrays = scope.of_type(CType.INT, CType.LONG, CType.BYTE, CType.SHORT)
    kinds = ["constant"] + ["counter"] * bool(scope.loops) + ["scalar"] * bool(scope.ints)
    kinds += ["element"] * 2 * bool(arrays) + ["point"] * scope.has_points
    kind = pick(draw, kinds)
    if kind == "counter":
        variable = pick(draw, scope.loops)
        return Expr(f"(int){variable.name}", bound=variable.limit)
    if kind == "scalar":
        return Expr(pick(draw, scope.ints), bound=ELEMENT_BOUND)
    if kind == "element":
        return draw(_element(scope, arrays))
    if kind == "point":
        return Expr("points[{0}].n", (draw(indices(scope, POINTS)),), ELEMENT_BOUND)
    number = draw(st.integers(0, 9))
    return Expr(str(number), bound=number)


@st.composite
def _compound_int(draw: st.DrawFn, scope: Scope, depth: int) -> Expr:
    kind = pick(
        draw, ["+", "-", "*", "&", "|", "^", "?", "truth", "clamp", *["to_int", "step"] * scope.calls]
    )
    if kind == "truth":
        return Expr("({0})", (draw(conditions(scope, depth - 1)),), 1)
    if kind == "clamp":
        return Expr("(int)fmax(-99.0, fmin(99.0, {0}))", (draw(doubles(scope, depth - 1)),), 99)
    if kind == "to_int":
        return Expr("to_int({0})", (draw(doubles(scope, depth - 1)),), 1000)
    a, b = draw(ints(scope, depth - 1)), draw(ints(scope, depth - 1))
    if kind == "step":
        return Expr("step({0} % 6, {1})", (a, reduce_to(b, 1000)), 1000)
    if kind == "?":
        return Expr("({2} ? {0} : {1})", (a, b, draw(conditions(scope, depth - 1))), max(a.bound, b.bound))
    return _arithmetic(kind, a, b)


def _arithmetic(operator: str, a: Expr, b: Expr) -> Expr:
    """``a operator b`` without overflow."""
    if _result_bound(operator, a.bound, b.bound) >= INT_LIMIT:
        a, b = reduce_to(a, 1000), reduce_to(b, 1000)
    return Expr(f"({{0}} {operator} {{1}})", (a, b), _result_bound(operator, a.bound, b.bound))


def _result_bound(operator: str, a: int, b: int) -> int:
    """Largest magnitude of the result, from those of the operands."""
    if operator in "+-":
        return a + b
    if operator == "*":
        return a * b
    # Both operands of a bit operation lie in [-2^k, 2^k), so the result does.
    return 1 << max(a, b).bit_length()


@st.composite
def doubles(draw: st.DrawFn, scope: Scope, depth: int) -> Expr:
    if depth > 0 and draw(st.booleans()):
        return draw(_compound_double(scope, depth))
    arrays = scope.of_type(CType.DOUBLE, CType.FLOAT)
    kinds = ["constant"] + ["scalar"] * bool(scope.doubles) + ["element"] * 4 * bool(arrays)
    kind = pick(draw, kinds + ["point"] * scope.has_points)
    if kind == "scalar":
        return Expr(pick(draw, scope.doubles))
    if kind == "element":
        return draw(_element(scope, arrays))
    if kind == "point":
        member = pick(draw, ["x", "w"])
        return Expr(f"points[{{0}}].{member}", (draw(indices(scope, POINTS)),))
    return Expr(pick(draw, _DOUBLE_CONSTANTS))


@st.composite
def _compound_double(draw: st.DrawFn, scope: Scope, depth: int) -> Expr:
    kinds = ["binary"] * 3 + ["unary", "choice", "integer"]
    kinds += ["helper"] * (scope.calls and bool(scope.functions))
    kinds += ["pointer"] * (scope.calls and bool(scope.of_type(CType.DOUBLE)))
    kind = pick(draw, kinds)
    if kind == "integer":
        return Expr("(double){0}", (draw(ints(scope, depth - 1)),))
    if kind == "pointer":
        array = pick(draw, scope.of_type(CType.DOUBLE))
        call = pick(draw, [f"smooth({array.name}, {array.size}, {{0}})", f"tail_sum({array.name}, {{0}})"])
        return Expr(call, (draw(indices(scope, array.size)),))
    a = draw(doubles(scope, depth - 1))
    if kind == "unary":
        return Expr(pick(draw, _DOUBLE_UNARY), (a,))
    b = draw(doubles(scope, depth - 1))
    if kind == "choice":
        return Expr("({2} ? {0} : {1})", (a, b, draw(conditions(scope, depth - 1))))
    if kind == "helper":
        return draw(_helper_call(scope, a, b))
    return Expr(pick(draw, _DOUBLE_BINARY), (a, b))


@st.composite
def _helper_call(draw: st.DrawFn, scope: Scope, a: Expr, b: Expr) -> Expr:
    """A call of a scalar helper, by name or through the table of function pointers."""
    if draw(st.integers(0, 2)) < 2:
        return Expr(f"{pick(draw, scope.functions)}({{0}}, {{1}})", (a, b))
    return Expr(f"{TABLE}[{{2}}]({{0}}, {{1}})", (a, b, draw(indices(scope, len(scope.functions)))))


@st.composite
def conditions(draw: st.DrawFn, scope: Scope, depth: int) -> Expr:
    """Expressions used as truth values."""
    if depth > 0 and draw(st.integers(0, 2)) == 2:
        pattern = pick(draw, ["({0} && {1})", "({0} || {1})"])
        return Expr(pattern, (draw(conditions(scope, depth - 1)), draw(conditions(scope, depth - 1))))
    kind = pick(draw, ["{0} < {1}", "{0} > {1}", "{0} <= {1}", "{0} == {1}", "{0} % 2 != 0"])
    if kind == "{0} % 2 != 0":
        return Expr(kind, (draw(ints(scope, 0)),))
    operand = ints if kind == "{0} == {1}" else doubles
    return Expr(kind, (draw(operand(scope, 0)), draw(operand(scope, 0))))
