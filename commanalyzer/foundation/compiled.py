"""Compilation of loops over values, rows and flows: the only module that imports Numba.

A *kernel* is a function on plain arrays and numbers that Numba compiles at its first call; the machine code
is cached on disk. Every combination of types compiles anew, so callers pass the arrays of a graph as they are
(read-only) and other inputs through :func:`frozen`.
"""

from __future__ import annotations

import fcntl
import hashlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys
from numba.extending import intrinsic
from numpy.typing import DTypeLike, NDArray

_ADDRESS, _NUMBER = ir.IntType(8).as_pointer(), ir.IntType(32)
_FOR_READING = 0, 3, 1  # of llvm.prefetch: reads, into all caches, data
_NO_CODE = llvm.parse_assembly("").as_bitcode()
_njit: Any = numba.njit  # its types leave options out
_for_python = cache(_njit)


def compiled(function: Any) -> Any:
    """``function`` compiled; its machine code is cached on disk where a folder for it can be written.

    Cached code is used as long as all that it was made of is the same: the file of ``function``, those of the
    kernels that it calls, and the numbers that it reads from modules (Numba itself looks at the first only).
    """
    return _compiled(function, _nrt=True)  # also where one calls it that makes none


def compiled_in_place(function: Any) -> Any:
    """As :func:`compiled`, for a ``function`` that makes no arrays: none of them is counted as used.

    Numba counts, by atomic operations, who uses an array, in every call of one kernel by another: in loops
    over rows these take a third of the time. Slices are fine, what allocates does not compile.
    """
    return _compiled(function, _nrt=False)


def compiled_inline(function: Any) -> Any:
    """As :func:`compiled_in_place`, for what loops call for every row: its code goes where it is called.

    An array takes seven machine words in a call, so that calls with ten arrays cost more than a short row.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Any, **options: bool) -> Any:
    is_private = function.__name__.startswith("_") and function.__module__.endswith("kernels")
    is_inner = is_private or options.get("forceinline", False)  # only kernels call it
    options |= {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": is_inner}
    try:
        kernel = _njit(cache=True, **options)(function)
    except RuntimeError:  # no folder for the cache
        kernel = _njit(**options)(function)
    else:
        stored = kernel._cache
        stored.load_overload = stored._load_overload  # what only compiling needs takes long: it asks itself
        if not is_inner:
            stored._impl.rebuild = partial(_rebuilt, stored._impl.rebuild)
        stored.save_overload = partial(_saved, stored.save_overload)
        stored._index_key = partial(_key, stored._index_key)
        stored._cache_file._source_stamp = sorted({_state(Path(__file__)), *_ingredients(function)})
        stored._cache_file._version += " by text"  # of the index: see _key
        _share(stored, function.__module__)
        kernel.compile = partial(_compile_alone, kernel, kernel.compile)
    if is_inner:
        kernel.__class__ = _Inner
    kernel.get_call_template = partial(_call_template, kernel.get_call_template)
    return kernel


def _prefetch(_: Any, array: Any, index: Any) -> Any:
    """In a kernel, ``prefetch(array, index)`` begins to load ``array[index]`` (of a row: its start).

    For what is looked up soon at places that no processor foresees: many such loads overlap, while a loop
    that branches by what it loads waits for each. An index outside the array does no harm.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type, index_type = signature.args
        place = context.make_array(array_type)(context, builder, arguments[0])
        stride = builder.extract_value(place.strides, 0)
        at = context.cast(builder, arguments[1], index_type, numba.types.intp)
        start = builder.ptrtoint(place.data, at.type)
        address = builder.inttoptr(builder.add(start, builder.mul(at, stride)), _ADDRESS)
        of_type = ir.FunctionType(ir.VoidType(), [_ADDRESS, _NUMBER, _NUMBER, _NUMBER])
        load = builder.module.declare_intrinsic("llvm.prefetch", [_ADDRESS], of_type)
        builder.call(load, [address, *(ir.Constant(_NUMBER, each) for each in _FOR_READING)])
        return context.get_dummy_value()

    types: Any = numba.types
    return types.void(array, index), generate


prefetch: Any = intrinsic(_prefetch)


class _Inner(CPUDispatcher):
    """A kernel that other kernels call: what unpacks the arguments of Python takes longer to compile.

    If Python does call it, as tests do, it is compiled for that, once in each process.
    """

    def __call__(self, *arguments: Any) -> Any:
        return _for_python(self.py_func)(*arguments)


def _call_template(find: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
    """Types of a call by a kernel, in which constants are numbers like others.

    For Numba 0 is first a type of its own, until it finds what else a variable holds: kernels would be
    compiled twice, and those that they call as well.
    """
    plain: Any = numba.types.unliteral
    return find(tuple(map(plain, arguments)), {name: plain(each) for name, each in keywords.items()})


def _ingredients(function: Any) -> set[tuple[str, str]]:
    """Files with their state, and numbers with their values, that go into the machine code."""
    found = {_state(Path(inspect.getfile(function)))}
    names = function.__code__.co_names
    used = [(n, function.__globals__[n]) for n in names if n in function.__globals__]
    for module in [value for _, value in used if isinstance(value, ModuleType)]:
        if module.__name__.startswith("commanalyzer."):
            used += [(n, getattr(module, n)) for n in names if hasattr(module, n)]
    for name, value in used:
        if isinstance(value, int | float):
            found.add((f"{function.__qualname__} {name}", repr(value)))
        elif hasattr(value, "py_func"):
            found |= _ingredients(value.py_func)
    return found


@cache
def _state(path: Path) -> tuple[str, str]:
    """A file, and what changes with its content: the same wherever it is installed."""
    return path.name, hashlib.sha256(path.read_bytes()).hexdigest()


def _key(find: Callable[..., Any], signature: Any, codegen: Any) -> tuple[Any, ...]:
    """What code of a ``signature`` is found by: its text, for classes that it names may change or go."""
    return str(signature), tuple(_fields(signature)), *find(signature, codegen)[1:]


def _fields(types: Any) -> Iterator[tuple[str, ...]]:
    """Fields of all named tuples: the code depends on their order, the text does not."""
    for each in types:
        yield getattr(each, "fields", ())
        yield from _fields(getattr(each, "types", ()))


def _share(stored: Any, module: str) -> None:
    """Keep code in one folder for all places where ``module`` is installed, if the user named one."""
    config: Any = numba.config
    if config.CACHE_DIR:
        folder, file = Path(config.CACHE_DIR) / module, stored._cache_file
        stored._cache_path = stored._impl.locator._cache_path = file._cache_path = str(folder)
        file._index_path = str(folder / file._index_name)


def _compile_alone(kernel: Any, compile_it: Callable[..., Any], signature: Any) -> Any:
    """Compile ``kernel``, or load what another process has compiled: it is waited for.

    Side by side, Numba would also give two signatures one file: it numbers them by what it has read before.
    """
    with global_compiler_lock, ExitStack() as lock:
        rtsys.initialize(kernel.targetctx)  # loaded code calls it
        with suppress(OSError):  # not every file system can
            kernel._cache._impl.locator.ensure_cache_path()
            stream = lock.enter_context(Path(f"{kernel._cache._cache_file._index_path}.lock").open("w"))
            lock.callback(fcntl.flock, stream, fcntl.LOCK_UN)  # forks may have the stream, too
            if not kernel.is_compiling:  # it is locked, and called by itself
                fcntl.flock(stream, fcntl.LOCK_EX)
        return compile_it(signature)


def _rebuilt(rebuild: Callable[..., Any], context: Any, stored: Any) -> Any:
    """What was ``stored``, without reading its bit code: only a kernel that is compiled links it."""
    (name, kind, (machine_code, bit_code)), description, *others = stored
    context.codegen()._engine._defined_symbols.add(description.llvm_cpython_wrapper_name)
    result = rebuild(context, ((name, kind, (machine_code, _NO_CODE)), description, *others))
    result.library._get_module_for_linking = cache(partial(llvm.parse_bitcode, bit_code))
    return result


def _saved(save: Callable[..., None], *arguments: Any) -> None:
    """Save machine code; a full disk costs compiling again, not the analysis (Numba has no option for it)."""
    with suppress(OSError):
        save(*arguments)


def frozen(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return ``array`` as a contiguous read-only array of ``dtype``; shares its memory where it can."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.setflags(write=False)
    return view
