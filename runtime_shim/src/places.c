/* What rounds that are known apart look at: addresses of memory, and what their shadow is. */
#include "descent.h"
#include "rounds.h"

#define MOST_RANGES 32u
#define MOST_LOCALS 8u
#define MOST_ENTERING 32u
#define MOST_SCANNED (1ull << 26)

struct range { /* addresses or words; the end is not included */
  uint64_t first;
  uint64_t end;
};

static uint64_t entering[MOST_ENTERING];             /* rows */
static struct range ranges[MOST_RANGES], locals[MOST_LOCALS]; /* addresses, words */
static uint32_t num_ranges, num_locals, num_entering;
static uint64_t digest;
static bool are_all;

void ca_places_begin(void) {
  num_ranges = num_locals = num_entering = 0;
  digest = 0;
  are_all = true;
}

uint64_t ca_places_digest(void) { return digest; }

CA_CALL void ca_rounds_range(uint64_t low, uint64_t high) {
  if (!ca_rounds.seen || (int64_t)high < (int64_t)low || num_ranges == MOST_RANGES)
    return; /* the compiler knows that there are no more */
  ranges[num_ranges++] = (struct range){low, high + 1};
  digest += ca_changes_in(low, high) * ca_multipliers[num_ranges];
}

/* A label that enters the loop. */
CA_CALL void ca_rounds_entering(uint64_t label) {
  if (!ca_rounds.seen || !(label & CA_REG) || (label & ~CA_ROLES) == CA_NOTHING)
    return;
  are_all &= num_entering < MOST_ENTERING;
  if (are_all)
    entering[num_entering++] = label & (CA_ADDRESS_MASK >> 2);
}

CA_CALL void ca_rounds_local(uint64_t address, uint64_t bytes) {
  if (!ca_rounds.seen || num_locals == MOST_LOCALS)
    return;
  locals[num_locals++] = (struct range){ca_word(address), ca_word(address + bytes + 3)};
  digest += address * ca_multipliers[MOST_RANGES + num_locals];
}

bool ca_places_are_local(uint64_t word) {
  for (uint32_t i = 0; i < num_locals; i++)
    if (word >= locals[i].first && word < locals[i].end)
      return true;
  return false;
}

/* Whether a label that enters the loop may descend from a lifetime of a word of the local arrays. */
static bool may_descend_from_locals(void) {
  const uint32_t *ancestors;
  uint32_t count = are_all ? ca_ancestors(num_entering, entering, &ancestors) : UINT32_MAX;
  for (uint32_t i = 0; count != UINT32_MAX && i < count; i++) {
    const struct ca_head *head = ca_head_of(ancestors[i]);
    if ((head->flags & CA_ROW_TEMPORARY) && ca_places_are_local(head->sink))
      return true;
  }
  return count == UINT32_MAX;
}

/* Whether memory that rounds look at holds named values. */
static bool have_named(void) {
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

/* Whether what a round stores in its local arrays may have been computed from what another round left there. */
bool ca_places_may_carry(void) { return have_named() || may_descend_from_locals(); }
