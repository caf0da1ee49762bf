"""Freedom that ``-ffast-math`` gives to the code generator, taken back once the canonical form is reached.

Flags such as ``reassoc`` allow every later pass to change results, and what it does with them depends on the
code around. Recording adds code, so the plain and the recorded program would round differently. The
canonical form keeps what the optimiser made of the flags; behind it, both programs compute the same numbers.
"""

from __future__ import annotations

import re

from commanalyzer.ir.opcodes import FAST_MATH

_FLAG = "|".join(sorted(FAST_MATH))
_NAME = r'%(?:"[^"\n]*"|[\w.$-]+)'
_OPCODE = (
    r"(?:(?:tail |musttail |notail )?call|f(?:add|sub|mul|div|rem|neg|cmp|ptrunc|pext)|phi|select|[su]itofp)"
)
_INSTRUCTION = re.compile(rf"^( +(?:{_NAME} = )?{_OPCODE}) (?:(?:{_FLAG}) )+", re.MULTILINE)
_ATTRIBUTE = re.compile(
    r' "(?:unsafe|no-infs|no-nans|no-signed-zeros|approx-func)-fp-math"="true"(?=[^\n]*\}$)', re.MULTILINE
)
_CLASSES = re.compile(r"^(?:define|declare|  )[^\n]*\bnofpclass\([^\n]*$", re.MULTILINE)
_CLASS = re.compile(r"\bnofpclass\([a-z ]*\) ")


def without_relaxed_math(ir_text: str) -> str:
    """Module text whose floating-point operations have one result each.

    Args:
        ir_text: Module as LLVM prints it.
    """
    text = _INSTRUCTION.sub(r"\1 ", ir_text)
    text = _ATTRIBUTE.sub("", text)
    return _CLASSES.sub(lambda line: _CLASS.sub("", line[0]), text)
