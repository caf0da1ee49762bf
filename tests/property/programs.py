"""Hypothesis strategy for small C programs: terminating, deterministic, free of undefined behaviour.

By construction: every index is reduced modulo the array size or is a counter below it, integer magnitudes are
tracked (:data:`~tests.property.c_ast.INT_LIMIT`), helpers in expressions have no side effects, every variable
is initialised, and loops run at most 8 x 6 x 4 times.
"""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from tests.property.c_ast import (
    LIBRARY,
    Array,
    CType,
    Expr,
    Function,
    Program,
    Scope,
    Storage,
)
from tests.property.c_expressions import doubles
from tests.property.c_statements import statements

MAX_LINES = 120
_VIEW_SIZE = 6
_START_FLOATING = ("0.25 * (k * 3 % 7) - 0.5", "1.0", "0.5 * k", "1.0 / (k + 1)", "k % 2 ? -0.75 : 0.5")
_START_INTEGER = ("k", "(k * 7 + 3) % 11", "1", "k * k % 5", "9 - k")


def _array(index: int) -> st.SearchStrategy[Array]:
    def build(ctype: CType, size: int, storage: Storage, start: str, zero: bool) -> Array:
        integer_start = _START_INTEGER[_START_FLOATING.index(start)]
        text = start if ctype.is_floating else integer_start
        return Array(f"a{index}", ctype, size, storage, "" if zero else text)

    stored = st.sampled_from([Storage.GLOBAL, Storage.LOCAL, Storage.HEAP])
    return st.builds(
        build,
        st.sampled_from(CType),
        st.integers(1, 8),
        stored,
        st.sampled_from(_START_FLOATING),
        st.booleans(),
    )


def _views() -> tuple[Array, ...]:
    """Two double arrays and the two pointers that may be swapped."""
    stores = (
        Array("f0", CType.DOUBLE, _VIEW_SIZE, Storage.HEAP, "0.5 * k"),
        Array("f1", CType.DOUBLE, _VIEW_SIZE, Storage.GLOBAL, "1.0"),
    )
    pointers = (
        Array("p", CType.DOUBLE, _VIEW_SIZE, Storage.VIEW, "f0"),
        Array("q", CType.DOUBLE, _VIEW_SIZE, Storage.VIEW, "f1"),
    )
    return stores + pointers


@st.composite
def _function(draw: st.DrawFn, index: int, global_arrays: tuple[Array, ...]) -> Function:
    scope = Scope(arrays=global_arrays, doubles=("x", "y"), calls=False)
    guard = draw(st.none() | st.tuples(_guard_condition(), doubles(scope, 1)))
    return Function(f"h{index}", draw(doubles(scope, 2)), guard, draw(st.booleans()))


@cache
def _guard_condition() -> st.SearchStrategy[Expr]:
    return st.sampled_from([Expr("x < y"), Expr("y > 0.5"), Expr("x == 0.0")])


@st.composite
def _program(draw: st.DrawFn) -> Program:
    count = draw(st.integers(1, 4))
    arrays = tuple(draw(_array(i)) for i in range(count))
    if draw(st.booleans()):
        arrays += _views()
    has_points = draw(st.booleans())
    global_arrays = tuple(a for a in arrays if a.storage is Storage.GLOBAL)
    functions = tuple(draw(_function(i, global_arrays)) for i in range(draw(st.integers(0, 2))))
    scope = Scope(
        arrays=arrays,
        doubles=("s0", "s1"),
        ints=("t0", "t1"),
        functions=tuple(f.name for f in functions),
        has_points=has_points,
    )
    body = draw(st.lists(statements(scope), min_size=1, max_size=6))
    noinline = draw(st.frozensets(st.sampled_from(sorted(LIBRARY))))
    return Program(arrays, functions, tuple(body), noinline, has_points)


def c_programs() -> st.SearchStrategy[str]:
    """C11 programs as source text, each ``main`` without arguments that prints checksums and returns 0.

    They are shorter than ``MAX_LINES`` lines and need ``-lm``. A NaN or an infinity may be computed.
    """
    return _program().map(Program.render).filter(lambda text: text.count("\n") < MAX_LINES)
