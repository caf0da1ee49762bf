from pathlib import Path

import numpy as np
import pytest

from commanalyzer.checking.counting.launch import (
    HEADER,
    MAGIC,
    find_mpi,
    launcher_options,
    program_name,
    read_rank_file,
    read_rank_files,
    with_options,
)
from commanalyzer.foundation.errors import ConfigError, TraceError


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
