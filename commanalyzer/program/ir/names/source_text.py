"""Names of new blocks in the source text, for those whose variables the debug information has lost.

``std::vector<double> pressure(n)`` allocates in code inlined from a header. The chain of inlined calls ends
in the user's code, and the source text at that line and column names the variable or member.

Where loops begin is read from branches and calls, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from commanalyzer.program.ir.model import Function, Module
from commanalyzer.program.ir.names.debug_info import DebugInfo, SourcePlace, Spot, is_fortran, is_library

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
    found = (at for at in _locations(module, function, header) if debug.place(at).line)
    return function_at(debug, next(found, -1))


def function_at(debug: DebugInfo, location: int) -> str:
    """Name of the function in whose source a location is, also if that was inlined; empty when unknown."""
    return debug.fields(debug.spots(location)[0].subprogram).get("name", "").replace("::__1::", "::")


def _locations(module: Module, function: Function, header: str) -> list[int]:
    blocks = {block.label: block for block in function.blocks}
    backward = (b.terminator for b in function.blocks if header in b.terminator.targets)
    nodes = (
        module.metadata.get(int(n), "") for i in backward for n in _LOOP.findall(module.lines[i.last_line])
    )
    locations = [int(n) for node in nodes for n in _NODE.findall(node)[1:2]]
    locations += [i.debug_location for i in blocks[header].instructions]
    return [location for location in locations if location >= 0]


def user_place(debug: DebugInfo, location: int) -> SourcePlace:
    """Place of a location, or of the innermost call that led from the user's code into the library there."""
    return user_spot(debug, location).place


def user_spot(debug: DebugInfo, location: int) -> Spot:
    """The innermost of them in the user's code, or the location itself."""
    spots = debug.spots(location)
    return next((s for s in spots if s.place.line and not is_library(s.place.file)), spots[0])


_NAME = re.compile(r"[A-Za-z_]\w*")
_TARGET = re.compile(r"([A-Za-z_][\w.\[\]]*)\s*=\s*(?:\([^()=;]*\)\s*|\w+<[^=;]*>\s*\(\s*)*$")
_CHANGED = re.compile(r"([A-Za-z_][\w.]*)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)[^;={}]*$")
_CHANGED_FORTRAN = re.compile(r"([a-z]\w*(?:%\w+)*)=(?![=>])[^,]*$")
_CONDITION = re.compile(r"^(?:if|where|forall)(?=\()")
_INDEX = re.compile(r"\[[^\[\]]*\]")
_END = re.compile(r"[,;:?=<>&|!(){}\[\]]")  # of operands and the operators between them
_HIDDEN = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|->|::|(?<=\w)<\w+>")  # where these end nothing
_LONGEST_NAME = 40
_ALLOCATE = re.compile(r"\ballocate\((.*)\)$")
_INNER = re.compile(r"\([^()]*\)")
_PATH = re.compile(r"[a-z]\w*(?:%\w+)*")
_CALL = re.compile(r"call([a-z]\w*(?:%\w+)*\((.*)\))")
_PLAIN = re.compile(r"(?:\w+=)?[\w.%]*")  # a name or number that is passed
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
    frames, spots = [], debug.spots(location)
    for spot in spots:
        if spot.place.file and not is_library(spot.place.file):
            fields, is_own = debug.fields(spot.subprogram), spot is spots[-1]
            called = function if is_own else fields.get("linkageName") or fields.get("name", function)
            text = (_statement if is_fortran(spot.path) else _text_of)(spot.path, spot.place.line)
            frames.append(UserFrame(called, spot.place, text))
    return tuple(frames)


def user_variable(debug: DebugInfo, location: int) -> tuple[str, SourcePlace] | None:
    """Variable and place of the user's code that called into the library at ``location``.

    ``None`` if the location is not in the library, or no caller is known. The name is empty if the source
    cannot be read.
    """
    spot = user_spot(debug, location)
    if spot.location == location or not spot.place.file:
        return None
    text, column = _text_of(spot.path, spot.place.line), spot.column
    found = _NAME.match(text, column - 1) if column else None
    if found and text.startswith("::", found.end()):  # std::vector<double>(n), which nothing is called
        return "temporary", spot.place
    owner = _OWNER.search(text[: column - 1]) if found else None  # of a member: what it is called on
    return (owner.group(1) if owner else found.group() if found else ""), spot.place


def assigned_place(debug: DebugInfo, location: int) -> tuple[str, SourcePlace] | None:
    """What the result of the call at ``location`` is assigned to, and its place.

    Blocks of Fortran that no statement allocates are temporaries.
    """
    _, place, path, column, _ = debug.spots(location)[0]
    if not place.file or is_library(place.file):
        return None
    if is_fortran(path):
        target = changed_variable(debug, location)
        return (f"temporary of {target}" if target else "temporary", place)
    match = _TARGET.search(_text_before(path, place.line, column))
    name = _INDEX.sub("", match.group(1)) if match else ""
    return (name.removeprefix("this."), place) if name else None


def changed_variable(debug: DebugInfo, location: int) -> str:
    """What the statement at ``location`` assigns to or updates, without indices; empty when unknown."""
    _, place, path, column, _ = user_spot(debug, location)
    if not place.file or is_library(place.file) or not column:
        return ""
    if is_fortran(path):
        statement = _statement(path, place.line)
        changed = _CHANGED_FORTRAN.match(_without(_INNER, _CONDITION.sub("", statement)))
    else:  # the operator of an update is the place of its result
        changed = _CHANGED.search(_without(_INDEX, _text_before(path, place.line, column + 2)))
    return changed.group(1).removeprefix("this.") if changed else ""


def value_name(debug: DebugInfo, location: int) -> str:
    """What a value without a variable is called: what its statement changes, else its expression.

    ``sum(u*u)`` of ``print *, sum(u*u)``, ``sum`` if that is long. Empty when unknown.
    """
    _, place, path, column, _ = user_spot(debug, location)
    if (changed := changed_variable(debug, location)) or not column or is_library(place.file):
        return changed
    before, text = (line := _text_of(path, place.line))[: column - 1], line[column - 1 :]
    if is_fortran(path):  # an operator's place is where its expression begins
        before = "".join(before.lower().split())
        text = _statement(path, place.line)[len(before) :]
        if before[-1:] in ")" and (call := _CALL.fullmatch(text)):
            text = _passed(call.group(1), call.group(2))
        elif not before and not _code(_text_of(path, place.line - 1)).endswith("&"):
            return ""  # the place of the statement
    else:
        begin = len(before) - len(_END.split(_without(_HIDDEN, before, "_"))[-1])
        text = before[begin:] + text
    found = text[: len(_END.split(_without(_HIDDEN, text, "_"))[0])].strip().removeprefix("return ")
    return found if len(found) <= _LONGEST_NAME else _without(_INNER, found)[:_LONGEST_NAME]


def _passed(call: str, arguments: str) -> str:
    """The argument of a Fortran call that is computed, or the call where that may be several."""
    computed, at = [], 0
    for hidden in _without(_INNER, arguments, "_").split(","):
        argument = arguments[at : at + len(hidden)]
        computed += [] if _PLAIN.fullmatch(argument) else [re.sub(r"^\w+=(?!=)", "", argument)]
        at += len(hidden) + 1
    return computed[0] if len(computed) == 1 else call


def allocated_name(debug: DebugInfo, location: int, number: int) -> tuple[str, SourcePlace] | None:
    """Array that a Fortran statement allocates, without indices, and its place.

    ``location`` is that of the allocation, ``number`` which one of the statement it is, from 0.
    """
    _, place, path, column, _ = debug.spots(location)[0]
    if not is_fortran(path):
        return None
    before = "".join(_text_of(path, place.line)[: max(column - 1, 0)].split())
    allocated = _ALLOCATE.search(_statement(path, place.line)[len(before) :].partition(";")[0])
    text = _without(_INNER, allocated.group(1)) if allocated else ""
    # what is left out are options, as stat=s
    names = [item for item in (text.partition("::")[2] or text).split(",") if _PATH.fullmatch(item)]
    return (names[number], place) if number < len(names) else None


def _statement(path: str, line: int) -> str:
    """A free-form Fortran statement with its continuation lines, in lower case and without blanks."""
    text = ""
    for part in _lines(path)[max(line - 1, 0) : line + _MOST_CONTINUED]:
        code = _code(part)
        text += code.removesuffix("&")
        if not code.endswith("&"):
            break
    return "".join(text.lower().split())


def _code(line: str) -> str:
    """A Fortran line without comment, and without the sign that it continues another."""
    return line.partition("!")[0].strip().removeprefix("&").rstrip()


def _without(brackets: re.Pattern[str], text: str, instead: str = "") -> str:
    """The text without what stands in brackets, which nest; ``instead`` of each of its letters."""
    while (less := brackets.sub(lambda found: instead * len(found[0]), text)) != text:
        text = less
    return text


def _text_before(path: str, line: int, column: int) -> str:
    """The line up to a column; members of what pointers point to are written like others."""
    return _text_of(path, line)[: column - 1].replace("->", ".") if column else ""


def _text_of(path: str, line: int) -> str:
    lines = _lines(path)
    return lines[line - 1] if 0 < line <= len(lines) else ""


@lru_cache(maxsize=64)
def _lines(path: str) -> tuple[str, ...]:
    try:
        return tuple(Path(path).read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return ()
