"""Compiled loops of the column code: finding patterns, packing literals, placing blocks.

A column is a sequence of *blocks*. A strided block repeats a pattern of ``width`` entries ``repeat`` times:
entry (i, j) is ``start[j] + i * stride[j]``. A literal block has width 0 and ``repeat`` entries of ``bits``
bits each above a base: one ``start`` (the base) and one ``stride`` (the bits), the rest in ``literal``, in
planes of bytes (so that later compression finds equal bytes side by side) or, below 8 bits, packed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline

_LITERALS = 4096  # entries of a literal block at most: ranges are often narrow locally
_HEADER = 12  # bytes that a block costs beside its starts and strides
_PATIENCE, _LEAST_PATIENCE = 8, 4096  # entries looked at in vain at most: per entry, and always


@compiled_inline
def _run(x: Any, p: Any, width: Any, last: Any) -> Any:
    """Entries from ``p`` on, at most up to ``last``, that follow one pattern of ``width`` entries."""
    q = p + 2 * width
    while q < last and x[q] - x[q - width] == x[q - width] - x[q - 2 * width]:
        q += 1
    return min(q, last) - p


@compiled_in_place
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


@compiled_in_place
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


@compiled_in_place
def literal_bytes(count: Any, bits: Any) -> Any:
    """Bytes of ``count`` literals of ``bits`` bits."""
    return count * (bits // 8) if bits >= 8 else (count * bits + 7) // 8


@compiled_inline
def _best_pattern(x: Any, p: Any, n: Any, hints: Any, hint: Any, entry_bytes: Any, wasted: Any) -> Any:
    """Return the pattern at ``p`` that saves most and ends before ``n``, and what is left to try.

    That is: bytes saved (none if not positive), width, repetitions; hints seen and entries looked at in vain.
    """
    at, lag = hints
    seen = _run(x, p, 1, n)
    best = (seen - 2) * entry_bytes - _HEADER
    width, repeat = 1, seen
    while hint < len(at) and at[hint] <= p:
        w = lag[hint] if at[hint] == p else 0
        hint += 1
        if w < 2 or p + 3 * w > n or wasted > _PATIENCE * (p + w) + _LEAST_PATIENCE:
            continue
        seen = _run(x, p, w, n)
        if seen < 3 * w:
            wasted += seen - 2 * w
            continue
        gain = (seen // w - 2) * w * entry_bytes - _HEADER
        if gain > best:
            best, width, repeat = gain, w, seen // w
        else:
            wasted += seen - 2 * w
    return best, width, repeat, hint, wasted


@compiled_inline
def _next_run(x: Any, p: Any, limit: Any, n: Any, least: Any) -> Any:
    """First entry before ``limit`` at which one stride goes on for ``least`` entries, ``limit`` if none."""
    while p < limit:
        if x[p + 2] - x[p + 1] != x[p + 1] - x[p]:
            p += 1
            continue
        q = p + 3
        end = min(n, p + least)
        while q < end and x[q] - x[q - 1] == x[q - 1] - x[q - 2]:
            q += 1
        if q - p >= least:
            return p
        p = q - 1  # what begins before it ends there, too
    return min(p, limit)


@compiled_inline
def _next_candidate(x: Any, p: Any, stop: Any, n: Any, hints: Any, hint: Any, least: Any, wasted: Any) -> Any:
    """Where the next pattern that ends before ``n`` may begin, from ``p`` on; ``stop`` for none before it.

    A pattern goes on for a third time: its first two entries say in most cases that there is none. Return the
    hints seen and the entries looked at in vain, too.
    """
    at, lag = hints
    while p < stop:
        while hint < len(at) and at[hint] < p:
            hint += 1
        while hint < len(at) and at[hint] == p:
            w = lag[hint]
            third = p + 2 * w
            if w > 1 and third + w <= n and x[third] - x[p + w] == x[p + w] - x[p]:
                if x[third + 1] - x[p + w + 1] == x[p + w + 1] - x[p + 1]:
                    return p, hint, wasted
                wasted += wasted <= _PATIENCE * (p + w) + _LEAST_PATIENCE
            hint += 1
        if p >= n - 2:
            return stop, hint, wasted
        limit = min(stop, n - 2)
        if hint < len(at):
            limit = min(limit, at[hint])
        p = _next_run(x, p, limit, n, least)
        if p < limit:
            return p, hint, wasted
    return p, hint, wasted


@compiled_in_place
def _encode_stretch(x: Any, p: Any, n: Any, hints: Any, entry_bytes: Any, out: Any, ends: Any) -> Any:
    """Append the blocks of entries ``p`` to ``n - 1``; return ``ends`` behind them.

    These are the numbers of blocks, starts and literal bytes; hints seen, and entries looked at in vain.
    """
    width, repeat, start, stride, literal = out
    blocks, starts, size, hint, wasted = ends
    pending, least = p, 3 + _HEADER // entry_bytes
    while p < n or pending < p:
        best, w, m = 0, 0, 0
        stop = min(n, pending + _LITERALS)
        p, hint, wasted = _next_candidate(x, p, stop, n, hints, hint, least, wasted)
        if p < stop:
            best, w, m, hint, wasted = _best_pattern(x, p, n, hints, hint, entry_bytes, wasted)
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
    return blocks, starts, size, hint, wasted


@compiled_in_place
def _continues(out: Any, blocks: Any, starts: Any, given: Any, b: Any, first: Any) -> Any:
    """Block ``b`` of those that are given goes on with the pattern of the last block."""
    width, repeat, start, stride, _ = out
    _, w, _, given_start, given_stride = given
    if blocks == 0 or width[blocks - 1] != w[b]:
        return False
    last = starts - w[b]
    for j in range(w[b]):
        if given_stride[first + j] != stride[last + j]:
            return False
        if given_start[first + j] != start[last + j] + repeat[blocks - 1] * stride[last + j]:
            return False
    return True


@compiled_in_place
def _goes_on(x: Any, p: Any, n: Any, out: Any, blocks: Any, starts: Any) -> Any:
    """Entries from ``p`` on, at most up to ``n``, that go on with the last block, if its width is 1."""
    width, repeat, start, stride, _ = out
    if blocks == 0 or width[blocks - 1] != 1:
        return 0
    q = p
    while q < n and x[q] == start[starts - 1] + (repeat[blocks - 1] + q - p) * stride[starts - 1]:
        q += 1
    return q - p


@compiled_in_place
def encode(x: Any, hints: Any, given: Any, entry_bytes: Any, out: Any) -> Any:
    """Fill the tables of blocks; return numbers of blocks, of starts and of literal bytes.

    Args:
        x: int64[n].
        hints: Entries at which patterns may begin, increasing, and their widths; several for one entry may be
            given. Patterns of width 1 may begin anywhere.
        given: Blocks that are known, between the entries of ``x``: how many of these are before each
            (increasing), width, repetitions; and starts and strides of all.
        entry_bytes: Bytes that a literal entry costs about.
        out: Results: width and repetitions of blocks, starts, strides, literals; with room for n + 1 and
            those that are given, 8 n + 8 for literals.
    """
    width, repeat, start, stride, _ = out
    before, given_width, given_repeat, given_start, given_stride = given
    ends = (0, 0, 0, 0, 0)
    p, first = 0, 0
    for b in range(len(before) + 1):
        n = before[b] if b < len(before) else len(x)
        if b > 0:
            seen = _goes_on(x, p, n, out, ends[0], ends[1])
            repeat[ends[0] - 1] += seen
            p += seen
        ends = _encode_stretch(x, p, n, hints, entry_bytes, out, ends)
        p = n
        if b == len(before):
            break
        blocks, starts, size, hint, wasted = ends
        w = given_width[b]
        if _continues(out, blocks, starts, given, b, first):
            repeat[blocks - 1] += given_repeat[b]
        else:
            width[blocks], repeat[blocks] = w, given_repeat[b]
            for j in range(first, first + w):
                start[starts], stride[starts] = given_start[j], given_stride[j]
                starts += 1
            blocks += 1
        first += w
        ends = (blocks, starts, size, hint, wasted)
    return ends[0], ends[1], ends[2]


@compiled_in_place
def place_blocks(
    width: Any, repeat: Any, stride: Any, length: Any, entry_at: Any, start_at: Any, byte_at: Any
) -> Any:
    """Fill the positions of blocks as they are decoded by; return starts and literal bytes needed.

    A table that needs more starts than there are, has blocks of more entries than the ``length`` of the
    column, or literals of other sizes than are written, is left early and returns -1 for both.
    """
    starts, size = 0, 0
    entry_at[0] = 0
    for block in range(len(width)):
        if starts >= len(stride) or not 0 <= width[block] <= len(stride):
            return -1, -1
        if not 0 <= repeat[block] <= length // max(width[block], 1):
            return -1, -1
        start_at[block], byte_at[block] = starts, size
        if width[block] == 0:
            bits = stride[starts]
            if not 0 <= bits <= 64 or (bits & 7 and bits not in (1, 2, 4)):
                return -1, -1
            size += literal_bytes(repeat[block], stride[starts])
            starts += 1
            entry_at[block + 1] = entry_at[block] + repeat[block]
        else:
            starts += width[block]
            entry_at[block + 1] = entry_at[block] + repeat[block] * width[block]
    return starts, size
