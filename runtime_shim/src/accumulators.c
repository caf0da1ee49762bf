/* Loop-carried reductions: the labels that enter an accumulator are collected while the loop runs.
 *
 * `sum += a[i] * b[k]` appends one term {a_i, b_k} per iteration to a small buffer: two stores. Behind the loop
 * the buffer's hash is compared with the predicted row; only a row that is new is packed and stored. A full
 * buffer is hashed and packed on the way, so cost is linear and memory small for loops of any length. Packed
 * terms whose labels advance by constants are one group of runs, others are listed.
 */
#include "accumulator.h"
#include "state.h"
#include <stdlib.h>
#include <string.h>

#define CA_BUFFER_LABELS 4096u

static void *free_buffers; /* released buffers, linked through their first word */

static uint64_t *take_buffer(void) {
  uint64_t *buffer = free_buffers;
  if (!buffer)
    return ca_map((CA_BUFFER_LABELS + CA_MAX_WIDTH) * sizeof *buffer);
  free_buffers = *(void **)buffer;
  return buffer;
}

static uint64_t hash_labels(const uint64_t *labels, uint64_t count) {
  uint64_t lanes[8];
  for (uint32_t k = 0; k < 8; k++)
    lanes[k] = ca_multipliers[k] ^ count;
  uint64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (uint32_t k = 0; k < 8; k++)
      lanes[k] = lanes[k] * ca_multipliers[8] + labels[i + k];
  for (uint32_t k = 0; i < count; i++, k++)
    lanes[k] = lanes[k] * ca_multipliers[8] + labels[i];
  uint64_t hash = 0;
  for (uint32_t k = 0; k < 8; k++)
    hash += (lanes[k] ^ (lanes[k] >> 32)) * ca_multipliers[16 + k]; /* a sum: the products are independent */
  return hash;
}

CA_SLOW void ca_buffer_full(struct ca_accumulator *acc) {
  acc->hash = (acc->hash + hash_labels(acc->buffer, acc->num_labels)) * ca_multipliers[9];
  ca_pack_terms(acc);
  acc->num_labels = 0;
}

/* Labels of what may be stored to before the sum is done. */
CA_INLINE void see(struct ca_accumulator *acc, uint32_t count, const uint64_t *labels) {
#ifdef CA_ORDERED
  uint64_t *at = ca_room(&acc->seen, acc->num_seen, &acc->seen_capacity, count);
  for (uint32_t i = 0; at && i < count; i++, acc->num_seen++)
    at[i] = labels[i];
#else
  (void)acc, (void)count, (void)labels;
#endif
}

CA_INLINE void add_term(struct ca_accumulator *acc, uint32_t width, const uint64_t *labels) {
  uint64_t *at = acc->buffer + acc->num_labels;
  at[0] = ca_name(labels[0]) | CA_TERM;
  for (uint32_t k = 1; k < width; k++)
    at[k] = ca_name(labels[k]);
  acc->num_labels += width;
  see(acc, width, labels);
  if (acc->num_labels >= CA_BUFFER_LABELS)
    ca_buffer_full(acc);
}

#define CA_DEFINE_TERM(N, PARAMETERS, ...)                                                                         \
  CA_HOOK void ca_term_##N(struct ca_accumulator *acc PARAMETERS) {                                            \
    const uint64_t labels[] = {__VA_ARGS__};                                                                   \
    add_term(acc, N, labels);                                                                                  \
  }
#define P(i) , uint64_t l##i
CA_DEFINE_TERM(1, P(0), l0)
CA_DEFINE_TERM(2, P(0) P(1), l0, l1)
CA_DEFINE_TERM(3, P(0) P(1) P(2), l0, l1, l2)
CA_DEFINE_TERM(4, P(0) P(1) P(2) P(3), l0, l1, l2, l3)
CA_HOOK void ca_term_0(struct ca_accumulator *acc) { acc->plain[0] &= ~CA_EXACT; } /* it is no copy any more */

CA_HOOK void ca_term_many(struct ca_accumulator *acc, uint32_t width, const uint64_t *labels) {
  add_term(acc, width, labels);
}

/* The accumulator gets a value from outside the loop: what it collected is over. */
CA_HOOK void ca_accumulator_reset(struct ca_accumulator *acc, uint32_t count, const uint64_t *labels) {
  if (!acc->buffer)
    acc->buffer = take_buffer();
  acc->num_labels = acc->hash = acc->num_packed = acc->num_plain = acc->num_seen = 0;
  for (uint32_t i = 0; i < count; i++)
    if (labels[i])
      acc->plain[acc->num_plain++] = labels[i];
}

static uint64_t close_unpredicted(struct ca_accumulator *acc, uint32_t site, uint64_t hash) {
  uint32_t count = (uint32_t)acc->num_plain;
  for (uint32_t i = 0; i < count; i++)
    acc->plain[i] = ca_name(acc->plain[i]);
  struct ca_event event = {hash, 0, site, CA_ROW_REGISTER, count, acc->plain};
  struct ca_version version;
  if (ca_workspace.exists) {
    uint64_t sources[CA_BUFFER_LABELS + CA_MAX_WIDTH + 32];
    uint32_t num_sources = count;
    memcpy(sources, acc->plain, count * sizeof *sources);
    for (uint64_t i = 0; i < acc->num_labels; i++) { /* of long reductions the last ones; words tell nothing */
      sources[num_sources] = acc->buffer[i] & ~CA_TERM;
      num_sources += acc->buffer[i] / CA_REG & 1;
    }
    version = ca_register_version(&event, num_sources, sources);
  } else {
    struct ca_found found = ca_row_lookup(&event);
    version = (struct ca_version){found.row, found.row, found.is_new};
  }
  if (version.is_new)
    ca_append_packed(acc, version.row);
  return CA_REG | version.vertex;
}

/* The loop is left: the label of the value that the accumulator holds now; that of a copy if nothing was added. */
CA_CALL uint64_t ca_accumulator_close(struct ca_accumulator *acc, uint32_t site) {
  if (acc->num_packed == 0 && acc->num_labels == 0)
    return ca_join(site, (uint32_t)acc->num_plain, acc->plain);
  if (acc->num_packed == 0 && acc->num_plain == 0 && acc->num_labels == 1)
    return acc->num_seen ? acc->seen[0] : acc->buffer[0] & ~CA_TERM;
  acc->plain[0] &= ~CA_EXACT;
  uint64_t hash = site * ca_multipliers[62] + acc->hash * ca_multipliers[10];
  for (uint64_t i = 0; i < acc->num_plain; i++)
    hash += ca_name(acc->plain[i]) * ca_multipliers[11 + i];
  hash = (hash + hash_labels(acc->buffer, acc->num_labels)) | 1;
  see(acc, (uint32_t)acc->num_plain, acc->plain);
  ca_order_labels((uint32_t)acc->num_seen, acc->seen);
  if (ca_predicted(hash))
    return CA_REG | ca_last_row();
  return close_unpredicted(acc, site, hash);
}

/* The function returns. */
CA_CALL void ca_accumulator_free(struct ca_accumulator *acc) {
  if (acc->buffer) {
    *(void **)acc->buffer = free_buffers;
    free_buffers = acc->buffer;
  }
  free(acc->packed);
  free(acc->seen);
  acc->buffer = acc->packed = acc->seen = 0;
}
