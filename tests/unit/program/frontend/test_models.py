"""Calls of flang's runtime meet the models that have their parameters."""

import pytest

from commanalyzer.foundation.errors import IrError
from commanalyzer.program.frontend.link import chosen_models, redirect_calls, uses_fortran

OLD, NEW = "i32 (ptr, i1, ptr, ptr, i32)", "i32 (ptr, ptr, i1, ptr, ptr, i32, ptr)"
MODELS = {
    "ca_model__FortranAAllocate_19": OLD,
    "ca_model__FortranAAllocate_22": NEW,
    "ca_model__FortranANorm2_8": "double (ptr, ptr, i32, i32)",
    "ca_model__FortranATrim": "void (ptr, ptr)",
    "helper": "void ()",
}


def test_the_model_with_the_parameters_of_the_call_is_taken() -> None:
    for kind, version in ((OLD, 19), (NEW, 22)):
        declared = {"_FortranAAllocate": kind, "_FortranANorm2_8": MODELS["ca_model__FortranANorm2_8"]}
        assert chosen_models({**declared, "printf": "i32 (ptr, ...)"}, MODELS) == {
            "_FortranAAllocate": f"ca_model__FortranAAllocate_{version}",
            "_FortranANorm2_8": "ca_model__FortranANorm2_8",
        }


def test_other_parameters_are_refused() -> None:
    with pytest.raises(IrError, match=r"i32 \(ptr, i1, ptr, ptr, i32\) or .*, found i32 \(ptr\)") as caught:
        chosen_models({"_FortranAAllocate": "i32 (ptr)"}, MODELS)
    assert caught.value.where == "_FortranAAllocate"
    assert "19 to 22" in caught.value.hint


def test_an_empty_structure_as_result_is_none() -> None:
    assert chosen_models({"_FortranATrim": "{} (ptr, ptr)"}, MODELS) == {
        "_FortranATrim": "ca_model__FortranATrim"
    }
    text = (
        "  %i = tail call {} @_FortranATrim(ptr %a, ptr %b)\n"
        "  call {} @_FortranAOther(ptr %a)\n"
        "declare !dbg !4 {} @_FortranATrim(ptr, ptr) local_unnamed_addr\n"
        "declare dso_local {} @_FortranAOther(ptr)\n"
    )
    assert redirect_calls(text, {"_FortranATrim": "ca_model__FortranATrim"}) == (
        "  tail call void @ca_model__FortranATrim(ptr %a, ptr %b)\n"
        "  call void @_FortranAOther(ptr %a)\n"
        "declare !dbg !4 void @ca_model__FortranATrim(ptr, ptr) local_unnamed_addr\n"
        "declare dso_local void @_FortranAOther(ptr)\n"
    )


def test_programs_without_fortran_need_no_models() -> None:
    assert uses_fortran([b"\x00", b"declare @_FortranAStop"])
    assert not uses_fortran([b"define i32 @main()"])
