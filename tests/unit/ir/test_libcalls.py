"""The table of library calls."""

from __future__ import annotations

import pytest

from commanalyzer.ir.libcalls import CallKind, Extent, library_call


@pytest.mark.parametrize(
    ("name", "kind", "flops"),
    [
        ("sqrt", CallKind.PURE, 1),
        ("sqrtf", CallKind.PURE, 1),
        ("sqrtl", CallKind.PURE, 1),
        ("fabs", CallKind.PURE, 0),
        ("__pow_finite", CallKind.PURE, 16),
        ("llvm.sqrt.f64", CallKind.PURE, 1),
        ("llvm.fmuladd.v4f64", CallKind.PURE, 2),
        ("llvm.fma.f32", CallKind.PURE, 2),
        ("llvm.maxnum.f64", CallKind.PURE, 1),
        ("llvm.smax.i32", CallKind.PURE, 0),
        ("llvm.vector.reduce.fadd.v4f32", CallKind.PURE, 1),
        ("llvm.vector.reduce.add.v4i32", CallKind.PURE, 0),
        ("malloc", CallKind.ALLOCATE, 0),
        ("_Znwm", CallKind.ALLOCATE, 0),
        ("_ZdaPvm", CallKind.FREE, 0),
        ("realloc", CallKind.REALLOCATE, 0),
        ("llvm.memmove.p0.p0.i64", CallKind.COPY, 0),
        ("llvm.memset.p0.i64", CallKind.FILL, 0),
        ("fread", CallKind.INPUT, 0),
        ("printf", CallKind.OUTPUT, 0),
        ("llvm.lifetime.start.p0", CallKind.IGNORE, 0),
        ("exit", CallKind.EXIT, 0),
        ("llvm.trap", CallKind.EXIT, 0),
        ("_ZSt20__throw_length_errorPKc", CallKind.EXIT, 0),
        ("qsort", CallKind.CALLBACK, 0),
    ],
)
def test_kind_and_flops(name: str, kind: CallKind, flops: int) -> None:
    call = library_call(name)
    assert call is not None
    assert (call.kind, call.flops) == (kind, flops)


def test_arguments() -> None:
    calloc = library_call("calloc")
    assert calloc is not None
    assert (calloc.sizes, calloc.zeroed) == ((0, 1), True)
    bcopy = library_call("bcopy")
    assert bcopy is not None
    assert (bcopy.pointer, bcopy.source) == (1, 0)
    fread = library_call("fread")
    assert fread is not None
    assert (fread.writes, fread.sizes, fread.extent) == ((0,), (1, 2), Extent.SIZES)
    sincosf = library_call("sincosf")
    assert sincosf is not None
    assert (sincosf.writes, sincosf.write_bytes) == ((1, 2), 4)


@pytest.mark.parametrize("name", ["", "my_function", "@sqrt", "llvm.frobnicate", "_ZSt3foo"])
def test_unknown_names(name: str) -> None:
    assert library_call(name) is None
