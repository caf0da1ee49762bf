/* What rounds that are known apart look at: addresses of memory, and what their shadow is. */
#include "rounds.h"

#define MOST_RANGES 32u
#define MOST_SCANNED (1ull << 26)

struct range { /* addresses; the end is not included */
  uint64_t first;
  uint64_t end;
};

static struct range ranges[MOST_RANGES];
static uint32_t num_ranges;
static uint64_t digest;

void ca_places_begin(void) {
  num_ranges = 0;
  digest = 0;
}

uint64_t ca_places_digest(void) { return digest; }

CA_CALL void ca_rounds_range(uint64_t low, uint64_t high) {
  if (!ca_rounds.seen || (int64_t)high < (int64_t)low || num_ranges == MOST_RANGES)
    return; /* the compiler knows that there are no more */
  ranges[num_ranges++] = (struct range){low, high + 1};
  digest += ca_changes_in(low, high) * ca_multipliers[num_ranges];
}

/* Whether memory that rounds look at holds named values. */
bool ca_places_have_named(void) {
  uint64_t scanned = 0;
  for (uint32_t i = 0; i < num_ranges; i++) {
    scanned += ranges[i].end - ranges[i].first;
    if (scanned > MOST_SCANNED)
      return true;
    for (uint64_t word = ca_word(ranges[i].first); word < ca_word(ranges[i].end + 3); word++)
      if (*ca_shadow(word) & CA_REG)
        return true;
  }
  return false;
}
