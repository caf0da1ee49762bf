"""MPI counterparts of workloads on simulated clusters: built with SimGrid's compilers, timed by its clock."""

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import commanalyzer as ca
from bench.accuracy.cases import CASES_FILE, owners_by_blocks, read_cases
from commanalyzer.communication.collectives import with_collectives
from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.messages.phases import step_order, with_phases
from commanalyzer.communication.volume import charge_volume
from commanalyzer.division.views import volume_view
from commanalyzer.graph.structure.singletons import HIGH
from commanalyzer.machine.simulation.platforms import Platform
from commanalyzer.machine.simulation.schedule import smpirun
from tests.native import ROOT

HERE = Path(__file__).resolve().parent
WORKLOADS = ROOT / "workloads"
_TIMEOUT_S = 900.0
_LOOP = re.compile(r"^loop_s (\d+\.\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """A workload and its MPI counterpart.

    Attributes:
        simulated_steps: Time steps of the MPI program; more, because a start of all ranks at the same time
            costs some latencies once.
        waits_per_step: Calls of MPI_Waitall in a time step.
        is_cpp: C++, not C.
    """

    name: str
    size: tuple[str, ...]
    analysed_steps: int
    simulated_steps: int
    trailing: tuple[str, ...]
    region: str
    grids: Mapping[int, tuple[str, ...]]
    waits_per_step: int = 1
    is_cpp: bool = False

    def extents(self, ranks: int) -> tuple[int, ...]:
        """Process grid of the MPI program, the slowest dimension first."""
        if self.is_cpp:
            return (round(ranks ** (1 / 3)),) * 3
        return tuple(map(int, self.grids[ranks][-1].split("x")))

    @property
    def title(self) -> str:
        """Name and arguments of the analysed run."""
        return " ".join((self.name, *self.size, str(self.analysed_steps), *self.trailing))

    @property
    def sources(self) -> list[Path]:
        return sorted((WORKLOADS / self.name).glob("*.cpp" if self.is_cpp else "*.c"))

    @property
    def mpi_sources(self) -> list[Path]:
        own = sorted((WORKLOADS / self.name / "mpi").glob("*.c*"))
        if not self.is_cpp:
            return own
        kernels = [path for path in self.sources if path.stem != self.name]
        return [*own, *kernels, HERE / "smpi_regions.cpp"]


CASES = (
    Case(
        *("heat2d", ("512",), 40, 50, ("swap",), "heat_solve"),
        {4: ("swap", "2x2"), 16: ("swap", "4x4"), 64: ("swap", "8x8")},
    ),
    Case(
        *("stencil3d", ("48",), 20, 50, ("swap",), "stencil_run"),
        {4: ("swap", "1x2x2"), 16: ("swap", "2x2x4"), 64: ("swap", "4x4x4")},
    ),
    Case(
        *("hydro3d", ("12",), 20, 20, (), "hydro_run"),
        {8: ("owner",), 27: ("owner",), 64: ("owner",)},
        waits_per_step=3,
        is_cpp=True,
    ),
)


def prediction(case: Case, folder: Path) -> ca.AnalysisResult:
    """Result of analysing a workload; from ``folder`` if it is there."""
    saved = folder / f"{case.name}.cmz"
    if saved.is_file():
        return ca.load(saved)
    found = ca.analyze(
        case.sources,
        [*case.size, case.analysed_steps, *case.trailing],
        nodes=list(case.grids),
        regions=[case.region],
        cflags=["-std=c++17"] if case.is_cpp else [],
        program_output="discard",
    )
    ca.save(found, saved)
    return found


def own_communication(case: Case, found: ca.AnalysisResult, ranks: int) -> Communication:
    """Prediction at the division of the MPI program, as `bench.accuracy` makes it."""
    workload = next(w for w in read_cases(CASES_FILE) if w.name == case.name)
    grid = case.extents(ranks)
    workload = replace(workload, grids={ranks: "x".join(map(str, grid))})
    arguments = [*case.size, str(case.analysed_steps), *case.trailing]
    flat, hubs = volume_view(found.graph, HIGH)
    values = workload.values(arguments, ranks)
    owners = owners_by_blocks(flat, hubs, workload, grid, values)
    charges = charge_volume(flat, owners, ranks, hubs)
    exchanges = charges.exchanges(flat, owners, hubs=hubs)
    item = with_collectives(exchanges.communication(), charges, exchanges, flat, hubs)
    return with_phases(item, charges, exchanges, flat, owners, hubs, step_order(flat))


def build(case: Case, ranks: int, flops_per_step: float, folder: Path) -> Path:
    """Compile the MPI program so that each rank computes its share of a step after an exchange.

    Raises:
        RuntimeError: If it does not compile.
    """
    program = folder / f"{case.name}-{ranks}"
    flops = flops_per_step / ranks / case.waits_per_step
    words = [
        *(("smpicxx", "-std=c++17") if case.is_cpp else ("smpicc", "-std=c11")),
        "-O2",
        *("-include", str(HERE / "smpi_clock.h"), f"-DFLOPS_PER_WAIT={flops!r}"),
        *(f"-I{WORKLOADS / case.name}", "-o", str(program), *map(str, case.mpi_sources), "-lm"),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}\n{done.stderr}")
    return program


def step_time(case: Case, program: Path, ranks: int, platform: Platform) -> float:
    """Simulated seconds of one time step of the MPI program.

    Raises:
        RuntimeError: If the program printed no time.
    """
    arguments = [*case.size, str(case.simulated_steps), *case.grids[ranks]]
    words = ["--cfg=smpi/simulate-computation:no", "--log=root.thres:critical", str(program), *arguments]
    with tempfile.TemporaryDirectory() as scratch:
        text = smpirun(platform, ranks, words, _TIMEOUT_S, Path(scratch))
    found = _LOOP.search(text)
    if found is None:
        raise RuntimeError(f"expected the time of the main loop, found {text[-500:]!r}")
    return float(found.group(1)) / case.simulated_steps
