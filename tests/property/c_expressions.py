"""Strategies for expressions of the generated C programs: indices, integers, doubles, conditions."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from tests.property.c_ast import ELEMENT_BOUND, INT_LIMIT, POINTS, TABLE, CType, Expr, Scope

_DOUBLE_CONSTANTS = ("0.5", "1.0", "-0.25", "2.0", "0.0", "1.5")


def reduce_to(value: Expr, modulus: int) -> Expr:
    """``value`` itself if its magnitude is below ``modulus``, otherwise its remainder."""
    if value.bound < modulus:
        return value
    return Expr(f"({{0}} % {modulus})", (value,), modulus - 1)


@cache
def indices(scope: Scope, size: int) -> st.SearchStrategy[Expr]:
    """Expressions of an integer type with values in [0, size)."""
    constant = st.integers(0, size - 1).map(lambda k: Expr(str(k), bound=size - 1))
    choices = [constant]
    for loop in scope.loops:
        direct = Expr(loop.name if loop.limit <= size else f"{loop.name} % {size}", bound=size - 1)
        shifted = [Expr(f"({loop.name} + {k}) % {size}", bound=size - 1) for k in range(1, 4)]
        choices += [st.just(direct), st.just(direct), st.sampled_from(shifted)]
    for array in scope.of_type(CType.INT, CType.LONG, CType.BYTE, CType.SHORT):
        # Through the unsigned type of the same rank, so that a negative element gives a valid index.
        cast = "unsigned long" if array.ctype is CType.LONG else "unsigned"
        pattern = f"({cast}){array.name}[{{0}}] % {size}"
        inner = _direct_indices(scope, array.size)
        choices.append(inner.map(lambda i, pattern=pattern: Expr(pattern, (i,), size - 1)))  # type: ignore[misc]
    return st.one_of(choices)


@cache
def _direct_indices(scope: Scope, size: int) -> st.SearchStrategy[Expr]:
    choices = [Expr(loop.name if loop.limit <= size else f"{loop.name} % {size}") for loop in scope.loops]
    return st.sampled_from([*choices, Expr("0")])


def _element(scope: Scope, floating: bool) -> list[st.SearchStrategy[Expr]]:
    """One strategy per array of the floating or integer family: an element of it."""
    result = []
    for array in scope.arrays:
        if array.ctype.is_floating is not floating:
            continue
        cast = "(int)" if array.ctype is CType.LONG else ""
        bound = 0 if floating else array.ctype.bound
        pattern = f"{cast}{array.name}[{{0}}]"
        result.append(
            st.builds(Expr, st.just(pattern), st.tuples(indices(scope, array.size)), st.just(bound))
        )
    return result


@cache
def ints(scope: Scope, depth: int) -> st.SearchStrategy[Expr]:
    """Expressions of type ``int``; ``bound`` is below INT_LIMIT."""
    leaves = [st.integers(0, 9).map(lambda k: Expr(str(k), bound=9))]
    leaves += [st.just(Expr(f"(int){v.name}", bound=v.limit)) for v in scope.loops]
    leaves += [st.just(Expr(name, bound=ELEMENT_BOUND)) for name in scope.ints]
    leaves += _element(scope, floating=False)
    if scope.has_points:
        leaves.append(indices(scope, POINTS).map(lambda i: Expr("points[{0}].n", (i,), ELEMENT_BOUND)))
    if depth == 0:
        return st.one_of(leaves)
    below = ints(scope, depth - 1)
    compound = [
        st.builds(_sum, st.sampled_from("+-"), below, below),
        st.builds(_product, below, below),
        st.builds(_bits, st.sampled_from("&|^"), below, below),
        st.builds(_choose, conditions(scope, depth - 1), below, below),
        conditions(scope, depth - 1).map(lambda c: Expr("({0})", (c,), 1)),
        doubles(scope, depth - 1).map(lambda x: Expr("(int)fmax(-99.0, fmin(99.0, {0}))", (x,), 99)),
    ]
    if scope.calls:
        compound += [
            doubles(scope, depth - 1).map(lambda x: Expr("to_int({0})", (x,), 1000)),
            below.map(lambda n: Expr("step({0} % 6, {1})", (n, reduce_to(n, 1000)), 1000)),
        ]
    return st.one_of(*leaves, *compound)


def _sum(operator: str, a: Expr, b: Expr) -> Expr:
    if a.bound + b.bound >= INT_LIMIT:
        a, b = reduce_to(a, 1000), reduce_to(b, 1000)
    return Expr(f"({{0}} {operator} {{1}})", (a, b), a.bound + b.bound)


def _product(a: Expr, b: Expr) -> Expr:
    if a.bound * b.bound >= INT_LIMIT:
        a, b = reduce_to(a, 1000), reduce_to(b, 1000)
    return Expr("({0} * {1})", (a, b), a.bound * b.bound)


def _bits(operator: str, a: Expr, b: Expr) -> Expr:
    return Expr(f"({{0}} {operator} {{1}})", (a, b), 1 << max(a.bound, b.bound).bit_length())


def _choose(condition: Expr, a: Expr, b: Expr) -> Expr:
    return Expr("({0} ? {1} : {2})", (condition, a, b), max(a.bound, b.bound))


@cache
def doubles(scope: Scope, depth: int) -> st.SearchStrategy[Expr]:
    """Expressions of type ``double``."""
    leaves = [st.sampled_from([Expr(text) for text in _DOUBLE_CONSTANTS])]
    leaves += [st.just(Expr(name)) for name in scope.doubles]
    # Twice: elements should be more frequent than constants.
    leaves += 2 * _element(scope, floating=True)
    if scope.has_points:
        member = st.sampled_from(["points[{0}].x", "points[{0}].w"])
        leaves.append(st.builds(Expr, member, st.tuples(indices(scope, POINTS))))
    if depth == 0:
        return st.one_of(leaves)
    below = doubles(scope, depth - 1)
    binary = st.sampled_from(
        [
            "({0} + {1})",
            "({0} - {1})",
            "(0.5 * {0} * {1})",
            "({0} / (1.0 + fabs({1})))",
            "fmin({0}, {1})",
            "fmax({0}, {1})",
            "fma({0}, 0.5, {1})",
        ]
    )
    unary = st.sampled_from(
        ["sqrt(fabs({0}))", "exp(-fabs({0}))", "fabs({0})", "(-({0}))", "(double)(float){0}"]
    )
    compound = [
        st.builds(Expr, binary, st.tuples(below, below)),
        st.builds(Expr, unary, st.tuples(below)),
        st.builds(_choose, conditions(scope, depth - 1), below, below),
        ints(scope, depth - 1).map(lambda n: Expr("(double){0}", (n,))),
    ]
    if scope.calls:
        compound += _calls(scope, below)
    return st.one_of(*leaves, *compound)


def _calls(scope: Scope, below: st.SearchStrategy[Expr]) -> list[st.SearchStrategy[Expr]]:
    """Calls of scalar helpers, also through the function table, and of helpers that take a pointer."""
    calls: list[st.SearchStrategy[Expr]] = []
    if scope.functions:
        names = [f"{name}({{0}}, {{1}})" for name in scope.functions]
        calls.append(st.builds(Expr, st.sampled_from(names), st.tuples(below, below)))
        chosen = indices(scope, len(scope.functions))
        calls.append(
            st.builds(Expr, st.just(f"{TABLE}[{{0}}]({{1}}, {{2}})"), st.tuples(chosen, below, below))
        )
    for a in scope.of_type(CType.DOUBLE):
        place = indices(scope, a.size)
        calls.append(place.map(lambda i, a=a: Expr(f"smooth({a.name}, {a.size}, {{0}})", (i,))))  # type: ignore[misc]
        calls.append(place.map(lambda i, a=a: Expr(f"tail_sum({a.name}, {{0}})", (i,))))  # type: ignore[misc]
    return calls


@cache
def conditions(scope: Scope, depth: int) -> st.SearchStrategy[Expr]:
    """Expressions used as truth values."""
    comparison = st.sampled_from(["{0} < {1}", "{0} > {1}", "{0} <= {1}"])
    simple = [
        st.builds(Expr, comparison, st.tuples(doubles(scope, 0), doubles(scope, 0))),
        st.builds(
            Expr, st.sampled_from(["{0} == {1}", "{0} > {1}"]), st.tuples(ints(scope, 0), ints(scope, 0))
        ),
        ints(scope, 0).map(lambda n: Expr("{0} % 2 != 0", (n,))),
    ]
    if depth == 0:
        return st.one_of(simple)
    below = conditions(scope, depth - 1)
    joined = st.builds(Expr, st.sampled_from(["({0} && {1})", "({0} || {1})"]), st.tuples(below, below))
    return st.one_of(*simple, joined)
