/* Loops that do again what they did before.
 *
 * A run of a loop is remembered by the rows that it counted, as stretches of the log, and by what it did to the
 * shadow (outcomes.c). How rows are predicted does not matter: the same labels make the same rows.
 */
#include "notes.h"

#define FEWEST_ROUNDS 4u /* shorter loops are not worth remembering */
#define PATIENCE 8u
#define MOST_SKIPPED 5u    /* as a power of two: a preview costs little beside the hooks that it may spare */
#define FEW_OUTCOMES 64u /* more than these and the rows are kept only for loops that come again */
#define SETTLED_TOGETHER (1u << 19) /* rows */

/* Rows [first, end) of the log. */
struct stretch {
  uint32_t first;
  uint32_t end;
};

/* Previews of a loop: how many in a row were in vain, how many are left out therefore. */
struct preview {
  uint32_t failures;
  uint32_t skipped;
};

static struct {
  struct ca_column stretches, deltas;
  struct preview *previews; /* by block counter */
  uint64_t settled;         /* rows since the memory was looked at */
} repeats;

#define GIB (1ull << 30)

bool ca_repeats_reserve(void) {
  bool reserved = ca_repeat_index_reserve() && ca_column_reserve(&repeats.stretches, 64 * GIB) &&
                  ca_column_reserve(&repeats.deltas, 32 * GIB) && ca_notes_reserve() && ca_outcomes_reserve();
  repeats.previews = ca_map((ca_num_block_counters + 1) * sizeof *repeats.previews);
  return reserved && repeats.previews;
}

static const struct stretch *stretches_of(const struct ca_repeat *repeat) {
  return (const struct stretch *)repeats.stretches.data + repeat->first_stretch;
}

/* Further runs become counts of rows. */
static void settle(struct ca_repeat *repeat) {
  const struct stretch *stretch = stretches_of(repeat);
  for (uint32_t k = 0; repeat->count && k < repeat->num_stretches; k++) {
    for (uint64_t row = stretch[k].first; row < stretch[k].end; row++)
      ca_state.cells[row].count += repeat->count;
    repeats.settled += stretch[k].end - stretch[k].first;
    if (repeats.settled > SETTLED_TOGETHER) {
      repeats.settled = 0;
      ca_spill_check();
    }
  }
  repeat->count = 0;
}

void ca_repeats_settle(void) {
  for (uint32_t i = 1; i < ca_num_repeats(); i++)
    settle(&ca_state.repeats[i]);
}

/* The rows of a loop count once more; for loops around it that are being recorded, this is part of them. */
static void count_again(struct ca_repeat *repeat) {
  const struct stretch *stretch = stretches_of(repeat);
  repeat->count += ca_active;
  for (uint32_t k = 0; k < repeat->num_stretches; k++) {
    uint64_t at = (uint64_t)(ca_state.cursor - ca_state.cells);
    if (ca_state.num_kept && at != stretch[k].first)
      ca_note_jump(at, stretch[k].first);
    ca_state.cursor = ca_state.cells + stretch[k].end;
  }
  __builtin_prefetch(ca_state.cursor);
}

static void came_next(uint32_t number) {
  ca_state.repeats[ca_state.last_repeat].next = number;
  ca_state.last_repeat = number;
  ca_fetch_ahead(number);
}

/* Counts a loop that did this before; 0 if there is none. */
CA_SLOW struct ca_repeat *ca_repeat_find(uint64_t hash, uint64_t changes) {
  uint32_t found = ca_repeat_number(hash, changes);
  if (!found)
    return 0;
  count_again(&ca_state.repeats[found]);
  came_next(found);
  if (ca_state.repeats[found].num_outcomes)
    ca_repeat_outcome(&ca_state.repeats[found]);
  return &ca_state.repeats[found];
}

CA_SLOW uint32_t ca_repeat_unpredicted(uint64_t hash, uint64_t changes, uint64_t rounds) {
  if (rounds >= FEWEST_ROUNDS && ca_repeat_find(hash, changes))
    return 1;
  ca_recording_begin(hash, changes, rounds < FEWEST_ROUNDS);
  return 0;
}

/* 1 if a preview is worth while; otherwise the loop is not recorded either. `loop` is a block counter. */
CA_CALL uint32_t ca_preview_due(uint32_t loop) {
  if (!repeats.previews[loop].skipped)
    return 1;
  repeats.previews[loop].skipped--;
  ca_recording_begin(0, 0, true);
  return 0;
}

static void begin_previewed(struct preview *preview, uint64_t hash, uint64_t changes, uint32_t first_counter,
                            uint32_t num_counters) {
  preview->failures++;
  if (preview->failures > PATIENCE) {
    uint32_t excess = preview->failures - PATIENCE;
    preview->skipped = 1u << (excess < MOST_SKIPPED ? excess : MOST_SKIPPED);
  }
  struct ca_recording *recording = ca_recording_begin(hash, changes, !num_counters);
  if (!recording)
    return;
  recording->first_counter = first_counter;
  recording->num_counters = num_counters;
  memcpy(recording->counters, ca_block_counters + first_counter, num_counters * sizeof(uint64_t));
}

/* The same as ca_repeat_known for a loop that was previewed: its block counters are part of what is known. None
 * are given if the loop may change what the preview read: then nothing is known, and nothing is remembered. */
CA_CALL uint32_t ca_repeat_previewed(uint32_t loop, uint64_t hash, uint64_t changes, uint32_t first_counter,
                                     uint32_t num_counters) {
  hash = ca_preview_hash(hash);
  const struct ca_repeat *known = num_counters ? ca_repeat_again(hash, changes) : 0;
  if (!known) {
    begin_previewed(&repeats.previews[loop], hash, changes, first_counter, num_counters);
    return 0;
  }
  repeats.previews[loop].failures = 0;
  const uint64_t *delta = (const uint64_t *)repeats.deltas.data + known->first_delta;
  for (uint32_t i = 0; i < known->num_counters; i++)
    ca_block_counters[known->first_counter + i] += delta[i];
  return 1;
}

uint64_t ca_preview_blocks(uint64_t hash) {
  uint32_t found = ca_repeat_latest(ca_preview_hash(hash));
  const struct ca_repeat *repeat = &ca_state.repeats[found];
  const uint64_t *delta = (const uint64_t *)repeats.deltas.data + repeat->first_delta;
  uint64_t sum = 0;
  for (uint32_t i = 0; found && i < repeat->num_counters; i++)
    sum += delta[i];
  return sum;
}

/* How the block counters advanced since the recording began. */
static bool push_deltas(const struct ca_recording *recording, struct ca_repeat *repeat) {
  if (repeat->num_counters != recording->num_counters) {
    repeat->first_delta = repeats.deltas.bytes / sizeof(uint64_t);
    if (!ca_column_push(&repeats.deltas, recording->num_counters * sizeof(uint64_t)))
      return false;
  }
  repeat->first_counter = recording->first_counter;
  repeat->num_counters = recording->num_counters;
  uint64_t *delta = (uint64_t *)repeats.deltas.data + repeat->first_delta;
  for (uint32_t i = 0; i < recording->num_counters; i++)
    delta[i] = ca_block_counters[recording->first_counter + i] - recording->counters[i];
  return true;
}

/* Rows since the recording began, as stretches. */
static uint32_t push_stretches(const struct ca_recording *recording) {
  uint32_t count = 0;
  uint64_t first = recording->start;
  const struct ca_jump *jump = (const struct ca_jump *)ca_notes.jumps.data;
  for (uint32_t k = recording->first_jump; k <= ca_num_jumps(); k++) {
    uint64_t end = k < ca_num_jumps() ? jump[k].from : (uint64_t)(ca_state.cursor - ca_state.cells);
    if (end > first) {
      struct stretch *stretch = ca_column_push(&repeats.stretches, sizeof *stretch);
      if (!stretch)
        return UINT32_MAX;
      *stretch = (struct stretch){(uint32_t)first, (uint32_t)end};
      count++;
    }
    if (k < ca_num_jumps())
      first = jump[k].to;
  }
  return count;
}

/* Whether it is known what the loop does to the shadow: kept is as much as it counted, more if it comes again. */
static bool keep_outcomes(const struct ca_recording *recording, uint64_t changes, uint64_t rows, struct ca_repeat *repeat) {
  if (recording->changes == changes) {
    repeat->num_outcomes = 0;
    return true;
  }
  return !(ca_switched_off & CA_WITHOUT_OUTCOMES) &&
         ca_outcomes_push(recording->first_change, FEW_OUTCOMES > rows ? FEW_OUTCOMES : rows, repeat);
}

static void remember(const struct ca_recording *recording, uint64_t changes) {
  if (ca_switched_off & CA_WITHOUT_MEMOISATION)
    return;
  bool comes_again = ca_repeat_latest(recording->hash);
  uint64_t first = repeats.stretches.bytes / sizeof(struct stretch);
  uint32_t count = push_stretches(recording);
  uint32_t number = count == UINT32_MAX ? 0 : ca_repeat_place(recording->hash, recording->changes);
  if (!number)
    return;
  struct ca_repeat *repeat = &ca_state.repeats[number];
  settle(repeat);
  if (count <= repeat->num_stretches) { /* take the place of the old ones, so that memory does not grow */
    struct stretch *all = (struct stretch *)repeats.stretches.data;
    memcpy(all + repeat->first_stretch, all + first, count * sizeof *all);
    repeats.stretches.bytes = first * sizeof *all;
    first = repeat->first_stretch;
  }
  uint64_t end = (uint64_t)(ca_state.cursor - ca_state.cells), rows = comes_again ? UINT64_MAX : 0;
  const struct stretch *found = (const struct stretch *)repeats.stretches.data + first;
  for (uint32_t k = 0; k < count && !comes_again; k++)
    rows += found[k].end - found[k].first;
  bool is_known = push_deltas(recording, repeat) && keep_outcomes(recording, changes, rows, repeat);
  repeat->changes = is_known ? recording->changes : UINT64_MAX;
  repeat->count = 0;
  repeat->end = end;
  repeat->first_stretch = first;
  repeat->num_stretches = count;
  came_next(number);
}

/* Remembers a loop that counts the last row and has no other effect. */
CA_SLOW void ca_repeat_row(uint64_t hash, uint64_t changes) {
  struct ca_recording recording;
  recording.hash = hash;
  recording.changes = changes;
  recording.start = ca_last_row();
  recording.first_jump = ca_num_jumps();
  recording.first_counter = recording.num_counters = 0;
  remember(&recording, changes);
}

/* The loop that was not known is left. */
CA_SLOW void ca_repeat_end(uint64_t changes) {
  uint32_t depth = --ca_state.num_recording;
  if (depth < CA_LONGEST_NEST && !ca_notes.recordings[depth].is_spoilt) {
    ca_state.num_kept--;
    remember(&ca_notes.recordings[depth], changes);
  }
}
