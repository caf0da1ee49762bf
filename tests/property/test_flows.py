"""The native recording and the interpreter agree on every value-flow chain of generated programs."""

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


def check(text: str, recorded: Recorded) -> None:
    """Same output, same counts and the same chains as the interpreter."""
    homes = register_homes(recorded.graph)
    oracle = interpret(recorded.module, register_homes=homes, word_bytes=recorded.plan.sites.word_bytes)
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


def test_chains_of_loops_with_previews_equal_the_interpreters() -> None:
    """Conditions on values, local arrays, blocks of memory, fresh memory, all in every time step."""
    names = list(LOOPS)
    text = loop_program(names[names.index("condition in place") :], 16, 5)
    check(text, record_source(text))


def test_tables_of_constants_are_literals() -> None:
    text = loop_program(["table", "sums of a table", "table copied"], 16, 5)
    check(text, recorded := record_source(text))
    assert "table" not in {item.name for item in recorded.graph.objects}


def test_chains_of_loops_that_meet_their_own_stores_equal_the_interpreters() -> None:
    """At times; the same comparisons of what was there before go on in different ways."""
    text = loop_program(["condition that meets its stores", "values in turn"], 40, 24)
    check(text, record_source(text))


def test_chains_of_empty_sums_equal_the_interpreters() -> None:
    """A sum of no terms is a copy of what it begins with."""
    text = loop_program([name for name in LOOPS if name.startswith("empty")], 16, 4)
    check(text, record_source(text))


def test_chains_of_changed_rounds_equal_the_interpreters() -> None:
    """Few rounds change: positions and indices (one of them in its lowest bit), local arrays, copies."""
    names = ["rounds that update", "index changed in a bit", "rounds with positions", "all moved"]
    text = loop_program([*names, "rounds with a copied local array", "rounds that copy"], 40, 10)
    check(text, record_source(text))


def test_chains_of_overlapping_ranges_equal_the_interpreters() -> None:
    """Bounds, strides and directions that change from step to step, arrays that are copied in parts."""
    names = list(LOOPS)
    text = loop_program(names[names.index("from the step on") : names.index("condition in place")], 40, 5)
    check(text, record_source(text))
