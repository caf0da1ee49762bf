"""Loops that are known are recorded anew when what they read was changed, whoever changed it.

A gather ``y[i] = x[index[i]]`` runs 40 times; halfway, its index array is changed without a store that the
recorder sees. Expected flows are theory: 20 from ``x[i]`` and 20 from ``x[i + 1]`` into every ``y[i]``.
Arrays below 64 KiB are compared, larger ones are watched.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from commanalyzer.graph.build import build_store
from commanalyzer.graph.value_graph import ValueGraph
from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.recording.trace import read_trace
from tests.recorded import instrumented, run_to_end

SOURCE = Path(__file__).parent / "behind_the_back.c"
COMPARED, WATCHED = 1 << 13, 1 << 15
ROUNDS = 40
WAYS = (
    *("store", "memcpy", "read", "raw", "fread", "readv", "recv", "recvmsg", "process_vm_writev", "proc_mem"),
    *("assembly", "signal", "mremap", "dontneed", "late", "alias", "shmat"),
    *("pwrite_shared", "pwrite_private"),
    "fork_shared",
)
Flows = NDArray[np.int64]
Run = Callable[[str, int, str], Flows]


@pytest.fixture(scope="module")
def run() -> Run:
    """Flows into ``y`` as rows (place in y, place in x, times), sorted."""
    _, plan, executable = instrumented(compile_sources([SOURCE]))

    def flows(way: str, size: int, place: str) -> Flows:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace"
            done = run_to_end(executable, way, str(size), place, COMMANALYZER_TRACE=str(path))
            assert done.exit_status == 0
            return _flows(build_store(read_trace(path), plan.sites).graph())

    return flows


def _flows(graph: ValueGraph) -> Flows:
    number = {o.name: k for k, o in enumerate(graph.objects)}
    source_row = graph.rows.row_of_source()
    sink = graph.rows.row_sink[source_row]
    wanted = (graph.home_object[sink] == number["y"]) & (graph.home_object[graph.rows.source] == number["x"])
    places = graph.home_offset // 8
    found = np.stack([places[sink], places[graph.rows.source], graph.rows.row_count[source_row]], axis=1)
    return np.asarray(np.unique(found[wanted], axis=0))


def _expected(size: int, second: Flows) -> Flows:
    every = np.arange(size)
    times = np.full(size, ROUNDS // 2)
    rows = np.concatenate([np.stack([every, source, times], axis=1) for source in (every, second)])
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    rows = rows[order]
    # an element that reads the same place in both halves has one row
    is_same = np.all(rows[1:, :2] == rows[:-1, :2], axis=1)
    rows[1:][is_same, 2] = ROUNDS
    return np.asarray(rows[np.append(~is_same, True)])


@pytest.mark.parametrize("size", [COMPARED, WATCHED])
@pytest.mark.parametrize("way", WAYS)
def test_every_change_of_an_index_array_is_seen(run: Run, way: str, size: int) -> None:
    second = np.zeros(size, np.int64) if way == "dontneed" else (np.arange(size) + 1) % size
    np.testing.assert_array_equal(run(way, size, "bss"), _expected(size, second))


@pytest.mark.parametrize("place", ["heap", "data"])
@pytest.mark.parametrize("way", ["alias", "pwrite_private", "shmat"])
def test_so_it_is_in_other_memory(run: Run, way: str, place: str) -> None:
    second = (np.arange(WATCHED) + 1) % WATCHED
    np.testing.assert_array_equal(run(way, WATCHED, place), _expected(WATCHED, second))
