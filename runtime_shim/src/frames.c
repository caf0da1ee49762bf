/* Local arrays of the program: storage per function and recursion depth. */
#include "state.h"
#include <stdlib.h>
#include <string.h>

/* Activations of one function: storage per recursion depth, and the stack address that was current. */
struct frames {
  uint64_t depth;
  uint64_t capacity;
  uint64_t *stack_addresses;
  void **storage;
};

static struct frames *all_frames;

/* Storage for the local arrays of an activation. Frames whose stack address lies below the caller's are dead:
 * no hook on return is needed, so exceptions and longjmp cannot leave stale frames. */
CA_CALL void *ca_frame(uint32_t function, uint64_t bytes, uint64_t stack_address) {
  if (!all_frames && !(all_frames = calloc(ca_num_frames, sizeof *all_frames)))
    abort();
  struct frames *frames = &all_frames[function];
  while (frames->depth && frames->stack_addresses[frames->depth - 1] <= stack_address)
    frames->depth--;
  if (frames->depth == frames->capacity) {
    uint64_t capacity = frames->capacity ? frames->capacity * 2 : 1;
    frames->stack_addresses = realloc(frames->stack_addresses, capacity * sizeof(uint64_t));
    frames->storage = realloc(frames->storage, capacity * sizeof(void *));
    if (!frames->stack_addresses || !frames->storage)
      abort();
    memset(frames->storage + frames->capacity, 0, (capacity - frames->capacity) * sizeof(void *));
    frames->capacity = capacity;
  }
  void **storage = &frames->storage[frames->depth];
  if (!*storage) {
    *storage = ca_arena_take(bytes, 64);
    if (!*storage)
      abort();
    ca_add_extent(CA_EXTENT_STACK, function, (uint64_t)*storage, bytes, 0, frames->depth);
  } else {
    ca_forget_range((uint64_t)*storage, bytes);
  }
  frames->stack_addresses[frames->depth++] = stack_address;
  return *storage;
}
