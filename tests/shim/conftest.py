"""Builds what the tests of the shim run: a layout probe, the shim's IR, a driver of single hooks."""

from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from commanalyzer.program.frontend.toolchain import bundled_toolchain, shim_directory
from commanalyzer.program.ir.model import Module
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.abi import HOOKS
from commanalyzer.recording.trace import Trace, read_trace
from tests.native import run

_HERE = Path(__file__).resolve().parent
_C_TYPES = {"void": "void", "i32": "uint32_t", "i64": "uint64_t", "ptr": "void *"}
_FLAGS = ("-std=gnu11", "-O1", "-fvisibility=hidden", "-fno-builtin", "-fno-strict-aliasing")
# The shim must have no undefined behaviour; a trap ends the driver with a signal.
_CHECKED = (*_FLAGS, "-fsanitize=undefined", "-fsanitize-trap=undefined")


def compile_c(*arguments: str) -> None:
    """Run the bundled compiler; its messages are the failure's."""
    toolchain = bundled_toolchain()
    include = str(shim_directory() / "include")
    command = [*toolchain.cc, *toolchain.target_flags, "-I", include, *arguments]
    done = run(*command, timeout_s=300)
    assert done.status == 0, done.stderr


def sources() -> list[str]:
    return sorted(str(path) for path in (shim_directory() / "src").glob("*.c"))


@pytest.fixture(scope="session")
def shim_modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Module]:
    """Every file of the shim as parsed IR."""
    folder = tmp_path_factory.mktemp("shim-ir")
    modules = {}
    for source in sources():
        bitcode = folder / f"{Path(source).stem}.bc"
        compile_c(*_FLAGS, "-fno-sanitize=all", "-g0", "-emit-llvm", "-c", source, "-o", str(bitcode))
        modules[Path(source).name] = parse_module(str(llvm.parse_bitcode(bitcode.read_bytes())))
    return modules


@dataclass(frozen=True)
class Driver:
    """The program ``driver.c`` linked with the shim; every scenario is a fresh process."""

    program: Path
    folder: Path

    def run(
        self,
        scenario: str,
        *,
        status: int = 0,
        workspace: bytes | None = None,
        memory_bytes: int | None = None,
    ) -> tuple[dict[str, int], Trace]:
        """Numbers that the scenario printed, and its trace; ``workspace`` is its list of pieces."""
        path = self.folder / f"{scenario}.trace"
        environment = {"COMMANALYZER_TRACE": str(path)}
        if workspace is not None:
            environment["COMMANALYZER_WORKSPACE"] = str(self.folder / f"{scenario}.workspace")
            Path(environment["COMMANALYZER_WORKSPACE"]).write_bytes(workspace)
        if memory_bytes is not None:
            environment["COMMANALYZER_MEMORY"] = str(memory_bytes)
        done = run(self.program, scenario, env=environment)
        assert done.status == status, (done.status, done.stdout, done.stderr)
        pairs = (line.split() for line in done.stdout.splitlines())
        return {name: int(number) for name, number in pairs}, read_trace(path)


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    """Driver whose prototypes are printed from the table of hooks."""
    folder = tmp_path_factory.mktemp("shim-driver")
    prototypes = [
        f"{_C_TYPES[h.returns]} {h.name}({', '.join(_C_TYPES[p] for p in h.parameters) or 'void'});"
        for h in HOOKS.values()
    ]
    (folder / "hooks.h").write_text("\n".join(["#include <stdint.h>", *prototypes, ""]))
    program = folder / "driver"
    compile_c(*_CHECKED, "-I", str(folder), str(_HERE / "driver.c"), *sources(), "-o", str(program))
    return Driver(program, folder)
