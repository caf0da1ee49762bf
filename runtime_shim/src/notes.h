/* What is noted while loops are recorded (notes.c); what they do to the shadow (outcomes.c). */
#ifndef CA_NOTES_H
#define CA_NOTES_H

#include "state.h"
#include <string.h>

#define CA_LONGEST_NEST 16u
#define CA_MOST_COUNTERS 256u
#define CA_MOST_CHANGES (1ull << 22)

/* A place where the log was left while a loop was recorded. */
struct ca_jump {
  uint64_t from; /* cell that was expected */
  uint64_t to;
};

/* An entry of the shadow. */
struct ca_entry {
  uint64_t word;
  uint64_t state;
};

/* A loop that is being recorded. */
struct ca_recording {
  uint64_t hash;
  uint64_t changes;
  uint64_t start; /* cell */
  uint32_t first_jump;
  bool is_spoilt;
  uint32_t first_counter;
  uint32_t num_counters;
  uint64_t counters[CA_MOST_COUNTERS]; /* when it began */
  uint64_t first_change;
};

#pragma GCC visibility push(hidden)
extern struct ca_notes {
  struct ca_recording recordings[CA_LONGEST_NEST]; /* one inside the other */
  struct ca_column jumps;
  struct ca_column changes; /* entries as they were before each change */
  uint64_t forgotten;       /* changes that were noted before those in the column */
} ca_notes;
bool ca_notes_reserve(void);
struct ca_recording *ca_recording_begin(uint64_t hash, uint64_t changes, bool is_spoilt);
bool ca_outcomes_reserve(void);
uint64_t ca_outcomes_bytes(void);
bool ca_outcomes_push(uint64_t since, uint64_t most, struct ca_repeat *repeat);
#pragma GCC visibility pop

CA_INLINE uint32_t ca_num_jumps(void) { return (uint32_t)(ca_notes.jumps.bytes / sizeof(struct ca_jump)); }

CA_INLINE uint64_t ca_num_changes(void) { return ca_notes.changes.bytes / sizeof(struct ca_entry); }

/* What an entry adds to the digest of its page; nothing if the word holds its own value. */
CA_INLINE uint64_t ca_digest_of(uint64_t word, uint64_t state) {
  uint64_t sum = (state + word * ca_multipliers[0]) * ca_multipliers[1];
  sum = (sum ^ (sum >> 32)) * ca_multipliers[2];
  return state ? sum ^ (sum >> 29) : 0;
}

CA_INLINE void ca_add_to_digests(uint64_t page, uint64_t difference) {
  ((uint64_t *)CA_CHANGES_BASE)[page] += difference;
  ((uint64_t *)CA_COARSE_BASE)[page >> (CA_COARSE_PAGE - CA_CHANGES_PAGE)] += difference;
}

#endif
