"""Random C and C++ programs about floating point: what compilers may fold, fuse, flush or round differently.

Products and sums of constants that show only when loops are unrolled, ``fma``, three precisions, denormals;
with ``FENV_ACCESS`` also rounding modes, exceptions and flushing to zero. They print all bits; a NaN prints
without its sign, which compilers choose. The same seed gives the same program.
"""

from random import Random

_HEAD = """#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xmmintrin.h>
#define NOINLINE __attribute__((noinline))
static volatile double third = 1.0 / 3.0;
static void show(long double x) {
  char text[64];
  sprintf(text, "%La", x);
  puts(strstr(text, "nan") ? "nan" : text);
}
"""
_DIGITS = {"float": 23, "double": 52, "long double": 63}
_SUFFIX = {"float": "f", "double": "", "long double": "l"}
_MODES = ("FE_DOWNWARD", "FE_UPWARD", "FE_TOWARDZERO", "FE_TONEAREST")


class _Writer:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.kinds = [self.random.choice(list(_DIGITS)) for _ in range(self.random.randint(1, 4))]
        self.size = self.random.randint(2, 9)
        self.is_strict = self.random.random() < 0.3

    def text(self) -> str:
        parts = [_HEAD, "#pragma STDC FENV_ACCESS ON" * self.is_strict]
        parts += [self._function(i, kind) for i, kind in enumerate(self.kinds)]
        calls = [f"  {self._environment()} f{i}({self._argument()});" for i in range(len(self.kinds))]
        self.random.shuffle(calls)
        return "\n".join([*parts, "int main(void) {", *calls, "  return (int)fmod(fabs(total), 64);", "}\n"])

    def constant(self, kind: str) -> str:
        digits = _DIGITS[kind]
        exponent = self.random.randint(-3, 3) - digits
        if self.random.random() < 0.15:  # small enough for denormal results
            exponent = (
                self.random.randint(-149, -140) if kind == "float" else self.random.randint(-1074, -1050)
            )
        mantissa = self.random.getrandbits(digits) | 1 << digits
        return f"{self.random.choice('+-')}0x{mantissa:x}p{exponent}{_SUFFIX[kind]}"

    def expression(self, kind: str, names: tuple[str, ...], depth: int) -> str:
        if depth == 0:
            return self.random.choice((*names, f"({self.constant(kind)})"))
        a, b, c = (self.expression(kind, names, depth - 1) for _ in range(3))
        s = _SUFFIX[kind]
        return self.random.choice(
            (f"({a} * {b} + {c})", f"({a} * {b} - {c})", f"({c} - {a} * {b})", f"({a} * {b} + {c} * {a})",
             f"fma{s}({a}, {b}, {c})", f"({a} + {b})", f"({a} / {b})", f"sqrt{s}(fabs{s}({a}))",
             f"({a} < {b} ? {a} : {c})", f"fmax{s}({a}, {b})", f"({kind})(float)({a} * {b})", f"rint{s}({a})",
             f"({kind})((double)({a}) * {b} + {c})", f"({kind})(long)fmin{s}(9, fmax{s}(-9, {a}))")
        )  # fmt: skip

    def _function(self, index: int, kind: str) -> str:
        n, names = (
            self.size,
            ("x", f"k{index}[i]", f"a{index}[i]", f"a{index}[(i + 1) % {self.size}]", f"({kind})i"),
        )
        lines = [f"static const {kind} k{index}[] = {{{', '.join(self.constant(kind) for _ in range(n))}}};"]
        lines += [f"static {kind} a{index}[{n}];", "static double total;" * (index == 0)]
        lines.append(f"{self.random.choice(('NOINLINE ', ''))}static void f{index}({kind} x) {{")
        for _ in range(self.random.randint(1, 3)):
            lines.append(f"  for (int i = 0; i < {n}; i++) {{")
            lines.append(f"    a{index}[i] = {self.expression(kind, names, self.random.randint(1, 3))};")
            lines.append(f"    x = {self.expression(kind, names, 2)};" * self.random.randint(0, 1) + "  }")
        lines.append(f"  show(x); for (int i = 0; i < {n}; i++) {{ show(a{index}[i]); }}")
        flags = 'printf("%d\\n", fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID));' * self.is_strict
        return "\n".join([*lines, f"  {flags} if (x > -99 && x < 99) total += (double)x; }}"])

    def _argument(self) -> str:
        return self.random.choice(("third", "0.1", "third * 1e-310", self.constant("double")))

    def _environment(self) -> str:
        if not self.is_strict:
            return ""
        mode, flush = self.random.choice(_MODES), self.random.choice(("0x8040", "0"))
        return f"fesetround({mode}); _mm_setcsr((_mm_getcsr() & ~0x8040) | {flush});"


def floating_program(seed: int) -> str:
    return _Writer(seed).text()
