/* Finds workspaces in the log, by the criteria of commanalyzer/vcg/workspaces.py, and writes their list.
 *
 * A recording that ends early is needed for nothing else: its rows need not be written then, and no graph is
 * built of them. Where the log cannot be judged (too many homes, groups in an unusual order), nothing is found
 * and the recording goes on. What is found is confirmed by the whole run in either case.
 *
 * Three walks through the log: how often homes begin something new; how often each chain of those occurs that
 * begin much; what is computed from workspaces, which is repeated until it finds no more.
 */
#include "survey.h"

#define LIFETIMES_FACTOR 4u /* this and the next two as in workspaces.py */
#define MOST_ROWS 64u
#define SPARE_ROWS (1ull << 20)
#define MOST_REWRITES (1u << 16) /* that the median tells apart */
#define NEVER UINT32_MAX
#define NO_HOME UINT32_MAX

#define WIDEST 4u /* words of a home */

#define HAS_SOURCES 1u
#define ACCUMULATES 2u
#define FROM_ELIGIBLE 4u /* or from register values */
#define IS_FAR 8u        /* no workspace can reach it, or it stores to homes that are none */

/* How often something was counted: open addressing; 0 is no key. */
struct count {
  uint64_t key;
  uint64_t value;
};

static struct ca_homes homes;
static uint8_t *traits;    /* by row */
static uint32_t *distance; /* by row of a register value: NEVER - reach */
static struct count *counts;
static uint64_t counts_mask, num_counts, num_chains;
static bool is_full;
static bool is_changed; /* what was passed on before */

/* What a visitor of labels found out so far. */
struct found {
  uint64_t sink;   /* word */
  uint32_t number; /* of its home */
  uint8_t traits;
  uint32_t reach; /* least of the sources' */
};

static bool is_source(uint64_t label) { return label && (label & ~CA_ROLES) != CA_NOTHING; }

/* Words of the sink's home are not far behind its first one. */
CA_INLINE void note_trait(struct found *found, uint64_t label) {
  uint64_t word = label & (CA_ADDRESS_MASK >> 2);
  if (!is_source(label))
    return;
  bool is_own = !(label & CA_REG) && word - found->sink < WIDEST && homes.number_of[word] == found->number;
  found->traits |= is_own ? ACCUMULATES : HAS_SOURCES;
}

CA_INLINE void note_reach(struct found *found, uint64_t label) {
  uint32_t reach = NEVER;
  if (!is_source(label))
    return;
  if (label & CA_REG) {
    reach -= distance[label & UINT32_MAX];
    found->traits |= FROM_ELIGIBLE;
  } else {
    uint32_t number = homes.number_of[label & (CA_ADDRESS_MASK >> 2)];
    if (!number)
      return;
    reach = homes.entries[number].reach;
    homes.entries[number].is_read = true;
    found->traits |= FROM_ELIGIBLE;
  }
  found->reach = reach < found->reach ? reach : found->reach;
}

CA_INLINE void note_group(const struct ca_group *group, struct found *found,
                          void (*note)(struct found *found, uint64_t label)) {
  const uint64_t *listed = (const uint64_t *)ca_listed.data + group->first;
  const struct ca_run *runs = (const struct ca_run *)ca_runs.data + group->first;
  for (uint64_t i = 0; i < group->count; i++)
    for (uint32_t k = 0; k < group->width; k++)
      note(found,
           group->is_listed ? listed[i * group->width + k] : runs[k].start + i * (uint64_t)runs[k].stride);
}

/* The labels of a row in this coding, a constant: it is not asked for again at each label. */
CA_INLINE void note_coded(const struct ca_chain *chain, uint32_t coding, struct found *found,
                          void (*note)(struct found *found, uint64_t label)) {
  for (uint32_t k = 0; k < chain->num_labels; k++)
    note(found, ca_row_label(coding, chain->sink, chain->units, k));
}

CA_INLINE void note_labels(const struct ca_chain *chain, struct found *found,
                           void (*note)(struct found *found, uint64_t label)) {
  if (!chain->units)
    for (uint32_t k = 0; k < chain->num_labels; k++)
      note(found, ca_chain_label(chain, k));
  else if (chain->flags & CA_ROW_WIDE)
    note_coded(chain, CA_ROW_WIDE, found, note);
  else if (chain->flags & CA_ROW_COMPACT)
    note_coded(chain, CA_ROW_COMPACT, found, note);
  else
    note_coded(chain, 0, found, note);
  for (uint32_t g = 0; g < chain->num_groups; g++)
    note_group(&chain->groups[g], found, note);
}

static uint8_t traits_of(const struct ca_chain *chain, uint32_t number) {
  struct found found = {chain->sink, number, 0, NEVER};
  note_labels(chain, &found, note_trait);
  return found.traits;
}

/* Words that are filled and read only are left out. */
static void note_fill(const struct ca_chain *chain) {
  uint64_t end = chain->sink + ca_chain_label(chain, 0);
  for (uint64_t word = chain->sink; word < end; word++) {
    struct ca_home *home = &homes.entries[homes.number_of[word]];
    if (home->word != word)
      continue;
    home->lifetimes += chain->times;
    home->versions += chain->times;
    num_chains++;
  }
}

/* Rows come from memory in order, the homes that they name do not. */
CA_INLINE void fetch_ahead(uint64_t row) {
  __builtin_prefetch(&homes.number_of[ca_sink_ahead(row, CA_ROWS_AHEAD)]);
  __builtin_prefetch(&homes.entries[homes.number_of[ca_sink_ahead(row, CA_ROWS_AHEAD / 2)]]);
}

static void note_lifetimes(const struct ca_chain *chain) {
  fetch_ahead(chain->row);
  if (chain->flags & CA_ROW_FILL) {
    note_fill(chain);
    return;
  }
  num_chains++;
  if (chain->flags & CA_ROW_REGISTER)
    return;
  uint32_t number = homes.number_of[chain->sink];
  struct ca_home *home = &homes.entries[number];
  traits[chain->row] = traits_of(chain, number);
  home->versions += chain->times;
  if (!(traits[chain->row] & ACCUMULATES))
    home->lifetimes += chain->times;
}

/* Middle of so many numbers of rewrites, rounded down; 0 if they cannot be told apart. */
static uint64_t median(const uint64_t *words, uint64_t total) {
  uint64_t below = 0, low = 0;
  for (uint64_t times = 0; times + 1 < MOST_REWRITES; times++) {
    below += words[times];
    if (!low && 2 * below >= total)
      low = times;
    if (below > total / 2)
      return (low + times) / 2;
  }
  return 0;
}

/* How often named words that are rewritten at all usually are; 0 if that is not known. */
static uint64_t usual_rewrites(void) {
  uint64_t *words = ca_map(MOST_REWRITES * sizeof *words), total = 0;
  for (uint32_t i = 1; words && i <= homes.count; i++) {
    const struct ca_home *home = &homes.entries[i];
    uint64_t times = home->lifetimes > 1 ? home->lifetimes : home->versions;
    if (times <= 1 || !home->extent)
      continue;
    words[times < MOST_REWRITES ? times : MOST_REWRITES - 1]++;
    total++;
  }
  uint64_t result = !words ? 0 : total ? median(words, total) : 1;
  if (words)
    ca_unmap(words, MOST_REWRITES * sizeof *words);
  return result;
}

/* Homes that begin many lifetimes keep their numbers; whether there are any. */
static bool choose_eligible(void) {
  ca_homes_name(&homes);
  uint64_t usual = usual_rewrites(), chosen = 0;
  for (uint32_t i = 1; i <= homes.count; i++) {
    struct ca_home *home = &homes.entries[i];
    home->commonest = 0;
    home->is_eligible = usual && home->extent && home->lifetimes >= LIFETIMES_FACTOR * usual;
    chosen += home->is_eligible;
    if (!home->is_eligible)
      ca_homes_forget(&homes, i);
  }
  return chosen;
}

static struct count *count_of(uint64_t key) {
  uint64_t slot = (key ^ (key >> 29)) * 0xbf58476d1ce4e5b9ull;
  slot = (slot ^ (slot >> 32)) & counts_mask;
  while (counts[slot].key && counts[slot].key != key)
    slot = (slot + 1) & counts_mask;
  return &counts[slot];
}

static bool grow_counts(void) {
  uint64_t old_size = counts ? counts_mask + 1 : 0, size = counts ? 2 * old_size : 1u << 12;
  struct count *old = counts, *fresh = ca_map(size * sizeof *counts);
  if (!fresh)
    return false;
  counts = fresh;
  counts_mask = size - 1;
  for (uint64_t i = 0; i < old_size; i++)
    if (old[i].key)
      *count_of(old[i].key) = old[i];
  if (old)
    ca_unmap(old, old_size * sizeof *old);
  return true;
}

/* Adds to what was counted under a key; the sum. */
static uint64_t add(uint64_t key, uint64_t value) {
  if ((!counts || 2 * num_counts >= counts_mask) && !grow_counts()) {
    is_full = true;
    return value;
  }
  struct count *found = count_of(key);
  num_counts += !found->key;
  found->key = key;
  return found->value += value;
}

static uint64_t key_of(const struct ca_chain *chain) {
  uint64_t key = chain->site * ca_multipliers[62] + chain->sink * ca_multipliers[63];
  for (uint32_t k = 0; k < chain->num_labels; k++) {
    key = (key ^ ca_chain_label(chain, k)) * ca_multipliers[k & 31];
    key ^= key >> 31;
  }
  return key | 1;
}

/* The chains of homes that begin many lifetimes: how often the commonest occurs, whether one site has several.
 */
static void note_chain(const struct ca_chain *chain) {
  fetch_ahead(chain->row);
  if (chain->flags & CA_ROW_REGISTER)
    return;
  uint32_t number = chain->flags & CA_ROW_FILL ? 0 : homes.number_of[chain->sink];
  if (!number) {
    traits[chain->row] |= chain->units ? IS_FAR : 0;
    return;
  }
  struct ca_home *home = &homes.entries[number];
  uint8_t found = chain->units ? traits[chain->row] : traits_of(chain, number);
  if (!(found & HAS_SOURCES))
    return;
  uint64_t times = home->is_shared ? add(key_of(chain), chain->times) : chain->times;
  home->commonest = times > home->commonest ? times : home->commonest;
  uint64_t site = ((uint64_t)number << 32 | chain->site) << 1 | 1;
  if (times == chain->times && !home->differs) /* not one that was counted before */
    home->differs = add(site, 1) > 1;
}

/* False if there are none, or if something occurred too often to be judged. */
static bool choose_workspaces(void) {
  bool is_any = false;
  for (uint32_t i = 1; i <= homes.count; i++) {
    struct ca_home *home = &homes.entries[i];
    home->is_workspace = home->is_eligible && home->differs && 2 * home->commonest <= home->lifetimes;
    if (home->commonest >= NEVER)
      return false;
    home->reach = home->is_workspace ? (uint32_t)home->commonest : NEVER;
    is_any |= home->is_workspace;
  }
  return is_any;
}

/* It is read by newer rows only, which come later. */
static void reach_register(uint64_t row, uint32_t reach) {
  if (reach < NEVER - distance[row])
    distance[row] = NEVER - reach;
}

static void reach_home(struct ca_home *home, uint32_t reach) {
  if (!home->is_workspace && home->lifetimes > reach) {
    home->is_workspace = true;
    home->reach = home->commonest < reach ? (uint32_t)home->commonest : reach;
    is_changed |= home->is_read;
  } else if (home->is_workspace && reach < home->reach) {
    home->reach = reach;
    is_changed |= home->is_read;
  }
}

/* Every workspace and every register value computed from one passes on how often the commonest of its contents
 * occurs at most; a home that begins more lifetimes than that must have seen several contents. */
static void pass_on(const struct ca_chain *chain) {
  fetch_ahead(chain->row);
  uint32_t number = chain->flags & CA_ROW_REGISTER ? NO_HOME : homes.number_of[chain->sink];
  if (!number)
    return;
  struct found found = {chain->sink, number, 0, NEVER};
  note_labels(chain, &found, note_reach);
  if (chain->units && !(found.traits & FROM_ELIGIBLE))
    traits[chain->row] |= IS_FAR;
  if (found.reach == NEVER)
    return;
  if (number == NO_HOME)
    reach_register(chain->row, found.reach);
  else
    reach_home(&homes.entries[number], found.reach);
}

static bool find(void) {
  for (uint32_t i = 0; i <= homes.count; i++)
    homes.entries[i].reach = NEVER;
  is_full = false;
  num_counts = num_chains = 0;
  if (!ca_walk_chains(note_lifetimes, traits, 0) || !choose_eligible() ||
      !ca_walk_chains(note_chain, traits, IS_FAR) || is_full || !choose_workspaces())
    return false;
  do {
    is_changed = false;
    ca_walk_chains(pass_on, traits, IS_FAR);
  } while (is_changed);
  return true;
}

/* Writes the list of workspaces, if there are any. */
bool ca_survey(const char *path, const uint8_t *site_widths, uint64_t num_sites) {
  const uint64_t rows = ca_num_rows + 1;
  homes = (struct ca_homes){0};
  traits = ca_table(rows);
  distance = ca_table(rows * sizeof *distance);
  bool is_found = traits && distance && ca_homes_make(&homes, site_widths, num_sites) && find() &&
                  ca_homes_write(&homes, MOST_ROWS * num_chains + SPARE_ROWS, path);
  ca_homes_release(&homes);
  if (traits)
    ca_unmap(traits, rows);
  if (distance)
    ca_unmap(distance, rows * sizeof *distance);
  if (counts)
    ca_unmap(counts, (counts_mask + 1) * sizeof *counts);
  counts = 0;
  return is_found;
}
