/* Calls of MPI in functions: regions by name. */
#include <mpi.h>

static int rank, size;

__attribute__((noinline)) static void exchange(double *x, int count) {
  MPI_Sendrecv_replace(x, count, MPI_DOUBLE, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  x[0] += 1.0;
}

/* Calls exchange once, in the innermost of some calls of itself. */
__attribute__((noinline)) static void rounds(double *x, int depth) {
  if (depth > 0)
    rounds(x, depth - 1);
  else
    exchange(x, 7);
  x[1] += 1.0;
}

void norm_(double *x);

__attribute__((noinline)) void norm_(double *x) {
  MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  x[0] *= 0.5;
}

int main(int argc, char **argv) {
  double x[8] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 3; i++)
    exchange(x, 5);
  rounds(x, 4);
  norm_(x);
  MPI_Sendrecv_replace(x, 1, MPI_DOUBLE, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
