import struct

import numpy as np
import pytest

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.program.ir.constants import ConstantReader, signed, unescaped
from commanalyzer.program.ir.parsing.instructions import read_operand
from commanalyzer.program.ir.types import Cursor, TypeReader, parse_type

ADDRESSES = {"@a": 0x1000, "@b": 0x2000}


def _bytes(text: str) -> bytes:
    types = TypeReader(named={"%P": parse_type("{ i8, i32 }")})
    reader = ConstantReader(types, ADDRESSES.__getitem__)
    return reader.to_bytes(read_operand(Cursor(text, 0), types))


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("i32 -2", b"\xfe\xff\xff\xff"),
        ("i1 true", b"\x01"),
        ("i64 u0xFF", b"\xff" + bytes(7)),
        ("double 1.5", struct.pack("<d", 1.5)),
        ("double 0x7FF0000000000000", struct.pack("<d", float("inf"))),
        ("float 0x3FB99999A0000000", struct.pack("<f", 0.1)),
        ("half 0xH3C00", b"\x00\x3c"),
        ("x86_fp80 0xK3FFF8000000000000000", np.longdouble(1.0).tobytes()[:10]),
        ("ptr null", bytes(8)),
        ("ptr @a", (0x1000).to_bytes(8, "little")),
        ("[2 x i16] [i16 1, i16 2]", b"\x01\x00\x02\x00"),
        ("{ i8, i32 } { i8 1, i32 2 }", b"\x01\0\0\0\x02\0\0\0"),
        ("%P { i8 1, i32 2 }", b"\x01\0\0\0\x02\0\0\0"),
        ("<{ i8, i32 }> <{ i8 1, i32 2 }>", b"\x01\x02\0\0\0"),
        ("<2 x float> splat (float 1.0)", struct.pack("<2f", 1, 1)),
        ("<4 x i1> <i1 true, i1 false, i1 true, i1 true>", b"\x0d"),
        ("[4 x i8] zeroinitializer", bytes(4)),
        ("i32 poison", bytes(4)),
        ("ptr getelementptr inbounds (i8, ptr @a, i64 8)", (0x1008).to_bytes(8, "little")),
        ("ptr getelementptr (%P, ptr @a, i64 2, i32 1)", (0x1014).to_bytes(8, "little")),
        (
            "ptr getelementptr inbounds inrange(-16, 8) ({ [3 x ptr] }, ptr @a, i32 0, i32 0, i32 2)",
            (0x1010).to_bytes(8, "little"),
        ),
        (
            "i32 trunc (i64 sub (i64 ptrtoint (ptr @b to i64), i64 ptrtoint (ptr @a to i64)) to i32)",
            (0x1000).to_bytes(4, "little"),
        ),
        ("ptr inttoptr (i64 add (i64 16, i64 1) to ptr)", (17).to_bytes(8, "little")),
    ],
)
def test_images(text: str, image: bytes) -> None:
    assert _bytes(text) == image


def test_strings_keep_any_byte() -> None:
    assert unescaped(r"a\\\22\00\FFz\\n") == b'a\\"\x00\xffz\\n'
    assert _bytes('[3 x i8] c"x;\\0A"') == b"x;\n"


def test_signed_wraps() -> None:
    assert [signed(v, 8) for v in (0, 127, 128, 255)] == [0, 127, -128, -1]


def test_block_addresses_are_refused() -> None:
    with pytest.raises(UnsupportedIrError):
        _bytes("ptr blockaddress(@a, %b)")
