"""What makes recording fast, each part of which can be switched off: the graph is the same without.

Input: names of mechanisms. Output: :class:`Mechanisms`, which the planner asks, and one word that the
instrumented module hands to the recorder (``ca_switched_off`` of ``comm_shim.h``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from commanalyzer.foundation.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Mechanisms:
    """Ways to record a loop without running its hooks; all are on unless one is being measured.

    Attributes:
        memoisation: A loop with the same addresses, labels and shadow as before counts its rows again.
        outcomes: Loops that change the shadow are memoised, too: their changes are made again.
        families: A loop of affine stores and sums is one row of the log when it is met for the first time.
        inspectors: Loops whose addresses depend on data are looked through first, to see what they will do.
        memoised_inspectors: An inspector whose inputs are as they were is not run again.
    """

    memoisation: bool = True
    outcomes: bool = True
    families: bool = True
    inspectors: bool = True
    memoised_inspectors: bool = True

    @property
    def recorder_word(self) -> int:
        """Bits of those that the recorder has to leave out, as ``CA_WITHOUT_*`` of ``comm_shim.h``."""
        return sum((not is_on) << bit for bit, is_on in enumerate((self.memoisation, self.outcomes)))


EVERY = Mechanisms()


def names() -> tuple[str, ...]:
    """All mechanisms, in the order in which they are explained."""
    return tuple(f.name for f in fields(Mechanisms))


def without(switched_off: Iterable[str]) -> Mechanisms:
    """All mechanisms but those; ConfigError if there is no such mechanism."""
    wanted = dict.fromkeys(switched_off, False)
    for name in wanted.keys() - set(names()):
        raise ConfigError(f"no mechanism is called '{name}'", hint="one of " + ", ".join(names()))
    return replace(EVERY, **wanted)
