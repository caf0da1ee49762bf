/* The early end of a recording that is only needed to find workspaces: prefix.c. */
#ifndef CA_PREFIX_H
#define CA_PREFIX_H

#include "state.h"

#pragma GCC visibility push(hidden)
struct ca_prefix {
  uint64_t counted; /* rows that occurred, about: known loops that were predicted are missing */
  uint64_t next;    /* the log is looked at when so many are counted; never, if nobody asked for it */
  uint64_t since;   /* row behind the one that was not predicted last */
  bool sees_loops;  /* known loops are not predicted, so that they are counted */
  int process;
  void (*check)(void); /* looks at the log */
};
extern struct ca_prefix ca_prefix;
void ca_prefix_prepare(void);
#pragma GCC visibility pop

/* Something comes that was not predicted; the rows since the last such event were. */
CA_INLINE void ca_prefix_count_predicted(void) {
  uint64_t expected = (uint64_t)(ca_state.cursor - ca_state.cells);
  if (expected > ca_prefix.since)
    ca_prefix.counted += (expected - ca_prefix.since) * CA_IS_ACTIVE;
}

/* A row was not predicted. The newest one may be incomplete. */
CA_INLINE void ca_prefix_count_row(uint64_t row) {
  ca_prefix_count_predicted();
  ca_prefix.counted += CA_IS_ACTIVE;
  ca_prefix.since = row + 1;
  if (!CA_LIKELY(ca_prefix.counted < ca_prefix.next) && row + 1 < ca_num_rows)
    ca_prefix.check();
}

/* A known loop that was not predicted counted so many rows. */
CA_INLINE void ca_prefix_count_loop(uint64_t rows) {
  ca_prefix.counted += rows * CA_IS_ACTIVE;
  ca_prefix.since = (uint64_t)(ca_state.cursor - ca_state.cells);
  if (!CA_LIKELY(ca_prefix.counted < ca_prefix.next))
    ca_prefix.check();
}

#endif
