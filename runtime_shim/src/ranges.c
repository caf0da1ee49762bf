/* Loops that are met for the first time, whose rows follow from addresses and from the shadow that they find.
 *
 * If every word that a loop stores to holds a value of its own, nothing that the loop does changes the shadow.
 * Then the labels of its loads can be looked up before it runs: where words hold values of their own they
 * follow from the address, where an array was copied they advance as that array does. Rounds in which all
 * labels advance by constants are a segment; all segments of the loop are one row of the log. It is counted,
 * predicted and remembered as any other, and the loop runs without hooks. Rows that several such loops share,
 * or that hooks recorded, become one when the graph is built.
 */
#include "state.h"

#define FEWEST_ROUNDS 8u /* of fewer, rows of their own are smaller */
#define MOST_STORES 16u
#define MOST_LABELS 24u
#define MOST_WORDS 1024u /* of a row */
#define SEGMENT_ROUNDS 8u
#define SPARE_SEGMENTS 4u /* that may be shorter */

uint32_t ca_repeat_unpredicted(uint64_t hash, uint64_t changes, uint64_t rounds);

/* A label of a store: of the word that is loaded in the first round, or the label of all rounds. */
struct stream {
  uint64_t first;
  uint64_t stride; /* words, or 0 */
  bool is_loaded;
};

struct store {
  uint32_t site;
  uint32_t words;
  uint64_t sink;
  uint64_t stride;
  uint32_t first_label;
  uint32_t num_labels;
};

struct loop {
  uint64_t rounds;
  uint32_t num_stores;
  uint32_t num_labels;
  bool is_own; /* some labels are computed from those of words that hold values of their own */
  struct store stores[MOST_STORES];
  struct stream streams[MOST_LABELS];
};

/* What a guard found out. False if a label or sink would not advance by whole words, or a sink would stay. */
static bool read_loop(struct loop *loop, uint32_t count, const uint64_t *given) {
  uint64_t parts = 0;
  for (uint32_t at = 0; at < count;) {
    uint64_t head = given[at];
    uint32_t labels = head >> 32 & 255, loaded = head >> 40 & 255;
    if (loop->num_stores == MOST_STORES || loop->num_labels + labels > MOST_LABELS || !given[at + 2])
      return false;
    loop->is_own |= head >> 63;
    loop->stores[loop->num_stores++] = (struct store){
        (uint32_t)head,   head >> 48 & 15, ca_word(given[at + 1]), (uint64_t)((int64_t)given[at + 2] >> 2),
        loop->num_labels, labels};
    parts |= given[at + 2];
    at += 3;
    for (uint32_t k = 0; k < labels; k++) {
      uint64_t step = given[at + labels + k];
      loop->streams[loop->num_labels++] =
          (struct stream){given[at + k], (uint64_t)((int64_t)step >> 2), loaded >> k & 1};
      parts |= step;
    }
    at += 2 * labels;
  }
  return !(parts & 3);
}

/* All words that are stored to hold values of their own; those of workspaces never do. */
static bool are_sinks_own(const struct loop *loop) {
  uint64_t any = 0;
  for (uint32_t s = 0; s < loop->num_stores; s++) {
    const struct store *store = &loop->stores[s];
    uint64_t word = store->sink;
    for (uint64_t i = 0; i < loop->rounds && !any; i++, word += store->stride)
      for (uint32_t k = 0; k < store->words; k++)
        any |= *ca_shadow(word + k);
  }
  return !any;
}

static uint64_t label_at(const struct stream *stream, uint64_t round) {
  return stream->is_loaded ? ca_value_at(stream->first + round * stream->stride)
                           : stream->first + round * stream->stride;
}

/* Behind the last round until which a label advances by `step`. */
static uint64_t end_of_steps(const struct stream *stream, uint64_t round, uint64_t end, uint64_t step) {
  uint64_t expected = label_at(stream, round);
  while (++round < end && label_at(stream, round) == (expected += step))
    ;
  return round;
}

/* The same for the step that fits best: that of the addresses, unless labels advance otherwise for long. */
static uint64_t segment_of(const struct stream *stream, uint64_t round, uint64_t end, uint64_t *step) {
  *step = stream->stride;
  if (!stream->is_loaded)
    return end;
  uint64_t behind = end_of_steps(stream, round, end, *step);
  if (behind > round + 1 || behind == end)
    return behind;
  uint64_t found = label_at(stream, round + 1) - label_at(stream, round);
  uint64_t other = end_of_steps(stream, round, end, found);
  if (other < round + SEGMENT_ROUNDS)
    return behind;
  *step = found;
  return other;
}

/* Writes the rounds from `round` on in which all labels advance by constants; returns the words written. */
static uint32_t write_segment(const struct loop *loop, bool is_plain, uint64_t *round, uint64_t *out) {
  uint64_t steps[MOST_LABELS], end = loop->rounds;
  for (uint32_t k = 0; k < loop->num_labels; k++) {
    steps[k] = loop->streams[k].stride;
    if (!is_plain)
      end = segment_of(&loop->streams[k], *round, end, &steps[k]);
  }
  uint64_t *at = out;
  *at++ = (end - *round) | (uint64_t)loop->num_stores << 48;
  for (uint32_t s = 0; s < loop->num_stores; s++) {
    const struct store *store = &loop->stores[s];
    *at++ = store->site | (uint64_t)store->num_labels << 32;
    *at++ = store->sink + *round * store->stride;
    *at++ = store->stride;
    for (uint32_t k = 0; k < store->num_labels; k++) {
      const struct stream *stream = &loop->streams[store->first_label + k];
      *at++ = is_plain ? stream->first + *round * stream->stride : label_at(stream, *round);
    }
    for (uint32_t k = 0; k < store->num_labels; k++)
      *at++ = steps[store->first_label + k];
  }
  *round = end;
  return (uint32_t)(at - out);
}

/* Writes all segments; 0 if they are too many. */
static uint32_t write_segments(const struct loop *loop, bool is_plain, uint64_t *content) {
  uint32_t size = 1 + 3 * loop->num_stores + 2 * loop->num_labels, count = 0;
  uint64_t segments = 0;
  for (uint64_t round = 0; round < loop->rounds; segments++) {
    if (count + size > MOST_WORDS || segments > round / SEGMENT_ROUNDS + SPARE_SEGMENTS)
      return 0;
    count += write_segment(loop, is_plain, &round, content + count);
  }
  return count;
}

static uint64_t hash_of(uint32_t count, const uint64_t *content) {
  uint64_t hash = count * ca_multipliers[61];
  for (uint32_t i = 0; i < count; i++) {
    hash = (hash ^ content[i]) * ca_multipliers[i & 31];
    hash ^= hash >> 31;
  }
  return (hash * ca_multipliers[62]) | 1;
}

static void count_row(uint64_t loop_hash, uint64_t changes, uint32_t count, const uint64_t *content) {
  struct ca_event event = {.hash = hash_of(count, content),
                           .anchor = content[2],
                           .sink = content[2],
                           .site = (uint32_t)content[1],
                           .flags = CA_ROW_RANGE,
                           .count = count,
                           .labels = content};
  bool is_new = !ca_predicted(event.hash) && ca_row_lookup(&event).is_new;
  if (!is_new && ca_state.cells[ca_last_row()].hash == event.hash) /* it comes again, and was not dropped */
    ca_repeat_row(loop_hash, changes, ca_last_row());
}

/* Counts what a loop is going to do and returns 1; or begins to record it and returns 0. For each of its stores
 * `given` has
 *   site | labels << 32 | mask of loaded labels << 40 | words << 48 | (a label is computed from a word's) <<
 * 63, the address and its change per round, words that are loaded or labels, of the first round, and their
 * changes per round in bytes. */
CA_SLOW uint32_t ca_range(uint64_t hash, uint64_t changes, uint64_t rounds, uint32_t count,
                          const uint64_t *given) {
  uint64_t content[MOST_WORDS];
  struct loop loop;
  loop.rounds = rounds;
  loop.num_stores = loop.num_labels = loop.is_own = 0;
  bool is_plain = !changes;
  bool is_possible = rounds >= FEWEST_ROUNDS && read_loop(&loop, count, given) &&
                     (is_plain || (!loop.is_own && are_sinks_own(&loop)));
  uint32_t written = is_possible ? write_segments(&loop, is_plain, content) : 0;
  if (!written)
    return ca_repeat_unpredicted(hash | 1, changes, rounds);
  count_row(hash | 1, changes, written, content);
  return 1;
}
