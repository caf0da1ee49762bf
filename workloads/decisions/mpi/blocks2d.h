/* Square of N x N points in blocks, each with a layer of copies of its neighbours' points. */
#ifndef WORKLOADS_DECISIONS_BLOCKS2D_H
#define WORKLOADS_DECISIONS_BLOCKS2D_H

#include "../../common/blocks.h"

typedef struct {
    ProcessGrid grid;
    int first[2], size[2], width; /* first row and column, rows and columns, and from one row to the next */
    MPI_Datatype column;
} Square;

static inline Square square_of(int n, const char *grid)
{
    Square s = {.grid = process_grid(grid, 2, 0)};
    for (int d = 0; d < 2; d++) {
        s.first[d] = block_begin(n, s.grid.parts[d], s.grid.mine[d]) + 1;
        s.size[d] = block_begin(n, s.grid.parts[d], s.grid.mine[d] + 1) + 1 - s.first[d];
    }
    s.width = s.size[1] + 2;
    MPI_Type_vector(s.size[0], 1, s.width, MPI_DOUBLE, &s.column);
    MPI_Type_commit(&s.column);
    return s;
}

/* Last rows and columns go to the neighbours behind this block. */
static inline void send_down(const Square *s, double *u)
{
    const ProcessGrid *g = &s->grid;
    MPI_Sendrecv(&u[s->size[0] * s->width + 1], s->size[1], MPI_DOUBLE, g->after[0], 0, &u[1], s->size[1],
                 MPI_DOUBLE, g->before[0], 0, g->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&u[s->width + s->size[1]], 1, s->column, g->after[1], 1, &u[s->width], 1, s->column,
                 g->before[1], 1, g->comm, MPI_STATUS_IGNORE);
}

/* First rows and columns go to those in front of it. */
static inline void send_up(const Square *s, double *u)
{
    const ProcessGrid *g = &s->grid;
    MPI_Sendrecv(&u[s->width + 1], s->size[1], MPI_DOUBLE, g->before[0], 2, &u[(s->size[0] + 1) * s->width + 1],
                 s->size[1], MPI_DOUBLE, g->after[0], 2, g->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&u[s->width + 1], 1, s->column, g->before[1], 3, &u[s->width + s->size[1] + 1], 1, s->column,
                 g->after[1], 3, g->comm, MPI_STATUS_IGNORE);
}

/* A value that one process has, printed by rank 0; the end of the program. */
static inline void finish(Square *s, int n, const double *u, int steps)
{
    int i = (n + 1) / 2 - s->first[0] + 1, j = (n + 1) / 2 - s->first[1] + 1, rank;
    int mine = i >= 1 && i <= s->size[0] && j >= 1 && j <= s->size[1];
    double middle = total(mine ? u[i * s->width + j] : 0.0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("steps %d middle %.6e\n", steps, middle);
    MPI_Type_free(&s->column);
    MPI_Comm_free(&s->grid.comm);
    MPI_Finalize();
}

#endif
