"""Words of the accesses of a run: which write each read got its value from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.kernels.tasks.accesses.observer import AccessLog, Bools, Ints


@dataclass(frozen=True, slots=True)
class Words:
    """Accesses cut into words: of each object the largest unit that fits all its accesses.

    Attributes:
        access: Index of the access, per word.
        word: Number of the word, unique in the run.
        bytes: Its size.
        is_write: Per word.
        source: Per word that is read: position of the word of the last write; -1 if there is none.
    """

    access: Ints
    word: Ints
    bytes: Ints
    is_write: Bools
    source: Ints


def words_of(log: AccessLog) -> Words:
    """Cut accesses into words and find their sources."""
    start = np.array([o.start for o in log.objects], np.int64)
    extent = np.array([o.size_bytes for o in log.objects], np.int64)
    offset = log.address - start[log.object]
    unit = np.zeros(len(start), np.int64)
    np.gcd.at(unit, log.object, log.size)
    np.gcd.at(unit, log.object, offset)
    unit = np.maximum(unit, 1)
    first_word = np.concatenate(([0], np.cumsum(-(-extent // unit))))
    of_access = unit[log.object]
    counts = log.size // of_access
    access = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(access)) - np.repeat(np.cumsum(counts) - counts, counts)
    word = (first_word[log.object] + offset // of_access)[access] + within
    is_write = log.is_write[access]
    return Words(access, word, of_access[access], is_write, last_writes(word, is_write))


def last_writes(word: Ints, is_write: Bools) -> Ints:
    """Per read the position of the last write of its word before it; -1 for none, and for writes."""
    order = np.argsort(word, kind="stable")
    ranks = np.arange(len(word))
    last = np.maximum.accumulate(np.where(is_write[order], ranks, -1)) if len(word) else ranks
    found = np.where(last >= 0, order[last], -1)
    is_same = (found >= 0) & (word[found] == word[order])
    source = np.full(len(word), -1, np.int64)
    source[order] = np.where(is_same & ~is_write[order], found, -1)
    return source
