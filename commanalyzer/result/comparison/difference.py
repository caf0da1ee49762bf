"""What changed from one result to another: two versions of a program, two inputs, or two divisions.

Decompositions of equal node count are set side by side, the best of each unless others are named. Variables
are told by name and function, so that moved lines do not matter.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from commanalyzer.communication.attribution import LineTraffic
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.program.ir.names.addresses import source_name
from commanalyzer.request import Nodes, node_counts
from commanalyzer.result.causes import ATTRIBUTED_FLOWS, lines_of, path_of
from commanalyzer.result.results import AnalysisResult, Decomposition

_DIFFERENT = (
    "These {} different programs: {} before, {} after; bytes on as many nodes are compared, "
    "variables and lines of the same name."
)
TextOf = Callable[[AnalysisResult, LineTraffic], str]


@dataclass(frozen=True, slots=True)
class Change:
    """One quantity before and after."""

    before: float  # its value; NaN when not known
    after: float  # its value; NaN when not known

    @property
    def ratio(self) -> float:
        """After over before: 1 where both are 0, infinite where only ``before`` is."""
        if self.before:
            return self.after / self.before
        return 1.0 if not self.after else math.inf


@dataclass(frozen=True, slots=True)
class VariableChange:
    """Bytes because of one variable."""

    name: str
    function: str  # function that declares it; empty for globals
    place: str  # where it is declared, ``file:line``, after the change if it is there; empty when not known
    comm_bytes: Change  # bytes; 0 where it is not there


@dataclass(frozen=True, slots=True)
class LineChange:
    """Bytes that come from other nodes because of one source line."""

    function: str  # function that contains it
    before: str  # ``file:line``; empty when it is not there
    after: str  # likewise
    comm_bytes: Change  # bytes needed; 0 where it is not there


@dataclass(frozen=True, slots=True)
class Difference:
    """Two decompositions for the same number of nodes.

    Attributes:
        nodes: Node count p.
        model: Communication model.
        methods: What made them.
        comm_bytes: Bytes.
        messages: Messages.
        intensity: Bytes per operation of W.
        imbalance: Largest part's work over mean work.
        lower_bound_bytes: Provable minima, 0 when none is known.
        efficiency_bound: Paper Eq. 4; NaN where the machine is not known.
        variables: Those of which more or fewer bytes are sent, the largest change first.
        lines: Source lines that need more or fewer, likewise; empty where values are not known (counted
            runs, other models) or too many.
        left_out: Sentence about node counts that lack one of the decompositions; empty where none does.
        other_program: Sentence about different programs or regions; empty where they are the same.
    """

    nodes: int
    model: str
    methods: tuple[str, str]
    comm_bytes: Change
    messages: Change
    intensity: Change
    imbalance: Change
    lower_bound_bytes: Change
    efficiency_bound: Change
    variables: tuple[VariableChange, ...]
    lines: tuple[LineChange, ...] = ()
    left_out: str = ""
    other_program: str = ""

    def __repr__(self) -> str:
        sizes = " -> ".join(format_bytes(size) for size in (self.comm_bytes.before, self.comm_bytes.after))
        note = f", {self.left_out}" if self.left_out else ""
        return f"Difference(p={self.nodes}, {self.model}, {' -> '.join(self.methods)}, {sizes}{note})"


def differences(
    before: AnalysisResult,
    after: AnalysisResult,
    *,
    model: str = "",
    methods: tuple[str, str] = ("", ""),
    nodes: Nodes | None = None,
    text_of: TextOf = lambda result, line: "",
) -> tuple[Difference, ...]:
    """What changed, for every node count that both results have, fewest nodes first.

    An empty ``model`` is the leading one of ``before``, an empty method the best one; node counts that lack
    one of the ``methods`` are left out. All ``nodes`` that are named must be there; ``None`` is those in
    common. ``text_of`` is the text of a source line; where it is empty, not known, numbers tell lines. A
    :class:`ConfigError` if no node count is in common, or a decomposition is not there.
    """
    leading = model or next(iter(before.models), "")
    left, right = (
        {d.nodes: d for d in result.chosen(nodes, leading, method)}
        for result, method in zip((before, after), methods, strict=True)
    )
    both = [count for count in left if count in right]
    asked = set(before.nodes).intersection(after.nodes) if nodes is None else set(node_counts(nodes))
    lacking, names = sorted(asked.difference(both)), " or ".join(filter(None, dict.fromkeys(methods)))
    text = f"not compared on {', '.join(map(str, lacking))} nodes, which have no {names}" if lacking else ""
    is_known = len(both) * (before.store.num_flows + after.store.num_flows) <= ATTRIBUTED_FLOWS
    sides = [(before, left[n], after, right[n]) for n in both]
    found = [replace(_difference(*s), left_out=text) for s in sides]
    if is_known:
        found = [replace(d, lines=_lines(*s, text_of)) for d, s in zip(found, sides, strict=True)]
    if not found:
        counts = " and ".join(", ".join(map(str, own)) or "none" for own in (left, right))
        raise ConfigError(
            f"expected results with a node count in common, found {counts}",
            hint="add node counts to one of them with: commanalyzer partition RESULT --nodes P",
        )
    return tuple(found)


def _difference(
    before: AnalysisResult, left: Decomposition, after: AnalysisResult, right: Decomposition
) -> Difference:
    bounds = [math.nan if d.efficiency_bound is None else d.efficiency_bound for d in (left, right)]
    return Difference(
        nodes=left.nodes,
        model=left.model,
        methods=(left.method, right.method),
        comm_bytes=Change(left.comm_bytes, right.comm_bytes),
        messages=Change(left.communication.total_messages, right.communication.total_messages),
        intensity=Change(left.intensity, right.intensity),
        imbalance=Change(left.imbalance, right.imbalance),
        lower_bound_bytes=Change(left.lower_bound_bytes, right.lower_bound_bytes),
        efficiency_bound=Change(*bounds),
        variables=_variables(
            *(_per_variable(before, left), _per_variable(after, right)), _places(before) | _places(after)
        ),
        other_program=_other_program(before, after),
    )


def _other_program(before: AnalysisResult, after: AnalysisResult) -> str:
    """What is compared, where regions, names or files of one name differ; an executable is as its source."""
    names = [f"{result.program}." for result in (before, after)]
    if before.regions == after.regions and (names[0].startswith(names[1]) or names[1].startswith(names[0])):
        files = zip(before.provenance.input_hashes, after.provenance.input_hashes, strict=False)
        moved = [(a, b) for (a, old), (b, new) in files if a != b and old != new]
        pairs = (_DIFFERENT.format("may be", *p) for p in moved if Path(p[0]).name == Path(p[1]).name)
        return next(pairs, "")
    ran = (", region ".join((shlex.join(r.command), *r.regions)) for r in (before, after))
    return _DIFFERENT.format("are", *ran)


def _lines(
    before: AnalysisResult, left: Decomposition, after: AnalysisResult, right: Decomposition, text_of: TextOf
) -> tuple[LineChange, ...]:
    """Lines of the same function and text; of the same number where a text is not known."""
    pairs: list[tuple[LineTraffic | None, LineTraffic | None]] = []
    rest = sorted(lines_of(after, right), key=lambda t: (t.file, t.line))
    for line in sorted(lines_of(before, left), key=lambda t: (t.file, t.line)):
        text, alike = text_of(before, line), [t for t in rest if {*t.functions} & {*line.functions}]
        same = [t for t in alike if text and text_of(after, t) == text]
        same += [t for t in alike if t.line == line.line and not (text and text_of(after, t))]
        rest = [t for t in rest if t not in same[:1]]
        pairs.append((line, same[0] if same else None))
    pairs += [(None, line) for line in rest]
    items = []
    for pair in pairs:
        needed = Change(*(line.needed_bytes if line else 0.0 for line in pair))
        if abs(needed.after - needed.before) >= 1:  # less is another way of sharing
            old, new = (path_of(line)[1] if line else "" for line in pair)
            function = next(path_of(line)[0] for line in pair if line)
            items.append(LineChange(function, old, new, needed))
    return tuple(sorted(items, key=lambda t: -abs(t.comm_bytes.after - t.comm_bytes.before)))


def _per_variable(result: AnalysisResult, item: Decomposition) -> Mapping[tuple[str, str], int]:
    """Bytes by name and function; objects of the same name add up."""
    found: dict[tuple[str, str], int] = {}
    for home, amount in zip(result.store.objects, item.object_bytes.tolist(), strict=False):
        if amount:
            key = home.name, source_name(home.function)
            found[key] = found.get(key, 0) + amount
    return found


def _places(result: AnalysisResult) -> dict[tuple[str, str], str]:
    """``file:line`` of the first object of each name and function."""
    known = [home for home in reversed(result.store.objects) if home.file and home.line]
    return {(home.name, source_name(home.function)): f"{home.file}:{home.line}" for home in known}


def _variables(
    left: Mapping[tuple[str, str], int],
    right: Mapping[tuple[str, str], int],
    places: Mapping[tuple[str, str], str],
) -> tuple[VariableChange, ...]:
    items = [
        VariableChange(*key, places.get(key, ""), Change(left.get(key, 0), right.get(key, 0)))
        for key in dict.fromkeys((*left, *right))
    ]
    changed = [v for v in items if v.comm_bytes.before != v.comm_bytes.after]
    return tuple(sorted(changed, key=lambda v: (-abs(v.comm_bytes.after - v.comm_bytes.before), v.name)))
