"""Chooses the compiler: the clang that comes with the ``ziglang`` wheel, or one that the user names.

Also finds sources and headers of the runtime shim, and runs external tools (compiler, linker, optimiser
child) with a time limit.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from commanalyzer.foundation.errors import CompileError, RuntimeBuildError


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool left behind; undecodable bytes are replaced.

    The exit status is the negative signal number when a signal ended it, and ``None`` after a time-out.
    """

    exit_status: int | None
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """The tool ended with status 0."""
        return self.exit_status == 0

    def last_lines(self, count: int = 20) -> str:
        """The last non-empty lines of standard error (of standard output when that is empty)."""
        text = self.stderr.strip() or self.stdout.strip()
        return "\n".join([line for line in text.splitlines() if line.strip()][-count:])


def run_tool(
    command: Sequence[str],
    *,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> ToolOutput:
    """Output of ``command``, run without a terminal; OSError if it cannot be started at all.

    After ``timeout_s`` seconds, it and all that it started are killed. ``environment`` is added to that of
    this process.
    """
    try:
        with subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            cwd=directory,
            start_new_session=True,
        ) as process:
            try:
                output, errors = process.communicate(timeout=timeout_s)
            except BaseException:  # compilers are drivers of others, which would go on
                os.killpg(process.pid, signal.SIGKILL)
                raise
    except subprocess.TimeoutExpired as expired:
        return ToolOutput(None, _text(expired.stdout), _text(expired.stderr))
    return ToolOutput(process.returncode, _text(output), _text(errors))


def tool_bytes(command: Sequence[str], *, timeout_s: float) -> bytes | None:
    """What ``command`` writes to standard output, as it is; none if it fails or takes longer.

    Raises OSError if the program cannot be started at all.
    """
    try:
        done = subprocess.run(
            list(command), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def end_with_children(process: subprocess.Popen[bytes]) -> None:
    """End a compiler, if it has not ended, and what it started: compilers are drivers of others."""
    if process.poll() is None:
        import psutil  # rarely needed, and slow to import

        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        process.kill()
        process.wait()


BUNDLED_REFUSES = re.compile(r"[\x00-\x1f\\:]")
"""In the name of a source, but not in that of its directory: zig does not find what it wrote then."""


def shell_words(text: str, where: str) -> list[str]:
    """Words of a command line, split as a shell does; CompileError if a quote is not closed."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise CompileError(
            f"expected words as in a shell, found: {str(error).lower()}", where=where
        ) from error


def program_path(name: str, where: str, hint: str = "", what: str = "compiler") -> str:
    """Path of a program on the search path; CompileError if there is none."""
    program = shutil.which(name)
    if program is None:
        raise CompileError(f"expected a {what}, found no program named {name!r}", where=where, hint=hint)
    return program


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", errors="replace")


def shim_directory() -> Path:
    """Sources and headers of the shim: inside an installed package, or beside it in a checkout."""
    packaged = Path(str(importlib.resources.files("commanalyzer"))) / "_runtime_shim"
    beside = Path(__file__).resolve().parents[3] / "runtime_shim"
    for path in (packaged, beside):
        if (path / "include" / "comm_shim.h").is_file():
            return path
    raise RuntimeBuildError(
        "the sources of the runtime shim are missing from the installation",
        where=str(packaged),
        hint="reinstall commanalyzer",
    )


def include_directory() -> Path:
    """Directory of ``commanalyzer.h``, for the user's own build."""
    return shim_directory() / "include"


Language = Literal["c", "c++", "fortran"]

# llvmlite reads bitcode up to its own LLVM version; a newer compiler's output may not parse.
NEWEST_CLANG = 22
_PROBE_TIMEOUT_S = 60.0
# What gcc accepts of C before 1999, with a warning.
_OLD_C = (
    "implicit-int", "implicit-function-declaration", "int-conversion", "return-mismatch",
    "incompatible-pointer-types", "incompatible-function-pointer-types",
)  # fmt: skip
BUNDLED_TARGET = (
    *("-target", "x86_64-linux-gnu", "-mcpu=baseline"),
    "-UNDEBUG",  # zig defines it with -O
    *map("-Wno-error={}".format, _OLD_C),
)


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler that can write LLVM bitcode and link."""

    cc: tuple[str, ...]  # command prefix for C
    cxx: tuple[str, ...]  # command prefix for C++ (also links programs that contain C++)
    target_flags: tuple[str, ...]  # flags that fix target, CPU and language; empty for a user's compiler
    bundled: bool  # it is the one from the ``ziglang`` wheel
    version: str

    def driver(self, language: Language) -> tuple[str, ...]:
        """Command prefix that compiles or links ``language``."""
        return self.cxx if language == "c++" else self.cc


def find_toolchain(compiler: str = "") -> Toolchain:
    """Compiler to use: ``compiler``, else ``$CC`` (unless it is our own wrapper), else the bundled clang.

    Raises CompileError if the named compiler does not exist or cannot write LLVM bitcode (gcc), and
    RuntimeBuildError if no compiler was named and the ``ziglang`` wheel is missing.
    """
    if compiler.strip():
        return _user_toolchain(shell_words(compiler, "--cc"), "--cc")
    from_environment = os.environ.get("CC", "").strip()
    words = shell_words(from_environment, "CC")
    if words and not is_wrapper(words):
        return _user_toolchain(words, "CC")
    return bundled_toolchain()


def bundled_toolchain() -> Toolchain:
    """The clang of the ``ziglang`` wheel, for a generic x86-64 CPU; RuntimeBuildError if that is missing."""
    zig = bundled_compiler("c")[0]
    version = _bundled_version(zig)
    return Toolchain((zig, "cc"), (zig, "c++"), BUNDLED_TARGET, True, f"{version} (ziglang)")


@cache
def _bundled_version(zig: str) -> str:
    """Asked once per process: a package does not change while it is in use."""
    hint = "it needs a cache that can be written: ~/.cache/zig, or the folder that ZIG_GLOBAL_CACHE_DIR names"
    return _version((zig, "cc"), "ziglang", hint)


def bundled_compiler(language: Language) -> tuple[str, ...]:
    """Command of the bundled compiler, without target flags; starts no program.

    Raises RuntimeBuildError if the wheel is missing.
    """
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        raise RuntimeBuildError(
            "no C compiler: expected the ziglang package, found none",
            hint="pip install ziglang, or name a clang with --cc",
        )
    return (str(Path(spec.origin).parent / "zig"), "c++" if language == "c++" else "cc")


def is_wrapper(words: Sequence[str]) -> bool:
    """The command calls one of our own compiler wrappers: it must not be called from inside one."""
    return any(Path(word).name.startswith("commanalyzer") for word in words)


def _user_toolchain(command: list[str], origin: str) -> Toolchain:
    hint = "install it, give its full path, or leave it out to use the bundled clang"
    program = program_path(command[0], origin, hint)
    cc = (program, *command[1:])
    version = _version(cc, origin)
    if "clang" not in version.lower():
        raise CompileError(
            f"expected a compiler that writes LLVM bitcode (clang), found {version!r}",
            where=origin,
            hint="use --cc clang, or unset CC to use the bundled clang",
        )
    major = re.search(r"version (\d+)", version)
    if major and int(major.group(1)) > NEWEST_CLANG:
        raise CompileError(
            f"expected clang {NEWEST_CLANG} or older, found {version!r}",
            where=origin,
            hint="its bitcode is newer than the LLVM inside llvmlite; use an older clang or the bundled one",
        )
    beside = cxx_beside(program)
    cxx = beside if Path(beside).exists() else program
    return Toolchain(cc, (cxx, *command[1:]), (), False, version)


def cxx_beside(program: str) -> str:
    """C++ driver next to a C driver: ``clang-19`` -> ``clang++-19``; the same if its name has none."""
    path = Path(program)
    for c_name, cxx_name in (("clang", "clang++"), ("gcc", "g++")):
        if c_name in path.name and cxx_name not in path.name:
            sibling = path.name.replace(c_name, cxx_name, 1)
            return str(path.with_name(sibling)) if "/" in program else sibling
    return "c++" if path.name == "cc" else program


def _version(command: tuple[str, ...], origin: str, hint: str = "") -> str:
    try:
        output = run_tool([*command, "--version"], timeout_s=_PROBE_TIMEOUT_S)
    except OSError as error:
        raise CompileError(f"the compiler {command[0]} cannot be started: {error}", where=origin) from error
    if not output.ok:
        raise CompileError(
            f"expected {command[0]} --version to work, found: {output.last_lines(3) or 'no output'}",
            where=origin,
            hint=hint,
        )
    lines = output.stdout.strip().splitlines()
    return lines[0].strip() if lines else ""
