/* Loops around reductions that are met for the first time: for each j, sums over k that are stored.
 *
 * Where no word that the nest looks at has ever held a copy, the terms of every reduction follow from
 * addresses: they advance by constants from term to term and from round to round. All rounds are one row of the
 * log, which is counted, predicted and remembered as any other; the nest runs without hooks. The rows that it
 * stands for are written out when the graph is built.
 */
#include "state.h"

#define FEWEST_ROUNDS 4u  /* of fewer, rows of their own are as small */
#define FEWEST_TERMS 4u   /* fewer are listed, see packing.c */
#define MOST_LABELS 4096u /* of a reduction: more are packed as several groups */
#define MOST_WORDS 128u
#define IS_REDUCTION (1ull << 62) /* of what is given */

uint32_t ca_repeat_unpredicted(uint64_t hash, uint64_t changes, uint64_t rounds);

/* A row that is being written; strides are in words. */
bool ca_has_nests;

struct nest {
  uint32_t count;
  uint32_t num_entries;
  uint64_t parts; /* bits of strides: all are multiples of a word if the lowest two are 0 */
  uint64_t sink;  /* of the first store */
  uint32_t site;
  uint64_t words[MOST_WORDS];
};

static void put(struct nest *nest, uint64_t word) { nest->words[nest->count++] = word; }

/* Of a store, see ranges.c. */
static uint64_t bytes_of(uint64_t change) { return (uint64_t)((int64_t)change >> 2); }

static void put_stride(struct nest *nest, uint64_t bytes) {
  nest->parts |= bytes;
  put(nest, (uint64_t)((int64_t)bytes >> 2));
}

/* Words that it takes; 0 if it is packed otherwise than as one run. */
static uint32_t put_reduction(struct nest *nest, const uint64_t *given) {
  uint64_t head = given[0], terms = given[1];
  uint32_t width = head >> 32 & 255, loaded = head >> 40 & 255;
  if (terms < FEWEST_TERMS || terms * width > MOST_LABELS)
    return 0;
  put(nest, (uint32_t)head | (uint64_t)width << 32 | CA_NEST_REDUCTION);
  put(nest, terms);
  for (uint32_t k = 0; k < width; k++) {
    const uint64_t *label = given + 2 + 3 * k;
    put(nest, loaded >> k & 1 ? ca_word(label[0]) : label[0]);
    put_stride(nest, label[1]);
    put_stride(nest, label[2]);
  }
  return 2 + 3 * width;
}

static uint32_t put_store(struct nest *nest, const uint64_t *given) {
  uint64_t head = given[0], results = head >> 52 & 255;
  uint32_t labels = head >> 32 & 255;
  if (!nest->sink) {
    nest->sink = ca_word(given[1]);
    nest->site = (uint32_t)head;
  }
  put(nest, (uint32_t)head | (uint64_t)labels << 32 | results << 40);
  put(nest, ca_word(given[1]));
  put_stride(nest, bytes_of(given[2]));
  for (uint32_t k = 0; k < labels; k++)
    put(nest, given[3 + k]);
  for (uint32_t k = 0; k < labels; k++)
    put_stride(nest, bytes_of(given[3 + labels + k]));
  return 3 + 2 * labels;
}

/* False if the nest stands for other rows than these. */
static bool read_nest(struct nest *nest, uint32_t count, const uint64_t *given) {
  if (given[0] < FEWEST_ROUNDS || ca_has_workspace || ca_renamings.bytes)
    return false;
  put(nest, 0);
  for (uint32_t at = 1; at < count; nest->num_entries++) {
    uint32_t taken = given[at] & IS_REDUCTION ? put_reduction(nest, given + at) : put_store(nest, given + at);
    if (!taken)
      return false;
    at += taken;
  }
  nest->words[0] = given[0] | (uint64_t)nest->num_entries << 48;
  return !(nest->parts & 3);
}

static uint64_t hash_of(const struct nest *nest) {
  uint64_t hash = nest->count * ca_multipliers[59];
  for (uint32_t i = 0; i < nest->count; i++) {
    hash = (hash ^ nest->words[i]) * ca_multipliers[i & 31];
    hash ^= hash >> 31;
  }
  return (hash * ca_multipliers[62]) | 1;
}

static void count_row(uint64_t loop_hash, uint64_t changes, const struct nest *nest) {
  struct ca_event event = {.hash = hash_of(nest),
                           .anchor = nest->sink,
                           .sink = nest->sink,
                           .site = nest->site,
                           .flags = CA_ROW_NEST,
                           .count = nest->count,
                           .labels = nest->words};
  ca_has_nests = true;
  bool is_new = !ca_predicted(event.hash) && ca_row_lookup(&event).is_new;
  if (!is_new && ca_state.cells[ca_last_row()].hash == event.hash) /* it comes again, and was not dropped */
    ca_repeat_row(loop_hash, changes, ca_last_row());
}

/* Counts what a nest is going to do and returns 1; or begins to record it and returns 0. `rounds` are those of
 * the inner loops, altogether. `given` has the rounds of the outer loop, then in the order of the rows
 *   reductions: site | labels of a term << 32 | mask of loaded labels << 40 | 1 << 62, terms, for each label
 * what is loaded (its address) or the label in the first term, and its changes per term and round in bytes;
 *   stores, as ca_range has them, with a mask of labels that are the results of a reduction << 52: these have
 * its number among the reductions. */
CA_SLOW uint32_t ca_nest(uint64_t hash, uint64_t changes, uint64_t rounds, uint32_t count,
                         const uint64_t *given) {
  struct nest nest = {.count = 0};
  if (!rounds || changes || !read_nest(&nest, count, given))
    return ca_repeat_unpredicted(hash | 1, changes, rounds);
  count_row(hash | 1, changes, &nest);
  return 1;
}
