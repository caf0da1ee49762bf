"""Entry points of flang's runtime: which ones are modelled in C, and what the others do to values.

Calls of the *modelled* functions are renamed before instrumentation to functions of ``runtime_shim/models/``,
which call the runtime for the numbers and repeat what flows. What remains are facts as in
:mod:`commanalyzer.ir.libcalls`, by effect.
"""

from __future__ import annotations

_KINDS = ("Real4", "Real8", "Integer4", "Integer8")
_PAIRS = (
    *(f"Real{x}Real{y}" for x in (4, 8) for y in (4, 8)),
    *(f"Integer{x}Integer{y}" for x in (4, 8) for y in (4, 8)),
)
MODELLED = frozenset(
    f"_FortranA{name}"
    for name in (
        *(f"{owner}Allocate{source}" for owner in ("Allocatable", "Pointer") for source in ("", "Source")),
        *("Assign", "AssignTemporary", "CopyInAssign", "CopyOutAssign"),
        *("PushArrayConstructorSimpleScalar", "PushArrayConstructorValue", "RandomNumber"),
        *("ioInputDescriptor", "Transpose", "Reshape", "Spread", "Pack", "Unpack"),
        *("Cshift", "CshiftVector", "Eoshift", "EoshiftVector"),
        *(f"{name}{kind}" for name in ("Sum", "Product", "Maxval", "Minval") for kind in (*_KINDS, "Dim")),
        *(f"DotProduct{kind}" for kind in _KINDS),
        *("Norm2_4", "Norm2_8", "Count"),
        *(f"Matmul{transposed}{pair}" for transposed in ("", "Transpose") for pair in _PAIRS),
    )
)
# Helpers of the models (runtime_shim/models/fortran_support.c).
SUFFIXES = ("i4", "i8", "r4", "r8")
NUMBER = frozenset(f"ca_number_{suffix}" for suffix in SUFFIXES)
WITH_SOURCES = frozenset(f"ca_with_sources_{suffix}" for suffix in SUFFIXES)
COPY_SOURCES = "ca_copy_sources"
FROM_OUTSIDE = "ca_from_outside"
EFFECTLESS_HELPERS = frozenset(
    (
        *("ca_is_array", "ca_type", "ca_extent", "ca_stride"),
        *("ca_plain_free", "ca_block_bytes", "ca_adopt", "ca_elements", "ca_element", "ca_line", "ca_index"),
        *("ca_origins_transpose", "ca_origins_reshape", "ca_origins_spread", "ca_origins_pack"),
        *("ca_origins_unpack", "ca_origins_cshift", "ca_origins_cshift_vector", "ca_origins_eoshift"),
        "ca_origins_eoshift_vector",
    )
)
# Bytes written through the second argument by list-directed or formatted input of a scalar.
INPUT_BYTES = {
    "_FortranAioInputInteger": 8,
    "_FortranAioInputReal32": 4,
    "_FortranAioInputReal64": 8,
    "_FortranAioInputComplex32": 8,
    "_FortranAioInputComplex64": 16,
    "_FortranAioInputLogical": 4,
    "_FortranAioInputAscii": 8,
}
# No effect on values: bookkeeping of descriptors, characters, inquiries, the environment, the end of the program.
EFFECTLESS_PREFIXES = (
    *("_FortranAio", "_FortranAProgram", "_FortranAArgumentCount", "_FortranAGetCommand"),
    *("_FortranAAllocatableSet", "_FortranAAllocatableInit", "_FortranAAllocatableDeallocate"),
    *("_FortranAAllocatableCheck", "_FortranAAllocatableApplyMold", "_FortranAMoveAlloc"),
    *("_FortranAPointerSet", "_FortranAPointerNullify", "_FortranAPointerAssociate"),
    *("_FortranAPointerDeallocate", "_FortranAPointerIsAssociated", "_FortranAPointerApplyMold"),
    *("_FortranAPointerCheck", "_FortranAInitArrayConstructorVector", "_FortranAIsContiguous"),
    *("_FortranASize", "_FortranALbound", "_FortranAUbound", "_FortranAShape", "_FortranAIsPresent"),
    *("_FortranACharacter", "_FortranATrim", "_FortranAVerify", "_FortranALenTrim", "_FortranAIndex"),
    *("_FortranAScan", "_FortranAAdjust", "_FortranARepeat", "_FortranAInitialize", "_FortranADestroy"),
    *("_FortranAFinalize", "_FortranAClass", "_FortranASameTypeAs", "_FortranAExtendsTypeOf"),
    *("_FortranARandomInit", "_FortranARandomSeed", "_FortranAGetEnv", "_FortranACpuTime"),
    *("_FortranASystemClock", "_FortranADateAndTime", "_FortranAFlush", "_FortranAPauseStatement"),
    *("_FortranAgetpid", "_FortranAFDATE"),
)
EXITS = frozenset(
    f"_FortranA{name}"
    for name in (
        "StopStatement",
        "StopStatementText",
        "FailImageStatement",
        "ReportFatalUserError",
        "Exit",
        "Abort",
    )
)
