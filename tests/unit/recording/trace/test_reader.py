from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import TraceError
from commanalyzer.recording import abi
from commanalyzer.recording.abi import ABI_VERSION
from commanalyzer.recording.trace import read_trace

_FIRST_SECTION = 4096


def _write(path: Path, *, magic: int = abi.TRACE_MAGIC, version: int = ABI_VERSION, cut: int = 0) -> Path:
    """A trace with two rows and one run, without its last ``cut`` bytes."""
    columns = {
        "cells": np.array([(11, 3), (13, 1)], dtype=abi.CELL),
        "heads": np.array([(100, 5, 1, 0), (102, 6, 0, 0)], dtype=abi.HEAD),
        "labels": np.array([-7], dtype=abi.LABEL_UNIT),
        "runs": np.array([(40, -2)], dtype=abi.RUN),
    }
    header = np.zeros((), dtype=abi.HEADER)
    header["magic"], header["abi_version"] = magic, version
    header["statistics"]["hash_collisions"], header["statistics"]["unaligned_copies"] = 4, 9
    body = b""
    for index, (name, dtype) in enumerate(abi.SECTIONS):
        column = columns.get(name, np.zeros(0, dtype=dtype))
        header["sections"][index] = (_FIRST_SECTION + len(body), len(column))
        body += column.tobytes()
    text = header.tobytes().ljust(_FIRST_SECTION, b"\0") + body
    path.write_bytes(text[: len(text) - cut])
    return path


def test_columns_and_statistics_are_as_written(tmp_path: Path) -> None:
    trace = read_trace(_write(tmp_path / "trace"))
    assert trace.cells["count"].tolist() == [3, 1]
    assert trace.heads.tolist() == [(100, 5, 1, 0), (102, 6, 0, 0)]
    assert trace.labels.tolist() == [-7]
    assert trace.runs.tolist() == [(40, -2)]
    assert len(trace.groups) == len(trace.extents) == len(trace.block_counters) == 0
    statistics = trace.statistics
    assert (statistics.hash_collisions, statistics.unaligned_copies, statistics.dropped_rows) == (4, 9, 0)


def test_a_missing_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        read_trace(tmp_path / "none")
    assert str(tmp_path / "none") in str(caught.value)


def test_a_trace_without_its_end_mark_is_truncated(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="truncated: its end was never written"):
        read_trace(_write(tmp_path / "trace", magic=0))


@pytest.mark.parametrize("length", [0, 8, 100])
def test_a_file_shorter_than_the_header_is_refused(tmp_path: Path, length: int) -> None:
    path = _write(tmp_path / "trace")
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(TraceError):
        read_trace(path)


def test_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=f"expected trace version {ABI_VERSION}, found 77"):
        read_trace(_write(tmp_path / "trace", version=77))


def test_a_section_that_ends_behind_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="ends inside its section 'runs'"):
        read_trace(_write(tmp_path / "trace", cut=1))
