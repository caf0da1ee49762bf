/* Rounds that do what they did before, with other words.
 *
 * A round whose branches are those of its version that was recorded, and whose accesses lie elsewhere because
 * of what it loaded, counts the rows of that version with these words replaced. It runs without hooks: the
 * trace gets what moved, and the rows are made when the graph is built (commanalyzer/vcg/repetitions/renamings.py).
 *
 * That is exact where the replacement is a function of words that keeps different words apart, and nothing else
 * changes: all words hold values of their own, addresses that do not depend on loaded integers and labels that
 * enter the loop lie apart from those that do, and the rows are stores, register values or lifetimes.
 */
#include "renamings.h"
#include "prefix.h"
#include <string.h>

#define MOST_BYTES (1ull << 28) /* of the accesses of one run */
#define MOST_ROWS 4096u         /* of a version */
#define SIZE_BIT 48u            /* of an access: its address, then its bytes */
#define FIRST_BITS 12u          /* of the table */
#define MOST_BITS 32u
#define SLACK (1ull << 16) /* entries that lie behind their place, at the end of the table */
#define SMALL_BITS 16u     /* of a table that stays in the cache */
#define SAMPLE_BITS 4u     /* the sample is one of 2^4 rounds */
#define WINDOW 1024u       /* rounds of the sample */
#define FEW (WINDOW / 16)  /* of them, that were like this before */

/* Where a version lies in the trace, and whose it is: of the round, its branches and the shadow it finds. */
struct origin {
  uint64_t identity;
  uint64_t place;
};

struct ca_column ca_bases, ca_renamings, ca_placed, ca_shifts;
static struct ca_column accesses; /* of versions */
static struct ca_column origins;  /* of versions in the trace */

/* Renamings by the hash of what their previews found out: its upper half, then the number of the renaming.
 * Entries lie near the place that their upper bits say, so that the table grows in place, in one sweep. */
static uint64_t *table;
static uint32_t table_bits = FIRST_BITS;
static uint64_t num_known;

/* Where nearly all renamings are new, looking them up misses the cache in vain. Then only those of a sample are
 * looked up and kept in the table, until more of it is found; others may get a record that they have. */
static bool is_sampled;
static uint32_t num_tried, num_found; /* of the sample, since the last decision */

static uint32_t *pending;      /* rounds of the renamings that have no place yet */
static uint64_t first_pending; /* renaming */
static uint64_t num_placed;    /* renamings that have a place in the log */
static uint64_t scratch[CA_MOST_MOVING + 2];

bool ca_renamings_reserve(void) {
  const uint64_t table_bytes = ((1ull << MOST_BITS) + SLACK) * sizeof *table;
  ca_rounds.accesses = ca_map(MOST_BYTES + sizeof scratch);
  pending = ca_map(CA_MOST_ROUNDS * sizeof *pending);
  table = ca_map(table_bytes);
  if (!ca_rounds.accesses || !pending || !table)
    return false;
  ca_prefer_huge_pages(table, table_bytes);
  return ca_column_reserve(&accesses, 1ull << 36) && ca_column_reserve(&origins, 1ull << 36) &&
         ca_section_reserve(&ca_bases, 1ull << 36) && ca_section_reserve(&ca_renamings, 1ull << 36) &&
         ca_section_reserve(&ca_placed, 1ull << 36) && ca_section_reserve(&ca_shifts, 1ull << 36);
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
  return accesses.bytes + origins.bytes + ca_bases.bytes + ca_renamings.bytes + ca_placed.bytes +
         ca_shifts.bytes + (num_known ? sizeof *table << table_bits : 0);
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
    renaming_at(version->renaming)->count += (uint32_t)runs;
  return version->renaming;
}

static uint64_t mix(uint64_t hash) {
  hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9ull;
  return hash ^ (hash >> 32);
}

static uint64_t home_of(uint64_t entry) { return entry >> (64 - table_bits); }

static void enter(uint64_t entry) {
  uint64_t slot = home_of(entry);
  while (table[slot])
    slot++;
  table[slot] = entry;
  num_known++;
}

/* Doubles the table. An entry never moves down, so those behind it are in their new places already; the first
 * ones, which may lie behind their new place, come last. */
static void grow_table(void) {
  static uint64_t first[1u << FIRST_BITS];
  uint64_t end = 1ull << table_bits;
  while (table[end])
    end++;
  memcpy(first, table, sizeof first);
  memset(table, 0, sizeof first);
  table_bits++;
  num_known = 0;
  while (end-- > 1u << FIRST_BITS) {
    uint64_t entry = table[end];
    table[end] = 0;
    if (entry)
      enter(entry);
  }
  for (uint32_t i = 0; i < 1u << FIRST_BITS; i++)
    if (first[i])
      enter(first[i]);
}

/* The table is filled to four fifths: what is not there is found missing within two cache lines. */
static bool has_table(void) {
  uint64_t most = (4ull << table_bits) / 5;
  if (num_known >= most && table_bits < MOST_BITS) {
    grow_table();
    return true;
  }
  return num_known < most;
}

static bool is_in_sample(const struct ca_round *round) {
  return !((round->hash + round->number) * ca_multipliers[2] >> (64 - SAMPLE_BITS));
}

static bool is_looked_up(const struct ca_round *round) { return !is_sampled || is_in_sample(round); }

static void note_lookup(bool is_found) {
  num_found += is_found;
  if (++num_tried < WINDOW)
    return;
  is_sampled = num_found < FEW && table_bits > SMALL_BITS;
  num_tried = num_found = 0;
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
  bool are_equal = true;
  for (uint32_t i = 0; i < count; i++) {
    int64_t shift = (int64_t)(word_of(to[i]) - word_of(from[i]));
    if (shift != (int32_t)shift || (from[i] ^ to[i]) >> SIZE_BIT || (from[i] ^ to[i]) & 3)
      return false;
    shifts[i] = (int32_t)shift;
    are_equal &= shifts[i] == shifts[0];
    for (uint32_t k = 0; !are_equal && k < i; k++)
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

static uint64_t num_bases(void) { return origins.bytes / sizeof(struct origin); }

/* Puts a version that was recorded into the trace. Its number + 1, 0 if it cannot be renamed. */
static uint32_t add_base(const struct ca_round_version *version, uint64_t identity, const uint32_t *bounds,
                         uint32_t num_bounds) {
  uint64_t place = ca_bases.bytes / 8, bytes = (1ull + num_bounds + version->count) * 8;
  if (num_bases() + 1 > UINT32_MAX || !may_rename_rows(bounds, num_bounds) ||
      !ca_column_room(&origins, sizeof(struct origin)) || !ca_column_room(&ca_bases, bytes))
    return 0;
  uint64_t *out = ca_column_push(&ca_bases, bytes);
  *out++ = num_bounds | (uint64_t)version->count << 32;
  memcpy(out, bounds, num_bounds * 8ull);
  memcpy(out + num_bounds, (uint64_t *)accesses.data + version->first, version->count * 8ull);
  struct origin *origin = ca_column_push(&origins, sizeof *origin);
  *origin = (struct origin){identity, place};
  return (uint32_t)num_bases();
}

static bool has_room(void) {
  return num_renamings() < UINT32_MAX - 1 && num_renamings() - first_pending < CA_MOST_ROUNDS &&
         ca_shifts.bytes / 4 < CA_SHIFTS_SHARED - CA_MOST_MOVING &&
         ca_column_room(&ca_renamings, sizeof(struct ca_renaming)) &&
         ca_column_room(&ca_shifts, CA_MOST_MOVING * 4) && has_table();
}

/* The shift of all accesses, if they share one that is not too large; else 0. */
static uint32_t shared_shift(const int32_t *shifts, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (shifts[i] != shifts[0] || shifts[i] < -(1 << 30) || shifts[i] >= 1 << 30)
      return 0;
  return CA_SHIFTS_SHARED | (uint32_t)shifts[0];
}

static uint32_t list_shifts(const int32_t *shifts, uint32_t count) {
  uint64_t place = ca_shifts.bytes / 4;
  memcpy(ca_column_push(&ca_shifts, count * sizeof *shifts), shifts, count * sizeof *shifts);
  return (uint32_t)place;
}

static uint64_t key_of(const struct ca_round *round, uint64_t state) {
  return mix(mix(mix(state + round->number) + round->hash));
}

static uint64_t identity_of(const struct ca_round *round, uint64_t state) {
  return mix(mix(state + round->number) + round->path);
}

static void add(struct ca_round_version *version, const struct ca_round *round, const int32_t *shifts,
                uint64_t state) {
  struct ca_renaming *renaming = ca_column_push(&ca_renamings, sizeof *renaming);
  uint32_t shared = shared_shift(shifts, version->count);
  *renaming = (struct ca_renaming){0, version->base - 1, shared ? shared : list_shifts(shifts, version->count)};
  version->renaming = num_renamings();
  pending[version->renaming - 1 - first_pending] = (uint32_t)round->number;
  if (is_looked_up(round))
    enter((key_of(round, state) & ~(uint64_t)UINT32_MAX) | version->renaming);
}

static bool is_moved(uint32_t count, const int32_t *shifts) {
  int32_t any = 0;
  for (uint32_t i = 0; i < count; i++)
    any |= shifts[i];
  return any;
}

/* Whether a renaming of this round did what the round does now: its version, moved, accesses the same. */
static bool is_renaming_of(const struct ca_renaming *renaming, const struct ca_round *round,
                           uint64_t identity) {
  const struct origin *origin = (const struct origin *)origins.data + renaming->base;
  const uint64_t *from = (const uint64_t *)ca_bases.data + origin->place;
  const uint64_t *to = (const uint64_t *)round->start;
  bool is_shared = renaming->shifts & CA_SHIFTS_SHARED;
  const int32_t shared = (int32_t)(renaming->shifts << 1) >> 1;
  const int32_t *shifts = is_shared ? &shared : (const int32_t *)ca_shifts.data + renaming->shifts;
  uint64_t count = *from >> 32;
  if (origin->identity != identity || count != accesses_of(round))
    return false;
  from += 1 + (uint32_t)*from;
  for (uint64_t i = 0; i < count; i++)
    if ((from[i] ^ to[i]) >> SIZE_BIT ||
        ((from[i] + 4 * (int64_t)shifts[is_shared ? 0 : i]) ^ to[i]) & CA_ADDRESS_MASK)
      return false;
  return true;
}

/* The renaming that stands for the round as it is now, + 1; 0 if there is none. */
static uint32_t known_renaming(const struct ca_round *round, uint64_t state) {
  if (!is_looked_up(round))
    return 0;
  uint64_t key = key_of(round, state), identity = identity_of(round, state);
  uint32_t found = 0;
  for (uint64_t slot = home_of(key); table[slot] && !found; slot++) {
    uint32_t number = (uint32_t)table[slot];
    if (!((table[slot] ^ key) >> 32) && is_renaming_of(renaming_at(number), round, identity))
      found = number;
  }
  if (is_in_sample(round))
    note_lookup(found);
  return found;
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
  if (!is_looked_up(round))
    return;
  const uint64_t *slot = &table[home_of(key_of(round, state))];
  __builtin_prefetch(slot, 1);
  __builtin_prefetch(slot + 8, 1); /* the next line */
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
  uint32_t known = known_renaming(round, state);
  if (known) {
    version->renaming = known;
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
    version->base = add_base(version, identity_of(round, state), bounds, num_bounds);
  if (!version->base) {
    ca_version_forget(version);
    return false;
  }
  add(version, round, shifts, state);
  return true;
}

/* The rows of rounds before this one come in front of all that is recorded from now on. */
void ca_renamings_place(uint64_t round) {
  uint64_t before = num_placed, count = num_renamings();
  while (num_placed < count && pending[num_placed - first_pending] < round)
    num_placed++;
  if (num_placed == count)
    first_pending = count;
  struct ca_placed *placed = num_placed > before ? ca_column_push(&ca_placed, sizeof *placed) : 0;
  if (placed)
    *placed = (struct ca_placed){(uint32_t)ca_num_rows, (uint32_t)num_placed};
}

/* Signs of workspaces are looked for in the rows of the log, so none are left out of it while that may come.
 * Nests are written out in another way. Lifetimes beyond the limit are not told apart. */
bool ca_renamings_allowed(void) {
  return !ca_prefix.process && !ca_has_nests && !ca_statistics.unnamed_lifetimes;
}
