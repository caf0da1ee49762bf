/* Which loops are known: found by what they do, and by the shadow that they find where that keeps changing. */
#include "notes.h"

#define MOST_REPEATS (1u << 27)
#define PATIENCE 2u          /* states of the shadow that replace the one before them; then all are kept */
#define SHARE_OF_MEMORY 16u /* for loops that are known in several states */

static struct {
  struct ca_column repeats;
  uint32_t *table; /* number of the loop, open addressing; 0 is none */
  uint64_t table_mask;
} known;

bool ca_repeat_index_reserve(void) {
  if (!ca_column_reserve(&known.repeats, MOST_REPEATS * sizeof(struct ca_repeat)))
    return false;
  ca_state.repeats = (struct ca_repeat *)known.repeats.data;
  return ca_column_push(&known.repeats, sizeof(struct ca_repeat)) != 0; /* number 0 stands for the start */
}

uint32_t ca_num_repeats(void) { return (uint32_t)(known.repeats.bytes / sizeof(struct ca_repeat)); }

static uint64_t slot_of(uint64_t hash) {
  uint64_t slot = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9ull;
  slot = (slot ^ (slot >> 32)) & known.table_mask;
  while (known.table[slot] && ca_state.repeats[known.table[slot]].hash != hash)
    slot = (slot + 1) & known.table_mask;
  return slot;
}

static bool grow_table(void) {
  uint64_t old_bytes = known.table ? (known.table_mask + 1) * sizeof *known.table : 0;
  uint64_t size = known.table ? (known.table_mask + 1) * 2 : 1u << 12;
  uint32_t *fresh = ca_map(size * sizeof *known.table);
  if (!fresh)
    return false;
  if (known.table)
    ca_unmap(known.table, old_bytes);
  known.table = fresh;
  known.table_mask = size - 1;
  for (uint32_t i = 1; i < ca_num_repeats(); i++)
    known.table[slot_of(ca_state.repeats[i].hash)] = i;
  return true;
}

/* A loop that keeps finding another shadow is known in each state by a hash of its own. */
static uint64_t hash_in_state(uint64_t hash, uint64_t changes) {
  return ((hash ^ (changes >> 31)) * ca_multipliers[57] + changes * ca_multipliers[58]) | 1;
}

/* The loop as it was recorded first or replaced since, in whatever state; 0 if it never was. */
uint32_t ca_repeat_latest(uint64_t hash) { return known.table ? known.table[slot_of(hash)] : 0; }

/* The loop in this state; 0 if it is not known. */
uint32_t ca_repeat_number(uint64_t hash, uint64_t changes) {
  uint32_t found = ca_repeat_latest(hash);
  if (!found || ca_state.repeats[found].changes == changes)
    return found;
  if (ca_state.repeats[found].num_replaced < PATIENCE)
    return 0;
  found = ca_repeat_latest(hash_in_state(hash, changes));
  return found && ca_state.repeats[found].changes == changes ? found : 0;
}

/* No loop is known any more; those around this place, which are being recorded, are not remembered either. */
CA_SLOW void ca_repeats_forget(void) {
  ca_spoil_repeats();
  for (uint32_t i = 1; i < ca_num_repeats(); i++)
    ca_state.repeats[i].hash = 0; /* that of none */
  if (known.table)
    memset(known.table, 0, (known.table_mask + 1) * sizeof *known.table);
}

static uint32_t number_of(uint64_t hash) {
  if ((!known.table || ca_num_repeats() * 2ull > known.table_mask) && !grow_table())
    return 0;
  uint64_t slot = slot_of(hash);
  if (known.table[slot])
    return known.table[slot];
  struct ca_repeat *repeat = ca_column_push(&known.repeats, sizeof *repeat);
  if (!repeat)
    return 0;
  repeat->hash = hash;
  return known.table[slot] = ca_num_repeats() - 1;
}

/* Where a loop is to be kept that was recorded in this state: maybe in the place of another state. 0 without
 * memory. */
uint32_t ca_repeat_place(uint64_t hash, uint64_t changes) {
  uint32_t found = ca_repeat_latest(hash);
  if (!found || ca_state.repeats[found].changes == changes)
    return number_of(hash);
  if (ca_state.repeats[found].num_replaced < PATIENCE) {
    ca_state.repeats[found].num_replaced++;
    return found;
  }
  bool has_room = known.repeats.bytes + ca_outcomes_bytes() < ca_memory_allowed() / SHARE_OF_MEMORY;
  return has_room ? number_of(hash_in_state(hash, changes)) : found;
}
