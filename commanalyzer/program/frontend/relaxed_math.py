"""Freedom that the code generator has to round, taken back once the canonical form is reached.

Flags of ``-ffast-math`` such as ``reassoc`` allow every later pass to change results, and what it does with
them depends on the code around. Recording adds code, so the plain and the recorded program would round
differently. The canonical form keeps what the optimiser made of the flags; behind it, both compute the same.
"""

from __future__ import annotations

import re

from commanalyzer.program.ir.model import FAST_MATH

_FLAG = "|".join(sorted(FAST_MATH))
_NAME = r'%(?:"[^"\n]*"|[\w.$-]+)'
_OPCODE = (
    r"(?:(?:tail |musttail |notail )?call|f(?:add|sub|mul|div|rem|neg|cmp|ptrunc|pext)|phi|select|[su]itofp)"
)
_INSTRUCTION = re.compile(rf"^( +(?:{_NAME} = )?{_OPCODE}) (?:(?:{_FLAG}) )+", re.MULTILINE)
_ATTRIBUTE = re.compile(
    r' "(?:unsafe|no-infs|no-nans|no-signed-zeros|approx-func)-fp-math"="true"(?=[^\n]*\}$)', re.MULTILINE
)
_DECLARED = re.compile(r"^declare (?P<type>[^@\n]+) @llvm\.fmuladd\.(?P<suffix>\w+)\(.*\n", re.MULTILINE)
# Calls with the types that the instructions know.
_FUSED = re.compile(r"^(?P<call> .*)@llvm\.fmuladd(?=\.(?:v\d+)?f(?:32|64)\()", re.MULTILINE)
_FUSING = re.compile(r'^attributes #\d+ = .*[",]\+(?:fma|fma4|avx512f)[",]', re.MULTILINE)
_STRICT = re.compile(r"^attributes #\d+ = \{ (?=[^\n]*\bstrictfp\b)", re.MULTILINE)
_CLASSES = re.compile(r"^(?:define|declare|  )[^\n]*\bnofpclass\([^\n]*$", re.MULTILINE)
_CLASS = re.compile(r"\bnofpclass\([a-z ]*\) ")


def without_relaxed_math(ir_text: str) -> str:
    """Text of a module, as LLVM prints it, whose floating-point operations have one result each."""
    text = _INSTRUCTION.sub(r"\1 ", ir_text)
    text = _ATTRIBUTE.sub("", text)
    return _CLASSES.sub(lambda line: _CLASS.sub("", line[0]), text)


def with_one_rounding(ir_text: str) -> str:
    """Module text that rounds in one way, whatever code generation finds to be constant.

    LLVM folds ``llvm.fmuladd`` of constants as if fused, which code for most instruction sets is not: it
    becomes what the module's sets make of it. And it folds library calls as if it knew the rounding mode.
    """

    def defined(declaration: re.Match[str]) -> str:
        kind, suffix = declaration["type"], declaration["suffix"]
        fma = f"declare {kind} @llvm.fma.{suffix}({kind}, {kind}, {kind})\n"
        return f"""define internal {kind} @ca.muladd.{suffix}({kind} %a, {kind} %b, {kind} %c) alwaysinline {{
  %product = fmul {kind} %a, %b
  %sum = fadd {kind} %product, %c
  ret {kind} %sum
}}\n{fma * (fma[:-1] not in ir_text)}"""

    text = _FUSED.sub(r"\g<call>@llvm.fma", ir_text) if _FUSING.search(ir_text) else ir_text
    text = _DECLARED.sub(defined, text).replace("@llvm.fmuladd.", "@ca.muladd.")
    return _STRICT.sub(r"\g<0>nobuiltin ", text)
