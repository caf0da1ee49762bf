/* One-sided calls. Bytes are counted by the origin, in the direction in which they travel. */
#include "counter.h"

static void access(uint32_t name, MPI_Win window, int target, int64_t put_bytes, int64_t got_bytes) {
  const ca_ranks *ranks = ca_ranks_of_window(window);
  ca_call *call = ca_describe(CA_ONE_SIDED, name, ranks);
  call->given_bytes = put_bytes + got_bytes;
  if (put_bytes)
    ca_sent(call, ranks, target, put_bytes);
  if (got_bytes)
    ca_received(call, ranks, target, got_bytes);
  ca_count(call);
}

/* MPI_NO_OP reads only: nothing travels to the target. */
static int64_t operand(MPI_Op op, int64_t count, MPI_Datatype type) {
  return op == MPI_NO_OP ? 0 : ca_bytes(count, type);
}

#define CA_CALLS "one_sided.inc"
#include "both_sizes.inc"

CA_DEFINE(Fetch_and_op,
          (const void *origin, void *result, MPI_Datatype type, int target, MPI_Aint offset, MPI_Op op,
           MPI_Win window),
          (origin, result, type, target, offset, op, window),
          access(CA_NAME("MPI_Fetch_and_op"), window, target, operand(op, 1, type), ca_bytes(1, type)))
CA_DEFINE(Compare_and_swap,
          (const void *origin, const void *expected, void *result, MPI_Datatype type, int target,
           MPI_Aint offset, MPI_Win window),
          (origin, expected, result, type, target, offset, window),
          access(CA_NAME("MPI_Compare_and_swap"), window, target, ca_bytes(2, type), ca_bytes(1, type)))
