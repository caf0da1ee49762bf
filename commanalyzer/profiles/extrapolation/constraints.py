"""Constraints of trends that a model must keep beyond its data (Section 6.2.4).

A sum of terms is tried on a grid of points: where it must grow, along each line of the grid; where it must
not fall for ever, far out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.scaling.laws.law import Formula
from commanalyzer.scaling.laws.terms import Floats

_PER_LINE = 17  # points along each parameter: 16 steps up to REACH, a factor of about 2 each
REACH = 1024.0
"""How far beyond the largest value of a parameter trends are checked, as a factor."""
_FAR = (1e4, 1e6, 1e8)  # times the largest value: where a sum that falls for ever shows it
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a model must keep; ``ValueError`` if a comparison is wrong."""

    bounded_below: bool = False  # it must not fall for ever
    increasing: tuple[str, ...] = ()  # parameters that it must not fall along
    where: tuple[str, ...] = ()  # comparisons, such as ``1 < p <= n``: constraints hold where all are true

    def __post_init__(self) -> None:
        for text in self.where:
            _comparison(text)

    def __bool__(self) -> bool:
        return self.bounded_below or bool(self.increasing)


def acceptance(
    constraints: Constraints,
    names: Sequence[str],
    lowest: Floats,
    highest: Floats,
    complete: Callable[[Floats], Floats],
) -> Callable[[Formula], bool] | None:
    """Test of a sum of terms; ``None`` if there is no constraint.

    Constraints are checked from ``lowest``, float64[K], the least values of the data; ``complete`` makes
    scaling parameters float64[N, K] the parameters of formulas. Raises ``ValueError`` if a constraint names
    something that is no scaling parameter.
    """
    if not constraints:
        return None
    if wrong := [name for name in constraints.increasing if name not in names]:
        raise ValueError(f"constraint along {wrong[0]}, which is none of {', '.join(names)}")
    grid = np.stack(
        np.meshgrid(
            *(np.geomspace(low, high * REACH, _PER_LINE) for low, high in zip(lowest, highest, strict=True)),
            indexing="ij",
        ),
        axis=-1,
    )
    flat = grid.reshape(-1, len(names))
    allowed = np.ones(len(flat), dtype=bool)
    for text in constraints.where:
        allowed &= _holds(text, names, flat)
    inside = allowed.reshape(grid.shape[:-1])
    points = complete(flat)
    far = [complete(_far_out(highest, factor)) for factor in _FAR] if constraints.bounded_below else []
    axes = [names.index(name) for name in constraints.increasing]

    def accepts(formula: Formula) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            values = formula.unbounded(points).reshape(inside.shape)
            grows = all(_grows(values, inside, axis) for axis in axes)
            return grows and (not far or _stays([formula.unbounded(x) for x in far]))

    return accepts


def _grows(values: Floats, inside: NDArray[np.bool_], axis: int) -> bool:
    first, then = (np.take(values, range(s, s + values.shape[axis] - 1), axis=axis) for s in (0, 1))
    both = np.logical_and(*(np.take(inside, range(s, s + values.shape[axis] - 1), axis=axis) for s in (0, 1)))
    return bool((then >= first - _ROUNDING * np.abs(first))[both].all())


def _far_out(highest: Floats, factor: float) -> Floats:
    """Each parameter by itself and all together, so many times the largest value."""
    count = len(highest)
    return (
        np.concatenate((np.where(np.eye(count, dtype=bool), factor, 1.0), np.full((1, count), factor)))
        * highest
    )


def _stays(values: Sequence[Floats]) -> bool:
    """Not negative and more so at every distance; a slightly negative limit is no fall."""
    near, mid, far = values
    return not bool(((far < 0) & (far - mid < (mid - near) * 0.5) & (mid < near)).any())


def _comparison(text: str) -> ast.Compare:
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"expected a comparison such as 1 < p <= n, found {text!r}") from error
    if not isinstance(node, ast.Compare) or not all(
        isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops
    ):
        raise ValueError(f"expected a comparison such as 1 < p <= n, found {text!r}")
    return node


def _holds(text: str, names: Sequence[str], points: Floats) -> NDArray[np.bool_]:
    node = _comparison(text)
    sides = [_side(side, names, points, text) for side in (node.left, *node.comparators)]
    result = np.ones(len(points), dtype=bool)
    for op, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True):
        less, strict = isinstance(op, ast.Lt | ast.LtE), isinstance(op, ast.Lt | ast.Gt)
        low, high = (left, right) if less else (right, left)
        result &= low < high if strict else low <= high
    return result


def _side(node: ast.expr, names: Sequence[str], points: Floats, text: str) -> Floats:
    if isinstance(node, ast.Name) and node.id in names:
        return points[:, names.index(node.id)]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return np.full(len(points), float(node.value))
    raise ValueError(f"expected numbers and parameters ({', '.join(names)}) in {text!r}")
