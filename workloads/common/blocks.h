/* Block ranges, process grids and arguments of the MPI counterparts of the workloads. */
#ifndef WORKLOADS_BLOCKS_H
#define WORKLOADS_BLOCKS_H

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* End the whole program with status 2 and one message, which rank 0 writes. */
static inline void fail(const char *message)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "%s\n", message);
    MPI_Finalize();
    exit(2);
}

static inline int argument(const char *name, const char *text, int low, int high)
{
    char *end, message[200];
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high) {
        snprintf(message, sizeof message, "%s must be an integer from %d to %d, found '%s'", name, low, high,
                 text);
        fail(message);
    }
    return (int)value;
}

static inline void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "not enough memory for %zu elements\n", count);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* First of the n indices that belong to a part; parts own [block_begin(k), block_begin(k + 1)). */
static inline int block_begin(int n, int parts, int part)
{
    return (int)((long long)n * part / parts);
}

static inline int block_of(int n, int parts, int index)
{
    int part = (int)((long long)index * parts / n);
    while (index >= block_begin(n, parts, part + 1))
        part++;
    return part;
}

/* My place in a grid of processes, the slowest dimension first. */
typedef struct {
    int dimensions;
    int parts[3];
    int mine[3];
    int before[3], after[3]; /* neighbours, MPI_PROC_NULL beyond the border */
    MPI_Comm comm;
} ProcessGrid;

/* Grid of the shape of text, such as 2x2 or 4x1; as square as possible if text is NULL. */
static inline ProcessGrid process_grid(const char *text, int dimensions, int periodic)
{
    ProcessGrid g = {dimensions, {0}, {0}, {0}, {0}, MPI_COMM_NULL};
    int size, rank, product = 1, around[3] = {periodic, periodic, periodic};
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int d = 0; text && d < dimensions; d++) {
        char *end;
        g.parts[d] = (int)strtol(text, &end, 10);
        if (end == text || g.parts[d] < 1 || *end != (d < dimensions - 1 ? 'x' : '\0'))
            fail("the process grid must look like 2x2, with one number per dimension");
        text = end + 1;
    }
    if (!text)
        MPI_Dims_create(size, dimensions, g.parts);
    for (int d = 0; d < dimensions; d++)
        product *= g.parts[d];
    if (product != size)
        fail("the process grid must have as many parts as there are processes");
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, g.parts, around, 0, &g.comm);
    MPI_Comm_rank(g.comm, &rank);
    MPI_Cart_coords(g.comm, rank, dimensions, g.mine);
    for (int d = 0; d < dimensions; d++)
        MPI_Cart_shift(g.comm, d, 1, &g.before[d], &g.after[d]);
    return g;
}

/* Sum over all processes, on rank 0. */
static inline double total(double mine)
{
    double sum = 0.0;
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return sum;
}

#endif
