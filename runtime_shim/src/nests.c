/* Loops around reductions that are met for the first time: for each j, sums over k that are stored, in up to four
 * loops one in the other.
 *
 * Where the labels of all terms and initial values advance by constants from term to term and from round to round
 * (words that hold values of their own, or copies of other arrays), all rounds are one row of the log, which is
 * counted, predicted and remembered as any other; the nest runs without hooks. The rows that it stands for are
 * written out when the graph is built. Words that are stored to hold values of their own afterwards.
 */
#include "state.h"
#include "streams.h"

#define FEWEST_ROUNDS 4u  /* of fewer, rows of their own are as small */
#define FEWEST_TERMS 4u   /* fewer are listed, see packing.c */
#define MOST_LABELS 4096u /* of a reduction: more are packed as several groups */
#define MOST_WORDS 256u
#define MOST_STREAMS 48u
#define IS_REDUCTION (1ull << 62) /* of what is given */

/* What a round loads, adds up or stores. */
struct access {
  struct ca_stream stream; /* as it was given: of words */
  uint64_t rounds;         /* terms of the reduction that it is a label of, otherwise 1 */
  uint32_t words;          /* 0: loaded */
};

/* A row that is being written. */
struct nest {
  struct ca_around around;
  bool is_plain; /* all words hold values of their own */
  bool is_own;   /* some labels are computed from those of words that hold values of their own */
  bool makes_own;
  uint32_t count;
  uint32_t num_entries;
  uint32_t num_accesses; /* in the order in which they happen */
  uint64_t parts;        /* bits of strides: all are multiples of a word if the lowest two are 0 */
  uint64_t sink;         /* of the first store */
  uint32_t site;
  struct access accesses[MOST_STREAMS];
  uint64_t words[MOST_WORDS];
};

static void put(struct nest *nest, uint64_t word) { nest->words[nest->count++] = word; }

static uint64_t stride_of(struct nest *nest, uint64_t change) {
  nest->parts |= ca_stride_bytes(change);
  return ca_stride_words(change);
}

/* A stream whose strides are every `step` words from `changes` on: for the loops around. */
static struct ca_stream stream_of(struct nest *nest, uint64_t first, const uint64_t *changes, uint32_t step) {
  struct ca_stream stream = {.first = first};
  for (uint32_t d = 0; d < nest->around.count; d++)
    stream.outer[d] = stride_of(nest, changes[d * step]);
  return stream;
}

/* Writes a label, as what is looked up or, of terms, with a stride of its own; false if it does not advance by
 * constants. */
static bool put_label(struct nest *nest, struct ca_stream *stream, uint64_t terms) {
  if (stream->is_loaded && nest->num_accesses == MOST_STREAMS)
    return false;
  if (stream->is_loaded)
    nest->accesses[nest->num_accesses++] = (struct access){*stream, terms ? terms : 1, 0};
  if (!nest->is_plain && !(nest->parts & 3) && !ca_stream_look_up(stream, terms ? terms : 1, &nest->around))
    return false;
  put(nest, stream->first);
  for (uint32_t d = 0; d < nest->around.count; d++)
    put(nest, stream->outer[d]);
  if (terms)
    put(nest, stream->stride);
  return true;
}

/* Words that it takes; 0 if it is packed otherwise than as one run. */
static uint32_t put_reduction(struct nest *nest, const uint64_t *given) {
  uint64_t head = given[0], terms = given[1];
  uint32_t width = head >> 32 & 255, initial = head >> 48 & 15, size = 1 + nest->around.count;
  uint64_t loaded = (head >> 40 & 255) << initial | (head >> 52 & 255);
  if (terms < FEWEST_TERMS || terms * width > MOST_LABELS || nest->count + (initial + width) * (size + 1) + 2 > MOST_WORDS)
    return 0;
  uint32_t head_at = nest->count, at = 2, kept = 0;
  put(nest, 0);
  put(nest, terms);
  for (uint32_t k = 0; k < initial + width; k++) {
    bool is_term = k >= initial;
    struct ca_stream stream = stream_of(nest, given[at], given + at + 1 + is_term, 1);
    stream.is_loaded = loaded >> k & 1;
    stream.stride = is_term ? stride_of(nest, given[at + 1]) : 0;
    at += size + is_term;
    if (!is_term && !stream.first) /* nothing, see ca_accumulator_reset */
      continue;
    kept += !is_term;
    if (!put_label(nest, &stream, is_term ? terms : 0))
      return 0;
  }
  nest->words[head_at] = (uint32_t)head | (uint64_t)width << 32 | (uint64_t)kept << 40 | CA_FAMILY_SUM;
  return at;
}

static uint32_t put_store(struct nest *nest, const uint64_t *given) {
  uint64_t head = given[0], results = head >> 52 & 255, loaded = head >> 40 & 255;
  uint32_t labels = head >> 32 & 255, words = head >> 48 & 15, size = 1 + nest->around.count;
  const uint64_t *changes = given + 2, *first = changes + 1, *others = first + labels;
  if (nest->num_accesses == MOST_STREAMS || nest->count + (1 + labels) * size + 1 > MOST_WORDS)
    return 0;
  /* changes: of the sink in the innermost of the loops around, of the labels there, then in each other loop */
  uint32_t inner = nest->around.count - 1, next = 3 + 2 * labels;
  struct ca_stream sink = {.first = ca_word(given[1])};
  sink.outer[inner] = stride_of(nest, given[2]);
  for (uint32_t d = 0; d < inner; d++)
    sink.outer[d] = stride_of(nest, given[next + d * (1 + labels)]);
  if (!nest->sink) {
    nest->sink = sink.first;
    nest->site = (uint32_t)head;
  }
  nest->is_own |= head >> 63;
  put(nest, (uint32_t)head | (uint64_t)labels << 32 | results << 40);
  put(nest, sink.first);
  for (uint32_t d = 0; d < nest->around.count; d++)
    put(nest, sink.outer[d]);
  for (uint32_t k = 0; k < labels; k++) {
    struct ca_stream stream = {.first = first[k], .is_loaded = loaded >> k & 1};
    stream.outer[inner] = stride_of(nest, others[k]);
    for (uint32_t d = 0; d < inner; d++)
      stream.outer[d] = stride_of(nest, given[next + d * (1 + labels) + 1 + k]);
    if (!put_label(nest, &stream, 0))
      return 0;
  }
  if (nest->num_accesses == MOST_STREAMS)
    return 0;
  nest->accesses[nest->num_accesses++] = (struct access){sink, 1, words};
  return next + inner * (1 + labels);
}

/* Whether what a round loads stays as it was found although the words of a sink get values of their own: it is
 * loaded elsewhere, or in the round that stores there, before it does. */
static bool is_found_before(const struct nest *nest, uint32_t sink) {
  const struct access *store = &nest->accesses[sink];
  if (!ca_stream_is_once(&store->stream, store->words, 1, &nest->around))
    return false;
  for (uint32_t a = 0; a < nest->num_accesses; a++) {
    const struct access *load = &nest->accesses[a];
    bool is_same = a < sink && load->stream.first == store->stream.first && !load->stream.stride;
    for (uint32_t d = 0; d < nest->around.count; d++)
      is_same &= load->stream.outer[d] == store->stream.outer[d];
    if (!load->words && !is_same &&
        ca_streams_meet(&load->stream, load->rounds, 1, &store->stream, 1, store->words, &nest->around))
      return false;
  }
  return true;
}

/* Whether the labels that were looked up are those that hooks would find. */
static bool are_found(struct nest *nest) {
  if (nest->is_plain)
    return true;
  if (nest->is_own)
    return false;
  for (uint32_t a = 0; a < nest->num_accesses; a++) {
    const struct access *access = &nest->accesses[a];
    if (!access->words || ca_stream_is_own(&access->stream, access->words, 1, &nest->around))
      continue;
    nest->makes_own = true;
    if (!is_found_before(nest, a))
      return false;
  }
  return true;
}

/* False if the nest stands for other rows than these. */
static bool read_nest(struct nest *nest, uint32_t count, const uint64_t *given) {
  uint64_t rounds = 1;
  nest->around.count = (uint32_t)given[0];
  put(nest, 0);
  for (uint32_t d = 0; d < nest->around.count; d++) {
    nest->around.rounds[d] = given[1 + d];
    rounds *= given[1 + d];
    put(nest, given[1 + d]);
  }
  if (rounds < FEWEST_ROUNDS || ca_workspace.exists)
    return false;
  for (uint32_t at = 1 + nest->around.count; at < count; nest->num_entries++) {
    uint32_t taken = given[at] & IS_REDUCTION ? put_reduction(nest, given + at) : put_store(nest, given + at);
    if (!taken)
      return false;
    at += taken;
  }
  nest->words[0] = nest->around.count | (uint64_t)nest->num_entries << 48;
  return !(nest->parts & 3) && are_found(nest);
}

static void count_row(uint64_t loop_hash, uint64_t changes, const struct nest *nest) {
  struct ca_event row = {0, nest->sink, nest->site, CA_ROW_FAMILY, nest->count, nest->words};
  ca_streams_count(&row, loop_hash, changes, !nest->makes_own);
  for (uint32_t a = 0; a < nest->num_accesses && nest->makes_own; a++)
    if (nest->accesses[a].words)
      ca_stream_make_own(&nest->accesses[a].stream, nest->accesses[a].words, 1, &nest->around);
}

/* Counts what a nest is going to do and returns 1; or begins to record it and returns 0. `rounds` are those of
 * the inner loops, altogether. `given` has the number of loops around the reductions, the rounds of each, the
 * outermost first, then in the order of the rows
 *   reductions: site | labels of a term << 32 | mask of loaded ones << 40 | initial labels << 48 | mask of loaded
 * ones << 52 | 1 << 62, terms; for each initial label the word that it is loaded from or the label, and its
 * changes per round of each loop around; for each label of a term the same with its change per term in front of
 * those changes;
 *   stores, as ca_range has them with the innermost loop around as theirs, with a mask of labels that are the
 * results of a reduction << 52: these have its number among the reductions. */
CA_SLOW uint32_t ca_nest(uint64_t hash, uint64_t changes, uint64_t rounds, uint32_t count,
                         const uint64_t *given) {
  struct nest nest;
  nest.is_plain = !changes;
  nest.is_own = nest.makes_own = false;
  nest.count = nest.num_entries = nest.num_accesses = 0;
  nest.parts = nest.sink = 0;
  if (!rounds || !read_nest(&nest, count, given))
    return ca_repeat_unpredicted(hash | 1, changes, rounds);
  count_row(hash | 1, changes, &nest);
  return 1;
}
