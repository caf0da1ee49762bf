"""Models of runtime libraries in C: linked into the program before it is instrumented.

A model ``ca_model_X`` takes the place of the library function X. It calls X for the numbers and repeats in
plain code what flows: instrumentation then sees loops, copies and allocations, not a call into the dark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from commanalyzer.foundation.errors import IrError
from commanalyzer.program.frontend.link import TO_BITCODE, build_object
from commanalyzer.program.frontend.shim import shim_directory
from commanalyzer.program.frontend.toolchain import bundled_toolchain

PREFIX = "ca_model_"
_MODELS = ("fortran.c", "fortran_reductions.c")
_FLAGS = ("-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-Werror", "-fno-sanitize=all")
_FORTRAN = b"_FortranA"
_VERSION = re.compile(r"_\d\d$")
_EMPTY_RESULT = re.compile(r"(?:%[-\w$.]+ = )?((?:tail |musttail |notail )?)call \{\} @_Fortran")
_EMPTY_DECLARED = re.compile(r"^(declare [^@\n]*?)\{\} @_Fortran", re.MULTILINE)


def uses_fortran(modules: Iterable[bytes]) -> bool:
    """Whether a module (text or bitcode, both hold symbol names in the clear) calls flang's runtime."""
    return any(_FORTRAN in data for data in modules)


def fortran_models() -> tuple[Path, ...]:
    """Bitcode of the Fortran models, compiled once."""
    folder = shim_directory() / "models"
    return tuple(_built(folder / name, *TO_BITCODE) for name in _MODELS)


def fortran_support() -> Path:
    """Object with the helpers of the Fortran models, compiled once."""
    return _built(shim_directory() / "models" / "fortran_support.c")


def _built(source: Path, *flags: str) -> Path:
    headers = [source.with_name("fortran.h")]
    return build_object(source, toolchain=bundled_toolchain(), flags=(*_FLAGS, *flags), depends_on=headers)


def chosen_models(declared: Mapping[str, str], models: Mapping[str, str]) -> dict[str, str]:
    """The model of each declared function that has one.

    Args:
        declared: Functions that the program calls, and their LLVM types.
        models: Functions that the models define, and their types. Those of a function whose parameters
            changed end in the version of flang that they start with.

    Raises:
        IrError: If a function has models, but none with its parameters.
    """
    of_function: dict[str, list[str]] = {}
    for model in models:
        if model.startswith(PREFIX):
            of_function.setdefault(_VERSION.sub("", model.removeprefix(PREFIX)), []).append(model)
    chosen = {}
    for name, kind in declared.items():
        known = [model for model in (*of_function.get(name, ()), f"{PREFIX}{name}") if model in models]
        found = next((model for model in known if models[model] == kind.replace("{}", "void", 1)), None)
        if found is not None:
            chosen[name] = found
        elif known:
            raise IrError(
                f"expected {' or '.join(dict.fromkeys(models[model] for model in known))}, found {kind}",
                where=name,
                hint="use flang 19 to 22",
            )
    return chosen


def redirect_calls(text: str, models: Mapping[str, str]) -> str:
    """Module text in which modelled functions are called by the names of their models.

    flang gives functions without result an empty structure as result; the models have none. Every value
    of the module must have a name.

    Args:
        text: The module.
        models: From :func:`chosen_models`.
    """
    text = _EMPTY_RESULT.sub(r"\1call void @_Fortran", text)
    text = _EMPTY_DECLARED.sub(r"\1void @_Fortran", text)
    return re.sub(r"@(_FortranA\w+)\b", lambda m: f"@{models.get(m.group(1), m.group(1))}", text)


def hide_models(text: str) -> str:
    """Module text in which the linked models are internal: inlined, or dropped when unused."""
    return re.sub(rf"^define (?:dso_local )?(.*@{PREFIX})", r"define internal \1", text, flags=re.MULTILINE)
