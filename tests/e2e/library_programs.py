"""Programs that call library code, and what their recordings say; used by the tests of the library model."""

from functools import partial

from commanalyzer.foundation.flows import SourceRole
from commanalyzer.recording.interpreter.run import interpret
from tests.recorded import Recorded, record_source
from tests.reference.flows import describe_difference, native_chains, oracle_chains, register_homes

HEADER = """
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
double in[6], out[6];
static void start(void) { for (int i = 0; i < 6; i++) in[i] = i * 5 % 6 + 0.5; }
static int compare(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}
"""
SORTED = (0, 5, 4, 3, 2, 1)  # in[SORTED[k]] is the k-th smallest


def record(text: str, *, suffix: str = ".c", is_interpreted: bool = True) -> Recorded:
    """Record a program and hold it against the plain run and the interpreter."""
    recorded = record_source(text if suffix != ".c" else HEADER + text, suffix=suffix)
    assert recorded.traced.stdout == recorded.plain.stdout
    assert recorded.traced.exit_status == recorded.plain.exit_status
    assert recorded.plan.sites.externals == []
    if is_interpreted:
        oracle = interpret(
            recorded.module,
            register_homes=register_homes(recorded.graph),
            word_bytes=recorded.plan.sites.word_bytes,
        )
        assert oracle.stdout == recorded.plain.stdout
        native, expected = native_chains(recorded.graph), oracle_chains(oracle.chains, recorded.graph)
        assert native == expected, describe_difference(native, expected)
    return recorded


record_natively = partial(record, is_interpreted=False)


def sources(recorded: Recorded, sink: str) -> list[set[str]]:
    """Sources of every distinct chain into ``sink``, all of them data."""
    chains = [chain for chain in native_chains(recorded.graph) if str(chain.sink) == sink]
    assert {role for chain in chains for _, role in chain.sources} <= {SourceRole.DATA}
    return [{str(home) for home, _ in chain.sources} for chain in chains]


def into_out(recorded: Recorded) -> list[set[str]]:
    """Sources of ``out[0]``, ``out[1]``, ...; one chain each."""
    result = []
    for index in range(6):
        found = sources(recorded, f"@out+{8 * index}")
        assert len(found) <= 1, found
        result += found
    return result


def into_all(recorded: Recorded) -> dict[str, set[str]]:
    """Sources per sink, of sinks with one chain; roles left out."""
    return {str(c.sink): {str(h) for h, _ in c.sources} for c in native_chains(recorded.graph)}


def element(*indices: int) -> set[str]:
    return {f"@in+{8 * index}" for index in indices}
