"""Single hooks, called as instrumented code calls them: labels, rows, terms, heap, frames, regions."""

import numpy as np
import pytest

from commanalyzer.graph.reading.trace_kernels import expanded
from commanalyzer.recording import abi
from commanalyzer.recording.trace import Trace
from tests.shim.conftest import Driver


def _check(flags: dict[str, int], *ignored: str) -> None:
    """Every printed truth value is 1."""
    assert {name for name, value in flags.items() if value != 1 and name not in ignored} == set()


def test_repeated_chains_are_one_row_each(driver: Driver) -> None:
    numbers, trace = driver.run("rows")
    field = numbers["field"]
    assert trace.cells["count"].tolist() == [3, 3, 1, 1, 1]
    assert trace.heads["site"].tolist() == [1, 2, 1, 3, 1]
    assert (trace.heads["sink"] - field).tolist() == [0, 2, 0, 8, 10]
    assert trace.heads["num_labels"].tolist() == [2, 1, 2, 0, 1]
    assert trace.heads["flags"].tolist() == [0, 0, 0, 0, abi.ROW_WIDE]
    # narrow labels are differences to the sink, in words; the wide one takes two units
    assert trace.labels[:5].tolist() == [2, 4, -2, 2, 6]
    assert trace.labels[5:].view(np.uint64).tolist() == [field + 12 | abi.CONTROL]
    assert len(set(trace.cells["hash"].tolist())) == 5


def test_long_chains_pass_their_labels_in_memory(driver: Driver) -> None:
    _, trace = driver.run("many_labels")
    assert trace.heads["num_labels"].tolist() == [40]
    assert trace.labels.tolist() == list(range(40))


@pytest.mark.parametrize("scenario", ["replication", "page_ends", "unknown", "environment"])
def test_replicated_words_refer_to_their_source(driver: Driver, scenario: str) -> None:
    numbers, _ = driver.run(scenario)
    assert numbers
    _check(numbers)


def test_copies_of_overlapping_ranges_behave_like_memmove(driver: Driver) -> None:
    numbers, trace = driver.run("overlap")
    _check(numbers)
    assert trace.statistics.unaligned_copies == 1


def test_roles_are_set_and_merged(driver: Driver) -> None:
    numbers, trace = driver.run("roles")
    assert numbers.pop("none") == 0
    _check(numbers)
    assert len(trace.heads) == 0


def test_register_values_are_named_by_their_row(driver: Driver) -> None:
    numbers, trace = driver.run("registers")
    assert [numbers[n] for n in ("first", "other", "again", "is_register")] == [0, 1, 0, 1]
    register = abi.ROW_REGISTER | abi.ROW_WIDE
    assert trace.heads["flags"].tolist() == [register, register, abi.ROW_COMPACT]
    assert trace.cells["count"].tolist() == [2, 1, 1]
    field = numbers["field"]
    assert trace.labels[:6].view(np.uint64).tolist() == [field, field + 2, field + 4]
    assert trace.labels[6:].view(np.uint32).tolist() == [1 << 31]  # row 0


def test_reductions_become_runs_where_labels_advance_steadily(driver: Driver) -> None:
    numbers, trace = driver.run("reductions")
    field = numbers["field"]
    assert numbers["empty"] == 0
    assert numbers["alone"] == 1
    assert (numbers["runs"], numbers["again"], numbers["listed"]) == (0, 0, 1)
    assert trace.cells["count"].tolist() == [2, 1]
    steady = trace.groups[trace.groups["row"] == 0]
    assert int(steady["count"].sum()) == 10000
    assert set(steady["width"].tolist()) == {2}
    assert set(steady["is_listed"].tolist()) == {0}
    first = trace.runs[int(steady["first"][0]) : int(steady["first"][0]) + 2]
    assert first["start"].tolist() == [field, field + 16]
    assert first["stride"].tolist() == [2, 0]
    uneven = trace.groups[trace.groups["row"] == 1]
    assert uneven[["count", "width", "is_listed"]].tolist() == [(3, 2, 1)]
    assert trace.listed.tolist() == [field, field + 16, field, field + 17, field, field + 20]


def _terms(trace: Trace, row: int) -> list[list[int]]:
    """Terms of a row, written out."""
    found: list[list[int]] = []
    for _, first, count, width, is_listed in trace.groups[trace.groups["row"] == row].tolist():
        if is_listed:
            flat = trace.listed[first : first + count * width].tolist()
            found += [flat[i * width : (i + 1) * width] for i in range(count)]
        else:
            runs = trace.runs[first : first + width].tolist()
            found += [[start + i * stride for start, stride in runs] for i in range(count)]
    return found


def test_a_reduction_read_inside_its_loop_has_all_terms_so_far(driver: Driver) -> None:
    numbers, trace = driver.run("running")
    assert (numbers["half"], numbers["whole"]) == (0, 1)
    words = [[numbers["field"] + i] for i in range(12)]
    assert _terms(trace, 0) == words[:6]
    assert _terms(trace, 1) == words


def test_terms_of_any_width_keep_their_order(driver: Driver) -> None:
    numbers, trace = driver.run("mixed")
    expected, state = [], 1
    for i in range(3000):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        odd = state >> 61 & 1
        expected.append([numbers["field"] + i * (1 + k) + odd for k in range(1 + (state >> 62))])
    assert _terms(trace, 0) == expected


def test_many_chains_of_one_sink_are_found_again(driver: Driver) -> None:
    _, trace = driver.run("crowded")
    assert trace.cells["count"].tolist() == [2] * 1000
    assert trace.statistics.hash_collisions == 0


@pytest.mark.parametrize("scenario", ["shared", "shared_by_all"])
def test_chains_of_which_the_anchors_are_crowded_are_found_again(driver: Driver, scenario: str) -> None:
    _, trace = driver.run(scenario)
    assert trace.cells["count"].tolist() == [2000] + [2] * 1000
    assert trace.heads["site"].tolist() == [2] + [3] * 1000


def test_labels_of_rows_and_of_the_heap_take_32_bits(driver: Driver) -> None:
    numbers, trace = driver.run("compact")
    assert (trace.heads["flags"] & abi.ROW_COMPACT).tolist() == [0, abi.ROW_COMPACT, 0]
    # a register value that selects, the arena's first word, the last one that fits, which addresses
    units = trace.labels[2:5].view(np.uint32).tolist()
    assert units == [1 << 31 | 1 << 29, 0, 2 << 29 | (1 << 29) - 1]
    assert [int(expanded(unit)) for unit in trace.labels[2:5]] == [
        abi.REGISTER | abi.CONTROL | 0,
        abi.COMPACT_FIRST,
        numbers["last"] | abi.ADDRESS,
    ]
    assert trace.labels[5:].view(np.uint64).tolist() == [numbers["last"] + 1]


def test_freed_blocks_return_to_their_site_at_the_same_address(driver: Driver) -> None:
    numbers, trace = driver.run("heap")
    start = numbers.pop("a")
    assert (numbers.pop("aligned"), numbers.pop("memalign")) == (0, 0)
    _check(numbers)
    heap = trace.extents[trace.extents["kind"] == abi.EXTENT_HEAP]
    assert heap["object"].tolist() == [0, 1, 2, 3]
    assert heap["start"][0] < start < heap["start"][0] + heap["size"][0]
    assert set(heap["offset"].tolist()) == {0}


def test_reallocated_blocks_keep_content_and_labels(driver: Driver) -> None:
    numbers, _ = driver.run("reallocation")
    assert len(numbers) == 4
    _check(numbers)


def test_local_arrays_have_storage_per_function_and_depth(driver: Driver) -> None:
    numbers, trace = driver.run("frames")
    _check(numbers)
    stack = trace.extents[trace.extents["kind"] == abi.EXTENT_STACK]
    assert stack[["object", "depth", "size"]].tolist() == [(0, 0, 128), (0, 1, 128), (1, 0, 64)]


def test_only_the_region_is_counted_but_everything_is_recorded(driver: Driver) -> None:
    numbers, trace = driver.run("regions")
    _check(numbers)
    assert trace.cells["count"].tolist() == [0, 2 + (1 << 40)]  # what the region does is in its own order
    assert trace.block_counters.tolist() == [0, 2, 0]
    assert trace.statistics.region_entries == 2


def test_counters_and_globals_are_written(driver: Driver) -> None:
    _, trace = driver.run("counters")
    assert trace.block_counters.tolist() == [1, 0, 5]
    assert trace.external_calls.tolist() == [0, 1]
    expected = [(abi.EXTENT_GLOBAL, 7, 128), (abi.EXTENT_GLOBAL, 8, 512)]
    assert trace.extents[["kind", "object", "size"]].tolist() == expected


def test_filled_ranges_are_one_row(driver: Driver) -> None:
    numbers, trace = driver.run("fills")
    field = numbers.pop("field")
    _check(numbers)
    # filled twice, and once written from outside
    assert trace.cells["count"].tolist() == [2, 1]
    assert trace.heads["site"].tolist() == [8, 2]
    assert trace.heads["sink"].tolist() == [field, field]
    flags = trace.heads["flags"].tolist()
    assert [f & (abi.ROW_FILL | abi.ROW_INPUT) for f in flags] == [abi.ROW_FILL, abi.ROW_FILL | abi.ROW_INPUT]
    assert trace.labels.view(np.uint64).tolist() == [32, 32]  # words


def test_a_forked_child_leaves_the_trace_alone(driver: Driver) -> None:
    _, trace = driver.run("forked")
    assert trace.heads["site"].tolist() == [1]


def test_immediate_exit_writes_the_trace_first(driver: Driver) -> None:
    _, trace = driver.run("leave_at_once", status=9)
    assert trace.heads["site"].tolist() == [1]


def test_rounds_of_loops_are_known_or_refused(driver: Driver) -> None:
    numbers, _ = driver.run("rounds")
    # up to 10; down to 0; at once; steps that miss the end; away from it, twice; below, in steps; at once;
    # when past it; from a negative number, which is a large one if unsigned; without end
    assert list(numbers.values()) == [11, 6, 1, 0, 0, 0, 5, 1, 1, 5, 0, 0]


def test_known_loops_count_their_rows_again(driver: Driver) -> None:
    numbers, trace = driver.run("repeated")
    expected = {"first": 0, "second": 1, "third": 1, "other": 0, "changed": 0, "again": 1}
    assert {name: numbers[name] for name in expected} == expected
    # four rows, six times; the second one had another source in the last two
    assert trace.cells["count"].tolist() == [6, 4, 6, 6, 2]
    assert (trace.heads["sink"] - numbers["field"]).tolist() == [0, 2, 4, 6, 2]


def test_known_loops_leave_temporaries_as_they_would(driver: Driver) -> None:
    numbers, _ = driver.run("temporary")
    assert [numbers[name] for name in ("first", "second", "third")] == [0, 1, 1]
    assert numbers["filled"] == 1


def test_previews_are_made_again_when_what_they_read_has_changed(driver: Driver) -> None:
    numbers, _ = driver.run("snapshots")
    same, known = 2, 1
    assert numbers == {
        **dict.fromkeys(("first", "other_key", "sorted", "last_byte"), 0),
        **dict.fromkeys(("second", "not_yet", "taken", "outside", "pages"), known),
        **dict.fromkeys(("third", "written_back", "sorted_again", "global"), same + known),
    }


def test_snapshots_keep_to_their_share_of_the_memory(driver: Driver) -> None:
    numbers, _ = driver.run("snapshots", memory_bytes=4096 * 16 - 1)
    assert [numbers[name] for name in ("second", "third", "global")] == [1, 1, 1]


def test_many_loops_that_copy_leave_their_copies_again(driver: Driver) -> None:
    numbers, _ = driver.run("copying")
    assert numbers == {"known": 3 * 1023, "filled": 2 * 3 * 1023}


def test_temporaries_that_exchange_their_contents_are_others(driver: Driver) -> None:
    numbers, _ = driver.run("exchanged")
    assert numbers == {"first": 0, "exchanged": 0}


def test_a_loop_that_is_met_first_is_one_row(driver: Driver) -> None:
    numbers, trace = driver.run("ranges")
    results = [numbers[name] for name in ("first", "second", "third", "segments", "overwritten")]
    assert results == [1, 1, 2, 1, 0]  # taken twice, then known; taken; recorded by hooks
    assert (numbers["nest"], numbers["nest_over_copy"]) == (1, 0)
    is_range = trace.heads["flags"] & abi.ROW_FAMILY != 0
    assert trace.cells["count"][is_range].tolist() == [3, 1, 1]
    field, series = numbers["field"], numbers["series"]
    words = trace.labels.view(np.uint64)[: int(trace.heads["num_labels"][is_range].sum())].tolist()

    def segment(round_: int, rounds: int, label: int) -> list[int]:
        sink = series + 2 * (1000 + round_)
        return [1 | 1 << 48, rounds, 5 | 2 << 32, sink, 2, label, 2, field, 0]

    own, copied = segment(0, 4, series), segment(4, 3, series + 2 * 54)
    other, rest = segment(7, 1, series + 2 * 60), segment(8, 2, series + 2 * 58)
    nest = [2 | 1 << 48, 3, 4, 6 | 1 << 32, series + 2 * 2000, 8, 2, series + 2 * 100, 0, 2]
    assert words == segment(0, 10, series) + nest + own + copied + other + rest
    # the hooks recorded the ten rows once more: the graph has each of them once
    assert sum(not r for r in is_range.tolist()) == 10


def test_a_loop_is_known_in_several_states_of_the_shadow(driver: Driver) -> None:
    """Three states replace each other at first; from the third turn on all four are known."""
    numbers, trace = driver.run("states")
    assert numbers == {"known": 2 + 4 * 4}
    assert trace.cells["count"].tolist() == [6] * (4 * 10)


def test_sums_that_are_met_first_are_one_row(driver: Driver) -> None:
    numbers, trace = driver.run("nests")
    results = [numbers[name] for name in ("first", "second", "third", "copied", "few")]
    assert results == [1, 1, 2, 0, 0]
    is_nest = trace.heads["flags"] & abi.ROW_FAMILY != 0
    assert trace.cells["count"][is_nest].tolist() == [3]
    field, series = numbers["field"], numbers["series"]
    a_sum = [7 | 2 << 32 | abi.FAMILY_SUM, 10, series, 20, 2, field, 0, 0]
    store = [5 | 1 << 32 | 1 << 40, series + 2000, 2, 0, 0]
    words = trace.labels.view(np.uint64)[: int(trace.heads["num_labels"][is_nest].sum())].tolist()
    assert words == [1 | 2 << 48, 6, *a_sum, *store]
