/* The index of rows (anchors.c). */
#ifndef CA_ANCHORS_H
#define CA_ANCHORS_H

#include "state.h"

struct ca_entry {
  uint32_t row; /* + 1 */
  uint32_t tag; /* of its hash */
};

/* Rows of an anchor. */
struct ca_bucket {
  uint32_t rows;
  uint32_t size; /* entries */
  struct ca_entry entries[];
};

#pragma GCC visibility push(hidden)
bool ca_anchors_reserve(void);
uint64_t ca_anchor_find(const struct ca_event *event);
void ca_anchor_fetch(const struct ca_event *event);
bool ca_anchor_room(const struct ca_event *event);
void ca_anchor_put(const struct ca_event *event, uint64_t row);
uint32_t ca_anchor_rows(uint64_t word, struct ca_entry *single, const struct ca_entry **entries);
#pragma GCC visibility pop

#endif
