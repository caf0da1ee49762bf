"""What the byte counter saw of an MPI program, besides the matrices: calls, self-sends, gaps."""

from __future__ import annotations

from dataclasses import dataclass

LAYERS = ("point-to-point", "one-sided", "collectives")
MODEL = "counted"
WHOLE = "whole run"
OFF = "outside"  # what is sent while MPI_Pcontrol(0) holds


@dataclass(frozen=True, slots=True)
class CallCounts:
    """Calls of one kind on one communicator in one region, all ranks together.

    Attributes:
        region: Names of the open regions, outermost first; empty outside all marks.
        layer: One of ``LAYERS``.
        name: MPI function.
        communicator: Its name, or its members as world ranks.
        root: World rank of the root, -1 without one.
        operations: Calls; a collective counts once, not once per rank.
        given_bytes: Count times datatype size as passed by the ranks, summed over them.
        charged_bytes: Bytes between different ranks: what is in the matrix.
        self_bytes: Bytes that a rank sends to itself; in no matrix.
        unknown_bytes: Bytes to or from processes outside MPI_COMM_WORLD; in no matrix.
    """

    region: tuple[str, ...]
    layer: str
    name: str
    communicator: str
    root: int
    operations: int
    given_bytes: int
    charged_bytes: int
    self_bytes: int
    unknown_bytes: int


@dataclass(frozen=True, slots=True)
class CountedRun:
    """How an MPI program was counted.

    Attributes:
        mpi: MPI library, from its launcher.
        ranks: Size of MPI_COMM_WORLD.
        calls: One entry per (region, call, communicator, root), most bytes first.
        regions: Names of the marked regions, sorted.
        region: Region that the best decomposition covers; empty for the whole run.
    """

    mpi: str
    ranks: int
    calls: tuple[CallCounts, ...]
    regions: tuple[str, ...] = ()
    region: str = ""

    @property
    def self_bytes(self) -> int:
        """Bytes that ranks sent to themselves, whole run."""
        return sum(call.self_bytes for call in self.calls)

    @property
    def unknown_bytes(self) -> int:
        """Bytes that belong to no pair of ranks, whole run."""
        return sum(call.unknown_bytes for call in self.calls)
