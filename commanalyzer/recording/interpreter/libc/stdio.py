"""printf and scanf formats."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.program.ir.constants import signed
from commanalyzer.program.ir.model import IrType
from commanalyzer.program.ir.types import parse_type
from commanalyzer.recording.interpreter.instructions.codec import long_double
from commanalyzer.recording.interpreter.values import Data, as_float, as_int

_CONVERSION = re.compile(
    rb"%(?P<flags>[-+ #0']*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|-?\d*))?"
    rb"(?P<length>hh|h|ll|l|j|z|t|L|q)?(?P<conversion>[diouxXeEfFgGaAcspn%])"
)
_LENGTH_BITS = {"hh": 8, "h": 16, "l": 64, "ll": 64, "q": 64, "j": 64, "z": 64, "t": 64}
ReadString = Callable[[int], bytes]


def format_printf(template: bytes, arguments: Sequence[Data], read_string: ReadString) -> bytes:
    """Return what printf writes for a format without its terminating zero, and the arguments after it.

    ``read_string`` returns the zero-terminated string at an address. Raises UnsupportedIrError for ``%n`` and
    unknown conversions.
    """
    pending = iter(arguments)
    result = bytearray()
    position = 0
    while True:
        start = template.find(b"%", position)
        if start < 0:
            return bytes(result + template[position:])
        result += template[position:start]
        match = _CONVERSION.match(template, start)
        if match is None or match["conversion"] == b"n":
            shown = template[start : start + 8].decode("latin-1")
            raise UnsupportedIrError(f"expected a printf conversion, found '{shown}'")
        result += b"%" if match["conversion"] == b"%" else _convert(match, pending, read_string)
        position = match.end()


def _convert(match: re.Match[bytes], pending: Iterator[Data], read_string: ReadString) -> bytes:
    flags = match["flags"].decode().replace("'", "")
    width = _number(match["width"], pending)
    precision = _number(match["precision"], pending) if match["precision"] is not None else None
    if width is not None and width < 0:
        flags, width = flags + "-", -width
    if precision is not None and precision < 0:
        precision = None
    kind = match["conversion"].decode()
    data = next(pending)
    if kind in "cs":
        return _text(kind, data, flags, width, precision, read_string)
    field = f"{width if width is not None else ''}"
    digits = f".{precision}" if precision is not None else ""
    if kind in "diouxXp":
        return _integer(kind, as_int(data), match["length"], flags, field, digits)
    return _floating(kind, as_float(data), flags, field, precision)


def _number(text: bytes | None, pending: Iterator[Data]) -> int | None:
    if text is None:
        return None
    if text == b"*":
        return signed(as_int(next(pending)) & 0xFFFFFFFF, 32)
    return int(text or b"0")


def _text(
    kind: str, data: Data, flags: str, width: int | None, precision: int | None, read_string: ReadString
) -> bytes:
    if kind == "c":
        text = bytes([as_int(data) & 0xFF])
    else:
        text = read_string(as_int(data)) if data else b"(null)"
        text = text[:precision]
    return text.ljust(width or 0) if "-" in flags else text.rjust(width or 0)


def _integer(kind: str, data: int, length: bytes | None, flags: str, field: str, digits: str) -> bytes:
    bits = _LENGTH_BITS.get((length or b"").decode(), 32)
    if kind == "p":
        return (f"%{flags}{field}s" % (hex(data) if data else "(nil)")).encode()
    value = data & ((1 << bits) - 1)
    if digits:
        flags = flags.replace("0", "")
    if kind in "di":
        return (f"%{flags}{field}{digits}d" % signed(value, bits)).encode()
    flags = flags.replace("+", "").replace(" ", "")
    kind = "d" if kind == "u" else kind
    if value == 0:
        flags = flags.replace("#", "")
    text = f"%{flags}{field}{digits}{kind}" % value
    return (text.replace("0o", "0") if kind == "o" else text).encode()


def _floating(kind: str, value: float, flags: str, field: str, precision: int | None) -> bytes:
    if not math.isfinite(value):
        sign = "-" if math.copysign(1.0, value) < 0 else "+" if "+" in flags else " " if " " in flags else ""
        word = "nan" if value != value else "inf"
        shown = sign + (word.upper() if kind.isupper() else word)
        return (f"%{'-' if '-' in flags else ''}{field}s" % shown).encode()
    if kind in "aA":
        # C omits the trailing zeros of the mantissa that Python prints.
        text = re.sub(r"\.?0*p", "p", float(value).hex())
        shown = text.upper() if kind == "A" else text
        return (f"%{flags.replace('0', '')}{field}s" % shown).encode()
    digits = 6 if precision is None else precision
    if float(value) == value:
        return (f"%{flags}{field}.{digits}{kind}" % float(value)).encode()
    return _long_double(kind, value, flags, field, digits)


def _long_double(kind: str, value: float, flags: str, field: str, digits: int) -> bytes:
    """Format an extended number that is no double; exact through two doubles and decimals."""
    high = float(value)
    low = float(value - long_double(high))
    with localcontext() as context:
        context.prec = 20000
        exact = Decimal(high) + Decimal(low)
        align = "<" if "-" in flags else ">"
        sign = "+" if "+" in flags else " " if " " in flags else ""
        text = _general(exact, sign, digits, kind) if kind in "gG" else f"{exact:{sign}.{digits}{kind}}"
    text = re.sub(r"([eE][-+])(\d)$", r"\g<1>0\2", text)
    if "0" in flags and align == ">" and field:
        return text.zfill(int(field)).encode()
    return f"{text:{align}{field or 0}}".encode()


def _general(exact: Decimal, sign: str, digits: int, kind: str) -> str:
    """Apply the rule of %g: the shorter form, without trailing zeros."""
    digits = max(digits, 1)
    scientific = f"{exact:{sign}.{digits - 1}{'e' if kind == 'g' else 'E'}}"
    mantissa, exponent = re.split("[eE]", scientific)
    if -4 <= int(exponent) < digits:
        fixed = f"{exact:{sign}.{digits - 1 - int(exponent)}f}"
        return fixed.rstrip("0").rstrip(".") if "." in fixed else fixed
    short = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return short + scientific[len(mantissa) :]


@dataclass(frozen=True, slots=True)
class Scanned:
    """Result of a scanf format.

    ``stores`` has, per assigned conversion, the type to store and the value, ``bytes`` for strings;
    ``assigned`` is their number, -1 at the end of input; ``consumed`` are the bytes of input that were used.
    """

    stores: tuple[tuple[IrType, Data | bytes], ...]
    assigned: int
    consumed: int


_SCAN = re.compile(rb"%(\*?)(\d*)(hh|h|ll|l|j|z|t|L)?([diuxeEfgGcs%])|\s+|[^\s%]")
_SCAN_INTEGER = re.compile(rb"[-+]?\d+")
_SCAN_HEX = re.compile(rb"[-+]?(?:0[xX])?[0-9a-fA-F]+")
_SCAN_FLOAT = re.compile(rb"[-+]?(?:inf|nan|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)", re.IGNORECASE)
_SCAN_WORD = re.compile(rb"\S+")


def scan(template: bytes, text: bytes) -> Scanned:
    """Match ``text`` against a scanf format (``d i u x e f g c s``, widths, ``*``)."""
    stores: list[tuple[IrType, Data | bytes]] = []
    position = 0
    for match in _SCAN.finditer(template):
        directive = match.group()
        if directive.isspace():
            position += len(text[position:]) - len(text[position:].lstrip())
            continue
        if directive[:1] != b"%" or directive == b"%%":
            if text[position : position + 1] != directive[:1]:
                break
            position += 1
            continue
        found = _scan_one(match, text, position)
        if found is None:
            at_end = not text[position:].strip() and not stores
            return Scanned(tuple(stores), -1 if at_end else len(stores), position)
        type_, value, position = found
        if not match[1]:
            stores.append((type_, value))
    return Scanned(tuple(stores), len(stores), position)


def _scan_one(match: re.Match[bytes], text: bytes, position: int) -> tuple[IrType, Data | bytes, int] | None:
    kind = match[4].decode()
    length = (match[3] or b"").decode()
    if kind == "c":
        if position >= len(text):
            return None
        return parse_type("i8"), text[position], position + 1
    while text[position : position + 1].isspace():
        position += 1
    end = position + int(match[2]) if match[2] else len(text)
    pattern = {"s": _SCAN_WORD, "x": _SCAN_HEX}.get(kind)
    pattern = pattern or (_SCAN_INTEGER if kind in "diu" else _SCAN_FLOAT)
    found = pattern.match(text, position, end)
    if found is None:
        return None
    if kind == "s":
        return parse_type("i8"), found.group(), found.end()
    if kind in "diux":
        bits = _LENGTH_BITS.get(length, 32)
        value = int(found.group(), 16 if kind == "x" else 10) & ((1 << bits) - 1)
        return parse_type(f"i{bits}"), value, found.end()
    width = {"l": "double", "L": "x86_fp80"}.get(length, "float")
    return parse_type(width), float(found.group()), found.end()
