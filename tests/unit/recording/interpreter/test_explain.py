"""The explanation of one store, after paper Figure 5."""

import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.program.ir.model import Module
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.interpreter.run import explain_store, format_explanation
from commanalyzer.recording.interpreter.values import Home

TEXT = """
@u = global [3 x double] [double 1.0, double 2.0, double 4.0]
@v = global [3 x double] zeroinitializer
define i32 @main() {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %n, %loop ]
  %p = getelementptr double, ptr @u, i64 %i
  %a = load double, ptr %p, !dbg !2
  %n = add i64 %i, 1
  %q = getelementptr double, ptr @u, i64 %n
  %b = load double, ptr %q, !dbg !2
  %s = fadd double %a, %b, !dbg !2
  %r = getelementptr double, ptr @v, i64 %i
  store double %s, ptr %r, align 8, !dbg !2
  %c = icmp eq i64 %n, 2
  br i1 %c, label %done, label %loop
done:
  store double %a, ptr @u, align 8, !dbg !3
  ret i32 0
}
!2 = !DILocation(line: 7, column: 3, scope: !1)
!3 = !DILocation(line: 9, column: 3, scope: !1)
"""


@pytest.fixture(scope="module")
def module() -> Module:
    return parse_module(TEXT)


def test_slice_and_chain_of_the_second_execution(module: Module) -> None:
    explanation = explain_store(module, source_line=7, occurrence=2)
    u1, u2 = Home("global", "@u", 0, 8), Home("global", "@u", 0, 16)
    assert explanation.home == Home("global", "@v", 0, 8)
    assert explanation.value == 6.0
    assert explanation.chain is not None
    assert {home for home, _ in explanation.chain.sources} == {u1, u2}
    assert [(s.text, s.value, s.sources[:1]) for s in explanation.slice] == [
        ("%a = load double, ptr %p", 2.0, (u1,)),
        ("%b = load double, ptr %q", 4.0, (u2,)),
        ("%s = fadd double %a, %b", 6.0, ()),
    ]
    assert {s.source_line for s in explanation.slice} == {7}


def test_text(module: Module) -> None:
    assert format_explanation(explain_store(module, source_line=7)) == (
        "@main, line 7, execution 1\n"
        "\n"
        "dynamic slice\n"
        "  %a = load double, ptr %p  = 1   value of @u+0\n"
        "  %b = load double, ptr %q  = 2   value of @u+8\n"
        "  %s = fadd double %a, %b   = 3\n"
        "  store double %s, ptr %r, align 8\n"
        "\n"
        "value flow\n"
        "  new version of @v+0\n"
        "    from @u+0 (data)\n"
        "    from @u+8 (data)\n"
    )


@pytest.mark.parametrize("size", [4, 1])
def test_a_replicating_store_names_the_value(module: Module, size: int) -> None:
    explanation = explain_store(module, source_line=9, word_bytes=size)
    words = tuple(Home("global", "@u", 0, offset) for offset in range(8, 16, size))
    assert (explanation.chain, explanation.replicated) == (None, words)
    assert "@u+0 now replicates the value of @u+8" in format_explanation(explanation)


@pytest.mark.parametrize(
    ("line", "occurrence", "message"), [(8, 1, "found stores on 7, 9"), (7, 3, "found 2")]
)
def test_errors(module: Module, line: int, occurrence: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        explain_store(module, source_line=line, occurrence=occurrence)
