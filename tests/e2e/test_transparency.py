"""Recording changes nothing that a program does, and counts what an interpreter counts."""

import shutil
import subprocess
from pathlib import Path

import pytest

from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.instrument.plan import PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import rewrite
from commanalyzer.recording.interpreter.run import interpret
from commanalyzer.recording.runtime import build_instrumented, build_native
from tests.e2e.conftest import source_of
from tests.native import NativeRun, run
from tests.recorded import record_file

SMALL: list[tuple[str, list[str]]] = [
    ("heat2d", ["8", "2"]),
    ("heat2d", ["7", "3", "swap"]),
    ("stencil3d", ["5", "2"]),
    ("stencil3d", ["4", "2", "swap"]),
    ("matmul", ["6"]),
    ("spmv", ["12", "dense", "3", "2"]),
    ("spmv", ["12", "banded", "3", "2"]),
    ("spmv", ["12", "random", "3", "2"]),
    ("kmeans", ["30", "2", "3", "2"]),
]
IRREGULAR = (
    *("cg 9 2d natural 4", "cg 8 2d permuted 5", "cg 4 3d permuted 3", "cg 1"),
    *("adi 7 2", "adi 12 3", "adi 1 2", "adi 5 0"),
    *("pic 6 3 4 2", "pic 2 1 3 1", "pic 8 2 0", "pic 6 3 4 2 0.25"),
    *("pagerank 60 smallworld 6 4", "pagerank 64 kronecker 4 3", "pagerank 2 kronecker 1 0"),
)
RUNS = [*SMALL, *((name, arguments) for name, *arguments in map(str.split, IRREGULAR))]
NAMES = tuple(dict.fromkeys(name for name, _ in RUNS))
ENDINGS = [*RUNS, *((name, ["not a number"]) for name in NAMES), *((name, ["1", "2"] * 5) for name in NAMES)]


def observed(program: Path, arguments: list[str], trace: Path | None = None) -> NativeRun:
    return run(program, *arguments, env={} if trace is None else {"COMMANALYZER_TRACE": str(trace)})


@pytest.mark.parametrize("name", NAMES)
def test_output_and_status_are_those_of_the_plain_program(name: str, tmp_path: Path) -> None:
    frontend = compile_sources([source_of(name)])
    module = parse_module(frontend.ir_text)
    recorded = build_instrumented(rewrite(module, plan_module(module, PlanOptions())), frontend)
    plain = build_native(frontend)
    reference = []
    gcc = shutil.which("gcc")
    if gcc is not None and source_of(name).suffix == ".c":
        other = tmp_path / "gcc"
        options = ["-std=c11", "-O2", "-ffp-contract=off", "-o", str(other), str(source_of(name)), "-lm"]
        subprocess.run([gcc, *options], check=True)
        reference = [other]
    for _, arguments in [item for item in ENDINGS if item[0] == name]:
        expected = observed(plain, arguments)
        assert expected.stdout or expected.status == 2, "nothing to compare"
        assert observed(recorded, arguments, tmp_path / "trace") == expected
        assert all(observed(program, arguments) == expected for program in reference)


@pytest.mark.parametrize(("name", "arguments"), SMALL)
def test_counts_are_those_of_the_interpreter(name: str, arguments: list[str]) -> None:
    recorded = record_file(source_of(name), *arguments)
    meant = interpret(recorded.module, arguments)
    work = recorded.work
    assert (work.flops, work.loads, work.stores) == (meant.flops, meant.loads, meant.stores)
    assert work.instructions == meant.instructions
    assert recorded.traced.stdout == meant.stdout
    assert recorded.traced.exit_status == meant.exit_status


def test_peak_memory_is_the_programs_own() -> None:
    """The memory of the process that starts it, which Linux passes on to children, is left out."""
    ballast = bytearray(300_000_000)
    ballast[::4096] = b"x" * len(range(0, len(ballast), 4096))
    recorded = record_file(source_of("heat2d"), "8", "2")
    assert 1_000_000 < recorded.statistics.peak_rss_bytes < 30_000_000
