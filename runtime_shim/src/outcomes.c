/* What loops do to the shadow: of the entries that were noted while a loop was recorded, those that are different
 * behind it are its outcomes, which are restored whenever the loop is known. */
#include "notes.h"

#define NUM_OPEN 64u /* pages: loops go through several arrays at once */
#define MET UINT64_MAX /* stands in the shadow for an entry that was looked at: no entry is this */

/* An entry as it is behind a loop, and what the digest of its page changes by with it and those of this page that
 * follow. The loop is known where it finds the shadow that it found: both are the same again. */
struct outcome {
  uint64_t word;
  uint64_t state;
  uint64_t difference;
};

static struct ca_column outcomes;

bool ca_outcomes_reserve(void) { return ca_column_reserve(&outcomes, 1ull << 36); }

uint64_t ca_outcomes_bytes(void) { return outcomes.bytes; }

static uint64_t page_of(uint64_t word) { return word >> (CA_CHANGES_PAGE - CA_UNIT_BITS); }

/* A loop was known: the shadow becomes what the loop would have made it. */
CA_SLOW void ca_repeat_outcome(const struct ca_repeat *repeat) {
  const struct outcome *outcome = (const struct outcome *)outcomes.data + repeat->first_outcome;
  for (const struct outcome *end = outcome + repeat->num_outcomes; outcome < end; outcome++)
    if (ca_state.num_kept) { /* each change is noted */
      ca_set_state(outcome->word, outcome->state);
    } else {
      *ca_shadow(outcome->word) = outcome->state;
      if (outcome->difference)
        ca_add_to_digests(page_of(outcome->word), outcome->difference);
    }
}

/* Keeps what has become of the entries that changed since the change `since`, if there are at most `most`. An entry
 * may have been noted several times, first as it was before. */
bool ca_outcomes_push(uint64_t since, uint64_t most, struct ca_repeat *repeat) {
  const struct ca_entry *end = (const struct ca_entry *)ca_notes.changes.data + ca_num_changes();
  const struct ca_entry *first = end - (ca_notes.forgotten + ca_num_changes() - since), *old = first;
  uint64_t before = repeat->num_outcomes, start = outcomes.bytes / sizeof(struct outcome), count = 0;
  struct outcome *found = (struct outcome *)outcomes.data + start;
  uint64_t open[NUM_OPEN] = {0}; /* outcomes that have the differences of pages */
  for (; old < end; old++) {
    uint64_t state = *ca_shadow(old->word);
    if (state != MET && state != old->state) {
      struct outcome *outcome = count == most ? 0 : ca_column_push(&outcomes, sizeof *outcome);
      if (!outcome)
        break;
      *outcome = (struct outcome){old->word, state, 0};
      uint64_t page = page_of(old->word), *at = &open[page % NUM_OPEN];
      if (page_of(found[*at].word) != page)
        *at = count;
      found[*at].difference += ca_digest_of(old->word, state) - ca_digest_of(old->word, old->state);
      count++;
    }
    *ca_shadow(old->word) = MET;
  }
  for (uint64_t i = 0; i < count; i++)
    *ca_shadow(found[i].word) = found[i].state;
  for (const struct ca_entry *met = first; met < old; met++)
    if (*ca_shadow(met->word) == MET)
      *ca_shadow(met->word) = met->state;
  bool is_kept = old == end, is_larger = is_kept && count > before;
  repeat->num_outcomes = is_kept ? (uint32_t)count : 0;
  if (is_larger) {
    repeat->first_outcome = (uint32_t)start;
  } else { /* takes the place of the old ones */
    outcomes.bytes = start * sizeof *found;
    if (repeat->num_outcomes)
      memmove((struct outcome *)outcomes.data + repeat->first_outcome, found, count * sizeof *found);
  }
  return is_kept;
}
