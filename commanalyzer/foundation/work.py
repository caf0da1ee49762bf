"""Operations by kind, and what one of each counts for: the work W that is balanced.

Floating-point operations are counted wherever they are executed, as in the paper. Integer operations and
memory accesses count only where they serve a value (:mod:`.work`): what computes
addresses or controls loops is not work that could be divided.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields, replace
from typing import Literal

from commanalyzer.foundation.errors import ConfigError

WorkUnit = Literal["flop", "op"]

_OTHER_SHARE = 0.01
"""Share of the work below which W is in floating-point operations alone, as in the paper.

Set-up and a few counts shall not keep W from being comparable with published numbers. What bytes are related
to changes by no more than this where a program crosses it; what is balanced has no threshold at all. With
half of it or twice as much, programs with a few other operations per hundred say "op" earlier or later.
"""


@dataclass(frozen=True, slots=True)
class Operations:
    """How many operations of each kind."""

    # floating-point operations (fma: 2, a sign: 0, a vector: its lanes, library functions: a table)
    flops: int = 0
    integer: int = 0  # arithmetic and logic of integers, and comparisons (of any numbers), that serve a value
    memory: int = 0  # loads and stores that serve a value

    def __add__(self, other: Operations) -> Operations:
        """Return both together."""
        return Operations(self.flops + other.flops, self.integer + other.integer, self.memory + other.memory)

    def times(self, count: int) -> Operations:
        """Return ``count`` times these."""
        return Operations(self.flops * count, self.integer * count, self.memory * count)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.flops or self.integer or self.memory)


@dataclass(frozen=True, slots=True)
class WorkWeights:
    """What an operation of each kind counts for.

    By default an integer operation is as much as a floating-point one: additions and multiplications of both
    kinds issue at similar rates (A. Fog, Instruction tables: one to four per cycle of either on processors
    since 2013). Accesses count nothing: W is what is computed, as in the paper, and what they cost depends on
    caches. With ``int`` halved or doubled, only programs with both kinds, unevenly spread, are divided
    otherwise.

    Raises:
        ConfigError: If one is negative or not finite, or all are 0.
    """

    fp: float = 1.0  # of a floating-point operation
    int: float = 1.0  # of an integer operation or a comparison
    mem: float = 0.0  # of a load or store

    def __post_init__(self) -> None:
        values = [getattr(self, f.name) for f in fields(self)]
        if not all(math.isfinite(v) and v >= 0 for v in values) or not any(values):
            raise ConfigError(
                f"expected weights of 0 or more, one of them positive, found {self}", where="--work-weights"
            )

    @classmethod
    def parse(cls, text: str) -> WorkWeights:
        """Return the weights written as ``fp=1,int=0.5,mem=0``; what is left out is as by default.

        Raises:
            ConfigError: If it has another form.
        """
        known, found = "|".join(f.name for f in fields(cls)), dict[str, float]()
        for item in text.split(","):
            match = re.fullmatch(rf"\s*({known})\s*=\s*(\d+\.?\d*|\.\d+)\s*", item)
            if match is None or match[1] in found:
                raise ConfigError(
                    f"expected weights such as fp=1,int=1,mem=0, found {text!r}", where="--work-weights"
                )
            found[match[1]] = float(match[2])
        return cls(**found)

    def of(self, done: Operations) -> float:
        """Return the work of some operations."""
        return self.fp * done.flops + self.int * done.integer + self.mem * done.memory

    def applied(self, done: Operations) -> WorkWeights:
        """Return the weights for a program that does these operations.

        Where nothing that has a weight is done (values are only moved, chosen, set), accesses are the work.
        """
        return self if self.of(done) or not done.memory else replace(self, mem=1.0)

    def is_flop(self, done: Operations) -> bool:
        """Whether the work is one of floating-point operations, but for less than 1 %."""
        total = self.of(done)
        return self.fp == 1.0 and (not total or total - done.flops < _OTHER_SHARE * total)

    def __str__(self) -> str:
        """As :meth:`parse` reads it."""
        return ",".join(f"{f.name}={getattr(self, f.name):g}" for f in fields(self))


DEFAULT_WEIGHTS = WorkWeights()


@dataclass(frozen=True, slots=True)
class WorkCounts:
    """Operations of the analysed region."""

    flops: int  # floating-point operations (fma counts 2, vector lanes count each)
    loads: int  # executed loads
    stores: int  # executed stores
    instructions: int  # executed instructions
    integer_ops: int = 0  # integer operations that serve a value
    memory_ops: int = 0  # loads and stores that serve a value
    # what operations count for in W, those in use (:meth:`WorkWeights.applied`)
    weights: WorkWeights = DEFAULT_WEIGHTS

    @property
    def operations(self) -> Operations:
        """Operations by kind."""
        return Operations(self.flops, self.integer_ops, self.memory_ops)

    @property
    def amount(self) -> int:
        """Work W, in :attr:`unit`."""
        return self.flops if self.unit == "flop" else round(self.weights.of(self.operations))

    @property
    def unit(self) -> WorkUnit:
        """Of W: ``flop`` or ``op``."""
        return "flop" if self.weights.is_flop(self.operations) else "op"
