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

uint64_t ca_join(uint32_t site, uint32_t count, const uint64_t *labels);

#define SHORTEST_RUN_KEPT 16u /* terms; shorter runs are written to the buffer at once */

#define FAR_BYTES (1u << 18) /* columns of large matrices: their changes are looked up per 2 MiB */

static void *free_buffers; /* released buffers, linked through their first word */

static uint64_t *take_buffer(void) {
  uint64_t *buffer = free_buffers;
  if (buffer)
    free_buffers = *(void **)buffer;
  else
    buffer = ca_map((CA_BUFFER_LABELS + CA_MAX_WIDTH) * sizeof *buffer);
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

/* Powers of the multiplier, their sums, and sums of i times the power that label i gets. */
#define LANE_LABELS (CA_BUFFER_LABELS / 8)
static uint64_t powers[LANE_LABELS + 1], sums[LANE_LABELS + 1], weighted[LANE_LABELS + 1];

static void prepare_powers(void) {
  powers[0] = 1;
  for (uint64_t n = 0; n < LANE_LABELS; n++) {
    powers[n + 1] = powers[n] * ca_multipliers[8];
    sums[n + 1] = sums[n] + powers[n];
    weighted[n + 1] = weighted[n] * ca_multipliers[8] + n;
  }
}

/* What hash_labels would return for the labels of the run: those of a lane advance by a constant, too. */
static uint64_t hash_run(const struct ca_accumulator *acc) {
  if (!powers[0])
    prepare_powers();
  uint64_t count = acc->num_labels, hash = 0;
  uint32_t shift = (uint32_t)__builtin_ctzll(acc->run_width); /* widths of runs divide 8 */
  for (uint64_t k = 0; k < 8; k++) {
    uint64_t label = k & ((1u << shift) - 1);
    const struct ca_run *run = &acc->run[label];
    uint64_t labels = count / 8 + (k < count % 8);
    uint64_t step = (uint64_t)run->stride * (8u >> shift);
    uint64_t first = (run->start | (label ? 0 : CA_TERM)) + (k >> shift) * (uint64_t)run->stride;
    uint64_t lane =
        (ca_multipliers[k] ^ count) * powers[labels] + first * sums[labels] + step * weighted[labels];
    hash += (lane ^ (lane >> 32)) * ca_multipliers[16 + k];
  }
  return hash;
}

static uint64_t hash_buffer(struct ca_accumulator *acc) {
  if (!acc->run_terms)
    return hash_labels(acc->buffer, acc->num_labels);
  if (ca_is_run(acc))
    return hash_run(acc);
  ca_write_run(acc);
  return hash_labels(acc->buffer, acc->num_labels);
}

CA_SLOW void ca_buffer_full(struct ca_accumulator *acc) {
  acc->hash = (acc->hash + hash_buffer(acc)) * ca_multipliers[9];
  ca_pack_terms(acc);
  acc->num_labels = acc->run_terms = 0;
}

/* 0 if the shadow of these addresses has never changed: their words hold values of their own. */
static uint64_t coarse_changes(uint64_t low, uint64_t high) {
  const uint64_t *pages = (const uint64_t *)CA_COARSE_BASE;
  const uint64_t mask = CA_ADDRESS_MASK >> CA_COARSE_PAGE;
  uint64_t sum = 0;
  for (uint64_t page = low >> CA_COARSE_PAGE; page <= high >> CA_COARSE_PAGE; page++)
    sum += pages[page & mask];
  return sum;
}

CA_INLINE void add_term(struct ca_accumulator *acc, uint32_t width, const uint64_t *labels) {
  uint64_t *at = acc->buffer + acc->num_labels;
  at[0] = ca_name(labels[0]) | CA_TERM;
  for (uint32_t k = 1; k < width; k++)
    at[k] = ca_name(labels[k]);
  acc->num_labels += width;
  if (acc->num_labels >= CA_BUFFER_LABELS)
    ca_buffer_full(acc);
}

CA_HOOK void ca_term_1(struct ca_accumulator *acc, uint64_t l0) {
  const uint64_t labels[] = {l0};
  add_term(acc, 1, labels);
}
CA_HOOK void ca_term_2(struct ca_accumulator *acc, uint64_t l0, uint64_t l1) {
  const uint64_t labels[] = {l0, l1};
  add_term(acc, 2, labels);
}
CA_HOOK void ca_term_3(struct ca_accumulator *acc, uint64_t l0, uint64_t l1, uint64_t l2) {
  const uint64_t labels[] = {l0, l1, l2};
  add_term(acc, 3, labels);
}
CA_HOOK void ca_term_4(struct ca_accumulator *acc, uint64_t l0, uint64_t l1, uint64_t l2, uint64_t l3) {
  const uint64_t labels[] = {l0, l1, l2, l3};
  add_term(acc, 4, labels);
}
CA_HOOK void ca_term_many(struct ca_accumulator *acc, uint32_t width, const uint64_t *labels) {
  add_term(acc, width, labels);
}

/* Terms whose labels advance by constants. */
static void add_run(struct ca_accumulator *acc, uint64_t terms, uint32_t width, struct ca_run *run) {
  while (terms) {
    uint64_t room = (CA_BUFFER_LABELS - acc->num_labels + width - 1) / width;
    uint64_t fitting = terms < room ? terms : room;
    if (acc->num_labels == 0 && fitting >= SHORTEST_RUN_KEPT && 8 % width == 0) {
      acc->run_terms = fitting;
      acc->run_width = width;
      memcpy(acc->run, run, width * sizeof *run);
    } else {
      if (acc->run_terms)
        ca_write_run(acc);
      ca_write_terms(acc->buffer + acc->num_labels, fitting, width, run);
    }
    acc->num_labels += fitting * width;
    for (uint32_t k = 0; k < width; k++)
      run[k].start += fitting * (uint64_t)run[k].stride;
    if (acc->num_labels >= CA_BUFFER_LABELS)
      ca_buffer_full(acc);
    terms -= fitting;
  }
}

/* The labels of words that hold copies, as a run; false if they do not advance by a constant. */
static bool is_copied_run(uint64_t rounds, uint64_t word, uint64_t stride, struct ca_run *run) {
  uint64_t label = ca_value_at(word), step = rounds > 1 ? ca_value_at(word + stride) - label : 0;
  *run = (struct ca_run){label, (int64_t)step};
  for (uint64_t i = 0; i < rounds; i++, word += stride, label += step)
    if (ca_value_at(word) != label)
      return false;
  return true;
}

/* The labels at an address that advances by `stride` bytes, as a run; false if they are none. */
static bool is_loaded_run(uint64_t rounds, uint64_t first, uint64_t stride, struct ca_run *run) {
  uint64_t last = first + (rounds - 1) * stride, words = (uint64_t)((int64_t)stride / 4);
  *run = (struct ca_run){ca_word(first), (int64_t)words};
  if (stride & 3)
    return false;
  if (!((int64_t)stride < 0 ? coarse_changes(last, first) : coarse_changes(first, last)))
    return true;
  return is_copied_run(rounds, ca_word(first), words, run);
}

/* Terms of a whole loop. Word 2 k is the address from which label k is loaded (if bit k of `loaded` is set) or
 * the label itself, word 2 k + 1 the change per round. */
CA_CALL void ca_collect(struct ca_accumulator *acc, uint64_t rounds, uint32_t width, uint32_t loaded,
                        const uint64_t *words) {
  struct ca_run run[CA_MAX_WIDTH];
  bool is_run = true;
  for (uint32_t k = 0; k < width && is_run; k++)
    if (loaded >> k & 1)
      is_run = is_loaded_run(rounds, words[2 * k], words[2 * k + 1], &run[k]);
    else
      run[k] = (struct ca_run){words[2 * k], (int64_t)words[2 * k + 1]};
  if (is_run) {
    add_run(acc, rounds, width, run);
    return;
  }
  for (uint64_t i = 0; i < rounds; i++) {
    uint64_t labels[CA_MAX_WIDTH];
    for (uint32_t k = 0; k < width; k++) {
      uint64_t at = words[2 * k] + i * words[2 * k + 1];
      labels[k] = loaded >> k & 1 ? ca_value_at(ca_word(at)) : words[2 * k];
    }
    add_term(acc, width, labels);
  }
}

/* The same for a loop behind which the accumulator is closed before the shadow can change. */
CA_HOOK void ca_collect_later(struct ca_accumulator *acc, uint64_t rounds, uint32_t width, uint32_t loaded,
                              const uint64_t *words) {
  if (acc->num_labels | acc->num_packed | acc->num_plain) {
    ca_collect(acc, rounds, width, loaded, words);
    return;
  }
  acc->later_rounds = rounds;
  acc->later_width = width;
  acc->later_loaded = loaded;
  for (uint32_t i = 0; i < 2 * width; i++)
    acc->later_words[i] = words[i];
}

/* The accumulator gets a value from outside the loop: what it collected is over. */
CA_HOOK void ca_accumulator_reset(struct ca_accumulator *acc, uint32_t count, const uint64_t *labels) {
  if (!acc->buffer)
    acc->buffer = take_buffer();
  acc->num_labels = acc->hash = acc->num_packed = acc->num_plain = acc->run_terms = acc->later_rounds = 0;
  for (uint32_t i = 0; i < count; i++)
    if (labels[i])
      acc->plain[acc->num_plain++] = ca_name(labels[i]) & ~CA_EXACT;
}

static uint64_t close_unpredicted(struct ca_accumulator *acc, uint32_t site, uint64_t hash) {
  uint32_t count = (uint32_t)acc->num_plain;
  if (acc->run_terms && ca_has_workspace)
    ca_write_run(acc);
  uint64_t first = acc->run_terms ? acc->run[0].start : acc->buffer[0] & ~CA_TERM;
  uint64_t anchor = acc->num_labels ? first : count ? acc->plain[0] : 0;
  struct ca_event event = {hash, anchor, 0, site, CA_ROW_REGISTER, count, acc->plain};
  struct ca_version version;
  if (ca_has_workspace) {
    uint64_t sources[CA_BUFFER_LABELS + CA_MAX_WIDTH + 32];
    uint32_t num_sources = 0;
    for (uint64_t i = 0; i < acc->num_plain; i++)
      sources[num_sources++] = acc->plain[i];
    for (uint64_t i = 0; i < acc->num_labels; i++) /* of long reductions the last ones */
      sources[num_sources++] = acc->buffer[i] & ~CA_TERM;
    version = ca_register_version(&event, num_sources, sources);
  } else {
    struct ca_found found = ca_row_lookup(&event);
    version = (struct ca_version){found.row, found.row, found.is_new};
  }
  if (version.is_new)
    ca_append_packed(acc, version.row);
  return CA_REG | version.vertex;
}

static uint64_t close_terms(struct ca_accumulator *acc, uint32_t site) {
  if (acc->num_packed == 0) {
    if (acc->num_labels == 0)
      return ca_join(site, (uint32_t)acc->num_plain, acc->plain);
    if (acc->num_plain == 0 && acc->num_labels == 1)
      return acc->buffer[0] & ~CA_TERM;
  }
  uint64_t hash = site * ca_multipliers[62] + acc->hash * ca_multipliers[10];
  for (uint64_t i = 0; i < acc->num_plain; i++)
    hash += acc->plain[i] * ca_multipliers[11 + i];
  hash = (hash + hash_buffer(acc)) | 1;
  if (ca_predicted(hash))
    return CA_REG | ca_last_row();
  return close_unpredicted(acc, site, hash);
}

/* Closes what one loop adds: the row is known if the same was closed before. */
static uint64_t close_loop(struct ca_accumulator *acc, uint32_t site) {
  uint64_t hash = site * ca_multipliers[62] + acc->later_rounds * ca_multipliers[61];
  uint64_t changes = 0;
  for (uint32_t k = 0; k < acc->later_width; k++) {
    const uint64_t *words = acc->later_words + 2 * k;
    hash += words[0] * ca_multipliers[2 * k] + words[1] * ca_multipliers[2 * k + 1];
    if (!(acc->later_loaded >> k & 1))
      continue;
    uint64_t last = words[0] + (acc->later_rounds - 1) * words[1];
    bool is_downward = (int64_t)words[1] < 0;
    uint64_t low = is_downward ? last : words[0], high = is_downward ? words[0] : last;
    changes += high - low < FAR_BYTES ? ca_changes_in(low, high) : coarse_changes(low, high);
  }
  struct ca_repeat *known = ca_repeat_again(hash | 1, changes);
  if (known)
    return CA_REG | (known->end - 1);
  uint64_t rounds = acc->later_rounds, rows = ca_num_rows;
  acc->later_rounds = 0;
  ca_collect(acc, rounds, acc->later_width, acc->later_loaded, acc->later_words);
  uint64_t label = close_terms(acc, site);
  if ((label & CA_REG) && !ca_has_workspace && rounds > 1 && rows == ca_num_rows) /* it repeats */
    ca_repeat_row(hash | 1, changes, label & UINT32_MAX);
  return label;
}

/* The loop is left: the label of the value that the accumulator holds now. */
CA_CALL uint64_t ca_accumulator_close(struct ca_accumulator *acc, uint32_t site) {
  return acc->later_rounds ? close_loop(acc, site) : close_terms(acc, site);
}

/* The function returns. */
CA_CALL void ca_accumulator_free(struct ca_accumulator *acc) {
  if (acc->buffer) {
    *(void **)acc->buffer = free_buffers;
    free_buffers = acc->buffer;
  }
  free(acc->packed);
  acc->buffer = acc->packed = 0;
}
