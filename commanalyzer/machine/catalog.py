"""Machines by name: the published ones that come with the package, and files."""

from __future__ import annotations

import os
from pathlib import Path

from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.machine.parameters import MachineParameters, load_machine

_PUBLISHED = Path(__file__).parent / "published"


def published_machines() -> dict[str, Path]:
    """Files of the published machines by name, in alphabetical order."""
    return {path.stem: path for path in sorted(_PUBLISHED.glob("*.toml"))}


def as_machine(given: MachineParameters | str | os.PathLike[str] | None) -> MachineParameters:
    """``given`` itself, the machine of that name or file, or one of which nothing is known.

    Raises:
        MachineModelError: As :func:`find_machine`.
    """
    if given is None:
        return MachineParameters()
    return given if isinstance(given, MachineParameters) else find_machine(os.fspath(given))


def find_machine(name_or_file: str) -> MachineParameters:
    """Machine of a file, or the published machine of that name.

    A file of that name goes before a published machine.

    Raises:
        MachineModelError: If there is neither, or the file is not usable.
    """
    path = Path(name_or_file)
    published = published_machines()
    if path.is_file() or path.suffix or len(path.parts) != 1:
        return load_machine(path)
    if name_or_file in published:
        return load_machine(published[name_or_file])
    known = ", ".join(published) or "none"
    raise MachineModelError(
        f"expected a machine file or the name of a published machine ({known}), found neither",
        where=name_or_file,
    )
