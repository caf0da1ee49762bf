"""What a link adds to the records: how to link again, and objects that came without records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from commanalyzer.frontend.drivers import option_table as table
from commanalyzer.frontend.drivers.command import Argument, CompilerCommand
from commanalyzer.frontend.drivers.elf import RELOCATABLE, is_elf, read_elf
from commanalyzer.frontend.drivers.records import SECTION, Record
from commanalyzer.frontend.drivers.underlying import Underlying


def link_record(command: CompilerCommand, underlying: Underlying) -> Record:
    """How the program was linked: libraries and search paths, absolute, in the user's order."""
    options: list[str] = []
    changed: list[str] = []
    for argument in command.arguments:
        if argument.language == "object":
            options += _library_file(Path(argument.name))
        elif not argument.language:
            options += _kept(argument)
    for word in _linker_words(command.arguments):
        if word.startswith(table.NAME_CHANGING_LINKER_PREFIXES):
            changed.append(word)
    return Record(
        "link",
        Path(command.output or "a.out").name,
        underlying.language,
        underlying.analysis,
        (*options, *_run_paths(command.arguments)),
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
    """A library or linker script is linked again; an object file is in the records."""
    if not path.is_file():
        return []
    elf = read_elf(path) if is_elf(path) else None
    if elf is not None and elf.kind == RELOCATABLE:
        return []
    return [str(path.resolve())]


def _kept(option: Argument) -> list[str]:
    name = option.name
    if name in table.OPENMP_LIBRARIES or option.words in (("-l", "gomp"), ("-l", "omp")):
        return []
    if name in table.KEPT_LINK_OPTIONS:
        return [name]
    if name.startswith("-L"):
        return [f"-L{Path(option.value or name[2:]).resolve()}"]
    return ["-l" + (option.value or name[2:])] if name.startswith("-l") else []


def _linker_words(arguments: Iterable[Argument]) -> Iterator[str]:
    for argument in arguments:
        if argument.name == "-Xlinker":
            yield argument.value
        elif argument.name.startswith("-Wl,"):
            yield from argument.name.split(",")[1:]


def _run_paths(arguments: Iterable[Argument]) -> list[str]:
    """``-rpath`` as ``-Wl,-rpath,DIR``, whichever way it was written."""
    found: list[str] = []
    words = _linker_words(arguments)
    for word in words:
        if word in ("-rpath", "--rpath", "-R"):
            value = next(words, "")
        elif word.startswith(("-rpath=", "--rpath=")):
            value = word.partition("=")[2]
        else:
            continue
        found += [f"-Wl,-rpath,{part}" for part in value.split(":") if part]
    return found
