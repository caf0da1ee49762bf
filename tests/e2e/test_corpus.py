"""Programs that use the languages broadly run exactly as they do without instrumentation."""

import subprocess
from pathlib import Path

import pytest

from commanalyzer.program.frontend.toolchain import bundled_toolchain
from tests.recorded import record_file

CORPUS = Path(__file__).parent / "corpus"
PROGRAMS = sorted(path.name for path in CORPUS.glob("*.c*"))
# the largest program is for the long run (-m slow)
LEVELS = [pytest.param(name, marks=pytest.mark.slow) if name == "library.cpp" else name for name in PROGRAMS]


def check_same_behaviour(source: Path, *arguments: str, flags: tuple[str, ...] = ()) -> None:
    """Output and exit status with recording are those of the plain program, which did something."""
    recorded = record_file(source, *arguments, flags=flags)
    assert recorded.plain.stdout
    assert recorded.traced.stdout == recorded.plain.stdout
    assert recorded.traced.exit_status == recorded.plain.exit_status


@pytest.mark.parametrize("name", PROGRAMS)
def test_instrumented_program_behaves_like_the_original(name: str) -> None:
    check_same_behaviour(CORPUS / name)


@pytest.mark.parametrize("level", ["-O0", "-O3"])
@pytest.mark.parametrize("name", LEVELS)
def test_ir_of_any_optimisation_level_behaves_like_the_original(
    name: str, level: str, tmp_path: Path
) -> None:
    ir = tmp_path / "program.ll"
    tools = bundled_toolchain()
    compiler = tools.cxx if name.endswith(".cpp") else tools.cc
    command = [*compiler, level, "-fno-sanitize=all", "-w", "-S", "-emit-llvm", str(CORPUS / name)]
    subprocess.run([*command, "-o", str(ir)], check=True, capture_output=True)
    check_same_behaviour(ir)
