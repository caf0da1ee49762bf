"""Entry points of flang's runtime that are modelled in C.

Calls of these functions are renamed before instrumentation to functions of ``runtime_shim/models/``, which
call the runtime for the numbers and repeat what flows. Rows of the library model (``library/fortran.toml``)
say what the others do.
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
