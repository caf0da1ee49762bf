/* Rounds that do what they did before, with other words.
 *
 * A round whose branches are those of its version that was recorded, and whose accesses lie elsewhere because
 * of what it loaded, counts the rows of that version with these words replaced. It runs without hooks: the
 * trace gets what moved, and the rows are made when the graph is built (commanalyzer/vcg/renamings.py).
 *
 * That is exact where the replacement is a function of words that keeps different words apart, and nothing else
 * changes: all words hold values of their own, addresses that do not depend on loaded integers and labels that
 * enter the loop lie apart from those that do, and the rows are stores, register values or lifetimes.
 */
#include "renamings.h"
#include <string.h>

#define MOST_BYTES (1ull << 28)  /* of the accesses of one run */
#define MOST_ROWS 4096u          /* of a version */
#define SIZE_BIT 48u             /* of an access: its address, then its bytes */
#define FIRST_TABLE (1ull << 12) /* a power of 2 */

/* A version of a round that was renamed before. */
struct known {
  uint64_t identity; /* of the round and what its preview found out; 0 for none */
  uint32_t renaming; /* + 1 */
};

struct ca_column ca_bases, ca_renamings, ca_shifts;
static struct ca_column accesses; /* of versions */
static struct known *table;
static uint64_t table_size, num_known;
static uint64_t num_placed; /* renamings that have a place in the log */
static uint64_t scratch[CA_MOST_MOVING + 2];

bool ca_renamings_reserve(void) {
  ca_rounds.accesses = ca_map(MOST_BYTES + sizeof scratch);
  return ca_rounds.accesses && ca_column_reserve(&accesses, 1ull << 36) &&
         ca_section_reserve(&ca_bases, 1ull << 36) && ca_section_reserve(&ca_renamings, 1ull << 36) &&
         ca_section_reserve(&ca_shifts, 1ull << 36);
}

/* Where a preview writes the accesses of rounds; it may always write those of one. */
CA_CALL uint64_t ca_rounds_accesses(void) {
  bool is_asked = ca_rounds.limit;
  ca_rounds.are_moving = is_asked;
  ca_rounds.at = (uint64_t)(is_asked ? ca_rounds.accesses : scratch);
  ca_rounds.end = is_asked ? ca_rounds.at + MOST_BYTES : 0;
  return ca_rounds.at;
}

uint64_t ca_renamings_bytes(void) {
  return accesses.bytes + ca_bases.bytes + ca_renamings.bytes + ca_shifts.bytes + table_size * sizeof *table;
}

static struct ca_renaming *renaming_at(uint32_t number) {
  return (struct ca_renaming *)ca_renamings.data + (number - 1);
}

static uint32_t num_renamings(void) { return (uint32_t)(ca_renamings.bytes / sizeof(struct ca_renaming)); }

static uint64_t accesses_of(const struct ca_round *round) { return (round->end - round->start) / 8; }

/* The round was recorded: this is the version that later ones are compared with. */
void ca_version_keep(struct ca_round_version *version, const struct ca_round *round) {
  uint64_t count = accesses_of(round);
  bool is_kept = count && count <= CA_MOST_MOVING;
  uint32_t first = version->first, room = version->room;
  if (is_kept && count > room) {
    first = (uint32_t)(accesses.bytes / 8);
    room = (uint32_t)count;
    is_kept = accesses.bytes / 8 + count < UINT32_MAX && ca_column_push(&accesses, count * 8);
  }
  if (!is_kept) {
    *version = (struct ca_round_version){.first = version->first, .room = version->room};
    return;
  }
  memcpy((uint64_t *)accesses.data + first, (const void *)round->start, count * 8);
  *version = (struct ca_round_version){.hash = round->hash,
                                       .path = round->path,
                                       .first = first,
                                       .count = (uint16_t)count,
                                       .room = (uint16_t)room};
}

void ca_version_forget(struct ca_round_version *version) {
  *version = (struct ca_round_version){.first = version->first, .room = version->room};
}

/* Runs of a renamed version; false if it is the one that was recorded. */
bool ca_version_count(const struct ca_round_version *version, uint64_t runs) {
  if (version->renaming)
    renaming_at(version->renaming)->count += runs;
  return version->renaming;
}

static uint64_t mix(uint64_t hash) {
  hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9ull;
  return hash ^ (hash >> 32);
}

static struct known *slot_of(uint64_t identity) {
  uint64_t slot = mix(identity) & (table_size - 1);
  while (table[slot].identity && table[slot].identity != identity)
    slot = (slot + 1) & (table_size - 1);
  return &table[slot];
}

static bool grow_table(void) {
  struct known *old = table;
  uint64_t old_size = table_size, size = old ? 2 * old_size : FIRST_TABLE;
  struct known *fresh = ca_map(size * sizeof *fresh);
  if (!fresh)
    return false;
  ca_prefer_huge_pages(fresh, size * sizeof *fresh);
  table = fresh;
  table_size = size;
  for (uint64_t i = 0; i < old_size; i++)
    if (old[i].identity)
      *slot_of(old[i].identity) = old[i];
  if (old)
    ca_unmap(old, old_size * sizeof *old);
  return true;
}

static bool overlap(uint64_t first, uint64_t end, uint64_t other_first, uint64_t other_end) {
  return first < other_end && other_first < end;
}

static uint64_t word_of(uint64_t access) { return ca_word(access); }

static uint64_t end_of(uint64_t access) {
  return ca_word((access & CA_ADDRESS_MASK) + (access >> SIZE_BIT) + 3);
}

/* Whether two accesses can move by different numbers of words. */
static bool are_apart(const uint64_t *from, const uint64_t *to, uint32_t i, uint32_t k) {
  return !overlap(word_of(from[i]), end_of(from[i]), word_of(from[k]), end_of(from[k])) &&
         !overlap(word_of(to[i]), end_of(to[i]), word_of(to[k]), end_of(to[k]));
}

/* How many words each access moves; false if that does not replace words by words, one to one. */
static bool find_shifts(uint32_t count, const uint64_t *from, const uint64_t *to, int32_t *shifts) {
  for (uint32_t i = 0; i < count; i++) {
    int64_t shift = (int64_t)(word_of(to[i]) - word_of(from[i]));
    if (shift != (int32_t)shift || (from[i] ^ to[i]) >> SIZE_BIT || (from[i] ^ to[i]) & 3)
      return false;
    shifts[i] = (int32_t)shift;
    for (uint32_t k = 0; k < i; k++)
      if (shifts[k] != shifts[i] && !are_apart(from, to, i, k))
        return false;
  }
  return true;
}

static bool may_rename_rows(const uint32_t *bounds, uint32_t num_bounds) {
  const uint32_t others = CA_ROW_FILL | CA_ROW_UPDATE | CA_ROW_RANGE | CA_ROW_NEST;
  const struct ca_head *heads = (const struct ca_head *)ca_heads.data;
  uint64_t rows = 0;
  for (uint32_t k = 0; k < num_bounds; k++) {
    rows += bounds[2 * k + 1] - bounds[2 * k];
    for (uint64_t row = bounds[2 * k]; rows <= MOST_ROWS && row < bounds[2 * k + 1]; row++)
      if ((heads[row].flags & others) || ca_places_entered(row))
        return false;
  }
  return rows <= MOST_ROWS;
}

/* Puts a version that was recorded into the trace. Its place + 1, 0 if it cannot be renamed. */
static uint32_t add_base(const struct ca_round_version *version, const uint32_t *bounds, uint32_t num_bounds) {
  uint64_t place = ca_bases.bytes / 8;
  if (place + 1 > UINT32_MAX || !may_rename_rows(bounds, num_bounds))
    return 0;
  uint64_t *out = ca_column_push(&ca_bases, (1ull + num_bounds + version->count) * 8);
  if (!out)
    return 0;
  *out++ = num_bounds | (uint64_t)version->count << 32;
  memcpy(out, bounds, num_bounds * 8ull);
  memcpy(out + num_bounds, (uint64_t *)accesses.data + version->first, version->count * 8ull);
  return (uint32_t)(place + 1);
}

static bool has_room(void) {
  return num_renamings() < UINT32_MAX - 1 && ca_column_room(&ca_renamings, sizeof(struct ca_renaming)) &&
         ca_column_room(&ca_shifts, CA_MOST_MOVING * 4) && (2 * num_known < table_size || grow_table());
}

static bool add(struct ca_round_version *version, const struct ca_round *round, const int32_t *shifts,
                uint64_t identity) {
  struct ca_renaming *renaming = ca_column_push(&ca_renamings, sizeof *renaming);
  int32_t *out = ca_column_push(&ca_shifts, version->count * 4ull);
  if (!renaming || !out)
    return false;
  *renaming = (struct ca_renaming){0, (uint32_t)round->number, version->base - 1};
  memcpy(out, shifts, version->count * 4ull);
  version->renaming = num_renamings();
  *slot_of(identity) = (struct known){identity, version->renaming};
  num_known++;
  return true;
}

static bool is_moved(uint32_t count, const int32_t *shifts) {
  int32_t any = 0;
  for (uint32_t i = 0; i < count; i++)
    any |= shifts[i];
  return any;
}

static uint64_t identity_of(const struct ca_round *round, uint64_t state) {
  return mix(mix(state + round->number) + round->hash) | 1;
}

/* Begins to fetch what ca_version_rename will look at. */
void ca_version_fetch(const struct ca_round_version *version, const struct ca_round *round, uint64_t state) {
  if (!version->count)
    return;
  const uint64_t *from = (const uint64_t *)accesses.data + version->first;
  __builtin_prefetch(from);
  __builtin_prefetch(from + version->count - 1);
  if (version->renaming)
    __builtin_prefetch(renaming_at(version->renaming), 1);
  if (table)
    __builtin_prefetch(&table[mix(identity_of(round, state)) & (table_size - 1)], 1);
}

/* Whether the round does what its recorded version did, with other words; it need not run with hooks then.
 * `state` stands for the loop and the shadow that it finds. */
bool ca_version_rename(struct ca_round_version *version, const struct ca_round *round, uint64_t state,
                       const uint32_t *bounds, uint32_t num_bounds) {
  int32_t shifts[CA_MOST_MOVING];
  const uint64_t *from = (const uint64_t *)accesses.data + version->first, *to = (const uint64_t *)round->start;
  if (!version->count || !has_room())
    return false;
  if (version->hash == round->hash) {
    version->renaming = 0;
    return true;
  }
  uint64_t identity = identity_of(round, state);
  const struct known *known = slot_of(identity);
  if (known->identity) {
    version->renaming = known->renaming;
    return true;
  }
  if (version->path != round->path || version->count != accesses_of(round) ||
      !find_shifts(version->count, from, to, shifts))
    return false;
  if (!is_moved(version->count, shifts)) {
    version->renaming = 0;
    return true;
  }
  if (!version->base)
    version->base = add_base(version, bounds, num_bounds);
  if (!version->base) {
    ca_version_forget(version);
    return false;
  }
  return add(version, round, shifts, identity);
}

/* The rows of rounds before this one come in front of all that is recorded from now on. */
void ca_renamings_place(uint64_t round) {
  for (; num_placed < num_renamings(); num_placed++) {
    struct ca_renaming *renaming = (struct ca_renaming *)ca_renamings.data + num_placed;
    if (renaming->place >= round)
      return;
    renaming->place = (uint32_t)ca_num_rows;
  }
}

/* The survey for workspaces looks at rows of the log, so none are left out of it while it may come. Nests are
 * written out in another way. Lifetimes beyond the limit are not told apart. */
bool ca_renamings_allowed(void) {
  return !ca_prefix.process && !ca_has_nests && !ca_statistics.unnamed_lifetimes;
}
