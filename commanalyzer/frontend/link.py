"""Back end of the front end: LLVM modules and objects in, an executable in the cache out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from commanalyzer.errors import RuntimeBuildError
from commanalyzer.frontend.cache import cached_file, content_key
from commanalyzer.frontend.subprocesses import ToolOutput, run_tool
from commanalyzer.frontend.toolchain import Language, Toolchain

TO_BITCODE = ("-Xclang", "-disable-llvm-passes", "-emit-llvm")
"""Flags of :func:`build_object` for bitcode: passes are left to the module that it is linked with."""
_LINK_FLAGS = ("-O2", "-fno-sanitize=all", "-Wno-override-module")
_LINK_TIMEOUT_S = 900.0


def build_executable(
    ir_text: str,
    *,
    toolchain: Toolchain,
    language: Language = "c",
    extra_inputs: Sequence[Path] = (),
    flags: Sequence[str] = (),
    link_flags: Sequence[str] = (),
) -> Path:
    """Cached executable of a module.

    Args:
        ir_text: LLVM module text.
        toolchain: Compiler that generates code and links.
        language: ``c++`` links with its standard library.
        extra_inputs: Objects, archives, sources or modules linked in; their content is part of the key.
        flags: Code generation flags, after our own.
        link_flags: At the end of the command (``-L``, ``-l``).

    Raises:
        RuntimeBuildError: If code generation or linking fails; carries the last lines.
        ConfigError: If the cache is not usable.
    """
    prefix = [*toolchain.driver(language), *toolchain.target_flags, *_LINK_FLAGS, *flags]
    suffix = [*map(str, extra_inputs), *link_flags, "-lm"]
    key = _build_key("executable", ir_text, toolchain, [*prefix, "|", *suffix], extra_inputs)

    def produce(draft: Path) -> None:
        module = draft.with_name("program.ll")
        module.write_text(ir_text)
        _build([*prefix, str(module), *suffix, "-o", str(draft)], draft)

    return cached_file(key, "", produce)


def build_object(
    source: Path,
    *,
    toolchain: Toolchain,
    language: Language = "c",
    flags: Sequence[str] = (),
    include: Path | None = None,
    depends_on: Sequence[Path] = (),
) -> Path:
    """Cached object file of one source or module.

    Args:
        source: C or C++ source, or LLVM module.
        toolchain: Compiler.
        language: Driver to use.
        flags: After our own flags.
        include: Folder of headers; where it is does not matter.
        depends_on: Headers whose content is part of the key.

    Raises:
        RuntimeBuildError: If compilation fails; carries the last lines.
        ConfigError: If the cache is not usable.
    """
    command = [*toolchain.driver(language), *toolchain.target_flags, *_LINK_FLAGS, *flags, "-c"]
    key = _build_key("object", source.read_bytes(), toolchain, [*command, source.name], depends_on)
    if include is not None:
        command += ["-I", str(include)]
    return cached_file(key, ".o", lambda draft: _build([*command, str(source), "-o", str(draft)], draft))


def _build_key(
    kind: str, content: str | bytes, toolchain: Toolchain, command: Sequence[str], files: Sequence[Path]
) -> str:
    return content_key(
        [kind, toolchain.version, *command, "|", content, "|", *(path.read_bytes() for path in files)]
    )


def _build(command: Sequence[str], product: Path) -> None:
    try:
        output = run_tool(command, timeout_s=_LINK_TIMEOUT_S)
    except OSError as error:
        raise RuntimeBuildError(f"the compiler cannot be started: {error}", where=command[0]) from error
    if not output.ok or not product.exists():
        raise _failure(output)


def _failure(output: ToolOutput) -> RuntimeBuildError:
    if output.exit_status is None:
        return RuntimeBuildError(f"expected the linker to finish within {_LINK_TIMEOUT_S:.0f} s")
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
