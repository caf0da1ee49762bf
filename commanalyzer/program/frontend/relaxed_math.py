"""Freedom that the code generator has to round, taken back once the canonical form is reached.

Flags of ``-ffast-math`` such as ``reassoc`` allow every later pass to change results, and what it does with
them depends on the code around. Recording adds code, so the plain and the recorded program would round
differently. The canonical form keeps what the optimiser made of the flags; behind it, both compute the same.
"""

from __future__ import annotations

import re

from commanalyzer.program.ir.model import FAST_MATH

_UNFOLDED = ("-mllvm", "-disable-fp-call-folding")
_AS_IT_IS = ("-Xclang", "-disable-llvm-passes")
_FLAG = "|".join(sorted(FAST_MATH))
_NAME = r'%(?:"[^"\n]*"|[\w.$-]+)'
_OPCODE = (
    r"(?:(?:tail |musttail |notail )?call|f(?:add|sub|mul|div|rem|neg|cmp|ptrunc|pext)|phi|select|[su]itofp)"
)
_INSTRUCTION = re.compile(rf"^( +(?:{_NAME} = )?{_OPCODE}) (?:(?:{_FLAG}) )+", re.MULTILINE)
_ATTRIBUTE = re.compile(
    r' "(?:unsafe|no-infs|no-nans|no-signed-zeros|approx-func)-fp-math"="true"(?=[^\n]*\}$)', re.MULTILINE
)
# Calls with the types that the instructions know.
_FUSED = re.compile(r"^(?P<call> .*)@llvm\.fmuladd(?=\.(?:v\d+)?f(?:32|64)\()", re.MULTILINE)
_FUSING = re.compile(r'^attributes #\d+ = .*[",]\+(?:fma|fma4|avx512f)[",]', re.MULTILINE)
_CLASSES = re.compile(r"^(?:define|declare|  )[^\n]*\bnofpclass\([^\n]*$", re.MULTILINE)
_CLASS = re.compile(r"\bnofpclass\([a-z ]*\) ")


def without_relaxed_math(ir_text: str) -> str:
    """Text of a module, as LLVM prints it, whose floating-point operations have one result each."""
    text = _INSTRUCTION.sub(r"\1 ", ir_text)
    text = _ATTRIBUTE.sub("", text)
    return _CLASSES.sub(lambda line: _CLASS.sub("", line[0]), text)


def with_one_rounding(ir_text: str) -> tuple[str, tuple[str, ...]]:
    """Module text and flags of code generation that round in one way, whatever is found to be constant.

    LLVM folds the product of an ``llvm.fmuladd`` by itself, also where code would fuse it. It folds calls
    such as ``exp(1.5)`` otherwise than the library rounds. And it folds operations as if nobody set the
    rounding mode: programs of flang that do stay as they are; those of C have constrained operations.
    """
    text = _FUSED.sub(r"\g<call>@llvm.fma", ir_text) if _FUSING.search(ir_text) else ir_text
    return text, _UNFOLDED + (_AS_IT_IS if "@llvm.set.rounding(" in text else ())
