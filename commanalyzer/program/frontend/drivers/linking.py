"""What a link adds to the records: how to link again, and objects that came without records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from commanalyzer.program.frontend.drivers import option_table as table
from commanalyzer.program.frontend.drivers.command import Argument, CompilerCommand
from commanalyzer.program.frontend.drivers.elf import RELOCATABLE, is_elf, parse_elf, read_elf
from commanalyzer.program.frontend.drivers.records import SECTION, Record
from commanalyzer.program.frontend.drivers.underlying import Underlying

_ARCHIVE = b"!<arch>\n"
_MEMBER_HEADER = 60  # bytes; the size stands in bytes 48 to 57, decimal


def link_record(command: CompilerCommand, underlying: Underlying) -> Record:
    """How the program was linked: libraries and search paths, absolute, in the user's order."""
    options: list[str] = []
    directories = [_directory(a) for a in command.arguments if _is_library_path(a)]
    for argument in command.arguments:
        if argument.language == "object":
            options += _library_file(Path(argument.name))
        elif not argument.language:
            options += _kept(argument, directories)
    words = list(_linker_words(command.arguments))
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


def _is_library_path(argument: Argument) -> bool:
    return not argument.language and argument.name.startswith("-L")


def _directory(option: Argument) -> Path:
    return Path(option.value or option.name[2:]).resolve()


def _kept(option: Argument, directories: Sequence[Path]) -> list[str]:
    name = option.name
    if name in table.KEPT_LINK_OPTIONS:
        return [name]
    if _is_library_path(option):
        return [f"-L{_directory(option)}"]
    library = (option.value or name[2:]) if name.startswith("-l") else ""
    if not library or f"-l{library}" in table.OPENMP_LIBRARIES:
        return []
    # A library of the project is known by its file: it may be gone when the program is analysed.
    names = [library[1:]] if library.startswith(":") else [f"lib{library}.so", f"lib{library}.a"]
    found = next((d / n for d in directories for n in names if (d / n).is_file()), None)
    return [f"-l{library}"] if found is None else _library_file(found)


def _linker_words(arguments: Iterable[Argument]) -> Iterator[str]:
    for argument in arguments:
        if argument.name == "-Xlinker":
            yield argument.value
        elif argument.name.startswith("-Wl,"):
            yield from argument.name.split(",")[1:]


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
