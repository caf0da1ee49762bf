/* Every family of MPI calls, one per run: families NAME. Counts are worked out in test_count.py. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, next, previous;
static double in[64], out[64];
static MPI_Comm world;

#define N 3

static void sends(void) {
  static char room[4096];
  MPI_Buffer_attach(room, sizeof room);
  MPI_Request receive[4], send[4];
  for (int i = 0; i < 4; i++)
    MPI_Irecv(in + N * i, N, MPI_DOUBLE, previous, i, world, &receive[i]);
  MPI_Barrier(world); /* receives are posted: ready sends are allowed */
  MPI_Send(out, N, MPI_DOUBLE, next, 0, world);
  MPI_Bsend(out, N, MPI_DOUBLE, next, 1, world);
  MPI_Ssend(out, N, MPI_DOUBLE, next, 2, world);
  MPI_Rsend(out, N, MPI_DOUBLE, next, 3, world);
  MPI_Waitall(4, receive, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 4; i++)
    MPI_Irecv(in + N * i, N, MPI_DOUBLE, previous, i, world, &receive[i]);
  MPI_Barrier(world);
  MPI_Isend(out, N, MPI_DOUBLE, next, 0, world, &send[0]);
  MPI_Ibsend(out, N, MPI_DOUBLE, next, 1, world, &send[1]);
  MPI_Issend(out, N, MPI_DOUBLE, next, 2, world, &send[2]);
  MPI_Irsend(out, N, MPI_DOUBLE, next, 3, world, &send[3]);
  MPI_Waitall(4, send, MPI_STATUSES_IGNORE);
  MPI_Waitall(4, receive, MPI_STATUSES_IGNORE);
  void *detached;
  int bytes;
  MPI_Buffer_detach(&detached, &bytes);
}

static void persistent(void) {
  MPI_Request both[2];
  MPI_Send_init(out, N, MPI_INT, next, 0, world, &both[0]);
  MPI_Recv_init(in, N, MPI_INT, previous, 0, world, &both[1]);
  for (int i = 0; i < 5; i++) {
    MPI_Startall(2, both);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  }
  MPI_Start(&both[1]);
  MPI_Start(&both[0]);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
}

/* To the next rank, open at the end; a column of a matrix; to itself. */
static void exchange(void) {
  MPI_Datatype column;
  MPI_Type_vector(4, 1, 8, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  int up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, down = rank ? rank - 1 : MPI_PROC_NULL;
  MPI_Sendrecv(out, 1, column, up, 0, in, 4, MPI_DOUBLE, down, 0, world, MPI_STATUS_IGNORE);
  MPI_Sendrecv_replace(in, 2, MPI_FLOAT, next, 0, previous, 0, world, MPI_STATUS_IGNORE);
  MPI_Sendrecv(out, 5, MPI_DOUBLE, rank, 0, in, 5, MPI_DOUBLE, rank, 0, world, MPI_STATUS_IGNORE);
  MPI_Type_free(&column);
}

/* Ranks of a part of the world in opposite order: rank 0 of it is the last of the world. */
static void communicators(void) {
  MPI_Comm reversed;
  MPI_Comm_split(world, 0, size - rank, &reversed);
  int me;
  MPI_Comm_rank(reversed, &me);
  if (me == 0)
    MPI_Send(out, N, MPI_DOUBLE, 1, 0, reversed);
  if (me == 1)
    MPI_Recv(in, N, MPI_DOUBLE, 0, 0, reversed, MPI_STATUS_IGNORE);
  MPI_Bcast(out, 1, MPI_DOUBLE, 0, reversed);
  MPI_Comm_free(&reversed);
}

static void one_sided(void) {
  MPI_Win window;
  MPI_Win_create(in, sizeof in, sizeof(double), MPI_INFO_NULL, world, &window);
  double result[4], one = 1.0;
  long long_in = 0, long_one = 1, long_out = 0;
  MPI_Request request;
  MPI_Win_lock_all(0, window);
  MPI_Put(out, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, window);
  MPI_Rput(out, 2, MPI_DOUBLE, next, 0, 2, MPI_DOUBLE, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush_all(window);
  MPI_Get(result, 3, MPI_DOUBLE, next, 8, 3, MPI_DOUBLE, window);
  MPI_Win_flush_all(window);
  MPI_Accumulate(out, 4, MPI_DOUBLE, next, 16, 4, MPI_DOUBLE, MPI_SUM, window);
  MPI_Win_flush_all(window);
  MPI_Get_accumulate(out, 1, MPI_DOUBLE, result, 1, MPI_DOUBLE, next, 24, 1, MPI_DOUBLE, MPI_SUM, window);
  MPI_Win_flush_all(window);
  MPI_Fetch_and_op(&one, result, MPI_DOUBLE, next, 24, MPI_NO_OP, window);
  MPI_Win_flush_all(window);
  MPI_Compare_and_swap(&long_one, &long_in, &long_out, MPI_LONG, next, 32, window);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

static void rooted(void) {
  int counts[8], at[8];
  for (int i = 0; i < size; i++)
    counts[i] = i + 1, at[i] = 8 * i;
  MPI_Bcast(out, N, MPI_DOUBLE, 1, world);
  MPI_Reduce(rank == 1 ? MPI_IN_PLACE : out, in, N, MPI_DOUBLE, MPI_SUM, 1, world);
  if (rank == 0)
    MPI_Gather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, in, 2, MPI_INT, 0, world);
  else
    MPI_Gather(out, 2, MPI_INT, NULL, -1, MPI_DATATYPE_NULL, 0, world);
  MPI_Scatter(out, 2, MPI_INT, in, 2, MPI_INT, 0, world);
  MPI_Gatherv(out, rank + 1, MPI_CHAR, in, counts, at, MPI_CHAR, 2, world);
  MPI_Scatterv(out, counts, at, MPI_CHAR, in, rank + 1, MPI_CHAR, 2, world);
}

static void unrooted(void) {
  int counts[8], at[8];
  for (int i = 0; i < size; i++)
    counts[i] = i + 1, at[i] = 8 * i;
  MPI_Allreduce(MPI_IN_PLACE, in, N, MPI_DOUBLE, MPI_SUM, world);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_FLOAT, world);
  MPI_Allgatherv(out, rank + 1, MPI_CHAR, in, counts, at, MPI_CHAR, world);
  MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, world);
  MPI_Reduce_scatter_block(out, in, 2, MPI_DOUBLE, MPI_SUM, world);
  MPI_Reduce_scatter(out, in, counts, MPI_DOUBLE, MPI_SUM, world);
  MPI_Scan(out, in, N, MPI_DOUBLE, MPI_SUM, world);
  MPI_Exscan(out, in, N, MPI_DOUBLE, MPI_SUM, world);
  MPI_Request request;
  MPI_Iallreduce(out, in, 1, MPI_DOUBLE, MPI_MAX, world, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Rank s sends s + 1 bytes to every rank t > s and nothing downwards. */
static void irregular(void) {
  int sends_to[8], receives[8], at[8];
  MPI_Datatype types[8];
  for (int i = 0; i < size; i++) {
    sends_to[i] = i > rank ? rank + 1 : 0;
    receives[i] = i < rank ? i + 1 : 0;
    at[i] = 8 * i;
    types[i] = MPI_CHAR;
  }
  MPI_Alltoallv(out, sends_to, at, MPI_CHAR, in, receives, at, MPI_CHAR, world);
  MPI_Alltoallw(out, sends_to, at, types, in, receives, at, types, world);
}

/* A line of ranks (not periodic), and the same ring as a graph. */
static void neighbours(void) {
  MPI_Comm line, ring;
  int open = 0;
  MPI_Cart_create(world, 1, &size, &open, 0, &line);
  MPI_Neighbor_allgather(out, N, MPI_DOUBLE, in, N, MPI_DOUBLE, line);
  MPI_Dist_graph_create_adjacent(world, 1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &ring);
  int count = 2, at = 0;
  MPI_Neighbor_alltoallv(out, &count, &at, MPI_INT, in, &count, &at, MPI_INT, ring);
  MPI_Comm_free(&line);
  MPI_Comm_free(&ring);
}

/* Rank 0 on one side, the others on the other: an intercommunicator. */
static void groups(void) {
  MPI_Comm own, between;
  MPI_Comm_split(world, rank > 0, rank, &own);
  MPI_Intercomm_create(own, 0, world, rank ? 0 : 1, 5, &between);
  if (rank == 0)
    MPI_Send(out, N, MPI_DOUBLE, 1, 0, between); /* to rank 2 of the world */
  if (rank == 2)
    MPI_Recv(in, N, MPI_DOUBLE, 0, 0, between, MPI_STATUS_IGNORE);
  MPI_Bcast(out, 1, MPI_DOUBLE, rank ? 0 : MPI_ROOT, between);
  MPI_Comm_free(&between);
  MPI_Comm_free(&own);
}

/* MPI 4: large counts, persistent collectives, partitioned and nonblocking exchanges. */
static void modern(void) {
#if MPI_VERSION >= 4
  MPI_Request requests[2];
  MPI_Count counts[8];
  MPI_Aint at[8];
  for (int i = 0; i < size; i++)
    counts[i] = i + 1, at[i] = 8 * i;
  MPI_Sendrecv_c(out, N, MPI_DOUBLE, next, 0, in, N, MPI_DOUBLE, previous, 0, world, MPI_STATUS_IGNORE);
  MPI_Allgatherv_c(out, rank + 1, MPI_CHAR, in, counts, at, MPI_CHAR, world);
  MPI_Isendrecv(out, 1, MPI_DOUBLE, next, 0, in, 1, MPI_DOUBLE, previous, 0, world, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Allreduce_init(out, in, 2, MPI_DOUBLE, MPI_SUM, world, MPI_INFO_NULL, &requests[0]);
  for (int i = 0; i < 3; i++) {
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Psend_init(out, 4, 2, MPI_DOUBLE, next, 1, world, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(in, 4, 2, MPI_DOUBLE, previous, 1, world, MPI_INFO_NULL, &requests[1]);
  MPI_Startall(2, requests);
  for (int i = 0; i < 4; i++)
    MPI_Pready(i, requests[0]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
#endif
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  const char *names[] = {"sends",    "persistent", "exchange",   "communicators", "one_sided", "rooted",
                         "unrooted", "irregular",  "neighbours", "groups",        "modern"};
  void (*families[])(void) = {sends,    persistent, exchange,   communicators, one_sided, rooted,
                              unrooted, irregular,  neighbours, groups,        modern};
  for (int i = 0; i < (int)(sizeof families / sizeof *families); i++)
    if (strcmp(argv[1], names[i]) == 0)
      families[i]();
  if (rank == 0)
    printf("%s done on %d ranks\n", argv[1], size);
  MPI_Finalize();
  return 0;
}
