"""Reads a compiler command line: what it makes, from which inputs, under which options."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from commanalyzer.program.frontend.drivers import option_table as table

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
