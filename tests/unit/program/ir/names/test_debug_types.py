import pytest

from commanalyzer.program.ir.names.addresses import ModuleNames
from commanalyzer.program.ir.parsing.parser import parse_module

MODULE = """
@a = global [2880 x i8] zeroinitializer, !dbg !0
!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
!1 = distinct !DIGlobalVariable(name: "a", scope: null, file: !2, line: 1, type: !3)
!2 = !DIFile(filename: "a", directory: "/")
!3 = !DIDerivedType(tag: DW_TAG_typedef, name: "t", baseType: !4)
!4 = !DICompositeType(tag: DW_TAG_array_type, baseType: !5, elements: !6)
!5 = !DIBasicType(name: "double", size: 64, encoding: DW_ATE_float)
!6 = !{ITEMS}
!7 = !DISubrange(count: 5)
!8 = !DISubrange(count: 8, lowerBound: 0)
!9 = !DISubrange(count: 9)
!10 = !DISubrange(count: !1)
"""


@pytest.mark.parametrize(
    ("items", "file", "strides"),
    [
        ("!7, !8, !9", "a.c", (8 * 8 * 9, 8 * 9)),
        ("!7, !8, !9", "a.f90", (8 * 5 * 8, 8 * 5)),
        ("!9", "a.c", ()),
        ("!7, !10", "a.c", ()),  # as long as a variable says
    ],
)
def test_rows_are_those_of_the_language(items: str, file: str, strides: tuple[int, ...]) -> None:
    module = parse_module(MODULE.replace("ITEMS", items))
    types = ModuleNames(module).types
    assert types.row_strides(types.of_variable(0), file) == strides
