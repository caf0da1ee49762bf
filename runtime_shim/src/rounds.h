/* What is known of rounds of loops: memories and notes (round_notes.c), places (places.c). */
#ifndef CA_ROUNDS_H
#define CA_ROUNDS_H

#include "state.h"

#define CA_MOST_ROUNDS (1u << 24)
#define CA_MEMORIES 64u /* loops whose rounds are known apart */

/* A round that was recorded. */
struct ca_note {
  uint32_t first; /* of its bounds */
  uint32_t count; /* stretches */
  uint32_t room;  /* for so many */
  uint32_t since; /* runs that are counted */
};

struct ca_memory {
  uint64_t key;
  uint64_t digest; /* of the shadow that rounds look at */
  uint64_t *hashes;
  struct ca_note *notes;
  uint64_t num_rounds; /* of the last run */
  uint64_t rows;       /* of all its rounds */
  uint32_t runs;
  uint32_t useless; /* runs in a row */
  uint32_t same;    /* runs in a row */
  bool is_ready;    /* digest and hashes are those of a run */
  bool is_given_up;
};

#pragma GCC visibility push(hidden)
extern struct ca_memory ca_memories[CA_MEMORIES];

bool ca_notes_reserve(void);
const uint32_t *ca_note_bounds(const struct ca_note *note);
uint64_t ca_note_rows(const struct ca_note *note);
bool ca_note_write(struct ca_note *note, const uint32_t *stretches, uint32_t count);
void ca_note_settle(const struct ca_memory *memory, struct ca_note *note);
bool ca_memory_prepare(struct ca_memory *memory);
void ca_memory_give_up(struct ca_memory *memory);
void ca_memory_forget_round(struct ca_memory *memory, uint64_t number);
void ca_memory_forget_from(struct ca_memory *memory, uint64_t first);
bool ca_memories_have_room(uint64_t rounds);
void ca_memories_give_up(void);

/* What rounds look at (places.c). */
void ca_places_begin(void);
uint64_t ca_places_digest(void);
bool ca_places_have_named(void);
#pragma GCC visibility pop

#endif
