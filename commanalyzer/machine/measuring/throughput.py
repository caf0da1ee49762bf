"""Throughput of one node for one program: wall time of plain runs, operations of its analysis."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import MachineModelError, TargetRunError

# A program started by a rank must not take itself for a part of the measurement's MPI job.
_JOB_PREFIXES = ("PMI", "OMPI_", "PRTE_", "HYD", "MPI_", "MPIR", "PALS_")


def run_times(command: Sequence[str], num_runs: int) -> NDArray[np.float64]:
    """Wall time of ``num_runs`` runs after one that is not timed, seconds.

    The program's output is discarded; threads and other settings are those of the environment.

    Args:
        command: Program and arguments.
        num_runs: At least 1.

    Raises:
        MachineModelError: If there is no such program.
        TargetRunError: If a run fails.
    """
    program = shutil.which(command[0])
    if program is None:
        raise MachineModelError("expected a program to run, found none", where=command[0])
    environment = {k: v for k, v in os.environ.items() if not k.startswith(_JOB_PREFIXES)}
    times_s = np.empty(num_runs + 1)
    for index in range(num_runs + 1):
        start_s = time.perf_counter()
        try:
            done = subprocess.run(
                [program, *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment,
                check=False,
            )
        except OSError as error:
            raise TargetRunError(f"the program cannot be started: {error.strerror}", where=program) from error
        times_s[index] = time.perf_counter() - start_s
        if done.returncode:
            last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise TargetRunError(
                f"expected a successful run, found exit status {done.returncode}: {last}", where=program
            )
    return times_s[1:]
