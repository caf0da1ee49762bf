/* Shadow that changes all the time, as loops find and leave it. Shared by repeats.c and digests.c only. */
#ifndef CA_DIGESTS_H
#define CA_DIGESTS_H

#include "state.h"

#define CA_MOST_RANGES 32u
#define CA_MOST_STATES 2048u

/* Words [first, end). */
struct ca_range {
  uint64_t first;
  uint64_t end;
};

/* What was digested when a loop began. */
struct ca_kept {
  uint64_t digest;
  uint32_t num_ranges; /* more than fit are not kept */
  struct ca_range ranges[CA_MOST_RANGES];
  uint64_t states[CA_MOST_STATES]; /* entries of all ranges */
};

#pragma GCC visibility push(hidden)
extern uint64_t ca_digest_total; /* of what was digested since the last loop was entered or left */
bool ca_digests_reserve(void);
void ca_digests_forget(void);
void ca_digests_keep(struct ca_kept *kept);
bool ca_outcomes_push(const struct ca_kept *kept, struct ca_repeat *repeat);
#pragma GCC visibility pop

#endif
