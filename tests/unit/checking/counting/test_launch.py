from pathlib import Path

import numpy as np
import pytest

from commanalyzer.checking.counting.launch import (
    ABORTED,
    FINALIZED,
    HEADER,
    MAGIC,
    SPAWNED,
    find_mpi,
    launcher_options,
    program_name,
    read_rank_file,
    read_rank_files,
    with_options,
)
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


def _script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_the_wrapper_beside_the_launcher_names_the_library(tmp_path: Path) -> None:
    launcher = _script(tmp_path / "mpiexec.lab", "echo 'mpiexec (OpenRTE) 4.1.4'")
    _script(tmp_path / "mpicc", "echo cc -lwrong_mpi")
    show = "cc -I/opt/mpi/include -pthread -L/opt/mpi/lib -Wl,-z,relro -lmpi_cxx -lmpifort -lmpi -lm"
    _script(tmp_path / "mpicc.lab", f'echo "{show}"')
    found = find_mpi(launcher)
    assert (found.flavour, found.version) == ("openmpi", "mpiexec (OpenRTE) 4.1.4")
    assert found.include_flags == ("-I/opt/mpi/include",)
    assert found.link_flags == ("-L/opt/mpi/lib", "-Wl,-rpath,/opt/mpi/lib", "-lmpi")


def test_hydra_is_recognised(tmp_path: Path) -> None:
    text = "echo 'HYDRA build details:'; echo '    Version:                                 4.2'"
    launcher = _script(tmp_path / "mpirun", text)
    _script(tmp_path / "mpicc", "echo gcc -lmpich")
    assert find_mpi(launcher).flavour == "hydra"
    assert find_mpi(launcher).version == "MPICH (Hydra 4.2)"


def test_another_launcher_needs_a_wrapper_by_name(tmp_path: Path) -> None:
    launcher = _script(tmp_path / "srun", "exit 1")
    wrapper = _script(tmp_path / "my_mpicc", "echo cc -lmpi")
    assert find_mpi(launcher, str(wrapper)).flavour == "other"
    with pytest.raises(ConfigError, match="found no program 'no_mpicc'"):
        find_mpi(launcher, "no_mpicc")
    with pytest.raises(ConfigError, match="to name the MPI library, found 'cc -O2'"):
        find_mpi(launcher, str(_script(tmp_path / "odd", "echo cc -O2")))


def test_each_launcher_passes_variables_to_the_ranks_in_its_way() -> None:
    variables = {"A": "1", "B": "x y"}
    assert launcher_options("hydra", variables) == ["-genv", "A", "1", "-genv", "B", "x y"]
    assert launcher_options("openmpi", variables) == ["-x", "A=1", "-x", "B=x y"]
    assert launcher_options("other", variables) == []


def test_open_mpi_gets_the_variables_for_each_program() -> None:
    words = ("-n", "1", "a", ":", "-n", "2", "b")
    assert with_options("openmpi", ["-x", "A=1"], words) == [
        *("-x", "A=1", "-n", "1", "a", ":"),
        *("-x", "A=1", "-n", "2", "b"),
    ]
    assert with_options("hydra", ["-genv", "A", "1"], words) == ["-genv", "A", "1", *words]


def test_the_program_is_named_by_its_file(tmp_path: Path) -> None:
    app = _script(tmp_path / "app", "")
    assert program_name(("mpiexec", "-n", "4", str(app), "input")) == "app"
    assert program_name(("/usr/bin/mpiexec", "-n", "4", "absent")) == "mpiexec"


def _report(path: Path, magic: int = MAGIC, text: bytes = b"a\0b c\0") -> Path:
    header = np.zeros(1, dtype=HEADER)
    header["magic"], header["rank"], header["size"], header["text_bytes"] = magic, 1, 2, 6
    path.write_bytes(header.tobytes() + text)
    return path


def test_a_report_is_read(tmp_path: Path) -> None:
    found = read_rank_file(_report(tmp_path / "rank-1-7.counts"))
    assert found is not None
    assert (found.rank, found.size, found.texts) == (1, 2, ("a", "b c"))


def test_unfinished_reports_do_not_count(tmp_path: Path) -> None:
    _report(tmp_path / "rank-0-1.counts", magic=0)
    (tmp_path / "rank-1-1.counts").write_bytes(b"short")
    assert read_rank_files(tmp_path) == []


def test_a_damaged_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="expected 54 bytes of counts, found 51"):
        read_rank_file(_report(tmp_path / "rank-1-7.counts", text=b"a\0b"))
