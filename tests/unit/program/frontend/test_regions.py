import llvmlite.binding as llvm
import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.program.frontend.regions import mark_regions

MODULE = """
$"odd (name" = comdat any

define linkonce_odr void @"odd (name"(ptr byval({ i32, i32 }) %p, i32 %n) unnamed_addr #0 comdat align 2 {
  ret void
}

define void @other(i32 %n) local_unnamed_addr noinline {
  ret void
}

define i32 @_Z4stepi(i32 %n) local_unnamed_addr #1 personality ptr @__gxx_personality_v0 !dbg !4 {
  ret i32 %n
}

define internal fastcc { i32, i32 } @plain() {
  ret { i32, i32 } zeroinitializer
}

declare i32 @__gxx_personality_v0(...)

attributes #0 = { nounwind }
attributes #1 = { nounwind "frame-pointer"="all" }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.cpp", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !5)
!4 = distinct !DISubprogram(name: "step", linkageName: "_Z4stepi", scope: !1, file: !1, type: !3, unit: !0)
!5 = !{null}
"""


def _attributes(text: str, name: str) -> set[str]:
    function = llvm.parse_assembly(text).get_function(name)
    return {word for attribute in function.attributes for word in attribute.decode().split()}


@pytest.mark.parametrize(
    ("wanted", "ir_name"),
    [
        ("odd (name", "odd (name"),
        ("other", "other"),
        ("step", "_Z4stepi"),
        ("_Z4stepi", "_Z4stepi"),
        ("plain", "plain"),
    ],
)
def test_marked_wherever_attributes_may_stand(wanted: str, ir_name: str) -> None:
    text, found = mark_regions(MODULE, (wanted,))
    assert found == (ir_name,)
    assert "noinline" in _attributes(text, ir_name)


def test_nothing_wanted_changes_nothing() -> None:
    assert mark_regions(MODULE, ()) == (MODULE, ())


def test_declarations_are_no_regions() -> None:
    with pytest.raises(ConfigError, match=r"functions: .*step"):
        mark_regions(MODULE, ("__gxx_personality_v0",))


SCOPED = r"""
define void @"_ZN7Gr\C3\B6\C3\9Fe8erh\C3\B6henEv"() {
  ret void
}

define void @_ZN6Solver4stepEv() {
  ret void
}

define void @_ZNSt6vectorIdE4stepEv() {
  ret void
}
"""


@pytest.mark.parametrize("name", ["Solver::step", "Solver::step()", "_ZN6Solver4stepEv"])
def test_members_by_their_scopes(name: str) -> None:
    assert mark_regions(SCOPED, (name,))[1] == ("_ZN6Solver4stepEv",)


def test_names_of_any_alphabet_are_those_of_the_source() -> None:
    (found,) = mark_regions(SCOPED, ("Größe::erhöhen",))[1]
    assert found in SCOPED and found.isascii()


def test_similar_names_are_offered() -> None:
    with pytest.raises(ConfigError, match=r"similar ones: Solver::step; no marks"):
        mark_regions(SCOPED, ("Solver::stp",))
