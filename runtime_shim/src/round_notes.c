/* The memory of a loop whose rounds are known apart: notes of what each round counted. */
#include "rounds.h"
#include <string.h>

#define SHARE_OF_MEMORY 16u
#define MOST_BYTES (1ull << 32)

struct ca_memory ca_memories[CA_MEMORIES];
static struct ca_column bounds; /* first row and end of each stretch */

bool ca_notes_reserve(void) { return ca_column_reserve(&bounds, 1ull << 35); }

const uint32_t *ca_note_bounds(const struct ca_note *note) {
  return (const uint32_t *)bounds.data + 2ull * note->first;
}

uint64_t ca_note_rows(const struct ca_note *note) {
  const uint32_t *at = ca_note_bounds(note);
  uint64_t rows = 0;
  for (uint32_t k = 0; k < note->count; k++)
    rows += at[2 * k + 1] - at[2 * k];
  return rows;
}

/* Says what a round counted: so many stretches. False if there is no memory for them. */
bool ca_note_write(struct ca_note *note, const uint32_t *stretches, uint32_t count) {
  if (count > note->room) {
    uint64_t first = bounds.bytes / 8;
    if (first + count >= UINT32_MAX || !ca_column_push(&bounds, 8ull * count))
      return false;
    note->first = (uint32_t)first;
    note->room = count;
  }
  memcpy((uint32_t *)bounds.data + 2ull * note->first, stretches, 8ull * count);
  note->count = count;
  return true;
}

/* Runs since the round was recorded become counts of rows. */
void ca_note_settle(const struct ca_memory *memory, struct ca_note *note) {
  uint64_t runs = (uint64_t)(int64_t)(int32_t)(memory->runs - note->since);
  note->since = memory->runs;
  const uint32_t *at = ca_note_bounds(note);
  for (uint32_t k = 0; runs && k < note->count; k++)
    for (uint64_t row = at[2 * k]; row < at[2 * k + 1]; row++)
      ca_state.cells[row].count += runs;
}

static void settle_from(struct ca_memory *memory, uint64_t first) {
  for (uint64_t k = first; memory->notes && k < memory->num_rounds; k++)
    ca_note_settle(memory, &memory->notes[k]);
}

void ca_rounds_settle(void) {
  for (uint32_t i = 0; i < CA_MEMORIES; i++)
    settle_from(&ca_memories[i], 0);
}

void ca_memory_forget_round(struct ca_memory *memory, uint64_t number) {
  memory->hashes[number] = 0;
  memory->notes[number].count = 0;
}

/* Rounds from this one on are not known any more. */
void ca_memory_forget_from(struct ca_memory *memory, uint64_t first) {
  settle_from(memory, first);
  for (uint64_t k = first; k < memory->num_rounds; k++) {
    memory->rows -= ca_note_rows(&memory->notes[k]);
    ca_memory_forget_round(memory, k);
  }
  memory->num_rounds = first < memory->num_rounds ? first : memory->num_rounds;
}

void ca_memory_give_up(struct ca_memory *memory) {
  settle_from(memory, 0);
  if (memory->hashes)
    ca_unmap(memory->hashes, CA_MOST_ROUNDS * sizeof *memory->hashes);
  if (memory->notes)
    ca_unmap(memory->notes, CA_MOST_ROUNDS * sizeof *memory->notes);
  *memory = (struct ca_memory){.key = memory->key, .is_given_up = true};
}

void ca_memories_give_up(void) {
  for (uint32_t i = 0; i < CA_MEMORIES; i++)
    if (ca_memories[i].hashes)
      ca_memory_give_up(&ca_memories[i]);
}

bool ca_memory_prepare(struct ca_memory *memory) {
  memory->hashes = ca_map(CA_MOST_ROUNDS * sizeof *memory->hashes);
  memory->notes = ca_map(CA_MOST_ROUNDS * sizeof *memory->notes);
  if (memory->hashes && memory->notes)
    return true;
  ca_memory_give_up(memory);
  return false;
}

/* Whether there is memory for so many rounds more. */
bool ca_memories_have_room(uint64_t rounds) {
  uint64_t allowed = ca_memory_allowed() / SHARE_OF_MEMORY;
  for (uint32_t i = 0; i < CA_MEMORIES; i++)
    rounds += ca_memories[i].num_rounds;
  uint64_t per_round = sizeof(uint64_t) + sizeof(struct ca_note) + sizeof(struct ca_round);
  uint64_t bytes = rounds * per_round + bounds.bytes;
  return bytes <= (allowed < MOST_BYTES ? allowed : MOST_BYTES);
}
