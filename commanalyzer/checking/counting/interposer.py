"""Builds the byte counter as a shared library, once per MPI library."""

from __future__ import annotations

from pathlib import Path

from commanalyzer.checking.counting.mpi import MpiLibrary
from commanalyzer.foundation.errors import RuntimeBuildError
from commanalyzer.program.frontend.cache import cached_file, content_key
from commanalyzer.program.frontend.shim import shim_directory
from commanalyzer.program.frontend.subprocesses import run_tool
from commanalyzer.program.frontend.toolchain import bundled_toolchain

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
