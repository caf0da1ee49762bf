/* Marks, MPI_Pcontrol, early ends, a child process: regions [abort|fork|STATUS]. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void commanalyzer_region_begin(const char *name) __attribute__((weak));
extern void commanalyzer_region_end(const char *name) __attribute__((weak));

static void begin(const char *name) {
  if (commanalyzer_region_begin)
    commanalyzer_region_begin(name);
}

static void end(const char *name) {
  if (commanalyzer_region_end)
    commanalyzer_region_end(name);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  double x[100] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Bcast(x, 100, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  begin("loop");
  for (int i = 0; i < 10; i++) {
    MPI_Reduce(rank ? x : MPI_IN_PLACE, x, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    begin("norm");
    MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    end("norm");
  }
  end("loop");
  MPI_Pcontrol(0);
  MPI_Bcast(x, 7, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Pcontrol(1);
  if (argc > 1 && strcmp(argv[1], "fork") == 0) {
    if (fork() == 0)
      exit(0); /* runs what is registered for the end of a process */
    wait(NULL);
  }
  if (argc > 1 && strcmp(argv[1], "abort") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
      MPI_Abort(MPI_COMM_WORLD, 5);
    for (;;)
      MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}
