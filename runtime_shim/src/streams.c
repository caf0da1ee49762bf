/* Words that loops look at, before they run: which labels they hold, and whether a store changes what is read. */
#include "streams.h"
#include "state.h"

/* Whether all words from loop `d` inward hold values of their own; or they do from now on. */
static bool are_own(const struct ca_stream *sink, uint32_t words, uint64_t rounds, const struct ca_around *around,
                    uint32_t d, uint64_t word, bool makes) {
  bool is_inner = d == around->count, found = true;
  uint64_t stride = is_inner ? sink->stride : sink->outer[d];
  uint64_t count = !stride ? 1 : is_inner ? rounds : around->rounds[d];
  for (uint64_t i = 0; i < count && found; i++, word += stride) {
    if (!is_inner)
      found = are_own(sink, words, rounds, around, d + 1, word, makes);
    for (uint32_t k = 0; k < words && is_inner; k++)
      if (makes)
        ca_set_state(word + k, 0);
      else
        found &= !*ca_shadow(word + k);
  }
  return found;
}

/* All words that a store stores to hold values of their own; those of workspaces never do. */
bool ca_stream_is_own(const struct ca_stream *sink, uint32_t words, uint64_t rounds, const struct ca_around *around) {
  return are_own(sink, words, rounds, around, 0, sink->first, false);
}

/* They do from now on. */
void ca_stream_make_own(const struct ca_stream *sink, uint32_t words, uint64_t rounds, const struct ca_around *around) {
  are_own(sink, words, rounds, around, 0, sink->first, true);
}

/* The labels at `word`, from loop `d` inward, begin with this one and advance by the strides of `found`. */
static bool is_steady(const struct ca_stream *stream, const struct ca_stream *found, uint64_t rounds,
                      const struct ca_around *around, uint32_t d, uint64_t word, uint64_t label) {
  bool is_inner = d == around->count, is_same = true;
  uint64_t stride = is_inner ? stream->stride : stream->outer[d];
  uint64_t step = is_inner ? found->stride : found->outer[d];
  uint64_t count = !stride ? 1 : is_inner ? rounds : around->rounds[d];
  for (uint64_t i = 0; i < count && is_same; i++, word += stride, label += step)
    is_same = is_inner ? ca_value_at(word) == label
                       : is_steady(stream, found, rounds, around, d + 1, word, label);
  return is_same;
}

/* Puts labels in the place of the words that they are loaded from; false if they do not advance by constants in
 * all loops. */
bool ca_stream_look_up(struct ca_stream *stream, uint64_t rounds, const struct ca_around *around) {
  if (!stream->is_loaded) /* a label, maybe that of a register, which has no shadow */
    return true;
  struct ca_stream found = {.first = ca_value_at(stream->first)};
  found.stride = rounds > 1 ? ca_value_at(stream->first + stream->stride) - found.first : 0;
  for (uint32_t d = 0; d < around->count; d++)
    found.outer[d] = around->rounds[d] > 1 ? ca_value_at(stream->first + stream->outer[d]) - found.first : 0;
  if (!is_steady(stream, &found, rounds, around, 0, stream->first, found.first))
    return false;
  *stream = found;
  return true;
}

/* The lowest word, and the one behind the highest. */
static void bounds(const struct ca_stream *stream, uint64_t rounds, uint32_t words, const struct ca_around *around,
                   int64_t *low, int64_t *end) {
  *low = *end = (int64_t)stream->first;
  for (uint32_t d = 0; d <= around->count; d++) {
    bool is_inner = d == around->count;
    int64_t way = (int64_t)((is_inner ? stream->stride : stream->outer[d]) *
                            ((is_inner ? rounds : around->rounds[d]) - 1));
    *(way < 0 ? low : end) += way;
  }
  *end += words;
}

/* Whether some word may be one of both. */
bool ca_streams_meet(const struct ca_stream *one, uint64_t one_rounds, uint32_t one_words, const struct ca_stream *other,
                     uint64_t other_rounds, uint32_t other_words, const struct ca_around *around) {
  int64_t low[2], end[2];
  bounds(one, one_rounds, one_words, around, &low[0], &end[0]);
  bounds(other, other_rounds, other_words, around, &low[1], &end[1]);
  return low[0] < end[1] && low[1] < end[0];
}

/* Whether no word is stored to twice: each loop goes farther than those inside it. */
bool ca_stream_is_once(const struct ca_stream *sink, uint32_t words, uint64_t rounds, const struct ca_around *around) {
  uint64_t way = words; /* of the loops with smaller strides, and the store itself */
  uint32_t done = 0, count = around->count + 1;
  for (uint32_t turn = 0; turn < count; turn++) {
    uint64_t least = UINT64_MAX, times = 1;
    uint32_t next = 0;
    for (uint32_t d = 0; d < count; d++) {
      bool is_inner = d == around->count;
      int64_t stride = (int64_t)(is_inner ? sink->stride : sink->outer[d]);
      uint64_t size = (uint64_t)(stride < 0 ? -stride : stride);
      if (!(done >> d & 1) && (size < least || least == UINT64_MAX)) {
        least = size;
        times = is_inner ? rounds : around->rounds[d];
        next = d;
      }
    }
    done |= 1u << next;
    if (times > 1 && least < way)
      return false;
    way += least * (times - 1);
  }
  return true;
}

/* Counts what a loop or a nest does, of which all but the hash is given; if it comes again and leaves the shadow
 * as it is, the loop is remembered. */
void ca_streams_count(struct ca_event *row, uint64_t loop_hash, uint64_t changes, bool may_repeat) {
  uint64_t hash = row->count * ca_multipliers[61];
  for (uint32_t i = 0; i < row->count; i++) {
    hash = (hash ^ row->labels[i]) * ca_multipliers[i & 31];
    hash ^= hash >> 31;
  }
  row->hash = (hash * ca_multipliers[62] + row->flags) | 1;
  bool is_new = !ca_predicted(row->hash) && ca_row_lookup(row).is_new;
  bool was_dropped = ca_state.cells[ca_last_row()].hash != row->hash;
  if (!is_new && may_repeat && !was_dropped)
    ca_repeat_row(loop_hash, changes);
}
