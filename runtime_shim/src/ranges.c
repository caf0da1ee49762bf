/* Loops that are met for the first time, whose rows follow from the addresses of the first round.
 *
 * Where every word that a loop looks at holds a value of its own, nothing that the loop does changes that, and
 * the labels of a store in round i are those of the first round plus i times a constant. One row of the log
 * stands for all of them: it is counted, predicted and remembered as any other, and the loop runs without
 * hooks. Rows that several such loops share, or that hooks have recorded, become one when the graph is built.
 */
#include "state.h"

#define FEWEST_ROUNDS 8u /* of fewer, rows of their own are smaller */
#define MOST_WORDS 64u
#define STORE_WORDS 3u /* of a store, in front of its labels */

uint32_t ca_repeat_unpredicted(uint64_t hash, uint64_t changes, uint64_t rounds);

/* The stores of the loop as the trace has them: bytes become words. 0 if a label would not advance by the same
 * number of words in every round, or a sink would stay. */
static uint32_t in_words(uint64_t *content, uint32_t count, const uint64_t *given) {
  uint64_t parts = 0;
  for (uint32_t at = 0; at < count;) {
    uint32_t labels = (uint32_t)(given[at] >> 32);
    bool is_steady = given[at + 2] != 0;
    content[at] = given[at];
    content[at + 1] = ca_word(given[at + 1]);
    content[at + 2] = (uint64_t)((int64_t)given[at + 2] >> 2);
    parts |= given[at + 2];
    at += STORE_WORDS;
    for (uint32_t k = 0; k < labels; k++) {
      content[at + k] = given[at + k];
      content[at + labels + k] = (uint64_t)((int64_t)given[at + labels + k] >> 2);
      parts |= given[at + labels + k];
    }
    if (!is_steady)
      return 0;
    at += 2 * labels;
  }
  return parts & 3 ? 0 : count;
}

/* Counts what a loop is going to do and returns 1; or begins to record it and returns 0. For each of its stores
 * `given` has the site with the number of labels in the upper half, the address and its change per round, the
 * labels of the first round, and their changes per round in bytes. */
CA_SLOW uint32_t ca_range(uint64_t hash, uint64_t changes, uint64_t rounds, uint32_t count,
                          const uint64_t *given) {
  uint64_t content[MOST_WORDS + 1] = {rounds};
  hash |= 1;
  if (changes || rounds < FEWEST_ROUNDS || count > MOST_WORDS || !in_words(content + 1, count, given))
    return ca_repeat_unpredicted(hash, changes, rounds);
  struct ca_event event = {.hash = (hash * ca_multipliers[61]) | 1,
                           .anchor = content[2],
                           .sink = content[2],
                           .site = (uint32_t)content[1],
                           .flags = CA_ROW_RANGE,
                           .count = count + 1,
                           .labels = content};
  bool is_new = !ca_predicted(event.hash) && ca_row_lookup(&event).is_new;
  if (!is_new && ca_state.cells[ca_last_row()].hash == event.hash) /* it comes again, and was not dropped */
    ca_repeat_row(hash, changes, ca_last_row());
  return 1;
}
