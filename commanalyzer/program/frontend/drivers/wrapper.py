"""The compiler wrappers: run the user's command, and put the sources' IR into what it makes.

The normal program is the compiler's own work with the user's options. Two options are left out: link-time
optimisation (its objects are not ELF files) and, with the bundled compiler, OpenMP (it has no OpenMP library;
the program is then built sequentially). A compiler's exit status and messages are passed on unchanged.
A link adds how to link again, and objects that came without records.
The bitcode comes from the same command, but: no optimisation (our own pipeline does that), debug information,
every x86-64, OpenMP pragmas as sequential code, marks of ``commanalyzer.h`` as calls. If it cannot be made,
the build goes on and the reason is kept.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from commanalyzer.foundation.errors import CompileError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.program.frontend.drivers import option_table as table
from commanalyzer.program.frontend.drivers.command import (
    STANDARD_INPUT,
    Argument,
    CompilerCommand,
    Underlying,
    find_underlying,
    openmp_flags,
    read_command,
    refused_options,
    sequential_openmp,
    spelling,
    system_library_flags,
    without_unknown,
)
from commanalyzer.program.frontend.drivers.embedded import (
    RELOCATABLE,
    SECTION,
    Record,
    add_section,
    carrier,
    encode_records,
    is_elf,
    parse_elf,
    read_elf,
)
from commanalyzer.program.frontend.inputs.fortran import compile_fortran, find_fortran
from commanalyzer.program.frontend.inputs.sources import COMPILE_FLAGS
from commanalyzer.program.frontend.regions import mark_flags
from commanalyzer.program.frontend.toolchain import (
    BUNDLED_REFUSES,
    Language,
    end_with_children,
    include_directory,
)

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
        headers = (*openmp_flags(self._command.parallel), *mark_flags(), *self._underlying.ir_include_flags)
        return [
            *command, *options, *COMPILE_FLAGS, "-w", "-U_FORTIFY_SOURCE",
            *(() if source.language == "ir" else headers),
            "-emit-llvm", "-c", *language, source.name,
        ]  # fmt: skip


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


_ARCHIVE = b"!<arch>\n"
_MEMBER_HEADER = 60  # bytes; the size stands in bytes 48 to 57, decimal


def link_record(command: CompilerCommand, underlying: Underlying) -> Record:
    """How the program was linked: libraries and search paths, absolute, in the user's order."""
    options: list[str] = []
    directories = [Path(a.value).resolve() for a in command.arguments if a.name == "-L"]
    for argument in command.arguments:
        if argument.language == "object":
            options += _library_file(Path(argument.name))
        elif not argument.language:
            options += _kept(argument, directories)
    words = [word for a in command.arguments if a.name == "-Xlinker" for word in a.words[1::2]]
    changed = [word for word in words if word.startswith(table.NAME_CHANGING_LINKER_PREFIXES)]
    return Record(
        "link",
        Path(command.output or "a.out").name,
        underlying.language,
        underlying.analysis,
        (*options, *_run_paths(words)),
        " ".join(changed),
    )


def foreign_objects(command: CompilerCommand) -> list[Record]:
    """Records of linked object files that carry none; they hold the object itself."""
    found = []
    for argument in command.arguments:
        path = Path(argument.name)
        if argument.language != "object" or not is_elf(path):
            continue
        elf = read_elf(path)
        if elf is not None and elf.kind == RELOCATABLE and not elf.content(SECTION):
            note = "not compiled by commanalyzer"
            found.append(Record("object", argument.name, note=note, payload=elf.data))
    return found


def _library_file(path: Path) -> list[str]:
    """A library or linker script is linked again; what has records needs no file."""
    if not path.is_file():
        return []
    elf = read_elf(path) if is_elf(path) else None
    if (elf is not None and elf.kind == RELOCATABLE) or has_all_records(path):
        return []
    return [str(path.resolve())]


def has_all_records(path: Path) -> bool:
    """It is a static library all of whose object files carry records: the linked ones are in the program."""
    data = path.read_bytes()
    if not data.startswith(_ARCHIVE):
        return False
    place = len(_ARCHIVE)
    objects = 0
    while place + _MEMBER_HEADER <= len(data):
        size = int(data[place + 48 : place + 58])
        member = parse_elf(data[place + _MEMBER_HEADER : place + _MEMBER_HEADER + size])
        if member is not None:
            objects += 1
            if not member.content(SECTION):
                return False
        place += _MEMBER_HEADER + size + size % 2
    return objects > 0


def _kept(option: Argument, directories: Sequence[Path]) -> list[str]:
    name = option.name
    if name == "-pthread":
        return [name]
    if name == "-L":
        return [f"-L{Path(option.value).resolve()}"]
    library = option.value
    if name != "-l" or library in table.OPENMP_LIBRARIES:
        return []
    # A library of the project is known by its file: it may be gone when the program is analysed.
    names = [library[1:]] if library.startswith(":") else [f"lib{library}.so", f"lib{library}.a"]
    found = next((d / n for d in directories for n in names if (d / n).is_file()), None)
    return [f"-l{library}"] if found is None else _library_file(found)


def _run_paths(linker_words: Sequence[str]) -> list[str]:
    """``-rpath`` as ``-Wl,-rpath,DIR``, whichever way it was written."""
    found: list[str] = []
    words = iter(linker_words)
    for word in words:
        if word in ("-rpath", "--rpath", "-R"):
            value = next(words, "")
        elif word.startswith(("-rpath=", "--rpath=")):
            value = word.partition("=")[2]
        else:
            continue
        found += [f"-Wl,-rpath,{part}" for part in value.split(":") if part]
    return found


_SIGNAL_BASE = 128  # exit status of a command that a signal ended, as shells have it
# Longer command lines go through a response file, as they may have come.
_LONGEST_LINE = 100_000


def run_wrapper(language: Language, words: Sequence[str], warn: Callable[[str], None]) -> int:
    """Exit status of the compiler called with ``words``.

    ``warn`` is called with a sentence if an object could not be given its IR (the build goes on).

    Raises:
        CompileError: If there is no compiler, or several outputs shall have one name.
        RuntimeBuildError: If the bundled compiler is missing.
    """
    underlying = find_underlying(language)
    command = read_command(words)
    if not underlying.is_named:
        command, unknown = without_unknown(command, underlying)
        if unknown:
            warn(f"unknown options are left out: {' '.join(unknown)}")
    refused = [s.name for s in command.sources if BUNDLED_REFUSES.search(Path(s.name).name)]
    if refused and underlying.bundled:
        raise CompileError(
            "expected a file name without \\ : and control characters, found one with them",
            where=refused[0],
            hint="the bundled compiler cannot read it: rename it, or use COMMANALYZER_CC=clang",
        )
    # zig makes one output, whatever it is given
    commands = command.per_source if underlying.bundled else (command,)
    if len(commands) > 1 and command.output and "-fsyntax-only" not in words:
        raise CompileError(
            "expected no -o with several sources and -c, -S or -E, found one", where=command.output
        )
    return next(filter(None, [_run(each, underlying, warn) for each in commands]), 0)


def _run(command: CompilerCommand, underlying: Underlying, warn: Callable[[str], None]) -> int:
    normal = normal_words(command, underlying)
    with scratch_directory() as folder:
        scratch = Path(folder)
        if command.action == "pass":
            return _call(underlying, _checking(normal, underlying, scratch), scratch, None)
        build = _Build(underlying, command, normal, scratch, warn)
        try:
            return build.compile() if command.action == "compile" else build.link()
        except KeyboardInterrupt:
            # As gcc does: make would take an object that lacks its IR for a whole one.
            objects = [command.object_of(source) for source in command.sources]
            made = objects if command.action == "compile" else [Path(command.output or "a.out")]
            for path in filter(Path.is_file, made):
                path.unlink()
            raise
        finally:
            build.bitcode.end()


def normal_words(command: CompilerCommand, underlying: Underlying) -> list[str]:
    """Arguments for the normal program."""
    kept = [a for a in command.arguments if a.language or _is_kept(a, command, underlying)]
    is_flang = underlying.language == "fortran"  # which knows no -Xlinker
    words = [w for a in kept for w in ((spelling(a),) if is_flang and a.name == "-Xlinker" else a.words)]
    compiled = any(s.language != "assembler" for s in command.sources)
    if compiled and underlying.language != "fortran":
        words = [*words, "-idirafter", str(include_directory())]  # commanalyzer.h, which compiles to nothing
    if not underlying.bundled:
        return words
    # -E reads standard input in the wrapper's language, zig in none
    is_bare = command.action == "pass" and Argument(("-",), "object") in command.arguments
    return [
        *(("-x", underlying.language) if is_bare else ()),
        *words,
        *(openmp_flags(command.parallel) if compiled else ()),
        *(underlying.include_flags if compiled else ()),
        *(system_library_flags() if command.action == "link" else ()),
    ]


def _checking(words: Sequence[str], underlying: Underlying, scratch: Path) -> list[str]:
    """Words in which ``-fsyntax-only``, which zig fails at, makes an object that nobody sees."""
    if not underlying.bundled or "-fsyntax-only" not in words:
        return list(words)
    return [*(word for word in words if word != "-fsyntax-only"), "-c", "-o", str(scratch / "checked.o")]


def _is_kept(option: Argument, command: CompilerCommand, underlying: Underlying) -> bool:
    name = option.name
    if name.startswith(table.LINK_TIME_OPTIMISATION):
        return False
    if not underlying.bundled:
        return True
    useless = command.action == "compile" and name.startswith(table.LINK_ONLY_PREFIXES)
    useless |= name == "-Xlinker" and option.value.startswith("-O")  # meson's -Wl,-O1: zig only warns of it
    parallel = name.startswith(table.OPENMP) or (name == "-l" and option.value in table.OPENMP_LIBRARIES)
    return not (useless or parallel)


@dataclass
class _Build:
    """One command that makes objects or links."""

    underlying: Underlying
    command: CompilerCommand
    normal: list[str]
    scratch: Path
    warn: Callable[[str], None]

    def __post_init__(self) -> None:
        self.stdin = _spooled_stdin(self.command, self.scratch)
        self.bitcode = BitcodeCompiler(self.underlying, self.command, self.scratch, self.stdin)

    def compile(self) -> int:
        """``-c``: the IR is compiled beside the normal object, then added to it."""
        sources = [s for s in self.command.sources if s.language in table.WITH_IR]
        # Fortran modules exist only after the normal compilation.
        early = {s: self.bitcode.start(s) for s in sources if s.language != "fortran"}
        status = _call(self.underlying, self.normal, self.scratch, self.stdin)
        if status:
            return status
        for source in self.command.sources:
            self._embed(self.command.object_of(source), source, *self._ir_of(source, early.get(source)))
        return 0

    def link(self) -> int:
        """The records of the sources, and how it is linked, travel in one more object file."""
        records = self._source_records()
        records += [*foreign_objects(self.command), link_record(self.command, self.underlying)]
        extra = self.scratch / "records.o"
        extra.write_bytes(carrier(SECTION, encode_records(records)))
        # In front, where no -x is in force yet.
        sequential = self.underlying.bundled and self.command.parallel
        openmp = [str(sequential_openmp())] if sequential else []
        return _call(self.underlying, [str(extra), *openmp, *self.normal], self.scratch, self.stdin)

    def _source_records(self) -> list[Record]:
        records = []
        for source in self.command.sources:
            data, reason = self._ir_of(source)
            record = _record(source, data, reason, b"" if data else self._machine_code(source))
            records += [record] if record else []
        return records

    def _ir_of(self, source: Argument, under_way: Compilation | None = None) -> tuple[bytes, str]:
        """IR of a source, or empty bytes and the reason why there is none."""
        if source.language not in table.WITH_IR:
            return b"", "assembly"
        return self.bitcode.finish(source, under_way) if under_way else self.bitcode.compile(source)

    def _machine_code(self, source: Argument) -> bytes:
        """Object file of a source that is compiled and linked in one command."""
        target = self.scratch / "code.o"
        target.unlink(missing_ok=True)
        compiling = replace(self.command, action="compile")
        without = ("-o", "-x", "-Xlinker")
        arguments = (a for a in compiling.arguments if not a.language and a.name not in without)
        options = [w for a in arguments if _is_kept(a, compiling, self.underlying) for w in a.words]
        language = ["-x", source.explicit] if source.explicit else []
        words = [*options, *self.underlying.include_flags, "-c", *language, source.name, "-o", str(target)]
        with (self.stdin or Path("/dev/null")).open("rb") as stdin:
            subprocess.run([*self.underlying.command, *words], stdin=stdin, capture_output=True, check=False)
        return target.read_bytes() if target.is_file() else b""

    def _embed(self, path: Path, source: Argument, data: bytes, reason: str) -> None:
        # Checks of configure scripts write to /dev/null.
        if not path.is_file():
            return
        try:
            record = _record(source, data, reason, b"" if data else path.read_bytes())
            if record is not None:
                add_section(path, SECTION, record.encoded())
        except OSError as error:
            self.warn(f"{path} carries no IR: {error.strerror}")


def _record(source: Argument, data: bytes, reason: str, code: bytes) -> Record | None:
    if data:
        return Record("module", source.name, source.language, payload=data)
    return Record("object", source.name, source.language, note=reason, payload=code) if code else None


def _spooled_stdin(command: CompilerCommand, scratch: Path) -> Path | None:
    """A file with standard input if it is a source: it is compiled more than once."""
    if not any(source.name == STANDARD_INPUT for source in command.sources):
        return None
    path = scratch / "stdin"
    with path.open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    return path


def _call(underlying: Underlying, words: Sequence[str], scratch: Path, stdin: Path | None) -> int:
    if sum(len(word) + 1 for word in words) > _LONGEST_LINE:
        response = scratch / "arguments.rsp"
        escaped = (word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
        response.write_text("\n".join(f'"{word}"' for word in escaped))
        words = [f"@{response}"]
    line = [*underlying.command, *words]
    with contextlib.nullcontext() if stdin is None else stdin.open("rb") as stream:
        process = subprocess.Popen(line, stdin=stream)
    try:
        status = process.wait()
    finally:
        end_with_children(process)
    return status if status >= 0 else _SIGNAL_BASE - status
