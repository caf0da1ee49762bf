"""Starts an MPI program with the byte counter in its ranks.

Builds the byte counter as a shared library, once per MPI library.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.checking.counting.merge import counted_result, read_rank_files
from commanalyzer.checking.counting.mpi import MpiLibrary, find_mpi
from commanalyzer.foundation.errors import ConfigError, RuntimeBuildError, TargetRunError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.program.frontend.cache import cached_file, content_key
from commanalyzer.program.frontend.toolchain import bundled_toolchain, run_tool, shim_directory
from commanalyzer.recording.runtime.launch import RunLimits, TargetRun, run_target
from commanalyzer.result.provenance import collect_provenance
from commanalyzer.result.results import AnalysisResult

_FLAGS = ("-std=gnu11", "-O2", "-g0", "-fPIC", "-shared", "-fno-sanitize=all", "-Wall", "-Wextra")
_TIMEOUT_S = 300.0


def build_interposer(mpi: MpiLibrary) -> Path:
    """Shared library that counts the calls of programs of ``mpi``; compiled at first use, then cached.

    Raises:
        RuntimeBuildError: If it does not compile against this MPI.
        ConfigError: If the cache is not usable.
    """
    toolchain = bundled_toolchain()
    folder = shim_directory() / "mpi"
    sources = sorted(folder.glob("*.c"))
    texts = [path.read_bytes() for path in sorted(folder.glob("*.[chi]*"))]
    compiler = [*toolchain.cc, *toolchain.target_flags, *_FLAGS]
    command = [*compiler, *mpi.include_flags, *map(str, sources), *mpi.link_flags]
    key = content_key(["mpi counter", toolchain.version, *command, *texts, *_headers(mpi)])

    def produce(draft: Path) -> None:
        output = run_tool([*command, "-o", str(draft)], timeout_s=_TIMEOUT_S)
        if not output.ok:
            raise RuntimeBuildError(
                f"the byte counter does not compile against this MPI:\n{output.last_lines()}",
                where=" ".join(mpi.include_flags),
                hint="MPI 3 or newer with its development files is needed",
            )

    return cached_file(key, ".so", produce)


def _headers(mpi: MpiLibrary) -> list[bytes]:
    """Content of ``mpi.h``: another version in the same place is another binary interface."""
    paths = [Path(flag[2:]) / "mpi.h" for flag in mpi.include_flags]
    return [path.read_bytes() for path in paths if path.is_file()]


@dataclass(frozen=True, slots=True)
class CountRequest:
    """What to count."""

    command: tuple[str, ...]  # launcher, its options, program and arguments
    region: str = ""  # mark or function that the result's leading matrix covers; empty for the whole run
    mpicc: str = ""  # compiler wrapper of the program's MPI; found beside the launcher when empty
    timeout_s: float | None = None  # limit of the run, seconds
    output_to_stderr: bool = False  # the program's standard output goes to standard error
    discard_output: bool = False  # the program's standard output goes nowhere


def count(request: CountRequest) -> AnalysisResult:
    """Counted bytes of one run of an MPI program.

    Raises:
        ConfigError: If the launcher or its MPI is not found, or the region is unknown.
        RuntimeBuildError: If the counter cannot be built for this MPI.
        TargetRunError: If the program cannot be started, is ended by a signal, or no rank reports.
    """
    if not request.command:
        raise ConfigError("expected a command after --, such as: mpiexec -n 4 ./program", where="count")
    found = shutil.which(request.command[0])
    if found is None:
        raise ConfigError(f"expected a launcher, found no program {request.command[0]!r}", where="count")
    program = Path(found).absolute()  # a path drops the ./ without which it would be looked for elsewhere
    mpi = find_mpi(program, request.mpicc)
    library = build_interposer(mpi)
    with scratch_directory() as folder:
        run = _run(request, program, mpi, library, Path(folder))
        ranks = read_rank_files(Path(folder))
    if not ranks:
        raise TargetRunError(
            f"expected counts from every rank, found none (exit status {run.exit_status})",
            where=" ".join(request.command),
            hint="the program must call MPI_Init and be linked dynamically with the launcher's MPI (or name "
            "it with --mpicc); with ranks on other hosts, set TMPDIR to a directory that all of them see",
        )
    provenance = collect_provenance(compiler=mpi.version, flags=(), input_hashes=(), seed=0)
    return counted_result(request.command, mpi.version, request.region, run, ranks, provenance)


def _run(request: CountRequest, program: Path, mpi: MpiLibrary, library: Path, folder: Path) -> TargetRun:
    preload = os.environ.get("LD_PRELOAD", "")
    variables = {
        "LD_PRELOAD": f"{library}:{preload}" if preload else str(library),
        "COMMANALYZER_COUNTS": str(folder),
        **({"COMMANALYZER_REGION": request.region} if request.region else {}),
    }
    options = launcher_options(mpi.flavour, variables)
    stdout = sys.stderr.fileno() if request.output_to_stderr else None
    return run_target(
        program,
        with_options(mpi.flavour, options, request.command[1:]),
        stdout=subprocess.DEVNULL if request.discard_output else stdout,
        environment={} if options else variables,
        limits=RunLimits(timeout_s=request.timeout_s),
        label=" ".join(request.command),
    )


def launcher_options(flavour: str, variables: dict[str, str]) -> list[str]:
    """Options that give ``variables`` to the ranks only; none if it passes its own on."""
    if flavour == "hydra":
        return [word for name, value in variables.items() for word in ("-genv", name, value)]
    if flavour == "openmpi":
        return [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
    return []


def with_options(flavour: str, options: Sequence[str], words: Sequence[str]) -> list[str]:
    """Arguments of the launcher with ``options``; Open MPI wants them for each of several programs."""
    if flavour != "openmpi":
        return [*options, *words]
    return [*options, *(part for word in words for part in ((word, *options) if word == ":" else (word,)))]
