"""Hypothesis strategy for small C programs: terminating, deterministic, free of undefined behaviour.

By construction: every index is reduced modulo the array size or is a counter below it, integer magnitudes are
tracked (:data:`~tests.property.c_ast.INT_LIMIT`), helpers in expressions have no side effects, every variable
is initialised, and loops run at most 8 x 6 x 4 times.
"""

from hypothesis import strategies as st

from tests.property.c_ast import LIBRARY, Array, CType, Expr, Function, Program, Scope, Storage
from tests.property.c_expressions import doubles, pick
from tests.property.c_statements import blocks

MAX_LINES = 120
_VIEW_SIZE = 6
_START_FLOATING = ("0.25 * (k * 3 % 7) - 0.5", "1.0", "0.5 * k", "1.0 / (k + 1)", "k % 2 ? -0.75 : 0.5")
_GUARDS = ("x < y", "y > 0.5", "x == 0.0")
_START_INTEGER = ("k", "(k * 7 + 3) % 11", "1", "k * k % 5", "9 - k")


@st.composite
def _array(draw: st.DrawFn, index: int) -> Array:
    ctype = pick(draw, list(CType))
    size = draw(st.integers(1, 8))
    storage = pick(draw, [Storage.GLOBAL, Storage.LOCAL, Storage.HEAP])
    start = pick(draw, ("", *(_START_FLOATING if ctype.is_floating else _START_INTEGER)))
    return Array(f"a{index}", ctype, size, storage, start)


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
    guard = None
    if draw(st.booleans()):
        guard = (Expr(pick(draw, _GUARDS)), draw(doubles(scope, 1)))
    return Function(f"h{index}", draw(doubles(scope, 2)), guard, draw(st.booleans()))


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
    body = draw(blocks(scope, 6))
    noinline = frozenset(name for name in LIBRARY if draw(st.booleans()))
    return Program(arrays, functions, body, noinline, has_points)


def c_programs() -> st.SearchStrategy[str]:
    """C11 programs as source text, each ``main`` without arguments that prints checksums and returns 0.

    They are shorter than ``MAX_LINES`` lines and need ``-lm``. A NaN or an infinity may be computed.
    """
    return _program().map(Program.render).filter(lambda text: text.count("\n") < MAX_LINES)
