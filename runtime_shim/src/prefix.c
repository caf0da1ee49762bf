/* Ends a recording early that is only needed to find workspaces (commanalyzer/vcg/workspaces.py).
 *
 * Programs with workspaces are recorded a second time, and the beginning of the first recording tells which
 * words these are: ratios tell, and they do not change with the number of time steps. When the program repeats
 * itself, the log is looked at once; only if it shows workspaces, their list is written and the process ends.
 * Everything here counts rows; nothing depends on time.
 */
#define _GNU_SOURCE
#include "survey.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FEWEST_EVENTS (1u << 17) /* shorter recordings are not worth ending */
#define NEW_PART 8u              /* of the rows is much */
#define CHECKS 16u               /* per round */
#define LIFETIMES_FACTOR 4u      /* as in workspaces.py */
#define MOST_REWRITES (1u << 16) /* that the median tells apart */

#define ACCUMULATES 1u
#define HAS_SOURCES 2u
#define IS_STORE 4u
#define WEIGHT 3u /* above it, the logarithm of the number of words that the row stands for */

struct ca_prefix ca_prefix = {.next = UINT64_MAX};
static uint64_t rows_before;    /* when much was new last */
static uint64_t counted_before; /* events until then */
static bool was_looked_at;      /* since then */
static char list_path[4096];
static uint8_t *site_widths; /* bytes of the values of each site */
static uint64_t num_sites;

/* What the rows of a word tell. */
struct word {
  uint64_t lifetimes;
  uint64_t versions;
  uint64_t commonest;
  uint32_t site;
  uint32_t weight; /* words that it stands for */
  bool differs;    /* one site stored chains with different sources */
};

/* The environment asks for it: it names a file with the width of each site, and the list to write. */
void ca_prefix_prepare(const char *widths_path, const char *workspace) {
  int file = widths_path && workspace && strlen(workspace) < sizeof list_path
                 ? open(widths_path, O_RDONLY | O_CLOEXEC)
                 : -1;
  struct stat status;
  if (file < 0)
    return;
  if (!fstat(file, &status) && (site_widths = ca_map((uint64_t)status.st_size + 1)) &&
      ca_read_all(file, site_widths, (uint64_t)status.st_size)) {
    num_sites = (uint64_t)status.st_size;
    strcpy(list_path, workspace);
    ca_prefix.next = FEWEST_EVENTS;
    ca_prefix.sees_loops = true;
    ca_prefix.process = getpid();
  }
  close(file);
}

static uint8_t weight_of(uint64_t rounds) {
  return (uint8_t)((63 - (uint32_t)__builtin_clzll(rounds | 1)) << WEIGHT);
}

/* Traits of a row whose labels begin at `unit`. A range is judged by the first of its words, which stands for
 * as many as there are rounds. */
static uint8_t traits_of(const struct ca_head *head, const int32_t *unit) {
  if (head->flags & (CA_ROW_REGISTER | CA_ROW_FILL))
    return 0;
  if (head->flags & CA_ROW_NEST)
    return IS_STORE | HAS_SOURCES | weight_of(ca_row_label(head->flags, head->sink, unit, 0) & 0xffffffff);
  uint8_t traits = IS_STORE;
  uint32_t first = 0, count = head->num_labels;
  if (head->flags & CA_ROW_RANGE) {
    uint64_t rounds = 1, word;
    uint32_t at = 0;
    do {
      word = ca_row_label(head->flags, head->sink, unit, at++);
      rounds *= word & 0xffffffff;
    } while (!(word >> 48)); /* loops around the segment */
    first = at + 2 + 1;
    count = ca_row_label(head->flags, head->sink, unit, at) >> 32 & 255;
    traits |= weight_of(rounds);
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
  uint32_t weight = 1u << (traits >> WEIGHT);
  word->weight = weight > word->weight ? weight : word->weight;
  word->versions += count;
  if (traits & ACCUMULATES)
    return;
  word->lifetimes += count;
  if (!(traits & HAS_SOURCES) || !count)
    return;
  word->differs |= word->commonest && word->site == ca_row_heads()[row].site;
  word->site = ca_row_heads()[row].site;
  word->commonest = count > word->commonest ? count : word->commonest;
}

/* How often the words that are rewritten at all are. */
struct rewrites {
  uint64_t *words; /* by number of rewrites */
  uint64_t total;
};

static uint64_t rewrites_of(const struct word *word) {
  uint64_t times = word->lifetimes > 1 ? word->lifetimes : word->versions;
  return times < MOST_REWRITES ? times : MOST_REWRITES - 1;
}

static void note_rewrites(struct rewrites *rewrites, const struct word *word) {
  uint64_t times = rewrites_of(word);
  rewrites->words[times] += times > 1 ? word->weight : 0;
  rewrites->total += times > 1 ? word->weight : 0;
}

/* What was noted of the word is over. */
static void forget_rewrites(struct rewrites *rewrites, const struct word *word) {
  uint64_t times = rewrites_of(word);
  rewrites->words[times] -= times > 1 ? word->weight : 0;
  rewrites->total -= times > 1 ? word->weight : 0;
}

static uint64_t median(const struct rewrites *rewrites) {
  uint64_t times = 1;
  for (uint64_t below = 0; times + 1 < MOST_REWRITES && 2 * below < rewrites->total;
       below += rewrites->words[times])
    times++;
  return times;
}

/* Lifetimes of a word with signs of a workspace, 0 for others. */
static uint64_t lifetimes_in_workspace(const struct word *word) {
  bool is_one = word->differs && 2 * word->commonest <= word->lifetimes;
  return is_one ? word->lifetimes : 0;
}

/* The words that are stored to. Most have one row in most programs: they have no entry. */
struct words {
  uint32_t *row_of; /* by word: its only row + 1, or its entry */
  struct word *entries;
  uint8_t *traits; /* by row */
  struct rewrites rewrites;
  uint32_t count;
  uint32_t capacity;
};

#define HAS_ENTRY (1u << 31)
#define WORDS ((CA_ADDRESS_MASK + 1) / 4)

/* The entry of a word that had one row so far, which was taken for its only one. */
static struct word *new_entry(struct words *words, uint32_t *row_of) {
  if (words->count == words->capacity)
    return 0;
  struct word *word = &words->entries[words->count];
  add_row(word, *row_of - 1, words->traits[*row_of - 1]);
  forget_rewrites(&words->rewrites, word);
  *row_of = words->count++ | HAS_ENTRY;
  return word;
}

/* Adds a row to what is known of the word that it stores to; false if there are too many. */
static bool look_at_row(struct words *words, uint64_t row) {
  uint32_t *row_of = &words->row_of[ca_row_heads()[row].sink];
  if (!*row_of) {
    struct word word = {0};
    add_row(&word, row, words->traits[row]);
    note_rewrites(&words->rewrites, &word);
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
    const struct ca_head *head = ca_row_heads() + row;
    __builtin_prefetch(&words->row_of[ca_sink_ahead(row, CA_ROWS_AHEAD)]);
    words->traits[row] = traits_of(head, unit);
    if (words->traits[row] & IS_STORE && !look_at_row(words, row))
      return false;
    unit += ca_row_units(head);
  }
  return true;
}

static bool has_signs(struct words *words) {
  uint64_t most = 0;
  if (ca_num_rows >= HAS_ENTRY || !look_at_rows(words))
    return false;
  for (uint32_t i = 0; i < words->count; i++) {
    note_rewrites(&words->rewrites, &words->entries[i]);
    uint64_t lifetimes = lifetimes_in_workspace(&words->entries[i]);
    most = lifetimes > most ? lifetimes : most;
  }
  return most >= LIFETIMES_FACTOR && most >= LIFETIMES_FACTOR * median(&words->rewrites);
}

/* Whether some word looks like a workspace: a cheap form of what survey.c asks. */
static bool has_signs_of_workspaces(void) {
  const uint64_t most = ca_num_rows / 2 + 1;
  struct words words = {.row_of = ca_map(WORDS * sizeof(uint32_t)),
                        .entries = ca_table(most * sizeof(struct word)),
                        .traits = ca_table(ca_num_rows + 1),
                        .rewrites = {ca_map(MOST_REWRITES * sizeof(uint64_t)), 0},
                        .capacity = (uint32_t)most};
  if (words.row_of)
    ca_prefer_huge_pages(words.row_of + ca_word(CA_ARENA_BASE), DENSE_BYTES / 4 * sizeof *words.row_of);
  bool result = words.row_of && words.entries && words.traits && words.rewrites.words && has_signs(&words);
  if (words.row_of)
    ca_unmap(words.row_of, WORDS * sizeof(uint32_t));
  if (words.entries)
    ca_unmap(words.entries, most * sizeof(struct word));
  if (words.traits)
    ca_unmap(words.traits, ca_num_rows + 1);
  if (words.rewrites.words)
    ca_unmap(words.rewrites.words, MOST_REWRITES * sizeof(uint64_t));
  return result;
}

/* So many events later, the log is looked at again. */
CA_SLOW void ca_prefix_check(void) {
  uint64_t rows = ca_num_rows;
  ca_prefix.next = ca_prefix.counted + rows / CHECKS + 1;
  if (ca_prefix.process != getpid()) { /* a forked child */
    ca_prefix.next = UINT64_MAX;
    ca_prefix.sees_loops = false;
    return;
  }
  if (rows - rows_before > rows / NEW_PART) {
    rows_before = rows;
    counted_before = ca_prefix.counted;
    was_looked_at = false;
    ca_prefix.sees_loops = true;
  } else if (!was_looked_at && ca_prefix.counted - counted_before >= rows) {
    was_looked_at = true;
    ca_prefix.sees_loops = false;
    ca_repeats_settle();
    if (has_signs_of_workspaces() && ca_survey(list_path, site_widths, num_sites))
      ca_end_early();
  }
}
