/* Words or labels that advance by constants in the rounds of loops, one in the other: what ranges and nests are
 * made of. */
#ifndef CA_STREAMS_H
#define CA_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#define CA_MOST_OUTER 4u /* loops around the innermost one */

/* A sink, or a label: of the word that is loaded in the first round, or the label of all rounds. */
struct ca_stream {
  uint64_t first;
  uint64_t stride;                 /* words, or 0 */
  uint64_t outer[CA_MOST_OUTER];   /* strides in the loops around, the outermost first */
  bool is_loaded;
};

/* Loops around the innermost one, the outermost first. */
struct ca_around {
  uint32_t count;
  uint64_t rounds[CA_MOST_OUTER];
};

/* Of a change that was given: four times the bytes, and the place in the word that it begins with. */
static inline uint64_t ca_stride_bytes(uint64_t change) { return (uint64_t)((int64_t)change >> 2); }

static inline uint64_t ca_stride_words(uint64_t change) { return (uint64_t)((int64_t)change >> 4); }

#pragma GCC visibility push(hidden)
struct ca_event;
void ca_streams_count(struct ca_event *row, uint64_t loop_hash, uint64_t changes, bool may_repeat);
bool ca_stream_is_own(const struct ca_stream *sink, uint32_t words, uint64_t rounds, const struct ca_around *around);
void ca_stream_make_own(const struct ca_stream *sink, uint32_t words, uint64_t rounds, const struct ca_around *around);
bool ca_stream_look_up(struct ca_stream *stream, uint64_t rounds, const struct ca_around *around);
bool ca_stream_is_once(const struct ca_stream *sink, uint32_t words, uint64_t rounds, const struct ca_around *around);
bool ca_streams_meet(const struct ca_stream *one, uint64_t one_rounds, uint32_t one_words, const struct ca_stream *other,
                     uint64_t other_rounds, uint32_t other_words, const struct ca_around *around);
#pragma GCC visibility pop

#endif
