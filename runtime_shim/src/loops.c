/* Hooks in front of loops whose rounds and addresses are known when they are entered; what is not predicted, and
 * what comes behind loops, is in repeats.c. */
#include "state.h"

#define MOST_ROUNDS (1ull << 40)

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
