import pytest

from commanalyzer.machine.measuring import mpi


@pytest.mark.parametrize(
    ("variables", "rank", "ranks"),
    [
        ({}, 0, 1),
        ({"PMI_RANK": "3", "PMI_SIZE": "8"}, 3, 8),  # MPICH, Intel MPI
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, 2, 4),
        ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "6"}, 5, 6),  # srun
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "6"}, 0, 1),  # a batch script is no rank
        ({"PMI_RANK": "1", "PMI_SIZE": "2", "SLURM_PROCID": "0"}, 1, 2),  # mpiexec in a batch script
    ],
)
def test_what_launchers_say(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], rank: int, ranks: int
) -> None:
    for name in (*mpi._RANK_VARIABLES, *mpi._SIZE_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (mpi.launcher_rank(), mpi.launched_ranks()) == (rank, ranks)
