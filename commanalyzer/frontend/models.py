"""Models of runtime libraries in C: linked into the program before it is instrumented.

A model ``ca_model_X`` takes the place of the library function X. It calls X for the numbers and repeats in
plain code what flows: instrumentation then sees loops, copies and allocations, not a call into the dark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from commanalyzer.errors import RuntimeBuildError
from commanalyzer.frontend.cache import cached_file, content_key
from commanalyzer.frontend.link import build_object
from commanalyzer.frontend.shim import shim_directory
from commanalyzer.frontend.subprocesses import run_tool
from commanalyzer.frontend.toolchain import bundled_toolchain
from commanalyzer.ir.fortran_calls import MODELLED

PREFIX = "ca_model_"
_FLAGS = ("-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-Werror", "-fno-sanitize=all")
_TIMEOUT_S = 300.0
_FORTRAN = b"_FortranA"


def uses_fortran(modules: Iterable[bytes]) -> bool:
    """Whether a module (text or bitcode, both hold symbol names in the clear) calls flang's runtime."""
    return any(_FORTRAN in data for data in modules)


def fortran_models() -> Path:
    """Bitcode of the Fortran models, compiled once."""
    toolchain = bundled_toolchain()
    source = shim_directory() / "models" / "fortran.c"
    command = [
        *toolchain.cc, *toolchain.target_flags, *_FLAGS,
        "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", str(source),
    ]  # fmt: skip
    header = source.with_name("fortran.h")
    key = content_key(["models", toolchain.version, *command, source.read_bytes(), header.read_bytes()])

    def produce(draft: Path) -> None:
        output = run_tool([*command, "-o", str(draft)], timeout_s=_TIMEOUT_S)
        if not output.ok:
            raise RuntimeBuildError(f"the models of the runtime do not compile:\n{output.last_lines()}")

    return cached_file(key, ".bc", produce)


def fortran_support() -> Path:
    """Object with the helpers of the Fortran models, compiled once."""
    source = shim_directory() / "models" / "fortran_support.c"
    return build_object(
        source, toolchain=bundled_toolchain(), flags=_FLAGS, depends_on=[source.with_name("fortran.h")]
    )


def redirect_calls(text: str) -> str:
    """Module text in which modelled functions are called by the names of their models.

    flang gives functions without result an empty structure as result; the models have none. Every value
    of the module must have a name.
    """
    text = re.sub(r"(?:%[-\w$.]+ = )?((?:tail |musttail |notail )?)call \{\} @_Fortran", r"\1call void @_Fortran", text)
    text = re.sub(r"^(declare [^@\n]*?)\{\} @_Fortran", r"\1void @_Fortran", text, flags=re.MULTILINE)
    return re.sub(r"@(_FortranA\w+)\b", lambda m: _model_of(m.group(1)), text)


def _model_of(name: str) -> str:
    return f"@{PREFIX}{name}" if name in MODELLED else f"@{name}"


def hide_models(text: str) -> str:
    """Module text in which the linked models are internal: inlined, or dropped when unused."""
    return re.sub(rf"^define (?:dso_local )?(.*@{PREFIX})", r"define internal \1", text, flags=re.MULTILINE)
