"""The field ``instructionMix`` of a profile file (Section A.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.profiles.mix import (
    DATA_INDEX,
    DATA_TYPES,
    INDEX,
    SCALAR_TYPES,
    TOTALS,
    TYPES,
    VECTOR_LENGTHS,
    Float64,
    InstructionMix,
    no_instructions,
)
from commanalyzer.profiles.numbers import given_number, objects, plain

_SUFFIX = "_instructions"
_MISC = DATA_INDEX["misc"]
_TYPED = DATA_TYPES[:_MISC]


def write_mix(mix: InstructionMix) -> dict[str, Any]:
    """Content of the field: all instructions, then each type, sums of types included."""
    result: dict[str, Any] = {"instructions_analyzed": plain(mix.instructions)}
    for name in TYPES:
        counts = mix.counts[INDEX[name]]
        if name in SCALAR_TYPES:
            result[name + _SUFFIX] = plain(counts.sum())
        else:
            result[name + _SUFFIX] = [_of_type(counts)]
    for name, types in TOTALS.items():
        result[name] = plain(mix.of(types).sum())
    return result


def _of_type(counts: Float64) -> dict[str, Any]:
    per_length = counts[:, :_MISC].sum(axis=1)
    rows = [
        {
            "vector_size": length,
            **{name: plain(v) for name, v in zip(_TYPED, counts[i], strict=False)},
            "instructions": plain(per_length[i]),
        }
        for i, length in enumerate(VECTOR_LENGTHS)
        if not i or per_length[i]
    ]
    return {
        "total_instructions": plain(counts.sum()),
        "mix": rows,
        "scalar_instructions": plain(per_length[0]),
        "vector_instructions": plain(per_length[1:].sum()),
        "misc_instructions": plain(counts[:, _MISC].sum()),
    }


def read_mix(given: Any) -> InstructionMix:
    """Mix of the field's content.

    Instructions of a type that are in no row of its mix have no type of data. If the number of all
    instructions is larger than the sum of the types, the rest is of the type ``misc_other``.

    Raises:
        TypeError: If something is of another kind.
        ValueError: If a number is negative.
        KeyError: If a field is missing.
    """
    counts = no_instructions()
    if given is None:
        return InstructionMix(counts)
    for name in TYPES:
        content = given.get(name + _SUFFIX, 0)
        if isinstance(content, dict | list):
            for each in objects(content):
                _add(counts[INDEX[name]], each)
        else:
            counts[INDEX[name], 0, _MISC] += given_number(content)
    for name, types in TOTALS.items():  # files that know the sum only
        rest = _total(given.get(name, 0)) - counts[[INDEX[t] for t in types]].sum()
        counts[INDEX[types[0]], 0, _MISC] += max(rest, 0.0)
    rest = given_number(given["instructions_analyzed"]) - counts.sum()
    if rest > 1e-9 * counts.sum():
        counts[INDEX["misc_other"], 0, _MISC] += rest
    return InstructionMix(counts)


def _total(content: Any) -> float:
    if isinstance(content, dict | list):
        return sum(given_number(each["total_instructions"]) for each in objects(content))
    return given_number(content)


def _add(counts: Float64, content: dict[str, Any]) -> None:
    total = given_number(content["total_instructions"])
    for row in objects(content.get("mix", [])):
        length = int(given_number(row["vector_size"]))
        place = min(int(np.searchsorted(VECTOR_LENGTHS, length)), len(VECTOR_LENGTHS) - 1)
        for name in _TYPED:
            counts[place, DATA_INDEX[name]] += given_number(row.get(name, 0))
    rest = total - counts.sum()
    if rest > 1e-9 * total:
        counts[0, _MISC] += rest
