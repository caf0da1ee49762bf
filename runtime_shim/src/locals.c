/* Memory that the stack would hand to unrelated calls: arrays of variable length, structures passed by value.
 */
#include "state.h"
#include <stdlib.h>
#include <string.h>

/* Live arrays of one `alloca`: storage per nesting depth, and the stack address that marks its lifetime. */
struct local {
  uint64_t stack_address;
  uint64_t capacity;
  void *storage;
};

struct locals {
  uint64_t depth;
  uint64_t capacity;
  struct local *items;
};

static struct locals *all_locals;

/* Storage of an array of variable length. The program's own stack memory is still taken: what lies below its
 * address is dead, so returns, stackrestore, exceptions and longjmp need no hook. */
CA_CALL void *ca_local(uint32_t number, uint64_t bytes, uint64_t stack_address) {
  if (!all_locals && !(all_locals = calloc(ca_num_frames, sizeof *all_locals)))
    abort();
  struct locals *locals = &all_locals[number];
  while (locals->depth && locals->items[locals->depth - 1].stack_address <= stack_address)
    locals->depth--;
  if (locals->depth == locals->capacity) {
    uint64_t capacity = locals->capacity ? locals->capacity * 2 : 4;
    locals->items = realloc(locals->items, capacity * sizeof *locals->items);
    if (!locals->items)
      abort();
    memset(locals->items + locals->capacity, 0, (capacity - locals->capacity) * sizeof *locals->items);
    locals->capacity = capacity;
  }
  struct local *local = &locals->items[locals->depth];
  if (local->capacity < bytes || !local->storage) {
    uint64_t capacity = (bytes + 63) & ~63ull;
    local->capacity = capacity ? capacity : 64;
    local->storage = ca_arena_take(local->capacity, 64);
    if (!local->storage)
      abort();
    ca_add_extent(CA_EXTENT_STACK, number, (uint64_t)local->storage, local->capacity, 0, locals->depth);
  } else {
    ca_forget_range((uint64_t)local->storage, bytes);
  }
  local->stack_address = stack_address;
  locals->depth++;
  return local->storage;
}

/* A structure passed by value: its bytes, in the callee's own storage. Labels follow by ca_copy_words. */
CA_CALL void ca_take_copy(void *to, const void *from, uint64_t bytes) { memcpy(to, from, bytes); }
