"""Programs of several files in the styles of 1977 to 2008, on every flang that is installed.

Each must print what flang's own program prints, call nothing that is not modelled, and send the bytes of
theory for a division in slabs.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import commanalyzer as ca
from commanalyzer.foundation.errors import CompileError
from commanalyzer.graph.value_graph import HomeKind, HomeObject
from commanalyzer.program.frontend.inputs.fortran import find_fortran, installed_compilers

FOLDER = Path(__file__).resolve().parent / "fortran"
PARTS = 4
CUTS = PARTS - 1
BOTH_SIDES = 2
WORD = 8
Capture = pytest.CaptureFixture[str]


@dataclass(frozen=True)
class Program:
    """A program, and what its loop sends when it is divided.

    Attributes:
        sources: In the order of their modules.
        region: Procedure with the loop.
        division: Rules for the arrays.
        sent: Bytes by theory; none where the program only has to run.
        flags: Of flang.
        block: Rule for the COMMON block that holds the arrays, for compilers that do not say what lies in it.
    """

    sources: str
    region: str
    division: tuple[str, ...]
    sent: int | None
    flags: str = ""
    block: str = ""

    def asked(self, flang: str) -> tuple[str, ...]:
        """The division; that of the whole COMMON block where the compiler does not say what lies in it."""
        return (self.block,) if self.block and flang.endswith("19") else self.division


PROGRAMS = {
    # COMMON blocks, BLOCK DATA, EQUIVALENCE, ENTRY, computed GO TO, statement functions, in fixed form: 4
    # sweeps over 32 x 32 points; three nodes get OMEGA.
    "jacobi77": Program(
        "main.f values.f setup.f sweep.f",
        "sweep",
        ("u[34x34]=block:4x1", "v[34x34]=block:4x1"),
        4 * CUTS * BOTH_SIDES * 32 * WORD + CUTS * WORD,
        block="field_[2x34x34]=block:1x4x1",
    ),
    # Modules, NAMELIST, array syntax, optional arguments: 5 steps; three nodes get the Courant number.
    "wave90": Program(
        "kinds.f90 string.f90 main.f90",
        "vibrate",
        ("string::before[64]=block:4", "string::after[64]=block:4"),
        5 * CUTS * BOTH_SIDES * WORD + CUTS * WORD,
    ),
    # Derived types with array components, elemental and pure procedures, FORALL: 6 steps, 3 coordinates.
    "springs95": Program(
        "bodies.f90 motion.f90 main.f90",
        "move",
        ("bodies::chain[64x9]=block:4x1",),
        6 * CUTS * BOTH_SIDES * 3 * WORD,
    ),
    # Abstract types, deferred procedures, polymorphic allocation, finalisation: 3 steps, two points a side;
    # three nodes get the number that all stiffnesses were set to.
    "operators03": Program(
        "abstract.f90 beam.f90 main.f90",
        "iterate",
        ("beams::x[64]=block:4", "beams::y[64]=block:4"),
        3 * CUTS * BOTH_SIDES * 2 * WORD + CUTS * WORD,
    ),
    # Submodules, DO CONCURRENT, ASSOCIATE, BLOCK: 3 steps, 23 points, with the wind only.
    "advection08": Program(
        "parent.f90 child.f90 main.f90",
        "advect",
        ("transport::field[24x24]=block:4x1", "next[24x24]=block:4x1"),
        3 * CUTS * 23 * WORD,
    ),
    # Array pointers that are swapped, a linked list: 4 steps of 28 x 28 points.
    "pointers90": Program(
        "lists.f90 plate.f90 main.f90",
        "warm",
        ("plate::old[30x30]=block:4x1", "plate::new[30x30]=block:4x1"),
        4 * CUTS * BOTH_SIDES * 28 * WORD,
    ),
    # Direct access, formatted, internal and scratch files, INQUIRE, clocks, RANDOM_SEED; x, y and table are
    # one COMMON block: 4 sweeps.
    "records90": Program(
        "files.f90 smooth.f90 main.f90",
        "smooth",
        ("x[64]=block:4", "y[64]=block:4", "table[64]=block:4"),
        4 * CUTS * BOTH_SIDES * WORD,
        block="work_[3x64]=block:1x4",
    ),
    # Transformational functions, reductions with dimensions and masks, complex numbers: a ring turned thrice.
    "rotations90": Program(
        "ring.f90 tables.f90 main.f90", "turn", ("ring::u[64]=block:4",), 3 * PARTS * BOTH_SIDES * WORD
    ),
    # Texts of deferred length, SELECT CASE: 5 generations of 24 x 24 cells of 4 bytes; the first and the last
    # of a column never change and are sent once. Cells that die and come back leave a bracket.
    "life03": Program(
        "text.f90 cells.f90 main.f90",
        "evolve",
        ("cells::alive[26x26]=block:4x1", "cells::next[26x26]=block:4x1"),
        CUTS * BOTH_SIDES * (5 * 24 + 2) * WORD // 2,
    ),
    # Allocatable components, an assignment that copies them, recursion over the levels of a grid.
    "multigrid03": Program("levels.f90 cycle.f90 main.f90", "descend", (), None),
    # Complex butterflies in place: the first two of six stages exchange all 64 numbers; three nodes get n.
    "fft90": Program(
        "butterflies.f90 main.f90", "butterflies", ("signal[64x2]=block:4x1",), 2 * 64 * 2 * WORD + CUTS * 4
    ),
    # OpenMP in fixed form, with conditional compilation: 5 sequential steps.
    "threads77": Program(
        "heat.F main.F",
        "heat",
        ("u[64]=block:4", "v[64]=block:4"),
        5 * CUTS * BOTH_SIDES * WORD,
        "-fopenmp",
        "rod_[2x64]=block:1x4",
    ),
}


# The default run has one flang and one program of each standard; the others are for continuous integration.
SAMPLE = ("jacobi77", "records90", "springs95", "multigrid03", "advection08")
FLANGS = [
    pytest.param(name, marks=pytest.mark.extended) if number else name
    for number, name in enumerate(installed_compilers() or [None])
]
NAMES = [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.extended) for name in PROGRAMS]


@pytest.fixture(params=FLANGS)
def flang(request: pytest.FixtureRequest) -> str:
    if request.param is None:
        pytest.skip("no flang is installed")
    return str(request.param)


def analysed(files: list[Path], program: Program, rules: tuple[str, ...], flang: str) -> ca.AnalysisResult:
    regions = [program.region]
    return ca.analyze(files, nodes=PARTS, regions=regions, decompose=rules, fc=flang, check=True, jobs=1)


def plain_output(program: Program, sources: list[Path], flang: str, folder: Path) -> str:
    words = [*find_fortran(flang).command, "-O1", "-module-dir", str(folder), *map(str, sources)]
    subprocess.run([*words, "-o", str(folder / "plain")], check=True, capture_output=True)
    return subprocess.run([str(folder / "plain")], capture_output=True, check=True, text=True).stdout


@pytest.mark.parametrize("name", NAMES)
def test_output_calls_and_bytes(name: str, flang: str, tmp_path: Path, capfd: Capture) -> None:
    program = PROGRAMS[name]
    sources = [FOLDER / name / source for source in program.sources.split()]
    result = analysed(sources, program, program.asked(flang), f"{flang} {program.flags}")
    assert capfd.readouterr().out == plain_output(program, sources, flang, tmp_path)
    assert dict(result.recording.unmodelled_calls) == {}
    assert all(o.kind is not HomeKind.UNKNOWN for o in used_objects(result)), "all memory is known"
    if program.sent is not None:
        assert_sent(result, program, program.asked(flang)[0])


def used_objects(result: ca.AnalysisResult) -> list[HomeObject]:
    return [result.graph.objects[o] for o in np.unique(result.graph.home_object)]


def assert_sent(result: ca.AnalysisResult, program: Program, method: str) -> None:
    assert program.sent is not None
    found = next(d for d in result.decompositions if method in d.method).communication
    assert found.low_bytes <= program.sent <= found.high_bytes
    assert found.high_bytes <= 1.4 * program.sent, "the bracket says something"


def test_ir_that_flang_optimised_is_the_same_program(flang: str, tmp_path: Path, capfd: Capture) -> None:
    program = PROGRAMS["springs95"]
    sources = [FOLDER / "springs95" / source for source in program.sources.split()]
    words = [*find_fortran(flang).command, "-O1", "-g", "-emit-llvm", "-S", "-module-dir", str(tmp_path)]
    modules = [tmp_path / f"{source.stem}.ll" for source in sources]
    for source, module in zip(sources, modules, strict=True):
        subprocess.run([*words, str(source), "-o", str(module)], check=True, capture_output=True)
    result = analysed(modules, program, program.division, flang)
    assert capfd.readouterr().out == plain_output(program, sources, flang, tmp_path)
    assert_sent(result, program, program.division[0])


def test_a_product_is_divided_as_its_result_though_that_is_a_temporary(flang: str, tmp_path: Path) -> None:
    """Each node gets the other rows and columns of its block: n^2 words per cut of either dimension."""
    n, source = 16, tmp_path / "product.f90"
    source.write_text(
        f"real(8) :: a({n}, {n}), b({n}, {n}), c({n}, {n})\ninteger :: i, j\ndo i = 1, {n}\ndo j = 1, {n}\n"
        "a(j, i) = i + j\nb(j, i) = i - j\nend do\nend do\n"
        "c = matmul(transpose(a), b)\nprint *, c(3, 4)\nend program\n"
    )
    result = ca.analyze(source, nodes=(4, 8), fc=flang, program_output="discard")
    found = [(d.comm_bytes, round(d.imbalance, 2)) for d in map(result.best, (4, 8))]
    assert found == [(8 * n**2 * (1 + 1), 1.0), (8 * n**2 * (1 + 3), 1.0)]


def test_the_newest_compiler_comes_first() -> None:
    names = installed_compilers()
    if not names:
        with pytest.raises(CompileError, match="no Fortran compiler"):
            find_fortran()
    else:
        assert find_fortran().version == find_fortran(names[0]).version
