/* Goes through the log: the stores of its rows, and the chains that ranges stand for. */
#include "survey.h"
#include <stdlib.h>
#include <string.h>

#define OTHERS (CA_ROW_FILL | CA_ROW_REGISTER | CA_ROW_UPDATE) /* rows that are no stores to homes */

/* A segment of a range: rounds and stores; the first store is behind it. */
struct segment {
  uint64_t rounds;
  uint32_t num_stores;
  const uint64_t *stores;
};

static struct segment segment_at(const uint64_t *at) {
  return (struct segment){at[0] & 0xffffffffffff, (uint32_t)(at[0] >> 48), at + 1};
}

/* Words of a store of a segment. */
static uint64_t size_of(const uint64_t *store) { return 3 + 2 * (store[0] >> 32); }

static const uint64_t *next_segment(const struct segment *segment) {
  const uint64_t *at = segment->stores;
  for (uint32_t s = 0; s < segment->num_stores; s++)
    at += size_of(at);
  return at;
}

static void visit_segment(struct ca_chain *chain, const struct segment *segment,
                          void (*visit)(const struct ca_chain *chain)) {
  const uint64_t *store = segment->stores;
  for (uint32_t s = 0; s < segment->num_stores; s++, store += size_of(store)) {
    chain->site = (uint32_t)store[0];
    chain->num_labels = (uint32_t)(store[0] >> 32);
    chain->labels = store + 3;
    chain->sink = store[1];
    for (chain->round = 0; chain->round < segment->rounds; chain->round++, chain->sink += store[2])
      visit(chain);
  }
}

/* The words of a range, aligned; their units need not be. */
static const uint64_t *content_of(const struct ca_head *head, const int32_t *unit, uint64_t *content) {
  memcpy(content, unit, head->num_labels * sizeof *content);
  return content + head->num_labels;
}

void ca_visit_range(const struct ca_head *head, const int32_t *unit, struct ca_chain *chain,
                    void (*visit)(const struct ca_chain *chain)) {
  static uint64_t content[UINT16_MAX];
  const uint64_t *end = content_of(head, unit, content);
  chain->units = 0;
  for (const uint64_t *at = content; at < end;) {
    struct segment segment = segment_at(at);
    visit_segment(chain, &segment, visit);
    at = next_segment(&segment);
  }
}

static void visit_sinks(const struct ca_head *head, const int32_t *unit,
                        void (*visit)(const struct ca_sinks *sinks)) {
  static uint64_t content[UINT16_MAX];
  const uint64_t *end = content_of(head, unit, content);
  for (const uint64_t *at = content; at < end;) {
    struct segment segment = segment_at(at);
    const uint64_t *store = segment.stores;
    for (uint32_t s = 0; s < segment.num_stores; s++, store += size_of(store))
      visit(&(struct ca_sinks){store[1], store[2], segment.rounds, (uint32_t)store[0], true});
    at = store;
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
