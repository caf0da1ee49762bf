/* Goes through the log: the stores of its rows, and the chains that ranges stand for. */
#include "survey.h"
#include <stdlib.h>
#include <string.h>

#define MOST_OUTER 4u /* see ranges.c */
#define OTHERS (CA_ROW_FILL | CA_ROW_REGISTER | CA_ROW_UPDATE) /* rows that are no stores to homes */

/* A segment of a range: rounds and stores, and the rounds of loops around it. */
struct segment {
  uint64_t rounds;
  uint32_t num_stores;
  uint32_t num_outer;
  const uint64_t *outer;
  uint64_t *stores;
};

static struct segment segment_at(uint64_t *at) {
  uint32_t outer = 0;
  while (!(at[outer] >> 48))
    outer++;
  return (struct segment){at[outer] & 0xffffffffffff, (uint32_t)(at[outer] >> 48), outer, at,
                          at + outer + 1};
}

/* Words of a store of a segment. */
static uint64_t size_of(const struct segment *segment, const uint64_t *store) {
  uint64_t labels = store[0] >> 32;
  return 3 + 2 * labels + segment->num_outer * (1 + labels);
}

static uint64_t *next_segment(const struct segment *segment) {
  uint64_t *at = segment->stores;
  for (uint32_t s = 0; s < segment->num_stores; s++)
    at += size_of(segment, at);
  return at;
}

/* Moves the first round of all stores on by so many rounds of a loop around. */
static void move_on(const struct segment *segment, uint32_t loop, uint64_t rounds) {
  uint64_t *store = segment->stores;
  for (uint32_t s = 0; s < segment->num_stores; s++, store += size_of(segment, store)) {
    uint64_t labels = store[0] >> 32;
    const uint64_t *strides = store + 3 + 2 * labels + loop * (1 + labels);
    store[1] += rounds * strides[0];
    for (uint64_t k = 0; k < labels; k++)
      store[3 + k] += rounds * strides[1 + k];
  }
}

/* Goes on to the next rounds of the loops around; false behind the last ones, which are the first ones again. */
static bool next_rounds(const struct segment *segment, uint64_t *rounds) {
  for (uint32_t loop = segment->num_outer; loop-- > 0;) {
    if (++rounds[loop] < segment->outer[loop]) {
      move_on(segment, loop, 1);
      return true;
    }
    move_on(segment, loop, 1 - rounds[loop]);
    rounds[loop] = 0;
  }
  return false;
}

static void visit_rounds(struct ca_chain *chain, const struct segment *segment,
                         void (*visit)(const struct ca_chain *chain)) {
  const uint64_t *store = segment->stores;
  for (uint32_t s = 0; s < segment->num_stores; s++, store += size_of(segment, store)) {
    chain->site = (uint32_t)store[0];
    chain->num_labels = (uint32_t)(store[0] >> 32);
    chain->labels = store + 3;
    chain->sink = store[1];
    for (chain->round = 0; chain->round < segment->rounds; chain->round++, chain->sink += store[2])
      visit(chain);
  }
}

/* The words of a range, aligned; their units need not be. */
static uint64_t *content_of(const struct ca_head *head, const int32_t *unit, uint64_t *content) {
  memcpy(content, unit, head->num_labels * sizeof *content);
  return content + head->num_labels;
}

void ca_visit_range(const struct ca_head *head, const int32_t *unit, struct ca_chain *chain,
                    void (*visit)(const struct ca_chain *chain)) {
  static uint64_t content[UINT16_MAX];
  uint64_t *end = content_of(head, unit, content);
  chain->units = 0;
  for (uint64_t *at = content; at < end;) {
    struct segment segment = segment_at(at);
    uint64_t rounds[MOST_OUTER] = {0};
    do
      visit_rounds(chain, &segment, visit);
    while (next_rounds(&segment, rounds));
    at = next_segment(&segment);
  }
}

static void visit_sinks(const struct ca_head *head, const int32_t *unit,
                        void (*visit)(const struct ca_sinks *sinks)) {
  static uint64_t content[UINT16_MAX];
  uint64_t *end = content_of(head, unit, content);
  for (uint64_t *at = content; at < end;) {
    struct segment segment = segment_at(at);
    uint64_t rounds[MOST_OUTER] = {0};
    do {
      const uint64_t *store = segment.stores;
      for (uint32_t s = 0; s < segment.num_stores; s++, store += size_of(&segment, store))
        visit(&(struct ca_sinks){store[1], store[2], segment.rounds, (uint32_t)store[0], true});
    } while (next_rounds(&segment, rounds));
    at = next_segment(&segment);
  }
}

void ca_walk_sinks(void (*visit)(const struct ca_sinks *sinks)) {
  const int32_t *unit = (const int32_t *)ca_labels.data;
  for (uint64_t row = 0; row < ca_num_rows; row++) {
    const struct ca_head *head = ca_row_heads() + row;
    if (head->flags & CA_ROW_RANGE)
      visit_sinks(head, unit, visit);
    else if (!(head->flags & OTHERS))
      visit(&(struct ca_sinks){head->sink, 0, 1, head->site, false});
    unit += ca_row_units(head);
  }
}
