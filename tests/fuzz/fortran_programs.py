"""Random Fortran programs about floating point, as those of :mod:`tests.fuzz.floating_programs`.

Constants that the compiler folds, products and sums that it may fuse, sums that it may reorder, denormals,
two precisions; some with rounding modes. They print all bits; a NaN prints without its sign.
"""

from random import Random

_HEAD = """module numbers
  use, intrinsic :: ieee_arithmetic
  implicit none
  real(8), volatile :: third = 1.0_8 / 3.0_8
contains
"""
_FUNCTION = """  subroutine f{0}(given)
    real(8), intent(in) :: given
    integer :: i
    real({1}) :: x, a({2})
    real({1}), parameter :: k({2}) = [{3}]
    x = real(given, {1})
    a = k
{4}
    print '({2}(z{5}.{5}, 1x), z{5}.{5})', merge(0.0_{1}, a, a /= a), merge(0.0_{1}, x, x /= x)
    print *, count(a /= a), x /= x
  end subroutine
"""
_EXPONENTS = {4: (38, 44), 8: (308, 323)}  # of denormal numbers, negative
_MODES = ("ieee_down", "ieee_up", "ieee_to_zero", "ieee_nearest")


class _Writer:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.size = self.random.randint(2, 9)
        self.is_strict = self.random.random() < 0.3

    def text(self) -> str:
        kinds = [self.random.choice((4, 8)) for _ in range(self.random.randint(1, 4))]
        functions = [self._function(i, kind) for i, kind in enumerate(kinds)]
        calls = [f"{self._environment()}  call f{i}({self._argument()})" for i in range(len(kinds))]
        self.random.shuffle(calls)
        return "\n".join(
            [_HEAD, *functions, "end module\nprogram test\n  use numbers", *calls, "end program\n"]
        )

    def constant(self, kind: int) -> str:
        is_tiny = self.random.random() < 0.15  # small enough for denormal results
        exponent = -self.random.randint(*_EXPONENTS[kind]) if is_tiny else self.random.randint(-2, 2)
        return f"({self.random.choice('+-')}{self.random.uniform(1, 10)!r}e{exponent}_{kind})"

    def expression(self, kind: int, names: tuple[str, ...], depth: int) -> str:
        if depth == 0:
            return self.random.choice((*names, self.constant(kind)))
        a, b, c = (self.expression(kind, names, depth - 1) for _ in range(3))
        return self.random.choice(
            (f"({a} * {b} + {c})", f"({a} * {b} - {c})", f"({c} - {a} * {b})", f"({a} * {b} + {c} * {a})",
             f"({a} + {b})", f"({a} / {b})", f"sqrt(abs({a}))", f"merge({a}, {c}, {a} < {b})",
             f"max({a}, {b})", f"sign({a}, {b})", f"anint({a})", f"exp(-abs({a}))",
             f"real(real({a} * {b}, 4), {kind})", f"real(real({a}, 8) * {b} + {c}, {kind})")
        )  # fmt: skip

    def _function(self, index: int, kind: int) -> str:
        n, lines = self.size, list[str]()
        names = ("x", "k(i)", "a(i)", f"a(mod(i, {n}) + 1)", f"real(i, {kind})")
        for _ in range(self.random.randint(1, 3)):
            whole = self.random.choice(("sum(a)", "dot_product(a, k)", "norm2(a)", "maxval(a * k)"))
            lines += [f"    do i = 1, {n}"]
            lines += [f"      a(i) = {self.expression(kind, names, self.random.randint(1, 3))}"]
            lines += [f"      x = {self.expression(kind, names, 2)}", "    end do", f"    x = x + {whole}"]
        constants = ", ".join(self.constant(kind) for _ in range(n))
        return _FUNCTION.format(index, kind, n, constants, "\n".join(lines), 2 * kind)

    def _argument(self) -> str:
        return self.random.choice(("third", "0.1_8", "third * 1e-310_8", self.constant(8)))

    def _environment(self) -> str:
        mode = self.random.choice(_MODES)
        return f"  call ieee_set_rounding_mode({mode})\n" if self.is_strict else ""


def fortran_program(seed: int) -> str:
    return _Writer(seed).text()
