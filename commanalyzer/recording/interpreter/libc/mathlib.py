"""Mathematical functions on numbers: libm and the ``llvm.*`` intrinsics of the same names.

Everything is computed in double precision (``x86_fp80`` in its own where numpy can) and rounded to the type
of the result; ``float`` results can differ from a C library's in the last bit. Domain errors give NaN or
infinity as in C.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np

from commanalyzer.recording.interpreter.instructions.arithmetic import float_divide, float_remainder

Function = Callable[..., float]


def _guarded(function: Function, *arguments: float) -> float:
    """Call ``function``; where Python raises, return what C returns."""
    try:
        return function(*arguments)
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf


def _log(function: Function, x: float) -> float:
    return -math.inf if x == 0 else _guarded(function, x)


def _pow(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except ValueError:
        return math.inf if x == 0 else math.nan
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf


def _round_away(x: float) -> float:
    if not abs(x) < 2.0**52:
        return x
    # Adding 0.5 first would round the number just below one half up.
    whole = math.floor(abs(x))
    return math.copysign(whole + (abs(x) - whole >= 0.5), x)


def _integral(function: Callable[[float], int], x: float) -> float:
    return math.copysign(float(function(x)), x) if math.isfinite(x) else x


def _but_nan(choose: Callable[[float, float], float], x: float, y: float) -> float:
    if x != x or y != y:
        return y if x != x else x
    return choose(x, y)


# those that Python has itself
_PLAIN = "exp exp2 expm1 cosh sin cos tan asin acos atan atan2 tanh asinh acosh erf erfc"
FUNCTIONS: dict[str, Function] = {
    "fabs": abs,
    "copysign": math.copysign,
    "sqrt": partial(_guarded, math.sqrt),
    "floor": partial(_integral, math.floor),
    "ceil": partial(_integral, math.ceil),
    "trunc": partial(_integral, math.trunc),
    "round": _round_away,
    **dict.fromkeys(("rint", "nearbyint", "roundeven"), partial(_integral, round)),
    **dict.fromkeys(("fmin", "minnum", "minimumnum"), partial(_but_nan, min)),
    **dict.fromkeys(("fmax", "maxnum", "maximumnum"), partial(_but_nan, max)),
    "minimum": lambda x, y: math.nan if x != x or y != y else min(x, y),
    "maximum": lambda x, y: math.nan if x != x or y != y else max(x, y),
    "fdim": lambda x, y: max(x - y, 0.0) if x == x and y == y else math.nan,
    "fmod": float_remainder,
    **dict.fromkeys(("remainder", "drem"), partial(_guarded, math.remainder)),
    "hypot": math.hypot,
    "cbrt": math.cbrt,
    "exp10": partial(_pow, 10.0),
    **{n: partial(_guarded, getattr(math, n)) for n in _PLAIN.split()},
    **{n: partial(_log, getattr(math, n)) for n in ("log", "log2", "log10")},
    "log1p": lambda x: -math.inf if x == -1 else _guarded(math.log1p, x),
    "sinh": lambda x: math.copysign(_guarded(math.sinh, abs(x)), x),
    "atanh": lambda x: math.copysign(math.inf, x) if abs(x) == 1 else _guarded(math.atanh, x),
    "pow": _pow,
    "tgamma": lambda x: math.copysign(math.inf, x) if x == 0 else _guarded(math.gamma, x),
    "lgamma": lambda x: math.inf if x <= 0 and x == math.floor(x) else _guarded(math.lgamma, x),
    "nextafter": math.nextafter,
    "logb": lambda x: -math.inf if x == 0 else float(math.frexp(x)[1] - 1) if math.isfinite(x) else abs(x),
    "fdiv": float_divide,
}
# what modf, frexp and sincos find: the first is the result of those that write one through a pointer
SPLITTING: dict[str, Callable[[float], tuple[float, float]]] = {
    "modf": math.modf,
    "frexp": math.frexp,
    "sincos": lambda x: (math.sin(x), math.cos(x)),
}
# numpy computes these in extended precision; its other names differ from C's.
_EXTENDED: dict[str, str] = {
    **{n: n for n in ("sqrt", "floor", "ceil", "trunc", "rint", "fabs", "copysign", "fmin", "fmax", "fmod")},
    **{n: n for n in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "hypot", "cbrt")},
    **{n: n for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{n: "arc" + n[1:] for n in ("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh")},
    "pow": "power",
}


def evaluate(name: str, *arguments: float) -> float:
    """Return ``FUNCTIONS[name]``; in extended precision where an argument is. KeyError if it is not known."""
    extended = _EXTENDED.get(name)
    if extended is not None and isinstance(arguments[0], np.longdouble):
        function = cast("Function", getattr(np, extended))
        with np.errstate(all="ignore"):
            return function(*arguments)
    return FUNCTIONS[name](*arguments)


def base_name(name: str) -> tuple[str, str]:
    """Return a libm name without its width suffix, and the suffix (``sqrtf`` -> ``sqrt``, ``f``)."""
    name = name.removeprefix("__").removesuffix("_finite")
    if name in FUNCTIONS:
        return name, ""
    if name[-1:] in ("f", "l") and name[:-1] in FUNCTIONS:
        return name[:-1], name[-1]
    return name, ""


def complex_product(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """Return ``(a + bi) * (c + di)`` for finite operands."""
    return a * c - b * d, a * d + b * c


def complex_quotient(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """Return ``(a + bi) / (c + di)``, scaled by the exponent of the divisor as compiler-rt does."""
    exponent = evaluate("logb", max(abs(c), abs(d)))
    scale = int(exponent) if math.isfinite(exponent) else 0
    c, d = math.ldexp(c, -scale), math.ldexp(d, -scale)
    norm = c * c + d * d
    real, imaginary = float_divide(a * c + b * d, norm), float_divide(b * c - a * d, norm)
    return math.ldexp(real, -scale), math.ldexp(imaginary, -scale)
