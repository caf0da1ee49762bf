/* Loops and loop nests that are met for the first time, whose rows follow from addresses and from the shadow that
 * they find: stores, and the sums over inner loops that they store, in up to five loops one in the other, and up to
 * six with those of the sums.
 *
 * If every word that a loop stores to holds a value of its own, nothing that it does changes the shadow, and the
 * labels of its loads can be looked up before: they follow from the address, or advance as the array that was copied
 * there. Rounds in which all of them advance by constants are a segment; all segments of the loop are one row of the
 * log, counted, predicted and remembered as any other, and the loop runs without hooks. The rows that it stands for are
 * written out when the graph is built; equal ones, also of hooks, become one there. Several loops, and sums, have to be
 * one segment. Words that sums are stored to may hold copies, and hold values of their own afterwards. */
#include "state.h"
#include "streams.h"

#define FEWEST_ROUNDS 8u /* of fewer, rows of their own are smaller; with sums of half as many */
#define FEWEST_TERMS 2u  /* one may be a copy, see accumulators.c */
#define MOST_TERMS 4096u /* labels of a sum: more are packed as several groups */
#define MOST_ENTRIES 16u
#define MOST_LABELS 48u
#define MOST_WORDS 1024u /* of a row */
#define SEGMENT_ROUNDS 8u
#define SPARE_SEGMENTS 4u /* that may be shorter */
#define IS_SUM (1ull << 62) /* of what is given */

/* A store, or a sum. */
struct entry {
  uint64_t head;  /* as it is written */
  uint64_t terms; /* 0: a store */
  uint32_t words;
  uint32_t first_label;
  uint32_t num_labels;
  struct ca_stream sink;
};

struct family {
  uint32_t num_loops;
  uint64_t rounds[CA_MOST_LOOPS];
  uint64_t period;       /* rounds that are one: they advance by whole words */
  uint64_t parts;        /* bits of strides, in bytes */
  uint32_t num_rest;     /* rounds that are left over where several are one */
  uint32_t rest_entries; /* in those */
  uint32_t rest_labels;
  uint32_t num_sums;
  uint32_t num_entries; /* in the order in which they happen */
  uint32_t num_labels;
  bool is_own;    /* some labels are computed from those of words that hold values of their own */
  bool makes_own; /* words that it stores to */
  struct entry entries[MOST_ENTRIES];
  struct ca_stream labels[MOST_LABELS];
};

/* A sink or a label with these changes, behind which the next number is, as it is in the round `turn` of a period. */
static struct ca_stream read_number(struct family *family, uint64_t first, const uint64_t *changes,
                                    const uint64_t *inner, uint32_t num_inner, uint64_t turn) {
  struct ca_stream stream = {.first = first, .count = family->num_loops + num_inner};
  for (uint32_t d = 0; d < stream.count; d++) {
    uint64_t bytes = (uint64_t)((int64_t)changes[d] >> CA_UNIT_BITS);
    family->parts |= bytes;
    stream.first += (uint64_t)((int64_t)(ca_within(changes[d]) + turn * bytes) >> CA_UNIT_BITS);
    stream.strides[d] = (uint64_t)((int64_t)(bytes * family->period) >> CA_UNIT_BITS);
    stream.rounds[d] = d < family->num_loops ? family->rounds[d] : inner[d - family->num_loops];
  }
  return stream;
}

/* Reads an entry as it is in this turn; the words that describe it, 0 if there is no room for it, or if it is packed
 * otherwise than as one run. */
static uint32_t read_entry(struct family *family, const uint64_t *given, uint64_t turn) {
  uint64_t head = given[0], terms = !!(head & IS_SUM);
  uint32_t inner = terms ? 1 + (head >> 60 & 3) : 0;
  uint32_t width = head >> 32 & 255, initial = terms ? head >> 56 & 15 : 0, at = 1 + inner, kept = 0;
  for (uint32_t d = 0; d < inner; d++)
    terms *= given[1 + d];
  if (family->num_entries == MOST_ENTRIES || family->num_labels + initial + width > MOST_LABELS)
    return 0;
  if (head & IS_SUM && (terms < FEWEST_TERMS || terms * width > MOST_TERMS))
    return 0;
  struct entry *entry = &family->entries[family->num_entries++];
  *entry = (struct entry){.terms = terms, .words = head >> 56 & 31, .first_label = family->num_labels};
  if (!terms)
    entry->sink = read_number(family, ca_word(given[1]), given + 2, given, 0, turn);
  at += terms ? 0 : 1 + family->num_loops;
  for (uint32_t k = 0; k < initial + width; k++) {
    struct ca_stream label =
        read_number(family, given[at], given + at + 1, given + 1, k < initial ? 0 : inner, turn);
    label.first &= k < initial ? ~CA_EXACT : UINT64_MAX; /* sums of some terms are no copies */
    label.is_loaded = head >> (40 + k) & 1;
    at += 1 + label.count;
    if (k < initial && !label.first) /* nothing, see ca_accumulator_reset */
      continue;
    kept += k < initial;
    family->labels[family->num_labels++] = label;
  }
  entry->num_labels = family->num_labels - entry->first_label;
  uint64_t second = terms ? kept : head >> 48 & 255;
  entry->head = (uint32_t)head | (uint64_t)width << 32 | second << 40;
  family->num_sums += !!terms;
  family->is_own |= head >> 63;
  return at;
}

static bool read_entries(struct family *family, uint32_t count, const uint64_t *given, uint64_t turn) {
  for (uint32_t at = 1 + family->num_loops, taken; at < count; at += taken)
    if (!(taken = read_entry(family, given + at, turn)))
      return false;
  return true;
}

/* What a guard found out. Bytes and half words: as many rounds as advance by a word are one, the rest of them
 * is read apart. False if it does not fit. */
static bool read_family(struct family *family, uint32_t count, const uint64_t *given) {
  uint64_t rounds = 1;
  family->num_loops = (uint32_t)given[0];
  for (uint32_t d = 0; d < family->num_loops; d++)
    rounds *= family->rounds[d] = given[1 + d];
  if (rounds < FEWEST_ROUNDS / 2 || !read_entries(family, count, given, 0) ||
      (family->num_sums ? ca_workspace.exists : rounds < FEWEST_ROUNDS))
    return false;
  if (!ca_within(family->parts))
    return true;
  if (family->num_loops > 1 || family->num_sums)
    return false;
  family->period = family->parts & 1 ? 4 : 2;
  family->rounds[0] = rounds / family->period;
  family->num_rest = (uint32_t)(rounds % family->period);
  family->num_entries = family->num_labels = 0;
  for (uint64_t turn = 0; turn < family->period; turn++) {
    if (turn == family->num_rest) {
      family->rest_entries = family->num_entries;
      family->rest_labels = family->num_labels;
    }
    if (!read_entries(family, count, given, turn))
      return false;
  }
  return true;
}

static uint64_t innermost(const struct ca_stream *stream) { return stream->strides[stream->count - 1]; }

/* Whether some number of each store changes in loop `d`, labels by `steps` if they are given; otherwise it makes the
 * same rows again. */
static bool changes_in(const struct family *family, uint32_t d, const uint64_t *steps) {
  for (const struct entry *store = family->entries; store < family->entries + family->num_entries; store++) {
    uint64_t any = store->sink.strides[d];
    for (uint32_t k = store->first_label; k < store->first_label + store->num_labels; k++)
      any |= steps ? steps[k] : family->labels[k].strides[d];
    if (!any)
      return false;
  }
  return true;
}

static bool are_sinks_own(const struct family *family) {
  for (uint32_t e = 0; e < family->num_entries; e++) {
    struct ca_stream sink = family->entries[e].sink;
    sink.rounds[sink.count - 1] += !!family->num_rest;
    if (!ca_stream_is_own(&sink, family->entries[e].words))
      return false;
  }
  return true;
}

/* The loops of terms become one where the next round of one goes on as rounds inside it do: runs of terms are as long
 * as packing.c makes them. False if such a run would begin or end within a loop. */
static bool merge_terms(struct family *family, struct entry *entry) {
  struct ca_stream *end = family->labels + entry->first_label + entry->num_labels;
  struct ca_stream *labels = end - (entry->head >> 32 & 255);
  for (uint32_t d = labels->count - 1; d-- > family->num_loops;) {
    uint32_t last = labels->count - 1;
    bool is_inner = d + 1 == last, goes_on = labels->rounds[d] > 1 || is_inner;
    for (const struct ca_stream *label = labels; label < end && goes_on; label++) {
      uint64_t way = label->strides[last];
      for (uint32_t e = d + 1; e <= last; e++)
        way += label->strides[e] * (label->rounds[e] - 1);
      goes_on = label->strides[d] == way || (is_inner && (label->rounds[d] == 1 || label->rounds[last] == 1));
    }
    if (goes_on && !is_inner)
      return false;
    for (struct ca_stream *label = labels; label < end && goes_on; label++) {
      label->strides[d] = label->strides[label->rounds[last] > 1 ? last : d];
      label->rounds[d] *= label->rounds[last];
      label->count--;
    }
  }
  entry->head |= CA_FAMILY_SUM | (uint64_t)(labels->count - family->num_loops - 1) << 48;
  return true;
}

/* Puts labels in the place of the words that they are loaded from; false if they do not advance by constants in
 * all loops, or if stores are made again. */
static bool look_up(struct family *family) {
  for (uint32_t k = 0; k < family->num_labels; k++)
    if (!ca_stream_look_up(&family->labels[k]))
      return false;
  for (uint32_t e = 0; e < family->num_entries; e++)
    if (family->entries[e].terms && !merge_terms(family, &family->entries[e]))
      return false;
  for (uint32_t d = 0; d < family->num_loops && !family->num_sums; d++)
    if (!changes_in(family, d, NULL))
      return false;
  return true;
}

/* Whether what rounds load stays as it was found although the words of a store get values of their own: it is
 * loaded elsewhere, or in the round that stores there, before it does. */
static bool is_found_before(const struct family *family, const struct entry *store) {
  const struct ca_stream *sink = &store->sink;
  if (!ca_stream_is_once(sink, store->words))
    return false;
  for (uint32_t k = 0; k < family->num_labels; k++) {
    const struct ca_stream *load = &family->labels[k];
    bool is_same = k < store->first_label + store->num_labels && (load->first & CA_WORD_MASK) == sink->first;
    for (uint32_t d = 0; d < load->count; d++)
      is_same &= load->strides[d] == sink->strides[d];
    if (load->is_loaded && !is_same && ca_streams_meet(load, 1, sink, store->words))
      return false;
  }
  return true;
}

/* Whether the labels that are looked up are those that hooks would find. */
static bool are_found(struct family *family) {
  for (uint32_t e = 0; e < family->num_entries; e++) {
    const struct entry *entry = &family->entries[e];
    if (entry->terms || ca_stream_is_own(&entry->sink, entry->words))
      continue;
    family->makes_own = true;
    if (!is_found_before(family, entry))
      return false;
  }
  return true;
}

static uint64_t label_at(const struct ca_stream *stream, uint64_t round) {
  uint64_t label = stream->first + round * innermost(stream);
  return stream->is_loaded ? ca_value_at(label & CA_WORD_MASK) | (label & CA_ROLES) : label;
}

/* Behind the last round until which a label advances by `step`. */
static uint64_t end_of_steps(const struct ca_stream *stream, uint64_t round, uint64_t end, uint64_t step) {
  uint64_t expected = label_at(stream, round);
  while (++round < end && label_at(stream, round) == (expected += step))
    ;
  return round;
}

/* The same for the step that fits best: that of the addresses, unless labels advance otherwise for long. */
static uint64_t segment_of(const struct ca_stream *stream, uint64_t round, uint64_t end, uint64_t *step) {
  *step = innermost(stream);
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

static uint64_t *write_number(const struct ca_stream *stream, uint64_t first, uint64_t step, uint64_t *at) {
  *at++ = first;
  for (uint32_t d = 0; d + 1 < stream->count; d++)
    *at++ = stream->strides[d];
  *at++ = step;
  return at;
}

/* Writes the rounds from `round` on in which all labels advance by constants; returns the words written,
 * 0 if it would stand for the same stores again and again. */
static uint32_t write_segment(const struct family *family, uint64_t *round, uint64_t *out) {
  uint64_t steps[MOST_LABELS], end = family->rounds[family->num_loops - 1], *at = out;
  for (uint32_t k = 0; k < family->num_labels; k++)
    end = segment_of(&family->labels[k], *round, end, &steps[k]);
  if (!family->num_sums && end > *round + 1 && !changes_in(family, family->num_loops - 1, steps))
    return 0;
  *at++ = family->num_loops | (uint64_t)family->num_entries << 48;
  for (uint32_t d = 0; d + 1 < family->num_loops; d++)
    *at++ = family->rounds[d];
  *at++ = end - *round;
  for (uint32_t e = 0; e < family->num_entries; e++) {
    const struct entry *entry = &family->entries[e];
    *at++ = entry->head;
    for (uint32_t d = 0; entry->terms && d <= (entry->head >> 48 & 255); d++)
      *at++ = family->labels[entry->first_label + entry->num_labels - 1].rounds[family->num_loops + d];
    if (!entry->terms)
      at = write_number(&entry->sink, label_at(&entry->sink, *round), innermost(&entry->sink), at);
    for (uint32_t k = entry->first_label; k < entry->first_label + entry->num_labels; k++)
      at = write_number(&family->labels[k], label_at(&family->labels[k], *round), steps[k], at);
  }
  *round = end;
  return (uint32_t)(at - out);
}

/* Writes all segments of a loop from `round` on; 0 if they are too many. */
static uint32_t write_segments(struct family *family, uint64_t round, uint64_t *content) {
  uint32_t size = 2 + 3 * family->num_entries + 2 * family->num_labels, count = 0;
  for (uint64_t segments = 0; round < family->rounds[0]; segments++) {
    if (count + size > MOST_WORDS || segments > round / SEGMENT_ROUNDS + SPARE_SEGMENTS)
      return 0;
    uint32_t written = write_segment(family, &round, content + count);
    if (!written)
      return 0;
    count += written;
  }
  if (count + size > MOST_WORDS)
    return 0;
  if (!family->num_rest)
    return count;
  family->rounds[0]++;
  family->num_entries = family->rest_entries;
  family->num_labels = family->rest_labels;
  return count + write_segment(family, &round, content + count);
}

/* The same for a loop that adds to one word, which holds a copy when it begins: the first round is a segment of
 * its own, as the others find a value of the word's own there. */
static uint32_t write_over_copy(struct family *family, uint64_t *content) {
  const struct entry *store = &family->entries[0];
  uint64_t rounds = family->rounds[0], round = 0, before[16];
  family->rounds[0] = 1;
  uint32_t first = write_segment(family, &round, content);
  family->rounds[0] = rounds;
  for (uint32_t k = 0; k < store->words; k++) {
    before[k] = *ca_shadow(store->sink.first + k);
    ca_set_state(store->sink.first + k, 0);
  }
  uint32_t others = write_segments(family, round, content + first);
  for (uint32_t k = 0; !others && k < store->words; k++)
    ca_set_state(store->sink.first + k, before[k]);
  return others ? first + others : 0;
}

/* Writes a family; 0 if that is not possible. */
static uint32_t write_family(struct family *family, bool is_plain, uint64_t *content) {
  bool is_one = family->num_loops == 1 && !family->num_sums; /* then it may have several segments */
  for (uint32_t k = 0; k < family->num_labels && is_plain; k++)
    family->labels[k].is_loaded = false; /* words are the labels that they hold */
  if (!is_plain && (family->is_own || (family->num_sums && !are_found(family))))
    return 0;
  if (!family->num_sums && !is_plain && !are_sinks_own(family)) {
    bool adds = is_one && family->num_entries == 1 && !innermost(&family->entries[0].sink) && !family->num_rest;
    family->makes_own = adds && !ca_workspace.exists;
    return family->makes_own ? write_over_copy(family, content) : 0;
  }
  if (is_one)
    return write_segments(family, 0, content);
  return look_up(family) ? write_segment(family, &(uint64_t){0}, content) : 0;
}

/* Counts what a family does; if it comes again and leaves the shadow as it is, the loop is remembered. */
static void count_row(const struct family *family, uint64_t loop_hash, uint64_t changes, uint32_t count,
                      const uint64_t *content) {
  const struct entry *entry = family->entries;
  while (entry->terms)
    entry++;
  uint64_t hash = count * ca_multipliers[61];
  for (uint32_t i = 0; i < count; i++) {
    hash = (hash ^ content[i]) * ca_multipliers[i & 31];
    hash ^= hash >> 31;
  }
  hash = (hash * ca_multipliers[62] + CA_ROW_FAMILY) | 1;
  struct ca_event row = {hash, entry->sink.first, (uint32_t)entry->head, CA_ROW_FAMILY, count, content};
  bool is_new = !ca_predicted(hash) && ca_row_lookup(&row).is_new;
  bool was_dropped = ca_state.cells[ca_last_row()].hash != hash;
  if (!is_new && !family->makes_own && !was_dropped)
    ca_repeat_row(loop_hash, changes);
  for (; entry < family->entries + family->num_entries && family->makes_own; entry++)
    if (!entry->terms)
      ca_stream_make_own(&entry->sink, entry->words);
}

/* Counts what loops are going to do and returns 1; or begins to record it and returns 0. `rounds` are those of all
 * loops, multiplied. `given` has the number of loops around the stores and the sums, at most five, the rounds of
 * each, the outermost first, then the entries in the order of their rows
 *   stores: site | labels << 32 | mask of loaded labels << 40 | mask of labels that are results << 48 | words << 56 |
 * (a label is computed from a word's) << 63, the address and its changes, and for each label what it is in the first
 * round, or the word that it is loaded from, with its role, and its changes; results are numbers of sums;
 *   sums: site | labels of a term << 32 | mask of loaded ones, behind that of initial labels << 40 | initial labels
 * << 56 | further loops of terms << 60 | 1 << 62, rounds of each, initial labels, then labels of a term like stores'.
 * Changes are those per round of each loop, of labels of a term also of those of the terms: the bytes times those
 * of a word and, where they are no multiple of these, the place in the word that the address begins with. */
CA_SLOW uint32_t ca_family(uint64_t hash, uint64_t changes, uint64_t rounds, uint32_t count, const uint64_t *given) {
  uint64_t content[MOST_WORDS];
  struct family family;
  family.period = 1;
  family.parts = family.num_rest = family.num_sums = family.num_entries = family.num_labels = 0;
  family.is_own = family.makes_own = false;
  uint32_t written = read_family(&family, count, given) ? write_family(&family, !changes, content) : 0;
  if (!written)
    return ca_repeat_unpredicted(hash | 1, changes, rounds);
  count_row(&family, hash | 1, changes, written, content);
  return 1;
}
