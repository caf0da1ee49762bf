/* The homes that the log tells of: which words they are, how wide, in which named memory; the list of those
 * that are workspaces. */
#define _GNU_SOURCE
#include "survey.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_HOMES (1u << 30)
#define MEMORY_SHARE 8u /* of what is allowed may be used for them */
#define WORDS ((CA_ADDRESS_MASK + 1) / 4)

static struct ca_homes *made; /* those that are being made */
static const uint8_t *widths; /* by site */
static uint64_t num_widths;
static bool is_full;

static struct ca_home *home_at(uint64_t word) {
  uint32_t *number = &made->number_of[word];
  if (!*number && made->count + 1 < made->capacity) {
    *number = ++made->count;
    made->entries[*number].word = word;
  }
  is_full |= !*number;
  return &made->entries[*number];
}

static void note_stores(const struct ca_sinks *sinks) {
  uint8_t width = sinks->site < num_widths ? widths[sinks->site] : 4;
  uint64_t word = sinks->first;
  for (uint64_t i = 0; i < sinks->rounds && !is_full; i++, word += sinks->stride) {
    struct ca_home *home = home_at(word);
    home->width = width > home->width ? width : home->width;
    home->is_shared |= sinks->is_range;
  }
}

/* Words of a home that follow its first one. */
static uint32_t further_words(const struct ca_home *home) {
  return home->width > 4 ? (home->width - 1u) / 4 : 0;
}

/* Words that nobody stores to belong to the nearest value that covers them. */
static void cover_words(struct ca_homes *homes) {
  for (uint32_t i = 1; i <= homes->count; i++)
    for (uint32_t k = 1; k <= further_words(&homes->entries[i]); k++) {
      uint64_t first = homes->entries[i].word;
      uint32_t *number = &homes->number_of[first + k];
      uint64_t other = *number ? homes->entries[*number].word : 0;
      if (!*number || (other != first + k && other < first))
        *number = i;
    }
}

static int by_start(const void *left, const void *right) {
  const struct ca_extent *a = left, *b = right;
  if (a->start != b->start)
    return a->start < b->start ? -1 : 1;
  return a->size < b->size ? -1 : a->size > b->size;
}

/* Named memory in the order of addresses; of extents that begin together the largest. */
static bool sort_extents(struct ca_homes *homes) {
  ca_trim_extents();
  uint64_t given = ca_extents.bytes / sizeof(struct ca_extent), count = given + ca_num_globals, kept = 0;
  homes->extents_bytes = (count + 1) * sizeof(struct ca_extent);
  struct ca_extent *all = homes->extents = ca_map(homes->extents_bytes);
  if (!all)
    return false;
  memcpy(all, ca_extents.data, ca_extents.bytes);
  for (uint64_t i = 0; i < ca_num_globals; i++)
    all[given + i] = (struct ca_extent){(uint64_t)ca_globals[i].start,  ca_globals[i].size, 0,
                                        (uint32_t)ca_globals[i].object, CA_EXTENT_GLOBAL,   0};
  qsort(all, count, sizeof *all, by_start);
  for (uint64_t i = 0; i < count; i++)
    if (all[i].size && !(i + 1 < count && all[i + 1].start == all[i].start))
      all[kept++] = all[i];
  homes->num_extents = kept;
  return true;
}

static bool is_in(const struct ca_extent *extent, uint64_t word) {
  return word - ca_word(extent->start) < (extent->size + 3) / 4;
}

/* Number + 1 of the extent that a word lies in, 0 for none. */
static uint32_t extent_of(const struct ca_homes *homes, uint64_t word) {
  uint64_t low = 0, high = homes->num_extents;
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    if (ca_word(homes->extents[middle].start) <= word)
      low = middle + 1;
    else
      high = middle;
  }
  return low && is_in(&homes->extents[low - 1], word) ? (uint32_t)low : 0;
}

/* Finds the memory that each home lies in. */
void ca_homes_name(struct ca_homes *homes) {
  uint32_t last = 0;
  for (uint32_t i = 1; i <= homes->count; i++) {
    struct ca_home *home = &homes->entries[i];
    if (!last || !is_in(&homes->extents[last - 1], home->word))
      last = extent_of(homes, home->word);
    home->extent = last;
  }
}

/* Its words lose their number. */
void ca_homes_forget(struct ca_homes *homes, uint32_t number) {
  const struct ca_home *home = &homes->entries[number];
  for (uint32_t k = 0; k <= further_words(home); k++)
    if (homes->number_of[home->word + k] == number)
      homes->number_of[home->word + k] = 0;
}

/* Numbers the homes that were stored to. False without memory. */
bool ca_homes_make(struct ca_homes *homes, const uint8_t *site_widths, uint64_t num_sites) {
  uint64_t most = ca_memory_allowed() / MEMORY_SHARE / sizeof *homes->entries;
  *homes = (struct ca_homes){.capacity = most < MOST_HOMES ? (uint32_t)most : MOST_HOMES};
  homes->entries = ca_map(homes->capacity * sizeof *homes->entries);
  homes->number_of = ca_map(WORDS * sizeof *homes->number_of);
  if (!homes->entries || !homes->number_of || !sort_extents(homes))
    return false;
  ca_prefer_huge_pages(homes->number_of + ca_word(CA_ARENA_BASE), DENSE_BYTES / 4 * sizeof *homes->number_of);
  ca_prefer_huge_pages(homes->entries, homes->capacity * sizeof *homes->entries);
  homes->entries[0].word = CA_ADDRESS_MASK; /* stands for words that nobody stored to */
  made = homes;
  widths = site_widths;
  num_widths = num_sites;
  is_full = false;
  ca_walk_sinks(note_stores);
  cover_words(homes);
  return !is_full;
}

void ca_homes_release(struct ca_homes *homes) {
  if (homes->entries)
    ca_unmap(homes->entries, homes->capacity * sizeof *homes->entries);
  if (homes->number_of)
    ca_unmap(homes->number_of, WORDS * sizeof *homes->number_of);
  if (homes->extents)
    ca_unmap(homes->extents, homes->extents_bytes);
}

static int by_place(const void *left, const void *right) {
  const struct ca_piece *a = left, *b = right;
  if (a->kind != b->kind)
    return a->kind < b->kind ? -1 : 1;
  if (a->object != b->object)
    return a->object < b->object ? -1 : 1;
  if (a->depth != b->depth)
    return a->depth < b->depth ? -1 : 1;
  return a->first < b->first ? -1 : a->first > b->first;
}

static struct ca_piece piece_of(const struct ca_homes *homes, const struct ca_home *home) {
  const struct ca_extent *extent = &homes->extents[home->extent - 1];
  uint64_t first = (home->word - ca_word(extent->start)) * 4 + extent->offset;
  return (struct ca_piece){extent->kind, extent->object, extent->depth, first,
                           first + (home->width > 4 ? home->width : 4)};
}

/* Writes the file that ca_workspace_read reads. */
bool ca_homes_write(const struct ca_homes *homes, uint64_t max_rows, const char *path) {
  uint64_t count = 0, bytes = (homes->count + 1ull) * sizeof(struct ca_piece);
  struct ca_piece *pieces = ca_map(bytes);
  for (uint32_t i = 1; pieces && i <= homes->count; i++)
    if (homes->entries[i].is_workspace)
      pieces[count++] = piece_of(homes, &homes->entries[i]);
  int file = pieces ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
  if (file < 0)
    return false;
  qsort(pieces, count, sizeof *pieces, by_place);
  const struct ca_workspace header = {max_rows, count};
  bool is_written = ca_write_all(file, &header, sizeof header, 0) &&
                    ca_write_all(file, pieces, count * sizeof *pieces, sizeof header);
  close(file);
  ca_unmap(pieces, bytes);
  return is_written;
}
