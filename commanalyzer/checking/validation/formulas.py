"""Whole-number formulas of the data file of validation cases: ``8 * (p - 1)`` with named values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from commanalyzer.foundation.errors import ConfigError

_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max}


def evaluate(formula: str | int, values: Mapping[str, int]) -> int:
    """Value of ``formula`` with + - * // % **, min and max.

    Raises:
        ConfigError: If it is no such formula, or names a value that is not given.
    """
    try:
        return _value(ast.parse(str(formula), mode="eval").body, values)
    except (SyntaxError, KeyError, TypeError, ZeroDivisionError) as error:
        known = ", ".join(sorted(values))
        raise ConfigError(
            f"expected a formula of whole numbers and [{known}], found {formula!r} ({error})"
        ) from error


def _value(node: ast.expr, values: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, values)
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)](_value(node.left, values), _value(node.right, values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _FUNCTIONS[node.func.id](*(_value(argument, values) for argument in node.args))
    raise TypeError(f"no {type(node).__name__} here")
