"""Quantities with units: distinct types, parsing of user input, formatting for people.

Bits and bytes cannot be confused: a symbol that could mean either (``Gb``, ``gb``) is refused, bits are
written ``Gbit``. Prefixes are decimal (``k`` = 1000); binary ones are written ``KiB``, ``MiB``, ... What is
no number, negative, of another unit or unclear ends with a :class:`MachineModelError`.
"""

from __future__ import annotations

import math
import re
from typing import NewType

from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.foundation.work import WorkUnit

Bytes = NewType("Bytes", float)
Seconds = NewType("Seconds", float)
Flop = NewType("Flop", float)
BytesPerSecond = NewType("BytesPerSecond", float)
FlopPerSecond = NewType("FlopPerSecond", float)
Dimensionless = NewType("Dimensionless", float)

_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*$")
_BITS_OR_BYTES = re.compile(r"[kKMGTPkmgtp]i?b|b|[mgtp]i?B")


def parse_bytes(text: str) -> Bytes:
    """Bytes written as ``8GB``, ``512 MiB``, ``64kB`` or a bare number of bytes."""
    number, unit = _split(text, "a size such as 8GB or 512MiB")
    return Bytes(number * _data_factor(unit, text))


def parse_bandwidth(text: str) -> BytesPerSecond:
    """Bytes per second written as ``12.5GB/s`` or ``100Gbit/s``; a bare number could be bits or bytes."""
    number, unit = _split(text, "a bandwidth such as 12.5GB/s or 100Gbit/s")
    if not unit:
        raise _wrong_unit(unit, text, "bytes or bits per second, such as 12.5GB/s or 100Gbit/s")
    if unit.endswith("bps"):
        raise _ambiguous(unit, text)
    if not unit.endswith("/s"):
        raise _wrong_unit(unit, text, "a unit per second such as GB/s or Gbit/s")
    return BytesPerSecond(number * _data_factor(unit.removesuffix("/s"), text))


def parse_throughput(text: str) -> FlopPerSecond:
    """Operations per second: ``3.2GFlop/s``, ``3.2 GFLOPS``, ``3.2GOp/s`` or a bare number."""
    number, unit = _split(text, "a throughput such as 3.2GFlop/s")
    match = re.fullmatch(r"([kKMGTPE]?)(?:[Ff]lops?/s|FLOPS?/s|FLOPS|[Ff]lops|[Oo]ps?/s)", unit)
    if unit and match is None:
        raise _wrong_unit(unit, text, "Flop/s or Op/s with a prefix, such as GFlop/s")
    return FlopPerSecond(number * _DECIMAL[match.group(1) if match else ""])


def parse_seconds(text: str) -> Seconds:
    """Seconds written as ``50us``, ``2 min``, ``1h`` or a bare number of seconds."""
    number, unit = _split(text, "a time such as 50us or 2min")
    if unit and unit not in _TIME:
        raise _wrong_unit(unit, text, f"one of {', '.join(_TIME)}")
    return Seconds(float(f"{number * _TIME[unit or 's']:.15g}"))  # 5us is 5e-06, not 4.9999999999999996e-06


def parse_fraction(text: str) -> Dimensionless:
    """A fraction written as ``0.57`` or ``57%``."""
    number, unit = _split(text, "a fraction such as 0.57 or 57%")
    if unit not in ("", "%"):
        raise _wrong_unit(unit, text, "% or nothing")
    return Dimensionless(number / 100.0 if unit else number)


def format_bytes(value: float) -> str:
    """``1.23 MB``: decimal prefix, three significant digits."""
    return _with_prefix(value, "B")


def format_bandwidth(value: float) -> str:
    """``12.5 GB/s``."""
    return _with_prefix(value, "B/s")


def format_throughput(value: float, unit: WorkUnit = "flop") -> str:
    """``3.2 GFlop/s``, ``3.2 GOp/s``."""
    return f"{format_work(value, unit)}/s"


def format_work(value: float, unit: WorkUnit) -> str:
    """``3.2 GFlop``, ``3.2 GOp``."""
    return _with_prefix(value, unit.capitalize())


def format_count(value: float) -> str:
    """A count: in full below 10000, otherwise with a decimal prefix (``1.23 M``)."""
    return f"{value:,.0f}" if abs(value) < 10_000 else _with_prefix(value, "").rstrip()


def format_seconds(value: float) -> str:
    """``12.3 ms``, ``45.1 s``, ``3 min 20 s``."""
    if value >= 120.0:
        minutes, seconds = divmod(round(value), 60)
        return f"{minutes} min {seconds} s"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns" if value > 0 else "0 s"


def format_percent(value: float) -> str:
    """``87.3 %``."""
    return f"{100.0 * value:.1f} %"


def _split(text: str, expected: str) -> tuple[float, str]:
    match = _NUMBER.match(text)
    if match is None:
        raise MachineModelError(f"expected {expected}, found {text!r}")
    number = float(match.group(1))
    if not math.isfinite(number) or number < 0:
        raise MachineModelError(f"expected {expected}, not negative and finite, found {text!r}")
    return number, match.group(2)


def _data_factor(unit: str, text: str) -> float:
    """Bytes per unit of data."""
    if not unit:
        return 1.0
    if _BITS_OR_BYTES.fullmatch(unit):
        raise _ambiguous(unit, text)
    match = re.fullmatch(r"([KMGTP]i|[kKMGTPE]?)(B|bytes?|bits?)", unit)
    if match is None:
        raise _wrong_unit(unit, text, "bytes (kB, MB, GB, MiB, ...) or bits (Mbit, Gbit, ...)")
    prefix, base = match.groups()
    return (_BINARY[prefix] if prefix in _BINARY else _DECIMAL[prefix]) / (8.0 if base[:3] == "bit" else 1.0)


def _ambiguous(unit: str, text: str) -> MachineModelError:
    prefix = unit[:-3].upper() if unit.endswith("bps") else unit[:-1].upper().replace("I", "i")
    return MachineModelError(
        f"expected bits or bytes to be clear, found {unit!r} in {text!r}",
        hint=f"write {prefix}B for bytes or {prefix}bit for bits",
    )


def _wrong_unit(unit: str, text: str, expected: str) -> MachineModelError:
    return MachineModelError(f"expected {expected}, found unit {unit!r} in {text!r}")


def _with_prefix(value: float, unit: str) -> str:
    for prefix in ("E", "P", "T", "G", "M", "k"):
        # 0.9995 so that 999.6 kB is shown as 1 MB, never as 1e+03 kB.
        if abs(value) >= 0.9995 * _DECIMAL[prefix]:
            return f"{value / _DECIMAL[prefix]:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"
