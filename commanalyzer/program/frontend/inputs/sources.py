"""One C or C++ source in, bitcode and the compiler's warnings out.

Sources that have not changed are not compiled again. What decides is their preprocessed text: it tells any
change of a header, also of one that is found only now, and takes a fifth of the time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import CompileError
from commanalyzer.program.frontend.drivers.command import openmp_flags
from commanalyzer.program.frontend.drivers.option_table import OPENMP_ON
from commanalyzer.program.frontend.link import cached_file, content_key
from commanalyzer.program.frontend.regions import mark_flags
from commanalyzer.program.frontend.toolchain import BUNDLED_REFUSES, Language, Toolchain, run_tool, tool_bytes

# -O2 for its language-level effects (no optnone, alias and lifetime information), passes off because the
# canonical pipeline runs them; zig's own UBSan would add checks that are not the user's.
COMPILE_FLAGS = ("-O2", "-g", "-Xclang", "-disable-llvm-passes", "-fno-sanitize=all")
_TIMEOUT_S = 600.0
_LENGTH_BYTES = 8
_MPI_HEADER = re.compile(r"'mpi(cxx)?\.h' file not found")

# What the preprocessor does not see: files that such options or assembler code name, and the machine.
_HIDES_INPUTS = re.compile(r"@|--|-X|-mllvm|-B|-fmodule|-fplugin|-fprofile|-f(?!fp-)[^=]*=|.*=native$")
_ASSEMBLER_READS = b"incbin"


@dataclass(frozen=True, slots=True)
class SourceCompiler:
    """Compiles sources of one program; the user's flags stand after our own."""

    toolchain: Toolchain
    flags: tuple[str, ...]

    def compile(self, source: Path, language: Language, module: Path) -> str:
        """Write the bitcode of ``source`` to ``module``; return the compiler's warnings.

        Raises CompileError if the compiler refuses the source, ConfigError if the cache is not usable.
        """
        command = self._command(source, language, module)
        text = self._preprocessed(command)
        if text is None:
            return _compiled(command, source, module)
        place = self.toolchain.version, str(Path.cwd())
        key = content_key(["bitcode of a source", *place, *command, source.read_bytes(), text])

        def produce(draft: Path) -> None:
            warnings = _compiled(command, source, module).encode("utf-8", "surrogateescape")
            size = len(warnings).to_bytes(_LENGTH_BYTES, "little")
            draft.write_bytes(size + warnings + module.read_bytes())

        data = cached_file(key, ".source", produce).read_bytes()
        behind = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
        module.write_bytes(data[behind:])
        return data[_LENGTH_BYTES:behind].decode("utf-8", "surrogateescape")

    def _command(self, source: Path, language: Language, module: Path) -> list[str]:
        # "./" keeps a file called -x.c from being taken for a flag.
        name = f"./{source}" if str(source).startswith("-") else str(source)
        ours = (*self.toolchain.target_flags, *COMPILE_FLAGS, *mark_flags())
        theirs = [flag for flag in self.flags if flag not in OPENMP_ON]
        # as the compiler wrappers do: OpenMP's pragmas are read as sequential code
        openmp = openmp_flags(len(theirs) < len(self.flags))
        if self.toolchain.bundled and BUNDLED_REFUSES.search(source.name):
            link = module.with_name(f"{module.stem}.source{source.suffix}")
            link.unlink(missing_ok=True)
            link.symlink_to(source.resolve())
            theirs += ["-iquote", str(source.parent), f"-ffile-prefix-map={link}={source}"]
            name = str(link)
        return [*self.toolchain.driver(language), *ours, *openmp, *theirs, name]

    def _preprocessed(self, command: Sequence[str]) -> bytes | None:
        """Text that the bitcode depends on; none where there may be more, or the compiler refuses it."""
        if any(_HIDES_INPUTS.match(flag) for flag in self.flags):
            return None
        # not to a file: zig would take that from a cache, which does not see headers that are found only now
        text = tool_bytes([*command, "-w", "-E"], timeout_s=_TIMEOUT_S)
        return None if text is None or _ASSEMBLER_READS in text else text


def _compiled(command: Sequence[str], source: Path, module: Path) -> str:
    """Warnings of compiling ``source`` to bitcode at ``module``."""
    output = run_tool([*command, "-emit-llvm", "-c", "-o", str(module)], timeout_s=_TIMEOUT_S)
    if output.exit_status is None:
        raise CompileError(f"expected the compiler to finish within {_TIMEOUT_S:.0f} s", where=str(source))
    if not output.ok or not module.exists():
        raise CompileError(
            f"the compiler refused the source:\n{output.last_lines() or 'no message'}",
            where=str(source),
            hint=hint_of(output.stderr, 'pass include paths and definitions with --cflags "-I... -D..."'),
        )
    return output.stderr.strip()


def hint_of(messages: str, otherwise: str) -> str:
    """What to do about what a compiler says."""
    if _MPI_HEADER.search(messages):
        return (
            "a program that calls MPI is parallel already: commanalyzer count -- mpiexec -n 4 PROGRAM "
            "counts what it sends; analyze takes its sequential version"
        )
    if "function definition is not allowed here" in messages:
        return "functions inside of functions, which only gcc has, cannot be followed: move them out of it"
    return otherwise
