/* Collectives, charged with the least volume that an implementation needs (README of this directory).
 *
 * Every process charges what it can know from its own arguments: the receiver's side of data that is only
 * moved, so that MPI_IN_PLACE, which makes the sender's arguments meaningless, needs no attention.
 */
#include "counter.h"

#include <stdlib.h>

static ca_call *bcast(uint32_t name, int64_t count, MPI_Datatype type, int root, MPI_Comm comm) {
  const ca_ranks *ranks = ca_ranks_of(comm);
  const int64_t bytes = ca_bytes(count, type);
  ca_call *call = ca_describe_collective(name, ranks, root, bytes);
  ca_from_root(call, ranks, root, bytes);
  return call;
}

static ca_call *reduce(uint32_t name, int64_t count, MPI_Datatype type, int root, MPI_Comm comm) {
  const ca_ranks *ranks = ca_ranks_of(comm);
  const int64_t bytes = ca_bytes(count, type);
  ca_call *call = ca_describe_collective(name, ranks, root, bytes);
  ca_to_root(call, ranks, root, bytes);
  return call;
}

/* Star through rank 0: reduced there and sent back, 2 (p - 1) messages. */
static ca_call *allreduce(uint32_t name, int64_t count, MPI_Datatype type, MPI_Comm comm) {
  const ca_ranks *ranks = ca_ranks_of(comm);
  const int64_t bytes = ca_bytes(count, type);
  ca_call *call = ca_describe_collective(name, ranks, -1, bytes);
  ca_to_root(call, ranks, 0, bytes);
  ca_from_root(call, ranks, 0, bytes);
  return call;
}

/* Chain: every rank passes its prefix on to the next, p - 1 messages. */
static ca_call *scan(uint32_t name, int64_t count, MPI_Datatype type, MPI_Comm comm) {
  const ca_ranks *ranks = ca_ranks_of(comm);
  const int64_t bytes = ca_bytes(count, type);
  ca_call *call = ca_describe_collective(name, ranks, -1, bytes);
  if (ranks->me > 0 && bytes)
    ca_received(call, ranks, ranks->me - 1, bytes);
  return call;
}

static ca_call *gather(uint32_t name, int64_t bytes, int root, MPI_Comm comm) {
  const ca_ranks *ranks = ca_ranks_of(comm);
  ca_call *call = ca_describe_collective(name, ranks, root, bytes);
  ca_to_root(call, ranks, root, bytes);
  return call;
}

static ca_call *scatter(uint32_t name, int64_t bytes, int root, MPI_Comm comm) {
  const ca_ranks *ranks = ca_ranks_of(comm);
  ca_call *call = ca_describe_collective(name, ranks, root, bytes);
  ca_from_root(call, ranks, root, bytes);
  return call;
}

/* Every other rank's block arrives here: allgather and alltoall. */
static ca_call *from_all(uint32_t name, int64_t count, MPI_Datatype type, MPI_Comm comm) {
  const ca_ranks *ranks = ca_ranks_of(comm);
  const int64_t bytes = ca_bytes(count, type);
  ca_call *call = ca_describe_collective(name, ranks, -1, bytes);
  for (int i = 0; i < ranks->num_peers && !ranks->is_inter; i++)
    if (i != ranks->me && bytes)
      ca_received(call, ranks, i, bytes);
  return call;
}

/* Block i is reduced at rank i: this rank sends its part of every other block. */
static ca_call *reduce_scatter_block(uint32_t name, int64_t count, MPI_Datatype type, MPI_Comm comm) {
  const ca_ranks *ranks = ca_ranks_of(comm);
  const int64_t bytes = ca_bytes(count, type);
  ca_call *call = ca_describe_collective(name, ranks, -1, bytes);
  for (int i = 0; i < ranks->num_peers && !ranks->is_inter; i++)
    if (i != ranks->me && bytes)
      ca_sent(call, ranks, i, bytes);
  return call;
}

/* Arguments of this process in a gather or scatter: those of the root are significant at the root only. */
static int is_root(int root, MPI_Comm comm) {
  const ca_ranks *ranks = ca_ranks_of(comm);
  return ranks->is_inter ? root == MPI_ROOT : ranks->me == root;
}

static int own_index(MPI_Comm comm) {
  const ca_ranks *ranks = ca_ranks_of(comm);
  return ranks->is_inter ? 0 : ranks->me;
}

#define CA_CALLS "collectives.inc"
#include "both_sizes.inc"

static ca_call *barrier(uint32_t name, MPI_Comm comm) {
  return ca_describe_collective(name, ca_ranks_of(comm), -1, 0);
}

CA_DEFINE(Barrier, (MPI_Comm comm), (comm), ca_count(barrier(CA_NAME("MPI_Barrier"), comm)))
CA_DEFINE(Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request),
          ca_count(barrier(CA_NAME("MPI_Ibarrier"), comm)))
