"""Python functions compiled by Numba: the machine-level function in LLVM IR, and a C driver that calls it.

Numba passes an array as its parts (owner, parent, number of items, item size, data, shape, strides). The
driver allocates one block per array, named as the Python parameter, reads its contents from a file and calls.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from commanalyzer.foundation.errors import ConfigError

_C_TYPES = {
    "bool": "unsigned char", "int32": "int32_t", "int64": "int64_t", "uint8": "uint8_t",
    "uint32": "uint32_t", "uint64": "uint64_t", "float32": "float", "float64": "double",
}  # fmt: skip
# Wrappers for the interpreter call into it; the driver takes their place.
_WRAPPERS = re.compile(
    r'^define [^\n]*@"?(?:_ZN7cpython|cfunc\.)[^\n]*\{\n.*?^\}\n', re.MULTILINE | re.DOTALL
)
_SUPPORT = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct memory { size_t references; void *release, *argument, *data; size_t size; void *allocator; };
struct memory *NRT_MemInfo_alloc_aligned(size_t size, unsigned alignment) {
  struct memory *info = calloc(1, sizeof *info);
  info->references = 1;
  info->size = size;
  info->data = aligned_alloc(alignment, (size + alignment) / alignment * alignment);
  return info;
}
struct memory *NRT_MemInfo_alloc_safe_aligned(size_t size, unsigned alignment) {
  return NRT_MemInfo_alloc_aligned(size, alignment);
}
struct memory *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 32); }
void NRT_MemInfo_call_dtor(struct memory *info) { free(info->data); free(info); }
void *NRT_Allocate(size_t size) { return malloc(size); }
void NRT_Free(void *block) { free(block); }
void numba_gil_ensure(void *state) { (void)state; }
void numba_gil_release(void *state) { (void)state; }
void numba_unpickle(void) { abort(); }
static void *contents(FILE *file, size_t bytes, void *to) {
  if (fread(to, 1, bytes, file) != bytes) { fputs("cannot read the arguments\\n", stderr); exit(2); }
  return to;
}
"""


def write_program(
    function: object, arguments: Sequence[object], folder: Path
) -> tuple[tuple[Path, ...], Path]:
    """Write a program that calls ``function`` once: its sources, and the file that is its only argument.

    Args:
        function: Compiled by ``numba.njit``, or a plain function that Numba can compile.
        arguments: numpy arrays (contiguous) and numbers.

    Raises:
        ConfigError: If Numba is missing, cannot compile the function, or an argument has no C type.
    """
    name, text = _compiled(function, arguments)
    python = getattr(function, "py_func", function)
    names = list(inspect.signature(python).parameters)  # type: ignore[arg-type]
    module, driver, data = folder / "function.ll", folder / "driver.c", folder / "arguments.bin"
    module.write_text(_WRAPPERS.sub("", text))
    driver.write_text(_driver(name, names, arguments))
    with data.open("wb") as stream:
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                stream.write(argument.tobytes(order="A"))
    return (module, driver), data


def _compiled(function: object, arguments: Sequence[object]) -> tuple[str, str]:
    try:
        numba = importlib.import_module("numba")
        config = importlib.import_module("numba.core.config")
    except ImportError as error:
        raise ConfigError("expected the package numba, found none", hint="pip install numba") from error
    kept = {key: getattr(config, key) for key in ("LOOP_VECTORIZE", "SLP_VECTORIZE")}
    try:
        for key in kept:
            setattr(config, key, 0)
        compiled = numba.njit(getattr(function, "py_func", function))
        signature = tuple(numba.typeof(argument) for argument in arguments)
        compiled.compile(signature)
        overload = compiled.overloads[signature]
        return overload.fndesc.llvm_func_name, compiled.inspect_llvm(signature)
    except numba.core.errors.NumbaError as error:
        raise ConfigError(
            f"expected a function that Numba can compile, found: {error}",
            where=getattr(function, "__name__", ""),
        ) from error
    finally:
        for key, value in kept.items():
            setattr(config, key, value)


def _driver(symbol: str, names: Sequence[str], arguments: Sequence[object]) -> str:
    parameters, passed, setup = [], [], []
    for name, argument in zip(names, arguments, strict=True):
        if isinstance(argument, np.ndarray):
            c_type = _c_type(name, argument.dtype.name)
            if not (argument.flags.c_contiguous or argument.flags.f_contiguous):
                raise ConfigError("expected a contiguous array", where=name, hint="numpy.ascontiguousarray")
            parameters += [*["void *"] * 2, *["int64_t"] * 2, "void *", *["int64_t"] * 2 * argument.ndim]
            setup.append(f"  {c_type} *{name} = malloc({max(argument.nbytes, 1)});")
            setup.append(f"  contents(file, {argument.nbytes}, {name});")
            passed += ["0", "0", str(argument.size), str(argument.itemsize), name]
            passed += [str(n) for n in (*argument.shape, *argument.strides)]
        else:
            scalar = np.asarray(argument)
            c_type = _c_type(name, scalar.dtype.name)
            parameters.append(c_type)
            passed.append(f"({c_type}){scalar.item()!r}".replace("True", "1").replace("False", "0"))
    return "\n".join(
        [
            _SUPPORT,
            f'int kernel(void *, void *, {", ".join(parameters)}) __asm__("{symbol}");',
            "char result[4096];",  # visible from outside: storing it is an effect
            "int main(int count, char **words) {",
            '  FILE *file = count > 1 ? fopen(words[1], "rb") : 0;',
            '  if (!file) { fputs("expected the file of the arguments\\n", stderr); return 2; }',
            *setup,
            "  void *raised = 0;",
            f"  int status = kernel(result, &raised, {', '.join(passed)});",
            "  return status == 0 || status == -2 ? 0 : 1;",  # -2: the function returned None
            "}\n",
        ]
    )


def _c_type(name: str, dtype: str) -> str:
    if dtype not in _C_TYPES:
        raise ConfigError(f"expected numbers of type {', '.join(_C_TYPES)}, found {dtype}", where=name)
    return _C_TYPES[dtype]
