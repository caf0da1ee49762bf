/* The index of rows: finds a row again by its anchors and its hash.
 *
 * A row has anchors, values that it is about: the newest register value among its labels, its sink (of a
 * register value: its first source), its last label, some other labels. It is kept with the first of them that
 * few rows have. Which these are was true when it came and stays true, so the search goes the same way: it ends
 * at the first anchor with few rows. What is computed from a new register value is new; constants, and words
 * that all elements use, have many rows.
 *
 * An anchor knows its only row, or the bucket that its rows are in. With each row there is a part of its mixed
 * hash, so that no other row is looked at. Few rows are a list, in the order in which they came; many rows, of
 * anchors that are the last ones of theirs, a hash table. Buckets lie in the order in which they were needed:
 * sweeps over arrays walk memory in order.
 *
 *   list:   size, rows | tag, tag, ... | row, row, ...      32 bytes (5 rows), 64 (10), 128 (21)
 *   table:  size, rows | row, tag | row, tag | ...          256 bytes, 512, ...
 */
#define _GNU_SOURCE
#include "state.h"
#include <string.h>
#include <sys/mman.h>

#define IN_BUCKET (1u << 31) /* instead of row + 1: the bucket's place, in units */
#define UNIT 32u             /* bytes of the least bucket */
#define LINE 64u
#define LISTS 3u /* sizes of lists; larger buckets are tables */
#define FEW 21u  /* rows: a full list */
#define MOST_SIZES 32u
#define WORDS ((CA_ADDRESS_MASK + 1) / 4)

struct bucket {
  uint8_t size; /* it has UNIT << size bytes */
};

/* Its rows are the last bytes of the bucket. */
struct list {
  uint8_t size;
  uint8_t rows;
  uint16_t tags[];
};
static const uint8_t room_of[LISTS] = {5, 10, FEW};

struct entry {
  uint32_t row; /* + 1 */
  uint32_t tag; /* of its hash */
};

struct table {
  uint8_t size;
  uint32_t rows;
  struct entry entries[];
};

static uint32_t *by_word; /* row + 1 or bucket of each word */
static uint32_t *by_row;  /* of the register value of the row before this place */
static struct ca_column by_rows, buckets;
static uint32_t freed[MOST_SIZES]; /* buckets that were outgrown, each begins with the next one; units + 1 */

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

static uint64_t bytes_of(uint32_t size) { return (uint64_t)UNIT << size; }

static bool is_list(const struct bucket *bucket) { return bucket->size < LISTS; }

static const struct list *as_list(const struct bucket *bucket) { return (const struct list *)bucket; }

static const struct table *as_table(const struct bucket *bucket) { return (const struct table *)bucket; }

/* Rows + 1 of a list. */
static uint32_t *rows_of(const struct bucket *bucket) {
  return (uint32_t *)((uintptr_t)bucket + bytes_of(bucket->size)) - room_of[bucket->size];
}

/* Entries of a table. */
static uint32_t entries_of(const struct bucket *bucket) {
  return (uint32_t)(bytes_of(bucket->size) / sizeof(struct entry)) - 1;
}

/* Place where the search for an entry begins. */
static uint32_t start_of(uint32_t size, uint32_t tag) { return (uint32_t)((uint64_t)tag * size >> 32); }

/* Begins to fetch the lines of a list, whatever its size is. */
static void fetch(const struct bucket *bucket) {
  __builtin_prefetch(bucket);
  __builtin_prefetch((const char *)bucket + LINE);
}

static uint64_t find_in_list(const struct bucket *bucket, uint64_t hash) {
  const struct list *list = as_list(bucket);
  const uint32_t *rows = rows_of(bucket);
  uint16_t tag = (uint16_t)tag_of(hash);
  for (uint32_t i = 0; i < list->rows; i++)
    if (list->tags[i] == tag && ca_state.cells[rows[i] - 1].hash == hash)
      return rows[i];
  return 0;
}

static uint64_t find_in_table(const struct bucket *bucket, uint64_t hash) {
  const struct entry *entries = as_table(bucket)->entries;
  uint32_t size = entries_of(bucket), tag = tag_of(hash), place = start_of(size, tag);
  while (entries[place].row) {
    if (entries[place].tag == tag && ca_state.cells[entries[place].row - 1].hash == hash)
      return entries[place].row;
    place = place + 1 == size ? 0 : place + 1;
  }
  return 0;
}

static uint64_t find_in(const struct bucket *bucket, uint64_t hash) {
  return is_list(bucket) ? find_in_list(bucket, hash) : find_in_table(bucket, hash);
}

/* Adds another label of the event as an anchor; false if there is none, or no room. Few rows need it. */
static bool add_further(const struct ca_event *event, struct ca_place *place) {
  uint32_t count = place->count;
  while (place->num_tried < place->num_labels && place->count == count && count < CA_MOST_ANCHORS) {
    uint64_t label = event->labels[place->num_tried++];
    if (label && (label & ~CA_ROLES) != CA_NOTHING)
      add_anchor(place, anchor_of(label));
  }
  return place->count > count;
}

/* Finds an event's first anchors. Begins to fetch what the search looks at first. */
void ca_anchors_find(const struct ca_event *event, struct ca_place *place) {
  bool has_labels = !(event->flags & (CA_ROW_FILL | CA_ROW_RANGE | CA_ROW_NEST));
  uint32_t *newest = by_row, *last = by_row;
  for (uint32_t i = 0; has_labels && i < event->count; i++) {
    uint32_t *anchor = anchor_of(event->labels[i]);
    if (event->labels[i] & CA_REG && anchor > newest)
      newest = anchor;
    last = event->labels[i] ? anchor : last;
  }
  place->count = place->num_tried = 0;
  place->num_labels = has_labels ? event->count : 0;
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

#define EXPECTED 4u /* values */

/* A value was copied: rows that take the copy will be about it. Its rows are fetched in two steps, as others
 * are copied meanwhile. */
void ca_anchors_expect(uint64_t label) {
  static const uint32_t *expected[EXPECTED];
  static uint32_t number;
  const uint32_t **oldest = &expected[number++ % EXPECTED];
  if (*oldest && **oldest & IN_BUCKET)
    fetch(bucket_at(**oldest));
  *oldest = anchor_of(label);
  __builtin_prefetch(*oldest);
}

static bool has_few(uint32_t anchor) {
  const struct bucket *bucket = bucket_at(anchor);
  return !(anchor & IN_BUCKET) || (is_list(bucket) && as_list(bucket)->rows < FEW);
}

/* Row + 1 of the event, 0 for none; then it would be kept in this place. */
uint64_t ca_anchors_search(const struct ca_event *event, struct ca_place *place) {
  const uint64_t hash = event->hash;
  for (place->chosen = 0;; place->chosen++) {
    uint32_t anchor = *place->anchors[place->chosen];
    uint64_t row = anchor;
    if (place->chosen && anchor & IN_BUCKET)
      fetch(bucket_at(anchor));
    if (anchor & IN_BUCKET)
      row = find_in(bucket_at(anchor), hash);
    else if (anchor && ca_state.cells[anchor - 1].hash != hash)
      row = 0;
    if (row || has_few(anchor) || (place->chosen + 1 == place->count && !add_further(event, place)))
      return row;
  }
}

static void put_in_table(struct bucket *bucket, struct entry entry) {
  struct table *table = (struct table *)bucket;
  uint32_t size = entries_of(bucket), place = start_of(size, entry.tag);
  while (table->entries[place].row)
    place = place + 1 == size ? 0 : place + 1;
  table->entries[place] = entry;
  table->rows++;
}

static void put_row(struct bucket *bucket, uint64_t row) {
  uint32_t tag = tag_of(ca_state.cells[row].hash);
  if (!is_list(bucket)) {
    put_in_table(bucket, (struct entry){(uint32_t)(row + 1), tag});
    return;
  }
  struct list *list = (struct list *)bucket;
  rows_of(bucket)[list->rows] = (uint32_t)(row + 1);
  list->tags[list->rows++] = (uint16_t)tag;
}

/* Tables are filled to three quarters. */
static bool is_full(const struct bucket *bucket) {
  if (is_list(bucket))
    return as_list(bucket)->rows == room_of[bucket->size];
  return as_table(bucket)->rows >= entries_of(bucket) - entries_of(bucket) / 4;
}

static void give_back(uint32_t anchor, uint32_t size) {
  memset(bucket_at(anchor), 0, bytes_of(size));
  memcpy(bucket_at(anchor), &freed[size], sizeof freed[size]);
  freed[size] = (anchor & ~IN_BUCKET) + 1;
}

/* An empty bucket; 0 if there is no memory. No line holds parts of two. */
static uint32_t take(uint32_t size) {
  uint32_t anchor = 0;
  if (freed[size]) {
    anchor = (freed[size] - 1) | IN_BUCKET;
    memcpy(&freed[size], bucket_at(anchor), sizeof freed[size]);
    memset(bucket_at(anchor), 0, sizeof freed[size]);
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
  bucket_at(anchor)->size = (uint8_t)size;
  return anchor;
}

/* Puts the rows of a full bucket into an empty one that is twice as large. */
static void move_rows(const struct bucket *from, struct bucket *to) {
  if (is_list(to)) {
    struct list *list = (struct list *)to;
    list->rows = as_list(from)->rows;
    memcpy(list->tags, as_list(from)->tags, list->rows * sizeof *list->tags);
    memcpy(rows_of(to), rows_of(from), list->rows * sizeof(uint32_t));
    return;
  }
  for (uint32_t i = 0; is_list(from) && i < as_list(from)->rows; i++)
    put_row(to, rows_of(from)[i] - 1);
  for (uint32_t i = 0; !is_list(from) && i < entries_of(from); i++)
    if (as_table(from)->entries[i].row)
      put_in_table(to, as_table(from)->entries[i]);
}

/* The rows of a full bucket get one that is twice as large. */
static bool grow(uint32_t *anchor) {
  uint32_t size = bucket_at(*anchor)->size, fresh = size + 1 < MOST_SIZES ? take(size + 1) : 0;
  if (!fresh)
    return false;
  move_rows(bucket_at(*anchor), bucket_at(fresh));
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
