"""How values flow into a new one: words that program analysis, recorder, interpreter and graph share."""

from __future__ import annotations

from enum import IntEnum


class SourceRole(IntEnum):
    """How a source entered the sink: by data, by selecting it, or by addressing a pure count."""

    DATA = 0
    CONTROL = 1
    ADDRESS = 2


class Fold(IntEnum):
    """Operation by which the terms of a row (or successive rows of a sink) may be combined in any order."""

    NONE = 0
    SUM = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BITWISE = 5
    SELECTION = 6  # one of the terms is kept: flags, arguments of a minimum
