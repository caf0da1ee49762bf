"""Small C syntax tree of the generated programs, and its rendering to source text.

Expressions know the largest magnitude they can take, so that the generator keeps integer arithmetic inside
``int``. Everything is frozen and hashable: a :class:`Scope` is the key under which strategies are cached.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

INT_LIMIT = 1 << 30
"""No intermediate ``int`` exceeds this magnitude."""

ELEMENT_BOUND = 1 << 22
"""Magnitude of ``int`` and ``long`` variables: stores below 1000, fewer than 40,000 increments below 100."""


class CType(Enum):
    """Element type of an array; the value is its C name."""

    DOUBLE = "double"
    FLOAT = "float"
    INT = "int"
    LONG = "long"
    SHORT = "short"
    BYTE = "unsigned char"

    @property
    def is_floating(self) -> bool:
        return self in (CType.DOUBLE, CType.FLOAT)

    @property
    def bound(self) -> int:
        return {CType.SHORT: 1 << 15, CType.BYTE: 255}.get(self, ELEMENT_BOUND)


class Storage(Enum):
    """Where an array lives."""

    GLOBAL = "global"
    LOCAL = "local"
    HEAP = "heap"
    VIEW = "view"


@dataclass(frozen=True, slots=True)
class Array:
    """An array or a pointer that is used like one.

    Attributes:
        storage: Global, local, heap, or a pointer to another array (``VIEW``).
        start: Initial value of element ``k`` as C text; empty for zero by ``calloc`` or static storage.
    """

    name: str
    ctype: CType
    size: int
    storage: Storage
    start: str = ""


@dataclass(frozen=True, slots=True)
class LoopVariable:
    """A non-negative loop counter below ``limit``."""

    name: str
    limit: int


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression or a statement may refer to."""

    arrays: tuple[Array, ...]
    loops: tuple[LoopVariable, ...] = ()
    doubles: tuple[str, ...] = ()
    ints: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    calls: bool = True
    has_points: bool = False

    def inside(self, loop: LoopVariable) -> Scope:
        return replace(self, loops=(*self.loops, loop))

    def with_array(self, array: Array) -> Scope:
        return replace(self, arrays=(*self.arrays, array))

    def of_type(self, *ctypes: CType) -> tuple[Array, ...]:
        return tuple(a for a in self.arrays if a.ctype in ctypes)


@dataclass(frozen=True, slots=True)
class Expr:
    """An expression: a pattern with ``{0}``, ``{1}`` ... for its operands.

    Attributes:
        pattern: C text; renders with its own parentheses where they matter.
        operands: Sub-expressions.
        bound: Largest magnitude of an integer expression, 0 for a floating one.
    """

    pattern: str
    operands: tuple[Expr, ...] = ()
    bound: int = 0

    def render(self) -> str:
        return self.pattern.format(*(operand.render() for operand in self.operands))


@dataclass(frozen=True, slots=True)
class Stmt:
    """A statement: a pattern (without braces) over expressions, or a header with a block.

    Attributes:
        pattern: C text with ``{0}`` ... for the operands; the part before the block if there is one.
        body: Statements of the block; ``None`` for a simple statement.
        other: Statements of the ``else`` block.
    """

    pattern: str
    operands: tuple[Expr, ...] = ()
    body: tuple[Stmt, ...] | None = None
    other: tuple[Stmt, ...] = ()

    def render(self, indent: int = 1) -> list[str]:
        pad = "    " * indent
        head = self.pattern.format(*(operand.render() for operand in self.operands))
        lines = [pad + line for line in head.split("\n")]
        if self.body is None:
            return lines
        lines[-1] = (lines[-1] + " {") if head else pad + "{"
        lines += [line for s in self.body for line in s.render(indent + 1)]
        if self.other:
            lines.append(pad + "} else {")
            lines += [line for s in self.other for line in s.render(indent + 1)]
        lines.append(pad + "}")
        return lines


@dataclass(frozen=True, slots=True)
class Function:
    """A helper ``static double NAME(double x, double y)`` that may return early."""

    name: str
    result: Expr
    guard: tuple[Expr, Expr] | None = None
    noinline: bool = False

    def render(self) -> list[str]:
        lines = [f"{'NOINLINE ' if self.noinline else ''}static double {self.name}(double x, double y) {{"]
        if self.guard is not None:
            condition, early = self.guard
            lines.append(f"    if ({condition.render()}) return {early.render()};")
        return [*lines, f"    return {self.result.render()};", "}"]


LIBRARY = {
    "to_int": "static int to_int(double x) { return x > -1000.0 && x < 1000.0 ? (int)x : 0; }",
    "step": (
        "static int step(int depth, int x)"
        " { return depth <= 0 ? x : step(depth - 1, (x * 3 + depth) % 101); }"
    ),
    "tail_sum": (
        "static double tail_sum(const double *a, int n)"
        " { return n <= 0 ? 0.0 : a[n - 1] + tail_sum(a, n - 1); }"
    ),
    "dot": (
        "static double dot(int n, const double *a, const double *b) {\n    double sum = 0.0;\n"
        "    for (int k = 0; k < n; k++) sum += a[k] * b[k];\n    return sum;\n}"
    ),
    "axpy": (
        "static void axpy(int n, double c, const double *a, double *b) {\n"
        "    for (int k = 0; k < n; k++) b[k] += c * a[k];\n}"
    ),
    "range_of": (
        "static void range_of(int n, const double *a, double *low, double *high) {\n"
        "    *low = *high = a[0];\n    for (int k = 1; k < n; k++) {\n        if (a[k] < *low) *low = a[k];\n"
        "        *high = a[k] > *high ? a[k] : *high;\n    }\n}"
    ),
    "smooth": (
        "static double smooth(const double *a, int n, int i) {\n    double w[3];\n"
        "    for (int k = 0; k < 3; k++) w[k] = a[(i + k) % n];\n"
        "    return 0.25 * w[0] + 0.5 * w[1] + 0.25 * w[2];\n}"
    ),
}
"""Helpers with a fixed body; only those that a program calls are printed."""

TABLE = "table"
POINTS = 4


@dataclass(frozen=True, slots=True)
class Program:
    """A complete program: data, helper functions and the body of ``main``.

    Attributes:
        arrays: Arrays, views last.
        functions: Scalar helpers (also reached through a table of function pointers).
        body: Statements of ``main``.
        noinline: Names of library helpers that are marked ``noinline``.
    """

    arrays: tuple[Array, ...]
    functions: tuple[Function, ...]
    body: tuple[Stmt, ...]
    noinline: frozenset[str]
    has_points: bool

    def render(self) -> str:
        main = [line for s in self.body for line in s.render()]
        helpers = [line for f in self.functions for line in f.render()]
        used = "\n".join(main + helpers)
        lines = ["#include <math.h>", "#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>"]
        lines += ["#define NOINLINE __attribute__((noinline))"] if "NOINLINE" in used or self.noinline else []
        lines += ["struct Point { double x; int n; float w; };"] if self.has_points else []
        lines += [_global(a) for a in self.arrays if a.storage is Storage.GLOBAL]
        for name, text in LIBRARY.items():
            if f"{name}(" in used:
                lines += (("NOINLINE " if name in self.noinline else "") + text).split("\n")
        lines += helpers
        if f"{TABLE}[" in used:
            names = ", ".join(f.name for f in self.functions)
            lines.append(f"static double (*const {TABLE}[])(double, double) = {{{names}}};")
        lines += ["int main(void) {", *self._declarations(), *main, *self._output(), "    return 0;", "}"]
        return "\n".join(lines) + "\n"

    def _declarations(self) -> list[str]:
        lines = [line for a in self.arrays for line in _declare(a)]
        if self.has_points:
            lines.append(f"    struct Point points[{POINTS}];")
            lines.append(
                f"    for (int k = 0; k < {POINTS}; k++)"
                " { points[k].x = 0.5 * k; points[k].n = k; points[k].w = 1.0f; }"
            )
        scalars = [
            "    double s0 = 0.0, s1 = 1.0;",
            "    int t0 = 0, t1 = 1;",
            "    unsigned u0 = 1u, u1 = 2u;",
        ]
        return lines + scalars

    def _output(self) -> list[str]:
        lines = [line for a in self.arrays if a.storage is not Storage.VIEW for line in _checksum(a)]
        if self.has_points:
            lines.append(
                f'    for (int k = 0; k < {POINTS}; k++) printf("%.17g %d %.9g\\n", '
                "points[k].x == points[k].x ? points[k].x : 0.0, points[k].n, (double)points[k].w);"
            )
        # A NaN prints with a sign that depends on the compiler.
        lines.append('    printf("%.17g %.17g ", s0 == s0 ? s0 : 0.0, s1 == s1 ? s1 : 0.0);')
        lines.append('    printf("%d %d %u %u\\n", t0, t1, u0, u1);')
        return lines + [f"    free({a.name});" for a in self.arrays if a.storage is Storage.HEAP]


def _global(a: Array) -> str:
    return f"{a.ctype.value} {a.name}[{a.size}];"


def _declare(a: Array) -> list[str]:
    """Declaration and initialisation in ``main``; the first two arrays serve the views."""
    if a.storage is Storage.VIEW:
        return [f"    double *{a.name} = {a.start};"]
    element = a.ctype.value
    lines: list[str] = []
    if a.storage is Storage.LOCAL:
        lines.append(f"    {element} {a.name}[{a.size}]{'' if a.start else ' = {0}'};")
    if a.storage is Storage.HEAP:
        call = f"malloc({a.size} * sizeof({element}))" if a.start else f"calloc({a.size}, sizeof({element}))"
        lines += [f"    {element} *{a.name} = {call};", f"    if (!{a.name}) return 1;"]
    if a.start:
        lines.append(f"    for (int k = 0; k < {a.size}; k++) {a.name}[k] = ({element})({a.start});")
    return lines


def _checksum(a: Array) -> list[str]:
    kind, name = ("double", "c") if a.ctype.is_floating else ("long", "c")
    shown = "%.17g" if kind == "double" else "%ld"
    value = "c == c ? c : 0.0" if kind == "double" else "c"
    return [
        f"    {{ {kind} {name} = 0; for (int k = 0; k < {a.size}; k++) c += {a.name}[k] * ({kind})(k + 1);"
        f' printf("{a.name} {shown}\\n", {value}); }}'
    ]
