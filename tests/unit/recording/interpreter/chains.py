"""Chains written by hand."""

from collections.abc import Callable

from commanalyzer.foundation.flows import SourceRole
from commanalyzer.recording.interpreter.run import InterpretedRun
from commanalyzer.recording.interpreter.values import Chain, Home

Run = Callable[..., InterpretedRun]


def at(name: str, offset: int = 0) -> Home:
    return Home("global", name, 0, offset)


def chain(sink: Home, *data: Home, control: tuple[Home, ...] = ()) -> Chain:
    roles = [(home, SourceRole.DATA) for home in data] + [(home, SourceRole.CONTROL) for home in control]
    return Chain(sink, frozenset(roles))
