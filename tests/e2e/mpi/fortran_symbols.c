/* Calls Open MPI's Fortran entry points as compiled Fortran does: all arguments by reference. */
#include <mpi.h>

void mpi_init_(MPI_Fint *error);
void mpi_finalize_(MPI_Fint *error);
void mpi_comm_rank_(MPI_Fint *comm, MPI_Fint *rank, MPI_Fint *error);
void mpi_send_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm,
               MPI_Fint *error);
void mpi_recv_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *source, MPI_Fint *tag, MPI_Fint *comm,
               MPI_Fint *status, MPI_Fint *error);
void mpi_bcast_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error);

int main(void) {
  MPI_Fint error, rank, one = 1, zero = 0, count = 10, status[16];
  double x[10] = {0};
  mpi_init_(&error);
  MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD), type = MPI_Type_c2f(MPI_DOUBLE);
  mpi_comm_rank_(&world, &rank, &error);
  if (rank == 0)
    mpi_send_(x, &count, &type, &one, &zero, &world, &error);
  if (rank == 1)
    mpi_recv_(x, &count, &type, &zero, &zero, &world, status, &error);
  mpi_bcast_(x, &one, &type, &zero, &world, &error);
  mpi_finalize_(&error);
  return 0;
}
