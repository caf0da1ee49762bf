/* Paths of allocations: the calls that lead from the code that keeps a block to its allocation.
 *
 * A path is a number: that of its only call, or one behind all calls' for an outer path and a call in it.
 * Functions that hand out blocks find the path of their call in ca_context. */
#define _GNU_SOURCE
#include "contexts.h"
#include <stdlib.h>

#define MOST_PARTS 4096u
#define MOST_CONTEXTS (1u << 20) /* more paths than code has calls: beyond, the last call alone counts */
#define NUM_SLOTS (2 * MOST_CONTEXTS)

uint32_t ca_context = CA_NO_CONTEXT;
struct ca_context *ca_contexts;
uint64_t ca_num_contexts;
struct ca_nested_path *ca_nested_known;

static uint32_t *slots; /* index in ca_contexts + 1, by hash */

static uint64_t slot_of(uint32_t outer, uint32_t call) {
  uint64_t hash = (((uint64_t)outer << 32) | call) * 0x9e3779b97f4a7c15ull;
  uint64_t slot = (hash >> 20) & (NUM_SLOTS - 1);
  while (slots[slot] && (ca_contexts[slots[slot] - 1].outer != outer || ca_contexts[slots[slot] - 1].call != call))
    slot = (slot + 1) & (NUM_SLOTS - 1);
  return slot;
}

/* Room for all paths, which takes memory where there are some. */
static bool is_ready(void) {
  if (!slots && (ca_contexts = ca_map(MOST_CONTEXTS * sizeof *ca_contexts)))
    slots = ca_map(NUM_SLOTS * sizeof *slots);
  return slots;
}

static uint32_t find(uint32_t outer, uint32_t call) {
  if (outer == CA_NO_CONTEXT || !is_ready())
    return call;
  uint64_t slot = slot_of(outer, call);
  if (!slots[slot]) {
    if (ca_num_contexts == MOST_CONTEXTS)
      return call;
    ca_contexts[ca_num_contexts++] = (struct ca_context){outer, call};
    slots[slot] = (uint32_t)ca_num_contexts;
  }
  return (uint32_t)ca_num_calls + slots[slot] - 1;
}

/* Pointers to arrays in blocks: each pair of address and path once. Programs make a few of them, allocators that cut
 * small pieces from blocks many: behind the first ones, pieces are no arrays that anybody looks at one by one. */
CA_CALL void ca_part(void *start, uint32_t path) {
  static uint64_t known[4 * MOST_PARTS], count;
  if (!start || count == MOST_PARTS)
    return;
  uint64_t hash = ((uint64_t)start * 0x9e3779b97f4a7c15ull) ^ (path * 0xc2b2ae3d27d4eb4full);
  uint64_t slot = hash % (4 * MOST_PARTS);
  hash |= 1;
  while (known[slot] && known[slot] != hash)
    slot = (slot + 1) % (4 * MOST_PARTS);
  if (known[slot])
    return;
  known[slot] = hash;
  count++;
  ca_add_extent(CA_EXTENT_PART, path, (uint64_t)start, 0, 0, 0);
}

/* The path of a call within an outer path, which ca_nested does not know. */
uint32_t ca_nested_anew(uint32_t outer, uint32_t call) {
  uint32_t number = find(outer, call);
  if (ca_nested_known || (ca_nested_known = calloc(ca_num_calls * CA_NESTED_WAYS, sizeof *ca_nested_known)))
    *ca_nested_entry(outer, call) = (struct ca_nested_path){outer, number + 1};
  return number;
}
