/* What loops do to the shadow: of the entries that were noted while a loop was recorded, those that are different
 * behind it are its outcomes, which are restored whenever the loop is known. */
#include "notes.h"

#define NUM_OPEN 64u
#define FEWEST_MET 1024u /* a power of 2 */
#define MET_TOGETHER 8u  /* neighbours whose places are neighbours: loops go through arrays */
#define UNKNOWN UINT64_MAX

static struct {
  struct ca_column outcomes; /* entries as they are behind loops; a header before those of each loop */
  struct ca_column effects;  /* on digests */
  uint32_t *met; /* words that were met: the turn, and the number of the change; open addressing */
  uint64_t met_mask;
  uint32_t turn; /* the how manieth time outcomes are kept, since the table was cleared */
} stored;

bool ca_outcomes_reserve(void) {
  return ca_column_reserve(&stored.outcomes, 1ull << 36) && ca_column_reserve(&stored.effects, 1ull << 36);
}

uint64_t ca_outcomes_bytes(void) { return stored.outcomes.bytes; }

/* What the outcomes of a loop change in the digest of a page. */
struct effect {
  uint64_t page;
  uint64_t difference;
};

/* Stands before the outcomes of a loop: its effects, which are known when they happened once. */
struct effects {
  uint64_t first;
  uint64_t count; /* or UNKNOWN */
};
_Static_assert(sizeof(struct effects) == sizeof(struct ca_entry), "it has the place of an entry");

static void keep_effect(struct effect *effect, struct effects *known) {
  if (!effect->difference)
    return;
  ca_add_to_digests(effect->page, effect->difference);
  struct effect *kept = ca_column_push(&stored.effects, sizeof *kept);
  if (kept)
    *kept = *effect;
  known->count = kept && known->count != UNKNOWN ? known->count + 1 : UNKNOWN;
  effect->difference = 0;
}

/* Restores outcomes and finds their effects. */
static void find_effects(const struct ca_entry *outcome, uint64_t count, struct effects *known) {
  struct effect open[NUM_OPEN] = {{0, 0}};
  *known = (struct effects){stored.effects.bytes / sizeof(struct effect), 0};
  for (uint64_t i = 0; i < count; i++) {
    uint64_t word = outcome[i].word, *state = ca_shadow(word), page = word >> (CA_CHANGES_PAGE - CA_UNIT_BITS);
    struct effect *effect = &open[page % NUM_OPEN];
    if (effect->page != page) {
      keep_effect(effect, known);
      effect->page = page;
    }
    effect->difference += ca_digest_of(word, outcome[i].state) - ca_digest_of(word, *state);
    *state = outcome[i].state;
  }
  for (uint64_t k = 0; k < NUM_OPEN; k++)
    keep_effect(&open[k], known);
}

/* A loop was known: the shadow becomes what the loop would have made it. It found the same shadow before, so
 * its effects on the digests are the same, too. */
CA_SLOW void ca_repeat_outcome(const struct ca_repeat *repeat) {
  struct effects *known = (struct effects *)stored.outcomes.data + repeat->first_outcome;
  const struct ca_entry *outcome = (const struct ca_entry *)stored.outcomes.data + repeat->first_outcome + 1;
  if (ca_state.num_kept) { /* each change is noted */
    for (uint64_t i = 0; i < repeat->num_outcomes; i++)
      ca_set_state(outcome[i].word, outcome[i].state);
  } else if (known->count == UNKNOWN) {
    find_effects(outcome, repeat->num_outcomes, known);
  } else {
    for (uint64_t i = 0; i < repeat->num_outcomes; i++)
      *ca_shadow(outcome[i].word) = outcome[i].state;
    const struct effect *effect = (const struct effect *)stored.effects.data + known->first;
    for (uint64_t i = 0; i < known->count; i++)
      ca_add_to_digests(effect[i].page, effect[i].difference);
  }
}

/* Begins a turn in which at most `count` words are met, or few of them; false without memory. */
static bool begin_to_meet(uint64_t count, bool may_be_few) {
  uint64_t size = stored.met ? stored.met_mask + 1 : 0;
  bool is_small = 2 * count > size;
  if (!is_small && ++stored.turn <= UINT32_MAX >> CA_CHANGE_BITS)
    return true;
  stored.turn = 1;
  if (stored.met && !is_small) {
    memset(stored.met, 0, size * sizeof *stored.met);
    return true;
  }
  if (stored.met)
    ca_unmap(stored.met, size * sizeof *stored.met);
  for (size = FEWEST_MET; size < 2 * count; size *= 2)
    ;
  stored.met = may_be_few ? ca_map(size * sizeof *stored.met) : ca_table(size * sizeof *stored.met);
  stored.met_mask = size - 1;
  return stored.met;
}

/* Whether the word of a change is met the first time. */
static bool is_met_first(const struct ca_entry *change) {
  const struct ca_entry *all = (const struct ca_entry *)ca_notes.changes.data;
  uint64_t block = (change->word / MET_TOGETHER * 0x9e3779b97f4a7c15ull >> 20) * MET_TOGETHER;
  uint64_t slot = (block + change->word % MET_TOGETHER) & stored.met_mask;
  while (stored.met[slot] >> CA_CHANGE_BITS == stored.turn && all[stored.met[slot] % CA_MOST_CHANGES].word != change->word)
    slot = (slot + 1) & stored.met_mask;
  if (stored.met[slot] >> CA_CHANGE_BITS == stored.turn)
    return false;
  stored.met[slot] = stored.turn << CA_CHANGE_BITS | (uint32_t)(change - all);
  return true;
}

/* Keeps what has become of the entries that changed since the change `since`, if there are at most `most`. */
bool ca_outcomes_push(uint64_t since, uint64_t most, struct ca_repeat *repeat) {
  uint64_t before = repeat->num_outcomes, start = stored.outcomes.bytes;
  struct effects *header = ca_column_push(&stored.outcomes, sizeof *header);
  if (!header)
    return false;
  *header = (struct effects){0, UNKNOWN};
  const struct ca_entry *end = (const struct ca_entry *)ca_notes.changes.data + ca_num_changes();
  uint64_t noted = ca_notes.forgotten + ca_num_changes() - since;
  repeat->num_outcomes = 0;
  if (!begin_to_meet(noted, noted > most)) {
    stored.outcomes.bytes = start;
    return false;
  }
  for (const struct ca_entry *old = end - noted; old < end; old++) {
    uint64_t state = *ca_shadow(old->word);
    if (!is_met_first(old) || state == old->state)
      continue;
    struct ca_entry *outcome = ca_column_push(&stored.outcomes, sizeof *outcome);
    if (!outcome || (stored.outcomes.bytes - start) / sizeof *outcome - 1 > most) {
      stored.outcomes.bytes = start;
      return false;
    }
    *outcome = (struct ca_entry){old->word, state};
  }
  uint64_t count = (stored.outcomes.bytes - start) / sizeof(struct ca_entry) - 1;
  if (count <= before) { /* take the place of the old ones */
    if (count)
      memmove((struct ca_entry *)stored.outcomes.data + repeat->first_outcome, stored.outcomes.data + start,
              (count + 1) * sizeof(struct ca_entry));
    stored.outcomes.bytes = start;
  } else {
    repeat->first_outcome = start / sizeof(struct ca_entry);
  }
  repeat->num_outcomes = count;
  return true;
}
