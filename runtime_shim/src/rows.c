/* Recording of value-flow chains: the fast path (predicted row), the hash table, the columns. */
#include "state.h"
#include <string.h>

uint64_t ca_num_rows;

static uint32_t *table; /* row + 1, open addressing */
static uint64_t table_mask;

static uint64_t slot_of(uint64_t hash) {
  /* the chain hash is linear in its labels: mix before taking low bits */
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9ull;
  return (hash ^ (hash >> 32)) & table_mask;
}

static bool grow_table(void) {
  uint64_t size = table_mask ? (table_mask + 1) * 2 : 1u << 16;
  uint32_t *old = table;
  uint64_t old_bytes = table_mask ? (table_mask + 1) * sizeof *table : 0;
  uint32_t *fresh = ca_map(size * sizeof *table);
  if (!fresh)
    return false;
  table = fresh;
  table_mask = size - 1;
  for (uint64_t row = 0; row < ca_num_rows; row++) {
    uint64_t slot = slot_of(ca_state.cells[row].hash);
    while (table[slot])
      slot = (slot + 1) & table_mask;
    table[slot] = (uint32_t)(row + 1);
  }
  extern void ca_unmap(void *, uint64_t);
  if (old)
    ca_unmap(old, old_bytes);
  return true;
}

/* The row with this hash, or the slot where it belongs. */
static uint64_t find(uint64_t hash, uint64_t *slot_out) {
  uint64_t slot = slot_of(hash);
  for (; table[slot]; slot = (slot + 1) & table_mask)
    if (ca_state.cells[table[slot] - 1].hash == hash)
      return table[slot];
  *slot_out = slot;
  return 0;
}

static bool is_narrow(uint64_t sink, uint32_t count, const uint64_t *labels) {
  for (uint32_t i = 0; i < count; i++) {
    int64_t difference = (int64_t)(labels[i] - sink);
    if ((labels[i] >> 42) || labels[i] == 0 || difference != (int32_t)difference)
      return false;
  }
  return true;
}

static void append_labels(struct ca_head *head, uint32_t count, const uint64_t *labels) {
  if (!(head->flags & (CA_ROW_REGISTER | CA_ROW_FILL)) && is_narrow(head->sink, count, labels)) {
    int32_t *out = ca_column_push(&ca_labels, count * 4ull);
    for (uint32_t i = 0; out && i < count; i++)
      out[i] = (int32_t)(labels[i] - head->sink);
    return;
  }
  head->flags |= CA_ROW_WIDE;
  unsigned char *out = ca_column_push(&ca_labels, count * 8ull);
  if (out)
    memcpy(out, labels, count * 8ull);
}

static void append(uint64_t hash, uint32_t site, uint64_t sink, uint32_t flags, uint32_t count,
                   const uint64_t *labels) {
  struct ca_head *head = ca_column_push(&ca_heads, sizeof *head);
  if (!head || ca_num_rows >= UINT32_MAX - 1) {
    ca_statistics.dropped_rows++;
    return;
  }
  *head = (struct ca_head){sink, site, (uint16_t)count, (uint16_t)flags};
  append_labels(head, count, labels);
  ca_state.cells[ca_num_rows].hash = hash;
  ca_num_rows++;
}

/* Row that was not predicted: looks it up, appends it when new, moves the cursor behind it.
 * Returns its index, `is_new` tells whether it was appended. */
uint64_t ca_row_lookup(uint64_t hash, uint32_t site, uint64_t sink, uint32_t flags, uint32_t count,
                       const uint64_t *labels, bool *is_new) {
  if (ca_num_rows * 2 >= table_mask && !grow_table()) {
    ca_statistics.dropped_rows++;
    return 0;
  }
  uint64_t slot = 0;
  uint64_t found = find(hash, &slot);
  *is_new = !found;
  if (!found) {
    append(hash, site, sink, flags, count, labels);
    found = ca_num_rows;
    table[slot] = (uint32_t)found;
  } else {
    const struct ca_head *head = (const struct ca_head *)ca_heads.data + (found - 1);
    if (head->site != site || head->sink != sink || head->num_labels != count)
      ca_statistics.hash_collisions++;
  }
  uint64_t row = found - 1;
  ca_state.cells[row].count += ca_active;
  ca_state.cursor = ca_state.cells + row + 1;
  return row;
}

CA_SLOW void ca_row_miss(uint64_t hash, uint32_t site, uint64_t sink, uint32_t count,
                         const uint64_t *labels) {
  bool is_new;
  ca_row_lookup(hash, site, sink, 0, count, labels, &is_new);
}

CA_SLOW uint64_t ca_register_miss(uint64_t hash, uint32_t site, uint32_t count, const uint64_t *labels) {
  bool is_new;
  return CA_REG | ca_row_lookup(hash, site, 0, CA_ROW_REGISTER, count, labels, &is_new);
}
