"""Compiled loops of the column code: finding patterns, packing literals, decoding ranges.

A column is a sequence of *blocks*. A strided block repeats a pattern of ``width`` entries ``repeat`` times:
entry (i, j) is ``start[j] + i * stride[j]``. A literal block has width 0 and ``repeat`` entries of ``bits``
bits each above a base: one ``start`` (the base) and one ``stride`` (the bits), the rest in ``literal``, in
planes of bytes (so that later compression finds equal bytes side by side) or, below 8 bits, packed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.compiled import compiled

_TABLE = 4096  # keys remembered; a collision costs a hint, nothing else
_LITERALS = 4096  # entries of a literal block at most: ranges are often narrow locally
_HEADER = 12  # bytes that a block costs beside its starts and strides
_PATIENCE = 8  # entries looked at in vain per entry, at most


@compiled
def find_periods(key: Any, end: Any, at: Any, lag: Any) -> Any:
    """Fill ``at`` and ``lag`` with the items that come again, and how many entries later; return how many.

    Args:
        key: int64[n], what kind of item it is; items with the same key are expected to alternate regularly.
        end: int64[n], entries up to the end of each item.
        at: int64[n], result: first entry of the item.
        lag: int64[n], result: entries from it to the next item with its key.
    """
    n = len(key)
    seen = np.full(_TABLE, -1, np.int64)
    found = n
    for item in range(n - 1, -1, -1):
        slot = ((key[item] * -7046029254386353131) >> 40) & (_TABLE - 1)
        next_item = seen[slot]
        seen[slot] = item
        if next_item < 0 or key[next_item] != key[item]:
            continue
        begin = end[item - 1] if item else 0
        found -= 1
        at[found] = begin
        lag[found] = end[next_item - 1] - begin
    count = n - found
    at[:count] = at[found:].copy()
    lag[:count] = lag[found:].copy()
    return count


@compiled
def _run(x: Any, p: Any, width: Any, last: Any) -> Any:
    """Entries from ``p`` on, at most up to ``last``, that follow one pattern of ``width`` entries."""
    q = p + 2 * width
    while q < last and x[q] - x[q - width] == x[q - width] - x[q - 2 * width]:
        q += 1
    return min(q, last) - p


@compiled
def _bits(x: Any, first: Any, last: Any) -> Any:
    """Smallest entry of a stretch, and bits per entry above it."""
    low = x[first]
    high = low
    for i in range(first + 1, last):
        low = min(low, x[i])
        high = max(high, x[i])
    span = high - low
    if span < 0:
        return np.int64(0), 64  # the difference does not fit
    for bits in (0, 1, 2, 4, 8, 16, 24, 32, 40, 48, 56):
        if span >> bits == 0:
            return low, bits
    return low, 64


@compiled
def _pack(x: Any, first: Any, last: Any, base: Any, bits: Any, literal: Any, at: Any) -> Any:
    """Write entries into ``literal`` from byte ``at`` on; return the end."""
    count = last - first
    if bits >= 8:
        for plane in range(bits // 8):
            for i in range(count):
                literal[at + plane * count + i] = ((x[first + i] - base) >> (8 * plane)) & 255
        return at + count * (bits // 8)
    if bits == 0:
        return at
    per_byte = 8 // bits
    size = (count + per_byte - 1) // per_byte
    literal[at : at + size] = 0
    for i in range(count):
        literal[at + i // per_byte] |= (x[first + i] - base) << (bits * (i % per_byte))
    return at + size


@compiled
def literal_bytes(count: Any, bits: Any) -> Any:
    """Bytes of ``count`` literals of ``bits`` bits."""
    return count * (bits // 8) if bits >= 8 else (count * bits + 7) // 8


@compiled
def _best_pattern(x: Any, p: Any, at: Any, lag: Any, hint: Any, entry_bytes: Any, wasted: Any) -> Any:
    """Return the pattern at ``p`` that saves most, and what is left to try.

    That is: bytes saved (none if not positive), width, repetitions; hints seen and entries looked at in vain.
    """
    n = len(x)
    seen = _run(x, p, 1, n)
    best = (seen - 2) * entry_bytes - _HEADER
    width, repeat = 1, seen
    while hint < len(at) and at[hint] <= p:
        w = lag[hint] if at[hint] == p else 0
        hint += 1
        if w < 2 or p + 3 * w > n or wasted > _PATIENCE * (p + w) + _TABLE:
            continue
        seen = _run(x, p, w, n)
        gain = (seen // w - 2) * w * entry_bytes - _HEADER
        if gain > best:
            best, width, repeat = gain, w, seen // w
        else:
            wasted += seen - 2 * w
    return best, width, repeat, hint, wasted


@compiled
def encode(
    x: Any,
    at: Any,
    lag: Any,
    entry_bytes: Any,
    width: Any,
    repeat: Any,
    start: Any,
    stride: Any,
    literal: Any,
) -> Any:
    """Fill the tables of blocks; return numbers of blocks, of starts and of literal bytes.

    Args:
        x: int64[n].
        at: int64, increasing: entries at which patterns may begin; one of width 1 may begin anywhere.
        lag: int64, width of that pattern; several for one entry may be given.
        entry_bytes: Bytes that a literal entry costs about.
        width: int64[n + 1], result, per block.
        repeat: int64[n + 1], result, per block.
        start: int64[n + 1], result.
        stride: int64[n + 1], result.
        literal: uint8[8 * n + 8], result.
    """
    n = len(x)
    blocks, starts, size = 0, 0, 0
    p, pending, hint, wasted = 0, 0, 0, 0
    while p < n or pending < p:
        best, w, m = 0, 0, 0
        if p < n:
            best, w, m, hint, wasted = _best_pattern(x, p, at, lag, hint, entry_bytes, wasted)
            p += best <= 0
        if pending < p and (best > 0 or p == n or p - pending == _LITERALS):
            width[blocks], repeat[blocks] = 0, p - pending
            start[starts], stride[starts] = _bits(x, pending, p)
            size = _pack(x, pending, p, start[starts], stride[starts], literal, size)
            blocks += 1
            starts += 1
            pending = p
        if best > 0:
            width[blocks], repeat[blocks] = w, m
            for j in range(p, p + w):
                start[starts], stride[starts] = x[j], x[j + w] - x[j]
                starts += 1
            blocks += 1
            p += w * m
            pending = p
    return blocks, starts, size


@compiled
def _unpack(literal: Any, at: Any, count: Any, base: Any, bits: Any, low: Any, high: Any, out: Any) -> None:
    """Write entries ``low`` to ``high - 1`` of a literal block of ``count`` entries."""
    if bits >= 8:
        for i in range(low, high):
            out[i - low] = base
        for plane in range(bits // 8):
            shift = 8 * plane
            begin = at + plane * count
            for i in range(low, high):
                out[i - low] += np.int64(literal[begin + i]) << shift
    elif bits == 0:
        for i in range(low, high):
            out[i - low] = base
    else:
        per_byte = 8 // bits
        mask = (1 << bits) - 1
        for i in range(low, high):
            out[i - low] = base + ((np.int64(literal[at + i // per_byte]) >> (bits * (i % per_byte))) & mask)


@compiled
def _repeat(start: Any, stride: Any, first: Any, width: Any, low: Any, high: Any, out: Any) -> None:
    """Write entries ``low`` to ``high - 1`` of a strided block."""
    if width == 1:
        value = start[first] + low * stride[first]
        step = stride[first]
        for i in range(high - low):
            out[i] = value + i * step
        return
    i, j = low // width, low % width
    for k in range(high - low):
        out[k] = start[first + j] + i * stride[first + j]
        j += 1
        if j == width:
            i, j = i + 1, 0


@compiled
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
    high: Any,
    out: Any,
) -> None:
    """Write entries ``low`` to ``high - 1`` of the column to ``out``.

    Args:
        width: int64[B].
        repeat: int64[B].
        start: int64[K].
        stride: int64[K].
        literal: uint8.
        entry_at: int64[B + 1], first entry of each block.
        start_at: int64[B], its first start.
        byte_at: int64[B], its first literal byte.
        low: First entry.
        high: Entry behind the last one.
        out: int64[high - low], result.
    """
    if high <= low:
        return
    block = np.searchsorted(entry_at, low, side="right") - 1
    while low < high:
        end = min(high, entry_at[block + 1])
        first, last = low - entry_at[block], end - entry_at[block]
        target = out[len(out) - (high - low) : len(out) - (high - end)]
        s = start_at[block]
        if width[block] == 0:
            count, bits = repeat[block], stride[s]
            _unpack(literal, byte_at[block], count, start[s], bits, first, last, target)
        else:
            _repeat(start, stride, s, width[block], first, last, target)
        low = end
        block += 1


@compiled
def place_blocks(width: Any, repeat: Any, stride: Any, entry_at: Any, start_at: Any, byte_at: Any) -> Any:
    """Fill the positions of blocks as :func:`decode` wants them; return starts and literal bytes needed.

    A table that needs more starts than there are is left early and returns -1 for both.
    """
    starts, size = 0, 0
    entry_at[0] = 0
    for block in range(len(width)):
        if starts >= len(stride) or width[block] < 0 or repeat[block] < 0:
            return -1, -1
        start_at[block], byte_at[block] = starts, size
        if width[block] == 0:
            if stride[starts] < 0 or stride[starts] > 64:
                return -1, -1
            size += literal_bytes(repeat[block], stride[starts])
            starts += 1
            entry_at[block + 1] = entry_at[block] + repeat[block]
        else:
            starts += width[block]
            entry_at[block + 1] = entry_at[block] + repeat[block] * width[block]
    return starts, size
