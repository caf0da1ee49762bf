"""Workspaces in the recorder: lifetimes, updates, constants, copies, carried states, the limit of rows.

``field[8]`` to ``field[15]`` of the driver's global are a workspace unless the list says otherwise.
"""

import numpy as np

from commanalyzer.recording import abi
from commanalyzer.recording.trace import Trace
from tests.shim.conftest import Driver

Piece = tuple[int, int, int, int, int]
FIELD = 7
SCRATCH: Piece = (abi.EXTENT_GLOBAL, FIELD, 0, 64, 128)
NOTHING = abi.REGISTER | (1 << 42) - 1
STORE, LIFETIME = 0, abi.ROW_TEMPORARY
UPDATE, REGISTER = abi.ROW_UPDATE, abi.ROW_REGISTER


def listed(*pieces: Piece, max_rows: int = 1000, ends_there: bool = False) -> bytes:
    """The file that ``COMMANALYZER_WORKSPACE`` names."""
    header = np.array([(max_rows, len(pieces), ends_there)], dtype=abi.WORKSPACE)
    return header.tobytes() + np.array(list(pieces), dtype=abi.PIECE).tobytes()


def rows(trace: Trace) -> list[tuple[int, int, int, list[int], int]]:
    """Flags, site, sink, labels and count of every row; memory as its place among the doubles of field."""
    field = int(trace.extents["start"][trace.extents["object"] == FIELD][0]) % 2**44 // 4
    result, at = [], 0
    for cell, head in zip(trace.cells, trace.heads, strict=True):
        flags, sink, count = int(head["flags"]), int(head["sink"]), int(head["num_labels"])
        if flags & abi.ROW_WIDE:
            labels = trace.labels[at : at + 2 * count].view(np.uint64).tolist()
            at += 2 * count
        elif flags & abi.ROW_COMPACT:
            units = [int(unit) & 0xFFFFFFFF for unit in trace.labels[at : at + count]]
            assert all(unit >> 31 for unit in units)  # field is no part of the heap
            labels = [abi.REGISTER + (u & 0x1FFFFFFF) + (u >> 29 & 3) * abi.CONTROL for u in units]
            at += count
        else:
            labels = [sink + int(unit) for unit in trace.labels[at : at + count]]
            at += count
        in_memory = not flags & (REGISTER | UPDATE)
        place = (sink - field) // 2 if in_memory else sink
        sources = [v if v >= abi.REGISTER or flags & abi.ROW_FILL else (v - field) // 2 for v in labels]
        flags &= ~(abi.ROW_WIDE | abi.ROW_COMPACT)
        result.append((flags, int(head["site"]), place, sources, int(cell["count"])))
    return result


def row(number: int) -> int:
    """Label of a named value."""
    return abi.REGISTER | number


def test_every_element_has_a_lifetime_of_its_own_in_every_step_the_same(driver: Driver) -> None:
    _, trace = driver.run("lifetimes", workspace=listed(SCRATCH))
    expected = []
    for e in range(4):
        expected += [(LIFETIME, 1, 8, [e], 3), (STORE, 2, 4 + e, [row(2 * e)], 3)]
    assert rows(trace) == expected
    assert trace.statistics.unnamed_lifetimes == 0


def test_without_a_list_the_word_is_a_home(driver: Driver) -> None:
    for workspace in (None, b"", listed(), listed((abi.EXTENT_GLOBAL, FIELD + 1, 0, 0, 128))):
        _, trace = driver.run("lifetimes", workspace=workspace)
        found = rows(trace)
        assert {(flags, labels[0]) for flags, site, _, labels, _ in found if site == 2} == {(STORE, 8)}


def test_beyond_the_limit_of_rows_lifetimes_are_versions_and_counted(driver: Driver) -> None:
    _, trace = driver.run("lifetimes", workspace=listed(SCRATCH, max_rows=2))
    expected = [(LIFETIME, 1, 8, [0], 3), (STORE, 2, 4, [row(0)], 3)]
    for e in range(1, 4):
        expected += [(UPDATE, 1, 0, [e], 3), (STORE, 2, 4 + e, [row(0)], 3)]
    assert rows(trace) == expected
    # the three elements of the first step; later steps find the same rows again
    assert trace.statistics.unnamed_lifetimes == 3


def test_beyond_the_limit_of_rows_an_optional_recording_ends(driver: Driver) -> None:
    numbers, trace = driver.run("lifetimes", workspace=listed(SCRATCH, max_rows=2, ends_there=True))
    assert rows(trace) == [(LIFETIME, 1, 8, [0], 1), (STORE, 2, 4, [row(0)], 1)]
    assert (trace.statistics.unnamed_lifetimes, numbers) == (1, {})


def test_what_is_computed_from_the_value_it_overwrites_is_a_version_of_it(driver: Driver) -> None:
    numbers, trace = driver.run("updates", workspace=listed(SCRATCH))
    assert (numbers["kept"], numbers["kept_again"]) == (1, 1)
    assert (numbers["next"], numbers["next_again"]) == (4, 4)
    assert rows(trace) == [
        (LIFETIME, 1, 8, [0], 2),
        (UPDATE, 2, 0, [row(0), 1], 2),
        (REGISTER, 3, 0, [row(0), 2], 2),
        (UPDATE, 4, 0, [row(2)], 2),
        (LIFETIME, 4, 8, [3], 2),
    ]


def test_constants_in_a_workspace_are_nothing(driver: Driver) -> None:
    numbers, trace = driver.run("constants", workspace=listed(SCRATCH))
    assert set(numbers.values()) == {1}
    # the stores of a source and, at a home, of two constant words
    assert rows(trace) == [(LIFETIME, 1, 8, [0], 1), (abi.ROW_FILL, 4, 0, [2], 1)]


def test_copies_replicate_inside_and_are_versions_outside(driver: Driver) -> None:
    numbers, trace = driver.run("copies", workspace=listed(SCRATCH))
    assert set(numbers.values()) == {1}
    assert rows(trace) == [
        (LIFETIME, 1, 8, [0], 1),
        (STORE, 4, 1, [row(0)], 1),
        (STORE, 5, 2, [row(0)], 1),
        (STORE, 6, 3, [row(0)], 1),
        (STORE, 6, 4, [row(0)], 1),
    ]


def test_a_state_carried_through_a_workspace_is_one_vertex(driver: Driver) -> None:
    numbers, trace = driver.run("carried", workspace=listed(SCRATCH))
    assert numbers["state"] == 1
    assert rows(trace) == [
        (REGISTER, 1, 0, [NOTHING, 0], 1),
        (LIFETIME, 2, 8, [row(0)], 3),
        (REGISTER | UPDATE, 1, 0, [row(1), 1], 1),
        (REGISTER | UPDATE, 1, 0, [row(1), 2], 1),
    ]


def test_pieces_name_bytes_of_blocks_and_of_local_arrays_at_a_depth(driver: Driver) -> None:
    heap = (abi.EXTENT_HEAP, 0, 0, 16, 24)  # the first double behind the header
    local = (abi.EXTENT_STACK, 0, 1, 8, 16)
    numbers, trace = driver.run("extents", workspace=listed(heap, local))
    assert set(numbers.values()) == {1}
    assert [flags for flags, *_ in rows(trace)] == [LIFETIME, STORE, STORE, LIFETIME]
