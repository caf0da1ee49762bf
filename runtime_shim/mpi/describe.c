/* Descriptions of calls, and the minimal-volume equivalents of collectives with a root. */
#include "counter.h"

#include <stdlib.h>

/* One call is described at a time per thread, so the list of transfers is reused. */
static __thread ca_call current;

ca_call *ca_describe(ca_layer layer, uint32_t name, const ca_ranks *ranks) {
  current.layer = layer;
  current.name = name;
  current.label = ranks->label;
  current.root = -1;
  current.operations = 1;
  current.given_bytes = 0;
  current.num_transfers = 0;
  return &current;
}

static void add(ca_call *call, const ca_ranks *ranks, int peer, int is_sent, int64_t bytes) {
  if (peer == MPI_PROC_NULL)
    return;
  if (call->num_transfers == call->room) {
    call->room = 2 * call->room + 64;
    call->transfers = realloc(call->transfers, (size_t)call->room * sizeof *call->transfers);
    if (!call->transfers)
      abort();
  }
  const int world = peer >= 0 && peer < ranks->num_peers ? ranks->world[peer] : -1;
  call->transfers[call->num_transfers++] = (ca_transfer){world, is_sent, bytes};
}

void ca_sent(ca_call *call, const ca_ranks *ranks, int peer, int64_t bytes) {
  add(call, ranks, peer, 1, bytes);
}

void ca_received(ca_call *call, const ca_ranks *ranks, int peer, int64_t bytes) {
  add(call, ranks, peer, 0, bytes);
}

/* Between two groups there is no single star: such calls are listed, their bytes belong to no pair. */
ca_call *ca_describe_collective(uint32_t name, const ca_ranks *ranks, int root, int64_t given_bytes) {
  ca_call *call = ca_describe(CA_COLLECTIVE, name, ranks);
  call->operations = ranks->me == 0;
  call->given_bytes = given_bytes;
  if (ranks->is_inter)
    add(call, ranks, -1000000, 1, given_bytes);
  else if (root >= 0 && root < ranks->num_peers)
    call->root = ranks->world[root];
  return call;
}

void ca_to_root(ca_call *call, const ca_ranks *ranks, int root, int64_t bytes) {
  if (!ranks->is_inter && ranks->me != root && bytes)
    ca_sent(call, ranks, root, bytes);
}

void ca_from_root(ca_call *call, const ca_ranks *ranks, int root, int64_t bytes) {
  if (!ranks->is_inter && ranks->me != root && bytes)
    ca_received(call, ranks, root, bytes);
}
