"""Small IR functions and what the instrumenter finds out about them."""

from __future__ import annotations

from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.instrument.labelling.recurrences import Component, components
from commanalyzer.recording.instrument.labelling.values import CallFacts, FunctionValues, function_values
from commanalyzer.recording.instrument.plan import ModulePlan, PlanOptions, plan_module

_LOOP = """
define void @f(ptr %a, ptr %out, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
{phis}
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
{body}
  br label %latch
latch:
{latch}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %back, label %leave
back:
  br label %loop
leave:
  br label %exit
exit:
{exit}
  ret void
}}
declare double @llvm.minnum.f64(double, double)
declare double @llvm.fmuladd.f64(double, double, double)
"""


def loop(*, phis: str, body: str, exit: str = "", latch: str = "") -> str:
    """A function with one loop over ``%x = a[i]``; phis name ``%entry`` and ``%back``."""
    text = _LOOP.format(phis=phis, body=body, exit=exit, latch=latch)
    return text.replace("[ %next, %latch ]", "[ %next, %back ]")


def facts(text: str, *, control_flows: bool = True) -> FunctionValues:
    """Data-flow facts of the first function."""
    module = parse_module(text)
    defined = frozenset(function.name for function in module.functions)
    return function_values(module.functions[0], CallFacts(defined), control_flows=control_flows)


def stored(values: FunctionValues) -> list[str]:
    """Registers that are stored and carry labels, in program order."""
    instructions = [i for block in values.function.blocks for i in block.instructions]
    names = [i.operands[0].text for i in instructions if i.opcode == "store"]
    return [name for name in names if name in values.carrying]


def loop_components(text: str, *, control_flows: bool = True) -> list[Component]:
    """Components of loop-carried registers that stored values depend on."""
    values = facts(text, control_flows=control_flows)
    return [c for c in components(values, stored(values)) if c.kind != "plain"]


def plan(text: str) -> ModulePlan:
    """The plan for a module."""
    return plan_module(parse_module(text), PlanOptions())
