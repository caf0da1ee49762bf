"""Result files that were changed on purpose, with a digest that fits: what a careful forger would send."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

from commanalyzer.result.artifacts import DECOMPOSITION, GRAPH, HEADER, NAMES, Digest, Stored


def change(path: Path, edit: Callable[[h5py.File], None]) -> None:
    """Let ``edit`` change the file, and give it the digest of what it holds then."""
    with h5py.File(path, "r+") as file:
        edit(file)
        digest = Digest()
        places: list[tuple[str, tuple[Stored, ...]]] = [("/", HEADER), ("/graph", GRAPH), ("/graph", NAMES)]
        number = 0
        while f"decompositions/{number}" in file:
            places.append((f"/decompositions/{number}", DECOMPOSITION))
            number += 1
        for place, table in places:
            for stored in table:
                if place in file and stored.name in file[place]:
                    array = np.asarray(file[place][stored.name][...])
                    digest.add(f"{place}/{stored.name}", array)
        file.attrs["digest"] = digest.text


def put(file: h5py.File, name: str, array: object) -> None:
    """Replace an array, whatever its type and shape."""
    if name in file:
        del file[name]
    file[name] = array
