/* Pages that were written to. Shared by written.c and snapshots.c only. */
#ifndef CA_WRITTEN_H
#define CA_WRITTEN_H

#include "state.h"

/* Memory of this process. */
struct ca_range {
  uint64_t low;
  uint64_t bytes;
};

/* Pages one behind the other, as the kernel describes them. */
struct ca_pages {
  uint64_t low;
  uint64_t end;
  uint64_t categories;
};

#pragma GCC visibility push(hidden)
uint64_t ca_written_watch(const struct ca_range *ranges, uint32_t count);
uint64_t ca_written_losses(void);
uint64_t ca_written_pages(uint64_t low, uint64_t end, struct ca_pages *found, uint32_t most, uint32_t *count);
#pragma GCC visibility pop

#endif
