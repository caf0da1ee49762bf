"""The algebra: rules of the paper for any blocks, and normal forms against a direct evaluation."""

from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.composition.expressions import NormalForm, Use, element_time, latency
from commanalyzer.kernels.composition.systems import (
    Block,
    Pattern,
    System,
    block_names,
    count_names,
    num_threads,
    parse_system,
    pipe,
    tpool,
    with_counts,
)

BLOCKS = st.sampled_from("abc").map(Block)
COUNTS = st.integers(1, 4)


def _patterns(inner: st.SearchStrategy[System]) -> st.SearchStrategy[System]:
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    joined = st.builds(Pattern, st.sampled_from(["pipe", "sequence", "fork_join"]), parts)
    one = st.builds(Pattern, st.sampled_from(["tpool", "map"]), st.tuples(inner), COUNTS)
    two = st.builds(
        Pattern, st.sampled_from(["reduction", "stencil", "master_worker"]), st.tuples(inner, inner), COUNTS
    )
    return joined | one | two


SYSTEMS: st.SearchStrategy[System] = st.recursive(BLOCKS, _patterns, max_leaves=6)
TIMES = st.fixed_dictionaries({name: st.integers(0, 9).map(Fraction) for name in "abc"})


def of_times(form: NormalForm, times: Mapping[str, Fraction]) -> Fraction:
    """A normal form for blocks whose times are proportional to their share."""

    def use(u: Use) -> Fraction:
        return times[u.block] / u.shares

    return max(sum((c * use(u) for u, c in total.terms), Fraction(0)) for total in form.sums)


def directly(system: System, times: Mapping[str, Fraction], metric: str) -> Fraction:
    """The table of the module, pattern by pattern."""
    if isinstance(system, Block):
        return times[system.name]
    inner = [directly(part, times, metric) for part in system.parts]
    n = system.count
    assert isinstance(n, int)
    is_time = metric == "element_time"
    match system.name:
        case "pipe":
            return max(inner) if is_time else sum(inner, Fraction(0))
        case "sequence":
            return sum(inner, Fraction(0))
        case "fork_join":
            return max(inner)
        case "tpool":
            return inner[0] / n if is_time else inner[0]
        case "master_worker":
            return max(inner[0] / n, inner[1]) if is_time else inner[0] + inner[1]
    shared = directly(system.parts[0], {k: t / n for k, t in times.items()}, metric)
    if system.name == "map":
        return shared
    levels = {1: 0, 2: 1, 3: 2, 4: 2}[n]
    return shared + inner[1] * (levels if system.name == "reduction" else 1)


@given(SYSTEMS, TIMES)
def test_normal_form_is_what_the_patterns_say(system: System, times: dict[str, Fraction]) -> None:
    assert of_times(element_time(system), times) == directly(system, times, "element_time")
    assert of_times(latency(system), times) == directly(system, times, "latency")


@given(SYSTEMS, SYSTEMS, SYSTEMS)
def test_pipelines_are_associative_and_commutative(a: System, b: System, c: System) -> None:
    assert element_time(pipe(a, pipe(b, c))) == element_time(pipe(pipe(a, b), c))
    assert element_time(pipe(a, b)) == element_time(pipe(b, a))
    assert element_time(pipe(a, pipe(b, c))) == element_time(pipe(a, b, c))


@given(SYSTEMS, SYSTEMS, COUNTS)
def test_layers_of_pools_and_pipelines_do_not_matter(a: System, b: System, threads: int) -> None:
    assert element_time(pipe(tpool(threads, a), tpool(threads, b))) == element_time(
        tpool(threads, pipe(a, b))
    )


@given(SYSTEMS)
def test_what_is_written_is_read_back(system: System) -> None:
    assert parse_system(str(system)) == system


@given(SYSTEMS)
def test_equal_systems_have_one_normal_form(system: System) -> None:
    assert element_time(system) == element_time(pipe(system, system))
    assert element_time(tpool(2, tpool(2, system))) == element_time(tpool(4, system))


def test_sums_that_never_are_the_largest_are_left_out() -> None:
    # (a + b) / 2 lies between a and b: a pipeline never waits for it
    assert str(element_time(parse_system("pipe(a, b, tpool(2, sequence(a, b)))"))) == "max(a, b)"
    assert str(element_time(parse_system("pipe(a, b, sequence(a, b))"))) == "a + b"
    assert str(element_time(parse_system("pipe(tpool(4, a), sequence(a, b))"))) == "a + b"
    assert str(element_time(parse_system("pipe(tpool(4, a), b)"))) == "max(a/4, b)"


def test_threads() -> None:
    assert num_threads(parse_system("pipe(tpool(3, a), b)")) == 4
    assert num_threads(parse_system("tpool(3, pipe(a, b))")) == 6
    assert num_threads(parse_system("sequence(tpool(3, a), b)")) == 3
    assert num_threads(parse_system("fork_join(a, map(2, b))")) == 3
    assert num_threads(parse_system("master_worker(4, a, d)")) == 5


def test_named_counts() -> None:
    system = parse_system("pipe(tpool(T, a), tpool(U, b), tpool(T, c))")
    assert count_names(system) == ("T", "U")
    assert block_names(system) == ("a", "b", "c")
    assert str(with_counts(system, {"T": 2, "U": 5})) == "pipe(tpool(2, a), tpool(5, b), tpool(2, c))"
    with pytest.raises(ConfigError, match="expected a number for T"):
        element_time(system)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pipe(a", "does not parse"),
        ("pool(a)", "found 'pool'"),
        ("tpool(a)", "expected 1 systems, found 0"),
        ("tpool(0, a)", "found 0"),
        ("tpool(2.5, a)", "found '2.5'"),
        ("pipe()", "expected one or more systems"),
        ("reduction(4, a)", "expected 2 systems, found 1"),
        ("a + b", "found 'a + b'"),
        ("tpool(2, a, threads=3)", "expected a block or a pattern"),
        ("(" * 3000, "does not parse"),
    ],
)
def test_wrong_expressions(text: str, found: str) -> None:
    with pytest.raises(ConfigError, match="(?s)" + found.replace("+", r"\+")):
        parse_system(text)


def test_too_many_sums() -> None:
    pair = "pipe(a{0}, b{0})"
    text = f"sequence({', '.join(pair.format(i) for i in range(10))})"
    with pytest.raises(ConfigError, match="at most 512 sums"):
        element_time(parse_system(text))
