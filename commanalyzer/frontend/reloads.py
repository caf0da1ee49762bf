"""Sums in memory that LLVM carries in a register are read from memory again: canonical IR text in and out.

``x[i] = x[i] + a[i][j] * y[j]`` in a loop over j stores every partial sum, since ``y`` may overlap ``x``, but
LLVM keeps what it has just stored in a register instead of loading it again. The register looks like a
recurrence whose every result is kept; in memory it is what the source says, a sum whose place is ``x[i]``.
The register is replaced by a load where that gives the same number whatever the pointers are: the loop writes
nowhere else, stores in every round at one address, and begins with what this address holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_LABEL = re.compile(r'([-a-zA-Z$._0-9]+|"[^"]*"):')
_PHI = re.compile(
    r"  (?P<name>%[^ ]+) = phi (?P<type>\w+) "
    r"\[ (?P<v0>[^ ,]+), %(?P<b0>[^ ]+) \], \[ (?P<v1>[^ ,]+), %(?P<b1>[^ ]+) \]"
)
_STORE = re.compile(r"  store (?P<type>\w+) (?P<value>[^ ,]+), ptr (?P<address>[^ ,]+)(?P<tail>, .*)?$")
_DEFINITION = re.compile(r"  (%[^ ]+) = ")
_TARGET = re.compile(r"label %([^\s,\]]+)")
_NAME = re.compile(r'%(?:"[^"]*"|[-a-zA-Z$._0-9]+)')
_WRITES = re.compile(r"\b(store|call|invoke|callbr|atomicrmw|cmpxchg|fence)\b")
_PURE = re.compile(
    r"\bcall\b.* @llvm\.(?:fmuladd|fma|fabs|sqrt|[su]?min|[su]?max|minnum|maxnum|abs|exp|log)[.\w]*\("
)
_ADDRESSING = re.compile(r"= (?:getelementptr|sext|zext|trunc|icmp)\b|= (?:add|sub) .*, -?\d+(?:,|$)")
_MOST_STEPS = 4  # blocks in front of a loop that are looked at


@dataclass(frozen=True, slots=True)
class _Body:
    """Lines of a function by block; blocks behind and in front of each."""

    lines: Mapping[str, Sequence[str]]
    behind: Mapping[str, Sequence[str]]
    front: Mapping[str, Sequence[str]]


def with_reloads(text: str) -> str:
    """Return a module in which partial sums that are stored in every round are loaded from where they are."""
    found: list[str] = []
    function: list[str] = []
    for line in text.split("\n"):
        if line.startswith("define "):
            function = [line]
        elif function:
            function.append(line)
            if line == "}":
                found += _rewritten(function)
                function = []
        else:
            found.append(line)
    return "\n".join(found)


def _rewritten(function: list[str]) -> list[str]:
    stored = {m["value"] for line in function if (m := _STORE.match(line))}
    phis = [m for line in function if (m := _PHI.match(line)) and {m["v0"], m["v1"]} & stored]
    if not phis:
        return function
    body = _body(function)
    block_of = {
        m[1]: label for label, lines in body.lines.items() for x in lines if (m := _DEFINITION.match(x))
    }
    for phi in phis:
        load = _reload(body, block_of, phi)
        if load is not None:
            function = _replaced(function, phi, load)
    return function


def _body(function: Sequence[str]) -> _Body:
    lines: dict[str, list[str]] = {}
    label = ""
    for line in function[1:-1]:
        if line and not line.startswith(" "):
            match = _LABEL.match(line)
            label = match[1] if match else label
            lines[label] = []
        elif label:
            lines[label].append(line)
    behind = {label: _targets(block) for label, block in lines.items()}
    front: dict[str, list[str]] = {label: [] for label in lines}
    for label, targets in behind.items():
        for target in targets:
            front.setdefault(target, []).append(label)
    return _Body(lines, behind, front)


def _targets(block: Sequence[str]) -> list[str]:
    """Labels that the last instruction names; it may go over several lines."""
    ends = [
        i for i, line in enumerate(block) if re.match(r"  (br|switch|indirectbr|invoke|.* = invoke) ", line)
    ]
    return list(dict.fromkeys(_TARGET.findall("\n".join(block[ends[-1] :])))) if ends else []


def _reload(body: _Body, block_of: Mapping[str, str], phi: re.Match[str]) -> str | None:
    """Return the load that gives what a phi carries, ``None`` if there may be none."""
    header, name = block_of[phi["name"]], phi["name"]
    for before, start, latch, value in (
        (phi["b0"], phi["v0"], phi["b1"], phi["v1"]),
        (phi["b1"], phi["v1"], phi["b0"], phi["v0"]),
    ):
        loop = _loop(body, header, latch)
        if before in loop or block_of.get(value) not in loop:
            continue
        inside = [(label, line) for label in loop for line in body.lines[label]]
        writes = [(label, line) for label, line in inside if _WRITES.search(line) and not _is_pure(line)]
        store = _STORE.match(writes[0][1]) if len(writes) == 1 else None
        if store is None or (store["value"], store["type"]) != (value, phi["type"]):
            continue
        address = store["address"]
        fixed = address.startswith("@") or (block_of.get(address) not in loop)
        if not fixed or not _always(body, loop, header, latch, writes[0][0]):
            continue
        users = [
            line
            for _, line in inside
            if {name, value} & set(_NAME.findall(line)) and _ADDRESSING.search(line)
        ]
        outside = any(
            name in _NAME.findall(line)
            for label, lines in body.lines.items()
            for line in lines
            if label not in loop and not line.lstrip().startswith("#dbg")
        )
        if not users and not outside and _holds(body, before, start, address, phi["type"]):
            return f"load {phi['type']}, ptr {address}{store['tail'] or ''}"
    return None


def _loop(body: _Body, header: str, latch: str) -> dict[str, None]:
    """Blocks of the natural loop of an edge back to ``header``; the header alone is not one without edge."""
    found = {header: None}
    pending = [latch]
    while pending:
        label = pending.pop()
        if label not in found:
            found[label] = None
            pending += body.front.get(label, ())
    return found if header in body.behind.get(latch, ()) else {}


def _always(body: _Body, loop: Mapping[str, None], header: str, latch: str, block: str) -> bool:
    """Whether every round passes ``block``."""
    pending, seen = [header] if header != block else [], {block}
    while pending:
        label = pending.pop()
        if label == latch:
            return False
        if label not in seen:
            seen.add(label)
            pending += [t for t in body.behind[label] if t in loop and t != header]
    return True


def _holds(body: _Body, block: str, value: str, address: str, type_: str) -> bool:
    """Whether memory at ``address`` holds ``value`` at the end of ``block``: it was just loaded or stored."""
    for _ in range(_MOST_STEPS):
        for line in reversed(body.lines[block]):
            if re.match(rf"  {re.escape(value)} = load {type_}, ptr {re.escape(address)}(,|$)", line):
                return True
            if _WRITES.search(line) and not _is_pure(line):
                store = _STORE.match(line)
                return store is not None and store.group("type", "value", "address") == (
                    type_,
                    value,
                    address,
                )
        if len(set(body.front[block])) != 1:
            return False
        block = body.front[block][0]
    return False


def _is_pure(line: str) -> bool:
    return line.lstrip().startswith("#dbg") or _PURE.search(line) is not None


def _replaced(function: Sequence[str], phi: re.Match[str], load: str) -> list[str]:
    return list(_lines_with(function, phi, load))


def _lines_with(function: Sequence[str], phi: re.Match[str], load: str) -> Iterator[str]:
    """Yield the lines of a function with ``load``, behind the phis of the block, in place of a phi."""
    waits = False
    for line in function:
        if line.startswith(f"  {phi['name']} = phi "):
            waits, debug = True, re.search(r", !dbg !\d+", line)
            load += debug[0] if debug and ", !dbg" not in load else ""
            continue
        if waits and " = phi " not in line and not line.lstrip().startswith("#dbg"):
            yield f"  {phi['name']} = {load}"
            waits = False
        yield line
