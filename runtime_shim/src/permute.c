/* Sorting by library code: elements change places and stay the values they are.
 *
 * The library sorts the program's own array, so the result is that of the plain program, whatever the
 * algorithm. Where each element went is found afterwards: old and new elements with equal bytes belong
 * together, equal ones in their order. */
#include "state.h"
#include <stdlib.h>
#include <string.h>

struct element {
  uint64_t hash;
  uint64_t index;
};

struct ca_permutation {
  uint64_t base;
  uint64_t count;
  uint64_t size;          /* bytes of an element */
  struct element *before; /* elements in the order of (hash, index) */
  uint64_t *labels;       /* of every word of the array */
};

static uint64_t hash_bytes(const unsigned char *data, uint64_t size) {
  uint64_t hash = size;
  for (uint64_t i = 0; i < size; i += CA_WORD_BYTES) {
    uint32_t word = 0;
    memcpy(&word, data + i, CA_WORD_BYTES);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  return hash;
}

static int by_hash(const void *a, const void *b) {
  const struct element *x = a, *y = b;
  if (x->hash != y->hash)
    return x->hash < y->hash ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static struct element *ordered(uint64_t base, uint64_t count, uint64_t size) {
  struct element *elements = malloc(count * sizeof *elements);
  if (!elements)
    return 0;
  for (uint64_t i = 0; i < count; i++)
    elements[i] = (struct element){hash_bytes((const unsigned char *)base + i * size, size), i};
  qsort(elements, count, sizeof *elements, by_hash);
  return elements;
}

/* Before the call. Returns what ca_permute_end needs, null when there is nothing to follow. */
CA_CALL void *ca_permute_begin(uint64_t base, uint64_t bytes, uint64_t size) {
  if (!bytes || !size || bytes / size < 2)
    return 0;
  struct ca_permutation *found = malloc(sizeof *found);
  if (!found)
    return 0;
  *found = (struct ca_permutation){base, bytes / size, size, 0, 0};
  if (ca_within(base | size))
    return found; /* elements that share words */
  found->before = ordered(base, found->count, size);
  found->labels = malloc(ca_words(bytes) * sizeof *found->labels);
  if (found->labels)
    for (uint64_t i = 0; i < ca_words(bytes); i++)
      found->labels[i] = ca_value_at(ca_word(base) + i);
  return found;
}

static void place(const struct ca_permutation *old, const struct element *after) {
  uint64_t words = ca_words(old->size);
  uint64_t from = 0;
  for (uint64_t to = 0; to < old->count; to++) {
    while (from < old->count && old->before[from].hash < after[to].hash)
      from++;
    if (from == old->count || old->before[from].hash != after[to].hash)
      continue; /* changed by the comparison itself */
    uint64_t target = ca_word(old->base) + after[to].index * words;
    const uint64_t *labels = old->labels + old->before[from++].index * words;
    for (uint64_t i = 0; i < words; i++)
      ca_replicate(target + i, labels[i]);
  }
}

/* Behind the call. */
CA_CALL void ca_permute_end(void *permutation) {
  struct ca_permutation *old = permutation;
  if (!old)
    return;
  struct element *after = old->labels && old->before ? ordered(old->base, old->count, old->size) : 0;
  ca_forget_range(old->base, old->count * old->size);
  if (after)
    place(old, after);
  else
    ca_statistics.unaligned_copies++;
  free(after);
  free(old->before);
  free(old->labels);
  free(old);
}
