"""Fortran through flang: finds the compiler, compiles to LLVM IR, names the runtime libraries to link.

flang lowers most array intrinsics to loops before LLVM runs. That part is wanted; LLVM's passes are not (they
would vectorise and unroll), so all of those that may be skipped are.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import CompileError, RuntimeBuildError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.program.frontend.drivers.option_table import LANGUAGE_OF_SUFFIX, OPENMP
from commanalyzer.program.frontend.regions import MACRO, with_fortran_marks
from commanalyzer.program.frontend.toolchain import (
    NEWEST_CLANG,
    ToolOutput,
    program_path,
    run_tool,
    shell_words,
)

FORTRAN_SUFFIXES = frozenset(s for s, language in LANGUAGE_OF_SUFFIX.items() if language == "fortran")
ENVIRONMENT = "COMMANALYZER_FC"

# The newest whose bitcode the LLVM inside llvmlite reads comes first.
_KNOWN = (*map("flang-{}".format, (22, 21, 20, "new-20", "new-19", 19, "new")), "flang")
# -O2 lets flang inline intrinsics; a bisect limit of 0 makes LLVM skip all optional passes (and say so).
_COMPILE_FLAGS = ("-O2", "-g", "-mllvm", "-opt-bisect-limit=0", "-emit-llvm", "-S")
_PASS_NOISE = re.compile(r"^BISECT: .*\n?", re.MULTILINE)
_TIMEOUT_S = 600.0
_HINT = "install LLVM's flang (Debian: apt-get install flang-19), or name it with --fc or COMMANALYZER_FC"


@dataclass(frozen=True, slots=True)
class FortranCompiler:
    """An LLVM flang: its command with the user's flags, the first line of ``--version``, its number."""

    command: tuple[str, ...]
    version: str
    major: int


def find_fortran(command: str = "") -> FortranCompiler:
    """The Fortran compiler: ``command``, else ``$COMMANALYZER_FC``, else a flang on the search path.

    Raises CompileError if there is none, it is not LLVM's flang, or too new for llvmlite.
    """
    for text, origin in ((command, "--fc"), (os.environ.get(ENVIRONMENT, ""), ENVIRONMENT)):
        if text.strip():
            return _checked(shell_words(text, origin), origin)
    for name in installed_compilers():
        return _checked([name], name)
    raise CompileError(f"no Fortran compiler: expected one of {', '.join(_KNOWN)}, found none", hint=_HINT)


def installed_compilers() -> tuple[str, ...]:
    """Names of the known compilers on the search path, each compiler once, the newest first."""
    found: dict[str, str] = {}
    for name in _KNOWN:
        program = shutil.which(name)
        if program:
            found.setdefault(os.path.realpath(program), name)
    return tuple(found.values())


def _checked(command: list[str], origin: str) -> FortranCompiler:
    program = program_path(command[0], origin, _HINT, "Fortran compiler")
    output = run_tool([program, "--version"], timeout_s=_TIMEOUT_S)
    version = (output.stdout.strip().splitlines() or [""])[0].strip()
    major = re.search(r"version (\d+)", version)
    if "flang" not in version.lower() or major is None:
        raise CompileError(
            f"expected a Fortran compiler that writes LLVM bitcode (flang), found {version!r}",
            where=origin,
            hint=_HINT,
        )
    if int(major.group(1)) > NEWEST_CLANG:
        raise CompileError(
            f"expected flang {NEWEST_CLANG} or older, found {version!r}",
            where=origin,
            hint="its bitcode is newer than the LLVM inside llvmlite",
        )
    return FortranCompiler((program, *command[1:]), version, int(major.group(1)))


def compile_fortran(
    source: Path, module: Path, compiler: FortranCompiler, flags: Sequence[str], module_directory: Path
) -> str:
    """Compile one source to LLVM IR, as text, and return the compiler's warnings.

    What the source uses was compiled before; ``.mod`` files are written to and found in ``module_directory``.
    Of ``flags``, those of the whole program, only include paths and macros concern Fortran. Raises
    CompileError if the source is refused or takes too long.
    """
    name = f"./{source}" if str(source).startswith("-") else str(source)
    # pragmas are analysed as sequential code, and lines for OpenMP alone (!$) are comments
    words = [word for word in compiler.command if not word.startswith(OPENMP)]
    command = [
        *words, *_COMPILE_FLAGS, f"-D{MACRO}", *fortran_flags(flags),
        "-module-dir", str(module_directory), name, "-o", str(module),
    ]  # fmt: skip
    output = run_tool(command, timeout_s=_TIMEOUT_S)
    messages = _PASS_NOISE.sub("", output.stderr).strip()
    if output.exit_status is None:
        raise CompileError(f"expected flang to finish within {_TIMEOUT_S:.0f} s", where=str(source))
    if not output.ok or not module.exists():
        text = ToolOutput(output.exit_status, output.stdout, messages).last_lines()
        hint = 'give flags with the compiler: --fc "flang -Iinclude"'
        if re.search(r"Cannot (parse|read) module file", text):
            hint = "give the sources in the order of their modules: first those that others use"
        refused = f"the Fortran compiler refused the source:\n{text or 'no message'}"
        raise CompileError(refused, where=str(source), hint=hint)
    module.write_text(with_fortran_marks(module.read_text()))
    return messages


def fortran_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """Include paths and macros among the flags of the C compiler."""
    chosen: list[str] = []
    follows = False
    for flag in flags:
        if follows or flag.startswith(("-I", "-D", "-U")):
            chosen.append(flag)
        follows = flag in ("-I", "-D", "-U")
    return tuple(chosen)


def runtime_libraries(compiler: FortranCompiler) -> tuple[str, ...]:
    """Paths of flang's libraries, as its driver would link them; RuntimeBuildError if there is none."""
    with scratch_directory() as scratch:
        stub = Path(scratch) / "program.o"
        stub.write_bytes(b"")
        output = run_tool([*compiler.command, "-###", str(stub), "-o", "program"], timeout_s=_TIMEOUT_S)
    shown = (line for line in output.stderr.splitlines() if line.startswith(' "'))
    words = [word for line in shown for word in shlex.split(line)]
    folders = [Path(word[2:]) for word in words if word.startswith("-L")]
    found: list[str] = []
    for word in words:
        if re.fullmatch(r"-l(Fortran\w*|flang_rt\S*)", word):
            # the static one first: the recorder can then see its allocations
            files = (folder / f"lib{word[2:]}{suffix}" for suffix in (".a", ".so") for folder in folders)
            found += [str(path) for path in files if path.is_file()][:1]
        elif re.search(r"/lib(Fortran|flang_rt)[^/]*$", word):
            found.append(word)
    if not found:
        raise RuntimeBuildError(
            f"expected the runtime libraries of {compiler.version}, found none",
            where=compiler.command[0],
            hint="reinstall flang with its runtime",
        )
    return tuple(dict.fromkeys(found))
