"""What C library functions compute and write; label rules are in :mod:`.external`.

printf and scanf formats.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.program.ir.constants import signed
from commanalyzer.program.ir.model import IrType
from commanalyzer.program.ir.types import parse_type
from commanalyzer.recording.interpreter.instructions.arithmetic import FUNCTIONS, base_name, evaluate
from commanalyzer.recording.interpreter.memory import STREAMS, Memory
from commanalyzer.recording.interpreter.values import Data, as_float, as_int, encode, long_double

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


_INTEGER = re.compile(rb"\s*([-+]?)(0[xX])?([0-9a-zA-Z]*)")
_FLOAT = re.compile(rb"\s*([-+]?(?:inf(?:inity)?|nan|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?))", re.IGNORECASE)
_EOF = -1
_RAND_MAX = 2**31 - 1


class Library:
    """Library functions of the interpreted program.

    ``assigned`` is what scanf has assigned: address, bytes, and whether it is a number; ``stdout`` and
    ``stderr`` what the program wrote there.
    """

    def __init__(self, memory: Memory, stdin: bytes) -> None:
        self._memory = memory
        self._stdin = stdin
        self._position = 0
        self._random = 1
        self._errno = 0
        self.assigned: list[tuple[int, bytes, bool]] = []
        self.stdout = bytearray()
        self.stderr = bytearray()

    def function(self, name: str) -> Callable[[Sequence[Data]], Data] | None:
        """Return the implementation of ``name``, ``None`` if there is none."""
        base, _ = base_name(name)
        if base in FUNCTIONS and name not in _TABLE:
            return lambda data: evaluate(base, *(as_float(d) for d in data))
        method = _TABLE.get(name.removeprefix("__isoc99_").removeprefix("__isoc23_"))
        if method is None:
            return None
        return lambda data: method(self, data)

    def stream(self, handle: int) -> bytearray:
        """Return the bytes written to a stream so far."""
        return self.stderr if handle == STREAMS["@stderr"] else self.stdout

    def _string(self, address: int) -> bytes:
        return self._memory.read_string(address)

    def _write(self, target: bytearray, data: Sequence[Data], template: int) -> int:
        text = format_printf(self._string(as_int(data[template])), data[template + 1 :], self._string)
        target += text
        return len(text)

    def _print_to(self, data: Sequence[Data], template: int) -> int:
        """Print to memory; in front of the template, a number of bytes may limit what is written."""
        text = bytearray()
        self._write(text, data, template)
        room = as_int(data[1]) if template == 2 else len(text) + 1
        if room:
            self._memory.write(as_int(data[0]), bytes(text[: room - 1]) + b"\0")
        return len(text)

    def _put_text(self, stream: bytearray, text: Data, end: bytes = b"") -> Data:
        stream += self._string(as_int(text)) + end
        return 1

    def _put_character(self, stream: bytearray, character: Data) -> Data:
        stream.append(as_int(character) & 0xFF)
        return stream[-1]

    def _fwrite(self, data: Sequence[Data]) -> Data:
        address, size, count, handle = (as_int(d) for d in data)
        if size * count:
            self.stream(handle).extend(self._memory.read(address, size * count))
        return count

    def _take(self, count: int) -> bytes:
        taken = self._stdin[self._position : self._position + count]
        self._position += len(taken)
        return taken

    def _getchar(self, data: Sequence[Data]) -> Data:
        taken = self._take(1)
        return taken[0] if taken else _EOF

    def _fgets(self, data: Sequence[Data]) -> Data:
        address, room = as_int(data[0]), as_int(data[1])
        end = self._stdin.find(b"\n", self._position)
        line = self._take(min(room - 1, (len(self._stdin) if end < 0 else end + 1) - self._position))
        if not line:
            return 0
        self._memory.write(address, line + b"\0")
        return address

    def _fread(self, data: Sequence[Data]) -> Data:
        address, size, count = (as_int(d) for d in data[:3])
        taken = self._take(size * count)
        if taken:
            self._memory.write(address, taken)
        return len(taken) // size if size else 0

    def _scan(self, data: Sequence[Data], template: int, text: bytes | None = None) -> int:
        """Write what is scanned (of the input, without ``text``) and note it; its labels the caller knows."""
        where = self._stdin[self._position :] if text is None else text
        scanned = scan(self._string(as_int(data[template])), where)
        self._position += scanned.consumed if text is None else 0
        for (type_, value), target in zip(scanned.stores, data[template + 1 :], strict=False):
            image = value + b"\0" if isinstance(value, bytes) else encode(type_, value)
            self._memory.write(as_int(target), image)
            self.assigned.append((as_int(target), image, not isinstance(value, bytes)))
        return scanned.assigned

    def _parse_integer(self, data: Sequence[Data]) -> Data:
        text = self._string(as_int(data[0]))
        value, length = _parse_integer(text, as_int(data[2]) if len(data) > 2 else 10)
        self._set_end(data, length)
        return value

    def _parse_float(self, data: Sequence[Data]) -> Data:
        match = _FLOAT.match(self._string(as_int(data[0])))
        self._set_end(data, match.end() if match else 0)
        return float(match[1]) if match else 0.0

    def _set_end(self, data: Sequence[Data], length: int) -> None:
        if len(data) > 1 and data[1]:
            self._memory.write(as_int(data[1]), (as_int(data[0]) + length).to_bytes(8, "little"))

    def _strcmp(self, data: Sequence[Data]) -> Data:
        a, b = (self._string(as_int(d)) for d in data[:2])
        if len(data) > 2:
            a, b = a[: as_int(data[2])], b[: as_int(data[2])]
        return (a > b) - (a < b)

    def _memcmp(self, data: Sequence[Data]) -> Data:
        size = as_int(data[2])
        if not size:
            return 0
        a, b = (self._memory.read(as_int(d), size) for d in data[:2])
        return (a > b) - (a < b)

    def _strchr(self, data: Sequence[Data]) -> Data:
        text = self._string(as_int(data[0])) + b"\0"
        index = text.find(as_int(data[1]) & 0xFF)
        return as_int(data[0]) + index if index >= 0 else 0

    def _strcpy(self, data: Sequence[Data], kept: int = 0) -> Data:
        self._memory.write(as_int(data[0]) + kept, self._string(as_int(data[1])) + b"\0")
        return data[0]

    def _rand(self, data: Sequence[Data]) -> Data:
        self._random = (self._random * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        return self._random >> 33

    def _srand(self, data: Sequence[Data]) -> Data:
        self._random = as_int(data[0])
        return 0

    def _time(self, data: Sequence[Data]) -> Data:
        now = int(time.time())
        if data[0]:
            self._memory.write(as_int(data[0]), now.to_bytes(8, "little"))
        return now

    def _now(self, address: int, parts: int) -> int:
        seconds, nanoseconds = divmod(time.time_ns(), 10**9)
        fraction = nanoseconds * parts // 10**9
        self._memory.write(address, seconds.to_bytes(8, "little") + fraction.to_bytes(8, "little"))
        return 0

    def _errno_location(self, data: Sequence[Data]) -> Data:
        if not self._errno:
            self._errno = self._memory.add_global("errno", 4).base
        return self._errno


def _parse_integer(text: bytes, base: int) -> tuple[int, int]:
    """Return the number at the start of ``text`` and how many bytes it takes, as strtol does."""
    match = _INTEGER.match(text)
    assert match is not None
    sign, prefix, body = match.groups()
    if prefix and base not in (0, 16):
        body, prefix = b"0", None
    base = base or (16 if prefix else 8 if body[:1] == b"0" else 10)
    digits = 0
    while digits < len(body) and int(body[digits : digits + 1], 36) < base:
        digits += 1
    if not digits:
        return 0, 0
    value = int(body[:digits], base)
    return (-value if sign == b"-" else value), match.start(3) + digits


_TABLE: dict[str, Callable[[Library, Sequence[Data]], Data]] = {
    "printf": lambda library, data: library._write(library.stdout, data, 0),
    "fprintf": lambda library, data: library._write(library.stream(as_int(data[0])), data, 1),
    "sprintf": lambda library, data: library._print_to(data, 1),
    "snprintf": lambda library, data: library._print_to(data, 2),
    "puts": lambda library, data: library._put_text(library.stdout, data[0], b"\n"),
    "putchar": lambda library, data: library._put_character(library.stdout, data[0]),
    **dict.fromkeys(
        ("fputc", "putc", "_IO_putc"),
        lambda library, data: library._put_character(library.stream(as_int(data[1])), data[0]),
    ),
    "fputs": lambda library, data: library._put_text(library.stream(as_int(data[1])), data[0]),
    "fwrite": Library._fwrite,
    **dict.fromkeys(("getchar", "fgetc", "getc", "_IO_getc"), Library._getchar),
    "fgets": Library._fgets,
    "fread": Library._fread,
    "scanf": lambda library, data: library._scan(data, 0),
    "fscanf": lambda library, data: library._scan(data, 1),
    "sscanf": lambda library, data: library._scan(data, 1, library._string(as_int(data[0]))),
    **dict.fromkeys(("atoi", "atol", "atoll", "strtol", "strtoll"), Library._parse_integer),
    **dict.fromkeys(("strtoul", "strtoull"), Library._parse_integer),
    **dict.fromkeys(("atof", "strtod", "strtof", "strtold"), Library._parse_float),
    "strlen": lambda library, data: len(library._string(as_int(data[0]))),
    **dict.fromkeys(("strcmp", "strncmp"), Library._strcmp),
    **dict.fromkeys(("memcmp", "bcmp"), Library._memcmp),
    "strchr": Library._strchr,
    "strcpy": Library._strcpy,
    "strcat": lambda library, data: library._strcpy(data, len(library._string(as_int(data[0])))),
    **dict.fromkeys(("rand", "random", "lrand48"), Library._rand),
    "drand48": lambda library, data: as_int(library._rand(data)) / (_RAND_MAX + 1),
    **dict.fromkeys(("srand", "srandom", "srand48"), Library._srand),
    "time": Library._time,
    "clock": lambda library, data: int(time.process_time() * 1e6),
    "clock_gettime": lambda library, data: library._now(as_int(data[1]), 10**9),
    "gettimeofday": lambda library, data: library._now(as_int(data[0]), 10**6),
    **dict.fromkeys(("cabs", "cabsf"), lambda _, data: math.hypot(as_float(data[0]), as_float(data[1]))),
    "abs": lambda library, data: abs(signed(as_int(data[0]), 32)),
    **dict.fromkeys(("labs", "llabs"), lambda _, data: abs(signed(as_int(data[0]), 64))),
    **dict.fromkeys(
        ("ldexp", "scalbn", "ldexpf", "scalbnf"),
        lambda _, data: math.ldexp(as_float(data[0]), signed(as_int(data[1]) & 0xFFFFFFFF, 32)),
    ),
    **dict.fromkeys(
        ("lround", "llround", "lroundf", "llroundf"),
        lambda _, data: int(FUNCTIONS["round"](as_float(data[0]))),
    ),
    **dict.fromkeys(
        ("lrint", "llrint", "lrintf", "llrintf"), lambda _, data: int(FUNCTIONS["rint"](as_float(data[0])))
    ),
    "__errno_location": Library._errno_location,
    **dict.fromkeys(("fflush", "setvbuf", "setbuf", "__cxa_guard_release"), lambda _, data: 0),
}
