"""Changes of files that know their structure: trees of JSON and TOML, cells of CSV, arrays of HDF5, bytes."""

import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import h5py
import numpy as np

from tests.sealed import change, put

Tree: TypeAlias = Any
NUMBERS = (0, 1, -1, 2**31, 2**44, 2**62, 2**63, -(2**63) - 1, 10**400, 0.5, 1e308, -0.0)
_ODD: tuple[Any, ...] = (
    *(float("inf"), float("nan"), None, True, "", "x" * 70_000, "1e9999", "=1+1", [], {}),
    *("\x00", "ä/../.."),
)
_EXTREMES = (0, 1, -1, 2, 255, 2**31 - 1, 2**31, 2**44, 2**53, 2**62, 2**63 - 1, -(2**63))

_CELLS = (*map(str, NUMBERS), "x" * 140_000, '"', "", "nan")
_WORDS = (*map(str, NUMBERS), "[" * 5000, "%x", "@", "{", "i99999999")
_PIECES = ("", "\x00", "9" * 30, "[", "]", '"', "-", "e", ",")


def tree(content: Tree, random_: random.Random) -> Tree:
    """A copy in which one or a few entries are other ones, missing, repeated or deeply nested."""
    changed = copy.deepcopy(content)
    for _ in range(random_.choice((1, 1, 1, 2, 4))):
        places = _places(changed)
        if not places:
            return random_.choice(_ODD)
        container, key = random_.choice(places)
        _edit(container, key, random_)
    return changed


def _places(content: Tree) -> list[tuple[Tree, Any]]:
    """All entries, as container and key."""
    found: list[tuple[Tree, Any]] = []
    waiting = [content]
    while waiting:
        item = waiting.pop()
        keys = item.keys() if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ()
        found += [(item, key) for key in keys]
        waiting += [item[key] for key in keys]
    return found


def _edit(container: Tree, key: Any, random_: random.Random) -> None:
    kind = random_.randrange(6)
    if kind == 0:
        del container[key]
    elif kind == 1 and isinstance(container, list):
        container.append(copy.deepcopy(container[key]))
    elif kind == 2:
        container[key] = [container[key]]
    elif kind == 3 and isinstance(container[key], int | float):
        container[key] = -container[key]
    elif kind == 4:
        container[key] = random_.choice(_ODD)
    else:
        container[key] = random_.choice(NUMBERS)


def text(content: str, random_: random.Random) -> str:
    """A copy with lines, cells or characters changed."""
    lines = content.split("\n")
    at = random_.randrange(len(lines))
    kind = random_.randrange(8)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, random_.choice(lines))
    elif kind == 2:
        lines[at] = lines[at][: random_.randrange(len(lines[at]) + 1)]
    elif kind == 3:
        cells = lines[at].split(",")
        cells[random_.randrange(len(cells))] = random_.choice(_CELLS)
        lines[at] = ",".join(cells)
    elif kind == 4:
        words = lines[at].split(" ")
        words[random_.randrange(len(words))] = random_.choice(_WORDS)
        lines[at] = " ".join(words)
    elif kind == 5:
        lines[at] = random_.choice(("[" * 5000, "a = " + "9" * 5000, "a=" + "{b=" * 3000, "\x00", "\ufeff"))
    else:
        place = random_.randrange(len(content) + 1)
        return content[:place] + random_.choice(_PIECES) + content[place + 1 :]
    return "\n".join(lines)


def flipped(content: bytes, random_: random.Random) -> bytes:
    """A copy with some bits flipped, a piece missing, or words replaced by extreme numbers."""
    changed = bytearray(content)
    kind = random_.randrange(4)
    if kind == 0:
        return bytes(changed[: random_.randrange(len(changed) + 1)])
    for _ in range(random_.choice((1, 2, 16))):
        at = random_.randrange(len(changed))
        if kind == 1:
            word = random_.choice(_EXTREMES) & (1 << 64) - 1
            changed[at & ~7 : (at & ~7) + 8] = word.to_bytes(8, "little")
        else:
            changed[at] ^= 1 << random_.randrange(8)
    return bytes(changed)


def hdf5(path: Path, random_: random.Random, header: Callable[[bytes], bytes]) -> None:
    """Change arrays of a result file, or its header, in place; its digest fits."""

    def edit(file: h5py.File) -> None:
        names: list[str] = []
        file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        for _ in range(random_.choice((1, 1, 2, 3))):
            name = "header" if random_.random() < 0.4 else random_.choice(names)
            if name not in file:
                continue
            array = np.asarray(file[name][...])
            if name == "header":
                array = np.frombuffer(header(array.tobytes()), np.uint8)
            else:
                array = _array(array, random_)
            put(file, name, array)
        if random_.random() < 0.1:
            del file[random_.choice([n for n in names if n in file])]

    change(path, edit)


def _array(array: Any, random_: random.Random) -> Any:
    kind = random_.randrange(7)
    if kind == 0:
        return array[: len(array) // 2]
    if kind == 1:
        return np.concatenate([array, array])
    if kind == 2:
        return array.astype(random_.choice((np.float64, np.int8, np.uint64, np.int16)))
    if kind == 3:
        return array.reshape(-1)
    changed = array.copy()
    if changed.size:
        limits = np.iinfo(changed.dtype) if changed.dtype.kind in "iu" else None
        for _ in range(random_.choice((1, 3))):
            value = random_.choice(_EXTREMES)
            changed.flat[random_.randrange(changed.size)] = (
                value if limits is None else min(max(value, int(limits.min)), int(limits.max))
            )
    return changed
