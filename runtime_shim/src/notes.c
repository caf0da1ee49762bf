/* What is noted while loops are recorded: where the log was left for rows elsewhere, and entries of the shadow as
 * they were before they changed. */
#include "notes.h"

#define MOST_JUMPS (1u << 26)
#define NUM_RECENT 16384u
#define PLACES_APART 1427u

struct ca_notes ca_notes;

/* Where a word was noted last. */
static struct recent {
  uint64_t word;
  uint64_t number;
} recent[NUM_RECENT];

bool ca_notes_reserve(void) {
  ca_notes.forgotten = 1;
  return ca_column_reserve(&ca_notes.jumps, MOST_JUMPS * sizeof(struct ca_jump)) &&
         ca_column_reserve(&ca_notes.changes, CA_MOST_CHANGES * sizeof(struct ca_entry));
}

/* A loop is recorded from here on; 0 if the nest is too deep. What was noted for loops that are over is forgotten. */
struct ca_recording *ca_recording_begin(uint64_t hash, uint64_t changes, bool is_spoilt) {
  if (ca_state.num_kept == 0) {
    ca_notes.forgotten += ca_num_changes();
    ca_notes.jumps.bytes = ca_notes.changes.bytes = 0;
  }
  if (ca_state.num_recording++ >= CA_LONGEST_NEST)
    return 0;
  struct ca_recording *recording = &ca_notes.recordings[ca_state.num_recording - 1];
  recording->hash = hash;
  recording->changes = changes;
  recording->start = (uint64_t)(ca_state.cursor - ca_state.cells);
  recording->first_jump = ca_num_jumps();
  recording->is_spoilt = is_spoilt;
  recording->num_counters = 0;
  recording->first_change = ca_notes.forgotten + ca_num_changes();
  ca_state.num_kept += !is_spoilt;
  return recording;
}

static uint32_t depth(void) {
  return ca_state.num_recording < CA_LONGEST_NEST ? ca_state.num_recording : CA_LONGEST_NEST;
}

/* Something happens that cannot be noted: the loops that are being recorded will not be remembered. */
CA_SLOW void ca_spoil_repeats(void) {
  for (uint32_t i = 0; i < depth(); i++)
    ca_notes.recordings[i].is_spoilt = true;
  ca_state.num_kept = 0;
}

CA_SLOW void ca_note_jump(uint64_t from, uint64_t to) {
  struct ca_jump *jump = ca_column_push(&ca_notes.jumps, sizeof *jump);
  if (jump)
    *jump = (struct ca_jump){from, to};
  else
    ca_spoil_repeats();
}

/* Notes the entry that a word had, unless the innermost loop noted it already: some are noted again. */
static void note(uint64_t word, uint64_t state) {
  /* words of one array have places of their own; arrays begin at multiples of large powers of 2, and are apart */
  struct recent *place = &recent[(word + word / NUM_RECENT * PLACES_APART) % NUM_RECENT];
  if (place->word == word && place->number >= ca_notes.recordings[depth() - 1].first_change)
    return;
  struct ca_entry *entry = ca_column_push(&ca_notes.changes, sizeof *entry);
  if (!entry) {
    ca_spoil_repeats();
    return;
  }
  *entry = (struct ca_entry){word, state};
  *place = (struct recent){word, ca_notes.forgotten + ca_num_changes() - 1};
}

/* All words of a value get the same state: the digest of a page is changed once. */
CA_CALL void ca_set_states(uint64_t word, uint64_t words, uint64_t state) {
  uint64_t difference = 0;
  for (uint64_t at = word, end = word + words; at < end; at++) {
    uint64_t *entry = ca_shadow(at), before = *entry, page = at >> (CA_CHANGES_PAGE - CA_UNIT_BITS);
    if (before != state) {
      *entry = state;
      difference += ca_digest_of(at, state) - ca_digest_of(at, before);
      if (ca_state.num_kept)
        note(at, before);
    }
    if (difference && (at + 1 == end || (at + 1) >> (CA_CHANGES_PAGE - CA_UNIT_BITS) != page)) {
      ca_add_to_digests(page, difference);
      difference = 0;
    }
  }
}
