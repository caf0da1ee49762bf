"""Names of new blocks in the source text, for those whose variables the debug information has lost.

``std::vector<double> pressure(n)`` allocates in code inlined from a header. The chain of inlined calls ends
in the user's code, and the source text at that line and column names the variable or member.

Where loops begin is read from branches and calls, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from commanalyzer.program.ir.model import Function, Instruction, Module
from commanalyzer.program.ir.names.debug_info import DebugInfo, SourcePlace, is_fortran, is_library

_LOOP = re.compile(r"!llvm\.loop !(\d+)")
_NODE = re.compile(r"!(\d+)")


def loop_place(module: Module, debug: DebugInfo, function: Function, header: str) -> SourcePlace:
    """Where a loop begins: as its branch back says, or its first instruction with a place.

    A loop of the C++ library begins where the user's code calls it.
    """
    places = (user_place(debug, location) for location in _locations(module, function, header))
    return next((place for place in places if place.line), SourcePlace())


def loop_function(module: Module, debug: DebugInfo, function: Function, header: str) -> str:
    """Name of the function in whose source a loop stands, also if that was inlined; empty when unknown."""
    for location in _locations(module, function, header):
        if debug.place(location).line:
            return function_at(debug, location)
    return ""


def function_at(debug: DebugInfo, location: int) -> str:
    """Name of the function in whose source a location is, also if that was inlined; empty when unknown."""
    scopes = debug.scopes(location) if location >= 0 else []
    return debug.fields(scopes[0]).get("name", "") if scopes else ""


def _locations(module: Module, function: Function, header: str) -> list[int]:
    blocks = {block.label: block for block in function.blocks}
    backward = (b.terminator for b in function.blocks if header in b.terminator.targets)
    locations = [n for i in backward for n in _starts(module, i)]
    locations += [i.debug_location for i in blocks[header].instructions]
    return [location for location in locations if location >= 0]


def user_place(debug: DebugInfo, location: int) -> SourcePlace:
    """Place of a location, or of the innermost call that led from the user's code into the library there."""
    first = debug.place(location)
    places = [first, *(debug.place(number) for number, _, _ in debug.callers(location))]
    return next((place for place in places if place.line and not is_library(place.file)), first)


def _starts(module: Module, branch: Instruction) -> Iterator[int]:
    for found in _LOOP.findall(module.lines[branch.last_line]):
        node = module.metadata.get(int(found), "")
        yield from (int(n) for n in _NODE.findall(node)[1:2])


_NAME = re.compile(r"[A-Za-z_]\w*")
_TARGET = re.compile(r"([A-Za-z_][\w.\[\]]*)\s*=\s*(?:\([^()=;]*\)\s*|\w+<[^=;]*>\s*\(\s*)*$")
_CHANGED = re.compile(r"([A-Za-z_][\w.]*)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)[^;={}]*$")
_CHANGED_FORTRAN = re.compile(r"([a-z]\w*(?:%\w+)*)=(?![=>])[^,]*$")
_CONDITION = re.compile(r"^(?:if|where|forall)(?=\()")
_INDEX = re.compile(r"\[[^\[\]]*\]")
_ALLOCATE = re.compile(r"\ballocate\((.*)\)$")
_INNER = re.compile(r"\([^()]*\)")
_PATH = re.compile(r"[a-z]\w*(?:%\w+)*")
_MOST_CONTINUED = 255  # lines of a statement, Fortran 2008, 3.3.2.4
_OWNER = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?\s*(?:\.|->)\s*$")


@dataclass(frozen=True, slots=True)
class UserFrame:
    """Where the user's code makes a call: its function, place and source line (Fortran: statement)."""

    function: str
    place: SourcePlace
    text: str

    def mentions(self, name: str) -> bool:
        """The line contains the last part of a name: ``x[n]`` is mentioned by ``this->x = ...``."""
        last = _NAME.findall(_INDEX.sub("", name))[-1:]
        return bool(last) and last[0].lower() in (word.lower() for word in _NAME.findall(self.text))


def user_frames(debug: DebugInfo, location: int, function: str) -> tuple[UserFrame, ...]:
    """The calls that inlined code at ``location`` came through, the innermost first, without libraries.

    ``function`` is the one that the location is in, without regard to inlining.
    """
    frames = []
    every = [debug.position(location), *debug.callers(location)]
    for (number, _, directory), scope in zip(every, debug.scopes(location), strict=True):
        place = debug.place(number)
        if place.file and not is_library(place.file):
            fields = debug.fields(scope)
            is_own = number == every[-1][0]
            called = function if is_own else fields.get("linkageName") or fields.get("name", function)
            path = str(Path(directory) / place.file)
            text = (_statement if is_fortran(place.file) else _text_of)(path, place.line)
            frames.append(UserFrame(called, place, text))
    return tuple(frames)


def user_variable(debug: DebugInfo, location: int) -> tuple[str, SourcePlace] | None:
    """Variable and place of the user's code that called into the library at ``location``.

    ``None`` if the location is not in the library, or no caller is known. The name is empty if the source
    cannot be read.
    """
    if not is_library(debug.place(location).file):
        return None
    for number, column, directory in debug.callers(location):
        place = debug.place(number)
        if place.file and not is_library(place.file):
            return _name_at(str(Path(directory) / place.file), place.line, column), place
    return None


def assigned_place(debug: DebugInfo, location: int) -> tuple[str, SourcePlace] | None:
    """What the result of the call at ``location`` is assigned to, and its place.

    Blocks of Fortran that no statement allocates are temporaries.
    """
    _, column, directory = debug.position(location)
    place = debug.place(location)
    if not place.file or is_library(place.file):
        return None
    if is_fortran(place.file):
        target = changed_variable(debug, location)
        return (f"temporary of {target}" if target else "temporary", place)
    match = _TARGET.search(_text_before(str(Path(directory) / place.file), place.line, column))
    name = _INDEX.sub("", match.group(1)) if match else ""
    return (name.removeprefix("this."), place) if name else None


def changed_variable(debug: DebugInfo, location: int) -> str:
    """What the statement at ``location`` assigns to or updates, without indices; empty when unknown."""
    _, column, directory = debug.position(location)
    place = debug.place(location)
    if not place.file or is_library(place.file):
        return ""
    path = str(Path(directory) / place.file)
    if is_fortran(place.file):
        statement = _statement(path, place.line)
        changed = _CHANGED_FORTRAN.match(_without(_INNER, _CONDITION.sub("", statement)))
    else:  # the operator of an update is the place of its result
        changed = _CHANGED.search(_without(_INDEX, _text_before(path, place.line, column + 2)))
    return changed.group(1).removeprefix("this.") if changed and column else ""


def allocated_name(debug: DebugInfo, location: int, number: int) -> tuple[str, SourcePlace] | None:
    """Array that a Fortran statement allocates, without indices, and its place.

    ``location`` is that of the allocation, ``number`` which one of the statement it is, from 0.
    """
    place = debug.place(location)
    if not is_fortran(place.file):
        return None
    statement = _statement(str(Path(debug.position(location)[2]) / place.file), place.line)
    allocated = _ALLOCATE.search(statement)
    names = _items(allocated.group(1)) if allocated else []
    return (names[number], place) if number < len(names) else None


def _statement(path: str, line: int) -> str:
    """A free-form Fortran statement with its continuation lines, in lower case and without blanks."""
    text = ""
    for part in _lines(path)[max(line - 1, 0) : line + _MOST_CONTINUED]:
        code = part.partition("!")[0].strip().removeprefix("&").rstrip()
        text += code.removesuffix("&")
        if not code.endswith("&"):
            break
    return "".join(text.lower().split())


def _items(text: str) -> list[str]:
    """Names in a list of objects, without what stands in parentheses; options (``stat=s``) are left out."""
    text = _without(_INNER, text)
    items = text.partition("::")[2] or text
    return [item for item in items.split(",") if _PATH.fullmatch(item)]


def _without(brackets: re.Pattern[str], text: str) -> str:
    """The text without what stands in brackets, which nest."""
    while (less := brackets.sub("", text)) != text:
        text = less
    return text


def _text_before(path: str, line: int, column: int) -> str:
    """The line up to a column; members of what pointers point to are written like others."""
    return _text_of(path, line)[: column - 1].replace("->", ".") if column else ""


def _name_at(path: str, line: int, column: int) -> str:
    """Identifier at a place; of a call of a member (``x.resize``), the object that it is called on."""
    text = _text_of(path, line)
    match = _NAME.match(text, column - 1) if column else None
    if match is None:
        return ""
    owner = _OWNER.search(text[: column - 1])
    return owner.group(1) if owner else match.group()


def _text_of(path: str, line: int) -> str:
    lines = _lines(path)
    return lines[line - 1] if 0 < line <= len(lines) else ""


@lru_cache(maxsize=64)
def _lines(path: str) -> tuple[str, ...]:
    try:
        return tuple(Path(path).read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return ()
