"""Compiles the sources of a compiler command a second time, to the bitcode that is embedded.

Same command, but: no optimisation (our own pipeline does that), debug information, every x86-64, OpenMP
pragmas as sequential code, marks of ``commanalyzer.h`` as calls. If the bitcode cannot be made, the build
goes on and the reason is kept.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from commanalyzer.foundation.errors import CompileError
from commanalyzer.program.frontend.drivers import option_table as table
from commanalyzer.program.frontend.drivers.command import Argument, CompilerCommand, refused_options
from commanalyzer.program.frontend.drivers.underlying import Underlying, openmp_flags
from commanalyzer.program.frontend.inputs.fortran import compile_fortran, find_fortran
from commanalyzer.program.frontend.inputs.sources import COMPILE_FLAGS
from commanalyzer.program.frontend.regions import mark_flags
from commanalyzer.program.frontend.toolchain import end_with_children

_MAX_TRIES = 5


@dataclass(slots=True)
class Compilation:
    """A compilation to bitcode under way; the process writes what it has to say to ``messages``."""

    process: subprocess.Popen[bytes]
    output: Path
    messages: Path


class BitcodeCompiler:
    """Compiles one command's sources to bitcode; everything is written to ``scratch``.

    ``stdin`` is a file with what stood on standard input, for the source ``-``; ``None`` if it was not read.
    """

    def __init__(
        self, underlying: Underlying, command: CompilerCommand, scratch: Path, stdin: Path | None
    ) -> None:
        self._underlying = underlying
        self._command = command
        self._scratch = scratch
        self._stdin = stdin
        self._count = 0
        self._started: list[subprocess.Popen[bytes]] = []

    def compile(self, source: Argument) -> tuple[bytes, str]:
        """IR of ``source``, or empty bytes and the reason why there is none."""
        return (
            self._fortran(source) if source.language == "fortran" else self.finish(source, self.start(source))
        )

    def _fortran(self, source: Argument) -> tuple[bytes, str]:
        # Module files of the normal build are found, but not written again.
        modules = self._scratch / "modules"
        modules.mkdir(exist_ok=True)
        output = self._scratch / "fortran.ll"
        flang = find_fortran()
        flang = replace(flang, command=(*flang.command, *ir_options(self._command)))
        written = [a.value for a in self._command.arguments if a.name in ("-J", "-module-dir")]
        paths = [f"-I{path}" for path in [*written, "."]]
        try:
            compile_fortran(Path(source.name), output, flang, paths, modules)
        except CompileError as error:
            return b"", f"no bitcode: {error.message.splitlines()[-1]}"
        return output.read_bytes(), ""

    def start(self, source: Argument, options: Sequence[str] | None = None) -> Compilation:
        """Start to compile ``source``, by default with :func:`ir_options`; OSError if that fails."""
        self._count += 1
        output = self._scratch / f"module{self._count}.bc"
        messages = self._scratch / f"messages{self._count}.txt"
        words = self._words(source, ir_options(self._command) if options is None else options)
        with messages.open("wb") as log, (self._stdin or Path("/dev/null")).open("rb") as stdin:
            process = subprocess.Popen(
                [*words, "-o", str(output)], stdin=stdin, stdout=subprocess.DEVNULL, stderr=log
            )
        self._started.append(process)
        return Compilation(process, output, messages)

    def end(self) -> None:
        """End what nobody waits for any more."""
        for process in self._started:
            end_with_children(process)

    def finish(self, source: Argument, compilation: Compilation) -> tuple[bytes, str]:
        """Bitcode of ``source``, or empty bytes and the reason why there is none.

        What only this compiler does not know is left out; intrinsics of an instruction set get the user's
        instruction set after all.
        """
        options = ir_options(self._command)
        for _ in range(_MAX_TRIES):
            ended = compilation.process.wait()
            if ended == 0 and compilation.output.is_file():
                return compilation.output.read_bytes(), ""
            text = compilation.messages.read_text(errors="replace")
            unknown = refused_options(text) & set(options)
            kept = [word for word in options if word not in unknown]
            changed = kept if unknown else self._with_instruction_set(options)
            if changed is None:
                return b"", _reason(text, ended)
            options = changed
            compilation = self.start(source, options)
        return b"", _reason(compilation.messages.read_text(errors="replace"), 1)

    def _with_instruction_set(self, options: Sequence[str]) -> list[str] | None:
        found = [a.name for a in self._command.arguments if a.name.startswith(table.INSTRUCTION_SET_PREFIXES)]
        return [*options, *found] if found and not set(found) & set(options) else None

    def _words(self, source: Argument, options: Sequence[str]) -> list[str]:
        command = self._underlying.ir_command
        language = ["-x", source.explicit] if source.explicit else []
        headers = () if source.language == "ir" else self._headers()
        return [
            *command, *options, *COMPILE_FLAGS, "-w", "-U_FORTIFY_SOURCE", *headers,
            "-emit-llvm", "-c", *language, source.name,
        ]  # fmt: skip

    def _headers(self) -> tuple[str, ...]:
        return (*openmp_flags(self._command.parallel), *mark_flags(), *self._underlying.ir_include_flags)


def ir_options(command: CompilerCommand) -> list[str]:
    """Options of the user's command that matter for its meaning (paths, macros, language)."""
    found: list[str] = []
    skip_value = False
    for argument in command.arguments:
        if argument.language or skip_value:
            skip_value = False
            continue
        if argument.name == "-Xclang" and argument.value in ("-include-pch", "-load", "-mllvm"):
            skip_value = True  # the value follows in an -Xclang of its own
        elif _matters(argument):
            found += argument.words
        elif argument.name == "-Ofast":
            found.append("-ffast-math")
    return found


def _matters(argument: Argument) -> bool:
    name = argument.name
    if name.startswith(table.FOR_ASSEMBLER):
        return True
    if argument.words == ("-D", "_FORTIFY_SOURCE") or argument.value.startswith("_FORTIFY_SOURCE="):
        return False
    if name == "-Xclang":
        return not argument.value.startswith(("-fopenmp", "-plugin", *table.NOT_FOR_IR_PREFIXES))
    dropped = (
        *table.NOT_FOR_IR_PREFIXES, *table.INSTRUCTION_SET_PREFIXES,
        *table.OPENMP, *table.LINK_TIME_OPTIMISATION,
    )  # fmt: skip
    return name not in table.NOT_FOR_IR and not name.startswith(dropped)


def _reason(messages: str, status: int) -> str:
    errors = [line.strip() for line in messages.splitlines() if "error" in line]
    return f"no bitcode: {errors[0][:300] if errors else f'the compiler ended with status {status}'}"
