"""Strategies for statements of the generated C programs."""

from collections.abc import Callable

from hypothesis import strategies as st

from tests.property.c_ast import POINTS, Array, CType, Expr, LoopVariable, Scope, Stmt, Storage
from tests.property.c_expressions import conditions, doubles, indices, ints, pick, reduce_to

_TRIPS = (8, 6, 4)
"""Most iterations of a loop, by nesting depth."""

_TRIP_COUNTS = (2, 3, 4, 5, 6, 8, 1, 0)

_INTEGERS = (CType.INT, CType.LONG, CType.SHORT, CType.BYTE)

_SCALAR_PATTERNS = (
    "s0 = {0};",
    "s0 += {0};",
    "s1 *= {0};",
    "s1 += {0} * {1};",
    "if ({0} < s0) s0 = {0};",
    "s1 = {0} > s1 ? {0} : s1;",
    "s0 = fmin(s0, {0});",
    "s0 = s0 * 0.5 + {0};",
    "if ({0} > {1}) s1 += {0};",
    "s1 += {0};\nif ({1} > 1.0) s1 = 0.5;",
    "if ({0} > s0 && {1} < s1) s0 = {0};",
    "if ({0} < {1}) t1 = 7;",
    "t0 += {0} > {1};",
)
_CONDITIONAL_MINIMUM = "if ({1} < ARRAY[{0}]) ARRAY[{0}] = {1};"
_CONDITIONAL_MAXIMUM = "ARRAY[{0}] = ARRAY[{0}] > {1} ? ARRAY[{0}] : {1};"
_ROTATIONS = (
    "unsigned next = u0 + u1;\nu0 = u1;\nu1 = next;",
    "double old = s0;\ns0 = s1;\ns1 = 0.5 * (old + s1);",
)

Strategy = Callable[[Scope], st.SearchStrategy[Stmt]]


@st.composite
def blocks(draw: st.DrawFn, scope: Scope, most: int, simple: bool = False) -> tuple[Stmt, ...]:
    """Between one and ``most`` statements; a drawn zero ends the block (it shrinks by dropping any)."""
    kind = _simple if simple else statements
    block = [draw(kind(scope))]
    while len(block) < most and draw(st.integers(0, 3)):
        block.append(draw(kind(scope)))
    return tuple(block)


@st.composite
def statements(draw: st.DrawFn, scope: Scope) -> Stmt:
    if len(scope.loops) >= len(_TRIPS):
        return draw(_simple(scope))
    loops = 4 if not scope.loops else 2
    kinds: list[Strategy] = [*[_simple] * 3, *[_loops] * loops, _branches, _workspace]
    return draw(pick(draw, kinds)(scope))


@st.composite
def _simple(draw: st.DrawFn, scope: Scope) -> Stmt:
    kinds: list[Strategy] = [*[_stores] * 4, *[_scalar_updates] * 2, _bulk, _recurrences]
    kinds += [_counts] * bool(scope.of_type(*_INTEGERS))
    kinds += [_pointer_calls] * bool(scope.of_type(CType.DOUBLE))
    kinds += [_structures] * scope.has_points
    kinds += [_exchanges] * any(a.storage is Storage.VIEW for a in scope.arrays)
    kinds += [_exits] * bool(scope.loops)
    return draw(pick(draw, kinds)(scope))


def _braced(pattern: str, *operands: Expr) -> Stmt:
    """A block with one statement, for declarations."""
    return Stmt("", (), (Stmt(pattern, operands),))


@st.composite
def _small(draw: st.DrawFn, scope: Scope, modulus: int) -> Expr:
    """An integer below ``modulus`` in magnitude."""
    return reduce_to(draw(ints(scope, 1)), modulus)


@st.composite
def _stores(draw: st.DrawFn, scope: Scope) -> Stmt:
    """Assignment to, or update of, an element."""
    array = pick(draw, scope.arrays)
    place = draw(indices(scope, array.size))
    operator = pick(draw, ["=", "=", "+=", "-=", "*="] if array.ctype.is_floating else ["=", "=", "+=", "-="])
    if array.ctype.is_floating and operator == "*=" and draw(st.booleans()):
        pattern = pick(draw, [_CONDITIONAL_MINIMUM, _CONDITIONAL_MAXIMUM])
        return Stmt(pattern.replace("ARRAY", array.name), (place, draw(doubles(scope, 1))))
    if array.ctype.is_floating:
        value = draw(doubles(scope, 2))
    else:
        value = draw(_small(scope, 1000 if operator == "=" else 100))
    return Stmt(f"{array.name}[{{0}}] {operator} {{1}};", (place, value))


@st.composite
def _counts(draw: st.DrawFn, scope: Scope) -> Stmt:
    """Increments of a pure count."""
    array = pick(draw, scope.of_type(*_INTEGERS))
    return Stmt(f"{array.name}[{{0}}] += 1;", (draw(indices(scope, array.size)),))


@st.composite
def _exits(draw: st.DrawFn, scope: Scope) -> Stmt:
    """Leaving a loop or an iteration early."""
    return Stmt(pick(draw, ["if ({0}) break;", "if ({0}) continue;"]), (draw(conditions(scope, 0)),))


@st.composite
def _exchanges(draw: st.DrawFn, scope: Scope) -> Stmt:
    return pick(draw, [_braced("double *r = p;\np = q;\nq = r;")])


@st.composite
def _scalar_updates(draw: st.DrawFn, scope: Scope) -> Stmt:
    """Assignments and reductions into scalars: sum, product, minimum and maximum, Horner, argmin."""
    kind = draw(st.integers(0, 7))
    if kind == 5:
        return Stmt("t1 = {0};", (draw(_small(scope, 1000)),))
    if kind == 6:
        return Stmt(pick(draw, ["t0 += {0};", "t1 -= {0};"]), (draw(_small(scope, 100)),))
    value = draw(doubles(scope, 1))
    if kind == 7:
        return Stmt("if ({0} < s0) {{ s0 = {0}; t0 = {1}; }}", (value, draw(_small(scope, 1000))))
    return Stmt(pick(draw, _SCALAR_PATTERNS), (value, draw(doubles(scope, 0))))


@st.composite
def _recurrences(draw: st.DrawFn, scope: Scope) -> Stmt:
    """Values carried from one execution to the next: rotations, prefix sums, swaps of elements."""
    floating = scope.of_type(CType.DOUBLE, CType.FLOAT)
    kind = pick(draw, ["rotation", "swap", *["prefix"] * bool(floating)])
    if kind == "rotation":
        return _braced(pick(draw, _ROTATIONS))
    array = pick(draw, floating if kind == "prefix" else scope.arrays)
    place = draw(indices(scope, array.size))
    if kind == "prefix":
        return Stmt(f"s0 += {{0}};\n{array.name}[{{1}}] = s0;", (draw(doubles(scope, 1)), place))
    one, other = f"{array.name}[{{0}}]", f"{array.name}[{{1}}]"
    swap = f"{array.ctype.value} old = {one};\n{one} = {other};\n{other} = old;"
    return _braced(swap, place, draw(indices(scope, array.size)))


@st.composite
def _bulk(draw: st.DrawFn, scope: Scope) -> Stmt:
    """Copies and fills of several elements: ``memset``, ``memmove``, ``memcpy``, a loop."""
    a = pick(draw, scope.arrays)
    element = f"sizeof({a.ctype.value})"
    others = [b for b in scope.arrays if b != a and b.ctype is a.ctype]
    kind = pick(draw, ["fill", *["up", "down"] * (a.size > 1), *["block", "loop"] * bool(others)])
    if kind == "up":
        return Stmt(f"memmove({a.name} + 1, {a.name}, {a.size - 1} * {element});")
    if kind == "down":
        return Stmt(f"memmove({a.name}, {a.name} + 1, {a.size - 1} * {element});")
    if kind == "fill":
        return Stmt(f"memset({a.name}, {7 if a.ctype is CType.BYTE else 0}, {a.size} * {element});")
    b = pick(draw, others)
    n = min(a.size, b.size)
    if kind == "loop":
        return Stmt(f"for (int k = 0; k < {n}; k++) {b.name}[k] = {a.name}[k];")
    # A view may point to the other operand: memcpy would overlap.
    views = Storage.VIEW in (a.storage, b.storage)
    return Stmt(f"mem{'move' if views else 'cpy'}({b.name}, {a.name}, {n} * {element});")


@st.composite
def _pointer_calls(draw: st.DrawFn, scope: Scope) -> Stmt:
    """Helpers that read or write through pointers."""
    arrays = scope.of_type(CType.DOUBLE)
    a, b = pick(draw, arrays), pick(draw, arrays)
    n = min(a.size, b.size)
    kind = pick(draw, ["axpy", "dot", "range_of"])
    if kind == "axpy":
        return Stmt(f"axpy({n}, {{0}}, {a.name}, {b.name});", (draw(doubles(scope, 1)),))
    if kind == "dot":
        return Stmt(f"s1 = dot({n}, {a.name}, {b.name});")
    return Stmt(f"range_of({a.size}, {a.name}, &s0, &s1);")


@st.composite
def _structures(draw: st.DrawFn, scope: Scope) -> Stmt:
    kind = pick(draw, ["copy", "x", "w", "n", "temporary"])
    place = draw(indices(scope, POINTS))
    if kind == "x":
        return Stmt("points[{0}].x = {1};", (place, draw(doubles(scope, 1))))
    if kind == "w":
        return Stmt("points[{0}].w += (float)({1});", (place, draw(doubles(scope, 1))))
    if kind == "n":
        return Stmt("points[{0}].n = {1};", (place, draw(_small(scope, 1000))))
    other = draw(indices(scope, POINTS))
    if kind == "copy":
        return Stmt("points[{0}] = points[{1}];", (place, other))
    return _braced("struct Point old = points[{0}];\nold.x += 1.0;\npoints[{1}] = old;", place, other)


@st.composite
def _loops(draw: st.DrawFn, scope: Scope) -> Stmt:
    """Counted loops: up, down, strided, triangular, zero-trip, with a bound from data."""
    depth = len(scope.loops)
    name = f"i{depth}"
    most = _TRIPS[depth]
    ctype = pick(draw, ["int", "long", "unsigned", "size_t"])
    kind = pick(draw, ["up", "up", "down", "stride", "data", *["lower", "upper"] * bool(scope.loops)])
    limit = most
    operands: tuple[Expr, ...] = ()
    if kind in ("up", "down", "stride"):
        limit = pick(draw, [trips for trips in _TRIP_COUNTS if trips <= most])
        head = {
            "up": f"for ({ctype} {name} = 0; {name} < {limit}; {name}++)",
            "down": f"for ({ctype} {name} = {limit}; {name}-- > 0;)",
            "stride": f"for ({ctype} {name} = 1; {name} < {limit}; {name} += 2)",
        }[kind]
    elif kind == "data":
        operands = (draw(ints(scope, 0)),)
        head = f"for (int {name} = 0; {name} < {{0}} % {most}; {name}++)"
    else:
        outer = f"({ctype}){scope.loops[-1].name}"
        begin, end = ("0", f"{name} <= {outer} && ") if kind == "lower" else (outer, "")
        head = f"for ({ctype} {name} = {begin}; {end}{name} < {most}; {name}++)"
    # A loop without iterations still needs a valid index range for the code that never runs.
    inner = scope.inside(LoopVariable(name, max(limit, 1)))
    return Stmt(head, operands, draw(blocks(inner, 3)))


@st.composite
def _branches(draw: st.DrawFn, scope: Scope) -> Stmt:
    """``if`` with and without ``else``, and ``switch``."""
    kind = pick(draw, ["if", "else", "switch"])
    if kind == "switch":
        arm = draw(blocks(scope, 2, simple=True))
        leave = () if draw(st.booleans()) else (Stmt("break;"),)
        default = Stmt("default:", (), draw(blocks(scope, 2, simple=True)))
        return Stmt(
            "switch ({0} % 3)", (draw(ints(scope, 0)),), (Stmt("case 0:", (), (*arm, *leave)), default)
        )
    condition = draw(conditions(scope, 1))
    body = draw(blocks(scope, 2, simple=True))
    return Stmt("if ({0})", (condition,), body, draw(blocks(scope, 2, simple=True)) if kind == "else" else ())


@st.composite
def _workspace(draw: st.DrawFn, scope: Scope) -> Stmt:
    """A local array that is filled and then used by the statements of its block."""
    size = draw(st.integers(2, 4))
    name = f"w{len(scope.loops)}"
    value = draw(doubles(scope.inside(LoopVariable("k", size)), 1))
    fill = Stmt(f"for (int k = 0; k < {size}; k++)", (), (Stmt(f"{name}[k] = {{0}};", (value,)),))
    filled = scope.with_array(Array(name, CType.DOUBLE, size, Storage.LOCAL))
    return Stmt("", (), (Stmt(f"double {name}[{size}];"), fill, *draw(blocks(filled, 2, simple=True))))
