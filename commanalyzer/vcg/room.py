"""Memory for arrays of which one after the other is needed."""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Entry = TypeVar("Entry", bound=np.generic)


class Room:
    """Arrays by name, each valid until the name is asked for again.

    Fresh memory has to be cleared by the system: for arrays of some megabytes that are used once, this costs
    as much as most of what is done with them.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[np.generic]] = {}

    def take(self, name: str, size: int, dtype: type[Entry]) -> NDArray[Entry]:
        """Array of ``size`` entries, whatever they are; one name has one ``dtype``."""
        found = self._arrays.get(name)
        if found is None or len(found) < size:
            found = self._arrays[name] = np.empty(size, dtype)
        return cast(NDArray[Entry], found[:size])

    def words(self, name: str, size: int) -> NDArray[np.int64]:
        """Return int64[size], whatever is in it."""
        return self.take(name, size, np.int64)

    def numbers(self, size: int) -> NDArray[np.int64]:
        """Return int64[size], the numbers from 1 on."""
        found = self._arrays.get("numbers")
        if found is None or len(found) < size:
            found = self._arrays["numbers"] = np.arange(1, size + 1)
        return found[:size].view(np.int64)
