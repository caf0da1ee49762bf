"""Arithmetic against numpy, which wraps and rounds as the machine does."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commanalyzer.foundation.errors import TargetRunError
from commanalyzer.program.ir.model import Operand
from commanalyzer.program.ir.types import parse_type
from commanalyzer.recording.interpreter.instructions import arithmetic
from commanalyzer.recording.interpreter.libc.external import intrinsic
from commanalyzer.recording.interpreter.values import Data, as_float, decode, encode, long_double

I8, I32, I64 = (parse_type(f"i{bits}") for bits in (8, 32, 64))
FLOAT, DOUBLE, EXTENDED = (parse_type(name) for name in ("float", "double", "x86_fp80"))
_BYTES = st.integers(0, 255)
_DOUBLES = st.floats(allow_nan=False, allow_infinity=False, width=64)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.sampled_from(["add", "sub", "mul", "and", "or", "xor"]), _BYTES, _BYTES)
def test_integers_wrap(opcode: str, a: int, b: int) -> None:
    python = {"add": a + b, "sub": a - b, "mul": a * b, "and": a & b, "or": a | b, "xor": a ^ b}
    assert arithmetic.binary(opcode, I8, a, b) == python[opcode] % 256


@pytest.mark.parametrize(
    ("opcode", "a", "b", "result"),
    [
        ("sdiv", -7, 2, -3),
        ("srem", -7, 2, -1),
        ("srem", 7, -2, 1),
        ("udiv", -1, 2, 127),
        ("urem", -1, 16, 15),
        ("ashr", -8, 1, -4),
        ("lshr", -8, 1, 124),
        ("shl", 3, 7, -128),
        ("shl", 1, 9, 0),
    ],
)
def test_signs(opcode: str, a: int, b: int, result: int) -> None:
    assert arithmetic.binary(opcode, I8, a & 255, b & 255) == result & 255


@pytest.mark.parametrize("opcode", ["sdiv", "udiv", "srem", "urem"])
def test_division_by_zero(opcode: str) -> None:
    with pytest.raises(TargetRunError):
        arithmetic.binary(opcode, I32, 1, 0)


@given(st.sampled_from(["fadd", "fsub", "fmul", "fdiv"]), _FLOATS, _FLOATS)
def test_single_precision_rounds_once(opcode: str, a: float, b: float) -> None:
    operation = {"fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.divide}[opcode]
    with np.errstate(all="ignore"):
        expected = operation(np.float32(a), np.float32(b))
    result = as_float(arithmetic.binary(opcode, FLOAT, a, b))
    assert np.float32(result).tobytes() == np.float32(expected).tobytes() or (
        math.isnan(expected) and result != result
    )


def test_extended_precision_is_kept() -> None:
    third = arithmetic.binary("fdiv", EXTENDED, long_double(1.0), long_double(3.0))
    assert encode(EXTENDED, third) == (np.longdouble(1) / np.longdouble(3)).tobytes()[:10]
    assert decode(EXTENDED, encode(EXTENDED, third)) == third


def test_fused_multiply_add_rounds_once() -> None:
    x = 1.0 + 2.0**-30
    assert arithmetic.fused_multiply_add(DOUBLE, x, x, -1.0) == float(Fraction(x) ** 2 - 1)
    assert arithmetic.fused_multiply_add(DOUBLE, x, x, -1.0) != x * x - 1.0
    assert arithmetic.fused_multiply_add(DOUBLE, 2.0, math.inf, 1.0) == math.inf


@given(st.integers(-(2**70), 2**70))
def test_nearest_single_has_no_double_rounding(numerator: int) -> None:
    exact = Fraction(numerator, 2**20)
    result = Fraction(arithmetic.nearest(FLOAT, exact))
    below, above = (np.nextafter(np.float32(float(result)), np.float32(s * np.inf)) for s in (-1, 1))
    assert abs(result - exact) <= abs(Fraction(float(below)) - exact)
    assert abs(result - exact) <= abs(Fraction(float(above)) - exact)


@given(_DOUBLES, _DOUBLES)
def test_ordered_comparisons(a: float, b: float) -> None:
    for predicate, expected in [("olt", a < b), ("uge", a >= b), ("one", a != b), ("ueq", a == b)]:
        assert arithmetic.compare("fcmp", predicate, DOUBLE, a, b) == int(expected)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [("oeq", 0), ("ueq", 1), ("one", 0), ("une", 1), ("ord", 0), ("uno", 1), ("true", 1), ("false", 0)],
)
def test_comparisons_with_nan(predicate: str, expected: int) -> None:
    assert arithmetic.compare("fcmp", predicate, DOUBLE, math.nan, 1.0) == expected


def test_integer_comparisons_know_signs() -> None:
    assert arithmetic.compare("icmp", "slt", I8, 255, 1) == 1
    assert arithmetic.compare("icmp", "ult", I8, 255, 1) == 0
    assert arithmetic.compare("icmp", "ne", I8, 255, 1) == 1
    assert arithmetic.compare("icmp", "sge", parse_type("<2 x i8>"), (255, 1), (0, 1)) == (0, 1)


def test_casts() -> None:
    cases: list[tuple[str, str, str, Data, Data]] = [
        ("sext", "i8", "i32", 255, 0xFFFFFFFF),
        ("zext", "i8", "i32", 255, 255),
        ("trunc", "i32", "i8", 0x1FF, 0xFF),
        ("sitofp", "i8", "double", 255, -1.0),
        ("uitofp", "i64", "double", 2**64 - 1, 2.0**64),
        ("fptosi", "double", "i32", -3.9, 0xFFFFFFFD),
        ("fptrunc", "double", "float", 0.1, float(np.float32(0.1))),
        ("bitcast", "float", "i32", 1.0, 0x3F800000),
        ("bitcast", "<2 x i32>", "i64", (1, 2), 2 << 32 | 1),
        ("ptrtoint", "ptr", "i64", 99, 99),
    ]
    for opcode, source, target, data, expected in cases:
        assert arithmetic.convert(opcode, parse_type(source), parse_type(target), data) == expected


@pytest.mark.parametrize(
    ("name", "type_name", "arguments", "expected"),
    [
        ("llvm.smax.i8", "i8", (255, 1), 1),
        ("llvm.umin.i8", "i8", (255, 1), 1),
        ("llvm.abs.i8", "i8", (0x81, 0), 0x7F),
        ("llvm.ctpop.i8", "i8", (0xF1,), 5),
        ("llvm.ctlz.i8", "i8", (1, 0), 7),
        ("llvm.cttz.i8", "i8", (8, 0), 3),
        ("llvm.bswap.i32", "i32", (0x01020304,), 0x04030201),
        ("llvm.fshl.i8", "i8", (0x12, 0x34, 4), 0x23),
        ("llvm.fshr.i8", "i8", (0x12, 0x34, 4), 0x23),
        ("llvm.uadd.sat.i8", "i8", (200, 100), 255),
        ("llvm.ssub.sat.i8", "i8", (0x80, 1), 0x80),
        ("llvm.powi.f64.i32", "double", (2.0, 0xFFFFFFFF), 0.5),
        ("llvm.copysign.f64", "double", (2.0, -0.0), -2.0),
        ("llvm.round.f64", "double", (-2.5,), -3.0),
        ("llvm.rint.f64", "double", (2.5,), 2.0),
        ("llvm.fptosi.sat.i8.f64", "i8", (300.0,), 127),
    ],
)
def test_intrinsics(name: str, type_name: str, arguments: tuple[Data, ...], expected: Data) -> None:
    type_ = parse_type(type_name)
    types = [DOUBLE if isinstance(a, float) else type_ for a in arguments]
    assert intrinsic(name, type_, [Operand(t, "") for t in types], arguments) == expected


def test_overflow_and_reductions() -> None:
    pair = parse_type("{ i8, i1 }")
    operands = [Operand(I8, ""), Operand(I8, "")]
    assert intrinsic("llvm.sadd.with.overflow.i8", pair, operands, (100, 100)) == (200, 1)
    assert intrinsic("llvm.uadd.with.overflow.i8", pair, operands, (100, 100)) == (200, 0)
    vector = Operand(parse_type("<3 x double>"), "")
    start = Operand(DOUBLE, "")
    total = intrinsic("llvm.vector.reduce.fadd.v3f64", DOUBLE, [start, vector], (1.0, (2.0, 3.0, 4.0)))
    assert total == 10.0
    assert intrinsic("llvm.vector.reduce.fmax.v3f64", DOUBLE, [vector], ((2.0, 5.0, 4.0),)) == 5.0
