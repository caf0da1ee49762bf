/* What previews found out, kept together with the memory that they read.
 *
 * A preview is a function of what enters the loop (its key) and of the memory that it reads. While the key is
 * the same and every byte of that memory is what it was, another preview would find out the same. Memory is
 * compared with a copy, so it does not matter who wrote to it, or what.
 *
 * Kept are previews that came to the same result twice in a row and whose loops were recorded, of memory that
 * is always readable, and not much more of it than they looked at. What changed too soon waits twice as long
 * next time.
 */
#include "state.h"
#include <string.h>

#define NUM_WAYS 4u
#define NUM_KEYS 4096u
#define MOST_READS 32u
#define BITS_PER_SIZE 2u /* a power of two */
#define MOST_PATIENCE 16u
#define FEW_USES 8u
#define BYTES_PER_BLOCK 32u /* compared per block that is executed; beyond, a preview is about as fast */
#define SHARE_OF_MEMORY 16u
#define MOST_BYTES (1ull << 32)
#define PAGE 4096u

/* Memory of this process. */
struct range {
  uint64_t low;
  uint64_t bytes;
};

/* Memory of a snapshot: this, the slots of the preview's storage, the bytes of all ranges. */
struct snapshot {
  uint64_t bytes; /* of all */
  uint32_t num_slots;
  uint32_t num_ranges;
  struct range ranges[MOST_READS];
  uint64_t slots[];
};

struct entry {
  uint64_t key;
  uint64_t result;
  struct snapshot *snapshot; /* 0 for none */
  uint64_t last_use;
  uint32_t in_a_row; /* previews with this result, or uses of the snapshot */
  uint32_t patience; /* as a power of two: previews in a row before a snapshot is taken */
};

static struct {
  struct entry entries[NUM_KEYS][NUM_WAYS];
  uint64_t clock, total_bytes;
  bool is_stopped;
} snapshots;

static struct entry *entry_of(uint64_t key) {
  struct entry *ways = snapshots.entries[((key ^ (key >> 32)) * 0x9e3779b97f4a7c15ull) >> 52];
  struct entry *oldest = ways;
  for (uint32_t i = 0; i < NUM_WAYS; i++) {
    if (ways[i].key == key)
      return &ways[i];
    if (ways[i].last_use < oldest->last_use)
      oldest = &ways[i];
  }
  return oldest;
}

static void drop(struct entry *entry) {
  struct snapshot *old = entry->snapshot;
  entry->snapshot = 0;
  if (old) {
    snapshots.total_bytes -= old->bytes;
    ca_unmap(old, old->bytes);
  }
}

/* Their memory is needed, or may become unreadable: no more from now on. */
void ca_snapshots_stop(void) {
  snapshots.is_stopped = true;
  for (uint32_t i = 0; i < NUM_KEYS * NUM_WAYS; i++)
    drop(&snapshots.entries[0][0] + i);
}

static bool is_as_it_was(const struct snapshot *snapshot) {
  const unsigned char *copy = (const unsigned char *)(snapshot->slots + snapshot->num_slots);
  for (uint32_t i = 0; i < snapshot->num_ranges; i++) {
    const struct range *range = &snapshot->ranges[i];
    if (memcmp((const void *)range->low, copy, range->bytes) != 0)
      return false;
    copy += range->bytes;
  }
  return true;
}

/* 1 if a preview with this key would find out what it did before: that is put into the slots. */
CA_CALL uint32_t ca_preview_same(uint64_t key, uint64_t *slots) {
  struct entry *entry = entry_of(key);
  if (entry->key != key || !entry->snapshot)
    return 0;
  entry->last_use = ++snapshots.clock;
  if (is_as_it_was(entry->snapshot)) {
    memcpy(slots, entry->snapshot->slots, entry->snapshot->num_slots * sizeof *slots);
    entry->in_a_row++;
    return 1;
  }
  entry->patience += entry->in_a_row < FEW_USES && entry->patience < MOST_PATIENCE;
  entry->in_a_row = 0;
  drop(entry);
  return 0;
}

/* Memory that the program cannot make unreadable: its heap, its local arrays and its global variables. */
static bool is_readable(uint64_t low, uint64_t bytes) {
  if (low >= CA_ARENA_BASE && low + bytes <= CA_ARENA_BASE + CA_ARENA_BYTES)
    return true;
  for (uint64_t i = 0; i < ca_num_globals; i++)
    if (low >= (uint64_t)ca_globals[i].start &&
        low + bytes <= (uint64_t)ca_globals[i].start + ca_globals[i].size)
      return true;
  return false;
}

/* Adds a range to those that are sorted and apart. */
static uint32_t insert(struct range *ranges, uint32_t count, struct range added) {
  uint32_t at = count;
  while (at > 0 && ranges[at - 1].low > added.low) {
    ranges[at] = ranges[at - 1];
    at--;
  }
  ranges[at] = added;
  uint32_t kept = 0;
  for (uint32_t i = 1; i <= count; i++) {
    uint64_t end = ranges[kept].low + ranges[kept].bytes, other = ranges[i].low + ranges[i].bytes;
    if (ranges[i].low <= end)
      ranges[kept].bytes = (other > end ? other : end) - ranges[kept].low;
    else
      ranges[++kept] = ranges[i];
  }
  return kept + 1;
}

/* What a preview read, from the least and largest address of each of its reads; UINT32_MAX if that cannot be
 * kept. */
static uint32_t ranges_of(const uint64_t *slots, uint32_t num_reads, uint64_t sizes, struct range *ranges) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < num_reads; i++) {
    int64_t low = (int64_t)slots[1 + 2 * i], high = (int64_t)slots[2 + 2 * i];
    if (high < low) /* it read nothing there */
      continue;
    uint64_t size = 1ull << (sizes >> (BITS_PER_SIZE * i)) % (1u << BITS_PER_SIZE);
    struct range range = {(uint64_t)low, (uint64_t)high - (uint64_t)low + size};
    if (!is_readable(range.low, range.bytes))
      return UINT32_MAX;
    count = insert(ranges, count, range);
  }
  return count;
}

static void take(struct entry *entry, const uint64_t *slots, uint32_t num_slots, uint32_t num_reads,
                 uint64_t sizes) {
  struct range ranges[MOST_READS + 1];
  uint32_t count = ranges_of(slots, num_reads, sizes, ranges);
  uint64_t read = 0, allowed = ca_memory_allowed() / SHARE_OF_MEMORY;
  if (count == UINT32_MAX)
    return;
  for (uint32_t i = 0; i < count; i++)
    read += ranges[i].bytes;
  uint64_t bytes = sizeof(struct snapshot) + num_slots * sizeof *slots + read;
  bytes = (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
  allowed = allowed < MOST_BYTES ? allowed : MOST_BYTES;
  if (read > BYTES_PER_BLOCK * ca_preview_blocks(slots[0]) || snapshots.total_bytes + bytes > allowed)
    return;
  struct snapshot *fresh = ca_map(bytes);
  if (!fresh)
    return;
  *fresh = (struct snapshot){.bytes = bytes, .num_slots = num_slots, .num_ranges = count};
  memcpy(fresh->ranges, ranges, count * sizeof *ranges);
  memcpy(fresh->slots, slots, num_slots * sizeof *slots);
  unsigned char *copy = (unsigned char *)(fresh->slots + num_slots);
  for (uint32_t i = 0; i < count; i++) {
    memcpy(copy, (const void *)ranges[i].low, ranges[i].bytes);
    copy += ranges[i].bytes;
  }
  entry->snapshot = fresh;
  entry->in_a_row = 0;
  snapshots.total_bytes += bytes;
}

/* A preview was made: its result, then the least and largest address of each read and of what else it noted. */
CA_CALL void ca_preview_seen(uint64_t key, const uint64_t *slots, uint32_t num_slots, uint32_t num_reads,
                             uint64_t sizes) {
  if (snapshots.is_stopped)
    return;
  struct entry *entry = entry_of(key);
  if (entry->key != key) {
    drop(entry);
    *entry = (struct entry){.key = key};
  }
  entry->in_a_row = entry->result == slots[0] ? entry->in_a_row + 1 : 0;
  entry->result = slots[0];
  entry->last_use = ++snapshots.clock;
  if (entry->in_a_row >= 1u << entry->patience)
    take(entry, slots, num_slots, num_reads, sizes);
}
