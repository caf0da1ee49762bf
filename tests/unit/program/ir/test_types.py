"""Sizes and layouts on x86-64, checked against LLVM itself."""

import llvmlite.binding as llvm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.program.ir import types

LAYOUT = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"


def test_stored_bits_are_rounded_up_to_bytes() -> None:
    sizes = {"i1": 1, "i24": 3, "x86_fp80": 10, "<3 x float>": 12, "<9 x i1>": 2, "[3 x i16]": 6, "{}": 0}
    assert {text: types.size_bytes(types.parse_type(text)) for text in sizes} == sizes


_SCALARS = st.sampled_from(
    ["i1", "i8", "i16", "i24", "i32", "i64", "i128", "half", "float", "double", "x86_fp80", "ptr"]
) | st.sampled_from(["<3 x float>", "<9 x i1>", "{}"])
_TYPES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.builds(lambda n, t: f"[{n} x {t}]", st.integers(1, 4), inner),
        st.builds(lambda ts: "{ " + ", ".join(ts) + " }", st.lists(inner, min_size=1, max_size=4)),
        st.builds(lambda ts: "<{ " + ", ".join(ts) + " }>", st.lists(inner, min_size=1, max_size=4)),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(_TYPES)
def test_layout_agrees_with_llvm(text: str) -> None:
    module = llvm.parse_assembly(f'target datalayout = "{LAYOUT}"\n@g = external global {text}\n')
    theirs = llvm.create_target_data(LAYOUT)
    element = module.get_global_variable("g").global_value_type
    type_ = types.parse_type(text)
    assert types.alloc_size_bytes(type_) == theirs.get_abi_size(element)
    assert types.alignment_bytes(type_) == theirs.get_abi_alignment(element)
    for index in range(len(type_.elements) if type_.kind == "struct" else 0):
        assert types.field_offset_bytes(type_, index) == theirs.get_element_offset(element, index)


@pytest.mark.parametrize(
    ("text", "strides"),
    [
        ("[5 x [3 x [7 x float]]]", (84, 28)),
        ("[5 x { double, [4 x i32] }]", ()),
        ("[5 x [3 x { double, i32 }]]", (48,)),
        ("double", ()),
    ],
)
def test_arrays_of_arrays_have_rows(text: str, strides: tuple[int, ...]) -> None:
    assert types.row_strides(types.parse_type(text)) == strides
