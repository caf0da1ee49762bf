"""Back end of the front end: LLVM modules and objects in, an executable in the cache out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from commanalyzer.foundation.errors import RuntimeBuildError
from commanalyzer.program.frontend.cache import cached_file, content_key
from commanalyzer.program.frontend.subprocesses import ToolOutput, run_tool
from commanalyzer.program.frontend.toolchain import Language, Toolchain

TO_BITCODE = ("-Xclang", "-disable-llvm-passes", "-emit-llvm")
"""Flags of :func:`build_object` for bitcode: passes are left to the module that it is linked with."""
_LINK_FLAGS = ("-O2", "-fno-sanitize=all", "-Wno-override-module")
_LINK_TIMEOUT_S = 900.0


class BuildTimeoutError(RuntimeBuildError):
    """Code generation or linking took longer than it may."""


def build_executable(
    inputs: Sequence[Path], *, toolchain: Toolchain, language: Language = "c", link_flags: Sequence[str] = ()
) -> Path:
    """Cached executable.

    Args:
        inputs: Objects, archives, sources or modules; their content is part of the key.
        toolchain: Compiler that links.
        language: ``c++`` links with its standard library.
        link_flags: At the end of the command (``-L``, ``-l``).

    Raises:
        RuntimeBuildError: If linking fails; carries the last lines.
        ConfigError: If the cache is not usable.
    """
    command = [*toolchain.driver(language), *toolchain.target_flags, *_LINK_FLAGS, *map(str, inputs)]
    command += [*link_flags, "-lm"]
    key = _build_key("executable", toolchain, command, inputs)
    return cached_file(key, "", lambda draft: _build([*command, "-o", str(draft)], draft, _LINK_TIMEOUT_S))


def build_object(
    source: Path,
    *,
    toolchain: Toolchain,
    flags: Sequence[str] = (),
    include: Path | None = None,
    depends_on: Sequence[Path] = (),
    inlined: Sequence[Path] = (),
    timeout_s: float = _LINK_TIMEOUT_S,
) -> Path:
    """Cached object file of one source or module.

    Args:
        source: C or C++ source, or LLVM module.
        toolchain: Compiler.
        flags: After our own flags.
        include: Folder of headers; where it is does not matter.
        depends_on: Headers whose content is part of the key.
        inlined: Bitcode from the cache that a module is linked with before it is optimised, one after the
            other: what is called so far, which nobody else sees.
        timeout_s: Limit, seconds.

    Raises:
        BuildTimeoutError: If it takes longer.
        RuntimeBuildError: If compilation fails; carries the last lines.
        ConfigError: If the cache is not usable.
    """
    command = [*toolchain.cc, *toolchain.target_flags, *_LINK_FLAGS, *flags, "-c"]
    files = (source, *depends_on, *inlined)
    key = _build_key("object", toolchain, [*command, source.name], files)
    if include is not None:
        command += ["-I", str(include)]
    for path in inlined:
        command += ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(path)]
    command.append(str(source))
    return cached_file(key, ".o", lambda draft: _build([*command, "-o", str(draft)], draft, timeout_s))


def _build_key(kind: str, toolchain: Toolchain, command: Sequence[str], files: Sequence[Path]) -> str:
    return content_key([kind, toolchain.version, *command, "|", *(path.read_bytes() for path in files)])


def _build(command: Sequence[str], product: Path, timeout_s: float) -> None:
    try:
        output = run_tool(command, timeout_s=timeout_s)
    except OSError as error:
        raise RuntimeBuildError(f"the compiler cannot be started: {error}", where=command[0]) from error
    if not output.ok or not product.exists():
        raise _failure(output, timeout_s)


def _failure(output: ToolOutput, timeout_s: float) -> RuntimeBuildError:
    if output.exit_status is None:
        return BuildTimeoutError(f"expected code generation and linking to end within {timeout_s:.0f} s")
    text = output.last_lines()
    missing = "undefined symbol" in text or "undefined reference" in text
    return RuntimeBuildError(
        f"code generation or linking failed:\n{text or 'no message'}",
        hint=(
            'give the file that defines the missing symbols, or the library with --ldflags "-L... -l..."'
            if missing
            else ""
        ),
    )
