"""Memory that is declared a workspace: native recording and interpreter agree on what flows through it."""

import random
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from commanalyzer.graph.value_graph import Bool, ValueGraph
from commanalyzer.recording.interpreter.run import interpret
from commanalyzer.recording.interpreter.values import Home
from tests.property.loop_programs import loop_programs, round_programs
from tests.property.programs import c_programs
from tests.property.sampling import drawn
from tests.recorded import Recorded, record_again, record_source
from tests.reference.flows import describe_difference, home_of, native_chains, oracle_chains, register_homes

USUAL = 4  # programs


@drawn(USUAL)
@given(c_programs() | loop_programs() | round_programs(), st.integers(0, 2**32))
def test_flows_through_workspaces_equal_the_interpreters(text: str, seed: int) -> None:
    recorded = record_source(text)
    names = [item.name for item in recorded.graph.objects]
    check(text, recorded, random.Random(seed).sample(names, len(names) // 2))


def test_lifetimes_may_update_each_other() -> None:
    text = """
    #include <stdio.h>
    #include <stdlib.h>
    int main(int argc, char **argv)
    {
        (void)argv;
        int n = argc + 3;
        double c[64], *a = malloc(64 * sizeof *a);
        for (int i = 0; i < 64; i++) { a[i] = 0.0625 * (i * 7 % 13); c[i] = 1 + 0.5 * i; }
        for (int t = 0; t < 2; t++) {
            { const double *x = t % 2 ? a : c; for (int i = 0; i < n; i++) a[n - 1 - i] = 0.25 * x[i]; }
            for (int i = 0; i < n; i++) {
                double s[2]; s[0] = a[i] * 0.5; s[1] = a[i] * 0.25;
                for (int j = 0; j < 2; j++) c[(i * 3 + j) % n] += s[(j + i) & 1];
            }
        }
        double sum = 0;
        for (int i = 0; i < 64; i++) sum += a[i] + c[i];
        printf("%.9e", sum);
        free(a);
        return 0;
    }
    """
    check(text, record_source(text), ["a", "s"])


def check(text: str, recorded: Recorded, names: list[str]) -> None:
    """Record again with some objects as workspaces; compare with the interpreter, versions dissolved."""
    graph = recorded.graph
    chosen = [number for number, item in enumerate(graph.objects) if item.name in names]
    mask = np.isin(graph.home_object, chosen) & ~graph.is_register & (graph.home_object > 0)
    with tempfile.TemporaryDirectory() as folder:
        again = record_again(recorded, mask, Path(folder))
    size = recorded.plan.sites.word_bytes
    words, homes = _words(graph, mask, size), register_homes(graph)
    oracle = interpret(recorded.module, workspace=words, register_homes=homes, word_bytes=size)
    native = native_chains(again)
    expected = oracle_chains(oracle.chains, again)
    if _has_updates(again):
        # versions of one vertex are not told apart: every flow is found, with others of that vertex
        reached = {(c.sink, home) for c in native for home, _ in c.sources}
        assert reached >= {(c.sink, home) for c in expected for home, _ in c.sources if home != c.sink}, text
    else:
        assert native == expected, f"{describe_difference(native, expected)}\n{text}"


def _words(graph: ValueGraph, mask: Bool, size: int) -> frozenset[Home]:
    words = set()
    for vertex in np.flatnonzero(mask):
        home = home_of(graph, int(vertex))
        assert home is not None
        for k in range(0, max(int(graph.width_bytes[vertex]), size), size):
            words.add(home._replace(offset_bytes=home.offset_bytes + k))
    return frozenset(words)


def _has_updates(graph: ValueGraph) -> bool:
    rows = np.bincount(graph.rows.row_sink, minlength=graph.num_vertices)
    return bool(np.any(rows[graph.is_temporary | graph.is_register] > 1))
