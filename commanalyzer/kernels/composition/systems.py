"""Systems: expressions of parallel patterns over sequential blocks.

A *block* is sequential code without side effects that turns one data element into another. A *pattern* joins
blocks or other patterns:

====================================  ====================================================================
``pipe(a, b, ...)``                   stages that run in parallel on different elements
``tpool(T, x)``                       T workers, each handles whole elements
``sequence(a, b, ...)``               first all elements pass a, then b: the same threads, one after the other
``fork_join(a, b, ...)``              all branches work on the same element, then join
``map(P, x)``                         an element is cut into P shares of the parameter that is divided
``reduction(P, x, combine)``          a map whose P results are combined in a tree, ceil(log2 P) levels
``stencil(P, x, exchange)``           a map after which neighbours exchange their borders
``master_worker(W, x, dispatch)``     a master hands elements to W workers, one after the other
====================================  ====================================================================

Counts are whole numbers or names, which :func:`with_counts` replaces.

Reference: Section III.A (pipeline, task pool) and Section II (further patterns of the data-flow view).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

from commanalyzer.foundation.errors import ConfigError

Count: TypeAlias = int | str
PatternName = Literal[
    "pipe", "tpool", "sequence", "fork_join", "map", "reduction", "stencil", "master_worker"
]


@dataclass(frozen=True, slots=True)
class Block:
    """A sequential block, named as its model."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parallel pattern over other systems."""

    name: PatternName
    parts: tuple[System, ...]  # systems that it joins, in the order of the module's table
    count: Count = 1  # threads, shares or workers of the patterns that replicate; 1 for the others

    def __post_init__(self) -> None:
        operator = OPERATORS[self.name]
        found = len(self.parts)
        if found != operator.num_parts if operator.num_parts else not found:
            wanted = operator.num_parts or "one or more"
            raise ConfigError(
                f"expected {wanted} systems, found {found}", where=self.name, hint=f"write {operator.usage}"
            )
        if isinstance(self.count, int) and self.count < 1:
            raise ConfigError(f"expected a count of 1 or more, found {self.count}", where=self.name)

    def __str__(self) -> str:
        counted = [str(self.count)] if OPERATORS[self.name].is_counted else []
        return f"{self.name}({', '.join([*counted, *map(str, self.parts)])})"


System: TypeAlias = Block | Pattern


@dataclass(frozen=True, slots=True)
class Operator:
    """How an operator is written."""

    is_counted: bool  # the first argument is a count
    num_parts: int  # systems that it takes; 0 for one or more
    usage: str  # an example


OPERATORS: Mapping[PatternName, Operator] = {
    "pipe": Operator(False, 0, "pipe(stage1, stage2, ...)"),
    "tpool": Operator(True, 1, "tpool(threads, task)"),
    "sequence": Operator(False, 0, "sequence(phase1, phase2, ...)"),
    "fork_join": Operator(False, 0, "fork_join(branch1, branch2, ...)"),
    "map": Operator(True, 1, "map(shares, task)"),
    "reduction": Operator(True, 2, "reduction(shares, task, combine)"),
    "stencil": Operator(True, 2, "stencil(shares, update, exchange)"),
    "master_worker": Operator(True, 2, "master_worker(workers, task, dispatch)"),
}


def pipe(*stages: System) -> Pattern:
    """Pipeline, Section III.A.2; any number of stages is a composition of pipelines of two."""
    return Pattern("pipe", stages)


def tpool(threads: Count, task: System) -> Pattern:
    """Task pool, Section III.A.1."""
    return Pattern("tpool", (task,), threads)


def parse_system(text: str) -> System:
    """System of an expression such as ``pipe(tpool(4, sort), inc)``; a name alone is a block.

    Raises:
        ConfigError: If it is no such expression.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(
            "expected an expression such as pipe(tpool(4, sort), inc), found one that does not parse",
            where=text,
        ) from error
    return _system(tree, text)


def _system(node: ast.expr, text: str) -> System:
    if isinstance(node, ast.Name):
        return Block(node.id)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords):
        raise ConfigError(
            f"expected a block or a pattern, found {ast.unparse(node)!r}", where=text, hint=_known()
        )
    name, arguments = node.func.id, node.args
    if name not in OPERATORS:
        raise ConfigError(f"expected a known pattern, found {name!r}", where=text, hint=_known())
    pattern = cast(PatternName, name)
    count: Count = 1
    if OPERATORS[pattern].is_counted:
        if not arguments:
            raise ConfigError("expected a count and a system, found nothing", where=text, hint=_known())
        count, arguments = _count(arguments[0], text), arguments[1:]
    return Pattern(pattern, tuple(_system(argument, text) for argument in arguments), count)


def _count(node: ast.expr, text: str) -> Count:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    raise ConfigError(
        f"expected a count such as 4 or the name of one, found {ast.unparse(node)!r}", where=text
    )


def _known() -> str:
    return "patterns: " + ", ".join(operator.usage for operator in OPERATORS.values())


def walk(system: System) -> Iterator[System]:
    """The system and all of its parts, outer ones first."""
    yield system
    if isinstance(system, Pattern):
        for part in system.parts:
            yield from walk(part)


def block_names(system: System) -> tuple[str, ...]:
    """Names of the blocks, in the order of their first appearance."""
    return tuple(dict.fromkeys(part.name for part in walk(system) if isinstance(part, Block)))


def count_names(system: System) -> tuple[str, ...]:
    """Names of counts that are still open, in the order of their first appearance."""
    counts = [part.count for part in walk(system) if isinstance(part, Pattern)]
    return tuple(dict.fromkeys(count for count in counts if isinstance(count, str)))


def with_counts(system: System, counts: Mapping[str, int]) -> System:
    """The system with named counts replaced; names that are not given stay."""
    if isinstance(system, Block):
        return system
    count = counts.get(system.count, system.count) if isinstance(system.count, str) else system.count
    return replace(system, count=count, parts=tuple(with_counts(part, counts) for part in system.parts))


def num_threads(system: System) -> int:
    """Hardware threads that the system keeps busy (Section III.A: no more than there are).

    Raises:
        ConfigError: If a count is still a name.
    """
    if isinstance(system, Block):
        return 1
    inner = [num_threads(part) for part in system.parts]
    if system.name in ("pipe", "fork_join"):
        return sum(inner)
    if system.name == "sequence":
        return max(inner)
    workers = whole_count(system) * inner[0]
    return workers + 1 if system.name == "master_worker" else workers


def whole_count(pattern: Pattern) -> int:
    """The count of a pattern; ``ConfigError`` if it is still a name."""
    if isinstance(pattern.count, str):
        raise ConfigError(
            f"expected a number for {pattern.count}, found none",
            where=str(pattern),
            hint=f"set it: --set {pattern.count}=4",
        )
    return pattern.count
