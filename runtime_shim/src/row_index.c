/* The index of rows: finds a row again by its hash.
 *
 * Open addressing; an entry has half of the mixed hash, so that hardly any other row is looked at. Entries are in
 * the order of that half, nearly: a table that is full is read and its successor is written from front to back.
 * Places are anywhere in memory: those of the last rows are still being fetched, so these are looked at one by one.
 */
#include "state.h"

#define FEWEST_BITS 12u
#define MOST_LATE 8u /* their hashes are two cache lines */

struct entry {
  uint32_t row; /* + 1 */
  uint32_t tag; /* of its hash */
};

static struct {
  struct entry *table;
  uint32_t bits; /* it has so many entries, as a power of 2 */
  uint64_t first, late, end; /* rows that it is of; from `late` on, up to `end`, they are not in it yet */
} index;

static uint64_t entries(void) { return index.table ? 1ull << index.bits : 0; }

/* The chain hash is linear in its labels: mixed before bits of it are taken. */
static uint32_t tag_of(uint64_t hash) {
  hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9ull;
  return (uint32_t)((hash ^ (hash >> 32)) * 0x94d049bb133111ebull >> 32);
}

/* Puts an entry into the table, which has room for it. */
static void put(struct entry entry) {
  uint64_t place = entry.tag >> (32 - index.bits);
  while (index.table[place].row)
    place = (place + 1) & (entries() - 1);
  index.table[place] = entry;
}

static bool grow(void) {
  struct entry *old = index.table;
  uint64_t count = entries();
  uint32_t wanted = old ? index.bits + 1 : FEWEST_BITS;
  struct entry *fresh = wanted > 32 ? 0 : ca_table(sizeof *fresh << wanted);
  if (!fresh)
    return false;
  index.table = fresh;
  index.bits = wanted;
  for (uint64_t i = 0; i < count; i++)
    if (old[i].row)
      put(old[i]);
  if (old)
    ca_unmap(old, count * sizeof *old);
  return true;
}

/* Row + 1; 0 if there is none with this hash. */
uint64_t ca_index_find(uint64_t hash) {
  if (!index.table)
    return 0;
  uint32_t tag = tag_of(hash);
  uint64_t place = tag >> (32 - index.bits);
  while (index.table[place].row && (index.table[place].tag != tag || ca_state.cells[index.table[place].row - 1].hash != hash))
    place = (place + 1) & (entries() - 1);
  for (uint64_t row = index.late; row < index.end && !index.table[place].row; row++)
    if (ca_state.cells[row].hash == hash)
      return row + 1;
  return index.table[place].row;
}

/* Makes room for a further row: at most three quarters are filled. */
bool ca_index_room(void) { return index.late - index.first < entries() / 4 * 3 || grow(); }

/* There is room for it, and its hash is known. */
void ca_index_put(uint64_t row) {
  __builtin_prefetch(&index.table[tag_of(ca_state.cells[row].hash) >> (32 - index.bits)], 1);
  for (index.end = row + 1; index.end - index.late > MOST_LATE; index.late++)
    put((struct entry){(uint32_t)(index.late + 1), tag_of(ca_state.cells[index.late].hash)});
}

/* What was recorded so far is not looked for any more. */
void ca_index_forget(void) {
  if (index.table)
    ca_unmap(index.table, entries() * sizeof *index.table);
  index.table = 0;
  index.first = index.late = index.end;
}
