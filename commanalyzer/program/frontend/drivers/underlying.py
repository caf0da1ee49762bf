"""Which compilers a wrapper calls: one for the normal program, one for the embedded IR.

``$CC`` is never looked at: in a build, it names the wrapper itself. OpenMP's run-time
functions for one thread are an object file, for programs that do not take our header.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import CompileError
from commanalyzer.program.frontend.inputs.fortran import find_fortran
from commanalyzer.program.frontend.link import build_object
from commanalyzer.program.frontend.toolchain import (
    BUNDLED_TARGET,
    Language,
    bundled_compiler,
    bundled_toolchain,
    cxx_beside,
    is_wrapper,
    program_path,
    run_tool,
    shell_words,
)

_FOLDER = Path(__file__).resolve().parent
_DECLARED = re.compile(r"^declare .*@omp_\w+\(", re.MULTILINE)


def sequential_openmp() -> Path:
    """The object, compiled once; the errors are those of :func:`build_object`."""
    source = _FOLDER / "openmp" / "sequential.c"
    header = _FOLDER / "include" / "omp.h"
    return build_object(source, toolchain=bundled_toolchain(), flags=("-fPIC",), depends_on=(header,))


def needs_openmp(ir_text: str) -> bool:
    """The module calls functions ``omp_...`` that it does not define."""
    return _DECLARED.search(ir_text) is not None


# A header and library that the bundled compiler does not have may come from the system, after its own.
_SYSTEM_INCLUDES = ("/usr/local/include", "/usr/include", "/usr/include/x86_64-linux-gnu")
_SYSTEM_LIBRARIES = ("/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")
_GCC = Path("/usr/lib/gcc/x86_64-linux-gnu")
_LAUNCHERS = frozenset(("ccache", "sccache", "distcc", "icecc"))
_PROBE_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Underlying:
    """Compilers behind a wrapper of a language.

    Attributes:
        command: For the normal program, with the flags that come first.
        ir_command: For bitcode, with the flags that come first.
        bundled: The normal compiler is the bundled one (which has no OpenMP library).
        analysis: Command of the compiler to link an analysis with; empty for the bundled one.
    """

    language: Language
    command: tuple[str, ...]
    ir_command: tuple[str, ...]
    bundled: bool
    analysis: tuple[str, ...]

    @property
    def is_named(self) -> bool:
        """The user chose the compiler of the normal program; what it refuses, it refuses."""
        return not self.bundled and self.language != "fortran"

    @property
    def include_flags(self) -> tuple[str, ...]:
        """After the user's flags, compiling: headers of the system where the compiler has none."""
        return _silently(*_after("-idirafter", _SYSTEM_INCLUDES)) if self.bundled else ()

    @property
    def ir_include_flags(self) -> tuple[str, ...]:
        """As ``include_flags``, compiling bitcode."""
        own_headers = self.language != "fortran" and self.analysis == ()
        return _after("-idirafter", _SYSTEM_INCLUDES) if own_headers else ()


# OpenMP without OpenMP: pragmas are ignored, functions come from our header and say that there is one thread.
# _OPENMP is defined nevertheless, so that the code is what it is in the parallel program (and so that
# configure scripts and find_package(OpenMP) are content).
def openmp_flags(parallel: bool) -> tuple[str, ...]:
    """Where the header is; without OpenMP, too, as gcc has its own."""
    folder = str(_FOLDER / "include")
    return ("-isystem", folder, "-D_OPENMP=201511") if parallel else ("-idirafter", folder)


def system_library_flags() -> tuple[str, ...]:
    """Where the bundled compiler finds libraries of the system; it does not look there by itself.

    Last those of the newest gcc (``-lquadmath``).
    They may need a newer C library than it links with: the one they find when they are loaded.
    """
    of_gcc = max(_GCC.glob("[0-9]*"), key=lambda d: int(d.name.partition(".")[0]), default=_GCC)
    found = [f"-L{d}" for d in (*_SYSTEM_LIBRARIES, of_gcc) if Path(d).is_dir()]
    return (*found, "-Wl,--allow-shlib-undefined")


def find_underlying(language: Language) -> Underlying:
    """Compilers for the wrapper of ``language``: those of the environment, else the bundled clang.

    Raises CompileError if a named compiler does not exist or is a wrapper, or there is none for Fortran, and
    RuntimeBuildError if the bundled compiler is missing.
    """
    if language == "fortran":
        command = find_fortran().command
        return Underlying(language, command, command, False, ())
    named = named_compiler(language)
    bundled = bundled_compiler(language)
    bundled_ir = (*bundled, *BUNDLED_TARGET)
    if not named:
        # zig would add sanitizers that the user did not ask for
        return Underlying(language, (*bundled_ir, *_silently("-fno-sanitize=all")), bundled_ir, True, ())
    if is_clang(named):
        return Underlying(language, named, (*named, "-march=x86-64"), False, named)
    return Underlying(language, named, bundled_ir, False, ())


def named_compiler(language: Language) -> tuple[str, ...]:
    """Compiler that ``$COMMANALYZER_CC`` and ``$COMMANALYZER_CXX`` name; empty for none.

    Raises CompileError if it does not exist or is a wrapper itself.
    """
    cc, cxx = os.environ.get("COMMANALYZER_CC", ""), os.environ.get("COMMANALYZER_CXX", "")
    if language == "c":
        return checked_command(cc, "COMMANALYZER_CC")
    if cxx.strip():
        return checked_command(cxx, "COMMANALYZER_CXX")
    command = checked_command(cc, "COMMANALYZER_CC")
    return (*command[:-1], cxx_beside(command[-1])) if command else ()


def checked_command(text: str, origin: str) -> tuple[str, ...]:
    """Words of a compiler command, empty for empty text.

    Raises CompileError if its program does not exist or is a wrapper itself.
    """
    words = shell_words(text, origin)
    if not words:
        return ()
    if is_wrapper(words):
        raise CompileError(
            f"expected a compiler, found a compiler wrapper of commanalyzer: {text}",
            where=origin,
            hint="name the compiler that the wrapper shall call, such as clang",
        )
    program_path(words[0], origin)
    return tuple(words)


def is_clang(command: tuple[str, ...]) -> bool:
    """The command is a clang, by its name or, for names such as ``cc``, by what it says of itself."""
    program = next((w for w in command if Path(w).name not in _LAUNCHERS), command[0])
    name = Path(program).name
    if "clang" in name:
        return True
    if "gcc" in name or "g++" in name:
        return False
    return "clang" in run_tool([*command, "--version"], timeout_s=_PROBE_TIMEOUT_S).stdout.lower()


def _silently(*options: str) -> tuple[str, ...]:
    """Options of ours that clang shall not call unused: its messages are about the user's command."""
    return ("--start-no-unused-arguments", *options, "--end-no-unused-arguments")


def _after(option: str, directories: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for d in directories if Path(d).is_dir() for word in (option, d))
