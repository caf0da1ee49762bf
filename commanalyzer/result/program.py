"""The program of a saved result, found again.

A result holds no instructions: what asks for them compiles and runs the program anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.result.provenance import file_hash
from commanalyzer.result.results import AnalysisResult


@dataclass(frozen=True, slots=True)
class ProgramOfResult:
    """What to compile and run.

    Attributes:
        sources: Files of the program, unchanged since the analysis.
        arguments: Its command line.
        flags: Flags of the compiler.
    """

    sources: tuple[Path, ...]
    arguments: tuple[str, ...]
    flags: tuple[str, ...]


def require_same_program(result: AnalysisResult, sources: Sequence[Path], arguments: Sequence[str]) -> None:
    """Raise unless ``result`` is of these sources, unchanged, run with these arguments.

    Raises:
        ConfigError: If it is of another program, or of another run of it.
    """
    hashes = sorted(digest for _, digest in result.provenance.input_hashes)
    if result.counted is not None or hashes != sorted(file_hash(path) for path in sources):
        named = ", ".join(name for name, _ in result.provenance.input_hashes) or result.program
        raise ConfigError(
            f"expected a division of the same program, found one of {named}, as it was then",
            where=", ".join(map(str, sources)),
        )
    if tuple(arguments) != result.command[1:]:
        raise ConfigError(
            f"expected the arguments of the division, {' '.join(result.command[1:]) or 'none'}, "
            f"found {' '.join(arguments) or 'none'}",
            where=result.program,
        )


def program_of(result: AnalysisResult, *, arguments: Sequence[str] = ()) -> ProgramOfResult:
    """The program that ``result`` is of.

    Args:
        result: An analysis of sources.
        arguments: Other arguments, such as those of a smaller problem; those of the analysis when empty.

    Raises:
        ConfigError: If the result is not of sources, or one of them is missing or has changed.
    """
    hashes = result.provenance.input_hashes
    if result.counted is not None or not hashes:
        raise ConfigError("expected a result of analysed sources, found another", where=result.program)
    for name, digest in hashes:
        path = Path(name)
        if not path.is_file() or file_hash(path) != digest:
            raise ConfigError(
                f"expected the file as it was analysed, found {'another' if path.is_file() else 'none'}",
                where=name,
                hint="run in the directory of the analysis, give the sources instead, or analyse again",
            )
    given = tuple(arguments) or result.command[1:]
    return ProgramOfResult(tuple(Path(name) for name, _ in hashes), given, result.provenance.flags)
