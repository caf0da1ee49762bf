"""The native recording and the interpreter agree on every value-flow chain of generated programs."""

import pytest
from hypothesis import given

from commanalyzer.recording.interpreter.run import interpret
from tests.property.loop_programs import (
    LOOPS,
    index_programs,
    loop_program,
    loop_programs,
    nest_programs,
    round_programs,
)
from tests.property.programs import c_programs
from tests.property.sampling import drawn
from tests.recorded import Recorded, record_source
from tests.reference.flows import describe_difference, native_chains, oracle_chains, register_homes

USUAL = 16  # programs


@drawn(USUAL)
@given(c_programs())
def test_chains_equal_the_interpreters(text: str) -> None:
    check(text, record_source(text))


def check(text: str, recorded: Recorded, *arguments: str) -> None:
    """Same output, same counts and the same chains as the interpreter."""
    homes = register_homes(recorded.graph)
    size = recorded.plan.sites.word_bytes
    oracle = interpret(recorded.module, arguments, register_homes=homes, word_bytes=size)
    assert recorded.traced.stdout == recorded.plain.stdout == oracle.stdout, text
    assert recorded.traced.exit_status == recorded.plain.exit_status == oracle.exit_status, text
    work = recorded.work
    counted = (work.flops, work.loads, work.stores, work.instructions)
    assert counted == (oracle.flops, oracle.loads, oracle.stores, oracle.instructions), text
    native = native_chains(recorded.graph)
    expected = oracle_chains(oracle.chains, recorded.graph)
    assert native == expected, f"{describe_difference(native, expected)}\n{text}"


@drawn(USUAL, share=5)
@given(loop_programs())
def test_chains_of_repeated_loops_equal_the_interpreters(text: str) -> None:
    check(text, record_source(text))


@drawn(USUAL, share=10)
@given(index_programs())
def test_chains_of_loops_with_changing_indices_equal_the_interpreters(text: str) -> None:
    check(text, record_source(text))


@drawn(USUAL, share=10)
@given(nest_programs())
def test_chains_of_loops_around_sums_equal_the_interpreters(text: str) -> None:
    check(text, record_source(text))


@drawn(USUAL, share=10)
@given(round_programs())
def test_chains_of_loops_with_few_changed_rounds_equal_the_interpreters(text: str) -> None:
    check(text, record_source(text))


def test_tables_of_constants_are_literals() -> None:
    text = loop_program(["table", "sums of a table", "table copied"], 16, 5)
    check(text, recorded := record_source(text))
    assert "table" not in {item.name for item in recorded.graph.objects}


_NAMES = list(LOOPS)
_CHANGES = ["little changed", "little changed elsewhere", "two exchanged", "to and fro"]
_ROUNDS = [
    "that gather",
    "that meet",
    "with short words",
    "with packed words",
    "with weights",
    "with weighted sums",
]
# Loops that are in a program together, elements of the arrays, time steps.
CHOSEN: dict[str, tuple[list[str], int, int]] = {
    # few rounds change: positions and indices (one of them in its lowest bit), local arrays, copies
    "changed rounds": (
        [
            *("rounds that update", "index changed in a bit", "rounds with positions", "all moved"),
            *("rounds with a copied local array", "rounds that copy"),
        ],
        40,
        10,
    ),
    # the same comparisons of what was there before go on in different ways
    "own stores": (["condition that meets its stores", "values in turn"], 40, 24),
    # a sum of no terms is a copy of what it begins with
    "empty sums": ([name for name in LOOPS if name.startswith("empty")], 16, 4),
    # bounds, strides and directions that change from step to step, arrays that are copied in parts
    "overlapping ranges": (
        _NAMES[_NAMES.index("from the step on") : _NAMES.index("condition in place")],
        40,
        5,
    ),
    # stores, updates and sums at indices of which few change, some to and fro; words of 2, 4 and 8 bytes
    "rounds": (["rounds downwards", *(f"rounds {name}" for name in _ROUNDS)], 40, 12),
    "rounds beside others": (["rounds beside others"], 40, 12),
    "rounds that copy": (["rounds that copy"], 40, 12),
    # conditions on values, local arrays, blocks of memory, fresh memory
    "previews": (_NAMES[_NAMES.index("condition in place") :], 16, 5),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_chains_of_chosen_loops_equal_the_interpreters(name: str) -> None:
    names, size, steps = CHOSEN[name]
    text = loop_program(names + _CHANGES * name.startswith("rounds"), size, steps)
    check(text, record_source(text))
