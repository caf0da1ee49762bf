/* Hooks in front of and behind loops whose rounds and addresses are known when they are entered; what is not
 * predicted is in repeats.c. */
#include "state.h"

#define MOST_ROUNDS (1ull << 40)

void ca_repeat_over(uint64_t changes);
uint32_t ca_preview_begin(uint32_t loop);
void ca_preview_repeated(uint32_t loop, const struct ca_repeat *known);
void ca_preview_failed(uint32_t loop, uint64_t hash, uint64_t changes, uint32_t first_counter,
                       uint32_t num_counters);

/* Rounds of a loop that ends when two numbers are equal, compared before a round ends; their difference changes
 * by `step` per round. 0 if it would end otherwise than by meeting exactly. */
CA_HOOK uint64_t ca_rounds_until(uint64_t left, uint64_t right, int64_t step) {
  uint64_t way = step < 0 ? left - right : right - left;
  uint64_t magnitude = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
  if (!magnitude || way % magnitude)
    return 0;
  uint64_t before = way / magnitude;
  return before < MOST_ROUNDS ? before + 1 : 0;
}

static inline bool is_small(int64_t number, uint32_t is_unsigned) {
  const int64_t limit = 1ll << 62;
  return number < limit && number > (is_unsigned ? -1 : -limit);
}

/* Rounds of a loop that goes on while left < right; 0 if it goes away from there. */
CA_HOOK uint64_t ca_rounds_below(int64_t left, int64_t right, int64_t step, uint32_t is_unsigned) {
  if (!is_small(left, is_unsigned) || !is_small(right, is_unsigned) || step <= 0)
    return 0;
  uint64_t before = right > left ? (uint64_t)((right - left - 1) / step + 1) : 0;
  return before < MOST_ROUNDS ? before + 1 : 0;
}

CA_HOOK uint64_t ca_changes(uint64_t low, uint64_t high) { return ca_changes_in(low, high); }

/* A loop is entered: 1 if it is known what it will do, and that is counted. Otherwise it is recorded. */
CA_HOOK uint32_t ca_repeat_known(uint64_t hash, uint64_t changes, uint64_t rounds) {
  return ca_repeat_predicted(hash | 1, changes) || ca_repeat_unpredicted(hash | 1, changes, rounds);
}

/* The same, but nothing is recorded yet if it is not known. */
CA_HOOK uint32_t ca_repeat_ready(uint64_t hash, uint64_t changes, uint64_t rounds) {
  return rounds && ca_repeat_again(hash | 1, changes);
}

/* 1 if a preview is worth while; otherwise the loop is not recorded either. `loop` is a block counter. */
CA_CALL uint32_t ca_preview_due(uint32_t loop) { return ca_preview_begin(loop); }

/* The same as ca_repeat_known for a loop that was previewed: its block counters are part of what is known. None
 * are given if the loop may change what the preview read: then nothing is known, and nothing is remembered. */
CA_CALL uint32_t ca_repeat_previewed(uint32_t loop, uint64_t hash, uint64_t changes, uint32_t first_counter,
                                     uint32_t num_counters) {
  hash = ca_preview_hash(hash);
  const struct ca_repeat *known = num_counters ? ca_repeat_again(hash, changes) : 0;
  if (known) {
    ca_preview_repeated(loop, known);
    return 1;
  }
  ca_preview_failed(loop, hash, changes, first_counter, num_counters);
  return 0;
}

CA_HOOK void ca_repeat_end(uint64_t changes) { ca_repeat_over(changes); }
