/* Neighbours of a process in the topology of a communicator. */
#include "counter.h"

#include <stdlib.h>

static __thread int *members;
static __thread int room;

static int *reserve(int num) {
  if (num > room) {
    members = realloc(members, (size_t)num * sizeof *members);
    if (!members)
      abort();
    room = num;
  }
  return members;
}

static int cartesian(MPI_Comm comm) {
  int dimensions = 0;
  CA_REAL(PMPI_Cartdim_get)(comm, &dimensions);
  int *at = reserve(2 * dimensions + 1);
  for (int i = 0; i < dimensions; i++)
    CA_REAL(PMPI_Cart_shift)(comm, i, 1, &at[2 * i], &at[2 * i + 1]);
  return 2 * dimensions;
}

static int graph(MPI_Comm comm) {
  int me = 0, num = 0;
  CA_REAL(PMPI_Comm_rank)(comm, &me);
  CA_REAL(PMPI_Graph_neighbors_count)(comm, me, &num);
  CA_REAL(PMPI_Graph_neighbors)(comm, me, num, reserve(num + 1));
  return num;
}

static int distributed_graph(MPI_Comm comm) {
  int in = 0, out = 0, weighted = 0;
  CA_REAL(PMPI_Dist_graph_neighbors_count)(comm, &in, &out, &weighted);
  int *at = reserve(2 * (in + out) + 1);
  CA_REAL(PMPI_Dist_graph_neighbors)(comm, in, at, at + in, out, at + 2 * in, at + 2 * in + out);
  return in;
}

int ca_sources(MPI_Comm comm, const int **sources) {
  int kind = MPI_UNDEFINED, num = 0;
  CA_REAL(PMPI_Topo_test)(comm, &kind);
  if (kind == MPI_CART)
    num = cartesian(comm);
  if (kind == MPI_GRAPH)
    num = graph(comm);
  if (kind == MPI_DIST_GRAPH)
    num = distributed_graph(comm);
  *sources = members;
  return num;
}
