"""The shim under AddressSanitizer and UBSan, instrumented programs under UBSan.

    python -m pytest tests/shim/test_sanitizers.py

AddressSanitizer needs a clang with its runtime (Debian: ``clang``); the bundled compiler has none. The driver
calls every hook. The process-wide ``free`` and ``realloc`` get other names there, because AddressSanitizer
has its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from commanalyzer.frontend.shim import shim_directory
from commanalyzer.frontend.toolchain import bundled_toolchain
from tests.recorded import record_file
from tests.shim.conftest import Driver
from tests.shim.test_workspaces import SCRATCH, listed

_HERE = Path(__file__).resolve().parent
_FLAGS = (
    "-std=gnu11",
    "-O1",
    "-g",
    "-fno-builtin",
    "-fno-strict-aliasing",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-shared-libasan",
)
_RENAMED = ("-Dfree=ca_process_free", "-Drealloc=ca_process_realloc", "-include", "stdlib.h")
_SCENARIOS = (
    *("crowded", "fills", "frames", "heap", "many_labels", "mixed", "reallocation"),
    *("reductions", "registers", "replication", "rows", "running", "unknown"),
)
_IN_WORKSPACES = ("carried", "constants", "copies", "lifetimes", "updates")
_CORPUS = _HERE.parent / "e2e" / "corpus"


def _runtime_folder() -> Path | None:
    """Folder of AddressSanitizer's runtime, if a clang with one is installed."""
    if shutil.which("clang") is None:
        return None
    name = "libclang_rt.asan-x86_64.so"
    printed = subprocess.run(
        ["clang", f"-print-file-name={name}"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return Path(printed).parent if Path(printed).is_absolute() and Path(printed).exists() else None


@pytest.fixture(scope="module")
def checked_driver(driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The driver with AddressSanitizer and UBSan, and the folder of the runtime."""
    runtime = _runtime_folder()
    if runtime is None:
        pytest.skip("no clang with AddressSanitizer's runtime is installed")
    folder = tmp_path_factory.mktemp("asan")
    include = ("-I", str(shim_directory() / "include"), "-I", str(driver.folder))
    objects = []
    for source in (_HERE / "driver.c", *sorted((shim_directory() / "src").glob("*.c"))):
        renamed = _RENAMED if source.name in ("driver.c", "heap.c") else ()
        output = folder / f"{source.stem}.o"
        command = ["clang", *_FLAGS, *include, *renamed, "-c", str(source), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        objects.append(str(output))
    program = folder / "driver"
    done = subprocess.run(
        ["clang", *_FLAGS, *objects, "-ldl", "-o", str(program)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return program, runtime


@pytest.mark.parametrize("scenario", [*_SCENARIOS, *_IN_WORKSPACES])
def test_hooks_run_clean(checked_driver: tuple[Path, Path], scenario: str, tmp_path: Path) -> None:
    program, runtime = checked_driver
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(runtime),
        "COMMANALYZER_TRACE": str(tmp_path / "trace"),
        "ASAN_OPTIONS": "detect_leaks=0",  # the log lives until the process ends
    }
    if scenario in _IN_WORKSPACES:
        (tmp_path / "workspace").write_bytes(listed(SCRATCH))
        environment["COMMANALYZER_WORKSPACE"] = str(tmp_path / "workspace")
    done = subprocess.run(
        [str(program), scenario], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "trace").stat().st_size > 4096


@pytest.mark.parametrize("name", ["kernels.c", "control.c"])
def test_instrumented_programs_trap_nowhere(name: str, tmp_path: Path) -> None:
    """With UBSan's checks in the program itself: recording changes no operand of a checked operation."""
    ir = tmp_path / "program.ll"
    tools = bundled_toolchain()
    checks = ("-fsanitize=undefined", "-fsanitize-trap=undefined", "-fno-sanitize=function,vptr")
    command = [*tools.cc, *tools.target_flags, "-O1", *checks, "-w", "-S", "-emit-llvm", str(_CORPUS / name)]
    subprocess.run([*command, "-o", str(ir)], check=True, capture_output=True)
    recorded = record_file(ir)
    assert "@llvm.ubsantrap" in "\n".join(recorded.module.lines)
    assert recorded.traced.stdout == recorded.plain.stdout
    assert recorded.traced.exit_status == recorded.plain.exit_status < 128  # no signal
