/* Ends a recording early that is only needed to find workspaces (commanalyzer/vcg/contraction/workspaces.py).
 *
 * Programs with workspaces are recorded a second time, and the beginning of the first recording tells which
 * words these are: ratios tell, and they do not change with the number of time steps. When the program repeats
 * itself, the log is looked at once; only if it shows signs of workspaces, the recording ends. Which words they
 * are is found in the graph. Everything here counts rows; nothing depends on time.
 */
#include "prefix.h"
#include <unistd.h>

#define FEWEST_EVENTS (1u << 17) /* shorter recordings are not worth ending */
#define NEW_PART 8u              /* of the rows is much */
#define CHECKS 16u               /* per round */
#define FACTOR 4u                /* as in workspaces.py */
#define ROWS_AHEAD 32u           /* of the row that is looked at: what they name is fetched meanwhile */

#define ACCUMULATES 1u
#define HAS_SOURCES 2u
#define IS_STORE 4u

static struct {
  uint64_t rows;      /* when much was new last */
  uint64_t counted;   /* events until then */
  bool was_looked_at; /* since then */
} before;

/* What the rows of a word tell. Sums that begin anew often say nothing: their terms change in many programs. */
struct word {
  uint64_t lifetimes; /* that began with sources */
  uint64_t updates;
  uint64_t commonest; /* occurrences of the commonest chain that began one */
  uint32_t site;
  bool differs; /* one site stored chains with different sources */
};

static const struct ca_head *row_heads(void) { return (const struct ca_head *)ca_heads.data; }

/* The word that a later row stores to; that of the last row at the end. */
static uint64_t sink_ahead(uint64_t row) {
  return row_heads()[row + ROWS_AHEAD < ca_num_rows ? row + ROWS_AHEAD : ca_num_rows - 1].sink;
}

/* Traits of a row whose labels begin at `unit`. A range is judged by the first of its words. */
static uint8_t traits_of(const struct ca_head *head, const int32_t *unit) {
  if (head->flags & (CA_ROW_REGISTER | CA_ROW_FILL))
    return 0;
  if (head->flags & CA_ROW_NEST)
    return IS_STORE | HAS_SOURCES;
  uint8_t traits = IS_STORE;
  uint32_t first = 0, count = head->num_labels;
  if (head->flags & CA_ROW_RANGE) {
    uint32_t at = 0;
    while (!(ca_row_label(head->flags, head->sink, unit, at) >> 48)) /* rounds of loops around the segment */
      at++;
    first = at + 4; /* behind rounds, site, sink and stride */
    count = ca_row_label(head->flags, head->sink, unit, at + 1) >> 32 & 255;
  }
  if (!(head->flags & (CA_ROW_RANGE | CA_ROW_WIDE | CA_ROW_COMPACT))) { /* none of them is 0 */
    for (uint32_t k = 0; k < count; k++)
      traits |= unit[k] ? 0 : ACCUMULATES;
    return count ? traits | HAS_SOURCES : traits;
  }
  for (uint32_t k = first; k < first + count; k++) {
    uint64_t label = ca_row_label(head->flags, head->sink, unit, k);
    traits |= label ? HAS_SOURCES : 0;
    traits |= (label & ~CA_ROLES) == head->sink ? ACCUMULATES : 0;
  }
  return traits;
}

static void add_row(struct word *word, uint64_t row, uint8_t traits) {
  uint64_t count = ca_state.cells[row].count;
  word->updates += traits & ACCUMULATES ? count : 0;
  if (traits & ACCUMULATES || !(traits & HAS_SOURCES) || !count)
    return;
  word->differs |= word->commonest && word->site == row_heads()[row].site;
  word->site = row_heads()[row].site;
  word->lifetimes += count;
  word->commonest = count > word->commonest ? count : word->commonest;
}

static bool looks_like_workspace(const struct word *word) {
  return word->differs && word->lifetimes >= FACTOR * word->commonest;
}

/* The words that are stored to. Most have one row in most programs: they have no entry. */
struct words {
  uint32_t *row_of; /* by word: its only row + 1, or its entry */
  struct word *entries;
  uint8_t *traits; /* by row */
  uint32_t count;
  uint32_t capacity;
};

#define HAS_ENTRY (1u << 31)
#define WORDS ((CA_ADDRESS_MASK + 1) / 4)

/* The entry of a word that had one row so far. */
static struct word *new_entry(struct words *words, uint32_t *row_of) {
  if (words->count == words->capacity)
    return 0;
  struct word *word = &words->entries[words->count];
  add_row(word, *row_of - 1, words->traits[*row_of - 1]);
  *row_of = words->count++ | HAS_ENTRY;
  return word;
}

/* Adds a row to what is known of the word that it stores to; false if there are too many. */
static bool look_at_row(struct words *words, uint64_t row) {
  uint32_t *row_of = &words->row_of[row_heads()[row].sink];
  if (!*row_of) {
    *row_of = (uint32_t)(row + 1);
    return true;
  }
  struct word *word = *row_of & HAS_ENTRY ? &words->entries[*row_of & ~HAS_ENTRY] : new_entry(words, row_of);
  if (word)
    add_row(word, row, words->traits[row]);
  return word;
}

/* Gathers what the rows of each word tell, in one walk; false if there are too many. */
static bool look_at_rows(struct words *words) {
  const int32_t *unit = (const int32_t *)ca_labels.data;
  for (uint64_t row = 0; row < ca_num_rows; row++) {
    const struct ca_head *head = row_heads() + row;
    __builtin_prefetch(&words->row_of[sink_ahead(row)]);
    words->traits[row] = traits_of(head, unit);
    if (words->traits[row] & IS_STORE && !look_at_row(words, row))
      return false;
    unit += ca_row_units(head);
  }
  return true;
}

/* How often a word was stored to what was computed from its values, wherever these are by now. */
static uint64_t updates_of(const struct words *words, uint64_t word) {
  uint32_t row_of = words->row_of[word];
  if (row_of & HAS_ENTRY)
    return words->entries[row_of & ~HAS_ENTRY].updates;
  return row_of && words->traits[row_of - 1] & ACCUMULATES ? ca_state.cells[row_of - 1].count : 0;
}

/* Whether values of some word were copied to several places, and brought back, each of them. */
static bool has_scattered(const struct words *words) {
  const struct ca_copy *copies = (const struct ca_copy *)ca_copies.data;
  for (uint64_t i = 0; i < ca_copies.bytes / sizeof *copies; i++)
    if (copies[i].places >= FACTOR && updates_of(words, copies[i].word) >= copies[i].places)
      return true;
  return false;
}

static bool has_signs(struct words *words) {
  if (ca_num_rows >= HAS_ENTRY || !look_at_rows(words))
    return false;
  for (uint32_t i = 0; i < words->count; i++)
    if (looks_like_workspace(&words->entries[i]))
      return true;
  return has_scattered(words);
}

/* Whether some word looks like a workspace: a cheap form of what is asked of the graph. */
static bool has_signs_of_workspaces(void) {
  const uint64_t most = ca_num_rows / 2 + 1;
  struct words words = {.row_of = ca_map(WORDS * sizeof(uint32_t)),
                        .entries = ca_table(most * sizeof(struct word)),
                        .traits = ca_table(ca_num_rows + 1),
                        .capacity = (uint32_t)most};
  if (words.row_of)
    ca_prefer_huge_pages(words.row_of + ca_word(CA_ARENA_BASE), DENSE_BYTES / 4 * sizeof *words.row_of);
  bool result = words.row_of && words.entries && words.traits && has_signs(&words);
  if (words.row_of)
    ca_unmap(words.row_of, WORDS * sizeof(uint32_t));
  if (words.entries)
    ca_unmap(words.entries, most * sizeof(struct word));
  if (words.traits)
    ca_unmap(words.traits, ca_num_rows + 1);
  return result;
}

/* So many events later, the log is looked at again. */
static void check(void) {
  uint64_t rows = ca_num_rows;
  ca_prefix.next = ca_prefix.counted + rows / CHECKS + 1;
  if (ca_prefix.process != getpid()) { /* a forked child */
    ca_prefix.next = UINT64_MAX;
    ca_prefix.sees_loops = false;
    return;
  }
  if (rows - before.rows > rows / NEW_PART) {
    before.rows = rows;
    before.counted = ca_prefix.counted;
    before.was_looked_at = false;
    ca_prefix.sees_loops = true;
  } else if (!before.was_looked_at && ca_prefix.counted - before.counted >= rows) {
    before.was_looked_at = true;
    ca_prefix.sees_loops = false;
    ca_repeats_settle();
    if (has_signs_of_workspaces())
      ca_end_early();
  }
}

/* The environment asks for it. */
void ca_prefix_prepare(void) {
  ca_prefix.next = FEWEST_EVENTS;
  ca_prefix.sees_loops = true;
  ca_prefix.process = getpid();
  ca_prefix.check = check;
}
