"""The programs and their arguments for runs of about 0.1 and 1 second."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from commanalyzer.request import AnalysisRequest

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Foreign:
    """A program and its arguments.

    Attributes:
        source: File in this folder.
        short: Arguments of a run of about 0.1 s.
        long: Arguments of a run of about 1 s.
    """

    source: str
    short: str
    long: str

    @property
    def name(self) -> str:
        """The source without its ending."""
        return Path(self.source).stem

    def request(self, *, is_long: bool) -> AnalysisRequest:
        """Analysis of a whole run, its output discarded."""
        arguments = tuple((self.long if is_long else self.short).split())
        return AnalysisRequest((HERE / self.source,), arguments, nodes=(16,), program_output="discard")


CASES = (
    Foreign("blocked_copies.c", "512", "640"),
    Foreign("blocked_tiles.c", "384 1", "640 1"),
    Foreign("blocked_rows.c", "352 5", "768 5"),
    Foreign("multigrid_pool.c", "9 37", "9 370"),
    Foreign("multigrid_stride.c", "10 4", "10 42"),
    Foreign("multigrid_descriptors.f90", "6 8", "6 80"),
    Foreign("hydro_members.cpp", "100 150", "100 1500"),
    Foreign("wavefront.c", "200 65", "200 650"),
    Foreign("smith_waterman.c", "2000 5", "2000 50"),
    Foreign("fft.c", "14 190", "14 1900"),
    Foreign("sorting.c", "520000", "4500000"),
    Foreign("hash_join.c", "100000 55", "100000 550"),
    Foreign("bfs.c", "50000 77", "50000 770"),
    Foreign("cg_rows.cpp", "32 130", "32 1300"),
    Foreign("cholesky.c", "890", "1900"),
    Foreign("lu.c", "1000", "2100"),
    Foreign("neighbours.c", "14 80", "14 800"),
    Foreign("stencil_views.cpp", "64 350", "64 3500"),
    Foreign("particles.cpp", "50000 400", "50000 4000"),
    Foreign("triangular.c", "20000 230", "20000 2300"),
    Foreign("histogram.c", "500000 250", "500000 2500"),
    Foreign("life.c", "512 75", "512 750"),
    Foreign("edit_distance.c", "2000 15", "2000 150"),
    Foreign("floyd.c", "560", "1200"),
    Foreign("thomas.c", "300 75", "300 750"),
    Foreign("monte_carlo.c", "520000", "5200000"),
    Foreign("link_cells.c", "14 45", "14 450"),
    Foreign("csr_assembly.c", "100 85", "100 850"),
    Foreign("ordinates.c", "24 35", "24 350"),
    Foreign("split_hydro.f90", "256 14", "256 140"),
    Foreign("multigrid_cg.c", "64 20", "64 200"),
)
