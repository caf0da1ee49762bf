/* Packing of collected terms: runs where labels advance by constants, lists elsewhere. Slow path only. */
#include "accumulator.h"
#include "state.h"
#include <stdlib.h>
#include <string.h>

#define LIST (1ull << 32) /* in a packed header: the labels are listed */

#define SHORTEST_RUN 4u /* terms; shorter runs cost less as a list */
#define LANES 8u /* labels that are compared at once */

uint64_t *ca_room(uint64_t **words, uint64_t used, uint64_t *capacity, uint64_t more) {
  if (!*words || used + more > *capacity) {
    uint64_t *grown = realloc(*words, (*capacity = 2 * (used + more) + 64) * sizeof *grown);
    if (!grown) {
      *capacity = 0;
      ca_statistics.dropped_rows++;
      return 0;
    }
    *words = grown;
  }
  return *words + used;
}

static uint32_t width_at(const uint64_t *labels, uint64_t left) {
  uint32_t width = 1;
  while (width < left && !(labels[width] & CA_TERM))
    width++;
  return width;
}

/* Terms from `labels` on whose labels advance by constants and that have the width of the first. */
static uint64_t run_length(const uint64_t *labels, uint64_t left, uint32_t width) {
  if (left < 2ull * width)
    return 1;
  /* the mark of a term's first label takes part in the comparison: equal labels mean equal widths */
  uint64_t end = 2ull * width, differs = (labels[0] ^ labels[width]) & CA_TERM;
  for (uint32_t k = 1; k < width; k++)
    differs |= labels[width + k] & CA_TERM;
  if (differs)
    return 1;
  for (const uint64_t *at = labels + end; !differs && end + LANES <= left; end += differs ? 0 : LANES, at += LANES)
    for (uint32_t k = 0; k < LANES; k++)
      differs |= at[k] + at[k - 2ll * width] - 2 * at[k - 1ll * width];
  while (end < left && labels[end] + labels[end - 2ull * width] == 2 * labels[end - width])
    end++;
  end -= end % width;
  bool is_longer = end < left && !(labels[end] & CA_TERM); /* the last term may be */
  return end / width - is_longer;
}

static void pack(struct ca_accumulator *acc, const uint64_t *labels, uint32_t width, uint64_t terms, bool is_run) {
  uint64_t words = is_run ? 2ull * width : terms * width;
  uint64_t *out = ca_room(&acc->packed, acc->num_packed, &acc->packed_capacity, 2 + words);
  if (!out)
    return;
  *out++ = terms;
  *out++ = is_run ? width : width | LIST;
  for (uint64_t i = 0; i < words; i++) /* of a run, first labels and what they change by */
    *out++ = is_run && i & 1 ? labels[width + i / 2] - labels[i / 2] : labels[is_run ? i / 2 : i] & ~CA_TERM;
  acc->num_packed += 2 + words;
}

/* Packs the buffer's terms behind those packed before. */
void ca_pack_terms(struct ca_accumulator *acc) {
  const uint64_t *labels = acc->buffer;
  uint64_t left = acc->num_labels;
  while (left) {
    uint32_t width = width_at(labels, left);
    uint64_t terms = run_length(labels, left, width);
    bool is_run = terms >= SHORTEST_RUN;
    /* a list goes on until a run begins or the width changes */
    while (!is_run && terms * width < left && width_at(labels + terms * width, left - terms * width) == width &&
           run_length(labels + terms * width, left - terms * width, width) < SHORTEST_RUN)
      terms++;
    pack(acc, labels, width, terms, is_run);
    labels += terms * width;
    left -= terms * width;
  }
}

/* Stores all terms as groups of a row. The buffer stays as it is: the loop may go on. */
void ca_append_packed(struct ca_accumulator *acc, uint64_t row) {
  uint64_t packed_before = acc->num_packed;
  ca_pack_terms(acc);
  for (uint64_t at = 0; at < acc->num_packed;) {
    uint64_t terms = acc->packed[at], width = acc->packed[at + 1] & ~LIST;
    bool listed = acc->packed[at + 1] & LIST;
    const uint64_t *payload = acc->packed + at + 2;
    struct ca_column *column = listed ? &ca_listed : &ca_runs;
    uint64_t words = listed ? terms * width : 2 * width;
    uint64_t first = column->bytes / (listed ? sizeof(uint64_t) : sizeof(struct ca_run));
    void *out = ca_column_push(column, words * sizeof(uint64_t));
    struct ca_group *group = out ? ca_column_push(&ca_groups, sizeof *group) : 0;
    if (!group) {
      ca_statistics.dropped_rows++;
      break;
    }
    *group = (struct ca_group){row, first, terms, (uint32_t)width, listed};
    memcpy(out, payload, words * sizeof(uint64_t));
    at += 2 + words;
  }
  acc->num_packed = packed_before;
}
