import pytest

from commanalyzer.checking.counting.launch import ABORTED, FINALIZED, SPAWNED
from commanalyzer.foundation.errors import ConfigError, TraceError
from tests.counted import merged, rank_counts

# Ranks number their texts in the order in which they meet them.
FIRST = rank_counts(
    0,
    2,
    [(0, 0, 0, 1, 100, 2), (2, 2, 1, 0, 8, 1)],
    [(0, 0, 1, 3, -1, 2, 100, 100, 40, 0), (2, 2, 4, 3, 0, 1, 16, 8, 0, 0)],
    ("", "MPI_Send", "loop", "MPI_COMM_WORLD", "MPI_Reduce"),
)
SECOND = rank_counts(
    1,
    2,
    [(0, 0, 1, 0, 30, 1), (4, 2, 1, 0, 8, 1)],
    [(0, 0, 2, 1, -1, 1, 30, 30, 0, 5), (4, 2, 3, 1, 0, 0, 16, 8, 0, 0)],
    ("", "MPI_COMM_WORLD", "MPI_Send", "MPI_Reduce", "loop"),
)


def test_texts_of_ranks_are_matched_and_records_added() -> None:
    result = merged(FIRST, SECOND)
    assert result.matrix(2).tolist() == [[0, 100], [46, 0]]
    assert result.best(2).communication.messages.tolist() == [[0, 2], [3, 0]]
    assert result.matrix(2, method="whole run, point-to-point").tolist() == [[0, 100], [30, 0]]
    assert result.matrix(2, method="whole run, collectives").tolist() == [[0, 0], [16, 0]]
    assert result.matrix(2, method="region loop").tolist() == [[0, 0], [16, 0]]
    counted = result.counted
    assert counted is not None and counted.regions == ("loop",)
    send, reduce = counted.calls
    assert (send.name, send.operations, send.given_bytes, send.charged_bytes) == ("MPI_Send", 3, 130, 130)
    assert (send.self_bytes, send.unknown_bytes, send.region, send.root) == (40, 5, (), -1)
    assert (reduce.name, reduce.region, reduce.operations, reduce.root) == ("MPI_Reduce", ("loop",), 1, 0)
    assert (counted.self_bytes, counted.unknown_bytes) == (40, 5)
    assert result.warnings == (
        "40 B sent by ranks to themselves are not communication",
        "5 B to or from another group of processes belong to no pair of ranks",
    )


def test_the_order_of_reports_does_not_matter() -> None:
    assert merged(SECOND, FIRST).matrix(2).tolist() == merged(FIRST, SECOND).matrix(2).tolist()


def test_nested_regions_count_into_the_outer_one() -> None:
    report = rank_counts(
        0, 2, [(0, 0, 0, 1, 1, 1), (1, 0, 0, 1, 10, 1), (2, 0, 0, 1, 100, 1)], [], ("a", "a\1b", "\2")
    )
    other = rank_counts(1, 2, [], [], ())
    result = merged(report, other)
    found = {d.method: d.comm_bytes for d in result.decompositions}
    assert found == {"whole run": 11, "region a": 11, "region b": 10}


def test_missing_aborted_and_unfinished_ranks_are_named() -> None:
    reports = [
        rank_counts(0, 5, [], [], (), flags=ABORTED),
        rank_counts(2, 5, [], [], (), flags=0),
        rank_counts(0, 2, [], [], (), flags=FINALIZED | SPAWNED),
    ]
    assert merged(*reports).warnings == (
        "no counts from ranks 1, 3, 4: what they charge is missing",
        "rank 0 called MPI_Abort: counts end there",
        "rank 2 ended without MPI_Finalize: counts end there",
        "1 spawned processes are not counted",
    )


def test_what_cannot_be_seen_is_said() -> None:
    texts = ("", "MPI_Win_shared_query", "MPI_COMM_WORLD")
    calls: list[tuple[int, ...]] = [(0, 0, 1, 2, -1, 4, 0, 0, 0, 0)]
    result = merged(rank_counts(0, 1, [], calls, texts))
    assert result.warnings == ("direct access to shared-memory windows is not counted",)


def test_an_unknown_region_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"\[loop\] or a function that calls MPI, found 'lop'"):
        merged(FIRST, SECOND, region="lop")


def test_reports_of_several_programs_are_refused() -> None:
    with pytest.raises(TraceError, match="one report per rank"):
        merged(FIRST, FIRST)
