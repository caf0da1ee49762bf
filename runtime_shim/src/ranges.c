/* Loops and loop nests that are met for the first time, whose rows follow from addresses and from the shadow that
 * they find.
 *
 * If every word that a loop stores to holds a value of its own, nothing that the loop does changes the shadow.
 * Then the labels of its loads can be looked up before it runs: where words hold values of their own they
 * follow from the address, where an array was copied they advance as that array does. Rounds in which all
 * labels advance by constants are a segment; all segments of the loop are one row of the log. It is counted,
 * predicted and remembered as any other, and the loop runs without hooks. Rows that several such loops share,
 * or that hooks recorded, become one when the graph is built. Of a nest that stores in its innermost loop alone,
 * all rounds have to be one segment, whose labels advance by constants in the loops around it, too.
 */
#include "state.h"
#include "streams.h"

#define FEWEST_ROUNDS 8u /* of fewer, rows of their own are smaller */
#define MOST_STORES 16u
#define MOST_LABELS 48u
#define MOST_WORDS 1024u /* of a row */
#define SEGMENT_ROUNDS 8u
#define SPARE_SEGMENTS 4u /* that may be shorter */

struct store {
  uint32_t site;
  uint32_t words;
  struct ca_stream sink;
  uint32_t first_label;
  uint32_t num_labels;
};

struct loop {
  uint64_t rounds;              /* of the innermost one */
  struct ca_around around;
  uint32_t num_stores;
  uint32_t num_labels;
  uint32_t num_rest;            /* rounds that are left over where several are one */
  uint32_t rest_stores;         /* in those */
  uint32_t rest_labels;
  bool makes_own; /* the word that it stores to */
  bool is_own; /* some labels are computed from those of words that hold values of their own */
  struct store stores[MOST_STORES];
  struct ca_stream streams[MOST_LABELS];
};

/* Strides of the loops around. */
static void read_outer(const struct loop *loop, const uint64_t *given, uint32_t step, struct ca_stream *stream) {
  for (uint32_t d = 0; d < loop->around.count; d++)
    stream->outer[d] = ca_stride_words(given[d * step]);
}

/* Whether some number of a store changes in every loop; otherwise it makes the same rows again. */
static bool is_changing(const struct loop *loop, const struct store *store) {
  const struct ca_stream *labels = &loop->streams[store->first_label];
  for (uint32_t d = 0; d <= loop->around.count; d++) {
    uint64_t any = d < loop->around.count ? store->sink.outer[d] : store->sink.stride;
    for (uint32_t k = 0; k < store->num_labels; k++)
      any |= d < loop->around.count ? labels[k].outer[d] : labels[k].stride;
    if (!any)
      return false;
  }
  return true;
}

/* A label or sink of the round `turn` of as many as it takes to advance by whole words. */
static struct ca_stream stream_at(uint64_t first, uint64_t change, uint64_t turn, uint64_t period) {
  uint64_t moved = (change & 3) + turn * ca_stride_bytes(change);
  return (struct ca_stream){.first = first + (uint64_t)((int64_t)moved >> 2),
                         .stride = (uint64_t)((int64_t)(ca_stride_bytes(change) * period) >> 2)};
}

/* Reads a store as it is in this turn; the words that describe it, 0 if there is no room. */
static uint32_t read_store(struct loop *loop, const uint64_t *given, uint64_t turn, uint64_t period) {
  uint64_t head = given[0];
  uint32_t labels = head >> 32 & 255, loaded = head >> 40 & 255;
  if (loop->num_stores == MOST_STORES || loop->num_labels + labels > MOST_LABELS)
    return 0;
  loop->is_own |= head >> 63;
  struct store *store = &loop->stores[loop->num_stores++];
  *store = (struct store){(uint32_t)head, head >> 48 & 15, stream_at(ca_word(given[1]), given[2], turn, period),
                          loop->num_labels, labels};
  const uint64_t *outer = given + 3 + 2 * labels;
  read_outer(loop, outer, 1 + labels, &store->sink);
  for (uint32_t k = 0; k < labels; k++) {
    struct ca_stream *stream = &loop->streams[loop->num_labels++];
    *stream = stream_at(given[3 + k], given[3 + labels + k], turn, period);
    stream->is_loaded = loaded >> k & 1;
    read_outer(loop, outer + 1 + k, 1 + labels, stream);
  }
  return is_changing(loop, store) ? 3 + 2 * labels + loop->around.count * (1 + labels) : 0;
}

/* Rounds after which all addresses have advanced by whole words. */
static uint64_t period_of(const struct loop *loop, uint32_t count, const uint64_t *given) {
  uint64_t parts = 0;
  for (uint32_t at = 2 + loop->around.count; at < count;) {
    uint32_t labels = given[at] >> 32 & 255;
    uint32_t changes = 1 + labels + loop->around.count * (1 + labels);
    parts |= ca_stride_bytes(given[at + 2]);
    for (uint32_t k = 0; k + 1 < changes; k++)
      parts |= ca_stride_bytes(given[at + 3 + labels + k]);
    at += 2 + labels + changes;
  }
  return parts & 1 ? 4 : parts & 2 ? 2 : 1;
}

/* What a guard found out. Bytes and half words: as many rounds as advance by a word are one, the rest of them
 * is read apart. False if it does not fit, or if rows would be the same again and again. */
static bool read_loop(struct loop *loop, uint32_t count, const uint64_t *given) {
  loop->around.count = (uint32_t)given[0];
  if (loop->around.count > CA_MOST_OUTER)
    return false;
  for (uint32_t d = 0; d < loop->around.count; d++)
    loop->around.rounds[d] = given[1 + d];
  uint64_t period = period_of(loop, count, given), rounds = given[1 + loop->around.count];
  if (period > 1 && loop->around.count)
    return false;
  loop->rounds = rounds / period;
  loop->num_rest = (uint32_t)(rounds % period);
  for (uint64_t turn = 0; turn < period; turn++) {
    if (turn == loop->num_rest) {
      loop->rest_stores = loop->num_stores;
      loop->rest_labels = loop->num_labels;
    }
    for (uint32_t at = 2 + loop->around.count; at < count;) {
      uint32_t taken = read_store(loop, given + at, turn, period);
      if (!taken)
        return false;
      at += taken;
    }
  }
  return true;
}

static bool are_sinks_own(const struct loop *loop) {
  for (uint32_t s = 0; s < loop->num_stores; s++)
    if (!ca_stream_is_own(&loop->stores[s].sink, loop->stores[s].words, loop->rounds + !!loop->num_rest, &loop->around))
      return false;
  return true;
}

/* Puts labels in the place of the words that they are loaded from; false if they do not advance by constants in
 * all loops. */
static bool look_up(struct loop *loop) {
  for (uint32_t k = 0; k < loop->num_labels; k++)
    if (!ca_stream_look_up(&loop->streams[k], loop->rounds, &loop->around))
      return false;
  for (uint32_t s = 0; s < loop->num_stores; s++)
    if (!is_changing(loop, &loop->stores[s]))
      return false;
  return true;
}

static uint64_t label_at(const struct ca_stream *stream, uint64_t round) {
  return stream->is_loaded ? ca_value_at(stream->first + round * stream->stride)
                           : stream->first + round * stream->stride;
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

/* Writes a sink or a label: the number, and its change in each loop, in the innermost one by `step`. */
static uint64_t *write_number(const struct loop *loop, const struct ca_stream *stream, uint64_t first, uint64_t step,
                              uint64_t *at) {
  *at++ = first;
  for (uint32_t d = 0; d < loop->around.count; d++)
    *at++ = stream->outer[d];
  *at++ = step;
  return at;
}

/* Whether rounds from `round` on differ: a sink moves, or a label does. */
static bool is_moving(const struct loop *loop, const uint64_t *steps) {
  for (uint32_t s = 0; s < loop->num_stores; s++) {
    const struct store *store = &loop->stores[s];
    uint64_t any = store->sink.stride;
    for (uint32_t k = 0; k < store->num_labels; k++)
      any |= steps[store->first_label + k];
    if (!any)
      return false;
  }
  return true;
}

/* Writes the rounds from `round` on in which all labels advance by constants; returns the words written,
 * 0 if it would stand for the same row again and again. */
static uint32_t write_segment(const struct loop *loop, bool is_plain, uint64_t *round, uint64_t *out) {
  uint64_t steps[MOST_LABELS], end = loop->rounds;
  for (uint32_t k = 0; k < loop->num_labels; k++) {
    steps[k] = loop->streams[k].stride;
    if (!is_plain)
      end = segment_of(&loop->streams[k], *round, end, &steps[k]);
  }
  uint64_t *at = out;
  if (end > *round + 1 && !is_moving(loop, steps))
    return 0;
  *at++ = (1 + loop->around.count) | (uint64_t)loop->num_stores << 48;
  for (uint32_t d = 0; d < loop->around.count; d++)
    *at++ = loop->around.rounds[d];
  *at++ = end - *round;
  for (uint32_t s = 0; s < loop->num_stores; s++) {
    const struct store *store = &loop->stores[s];
    *at++ = store->site | (uint64_t)store->num_labels << 32;
    at = write_number(loop, &store->sink, store->sink.first + *round * store->sink.stride, store->sink.stride, at);
    for (uint32_t k = store->first_label; k < store->first_label + store->num_labels; k++) {
      const struct ca_stream *stream = &loop->streams[k];
      uint64_t first = is_plain ? stream->first + *round * stream->stride : label_at(stream, *round);
      at = write_number(loop, stream, first, steps[k], at);
    }
  }
  *round = end;
  return (uint32_t)(at - out);
}

/* Writes the rounds that are left over. */
static uint32_t write_rest(struct loop *loop, bool is_plain, uint64_t *content) {
  uint64_t round = loop->rounds;
  loop->rounds++;
  loop->num_stores = loop->rest_stores;
  loop->num_labels = loop->rest_labels;
  return write_segment(loop, is_plain, &round, content);
}

/* Writes all segments from `round` on; 0 if they are too many. */
static uint32_t write_segments(struct loop *loop, bool is_plain, uint64_t round, uint64_t *content) {
  uint32_t size = 2 + 3 * loop->num_stores + 2 * loop->num_labels, count = 0;
  for (uint64_t segments = 0; round < loop->rounds; segments++) {
    if (count + size > MOST_WORDS || segments > round / SEGMENT_ROUNDS + SPARE_SEGMENTS)
      return 0;
    uint32_t written = write_segment(loop, is_plain, &round, content + count);
    if (!written)
      return 0;
    count += written;
  }
  if (count + size > MOST_WORDS)
    return 0;
  return loop->num_rest ? count + write_rest(loop, is_plain, content + count) : count;
}

/* The same for a loop that adds to one word, which holds a copy when it begins: the first round is a segment of
 * its own, as the others find a value of the word's own there. */
static uint32_t write_over_copy(struct loop *loop, uint64_t *content) {
  const struct store *store = &loop->stores[0];
  uint64_t rounds = loop->rounds, round = 0, before[15];
  loop->rounds = 1;
  uint32_t first = write_segment(loop, false, &round, content);
  loop->rounds = rounds;
  for (uint32_t k = 0; k < store->words; k++) {
    before[k] = *ca_shadow(store->sink.first + k);
    ca_set_state(store->sink.first + k, 0);
  }
  uint32_t others = write_segments(loop, false, round, content + first);
  for (uint32_t k = 0; !others && k < store->words; k++)
    ca_set_state(store->sink.first + k, before[k]);
  return others ? first + others : 0;
}

/* Writes a loop, or a nest; 0 if that is not possible. */
static uint32_t write_loop(struct loop *loop, bool is_plain, uint64_t *content) {
  if (!is_plain && loop->is_own)
    return 0;
  if (!is_plain && !are_sinks_own(loop)) {
    bool is_sum = loop->num_stores == 1 && !loop->stores[0].sink.stride && !loop->num_rest;
    loop->makes_own = is_sum && !loop->around.count && !ca_workspace.exists;
    return loop->makes_own ? write_over_copy(loop, content) : 0;
  }
  if (!loop->around.count)
    return write_segments(loop, is_plain, 0, content);
  if (!is_plain && !look_up(loop))
    return 0;
  uint64_t round = 0;
  return write_segment(loop, true, &round, content);
}

/* Counts what a loop is going to do and returns 1; or begins to record it and returns 0. `rounds` are those of
 * all loops, multiplied. `given` has the number of loops around the innermost one, the rounds of each and of that
 * one; then for each store
 *   site | labels << 32 | mask of loaded labels << 40 | words << 48 | (a label is computed from a word's) <<
 * 63, the address and its change per round, words that are loaded or labels, of the first round, and their
 * changes per round; for each loop around, the changes per round of that. Changes are four times the bytes and,
 * where the bytes are no multiple of four, the place in the word that the address begins with. */
CA_SLOW uint32_t ca_range(uint64_t hash, uint64_t changes, uint64_t rounds, uint32_t count,
                          const uint64_t *given) {
  uint64_t content[MOST_WORDS];
  struct loop loop;
  loop.num_stores = loop.num_labels = loop.is_own = loop.makes_own = 0;
  bool is_possible = rounds >= FEWEST_ROUNDS && read_loop(&loop, count, given);
  uint32_t written = is_possible ? write_loop(&loop, !changes, content) : 0;
  if (!written)
    return ca_repeat_unpredicted(hash | 1, changes, rounds);
  const struct store *first = &loop.stores[0];
  struct ca_event row = {0, first->sink.first, first->site, CA_ROW_FAMILY, written, content};
  ca_streams_count(&row, hash | 1, changes, !loop.makes_own);
  return 1;
}
