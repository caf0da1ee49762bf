/*
 * Exchange of the elements of a distributed vector that irregular products read from other processes.
 *
 * Global indices are given to owners by an array. A process numbers its elements from 0 in ascending order
 * and, behind them, the elements of others that it reads ("ghosts"), by owner.
 */
#ifndef WORKLOADS_GATHER_H
#define WORKLOADS_GATHER_H

#include "blocks.h"

typedef struct {
    int owned, ghosts;
    int *local_of;                  /* by global index, -1 for elements that this process does not know */
    int *send_count, *send_start;   /* by process */
    int *ghost_count, *ghost_start; /* by process */
    int *send_index;                /* local numbers of what others read, by process */
    double *buffer;                 /* space for it */
    MPI_Request *request;
} GatherPlan;

static inline int *starts_of(int size, const int *count)
{
    int *start = allocate((size_t)size + 1, sizeof(int));
    for (int k = 0; k < size; k++)
        start[k + 1] = start[k] + count[k];
    return start;
}

/* Plan for n elements of which read[] (0 or 1 by global index) says which ones this process reads. */
static inline GatherPlan plan_gather(int n, const int *owner, const char *read)
{
    GatherPlan plan = {0};
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    plan.local_of = allocate((size_t)n, sizeof(int));
    plan.send_count = allocate((size_t)size, sizeof(int));
    plan.ghost_count = allocate((size_t)size, sizeof(int));
    for (int i = 0; i < n; i++) {
        plan.local_of[i] = owner[i] == rank ? plan.owned++ : -1;
        if (read[i] && owner[i] != rank)
            plan.ghost_count[owner[i]]++;
    }
    plan.ghost_start = starts_of(size, plan.ghost_count);
    plan.ghosts = plan.ghost_start[size];

    int *wanted = allocate((size_t)plan.ghosts, sizeof(int));
    int *next = allocate((size_t)size, sizeof(int));
    for (int i = 0; i < n; i++)
        if (read[i] && owner[i] != rank) {
            int place = plan.ghost_start[owner[i]] + next[owner[i]]++;
            wanted[place] = i;
            plan.local_of[i] = plan.owned + place;
        }
    MPI_Alltoall(plan.ghost_count, 1, MPI_INT, plan.send_count, 1, MPI_INT, MPI_COMM_WORLD);
    plan.send_start = starts_of(size, plan.send_count);
    int sent = plan.send_start[size];
    plan.send_index = allocate((size_t)sent, sizeof(int));
    MPI_Alltoallv(wanted, plan.ghost_count, plan.ghost_start, MPI_INT, plan.send_index, plan.send_count,
                  plan.send_start, MPI_INT, MPI_COMM_WORLD);
    for (int k = 0; k < sent; k++)
        plan.send_index[k] = plan.local_of[plan.send_index[k]];
    plan.buffer = allocate((size_t)sent, sizeof(double));
    plan.request = allocate(2 * (size_t)size, sizeof(MPI_Request));
    free(wanted);
    free(next);
    return plan;
}

/* Fill the ghosts of x: x[owned ... owned + ghosts). */
static inline void gather_ghosts(const GatherPlan *plan, double *x)
{
    int size, requests = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int k = 0; k < size; k++)
        if (plan->ghost_count[k] > 0)
            MPI_Irecv(x + plan->owned + plan->ghost_start[k], plan->ghost_count[k], MPI_DOUBLE, k, 0,
                      MPI_COMM_WORLD, &plan->request[requests++]);
    for (int k = 0; k < plan->send_start[size]; k++)
        plan->buffer[k] = x[plan->send_index[k]];
    for (int k = 0; k < size; k++)
        if (plan->send_count[k] > 0)
            MPI_Isend(plan->buffer + plan->send_start[k], plan->send_count[k], MPI_DOUBLE, k, 0,
                      MPI_COMM_WORLD, &plan->request[requests++]);
    MPI_Waitall(requests, plan->request, MPI_STATUSES_IGNORE);
}

static inline void free_plan(GatherPlan *plan)
{
    free(plan->local_of);
    free(plan->send_count);
    free(plan->send_start);
    free(plan->ghost_count);
    free(plan->ghost_start);
    free(plan->send_index);
    free(plan->buffer);
    free(plan->request);
}

#endif
