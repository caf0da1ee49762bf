/* Shadow that changes all the time: temporaries that hold copies. A loop is known by a digest of their entries,
 * and it is noted what they become. */
#include "digests.h"
#include <string.h>

struct outcome {
  uint64_t word;
  uint64_t state;
};

uint64_t ca_digest_total;
static struct ca_range digested[CA_MOST_RANGES];
static struct ca_column outcomes;

bool ca_digests_reserve(void) { return ca_column_reserve(&outcomes, 1ull << 36); }

/* Digest of the shadow of the addresses from `low` to `high` that lie in a page. */
CA_SLOW uint64_t ca_digest(uint64_t page, uint64_t low, uint64_t high) {
  uint64_t first = page << CA_CHANGES_PAGE, last = first + (1u << CA_CHANGES_PAGE) - 1;
  uint64_t begin = ca_word(low > first ? low : first), end = ca_word(high < last ? high : last) + 1;
  uint64_t lanes[4] = {begin, begin + 1, begin + 2, begin + 3}; /* the place counts: buffers may be exchanged */
  const uint64_t *state = ca_shadow(0);
  uint64_t word = begin;
  for (; word + 4 <= end; word += 4)
    for (uint32_t k = 0; k < 4; k++)
      lanes[k] = (lanes[k] ^ state[word + k]) * ca_multipliers[k];
  for (; word < end; word++)
    lanes[0] = (lanes[0] ^ state[word]) * ca_multipliers[4];
  uint64_t digest = end * ca_multipliers[5];
  for (uint32_t k = 0; k < 4; k++)
    digest += (lanes[k] ^ (lanes[k] >> 32)) * ca_multipliers[8 + k];
  if (ca_state.num_digested < CA_MOST_RANGES)
    digested[ca_state.num_digested] = (struct ca_range){begin, end};
  ca_state.num_digested++;
  ca_digest_total += digest;
  return digest;
}

void ca_digests_forget(void) {
  ca_state.num_digested = 0;
  ca_digest_total = 0;
}

/* A loop was known: the shadow becomes what the loop would have made it. */
CA_SLOW void ca_repeat_outcome(const struct ca_repeat *repeat) {
  const struct outcome *outcome = (const struct outcome *)outcomes.data + repeat->first_outcome;
  for (uint64_t i = 0; i < repeat->num_outcomes; i++)
    ca_set_state(outcome[i].word, outcome[i].state);
  ca_digests_forget();
}

/* Keeps what was digested with the loop that begins. */
void ca_digests_keep(struct ca_kept *kept) {
  kept->digest = ca_digest_total;
  kept->num_ranges = ca_state.num_digested;
  uint64_t num_states = 0;
  for (uint32_t i = 0; i < kept->num_ranges && i < CA_MOST_RANGES; i++) {
    uint64_t words = digested[i].end - digested[i].first;
    if (digested[i].end < digested[i].first || num_states + words > CA_MOST_STATES) {
      kept->num_ranges = UINT32_MAX;
      break;
    }
    kept->ranges[i] = digested[i];
    memcpy(kept->states + num_states, ca_shadow(digested[i].first), words * sizeof(uint64_t));
    num_states += words;
  }
  ca_digests_forget();
}

/* Entries of the digested shadow that the loop changed; false if they are not known. */
bool ca_outcomes_push(const struct ca_kept *kept, struct ca_repeat *repeat) {
  uint64_t before = repeat->num_outcomes, start = outcomes.bytes, at = 0;
  repeat->num_outcomes = 0;
  if (kept->digest == ca_digest_total)
    return true;
  if (kept->num_ranges > CA_MOST_RANGES)
    return false;
  for (uint32_t i = 0; i < kept->num_ranges; i++)
    for (uint64_t word = kept->ranges[i].first; word < kept->ranges[i].end; word++, at++)
      if (*ca_shadow(word) != kept->states[at]) {
        struct outcome *outcome = ca_column_push(&outcomes, sizeof *outcome);
        if (!outcome)
          return false;
        *outcome = (struct outcome){word, *ca_shadow(word)};
      }
  uint64_t count = (outcomes.bytes - start) / sizeof(struct outcome);
  if (count <= before) { /* take the place of the old ones */
    memmove((struct outcome *)outcomes.data + repeat->first_outcome, outcomes.data + start,
            count * sizeof(struct outcome));
    outcomes.bytes = start;
  } else {
    repeat->first_outcome = start / sizeof(struct outcome);
  }
  repeat->num_outcomes = count;
  return true;
}
