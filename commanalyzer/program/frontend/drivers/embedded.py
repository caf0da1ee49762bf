"""Reads an executable's records, and those of the shared objects it is linked with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.program.frontend.drivers.elf import (
    DT_NEEDED,
    DT_RPATH,
    DT_RUNPATH,
    DT_SONAME,
    RELOCATABLE,
    ElfFile,
    dynamic_entries,
    is_elf,
    read_elf,
)
from commanalyzer.program.frontend.drivers.records import SECTION, Record, decode_records

_HOW_TO_BUILD = (
    "build it with make CC=commanalyzer-cc CXX=commanalyzer-c++ FC=commanalyzer-fc, or with cmake "
    "-DCMAKE_C_COMPILER=commanalyzer-cc -DCMAKE_CXX_COMPILER=commanalyzer-c++; llvm-strip removes the IR"
)
_DEFAULT_DIRECTORIES = (Path("/usr/local/lib"),)


@dataclass(frozen=True, slots=True)
class Image:
    """The executable or a shared object, with its records.

    Attributes:
        path: The file.
        names: File name and soname.
        records: In the linker's order.
    """

    path: Path
    names: frozenset[str]
    records: tuple[Record, ...]

    def of_kind(self, kind: str) -> list[Record]:
        """Its records of one kind."""
        return [record for record in self.records if record.kind == kind]


@dataclass(frozen=True, slots=True)
class EmbeddedProgram:
    """What can be analysed of an executable.

    Attributes:
        images: The executable, then its shared objects with IR, each once, as the dynamic linker orders them.
        run_paths: Directories of needed shared objects without IR that the executable finds by its run path.
    """

    images: tuple[Image, ...]
    run_paths: tuple[Path, ...]

    def link_options(self) -> tuple[list[str], list[str]]:
        """Options to link the rest of the program with, and files among them that are gone."""
        analysed = frozenset(name for image in self.images[1:] for name in image.names)
        options: list[str] = []
        gone: list[str] = []
        for image in self.images:
            for record in image.of_kind("link"):
                for option in record.options:
                    if _is_analysed(option, analysed):
                        continue
                    if option.startswith("/") and not Path(option).exists():
                        gone.append(option)
                    else:
                        options.append(option.replace("$ORIGIN", str(image.path.parent)))
        return [*options, *(f"-Wl,-rpath,{path}" for path in self.run_paths)], gone


def read_program(path: Path) -> EmbeddedProgram:
    """Records of the executable at ``path`` and of its shared objects.

    Raises:
        ConfigError: If it is not an executable for x86-64 Linux, or carries no IR.
    """
    elf = _read(path)
    if elf is None:
        raise ConfigError("expected an executable for x86-64, found one for another machine", where=str(path))
    if elf.kind == RELOCATABLE:
        raise ConfigError(
            "expected an executable, found an object file",
            where=str(path),
            hint="link it, and give the program",
        )
    images = [_image(path, elf)]
    run_paths: dict[Path, None] = {}
    _follow(path, elf, images, run_paths)
    if not any(image.of_kind("module") for image in images):
        raise ConfigError(
            "expected an executable with embedded IR, found none",
            where=str(path),
            hint=_HOW_TO_BUILD,
        )
    return EmbeddedProgram(tuple(images), tuple(run_paths))


def _read(path: Path) -> ElfFile | None:
    try:
        return read_elf(path)
    except OSError as error:
        raise ConfigError(f"expected a readable file, found: {error.strerror}", where=str(path)) from error


def _image(path: Path, elf: ElfFile) -> Image:
    names = frozenset((path.name, path.resolve().name, *dynamic_entries(elf, DT_SONAME)))
    return Image(path.resolve(), names, decode_records(elf.content(SECTION), str(path)))


def _follow(path: Path, elf: ElfFile, images: list[Image], run_paths: dict[Path, None]) -> None:
    """Breadth first over the needed shared objects, as the dynamic linker goes."""
    seen: set[Path] = {path.resolve()}
    queue = [(path, elf)]
    while queue:
        found = []
        for user, user_elf in queue:
            for library, run_path in _needed(user, user_elf, images[0]):
                library_elf = _read(library)
                if library.resolve() in seen or library_elf is None:
                    continue
                seen.add(library.resolve())
                found.append((library, library_elf))
                image = _image(library, library_elf)
                if image.of_kind("module"):
                    images.append(image)
                elif run_path:
                    run_paths[library.resolve().parent] = None
        queue = found


def _needed(user: Path, elf: ElfFile, program: Image) -> Iterator[tuple[Path, bool]]:
    """Needed libraries outside the system's directories, and whether the run path leads there."""
    texts = (*dynamic_entries(elf, DT_RPATH), *dynamic_entries(elf, DT_RUNPATH))
    run_path = _directories(":".join(texts), user)
    others = [*_directories(os.environ.get("LD_LIBRARY_PATH", ""), user), *_DEFAULT_DIRECTORIES]
    others += [
        Path(o[2:]) for record in program.of_kind("link") for o in record.options if o.startswith("-L")
    ]
    for name in dynamic_entries(elf, DT_NEEDED):
        if "/" in name:
            candidates = [(Path(name), False)]
        else:
            candidates = [(d / name, True) for d in run_path] + [(d / name, False) for d in others]
        found = next((c for c in candidates if is_elf(c[0])), None)
        if found is not None:
            yield found


def _directories(text: str, user: Path) -> list[Path]:
    origin = str(user.resolve().parent)
    return [
        Path(part.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", origin))
        for part in text.split(":")
        if part
    ]


def _is_analysed(option: str, analysed: frozenset[str]) -> bool:
    """The option names a shared object whose IR is part of the analysis."""
    if option.startswith("/"):
        path = Path(option)
        return not analysed.isdisjoint((path.name, path.resolve().name))
    library = option.removeprefix("-l")
    names = [library[1:]] if library.startswith(":") else [f"lib{library}.so"]
    return option.startswith("-l") and any(a == n or a.startswith(f"{n}.") for n in names for a in analysed)
