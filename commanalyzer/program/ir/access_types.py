"""Whether two memory accesses can touch the same value, by the types that the compiler noted (``!tbaa``)."""

from __future__ import annotations

import re

from commanalyzer.program.ir.model import Instruction, Module

_TAG = re.compile(r"!tbaa !(\d+)")
_NODE = re.compile(r"!(\d+)")
_NAME = re.compile(r'!\{!"')


def are_apart(module: Module, a: Instruction, b: Instruction) -> bool:
    """Two loads or stores never touch the same value.

    By the rules of C's effective types (and what other front ends say in their place): scalar types
    neither of which contains the other, as ``char`` contains all.
    """
    first, second = _chain(module, a), _chain(module, b)
    return bool(first and second) and first[0] not in second and second[0] not in first


def _chain(module: Module, access: Instruction) -> list[int]:
    """The accessed scalar type and the types that contain it, up to the root."""
    found, metadata = _TAG.search(module.lines[access.first_line]), module.metadata
    nodes = [int(n) for n in _NODE.findall(metadata.get(int(found[1]), ""))] if found else []
    if len(nodes) < 2:
        return []
    chain = [nodes[1]]
    for _ in range(32):
        text = metadata.get(chain[-1], "")
        parents = _NODE.findall(text) if _NAME.match(text) else []
        if not parents:
            return chain
        chain.append(int(parents[0]))
    return []
