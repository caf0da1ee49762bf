/* A reduction in a loop: the terms collected so far. Shared by accumulators.c and packing.c only. */
#ifndef CA_ACCUMULATOR_H
#define CA_ACCUMULATOR_H

#include "comm_shim.h"
#include <stdbool.h>
#include <stdint.h>

#define CA_MAX_WIDTH 8u /* labels of a term */

/* Marks the first label of a term in the buffer. */
#define CA_TERM (1ull << 58)

/* The instrumenter allocates it on the program's stack (its size is checked by a test of the contract). */
struct ca_accumulator {
  uint64_t num_labels; /* in the buffer */
  uint64_t *buffer;
  uint64_t hash;    /* of full buffers before this one */
  uint64_t *packed; /* headers (count, width | LIST) followed by runs or labels */
  uint64_t num_packed;
  uint64_t packed_capacity;
  uint64_t num_plain; /* labels of the initial value */
  uint64_t *seen;     /* labels with the versions that were read, where the order of events is kept */
  uint64_t plain[32];
  uint64_t num_seen, seen_capacity;
};

_Static_assert(sizeof(struct ca_accumulator) == 336, "size known to the instrumenter");

#pragma GCC visibility push(hidden)
void ca_pack_terms(struct ca_accumulator *acc);
void ca_append_packed(struct ca_accumulator *acc, uint64_t row);
#pragma GCC visibility pop

#endif
