"""C library functions against the C library of the machine."""

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.recording.interpreter.instructions import arithmetic
from commanalyzer.recording.interpreter.libc.library import Library, format_printf, scan
from commanalyzer.recording.interpreter.memory import Memory
from commanalyzer.recording.interpreter.values import Data, long_double

_C = ctypes.CDLL(None)
_FLAGS = st.sampled_from(["", "-", "0", "+", " ", "#", "-+", "+0"])
_WIDTHS = st.sampled_from(["", "1", "12"])
_PRECISIONS = st.sampled_from(["", ".0", ".1", ".3", ".15"])


def _c_printf(template: str, argument: ctypes.c_double | ctypes.c_int64) -> bytes:
    buffer = ctypes.create_string_buffer(2000)
    _C.snprintf(buffer, ctypes.c_size_t(2000), template.encode(), argument)
    return buffer.value


@given(_FLAGS, _WIDTHS, _PRECISIONS, st.sampled_from("eEfFgG"), st.floats())
def test_floats_are_printed_as_by_c(flags: str, width: str, precision: str, kind: str, value: float) -> None:
    template = f"%{flags}{width}{precision}{kind}"
    expected = _c_printf(template, ctypes.c_double(value))
    assert format_printf(template.encode(), [value], lambda _: b"") == expected


@given(
    _FLAGS,
    _WIDTHS,
    st.sampled_from(["", ".1", ".8"]),
    st.sampled_from(["ld", "lu", "lx", "lX", "d", "u", "x", "hd", "hhu"]),
    st.integers(-(2**63), 2**63 - 1),
)
def test_integers_are_printed_as_by_c(flags: str, width: str, precision: str, kind: str, value: int) -> None:
    template = f"%{flags}{width}{precision}{kind}"
    expected = _c_printf(template, ctypes.c_int64(value))
    assert format_printf(template.encode(), [value & (2**64 - 1)], lambda _: b"") == expected


def test_strings_widths_and_stars() -> None:
    def text(address: int) -> bytes:
        return {1: b"word"}[address]

    assert format_printf(b"[%6s|%-6s|%.2s|%c%%]", [1, 1, 1, 65], text) == b"[  word|word  |wo|A%]"
    assert format_printf(b"%*d|%-*.*f", [4, 7, 6, 1, 2.25], text) == b"   7|2.2   "
    assert format_printf(b"%p %p", [0, 255], text) == b"(nil) 0xff"


def test_long_double_conversions() -> None:
    third = long_double(1.0) / long_double(3.0)
    assert format_printf(b"%.20Lf", [third], lambda _: b"") == b"0.33333333333333333334"
    assert format_printf(b"%Lg|%8.2Le", [third, third], lambda _: b"") == b"0.333333|3.33e-01"


@pytest.mark.parametrize("template", [b"%n", b"%k", b"100%"])
def test_unknown_conversions_are_refused(template: bytes) -> None:
    with pytest.raises(UnsupportedIrError):
        format_printf(template, [1], lambda _: b"")


def test_scan() -> None:
    scanned = scan(b"%d, %lf %s %*d %ld", b" 12, 2.5e1 abc 7 -1 rest")
    assert [value for _, value in scanned.stores] == [12, 25.0, b"abc", 2**64 - 1]
    assert [type_.text for type_, _ in scanned.stores] == ["i32", "double", "i8", "i64"]
    assert (scanned.assigned, scanned.consumed) == (4, 19)
    assert scan(b"%d", b"  ").assigned == -1
    assert scan(b"%d", b"x").assigned == 0


@given(st.floats(min_value=1e-3, max_value=20.0))
def test_math_functions_are_those_of_libm(x: float) -> None:
    libm = ctypes.CDLL("libm.so.6")
    for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "floor", "ceil", "round", "rint"):
        function = getattr(libm, name)
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
        assert arithmetic.FUNCTIONS[name](x) == function(x)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("sqrt", (-1.0,), "nan"),
        ("log", (0.0,), "-inf"),
        ("pow", (0.0, -1.0), "inf"),
        ("exp", (1e4,), "inf"),
        ("fmin", (float("nan"), 2.0), "2.0"),
        ("round", (0.49999999999999994,), "0.0"),
        ("round", (-2.5,), "-3.0"),
        ("floor", (-0.0,), "-0.0"),
    ],
)
def test_edges_of_math_functions(name: str, arguments: tuple[float, ...], expected: str) -> None:
    assert str(float(arithmetic.FUNCTIONS[name](*arguments))) == expected


def test_names_and_extended_precision() -> None:
    assert arithmetic.base_name("sqrtf") == ("sqrt", "f")
    assert arithmetic.base_name("modf") == ("modf", "")
    assert arithmetic.base_name("__exp_finite") == ("exp", "")
    assert arithmetic.evaluate("sqrt", long_double(2.0)) == np.sqrt(np.longdouble(2))


@pytest.fixture
def memory() -> Memory:
    return Memory(10_000)


def _call(library: Library, name: str, *data: Data) -> Data:
    function = library.function(name)
    assert function is not None
    return function(data)


@pytest.mark.parametrize(
    ("text", "base", "value", "length"),
    [
        (b" -12x", 10, -12, 4),
        (b"0x1fz", 16, 31, 4),
        (b"0x1f", 0, 31, 4),
        (b"017", 0, 15, 3),
        (b"12", 10, 12, 2),
        (b"abc", 10, 0, 0),
    ],
)
def test_strtol(memory: Memory, text: bytes, base: int, value: int, length: int) -> None:
    string = memory.add_global("s", len(text) + 1)
    string.data[:-1] = text
    end = memory.add_global("e", 8)
    assert _call(Library(memory, b""), "strtol", string.base, end.base, base) == value
    assert int.from_bytes(end.data, "little") - string.base == length


def test_input(memory: Memory) -> None:
    library = Library(memory, b"ab\ncd 5")
    buffer = memory.add_global("b", 16)
    assert _call(library, "getchar") == ord("a")
    assert _call(library, "fgets", buffer.base, 16, 0) == buffer.base
    assert memory.read_string(buffer.base) == b"b\n"
    assert _call(library, "fread", buffer.base, 2, 1, 0) == 1
    template = memory.add_global("t", 4)
    template.data[:2] = b"%d"
    assert _call(library, "scanf", template.base, buffer.base) == 1
    assert buffer.data[:4] == b"\x05\0\0\0"
    assert _call(library, "getchar") == -1


def test_strings(memory: Memory) -> None:
    library = Library(memory, b"")
    a, b = memory.add_global("a", 16), memory.add_global("b", 16)
    a.data[:5] = b"hello"
    _call(library, "strcpy", b.base, a.base)
    _call(library, "strcat", b.base, a.base)
    assert memory.read_string(b.base) == b"hellohello"
    assert _call(library, "strcmp", a.base, b.base) == -1
    assert _call(library, "strncmp", a.base, b.base, 5) == 0
    assert _call(library, "strchr", a.base, ord("l")) == a.base + 2
    assert _call(library, "strlen", b.base) == 10


def test_streams(memory: Memory) -> None:
    library = Library(memory, b"")
    text = memory.add_global("t", 8)
    text.data[:2] = b"hi"
    _call(library, "puts", text.base)
    _call(library, "fputs", text.base, 0x1020)
    assert (bytes(library.stdout), bytes(library.stderr)) == (b"hi\n", b"hi")


def test_complex_arithmetic() -> None:
    assert arithmetic.complex_product(1.0, 2.0, 3.0, 4.0) == (-5.0, 10.0)
    assert arithmetic.complex_quotient(-5.0, 10.0, 3.0, 4.0) == (1.0, 2.0)
    assert arithmetic.complex_quotient(1.0, 0.0, 0.0, 1e200) == (0.0, -1e-200)
