/* Memory that the stack would hand to unrelated calls: the program's local arrays, those of variable length,
 * structures passed by value. */
#include "state.h"
#include <stdlib.h>
#include <string.h>

/* Storage per depth, and the stack address that was current. */
struct frame {
  uint64_t stack_address;
  uint64_t capacity;
  void *storage;
};

/* Live activations of a function, or of an `alloca` of variable length. */
struct frames {
  uint64_t depth;
  uint64_t capacity;
  struct frame *items;
};

static struct frames *all_frames;

/* What lies at or below the stack address is dead: no hook on return is needed, so exceptions, stackrestore and
 * longjmp cannot leave stale frames. `wanted` bytes are taken where the storage has fewer than `bytes`. */
static void *storage_of(uint32_t number, uint64_t bytes, uint64_t wanted, uint64_t stack_address) {
  if (!all_frames && !(all_frames = calloc(ca_num_frames, sizeof *all_frames)))
    abort();
  struct frames *frames = &all_frames[number];
  while (frames->depth && frames->items[frames->depth - 1].stack_address <= stack_address)
    frames->depth--;
  if (frames->depth == frames->capacity) {
    uint64_t capacity = frames->capacity ? frames->capacity * 2 : 1;
    frames->items = realloc(frames->items, capacity * sizeof *frames->items);
    if (!frames->items)
      abort();
    memset(frames->items + frames->capacity, 0, (capacity - frames->capacity) * sizeof *frames->items);
    frames->capacity = capacity;
  }
  struct frame *frame = &frames->items[frames->depth];
  if (frame->capacity < bytes || !frame->storage) {
    frame->capacity = wanted;
    frame->storage = ca_arena_take(wanted, 64);
    if (!frame->storage)
      abort();
    ca_add_extent(CA_EXTENT_STACK, number, (uint64_t)frame->storage, wanted, 0, frames->depth);
  } else {
    ca_forget_range((uint64_t)frame->storage, bytes);
  }
  frame->stack_address = stack_address;
  frames->depth++;
  return frame->storage;
}

/* Storage for the local arrays of an activation. */
CA_CALL void *ca_frame(uint32_t function, uint64_t bytes, uint64_t stack_address) {
  return storage_of(function, bytes, bytes, stack_address);
}

/* Storage of an array of variable length. The program's own stack memory is still taken: its address tells how
 * long the array lives. */
CA_CALL void *ca_local(uint32_t number, uint64_t bytes, uint64_t stack_address) {
  return storage_of(number, bytes, bytes ? (bytes + 63) & ~63ull : 64, stack_address);
}

/* A structure passed by value: its bytes, in the callee's own storage. Labels follow by ca_copy_words. */
CA_CALL void ca_take_copy(void *to, const void *from, uint64_t bytes) { memcpy(to, from, bytes); }
