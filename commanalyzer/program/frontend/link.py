"""Back end of the front end: LLVM modules and objects in, an executable in the cache out.

Models of runtime libraries in C are linked into the program before it is instrumented. A model
``ca_model_X`` takes the place of the library function X. It calls X for the numbers and repeats in
plain code what flows: instrumentation then sees loops, copies and allocations, not a call into the dark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from commanalyzer.foundation.errors import IrError, RuntimeBuildError
from commanalyzer.program.frontend.cache import cached_file, content_key
from commanalyzer.program.frontend.toolchain import (
    Language,
    Toolchain,
    ToolOutput,
    bundled_toolchain,
    run_tool,
    shim_directory,
)

TO_BITCODE = ("-Xclang", "-disable-llvm-passes", "-emit-llvm")
"""Flags of :func:`build_object` for bitcode: passes are left to the module that it is linked with."""
_LINK_FLAGS = ("-O2", "-fno-sanitize=all", "-Wno-override-module")
_LINK_TIMEOUT_S = 900.0


class BuildTimeoutError(RuntimeBuildError):
    """Code generation or linking took longer than it may."""


def build_executable(
    inputs: Sequence[Path], *, toolchain: Toolchain, language: Language = "c", link_flags: Sequence[str] = ()
) -> Path:
    """Cached executable of objects, archives, sources or modules; their content is part of the key.

    ``link_flags`` (``-L``, ``-l``) stand at the end of the command. Raises RuntimeBuildError with the last
    lines if linking fails, ConfigError if the cache is not usable.
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
    """Cached object file of one C or C++ source, or LLVM module.

    Args:
        flags: After our own flags.
        include: Folder of headers; where it is does not matter.
        depends_on: Headers whose content is part of the key.
        inlined: Bitcode from the cache that a module is linked with before it is optimised, one after the
            other: what is called so far, which nobody else sees.

    Raises:
        BuildTimeoutError: If it takes longer than ``timeout_s`` seconds.
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
    hint = 'give the file that defines the missing symbols, or the library with --ldflags "-L... -l..."'
    failed = f"code generation or linking failed:\n{text or 'no message'}"
    return RuntimeBuildError(failed, hint=hint if missing else "")


PREFIX = "ca_model_"
_MODELS = ("fortran.c", "fortran_reductions.c")
_FLAGS = ("-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-Werror", "-fno-sanitize=all")
_FORTRAN = b"_FortranA"
_VERSION = re.compile(r"_\d\d$")
_EMPTY_RESULT = re.compile(r"(?:%[-\w$.]+ = )?((?:tail |musttail |notail )?)call \{\} @_Fortran")
_EMPTY_DECLARED = re.compile(r"^(declare [^@\n]*?)\{\} @_Fortran", re.MULTILINE)


def uses_fortran(modules: Iterable[bytes]) -> bool:
    """Whether a module (text or bitcode, both hold symbol names in the clear) calls flang's runtime."""
    return any(_FORTRAN in data for data in modules)


def fortran_models() -> tuple[Path, ...]:
    """Bitcode of the Fortran models, compiled once."""
    folder = shim_directory() / "models"
    return tuple(_built(folder / name, *TO_BITCODE) for name in _MODELS)


def fortran_support() -> Path:
    """Object with the helpers of the Fortran models, compiled once."""
    return _built(shim_directory() / "models" / "fortran_support.c")


def _built(source: Path, *flags: str) -> Path:
    headers = [source.with_name("fortran.h")]
    return build_object(source, toolchain=bundled_toolchain(), flags=(*_FLAGS, *flags), depends_on=headers)


def chosen_models(declared: Mapping[str, str], models: Mapping[str, str]) -> dict[str, str]:
    """The model of each declared function that has one, from the LLVM types of functions and of models.

    Models of a function whose parameters changed end in the version of flang that they start with. Raises
    IrError if a function has models, but none with its parameters.
    """
    of_function: dict[str, list[str]] = {}
    for model in models:
        if model.startswith(PREFIX):
            of_function.setdefault(_VERSION.sub("", model.removeprefix(PREFIX)), []).append(model)
    chosen = {}
    for name, kind in declared.items():
        known = [model for model in (*of_function.get(name, ()), f"{PREFIX}{name}") if model in models]
        found = next((model for model in known if models[model] == kind.replace("{}", "void", 1)), None)
        if found is not None:
            chosen[name] = found
        elif known:
            raise IrError(
                f"expected {' or '.join(dict.fromkeys(models[model] for model in known))}, found {kind}",
                where=name,
                hint="use flang 19 to 22",
            )
    return chosen


def redirect_calls(text: str, models: Mapping[str, str]) -> str:
    """Module text in which modelled functions are called by the names of their models.

    flang gives functions without result an empty structure as result; the models have none. Every value
    of the module must have a name. ``models`` is from :func:`chosen_models`.
    """
    text = _EMPTY_RESULT.sub(r"\1call void @_Fortran", text)
    text = _EMPTY_DECLARED.sub(r"\1void @_Fortran", text)
    return re.sub(r"@(_FortranA\w+)\b", lambda m: f"@{models.get(m.group(1), m.group(1))}", text)


def hide_models(text: str) -> str:
    """Module text in which the linked models are internal: inlined, or dropped when unused."""
    return re.sub(rf"^define (?:dso_local )?(.*@{PREFIX})", r"define internal \1", text, flags=re.MULTILINE)
