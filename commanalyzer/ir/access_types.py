"""Whether two memory accesses can touch the same value, by the types that the compiler noted (``!tbaa``)."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TAG = re.compile(r"!tbaa !(\d+)")
_NODE = re.compile(r"!(\d+)")
_NAME = re.compile(r'!\{!"')


class AccessTypes:
    """Types of accesses in a module.

    Args:
        metadata: Text of every numbered node.
    """

    def __init__(self, metadata: Mapping[int, str]) -> None:
        self._metadata = metadata

    def are_apart(self, a: str, b: str) -> bool:
        """Two loads or stores, given as printed, never touch the same value.

        By the rules of C's effective types (and what other front ends say in their place): scalar types
        neither of which contains the other, as ``char`` contains all.
        """
        first, second = self._chain(a), self._chain(b)
        return bool(first and second) and first[0] not in second and second[0] not in first

    def _chain(self, line: str) -> list[int]:
        """The accessed scalar type and the types that contain it, up to the root."""
        found = _TAG.search(line)
        nodes = [int(n) for n in _NODE.findall(self._metadata.get(int(found[1]), ""))] if found else []
        if len(nodes) < 2:
            return []
        chain = [nodes[1]]
        for _ in range(32):
            text = self._metadata.get(chain[-1], "")
            parents = _NODE.findall(text) if _NAME.match(text) else []
            if not parents:
                return chain
            chain.append(int(parents[0]))
        return []
