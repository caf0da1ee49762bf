"""Reads a compiler command line: what it makes, from which inputs, under which options.

Options that a compiler does not know: which they are is asked of the compiler itself.

Projects are written for gcc or gfortran, and the compiler that a wrapper chooses is another one. The answer
is kept: all sources of a project have the same options.

Which compilers a wrapper calls: one for the normal program, one for the embedded IR.

``$CC`` is never looked at: in a build, it names the wrapper itself. OpenMP's run-time
functions for one thread are an object file, for programs that do not take our header.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from commanalyzer.foundation.errors import CompileError
from commanalyzer.program.frontend.drivers import option_table as table
from commanalyzer.program.frontend.inputs.fortran import find_fortran
from commanalyzer.program.frontend.link import build_object, cached_file, content_key
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
    """Compilers behind a wrapper of a language."""

    language: Language
    command: tuple[str, ...]  # for the normal program, with the flags that come first
    ir_command: tuple[str, ...]  # for bitcode, with the flags that come first
    bundled: bool  # the normal compiler is the bundled one (which has no OpenMP library)
    analysis: tuple[str, ...]  # command of the compiler to link an analysis with; empty for the bundled one

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


Action = Literal["pass", "compile", "link"]
STANDARD_INPUT = "-"
_MAX_RESPONSE_DEPTH = 10


@dataclass(frozen=True, slots=True)
class Argument:
    """An option with its value, or an input."""

    words: tuple[str, ...]
    # of an input: ``c``, ``c++``, ``fortran``, ``assembler``, ``ir``, ``header``, ``other``, or ``object``
    # for what goes to the linker; empty for an option
    language: str = ""
    explicit: str = ""  # value of the ``-x`` that holds for it, empty without

    @property
    def name(self) -> str:
        """First word."""
        return self.words[0]

    @property
    def value(self) -> str:
        """Value of an option in two words; empty if it has none."""
        return self.words[1] if len(self.words) > 1 else ""


@dataclass(frozen=True, slots=True)
class CompilerCommand:
    """A command line without the compiler.

    Its action is ``pass`` if no object code for x86-64 is made, ``compile`` with ``-c``, else ``link``.
    """

    arguments: tuple[Argument, ...]
    action: Action

    @property
    def sources(self) -> tuple[Argument, ...]:
        """Inputs that are compiled or assembled."""
        return tuple(a for a in self.arguments if a.language not in ("", "object"))

    @property
    def parallel(self) -> bool:
        """OpenMP is asked for."""
        return any(not a.language and a.name in table.OPENMP_ON for a in self.arguments)

    @property
    def output(self) -> str:
        """Value of the last ``-o``, empty if there is none."""
        return next((a.value for a in reversed(self.arguments) if a.name == "-o"), "")

    @property
    def per_source(self) -> tuple[CompilerCommand, ...]:
        """A command for each source, where every source has an output of its own; else the command itself."""
        names = {a.name for a in self.arguments if not a.language}
        inputs = [a for a in self.arguments if a.language]
        if len(inputs) < 2 or not self.sources or not names & table.OUTPUT_PER_SOURCE:
            return (self,)
        return tuple(
            replace(self, arguments=tuple(a for a in self.arguments if not a.language or a is source))
            for source in self.sources
        )

    def object_of(self, source: Argument) -> Path:
        """Object file that ``-c`` makes of ``source``."""
        return Path(self.output or Path(source.name).with_suffix(".o").name)


def read_command(words: Sequence[str]) -> CompilerCommand:
    """Parse the arguments of a compiler; response files (``@file``) are read."""
    arguments = tuple(_arguments(expand_response_files(words)))
    return CompilerCommand(arguments, _action(arguments))


def expand_response_files(words: Sequence[str], depth: int = 0) -> list[str]:
    """Words with ``@file`` replaced by the file's words; like gcc, a missing file stays as it stands.

    Raises CompileError if a quote in a file is not closed.
    """
    found: list[str] = []
    for word in words:
        path = Path(word[1:])
        if word.startswith("@") and depth < _MAX_RESPONSE_DEPTH and path.is_file():
            given = shell_words(path.read_text(errors="surrogateescape"), str(path))
            found += expand_response_files(given, depth + 1)
        else:
            found.append(word)
    return found


def _arguments(words: Sequence[str]) -> list[Argument]:
    found: list[Argument] = []
    explicit = ""
    rest = iter(words)
    for word in rest:
        if word.startswith("-") and word != STANDARD_INPUT:
            value = next(rest, None) if word in table.WITH_VALUE else None
            for argument in _separate((word,) if value is None else (word, value)):
                before = found[-1].name if found else ""
                if argument.name == before == "-Xlinker" and not argument.value.startswith("-"):
                    argument = Argument((*found.pop().words, *argument.words))  # a value
                found.append(argument)
                if argument.name == "-x":
                    explicit = "" if argument.value == "none" else argument.value
        else:
            found.append(_input(word, explicit))
    return found


def _separate(words: tuple[str, ...]) -> list[Argument]:
    """An option; words for the linker one by one, those for the preprocessor as options of the compiler."""
    if words[0].startswith("-Wl,") or words[0] == "-u":
        linker = words if words[0] == "-u" else words[0].split(",")[1:]
        return [Argument(("-Xlinker", word)) for word in linker]
    if words[0].startswith("-Wp,"):
        parts = words[0].split(",")[1:]
        named = ((part, "-MF") if part in ("-MD", "-MMD") else (part,) for part in parts)
        return _arguments([word for each in named for word in each])
    joined = "" if words[0].startswith(table.OPENMP) else words[0][:2]
    if joined in table.JOINED and words[0] != joined:
        words = (joined, words[0][2:])
    return [Argument(words)]


def _input(word: str, explicit: str) -> Argument:
    if explicit:
        unknown = "header" if explicit.endswith("-header") else "other"
        return Argument((word,), table.LANGUAGE_OF_X.get(explicit, unknown), explicit)
    return Argument((word,), table.LANGUAGE_OF_SUFFIX.get(Path(word).suffix, "object"))


def _action(arguments: Sequence[Argument]) -> Action:
    options = [a for a in arguments if not a.language]
    inputs = [a for a in arguments if a.language]
    languages = {a.language for a in inputs}
    names = {a.name for a in options}
    if not inputs or languages & {"header", "other"}:
        return "pass"
    if names & table.NO_OBJECT or any(name.startswith(table.NO_OBJECT_PREFIXES) for name in names):
        return "pass"
    if any(_is_other_target(a) for a in options):
        return "pass"
    return "compile" if "-c" in names else "link"


def _is_other_target(option: Argument) -> bool:
    if option.name in table.OTHER_TARGET:
        return True
    target = option.value if option.name == "-target" else option.name.removeprefix("--target=")
    return bool(target) and target != option.name and not target.startswith(("x86_64", "native"))


_TIMEOUT_S = 60.0
_REFUSED = re.compile(
    r"error: .*?(?:unknown argument|unknown clang option|unknown warning option|unsupported option|"
    r"unsupported argument|optimization flag|unrecognized command-line option):? ['\"](-[^'\"]+)['\"]",
    re.IGNORECASE,
)
_REFUSED_FOR_LINKER = re.compile(r"error: unsupported linker (?:arg|extension flag): (-z \S+|\S+)")


def refused_options(messages: str) -> frozenset[str]:
    """Options that the compiler's messages call unknown or unsupported."""
    return frozenset(_REFUSED.findall(messages))


def without_unknown(
    command: CompilerCommand, underlying: Underlying
) -> tuple[CompilerCommand, tuple[str, ...]]:
    """The command without the options that its compiler does not know, and these options.

    What gcc refuses as well, where it is installed, stays: the build is to fail. Raises ConfigError if the
    cache is not usable.
    """
    if not any(a.language for a in command.arguments):
        return command, ()
    useless = table.LINK_ONLY_PREFIXES if command.action == "compile" else ()
    options = (a for a in command.arguments if not a.language and not a.name.startswith(useless))
    asked = {a: text for a in options if (text := spelling(a))}
    unknown = frozenset(_asked_of(underlying, list(asked.values()))) if asked else frozenset()
    left_out = {a: text for a, text in asked.items() if text in unknown}
    if underlying.bundled:
        left_out |= {a: a.name for a in command.arguments if a.name.partition("=")[0] in table.NOT_BUNDLED}
    arguments = tuple(a for a in command.arguments if a not in left_out)
    return replace(command, arguments=arguments), tuple(left_out.values())


def spelling(argument: Argument) -> str:
    """An option that a compiler may not know, in one word; empty for others."""
    name = argument.name
    if name == "-Xlinker":
        return ",".join(("-Wl", *argument.words[1::2]))
    if name.startswith((table.FOR_ASSEMBLER, *table.OPENMP, *table.LINK_TIME_OPTIMISATION)):
        return ""
    known_by_some = name in table.KNOWN_BY_SOME or name.startswith(table.KNOWN_BY_SOME_PREFIXES)
    return name if known_by_some and len(argument.words) == 1 else ""


def _asked_of(underlying: Underlying, options: Sequence[str]) -> list[str]:
    program = Path(shutil.which(underlying.command[0]) or underlying.command[0])
    state = program.stat()
    # Not a gcc in front of the system's on the search path: it may be a script that calls the wrapper.
    model = shutil.which(table.MODELS[underlying.language], path=os.defpath) or ""
    identity = [str(program), str(state.st_size), str(state.st_mtime_ns), model, *underlying.command]
    key = content_key(["left out options", *identity, "|", *options])

    def produce(draft: Path) -> None:
        unknown = _unknown(underlying.command, underlying.language, options)
        wrong = _unknown((model,), underlying.language, unknown) if model and unknown else []
        draft.write_text(json.dumps([option for option in unknown if option not in wrong]))

    found: list[str] = json.loads(cached_file(key, ".json", produce).read_text())
    return found


def _unknown(command: Sequence[str], language: Language, options: Sequence[str]) -> list[str]:
    """Some compilers name all unknown options at once, others the first one."""
    kind = "f95-cpp-input" if language == "fortran" else language
    left, unknown = list(options), list[str]()
    while True:
        line = [*command, *left, "-E", "-x", kind, "/dev/null"]
        output = run_tool(line, timeout_s=_TIMEOUT_S, environment={"LC_ALL": "C"})
        refused = [] if output.ok else [option for option in left if _is_refused(option, output.stderr)]
        if not refused:
            return unknown
        unknown += refused
        left = [option for option in left if option not in refused]


def _is_refused(option: str, messages: str) -> bool:
    if not option.startswith("-Wl,"):
        return option in refused_options(messages)
    words = option.split(",")[1:]
    return bool({words[0].partition("=")[0], " ".join(words)} & set(_REFUSED_FOR_LINKER.findall(messages)))
