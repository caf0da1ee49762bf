"""What makes recording fast changes no graph: each mechanism off gives the interpreter's chains, too."""

from dataclasses import fields, replace

import pytest

from commanalyzer.recording.abi import EVERY, Mechanisms
from commanalyzer.recording.interpreter.run import InterpretedRun, interpret
from tests.property.loop_programs import LOOPS, loop_program
from tests.recorded import record_source
from tests.reference.flows import describe_difference, native_chains, oracle_chains

_LOOPS = (
    "stencil", "copy", "product", "dot product", "carried sum", "indirect sum", "permuted", "sparse",
    "rounds that update", "rounds with a local array", "index changed at times", "convolution",
)  # fmt: skip
"""One loop at least for every mechanism."""


@pytest.fixture(scope="module")
def program() -> str:
    return loop_program([name for name in LOOPS if name in _LOOPS], 20, 9)


@pytest.fixture(scope="module")
def oracle(program: str) -> InterpretedRun:
    recorded = record_source(program)
    return interpret(recorded.module, word_bytes=recorded.plan.sites.word_bytes)


@pytest.mark.parametrize("name", [f.name for f in fields(Mechanisms)])
def test_chains_equal_the_interpreters_without(name: str, program: str, oracle: InterpretedRun) -> None:
    recorded = record_source(program, mechanisms=replace(EVERY, **{name: False}))
    assert recorded.traced.stdout == recorded.plain.stdout
    native, expected = native_chains(recorded.graph), oracle_chains(oracle.chains, recorded.graph)
    assert native == expected, describe_difference(native, expected)
