from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.instrument.labelling.values import CallFacts, function_values

LOOP = """
define double @f(ptr %a) {
entry:
  br label %loop
loop:
  %s = phi double [ 0.0, %entry ], [ %t, %loop ]
  %x = load double, ptr %a
  %t = fadd double %s, %x
  %c = fcmp olt double %t, 9.0
  br i1 %c, label %loop, label %exit
exit:
  %r = phi double [ %t, %loop ]
  ret double %r
}
"""


def test_how_often_a_loop_runs_selects_nothing() -> None:
    values = function_values(parse_module(LOOP).functions[0], CallFacts(frozenset()), control_flows=True)
    assert ("loop", "loop") not in values.selected.deciding
    assert values.selected.deciding["exit", "loop"] == ()
    assert values.control_inputs("%s") == ()
    assert values.control_inputs("%r") == ()
