"""Compiled sort of 64-bit keys, digit by digit.

A key is two numbers below 2^31, one in each half: digits of 11 bits of one half and of the other (the highest
of a half has 10). Digits that are the same in all keys, which is most of them, cost nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled

_DIGITS = 6
_BUCKETS = 1 << 11
_FEW = 4096  # keys that are not worth the tables of digits


@compiled
def _shift(digit: Any) -> Any:
    """Return the lowest bit of a digit."""
    return 32 * (digit // 3) + 11 * (digit % 3)


@compiled
def _count_digits(keys: Any) -> Any:
    """Return int64[digits, buckets], keys with each digit."""
    count = np.zeros((_DIGITS, _BUCKETS), np.int64)
    for i in range(len(keys)):
        key = keys[i]
        for digit in range(_DIGITS):
            count[digit, (key >> _shift(digit)) & (_BUCKETS - 1)] += 1
    return count


@compiled
def sort_keys(keys: Any) -> Any:
    """Return non-negative ``keys`` in ascending order, sorted in place or in a new array."""
    if len(keys) < _FEW:
        keys.sort()
        return keys
    count = _count_digits(keys)
    other = np.empty(0, np.int64)
    for digit in range(_DIGITS):
        shift, place = _shift(digit), np.zeros(_BUCKETS, np.int64)
        for bucket in range(1, _BUCKETS):
            place[bucket] = place[bucket - 1] + count[digit, bucket - 1]
        if count[digit].max() == len(keys):
            continue
        if len(other) < len(keys):
            other = np.empty(len(keys), np.int64)
        for i in range(len(keys)):
            bucket = (keys[i] >> shift) & (_BUCKETS - 1)
            other[place[bucket]] = keys[i]
            place[bucket] += 1
        keys, other = other, keys
    return keys


@compiled
def drop_repeated(keys: Any) -> Any:
    """Move the distinct values of sorted ``keys`` to the front; return how many there are."""
    n = 0
    for i in range(len(keys)):
        if n == 0 or keys[n - 1] != keys[i]:
            keys[n] = keys[i]
            n += 1
    return n
