/*
 * Included in front of MPI programs that SimGrid's SMPI simulates: every MPI_Waitall is followed by the program's
 * computation between two exchanges, as FLOPS_PER_WAIT floating-point operations on the simulated node, and
 * the time between MPI_Pcontrol(1) and MPI_Pcontrol(0), or of the region "hydro_run", is printed.
 */
#ifndef SMPI_CLOCK_H
#define SMPI_CLOCK_H

#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>

static inline int wait_and_compute(int count, MPI_Request *requests, MPI_Status *statuses)
{
    int status = MPI_Waitall(count, requests, statuses);
    smpi_execute_flops(FLOPS_PER_WAIT);
    return status;
}

/* The time of the slowest rank from a common start; 1 starts, 0 stops. */
static inline int loop_clock(int level)
{
    static double start_s = -1.0;
    if (level == 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        start_s = MPI_Wtime();
    } else if (start_s >= 0.0) {
        double mine[2] = {-start_s, MPI_Wtime()}, all[2];
        int rank;
        MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 0)
            printf("loop_s %.12f\n", all[1] + all[0]);
        start_s = -1.0;
    }
    return MPI_SUCCESS;
}

#undef MPI_Waitall
#define MPI_Waitall wait_and_compute
#undef MPI_Pcontrol
#define MPI_Pcontrol loop_clock

#endif
