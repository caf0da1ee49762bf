/* The index of rows: finds a row again by its anchors and its hash.
 *
 * A row has up to three anchors, values that it is about: the newest register value among its labels, its sink
 * (of a register value: its first source), its last label. It is kept with the first of them that few rows
 * have. Which these are was true when it came and stays true, so the search goes the same way: it ends at the
 * first anchor with few rows. What is computed from a new register value is new; constants, and words that all
 * elements use, have many rows.
 *
 * An anchor knows its only row, or the bucket that its rows are in: a header and entries that know half of each
 * row's mixed hash, so that no other row is looked at. Buckets lie in the order in which they were needed:
 * sweeps over arrays walk memory in order.
 *
 *   bucket:  rows, size | row, tag | row, tag | ...     32 bytes, 64, 128, ...
 */
#define _GNU_SOURCE
#include "state.h"
#include <string.h>
#include <sys/mman.h>

#define IN_BUCKET (1u << 31) /* instead of row + 1: the bucket's place, in units */
#define UNIT 32u             /* bytes of the least bucket */
#define LINE 64u
#define IN_ORDER 7u /* entries of a bucket that is a line: they are filled and searched from the first on */
#define FEW 24u     /* rows: three quarters of a bucket of 256 bytes */
#define MOST_SIZES 32u
#define WORDS ((CA_ADDRESS_MASK + 1) / 4)

/* Rows of an anchor. */
struct entry {
  uint32_t row; /* + 1 */
  uint32_t tag; /* of its hash */
};

struct bucket {
  uint32_t rows;
  uint32_t size; /* entries */
  struct entry entries[];
};

static uint32_t *by_word; /* row + 1 or bucket of each word */
static uint32_t *by_row;  /* of the register value of the row before this place */
static struct ca_column by_rows, buckets;
static uint32_t freed[MOST_SIZES]; /* buckets that were outgrown, each names the next one; units + 1 */

bool ca_anchors_reserve(void) {
  by_word = ca_map(WORDS * sizeof *by_word);
  if (!by_word || !ca_row_column_reserve(&by_rows, sizeof *by_row) ||
      !ca_column_reserve(&buckets, (uint64_t)IN_BUCKET * UNIT))
    return false;
  by_row = (uint32_t *)by_rows.data;
  ca_prefer_huge_pages(by_word + ca_word(CA_ARENA_BASE), DENSE_BYTES / 4 * sizeof *by_word);
  return true;
}

/* The chain hash is linear in its labels: mixed before bits of it are taken. */
static uint32_t tag_of(uint64_t hash) {
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9ull;
  return (uint32_t)(hash ^ (hash >> 32));
}

/* A label, or a word, as an anchor. */
static uint32_t *anchor_of(uint64_t label) {
  if (label & CA_REG)
    return &by_row[(label + 1) & UINT32_MAX]; /* 0 is CA_NOTHING's */
  return &by_word[label & (CA_ADDRESS_MASK >> 2)];
}

static void add_anchor(struct ca_place *place, uint32_t *anchor) {
  for (uint32_t i = 0; i < place->count; i++)
    if (place->anchors[i] == anchor)
      return;
  place->anchors[place->count++] = anchor;
}

static struct bucket *bucket_at(uint32_t anchor) {
  return (struct bucket *)(buckets.data + (uint64_t)(anchor & ~IN_BUCKET) * UNIT);
}

/* Place where the search for an entry begins. */
static uint32_t start_of(const struct bucket *bucket, uint32_t tag) {
  return bucket->size <= IN_ORDER ? 0 : (uint32_t)((uint64_t)tag * bucket->size >> 32);
}

/* Begins to fetch the lines of a bucket of an anchor with few rows, whatever its size is. */
static void fetch(const struct bucket *bucket) {
  for (uint32_t line = 0; line < 4; line++)
    __builtin_prefetch((const char *)bucket + line * LINE);
}

static uint64_t find_in(const struct bucket *bucket, uint64_t hash) {
  uint32_t tag = tag_of(hash), place = start_of(bucket, tag);
  for (uint32_t left = bucket->size; left && bucket->entries[place].row; left--) {
    const struct entry *entry = &bucket->entries[place];
    if (entry->tag == tag && ca_state.cells[entry->row - 1].hash == hash)
      return entry->row;
    place = place + 1 == bucket->size ? 0 : place + 1;
  }
  return 0;
}

/* Finds an event's anchors. Begins to fetch what the search looks at first. */
void ca_anchors_find(const struct ca_event *event, struct ca_place *place) {
  bool has_labels = !(event->flags & (CA_ROW_FILL | CA_ROW_RANGE | CA_ROW_NEST));
  uint32_t *newest = by_row, *last = by_row;
  for (uint32_t i = 0; has_labels && i < event->count; i++) {
    uint32_t *anchor = anchor_of(event->labels[i]);
    if (event->labels[i] & CA_REG && anchor > newest)
      newest = anchor;
    last = event->labels[i] ? anchor : last;
  }
  place->count = 0;
  if (newest != by_row)
    place->anchors[place->count++] = newest;
  add_anchor(place, anchor_of(event->anchor));
  if (last != by_row)
    add_anchor(place, last);
  uint32_t first = *place->anchors[0];
  for (uint32_t i = 1; i < place->count; i++)
    __builtin_prefetch(place->anchors[i]);
  if (first & IN_BUCKET)
    fetch(bucket_at(first));
  else if (first)
    __builtin_prefetch(&ca_state.cells[first - 1]);
}

static bool has_few(uint32_t anchor) { return !(anchor & IN_BUCKET) || bucket_at(anchor)->rows < FEW; }

/* Row + 1 with this hash, 0 for none; then it would be kept in this place. */
uint64_t ca_anchors_search(struct ca_place *place, uint64_t hash) {
  for (place->chosen = 0;; place->chosen++) {
    uint32_t anchor = *place->anchors[place->chosen];
    uint64_t row = anchor;
    if (place->chosen && anchor & IN_BUCKET)
      fetch(bucket_at(anchor));
    if (anchor & IN_BUCKET)
      row = find_in(bucket_at(anchor), hash);
    else if (anchor && ca_state.cells[anchor - 1].hash != hash)
      row = 0;
    if (row || place->chosen + 1 == place->count || has_few(anchor))
      return row;
  }
}

static void put(struct bucket *bucket, struct entry entry) {
  uint32_t place = bucket->size <= IN_ORDER ? bucket->rows : start_of(bucket, entry.tag);
  while (bucket->entries[place].row)
    place = place + 1 == bucket->size ? 0 : place + 1;
  bucket->entries[place] = entry;
  bucket->rows++;
}

static void put_row(struct bucket *bucket, uint64_t row) {
  put(bucket, (struct entry){(uint32_t)(row + 1), tag_of(ca_state.cells[row].hash)});
}

/* Buckets of a line and less are filled up, others to three quarters. */
static bool is_full(const struct bucket *bucket) {
  return bucket->rows >= (bucket->size <= IN_ORDER ? bucket->size : bucket->size - bucket->size / 4);
}

static uint64_t bytes_of(uint32_t size) { return (uint64_t)UNIT << size; }

static void give_back(uint32_t anchor, uint32_t size) {
  struct bucket *bucket = bucket_at(anchor);
  memset(bucket, 0, bytes_of(size));
  bucket->rows = freed[size];
  freed[size] = (anchor & ~IN_BUCKET) + 1;
}

/* An empty bucket; 0 if there is no memory. No line holds parts of two. */
static uint32_t take(uint32_t size) {
  uint32_t anchor = 0;
  if (freed[size]) {
    anchor = (freed[size] - 1) | IN_BUCKET;
    freed[size] = bucket_at(anchor)->rows;
  } else {
    uint64_t gap = size ? -buckets.bytes % LINE : 0;
    if (!ca_column_room(&buckets, gap + bytes_of(size)))
      return 0;
    if (gap)
      give_back((uint32_t)(buckets.bytes / UNIT) | IN_BUCKET, 0);
    buckets.bytes += gap;
    anchor = (uint32_t)(buckets.bytes / UNIT) | IN_BUCKET;
    buckets.bytes += bytes_of(size);
  }
  bucket_at(anchor)->rows = 0;
  bucket_at(anchor)->size = (uint32_t)(bytes_of(size) / sizeof(struct entry)) - 1;
  return anchor;
}

static uint32_t size_class(const struct bucket *bucket) {
  return (uint32_t)__builtin_ctz((bucket->size + 1) / (UNIT / sizeof(struct entry)));
}

/* The entries of a full bucket get one that is twice as large. */
static bool grow(uint32_t *anchor) {
  uint32_t size = size_class(bucket_at(*anchor)), fresh = size + 1 < MOST_SIZES ? take(size + 1) : 0;
  if (!fresh)
    return false;
  const struct bucket *old = bucket_at(*anchor);
  for (uint32_t i = 0; i < old->size; i++)
    if (old->entries[i].row)
      put(bucket_at(fresh), old->entries[i]);
  give_back(*anchor, size);
  *anchor = fresh;
  return true;
}

/* Makes room for a further row where the search ended. */
bool ca_anchors_room(const struct ca_place *place) {
  uint32_t *anchor = place->anchors[place->chosen];
  if (*anchor & IN_BUCKET)
    return !is_full(bucket_at(*anchor)) || grow(anchor);
  if (!*anchor && ca_num_rows + 1 < IN_BUCKET)
    return true;
  uint32_t fresh = take(0);
  if (fresh && *anchor)
    put_row(bucket_at(fresh), *anchor - 1);
  if (fresh)
    *anchor = fresh;
  return fresh;
}

/* There is room for it, and its hash is known. */
void ca_anchors_put(const struct ca_place *place, uint64_t row) {
  uint32_t *anchor = place->anchors[place->chosen];
  if (*anchor & IN_BUCKET)
    put_row(bucket_at(*anchor), row);
  else
    *anchor = (uint32_t)(row + 1);
}

/* The memory of the buckets was given back: nothing is known. */
void ca_anchors_forget(void) {
  madvise(by_word, WORDS * sizeof *by_word, MADV_DONTNEED);
  memset(freed, 0, sizeof freed);
}
