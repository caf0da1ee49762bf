/* Anonymous pages that the program maps.
 *
 * They come from the arena of the heap at addresses that belong to their call for the whole run: pages that are
 * mapped and unmapped in every time step return to the same address, and no other data ever lives there. Files,
 * shared pages and pages at addresses that the program chooses are the system's. */
#define _GNU_SOURCE
#include "state.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096u
#define BLOCK_HEADER 16u /* names of heap objects count from behind the header of their first block */

struct pages {
  uint64_t start;
  uint64_t bytes;
  uint32_t site;
  bool is_mapped;
  struct pages *next;
};

static struct pages *all;

static struct pages *find(uint64_t start, uint64_t bytes) {
  struct pages *entry = all;
  while (entry && !(entry->start == start && entry->bytes == bytes))
    entry = entry->next;
  return entry;
}

/* Unmapped pages of the same call and size, or new ones. */
static struct pages *take(uint32_t site, uint64_t bytes) {
  uint64_t offset = BLOCK_HEADER;
  for (struct pages *entry = all; entry; entry = entry->next) {
    if (!entry->is_mapped && entry->site == site && entry->bytes == bytes)
      return entry;
    if (entry->site == site)
      offset += entry->bytes;
  }
  struct pages *entry = malloc(sizeof *entry);
  void *start = entry ? ca_arena_take(bytes, PAGE) : 0;
  if (!start) {
    free(entry);
    return 0;
  }
  *entry = (struct pages){(uint64_t)start, bytes, site, false, all};
  all = entry;
  ca_add_extent(CA_EXTENT_HEAP, site, entry->start, bytes, offset, 0);
  return entry;
}

CA_CALL void *ca_mmap(uint32_t site, void *address, uint64_t bytes, int protection, int flags, int file,
                      uint64_t offset) {
  uint64_t whole = (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
  bool is_ours = !address && bytes && whole >= bytes && whole < CA_ARENA_BYTES && (flags & MAP_ANONYMOUS) &&
                 (flags & MAP_PRIVATE) && !(flags & (MAP_FIXED | MAP_HUGETLB | MAP_GROWSDOWN));
#ifdef MAP_32BIT
  is_ours = is_ours && !(flags & MAP_32BIT);
#endif
  int saved = errno;
  struct pages *found = is_ours ? take(site, whole) : 0;
  errno = saved;
  if (!found)
    return mmap(address, bytes, protection, flags, file, (off_t)offset);
  ca_snapshots_stop(); /* pages of the heap may become unreadable from now on */
  void *start = mmap((void *)found->start, whole, protection, flags | MAP_FIXED, -1, 0);
  found->is_mapped = start != MAP_FAILED;
  return start;
}

CA_CALL int ca_munmap(void *address, uint64_t bytes) {
  uint64_t start = (uint64_t)address, whole = (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
  bool is_ours = start >= CA_ARENA_BASE && start < CA_ARENA_BASE + CA_ARENA_BYTES;
  if (!is_ours || start % PAGE || !bytes) {
    int result = munmap(address, bytes);
    if (result == 0)
      ca_forget_range(start, bytes);
    return result;
  }
  /* the addresses stay reserved, but not accessible */
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(address, whole, PROT_NONE, flags, -1, 0) == MAP_FAILED)
    return -1;
  ca_forget_range(start, whole);
  struct pages *found = find(start, whole);
  if (found)
    found->is_mapped = false;
  return 0;
}

CA_CALL void *ca_mremap(void *address, uint64_t old_bytes, uint64_t bytes, int flags) {
  void *moved = mremap(address, old_bytes, bytes, flags);
  if (moved != MAP_FAILED && moved != address) {
    ca_move_words((uint64_t)moved, (uint64_t)address, old_bytes < bytes ? old_bytes : bytes);
    ca_forget_range((uint64_t)address, old_bytes);
  }
  return moved;
}
