"""What C library functions compute and write; label rules are in :mod:`.external`.

printf and scanf formats.
"""

from __future__ import annotations

import ctypes
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.program.ir.constants import signed
from commanalyzer.program.ir.model import IrType
from commanalyzer.program.ir.types import parse_type, size_bytes
from commanalyzer.recording.interpreter.instructions.arithmetic import FUNCTIONS, base_name, evaluate
from commanalyzer.recording.interpreter.memory import STREAMS, Memory
from commanalyzer.recording.interpreter.values import Data, as_float, as_int, decode, encode

_CONVERSION = re.compile(
    rb"%[-+ #0']*(?P<width>\*|\d+)?(?:\.(?P<precision>\*|-?\d*))?"
    rb"(?P<length>hh|h|ll|l|j|z|t|L|q)?(?P<conversion>[diouxXeEfFgGaAcsp%])|%"
)
_SCAN = re.compile(rb"%(\*?)\d*(hh|h|ll|l|j|z|t|L)?([diuxeEfgGcs%])|\s+|[^\s%]+")
_LENGTH_BITS = {b"hh": 8, b"h": 16, b"l": 64, b"ll": 64, b"q": 64, b"j": 64, b"z": 64, b"t": 64}
_LIBC = ctypes.CDLL(None)  # the one that programs use knows the formats
_LIBC.strtod.restype = ctypes.c_double
_LIBC.strtoll.restype, _LIBC.strtoull.restype = ctypes.c_longlong, ctypes.c_ulonglong
_WIDEST_BYTES = 16
ReadString = Callable[[int], bytes]


def format_printf(template: bytes, arguments: Sequence[Data], read_string: ReadString) -> bytes:
    """Return what printf writes for a format without its terminating zero, and the arguments after it.

    ``read_string`` returns the zero-terminated string at an address. Raises UnsupportedIrError for ``%n`` and
    unknown conversions.
    """
    pending = iter(arguments)

    def printed(match: re.Match[bytes]) -> bytes:
        kind, length = match["conversion"], match["length"] or b""
        if kind is None:
            shown = template[match.start() : match.start() + 8].decode("latin-1")
            raise UnsupportedIrError(f"expected a printf conversion, found '{shown}'")
        if kind == b"%":
            return b"%"
        sizes = [ctypes.c_int(as_int(next(pending))) for n in ("width", "precision") if match[n] == b"*"]
        data = next(pending)
        argument: object
        if kind == b"s":
            argument = read_string(as_int(data)) if data else None
        elif kind in b"diouxXcp":
            argument = ctypes.c_uint64(as_int(data))
        elif length == b"L":
            argument = ctypes.c_longdouble.from_buffer_copy(np.longdouble(as_float(data)).tobytes())
        else:
            argument = ctypes.c_double(as_float(data))
        size = _LIBC.snprintf(None, ctypes.c_size_t(0), match[0], *sizes, argument)
        text = ctypes.create_string_buffer(size + 1)
        _LIBC.snprintf(text, ctypes.c_size_t(size + 1), match[0], *sizes, argument)
        return text.raw[:size]

    return _CONVERSION.sub(printed, template)


@dataclass(frozen=True, slots=True)
class Scanned:
    """Result of a scanf format.

    ``stores`` has, per assigned conversion, the type to store and the value, ``bytes`` for strings;
    ``assigned`` is their number, -1 at the end of input; ``consumed`` are the bytes of input that were used.
    """

    stores: tuple[tuple[IrType, Data | bytes], ...]
    assigned: int
    consumed: int


def scan(template: bytes, text: bytes) -> Scanned:
    """Match ``text`` against a scanf format (``d i u x e f g c s``, widths, ``*``)."""
    stores: list[tuple[IrType, Data | bytes]] = []
    position = 0
    for match in _SCAN.finditer(template):
        found, end = ctypes.create_string_buffer(len(text) - position + _WIDEST_BYTES), ctypes.c_int(-1)
        is_stored = match[3] not in (None, b"%") and not match[1]
        given = (found, ctypes.byref(end)) if is_stored else (ctypes.byref(end),)
        number = _LIBC.sscanf(text[position:], match[0] + b"%n", *given)
        if end.value < 0:
            return Scanned(tuple(stores), -1 if number < 0 and not stores else len(stores), position)
        position += end.value
        if is_stored:
            type_ = _scanned_type(match[3], match[2] or b"")
            value = found.value if match[3] == b"s" else decode(type_, found.raw[: size_bytes(type_)])
            stores.append((type_, value))
    return Scanned(tuple(stores), len(stores), position)


def _scanned_type(kind: bytes, length: bytes) -> IrType:
    if kind in b"cs":
        return parse_type("i8")
    if kind in b"diux":
        return parse_type(f"i{_LENGTH_BITS.get(length, 32)}")
    return parse_type({b"l": "double", b"L": "x86_fp80"}.get(length, "float"))


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

    def _parse(self, data: Sequence[Data], function: Callable[..., Data], *base: int) -> Data:
        """Call ``strtoll`` or ``strtod``, also for ``atoi`` and others that have no second argument."""
        text, end = ctypes.create_string_buffer(self._string(as_int(data[0]))), ctypes.c_void_p()
        value = function(text, ctypes.byref(end), *base)
        if len(data) > 1 and data[1]:
            length = (end.value or 0) - ctypes.addressof(text)
            self._memory.write(as_int(data[1]), (as_int(data[0]) + length).to_bytes(8, "little"))
        return value

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
    **dict.fromkeys(
        ("atoi", "atol", "atoll"), lambda library, data: library._parse(data[:1], _LIBC.strtoll, 10)
    ),
    **dict.fromkeys(
        ("strtol", "strtoll"), lambda library, data: library._parse(data, _LIBC.strtoll, as_int(data[2]))
    ),
    **dict.fromkeys(
        ("strtoul", "strtoull"), lambda library, data: library._parse(data, _LIBC.strtoull, as_int(data[2]))
    ),
    **dict.fromkeys(
        ("atof", "strtod", "strtof", "strtold"), lambda library, data: library._parse(data, _LIBC.strtod)
    ),
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
