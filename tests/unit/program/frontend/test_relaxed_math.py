"""The canonical form leaves the code generator no choice of roundings."""

from pathlib import Path

from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.program.frontend.forwarding import without_relaxed_math

_RELAXED = """@text = private constant [24 x i8] c"  %a = fadd fast x %b; \\0A\\00"
define nofpclass(nan inf) double @f(double nofpclass(nan inf) %x, i1 %c) #0 {
  %s = fadd reassoc nsz double %x, 1.0
  %"q 1" = fneg fast double %s
  %p = fcmp nnan ninf ogt double %s, %x
  %m = select nnan i1 %p, double %s, double %"q 1"
  %r = tail call reassoc arcp contract afn double @llvm.sqrt.f64(double %m)
  %n = call nofpclass(nan) double @f(double nofpclass(inf) %r, i1 %c)
  ret double %n
}
declare double @llvm.sqrt.f64(double)
attributes #0 = { noinline "no-infs-fp-math"="true" "no-trapping-math"="true" "unsafe-fp-math"="true" }
"""
_EXACT = """@text = private constant [24 x i8] c"  %a = fadd fast x %b; \\0A\\00"
define double @f(double %x, i1 %c) #0 {
  %s = fadd double %x, 1.0
  %"q 1" = fneg double %s
  %p = fcmp ogt double %s, %x
  %m = select i1 %p, double %s, double %"q 1"
  %r = tail call double @llvm.sqrt.f64(double %m)
  %n = call double @f(double %r, i1 %c)
  ret double %n
}
declare double @llvm.sqrt.f64(double)
attributes #0 = { noinline "no-trapping-math"="true" }
"""


def test_flags_and_attributes_go_and_texts_stay() -> None:
    assert without_relaxed_math(_RELAXED) == _EXACT
    assert without_relaxed_math(_EXACT) == _EXACT


def test_canonical_form_has_no_relaxed_operations(tmp_path: Path) -> None:
    source = tmp_path / "sum.c"
    source.write_text(
        "float v[6];\n"
        "__attribute__((noinline)) static float total(float x) {\n"
        "  for (int i = 0; i < 6; i++) x += v[i] / 3;\n"
        "  return x; }\n"
        "int main(int n, char **a) { v[n] = n; return (int)total(n); }\n"
    )
    relaxed, exact = (
        compile_sources([source], flags=("-O1", *flags)).ir_text for flags in (("-ffast-math",), ())
    )
    assert "fmul float" in relaxed  # what the optimiser made of the flags is kept
    assert "fdiv float" in exact
    for text in (relaxed, exact):
        assert without_relaxed_math(text) == text
        assert " fast " not in text
        assert "nofpclass" not in text
