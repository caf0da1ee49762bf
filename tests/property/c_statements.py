"""Strategies for statements of the generated C programs."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from tests.property.c_ast import POINTS, Array, CType, Expr, LoopVariable, Scope, Stmt, Storage
from tests.property.c_expressions import conditions, doubles, indices, ints, reduce_to

_TRIPS = (8, 6, 4)
"""Most iterations of a loop, by nesting depth."""

Statements = st.SearchStrategy[Stmt]


@st.composite
def _weighted(draw: st.DrawFn, choices: tuple[tuple[int, Statements], ...]) -> Stmt:
    """One of the strategies, by weight (``one_of`` would weigh all leaves of all choices alike)."""
    index = draw(st.sampled_from([k for k, (weight, _) in enumerate(choices) for _ in range(weight)]))
    return draw(choices[index][1])


@cache
def statements(scope: Scope) -> Statements:
    """Statements that may stand in ``scope``."""
    if len(scope.loops) == len(_TRIPS):
        return _simple(scope)
    choices = ((3, _simple(scope)), (1, _branches(scope)), (1, _workspace(scope)))
    return _weighted((*choices, (4 if not scope.loops else 2, _loops(scope))))


@cache
def _simple(scope: Scope) -> Statements:
    integers = scope.of_type(CType.INT, CType.LONG, CType.SHORT, CType.BYTE)
    choices = [(2, _scalar_updates(scope)), (1, _recurrences(scope)), (1, _bulk(scope))]
    choices.append((4, st.one_of([_stores(scope, a) for a in scope.arrays])))
    if integers:
        choices.append((1, st.one_of([_counts(scope, a) for a in integers])))
    if scope.of_type(CType.DOUBLE):
        choices.append((1, _pointer_calls(scope)))
    if scope.has_points:
        choices.append((1, _structures(scope)))
    if any(a.storage is Storage.VIEW for a in scope.arrays):
        choices.append((1, st.just(_braced(Stmt("double *r = p;\np = q;\nq = r;")))))
    if scope.loops:
        leave = st.sampled_from(["if ({0}) break;", "if ({0}) continue;"])
        choices.append((1, st.builds(Stmt, leave, st.tuples(conditions(scope, 0)))))
    return _weighted(tuple(choices))


def _braced(statement: Stmt) -> Stmt:
    """A block with one statement, for declarations."""
    return Stmt("", (), (statement,))


def _small(scope: Scope, modulus: int) -> st.SearchStrategy[Expr]:
    return ints(scope, 1).map(lambda e: reduce_to(e, modulus))


def _stores(scope: Scope, a: Array) -> Statements:
    """Assignment to, or update of, an element."""
    place = indices(scope, a.size)
    if a.ctype.is_floating:
        operators = st.sampled_from(["=", "=", "+=", "-=", "*="])
        pattern = operators.map(lambda op: f"{a.name}[{{0}}] {op} {{1}};")
        return st.builds(Stmt, pattern, st.tuples(place, doubles(scope, 2)))
    assign = st.builds(Stmt, st.just(f"{a.name}[{{0}}] = {{1}};"), st.tuples(place, _small(scope, 1000)))
    update = st.sampled_from(["+", "-"]).map(lambda op: f"{a.name}[{{0}}] {op}= {{1}};")
    return st.one_of(assign, st.builds(Stmt, update, st.tuples(place, _small(scope, 100))))


def _counts(scope: Scope, a: Array) -> Statements:
    return indices(scope, a.size).map(lambda i: Stmt(f"{a.name}[{{0}}] += 1;", (i,)))


@cache
def _scalar_updates(scope: Scope) -> Statements:
    """Assignments and reductions into scalars: sum, product, minimum and maximum, Horner, argmin."""
    value = doubles(scope, 1)
    patterns = [
        "s0 = {0};",
        "s0 += {0};",
        "s1 *= {0};",
        "s1 += {0} * {1};",
        "if ({0} < s0) s0 = {0};",
        "s1 = {0} > s1 ? {0} : s1;",
        "s0 = fmin(s0, {0});",
        "s0 = s0 * 0.5 + {0};",
    ]
    floating = st.builds(Stmt, st.sampled_from(patterns), st.tuples(value, value))
    integer = st.one_of(
        st.builds(Stmt, st.sampled_from(["t0 += {0};", "t1 -= {0};"]), st.tuples(_small(scope, 100))),
        st.builds(Stmt, st.just("t1 = {0};"), st.tuples(_small(scope, 1000))),
        st.builds(
            Stmt, st.just("if ({0} < s0) {{ s0 = {0}; t0 = {1}; }}"), st.tuples(value, _small(scope, 1000))
        ),
    )
    return st.one_of(floating, integer)


@cache
def _recurrences(scope: Scope) -> Statements:
    """Values carried from one execution to the next: rotations, prefix sums, swaps of elements."""
    choices: list[Statements] = [
        st.just(_braced(Stmt("unsigned next = u0 + u1;\nu0 = u1;\nu1 = next;"))),
        st.just(_braced(Stmt("double old = s0;\ns0 = s1;\ns1 = 0.5 * (old + s1);"))),
    ]
    for a in scope.of_type(CType.DOUBLE, CType.FLOAT):
        place = indices(scope, a.size)
        prefix = f"s0 += {{0}};\n{a.name}[{{1}}] = s0;"
        choices.append(st.builds(Stmt, st.just(prefix), st.tuples(doubles(scope, 1), place)))
    for a in scope.arrays:
        place = indices(scope, a.size)
        one, other = f"{a.name}[{{0}}]", f"{a.name}[{{1}}]"
        swap = f"{a.ctype.value} old = {one};\n{one} = {other};\n{other} = old;"
        choices.append(st.builds(Stmt, st.just(swap), st.tuples(place, place)).map(_braced))
    return st.one_of(choices)


def _pairs(scope: Scope) -> list[tuple[Array, Array]]:
    """Ordered pairs of different arrays with the same element type."""
    return [(a, b) for a in scope.arrays for b in scope.arrays if a != b and a.ctype is b.ctype]


def _bulk(scope: Scope) -> Statements:
    """Copies and fills of several elements: loops, ``memcpy``, ``memmove``, ``memset``."""
    texts = []
    for a, b in _pairs(scope):
        n = min(a.size, b.size)
        bytes_ = f"{n} * sizeof({a.ctype.value})"
        texts.append(f"for (int k = 0; k < {n}; k++) {b.name}[k] = {a.name}[k];")
        # A view may point to the other operand: memcpy would overlap.
        views = Storage.VIEW in (a.storage, b.storage)
        texts.append(f"mem{'move' if views else 'cpy'}({b.name}, {a.name}, {bytes_});")
    for a in scope.arrays:
        n = a.size - 1
        if n > 0:
            texts.append(f"memmove({a.name} + 1, {a.name}, {n} * sizeof({a.ctype.value}));")
            texts.append(f"memmove({a.name}, {a.name} + 1, {n} * sizeof({a.ctype.value}));")
        fill = 7 if a.ctype is CType.BYTE else 0
        texts.append(f"memset({a.name}, {fill}, {a.size} * sizeof({a.ctype.value}));")
    return st.sampled_from([Stmt(text) for text in texts])


def _pointer_calls(scope: Scope) -> Statements:
    """Helpers that read or write through pointers."""
    arrays = scope.of_type(CType.DOUBLE)
    calls = [Stmt(f"range_of({a.size}, {a.name}, &s0, &s1);") for a in arrays]
    for a in arrays:
        for b in arrays:
            n = min(a.size, b.size)
            calls.append(Stmt(f"axpy({n}, 0.5, {a.name}, {b.name});"))
            calls.append(Stmt(f"s1 = dot({n}, {a.name}, {b.name});"))
    scaled = f"axpy({arrays[0].size}, {{0}}, {arrays[0].name}, {arrays[0].name});"
    return st.one_of(st.sampled_from(calls), st.builds(Stmt, st.just(scaled), st.tuples(doubles(scope, 1))))


def _structures(scope: Scope) -> Statements:
    """Assignment of a structure and of its members."""
    place = indices(scope, POINTS)
    return st.one_of(
        st.builds(Stmt, st.just("points[{0}] = points[{1}];"), st.tuples(place, place)),
        st.builds(Stmt, st.just("points[{0}].x = {1};"), st.tuples(place, doubles(scope, 1))),
        st.builds(Stmt, st.just("points[{0}].w += (float)({1});"), st.tuples(place, doubles(scope, 1))),
        st.builds(Stmt, st.just("points[{0}].n = {1};"), st.tuples(place, _small(scope, 1000))),
        st.builds(
            Stmt,
            st.just("struct Point old = points[{0}];\nold.x += 1.0;\npoints[{1}] = old;"),
            st.tuples(place, place),
        ).map(_braced),
    )


@st.composite
def _loops(draw: st.DrawFn, scope: Scope) -> Stmt:
    """Counted loops: up, down, strided, triangular, zero-trip, with a bound from data."""
    depth = len(scope.loops)
    name = f"i{depth}"
    ctype = draw(st.sampled_from(["int", "long", "unsigned", "size_t"]))
    trips = draw(st.integers(0, _TRIPS[depth]))
    heads: list[tuple[str, tuple[Expr, ...], int]] = [
        (f"for ({ctype} {name} = 0; {name} < {trips}; {name}++)", (), trips),
        (f"for ({ctype} {name} = {trips}; {name}-- > 0;)", (), trips),
        (f"for ({ctype} {name} = 1; {name} < {trips}; {name} += 2)", (), trips),
    ]
    if scope.loops:
        outer = scope.loops[-1]
        stop = f"({ctype}){outer.name}"
        limit = min(outer.limit, _TRIPS[depth])
        inside = f"{name} < {limit}"
        heads.append((f"for ({ctype} {name} = 0; {name} <= {stop} && {inside}; {name}++)", (), limit))
        heads.append((f"for ({ctype} {name} = {stop}; {inside}; {name}++)", (), limit))
    count = draw(ints(scope, 0))
    heads.append(
        (f"for (int {name} = 0; {name} < {{0}} % {_TRIPS[depth]}; {name}++)", (count,), _TRIPS[depth])
    )
    pattern, operands, limit = draw(st.sampled_from(heads))
    # A loop without iterations still needs a valid index range for the code that never runs.
    inner = scope.inside(LoopVariable(name, max(limit, 1)))
    body = draw(st.lists(statements(inner), min_size=1, max_size=3))
    return Stmt(pattern, operands, tuple(body))


@st.composite
def _branches(draw: st.DrawFn, scope: Scope) -> Stmt:
    """``if`` with and without ``else``, and ``switch``."""
    block = st.lists(_simple(scope), min_size=1, max_size=2).map(tuple)
    if draw(st.booleans()):
        condition = draw(conditions(scope, 1))
        return Stmt("if ({0})", (condition,), draw(block), draw(st.just(()) | block))
    falls_through = draw(st.booleans())
    first = Stmt("case 0:", (), draw(block) if falls_through else (*draw(block), Stmt("break;")))
    other = Stmt("default:", (), draw(block))
    return Stmt("switch ({0} % 3)", (draw(ints(scope, 0)),), (first, other))


@st.composite
def _workspace(draw: st.DrawFn, scope: Scope) -> Stmt:
    """A local array that is filled and then used by the statements of its block."""
    size = draw(st.integers(2, 4))
    name = f"w{len(scope.loops)}"
    inside = scope.inside(LoopVariable("k", size))
    value = draw(doubles(inside, 1))
    fill = Stmt(f"for (int k = 0; k < {size}; k++)", (), (Stmt(f"{name}[k] = {{0}};", (value,)),))
    arrays = (*(a for a in scope.arrays if a.name != name), Array(name, CType.DOUBLE, size, Storage.LOCAL))
    filled = Scope(
        arrays, scope.loops, scope.doubles, scope.ints, scope.functions, scope.calls, scope.has_points
    )
    body = draw(st.lists(_simple(filled), min_size=1, max_size=2))
    return Stmt("", (), (Stmt(f"double {name}[{size}];"), fill, *body))
