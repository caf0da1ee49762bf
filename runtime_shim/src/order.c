/* The order of everything that happens, for recordings that ask for it: what crosses between the owners of values
 * can be counted exactly then (commanalyzer/communication/replay.py).
 *
 * The section holds the rows as they occur. In front of a row it says which of its labels name an earlier version
 * of their word, through a copy of it: CA_ORDER_EARLIER, the version (modulo CA_ORDER_VERSIONS, + 1), the word.
 */
#include "state.h"

struct ca_column ca_order;

#ifdef CA_ORDERED
uint16_t *ca_versions; /* by word: how often something was stored there */

static struct {
  uint64_t *pending, num_pending, capacity; /* labels */
  bool was_active;
} order = {.was_active = true};

bool ca_order_reserve(void) {
  ca_versions = ca_map((CA_WORD_MASK + 1) * sizeof *ca_versions);
  return ca_versions && ca_section_reserve(&ca_order, 1ull << 40);
}

static void put(uint32_t count, const uint32_t *units) {
  uint32_t *at = ca_column_push(&ca_order, count * sizeof *units);
  if (!at)
    ca_statistics.dropped_rows++;
  for (uint32_t i = 0; at && i < count; i++)
    at[i] = units[i];
}

void ca_order_labels(uint32_t count, const uint64_t *labels) {
  order.num_pending = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t label = ca_name(labels[i]) & ~(CA_ROLES | CA_EXACT), version = labels[i] >> CA_WORD_BITS & CA_VERSION;
    if (!(label & CA_REG) && version && version != ca_versions[label] + 1u &&
        ca_room(&order.pending, order.num_pending, &order.capacity, 1))
      order.pending[order.num_pending++] = label | version << CA_WORD_BITS;
  }
}

void ca_order_row(uint64_t row) {
  if (order.was_active != CA_IS_ACTIVE) {
    order.was_active = CA_IS_ACTIVE;
    put(1, (const uint32_t[]){order.was_active ? CA_ORDER_INSIDE : CA_ORDER_OUTSIDE});
  }
  for (uint64_t i = 0; i < order.num_pending; i++) {
    uint64_t word = ca_name(order.pending[i]);
    put(4, (const uint32_t[]){CA_ORDER_EARLIER, (uint32_t)(order.pending[i] >> CA_WORD_BITS), (uint32_t)word,
                              (uint32_t)(word >> 32)});
  }
  order.num_pending = 0;
  put(1, (const uint32_t[]){(uint32_t)row});
}

void ca_order_stored(uint64_t word, uint64_t words) {
  for (uint64_t i = 0; i < words; i++)
    ca_versions[word + i] = (uint16_t)((ca_versions[word + i] + 1u) % CA_ORDER_VERSIONS);
}
#endif
