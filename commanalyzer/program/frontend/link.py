"""Back end of the front end: LLVM modules and objects in, an executable in the cache out.

Models of runtime libraries in C are linked into the program before it is instrumented. A model
``ca_model_X`` takes the place of the library function X. It calls X for the numbers and repeats in
plain code what flows: instrumentation then sees loops, copies and allocations, not a call into the dark.

Content-keyed store of compiled results: one file per key, inserted atomically, and a note of its content.

Code from here is run, so nobody else may write here. A file that is not what its note says (a crash of the
system can truncate it) is made again.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from commanalyzer.foundation.errors import ConfigError, IrError, RuntimeBuildError
from commanalyzer.program.frontend.toolchain import (
    Language,
    Toolchain,
    ToolOutput,
    bundled_toolchain,
    run_tool,
    shim_directory,
)

_OWN = stat.S_IRWXU
_looked_at: dict[Path, tuple[int, int, int]] = {}


def cache_directory() -> Path:
    """``$COMMANALYZER_CACHE``, else ``$XDG_CACHE_HOME/commanalyzer``, else ``~/.cache/commanalyzer``.

    Raises ConfigError if it cannot be created or written.
    """
    named = os.environ.get("COMMANALYZER_CACHE", "")
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        path = Path(named or (Path(base) if base else Path.home() / ".cache") / "commanalyzer")
        path.mkdir(mode=_OWN, parents=True, exist_ok=True)
        state = path.stat()
    except (OSError, RuntimeError) as error:
        raise _unusable(named or base or "~/.cache", error) from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise _unusable(str(path), PermissionError("no write permission"))
    user = os.geteuid()
    if state.st_mode & stat.S_IWOTH or (user and state.st_uid not in (user, 0)):
        raise _unusable(str(path), PermissionError("others can write to it, and what lies here is run"))
    return path


def content_key(parts: Iterable[str | bytes]) -> str:
    """Hexadecimal SHA-256 over ``parts``; lengths are hashed too, so moving a boundary changes the key."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def cached_file(key: str, suffix: str, produce: Callable[[Path], None]) -> Path:
    """Path of the cached file for ``key``; ``produce`` writes it when it is not there yet.

    Two processes may produce the same file at once: each writes its own temporary file and the last
    rename wins, with equal content. What ``produce`` raises is passed on, and nothing is inserted. Raises
    ConfigError if the cache directory is not usable.
    """
    shelf = cache_directory() / key[:2]
    target = shelf / f"{key[2:]}{suffix}"
    if _is_complete(target):
        return target
    try:
        shelf.mkdir(mode=_OWN, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch:
            # The suffix is kept: compilers choose what to do by it.
            draft, note = Path(scratch) / f"file{suffix}", Path(scratch) / "note"
            produce(draft)
            draft.chmod(draft.stat().st_mode & _OWN)
            note.write_text(_content(draft))
            note.chmod(_OWN & ~stat.S_IXUSR)
            for path, place in ((draft, target), (note, _note_of(target))):
                with path.open("rb") as stream:
                    os.fsync(stream.fileno())  # it is not empty under its name after a crash of the system
                path.replace(place)
    except OSError as error:
        raise _unusable(str(shelf), error) from error
    return target


def _note_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.note")


def _content(path: Path) -> str:
    """What tells a file from others: its size and SHA-256."""
    data = path.read_bytes()
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}\n"


def _is_complete(target: Path) -> bool:
    """The file is there and holds what its note says; looked at once in each process, as long as it stays."""
    try:
        state = target.stat()
        known = (state.st_ino, state.st_size, state.st_mtime_ns)
        if _looked_at.get(target) != known:
            if _note_of(target).read_text() != _content(target):
                return False
            _looked_at[target] = known
    except (OSError, ValueError):
        return False
    return True


def _unusable(path: str, error: Exception) -> ConfigError:
    return ConfigError(
        f"the cache directory is not usable: {error}",
        where=path,
        hint="set COMMANALYZER_CACHE to a directory that can be written",
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
