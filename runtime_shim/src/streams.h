/* Words or labels that advance by constants in the rounds of loops, one in the other: what families are made of. */
#ifndef CA_STREAMS_H
#define CA_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#define CA_MOST_LOOPS 6u

/* A sink, or a label: of the word that is loaded in the first round, with its role, or the label of all rounds. */
struct ca_stream {
  uint64_t first;
  uint32_t count;                  /* of loops, the outermost first; those of the terms of a sum are the inner ones */
  uint64_t rounds[CA_MOST_LOOPS];
  uint64_t strides[CA_MOST_LOOPS]; /* words, or 0 */
  bool is_loaded;
};

#pragma GCC visibility push(hidden)
bool ca_stream_is_own(const struct ca_stream *sink, uint32_t words);
void ca_stream_make_own(const struct ca_stream *sink, uint32_t words);
bool ca_stream_look_up(struct ca_stream *stream);
bool ca_stream_is_once(const struct ca_stream *sink, uint32_t words);
bool ca_streams_meet(const struct ca_stream *one, uint32_t one_words, const struct ca_stream *other,
                     uint32_t other_words);
#pragma GCC visibility pop

#endif
