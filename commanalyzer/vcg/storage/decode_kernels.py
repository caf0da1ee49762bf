"""Compiled loops that expand ranges of coded columns, straight to the type of the result.

What a block is says :mod:`.coding_kernels`. Entries are added up modulo the size of the
result's type, which is that of the column: sums that do not fit in between do no harm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place
from commanalyzer.vcg.reading.trace_kernels import find_range

_SAFE = 2.0**63 - 2.0**12  # floating-point arithmetic is off by at most 2 ** 11 there
_CACHED = 1 << 13  # entries of rounds that are written together, one entry of all of them after the other


@compiled_in_place
def _unpack(literal: Any, at: Any, count: Any, base: Any, bits: Any, low: Any, high: Any, out: Any) -> None:
    """Write entries ``low`` to ``high - 1`` of a literal block of ``count`` entries."""
    if bits >= 8:
        for i in range(high - low):
            out[i] = base
        for plane in range(bits // 8):
            shift = 8 * plane
            begin = at + plane * count + low
            for i in range(high - low):
                out[i] += np.int64(literal[begin + i]) << shift
    elif bits == 0:
        for i in range(high - low):
            out[i] = base
    else:
        per_byte = 8 // bits
        mask = (1 << bits) - 1
        for i in range(low, high):
            out[i - low] = base + ((np.int64(literal[at + i // per_byte]) >> (bits * (i % per_byte))) & mask)


@compiled_in_place
def _repeat(start: Any, stride: Any, first: Any, width: Any, low: Any, high: Any, out: Any) -> None:
    """Write entries ``low`` to ``high - 1`` of a strided block."""
    if width == 1:
        value = start[first] + low * stride[first]
        step = stride[first]
        for i in range(high - low):
            out[i] = value + i * step
        return
    i, j, k = low // width, low % width, 0
    if j > 0:  # what is left of a round
        last = min(width, j + high - low)
        for m in range(j, last):
            out[m - j] = start[first + m] + i * stride[first + m]
        i, k = i + 1, last - j
    rounds = (high - low - k) // width
    together = max(_CACHED // width, 1)
    for turn in range(0, rounds, together):
        some = min(rounds - turn, together)
        for m in range(width):
            step = stride[first + m]
            value, at = start[first + m] + (i + turn) * step, k + turn * width + m
            for t in range(some):
                out[at + t * width] = value + t * step
    for m in range(high - low - k - rounds * width):
        out[k + rounds * width + m] = start[first + m] + (i + rounds) * stride[first + m]


@compiled_in_place
def _ramp(total: Any, step: Any, out: Any) -> None:
    """Write the sums of equal entries."""
    for i in range(len(out)):
        out[i] = total + (i + 1) * step


@compiled_in_place
def _add_up(out: Any, total: Any) -> Any:
    """Turn entries into sums of all up to them, ``total`` before the first; return the last."""
    for i in range(len(out)):
        total += out[i]
        out[i] = total
    return total


@compiled_in_place
def decode(
    width: Any,
    repeat: Any,
    start: Any,
    stride: Any,
    literal: Any,
    entry_at: Any,
    start_at: Any,
    byte_at: Any,
    low: Any,
    count: Any,
    is_sum: Any,
    out: Any,
) -> None:
    """Write ranges of entries of the column to ``out``, one behind the other, or sums of all up to each.

    Args:
        width: int64[B].
        repeat: int64[B].
        start: int64[K].
        stride: int64[K].
        literal: uint8.
        entry_at: int64[B + 1], first entry of each block.
        start_at: int64[B], its first start.
        byte_at: int64[B], its first literal byte.
        low: int64[n], first entry of each range, ascending.
        count: int64[n], entries of each range.
        is_sum: Whether sums are asked for: few entries at a time are expanded and added up.
        out: Result.
    """
    at, block, total = 0, 0, np.int64(0)
    for g in range(len(low)):
        p, last = low[g], low[g] + count[g]
        if p < last and not entry_at[block] <= p < entry_at[block + 1]:
            block = find_range(p, entry_at)
        while p < last:
            if p == entry_at[block + 1]:
                block += 1
                continue
            begin, s = entry_at[block], start_at[block]
            is_equal = is_sum and width[block] == 1 and stride[s] == 0
            end = min(last, entry_at[block + 1], p + _CACHED if is_sum and not is_equal else last)
            target = out[at : at + end - p]
            if is_equal:
                _ramp(total, start[s], target)
                total += (end - p) * start[s]
            elif width[block] == 0:
                bits = stride[s]
                _unpack(
                    literal, byte_at[block], repeat[block], start[s], bits, p - begin, end - begin, target
                )
            else:
                _repeat(start, stride, s, width[block], p - begin, end - begin, target)
            if is_sum and not is_equal:
                total = _add_up(target, total)
            at += end - p
            p = end


@compiled_in_place
def _runs_over(start: Any, stride: Any, rounds: Any) -> Any:
    """Whether the last round of a pattern's entry may not be a number of 64 bits."""
    return abs(float(start) + float(rounds) * float(stride)) > _SAFE


@compiled
def bounds(
    width: Any,
    repeat: Any,
    start: Any,
    stride: Any,
    literal: Any,
    entry_at: Any,
    start_at: Any,
    byte_at: Any,
) -> Any:
    """Return whether patterns run over, and the least and greatest entry; arguments as of :func:`decode`."""
    out = np.empty(_CACHED, np.int64)
    least, most = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    for block in range(len(width)):
        s, count = start_at[block], repeat[block]
        if count == 0:
            continue
        if width[block] > 0:
            for j in range(s, s + width[block]):
                if _runs_over(start[j], stride[j], count - 1):
                    return True, least, most
                last = start[j] + (count - 1) * stride[j]
                least, most = min(least, start[j], last), max(most, start[j], last)
            continue
        for low in range(0, count if stride[s] > 0 else 1, _CACHED):
            high = min(count, low + _CACHED)
            _unpack(literal, byte_at[block], count, start[s], stride[s], low, high, out)
            for i in range(high - low):
                least, most = min(least, out[i]), max(most, out[i])
    return False, least, most
