/* Loop-carried reductions: the labels that enter an accumulator are collected as runs while the loop runs.
 *
 * `sum += a[i] * b[k]` adds one term {a_i, b_k} per iteration. Each update site has an open group: the labels of
 * successive terms usually advance by constants, so a term costs one comparison per label. A broken run is
 * flushed to the accumulator and a new group starts. Total cost is linear in the number of iterations.
 */
#include "state.h"
#include <stdlib.h>
#include <string.h>

#define CA_MAX_WIDTH 8u

/* The instrumenter allocates these on the program's stack with the sizes below (checked by abi tests). */
struct ca_open {
  uint64_t count;
  uint64_t width;
  struct {
    uint64_t next;
    uint64_t start;
    int64_t stride;
  } slots[CA_MAX_WIDTH];
};

struct stored_group {
  uint64_t count;
  uint64_t width;
  struct ca_run runs[CA_MAX_WIDTH];
};

struct ca_accumulator {
  uint64_t num_groups;
  uint64_t capacity;
  struct stored_group *groups;
  uint64_t num_plain; /* labels of the initial value */
  uint64_t plain[32];
};

_Static_assert(sizeof(struct ca_open) == 208, "size known to the instrumenter");
_Static_assert(sizeof(struct ca_accumulator) == 288, "size known to the instrumenter");

uint64_t ca_row_lookup(uint64_t hash, uint32_t site, uint64_t sink, uint32_t flags, uint32_t count,
                       const uint64_t *labels, bool *is_new);
uint64_t ca_join(uint32_t site, uint32_t count, const uint64_t *labels);

static void flush(struct ca_accumulator *acc, struct ca_open *open) {
  if (!open->count)
    return;
  if (acc->num_groups == acc->capacity) {
    uint64_t capacity = acc->capacity ? acc->capacity * 2 : 8;
    struct stored_group *groups = realloc(acc->groups, capacity * sizeof *groups);
    if (!groups) {
      ca_statistics.dropped_rows++;
      open->count = 0;
      return;
    }
    acc->groups = groups;
    acc->capacity = capacity;
  }
  struct stored_group *group = &acc->groups[acc->num_groups++];
  group->count = open->count;
  group->width = open->width;
  for (uint64_t k = 0; k < open->width; k++)
    group->runs[k] = (struct ca_run){open->slots[k].start, open->count > 1 ? open->slots[k].stride : 0};
  open->count = 0;
}

CA_SLOW void ca_term_break(struct ca_accumulator *acc, struct ca_open *open, uint32_t width,
                           const uint64_t *labels) {
  if (open->count == 1 && open->width == width) {
    for (uint32_t k = 0; k < width; k++) { /* the second term sets the strides */
      open->slots[k].stride = (int64_t)(labels[k] - open->slots[k].start);
      open->slots[k].next = labels[k] + (uint64_t)open->slots[k].stride;
    }
    open->count = 2;
    return;
  }
  flush(acc, open);
  open->count = 1;
  open->width = width;
  for (uint32_t k = 0; k < width; k++)
    open->slots[k].start = open->slots[k].next = labels[k];
}

CA_INLINE void add_term(struct ca_accumulator *acc, struct ca_open *open, uint32_t width,
                        const uint64_t *labels) {
  bool expected = open->count > 1;
  for (uint32_t k = 0; k < width; k++)
    expected &= open->slots[k].next == labels[k];
  if (CA_LIKELY(expected)) {
    open->count++;
    for (uint32_t k = 0; k < width; k++)
      open->slots[k].next += (uint64_t)open->slots[k].stride;
    return;
  }
  uint64_t copy[CA_MAX_WIDTH];
  for (uint32_t k = 0; k < width; k++)
    copy[k] = labels[k];
  ca_term_break(acc, open, width, copy);
}

CA_HOOK void ca_term_1(struct ca_accumulator *acc, struct ca_open *open, uint64_t l0) {
  const uint64_t labels[] = {l0};
  add_term(acc, open, 1, labels);
}
CA_HOOK void ca_term_2(struct ca_accumulator *acc, struct ca_open *open, uint64_t l0, uint64_t l1) {
  const uint64_t labels[] = {l0, l1};
  add_term(acc, open, 2, labels);
}
CA_HOOK void ca_term_3(struct ca_accumulator *acc, struct ca_open *open, uint64_t l0, uint64_t l1,
                       uint64_t l2) {
  const uint64_t labels[] = {l0, l1, l2};
  add_term(acc, open, 3, labels);
}
CA_HOOK void ca_term_4(struct ca_accumulator *acc, struct ca_open *open, uint64_t l0, uint64_t l1, uint64_t l2,
                       uint64_t l3) {
  const uint64_t labels[] = {l0, l1, l2, l3};
  add_term(acc, open, 4, labels);
}
CA_HOOK void ca_term_many(struct ca_accumulator *acc, struct ca_open *open, uint32_t width,
                          const uint64_t *labels) {
  add_term(acc, open, width, labels);
}

/* The accumulator gets a value from outside the loop: what it collected is over. */
CA_CALL void ca_accumulator_reset(struct ca_accumulator *acc, struct ca_open *opens, uint32_t num_opens,
                                  uint32_t count, const uint64_t *labels) {
  acc->num_groups = 0;
  for (uint32_t i = 0; i < num_opens; i++)
    opens[i].count = 0;
  acc->num_plain = 0;
  for (uint32_t i = 0; i < count; i++)
    if (labels[i])
      acc->plain[acc->num_plain++] = labels[i] & ~CA_EXACT;
}

static uint64_t hash_of(const struct ca_accumulator *acc, uint32_t site) {
  uint64_t hash = site * ca_multipliers[62] + acc->num_plain;
  for (uint64_t i = 0; i < acc->num_plain; i++)
    hash = (hash ^ acc->plain[i]) * ca_multipliers[1] + (hash >> 31);
  for (uint64_t i = 0; i < acc->num_groups; i++) {
    const struct stored_group *group = &acc->groups[i];
    hash = (hash ^ group->count) * ca_multipliers[2] + group->width + (hash >> 31);
    for (uint64_t k = 0; k < group->width; k++) {
      hash = (hash ^ group->runs[k].start) * ca_multipliers[3] + (hash >> 31);
      hash = (hash ^ (uint64_t)group->runs[k].stride) * ca_multipliers[4] + (hash >> 31);
    }
  }
  return hash | 1;
}

static void append_groups(const struct ca_accumulator *acc, uint64_t row) {
  for (uint64_t i = 0; i < acc->num_groups; i++) {
    const struct stored_group *from = &acc->groups[i];
    uint64_t first = ca_runs.bytes / sizeof(struct ca_run);
    struct ca_group *group = ca_column_push(&ca_groups, sizeof *group);
    struct ca_run *runs = ca_column_push(&ca_runs, from->width * sizeof *runs);
    if (!group || !runs) {
      ca_statistics.dropped_rows++;
      return;
    }
    *group = (struct ca_group){row, first, from->count, from->width};
    memcpy(runs, from->runs, from->width * sizeof *runs);
  }
}

static bool is_single_term(const struct ca_accumulator *acc) {
  return acc->num_groups == 1 && acc->groups[0].count == 1;
}

/* The loop is left: the label of the value that the accumulator holds now. */
CA_CALL uint64_t ca_accumulator_close(struct ca_accumulator *acc, struct ca_open *opens, uint32_t num_opens,
                                      uint32_t site) {
  for (uint32_t i = 0; i < num_opens; i++)
    flush(acc, &opens[i]);
  if (acc->num_groups == 0)
    return ca_join(site, (uint32_t)acc->num_plain, acc->plain);
  if (acc->num_plain == 0 && is_single_term(acc) && acc->groups[0].width == 1)
    return acc->groups[0].runs[0].start;
  uint64_t hash = hash_of(acc, site);
  struct ca_cell *cell = ca_state.cursor;
  if (CA_LIKELY(cell->hash == hash)) {
    cell->count += ca_state.active;
    ca_state.cursor = cell + 1;
    return CA_REG | (uint64_t)(cell - ca_state.cells);
  }
  bool is_new;
  uint64_t row = ca_row_lookup(hash, site, 0, CA_ROW_REGISTER, (uint32_t)acc->num_plain, acc->plain, &is_new);
  if (is_new)
    append_groups(acc, row);
  return CA_REG | row;
}

/* The function returns. */
CA_CALL void ca_accumulator_free(struct ca_accumulator *acc) {
  free(acc->groups);
  acc->groups = 0;
  acc->capacity = acc->num_groups = 0;
}
