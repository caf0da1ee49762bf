"""Links instrumented programs with AddressSanitizer and UBSan in every part.

The bundled compiler inserts the checks but has no runtime; a clang that has one (Debian: ``clang``) links. It
is linked as a shared library, in front of which the shim's process-wide ``free`` and ``realloc`` stand.
"""

import os
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from commanalyzer.program.frontend.toolchain import bundled_toolchain, shim_directory
from commanalyzer.recording.runtime import INLINED, separate_sources
from tests import native

FLAGS = (
    *("-std=gnu11", "-O1", "-g", "-fno-builtin", "-fno-strict-aliasing", "-fsanitize=address,undefined"),
    *("-fno-sanitize-recover=all", "-shared-libasan"),
)
"""Of sources and of the link."""

_OPTIONS = ":".join(
    (
        "detect_leaks=0",  # the log lives until the process ends
        "alloc_dealloc_mismatch=0",  # the program's delete gives the library's blocks back with free
        "detect_stack_use_after_return=0",  # activations are told apart by their stack addresses
    )
)


@cache
def runtime_folder() -> Path | None:
    """Folder of AddressSanitizer's runtime, if a clang with one is installed."""
    if shutil.which("clang") is None:
        return None
    name = "libclang_rt.asan-x86_64.so"
    printed = native.run("clang", f"-print-file-name={name}").stdout.strip()
    return Path(printed).parent if Path(printed).is_absolute() and Path(printed).exists() else None


def require_runtime() -> Path:
    """Folder of the runtime; skips the test where there is none."""
    folder = runtime_folder()
    if folder is None:
        pytest.skip("no clang with AddressSanitizer's runtime is installed")
    return folder


def run(program: Path, *arguments: str, **environment: str) -> native.NativeRun:
    own = {"LD_LIBRARY_PATH": str(require_runtime()), "ASAN_OPTIONS": _OPTIONS}
    return native.run(program, *arguments, env={**os.environ, **own, **environment})


def compile_checked(source: Path, output: Path, *flags: str) -> Path:
    """Object of a C file with both sanitizers."""
    include = ("-I", str(shim_directory() / "include"))
    _require(["clang", *FLAGS, *include, *flags, "-c", str(source), "-o", str(output)])
    return output


def link_checked(objects: list[Path], output: Path, driver: str = "clang") -> Path:
    """Executable of objects; ``driver`` is ``clang++`` for C++."""
    _require([driver, *FLAGS[1:], *map(str, objects), "-rdynamic", "-ldl", "-lm", "-o", str(output)])
    return output


@dataclass(frozen=True)
class SanitizedShim:
    """The shim's parts as the product builds them, with checks."""

    bitcode: tuple[Path, ...]
    objects: tuple[Path, ...]
    folder: Path

    def program(self, ir_text: str, name: str, *, is_instrumented: bool, is_cplusplus: bool) -> Path:
        """Executable of a module, whose own memory accesses are checked, too."""
        text = self.folder / f"{name}.ll"
        text.write_text(ir_text)
        checked = llvm.parse_assembly(ir_text)
        for function in checked.functions:
            if not function.is_declaration:
                function.add_function_attribute("sanitize_address")
        text.write_text(str(checked))
        tools, output = bundled_toolchain(), text.with_suffix(".o")
        flags = ["-O1", "-fPIC", "-fsanitize=address", "-Wno-override-module"]
        for path in self.bitcode if is_instrumented else ():
            flags += ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(path)]
        _require([*tools.cc, *tools.target_flags, *flags, "-c", str(text), "-o", str(output)])
        objects = [output, *(self.objects if is_instrumented else ())]
        return link_checked(objects, self.folder / name, "clang++" if is_cplusplus else "clang")


def build_shim(folder: Path) -> SanitizedShim:
    """Compile the shim: inlined hooks trap on undefined behaviour, the rest reports it."""
    source, tools = shim_directory() / "src", bundled_toolchain()
    include = ("-I", str(shim_directory() / "include"))
    traps = ("-fsanitize=address,undefined", "-fsanitize-trap=undefined", "-fvisibility=hidden", "-g0")
    kept = ("-Xclang", "-disable-llvm-passes", "-emit-llvm")
    bitcode = []
    for name in INLINED:
        bitcode.append(folder / f"{name}.bc")
        command = [*tools.cc, *tools.target_flags, *FLAGS[:1], "-O2", *FLAGS[3:5], *traps, *include, *kept]
        _require([*command, "-c", str(source / name), "-o", str(bitcode[-1])])
    objects = tuple(compile_checked(path, folder / f"{path.name}.o") for path in separate_sources())
    return SanitizedShim(tuple(bitcode), objects, folder)


def _require(command: list[str]) -> None:
    done = native.run(*command, timeout_s=300)
    assert done.status == 0, done.stderr
