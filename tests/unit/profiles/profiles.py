import numpy as np

from commanalyzer.profiles import values
from commanalyzer.profiles.values import DATA_INDEX, INDEX, InstructionMix, no_instructions


def some_mix() -> InstructionMix:
    """101 loads of 32-bit integers, 40 additions of two doubles, 9 branches, 10 address computations."""
    counts = no_instructions()
    counts[INDEX["load"], 0, DATA_INDEX["int_32bits"]] = 101
    counts[INDEX["fp_arith_add"], 1, DATA_INDEX["float_64bits"]] = 40
    counts[INDEX["control_branch"], 0, DATA_INDEX["misc"]] = 9
    counts[INDEX["address_arith_get_elem_ptr_arith"], 0, DATA_INDEX["pointer_type"]] = 10
    return InstructionMix(counts)


def some_spans(first: float) -> values.Spans:
    """Spans that differ from each other."""
    return values.Spans(first + np.arange(5.0), 1.0 + np.arange(5.0) / 8.0)


def some_rank(process: int = 0) -> values.RankProfile:
    """A rank with every field."""
    reuse = values.Reuse(64, np.array([0, 1, 2, 4]), np.array([194.0, 1, 1, 1]), 201.0, error=0.125)
    return values.RankProfile(
        process_id=process,
        mix=some_mix(),
        register_reads=300,
        register_writes=120,
        parallelism=(values.Parallelism(54, some_spans(604), some_spans(700)),),
        data_reuse=(reuse, values.Reuse(128, np.array([0, 1]), np.array([198.0, 1]), 201.0)),
        instruction_reuse=(
            values.Reuse(64, np.array([0, 1]), np.array([150.0, 2]), 160.0, instruction_bytes=8),
        ),
        footprint=values.Footprint(404, 7, 64, 404, 7),
        branches=values.Branches(np.array([0, 1]), np.array([1.0, 0.25]), np.array([0.5, 0.125]), 9),
        exchange=values.Exchange(
            148480, 224, np.array([1, 3]), np.array([64.0, 32]), np.array([2.0, 1]), {"bcast_sent_bytes": 8}
        ),
        mpi_calls={"MPI_Send": 4, "MPI_Bcast": 1, "MPI_Comm_rank": 2},
        openmp_calls={"omp_get_num_threads": 3},
        library_calls={"printf": 5},
    )


def some_profile() -> values.Profile:
    """Two ranks with every field."""
    return values.Profile(
        "lu", {"n": 64, "tolerance": 0.5}, (some_rank(), some_rank(2)), ("an approximation",)
    )
