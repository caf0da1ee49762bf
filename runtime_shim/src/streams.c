/* Words that loops look at, before they run: which labels they hold, and whether a store changes what is read. */
#include "streams.h"
#include "state.h"

/* Whether all words from loop `d` inward hold values of their own; or they do from now on. */
static bool are_own(const struct ca_stream *sink, uint32_t words, uint32_t d, uint64_t word, bool makes) {
  bool is_inner = d + 1 == sink->count, found = true;
  uint64_t stride = sink->strides[d], count = stride ? sink->rounds[d] : 1;
  for (uint64_t i = 0; i < count && found; i++, word += stride) {
    if (!is_inner)
      found = are_own(sink, words, d + 1, word, makes);
    for (uint32_t k = 0; k < words && is_inner; k++)
      if (makes)
        ca_set_state(word + k, 0);
      else
        found &= !*ca_shadow(word + k);
  }
  return found;
}

/* All words that a store stores to hold values of their own; those of workspaces never do. */
bool ca_stream_is_own(const struct ca_stream *sink, uint32_t words) {
  return are_own(sink, words, 0, sink->first, false);
}

/* They do from now on. */
void ca_stream_make_own(const struct ca_stream *sink, uint32_t words) { are_own(sink, words, 0, sink->first, true); }

/* The labels at `word`, from loop `d` inward, begin with this one and advance by the strides of `found`. */
static bool is_steady(const struct ca_stream *stream, const struct ca_stream *found, uint32_t d, uint64_t word,
                      uint64_t label) {
  bool is_inner = d + 1 == stream->count, is_same = true;
  uint64_t stride = stream->strides[d], step = found->strides[d], count = stride ? stream->rounds[d] : 1;
  for (uint64_t i = 0; i < count && is_same; i++, word += stride, label += step)
    is_same = is_inner ? ca_value_at(word) == label : is_steady(stream, found, d + 1, word, label);
  return is_same;
}

/* Puts labels in the place of the words that they are loaded from; false if they do not advance by constants in
 * all loops. */
bool ca_stream_look_up(struct ca_stream *stream) {
  if (!stream->is_loaded) /* a label, maybe that of a register, which has no shadow */
    return true;
  struct ca_stream found = *stream;
  uint64_t word = stream->first & CA_WORD_MASK;
  found.first = ca_value_at(word);
  found.is_loaded = false;
  for (uint32_t d = 0; d < found.count; d++)
    found.strides[d] = found.rounds[d] > 1 ? ca_value_at(word + stream->strides[d]) - found.first : 0;
  if (!is_steady(stream, &found, 0, word, found.first))
    return false;
  found.first |= stream->first & CA_ROLES;
  *stream = found;
  return true;
}

/* The lowest word, and the one behind the highest. */
static void bounds(const struct ca_stream *stream, uint32_t words, int64_t *low, int64_t *end) {
  *low = *end = (int64_t)(stream->first & CA_WORD_MASK);
  for (uint32_t d = 0; d < stream->count; d++) {
    int64_t way = (int64_t)(stream->strides[d] * (stream->rounds[d] - 1));
    *(way < 0 ? low : end) += way;
  }
  *end += words;
}

/* Whether some word may be one of both. */
bool ca_streams_meet(const struct ca_stream *one, uint32_t one_words, const struct ca_stream *other,
                     uint32_t other_words) {
  int64_t low[2], end[2];
  bounds(one, one_words, &low[0], &end[0]);
  bounds(other, other_words, &low[1], &end[1]);
  return low[0] < end[1] && low[1] < end[0];
}

static uint64_t size_of(uint64_t stride) { return (int64_t)stride < 0 ? 0 - stride : stride; }

/* Whether no word is stored to twice: each loop goes farther than those with smaller strides, and the store itself. */
bool ca_stream_is_once(const struct ca_stream *sink, uint32_t words) {
  for (uint32_t d = 0; d < sink->count; d++) {
    uint64_t way = words, size = size_of(sink->strides[d]);
    for (uint32_t e = 0; e < sink->count; e++)
      way += e != d && size_of(sink->strides[e]) <= size ? size_of(sink->strides[e]) * (sink->rounds[e] - 1) : 0;
    if (sink->rounds[d] > 1 && size < way)
      return false;
  }
  return true;
}
