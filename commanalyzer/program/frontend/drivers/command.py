"""Reads a compiler command line: what it makes, from which inputs, under which options.

Options that a compiler does not know: which they are is asked of the compiler itself.

Projects are written for gcc or gfortran, and the compiler that a wrapper chooses is another one. The answer
is kept: all sources of a project have the same options.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from commanalyzer.program.frontend.cache import cached_file, content_key
from commanalyzer.program.frontend.drivers import option_table as table
from commanalyzer.program.frontend.drivers.underlying import Underlying
from commanalyzer.program.frontend.toolchain import run_tool

Action = Literal["pass", "compile", "link"]
STANDARD_INPUT = "-"
_MAX_RESPONSE_DEPTH = 10


@dataclass(frozen=True, slots=True)
class Argument:
    """An option with its value, or an input.

    Attributes:
        words: As they stand on the command line.
        language: Of an input: ``c``, ``c++``, ``fortran``, ``assembler``, ``ir``, ``header``, ``other``, or
            ``object`` for what goes to the linker; empty for an option.
        explicit: Value of the ``-x`` that holds for it, empty without.
    """

    words: tuple[str, ...]
    language: str = ""
    explicit: str = ""

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

    Attributes:
        arguments: In order.
        action: ``pass`` if no object code for x86-64 is made, ``compile`` with ``-c``, else ``link``.
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
        found = ""
        for argument in self.arguments:
            if argument.language:
                continue
            if argument.name == "-o":
                found = argument.value
            elif argument.name.startswith("-o") and not argument.value:
                found = argument.name[2:]
        return found

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
    """Words with ``@file`` replaced by the file's words; like gcc, a missing file stays as it stands."""
    found: list[str] = []
    for word in words:
        path = Path(word[1:])
        if word.startswith("@") and depth < _MAX_RESPONSE_DEPTH and path.is_file():
            found += expand_response_files(shlex.split(path.read_text(errors="surrogateescape")), depth + 1)
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
            argument = Argument((word,) if value is None else (word, value))
            found.append(argument)
            explicit = _explicit_language(argument, explicit)
        else:
            found.append(_input(word, explicit))
    return found


def _explicit_language(argument: Argument, before: str) -> str:
    if argument.name == "-x":
        chosen = argument.value
    elif argument.name.startswith("-x") and not argument.value:
        chosen = argument.name[2:]
    else:
        return before
    return "" if chosen == "none" else chosen


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
    r"unsupported argument|optimization flag):? ['\"](-[^'\"]+)['\"]",
    re.IGNORECASE,
)


def refused_options(messages: str) -> frozenset[str]:
    """Options that the compiler's messages call unknown or unsupported."""
    return frozenset(_REFUSED.findall(messages))


def without_unknown(
    command: CompilerCommand, underlying: Underlying
) -> tuple[CompilerCommand, tuple[str, ...]]:
    """The command without the options that its compiler does not know, and these options.

    Raises:
        ConfigError: If the cache is not usable.
    """
    asked = [
        argument.name
        for argument in command.arguments
        if not argument.language
        and len(argument.words) == 1
        and argument.name.startswith(table.KNOWN_BY_SOME_PREFIXES)
        and not argument.name.startswith((*table.FOR_OTHER_TOOLS_PREFIXES, *table.OPENMP))
        and not argument.name.startswith(table.LINK_TIME_OPTIMISATION)
    ]
    if not asked or not command.sources:
        return command, ()
    unknown = frozenset(_asked_of(underlying, asked))
    arguments = tuple(a for a in command.arguments if a.language or a.name not in unknown)
    return replace(command, arguments=arguments), tuple(dict.fromkeys(n for n in asked if n in unknown))


def _asked_of(underlying: Underlying, options: Sequence[str]) -> list[str]:
    program = Path(shutil.which(underlying.command[0]) or underlying.command[0])
    state = program.stat()
    identity = [str(program), str(state.st_size), str(state.st_mtime_ns), *underlying.command]
    key = content_key(["unknown options", *identity, "|", *options])

    def produce(draft: Path) -> None:
        draft.write_text(json.dumps(_unknown(underlying, options)))

    found: list[str] = json.loads(cached_file(key, ".json", produce).read_text())
    return found


def _unknown(underlying: Underlying, options: Sequence[str]) -> list[str]:
    """Some compilers name all unknown options at once, others the first one."""
    language = "f95-cpp-input" if underlying.language == "fortran" else underlying.language
    left, unknown = list(options), set[str]()
    while True:
        command = [*underlying.command, *left, "-E", "-x", language, "/dev/null"]
        output = run_tool(command, timeout_s=_TIMEOUT_S)
        refused = set() if output.ok else refused_options(output.stderr) & set(left)
        if not refused:
            return sorted(unknown)
        unknown |= refused
        left = [option for option in left if option not in refused]
