/* The program's heap.
 *
 * Blocks come from one arena in which memory is never reused across sites, paths of calls that lead to an
 * allocation: an address identifies a home for the whole run. Arrays that are freed and allocated in every time
 * step return to the same addresses, in whatever order they are freed: the lowest one is used first.
 */
#define _GNU_SOURCE
#include "state.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HEADER 16u
#define LARGE (1u << 20)

/* A block: 16 bytes of header, then the payload. */
struct block {
  uint64_t size; /* rounded payload bytes */
  uint32_t site;
  uint32_t alignment;
};

/* Free blocks of one size are a skew heap by address (Sleator, Tarjan, SIAM J. Computing 15, 1986). */
struct free_block {
  struct free_block *left;
  struct free_block *right;
};

struct size_class {
  uint64_t size;
  uint32_t alignment;
  struct free_block *first;
  struct size_class *next;
};

/* Blocks of one site: contiguous extents, bump allocated, free blocks by rounded size and alignment. */
struct site_arena {
  uint64_t next;
  uint64_t end;
  uint64_t used;   /* offset of `next` in the site's address space */
  uint64_t extent; /* index of its current extent */
  uint64_t chunk;
  struct size_class *classes;
  struct ca_blocks blocks;
  uint64_t latest; /* offset of the last fresh block */
};

static struct {
  struct site_arena *sites;
  uint32_t num_sites;
} heap;

static struct site_arena *arena_of(uint32_t site) {
  if (site >= heap.num_sites) {
    uint32_t wanted = site + 64;
    struct site_arena *grown = realloc(heap.sites, wanted * sizeof *heap.sites);
    if (!grown)
      return 0;
    memset(grown + heap.num_sites, 0, (wanted - heap.num_sites) * sizeof *grown);
    heap.sites = grown;
    heap.num_sites = wanted;
  }
  return &heap.sites[site];
}

static struct size_class *class_of(struct site_arena *arena, uint64_t size, uint32_t alignment) {
  struct size_class *entry = arena->classes;
  while (entry && (entry->size != size || entry->alignment != alignment))
    entry = entry->next;
  if (!entry && (entry = calloc(1, sizeof *entry))) {
    entry->size = size;
    entry->alignment = alignment;
    entry->next = arena->classes;
    arena->classes = entry;
  }
  return entry;
}

static uint64_t rounded(uint64_t bytes) { return bytes ? (bytes + 15) & ~15ull : 16; }

static struct free_block *merged(struct free_block *a, struct free_block *b) {
  struct free_block *root = 0, **at = &root;
  while (a && b) {
    struct free_block *low = a < b ? a : b, *high = a < b ? b : a;
    *at = low;
    a = low->right;
    b = high;
    low->right = low->left;
    at = &low->left;
  }
  *at = a ? a : b;
  return root;
}

/* The named size of an extent is what was handed out, not what is reserved. */
static void trim(const struct site_arena *arena) {
  if (!arena->chunk)
    return;
  struct ca_extent *extent = (struct ca_extent *)ca_extents.data + arena->extent;
  extent->size = arena->next > extent->start ? arena->next - extent->start : 0;
}

void ca_trim_extents(void) {
  for (uint32_t site = 0; site < heap.num_sites; site++)
    trim(&heap.sites[site]);
}

/* Where the blocks of all sites are; `count` says how many sites. */
const struct ca_blocks *ca_list_blocks(uint64_t *count) {
  struct ca_blocks *all = calloc(heap.num_sites + 1, sizeof *all);
  *count = all ? heap.num_sites : 0;
  for (uint32_t site = 0; site < *count; site++)
    all[site] = heap.sites[site].blocks;
  return all;
}

/* A fresh block begins at an offset of its site's address space. */
static void note_block(struct site_arena *arena, uint32_t site, uint64_t offset, uint64_t bytes) {
  struct ca_blocks *blocks = &arena->blocks;
  if (blocks->count < CA_LISTED_BLOCKS)
    ca_add_extent(CA_EXTENT_BLOCK, site, offset, 0, bytes, 0);
  if (!blocks->count)
    blocks->first = offset;
  else if (blocks->count == 1)
    blocks->period = offset - arena->latest;
  else if (blocks->period != offset - arena->latest)
    blocks->period = 0;
  arena->latest = offset;
  blocks->size = bytes > blocks->size ? bytes : blocks->size;
  blocks->count++;
}

/* Takes another chunk. Where it follows the last one, blocks go on without a gap: rows of a matrix that are allocated
 * one by one stay at equal distances. */
static bool extend(struct site_arena *arena, uint32_t site, uint64_t bytes) {
  trim(arena);
  uint64_t chunk = arena->chunk ? arena->chunk * 2 : 1u << 16;
  if (chunk > (1ull << 32))
    chunk = 1ull << 32;
  bool has_chunk = arena->chunk;
  arena->chunk = chunk;
  if (chunk < bytes)
    chunk = (bytes + 4095) & ~4095ull;
  uint64_t start = (uint64_t)ca_arena_take(chunk, 4096), left = arena->end - arena->next;
  if (!start)
    return false;
  bool goes_on = has_chunk && start == arena->end;
  if (goes_on)
    ((struct ca_extent *)ca_extents.data)[arena->extent].size += left;
  else
    arena->next = start;
  arena->end = start + chunk;
  arena->extent = ca_extents.bytes / sizeof(struct ca_extent);
  ca_add_extent(CA_EXTENT_HEAP, site, start, chunk, arena->used + (goes_on ? left : 0), 0);
  return true;
}

static void *fresh_block(struct site_arena *arena, uint32_t site, uint64_t asked, uint64_t alignment) {
  uint64_t size = rounded(asked);
  uint64_t most = HEADER + size + (alignment > 16 ? alignment : 0);
  if (arena->next + most > arena->end && !extend(arena, site, most))
    return 0;
  uint64_t payload = (arena->next + HEADER + alignment - 1) & ~(alignment - 1);
  uint64_t bytes = payload + size - arena->next;
  *((struct block *)payload - 1) = (struct block){size, site, (uint32_t)alignment};
  note_block(arena, site, arena->used + bytes - size, asked);
  arena->next += bytes;
  arena->used += bytes;
  return (void *)payload;
}

/* Fresh blocks are 0; others are cleared if that is asked for. */
static void *allocate(uint32_t site, uint64_t size, uint64_t alignment, bool clears) {
  struct site_arena *arena = arena_of(site);
  if (size > CA_ARENA_BYTES || !arena) {
    errno = ENOMEM;
    return 0;
  }
  alignment = alignment > 16 ? alignment : 16;
  struct size_class *list = class_of(arena, rounded(size), (uint32_t)alignment);
  if (list && list->first) {
    struct free_block *reused = list->first;
    list->first = merged(reused->left, reused->right);
    if (clears)
      memset(reused, 0, size);
    return reused;
  }
  void *payload = fresh_block(arena, site, size, alignment);
  if (!payload)
    errno = ENOMEM;
  return payload;
}

static bool in_arena(const void *pointer) {
  uint64_t address = (uint64_t)pointer;
  return address >= CA_ARENA_BASE && address < CA_ARENA_BASE + CA_ARENA_BYTES;
}

CA_CALL void *ca_malloc(uint32_t site, uint64_t size) { return allocate(site, size, 16, false); }

CA_CALL void *ca_calloc(uint32_t site, uint64_t count, uint64_t size) {
  uint64_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return 0;
  }
  return allocate(site, bytes, 16, true);
}

CA_CALL void *ca_aligned_alloc(uint32_t site, uint64_t alignment, uint64_t size) {
  return allocate(site, size, alignment, false);
}

CA_CALL int ca_posix_memalign(uint32_t site, void **out, uint64_t alignment, uint64_t size) {
  if (alignment & (alignment - 1) || alignment < sizeof(void *))
    return EINVAL;
  int saved = errno;
  void *payload = allocate(site, size, alignment, false);
  errno = saved;
  if (!payload)
    return ENOMEM;
  *out = payload;
  return 0;
}

static void release(void *payload) {
  struct block *header = (struct block *)payload - 1;
  struct site_arena *arena = arena_of(header->site);
  struct size_class *list = arena ? class_of(arena, header->size, header->alignment) : 0;
  ca_forget_range((uint64_t)payload, header->size);
  if (header->size >= LARGE) {
    /* give the pages back, keep the address: whole pages behind the first, which holds the list link */
    uint64_t first = ((uint64_t)payload + 8191) & ~4095ull;
    uint64_t last = ((uint64_t)payload + header->size) & ~4095ull;
    if (last > first)
      madvise((void *)first, last - first, MADV_DONTNEED);
  }
  if (list) {
    struct free_block *block = payload;
    *block = (struct free_block){0, 0};
    list->first = merged(list->first, block);
  }
}

/* The C library's own functions, for memory that its code allocated. */
static void (*real_free)(void *);
static void *(*real_realloc)(void *, size_t);

/* dlsym releases the message of an earlier failure by calling free: what asks during the search finds nothing. */
static bool find_real(void) {
  static bool is_searching;
  if (!real_realloc && !is_searching) {
    is_searching = true;
    *(void **)&real_free = dlsym(RTLD_NEXT, "free");
    *(void **)&real_realloc = dlsym(RTLD_NEXT, "realloc");
    is_searching = false;
  }
  return real_realloc;
}

/* Defined for the whole process: library code may release blocks that the program allocated. */
__attribute__((used, visibility("default"))) void free(void *pointer) {
  if (!pointer)
    return;
  if (in_arena(pointer))
    release(pointer);
  else if (find_real()) /* the search's caller releases that message */
    real_free(pointer);
}

static uint64_t payload_bytes(const void *payload) { return ((const struct block *)payload - 1)->size; }

static void *move_block(uint32_t site, void *old, uint64_t size) {
  void *payload = allocate(site, size, 16, false);
  if (!payload)
    return 0;
  uint64_t kept = payload_bytes(old);
  kept = kept < size ? kept : size;
  memcpy(payload, old, kept);
  ca_move_words((uint64_t)payload, (uint64_t)old, kept);
  release(old);
  return payload;
}

__attribute__((used, visibility("default"))) void *realloc(void *pointer, size_t size) {
  if (pointer && in_arena(pointer))
    return move_block(((struct block *)pointer - 1)->site, pointer, size);
  if (find_real())
    return real_realloc(pointer, size);
  errno = ENOMEM;
  return 0;
}

CA_CALL void *ca_realloc(uint32_t site, void *pointer, uint64_t size) {
  if (!pointer)
    return ca_malloc(site, size);
  if (size == 0) {
    free(pointer);
    return 0;
  }
  if (in_arena(pointer))
    return move_block(site, pointer, size);
  return realloc(pointer, size);
}

CA_CALL void ca_free(void *pointer) { free(pointer); }
