"""Finds the MPI library that a launcher belongs to: flavour, flags to compile against it."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.program.frontend.toolchain import run_tool

_TIMEOUT_S = 60.0
_LAUNCHERS = ("mpiexec", "mpirun", "orterun", "prterun")
# Text of `launcher --version` -> how the launcher passes variables on to the ranks.
_FLAVOURS = (
    ("open mpi", "openmpi"),
    ("openrte", "openmpi"),
    ("prrte", "openmpi"),
    ("hydra", "hydra"),
    ("intel(r) mpi", "hydra"),
)


@dataclass(frozen=True, slots=True)
class MpiLibrary:
    """An installed MPI."""

    flavour: str  # ``hydra`` (MPICH and its relatives), ``openmpi`` or ``other``
    version: str  # first line of the launcher's or compiler wrapper's version
    include_flags: tuple[str, ...]  # ``-I`` flags that find ``mpi.h``
    link_flags: tuple[str, ...]  # flags that link its C library


def find_mpi(program: Path, mpicc: str = "") -> MpiLibrary:
    """MPI library of the launcher ``program``, or of the compiler wrapper ``mpicc``.

    When ``mpicc`` is empty, it is the one beside the launcher or else on the path. A :class:`ConfigError` if
    there is none, or it does not say what it would do.
    """
    flavour, version = _flavour(program) if is_launcher(program) else ("other", "")
    wrapper = _wrapper(program, mpicc)
    shown = _output([str(wrapper), "-show"])
    words = shlex.split(shown.strip().splitlines()[0]) if shown.strip() else []
    include = [w for w in words if w.startswith("-I")]
    folders = [w for w in words if w.startswith("-L")]
    libraries = [w for w in words if w.startswith("-l") and "mpi" in w and not w.endswith(("cxx", "fort"))]
    if not libraries:
        raise ConfigError(
            f"expected {wrapper.name} -show to name the MPI library, found {shown.strip()!r}",
            where=str(wrapper),
            hint="name the compiler wrapper of the program's MPI with --mpicc",
        )
    paths = [f"-Wl,-rpath,{folder[2:]}" for folder in folders if folder[2:]]
    return MpiLibrary(flavour, version, tuple(include), (*folders, *paths, *libraries))


def is_launcher(program: Path) -> bool:
    """``program`` is an mpiexec of some MPI."""
    return program.name.startswith(_LAUNCHERS)


def _flavour(program: Path) -> tuple[str, str]:
    text = _output([str(program), "--version"])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for mark, flavour in _FLAVOURS:
        if mark in text.lower():
            number = next((line.split()[-1] for line in lines if line.lower().startswith("version:")), "")
            name = f"MPICH (Hydra {number})" if mark == "hydra" else lines[0]
            return flavour, name
    return "other", lines[0] if lines else ""


def _wrapper(program: Path, mpicc: str) -> Path:
    if mpicc:
        named = shutil.which(mpicc)
        if named is None:
            raise ConfigError(f"expected a compiler wrapper, found no program {mpicc!r}", where="--mpicc")
        return Path(named)
    for candidate in _candidates(program):
        if candidate.is_file():
            return candidate
    raise ConfigError(
        "expected mpicc beside the launcher or on the path, found none",
        where=str(program),
        hint="the counter needs mpi.h: install the MPI's development files, or name its mpicc with --mpicc",
    )


def _candidates(program: Path) -> Iterable[Path]:
    """``mpiexec.openmpi`` -> ``mpicc.openmpi``, before plain ``mpicc`` beside it or on the path."""
    if is_launcher(program):
        for path in (program, program.resolve()):
            suffix = path.name.partition(".")[2] if not path.name.endswith(".hydra") else ""
            if suffix:
                yield path.with_name(f"mpicc.{suffix}")
        yield program.with_name("mpicc")
    found = shutil.which("mpicc")
    if found is not None:
        yield Path(found)


def _output(command: list[str]) -> str:
    try:
        done = run_tool(command, timeout_s=_TIMEOUT_S)
    except OSError as error:
        raise ConfigError(f"{command[0]} cannot be started: {error}") from error
    return done.stdout or done.stderr
