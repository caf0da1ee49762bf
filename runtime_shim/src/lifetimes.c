/* Lifetimes in workspaces: memory that is used for one element after the other.
 *
 * The words of a workspace are no homes: what lives there belongs to the element that is worked on. Each of
 * their lifetimes is a vertex of its own, identified by value numbering: same word, same place in the code and
 * same sources are the same vertex in every time step. A store starts a new lifetime unless its value was
 * computed from the one that it overwrites; then it is a new version of the same vertex, so that a state that
 * is carried on stays one vertex, whatever memory it lives in.
 *
 * Which words these are is known from a first recording (workspace.c).
 */
#include "descent.h"
#include <stdlib.h>
#include <unistd.h>

#define NONE UINT64_MAX

static struct {
  int process;
  uint32_t *last_of_site; /* row + 1 of the newest register value of each site */
  bool *goes_on;          /* by site: some store made a new version of the lifetime that it overwrote */
  uint8_t *words_of;      /* by row of a named value: words that it takes in memory, 0 if not known */
} lifetimes;

static bool reserve(void) {
  lifetimes.process = getpid();
  lifetimes.last_of_site = ca_map((1ull << 32) * sizeof *lifetimes.last_of_site);
  lifetimes.goes_on = ca_map((1ull << 32) * sizeof *lifetimes.goes_on);
  lifetimes.words_of = ca_map(1ull << 32);
  return lifetimes.last_of_site && lifetimes.goes_on && lifetimes.words_of && ca_descent_reserve();
}

/* Without the list, or without memory, there are no workspaces. */
void ca_lifetimes_prepare(const char *path) {
  if (ca_workspace_read(path) && reserve())
    ca_workspace_begin();
}

/* Whether a named value is a lifetime of this word; otherwise it was copied there. */
static bool lives_in(uint64_t row, uint64_t word) {
  const struct ca_head *head = ca_head_of(row);
  return (head->flags & CA_ROW_TEMPORARY) && head->sink == word;
}

/* What a store to a workspace word is decided by. */
struct traits {
  uint64_t hash; /* of site and labels */
  bool reads_tenant;
};

static struct traits traits_of(uint32_t site, uint64_t tenant, uint32_t count, const uint64_t *labels) {
  struct traits traits = {site * ca_multipliers[62], false};
  for (uint32_t i = 0; i < count; i++) {
    uint64_t label = labels[i];
    traits.hash += label * ca_multipliers[i];
    traits.reads_tenant |= ca_is_named(label) && ca_row_of(label) == tenant;
  }
  return traits;
}

/* Whether some label names a value; constant variables hold literals. */
static bool has_sources(uint32_t count, const uint64_t *labels) {
  for (uint32_t i = 0; i < count; i++) {
    uint64_t label = labels[i], word = label & CA_WORD_MASK;
    if (label & CA_REG ? ca_is_named(label) : label && ca_workspace.marks[word] != CA_LITERAL)
      return true;
  }
  return false;
}

/* Rows of ordinary stores to the same word have other hashes. */
static uint64_t hash_of(uint64_t sum, uint64_t sink) {
  return (sum + (sink + ca_multipliers[61]) * ca_multipliers[63]) | 1;
}

/* The label that a store gives to a workspace word: nothing, or the vertex it belongs to. What was decided once
 * about a store, its labels and its tenant is decided in the same way from then on, whatever is predicted:
 * loops may be known therefore. What is predicted is decided without a look at the rows of labels and tenant,
 * which are anywhere in the log: hashes have the word, so a value that was only copied there is no tenant. */
static uint64_t lifetime(uint32_t site, uint64_t word, uint32_t count, const uint64_t *labels) {
  const uint64_t state = ca_name(*ca_shadow(word));
  uint64_t tenant = ca_is_named(state) ? ca_row_of(state) : NONE;
  const struct traits traits = traits_of(site, tenant, count, labels);
  const uint64_t first_hash = hash_of(traits.hash, word);
  const uint64_t next_hash = hash_of(first_hash * ca_multipliers[60], CA_REG | tenant);
  /* no store of the site ever went on with a lifetime, and this one does not read what it overwrites */
  if (!lifetimes.goes_on[site] && !traits.reads_tenant && ca_predicted(first_hash))
    return CA_REG | ca_last_row();
  if (tenant != NONE && ca_predicted(next_hash))
    return CA_REG | tenant;
  if (!has_sources(count, labels))
    return CA_NOTHING;
  if (tenant != NONE && !lives_in(tenant, word))
    tenant = NONE;
  const struct ca_event first = {first_hash, word, site, CA_ROW_TEMPORARY, count, labels};
  const struct ca_event next = {next_hash, tenant, site, CA_ROW_UPDATE, count, labels};
  bool reads_tenant = tenant != NONE && traits.reads_tenant;
  bool may_go_on = tenant != NONE && (reads_tenant || ca_oldest_of(count, labels) <= tenant);
  if (!reads_tenant && !(may_go_on && !ca_has_newest(count, labels) && ca_index_find(next_hash))) {
    if (ca_predicted(first_hash))
      return CA_REG | ca_last_row();
    uint64_t found = ca_row_again(&first);
    if (found)
      return CA_REG | (found - 1);
    bool is_full = ca_num_rows >= ca_workspace.header.max_rows;
    if (is_full && ca_workspace.header.ends_there && lifetimes.process == getpid()) { /* not a forked child */
      ca_statistics.unnamed_lifetimes++;
      ca_exit_now(0);
    }
    if (is_full && tenant != NONE) {
      ca_statistics.unnamed_lifetimes++;
      ca_spoil_repeats();
    } else if (!may_go_on || !ca_descends(tenant, count, labels)) {
      struct ca_found made = ca_row_add(&first);
      if (made.is_new)
        ca_note_definition(made.row, count, labels);
      return CA_REG | made.row;
    }
  }
  lifetimes.goes_on[site] = true;
  ca_row_lookup(&next);
  return CA_REG | tenant;
}

/* A store over replicated values or to a workspace; true if the row was dealt with. */
CA_SLOW bool ca_store_over(uint32_t site, uint64_t word, uint32_t words, uint32_t count,
                           const uint64_t *labels) {
  bool found = false;
  for (uint32_t i = 0; ca_workspace.exists && i < words; i++)
    found |= ca_workspace.marks[word + i];
  uint64_t state = 0, room[CA_MOST_LABELS];
  if (found) {
    ca_order_labels(count, labels);
    state = lifetime(site, word, count, ca_names(room, count, labels));
    ca_order_labels(0, 0); /* what has no source is no row */
  }
  ca_note_width(state, words);
  ca_set_states(word, words, state);
  return found;
}

/* Notes how many words a named value takes where it is stored as a whole. */
CA_SLOW void ca_note_width(uint64_t label, uint32_t words) {
  if (ca_workspace.exists && ca_is_named(label))
    lifetimes.words_of[ca_row_of(label)] = (uint8_t)words;
}

/* A named value arrives at a home: a version of its own, of the named value's width. */
static void copy_to_home(uint32_t site, uint64_t word, uint64_t words, uint64_t label) {
  if ((label & ~CA_ROLES) == CA_NOTHING) {
    ca_fill_row(site, word, words, CA_ROW_FILL);
  } else {
    uint64_t hash = ca_hash_chain(site, word, 1, &label);
    if (!ca_predicted(hash))
      ca_row_lookup(&(struct ca_event){hash, word, site, 0, 1, &label});
    ca_order_stored(word, words);
  }
  ca_set_states(word, words, 0);
}

/* Words are copied, some of them from workspaces: inside workspaces values are replicated, a named value that
 * arrives at a home becomes a version there. */
CA_SLOW void ca_copy_named(uint32_t site, uint64_t word, uint64_t words, const uint64_t *labels) {
  for (uint64_t i = 0; i < words;) {
    uint64_t label = labels[i], same = 1;
    if (!(label & CA_REG) || !ca_workspace.exists || ca_workspace.marks[word + i]) {
      ca_replicate(word + i, label);
    } else {
      /* one value in several places (an element that was broadcast) is a version at each of them */
      uint64_t most = ca_is_named(label) ? lifetimes.words_of[ca_row_of(label)] : 0;
      while (i + same < words && same != most && labels[i + same] == label &&
             !ca_workspace.marks[word + i + same])
        same++;
      copy_to_home(site, word + i, same, label);
    }
    i += same;
  }
}

/* Replication of words of which some hold named values. The labels are taken first: ranges may overlap. */
static void copy_with_names(uint32_t site, uint64_t target, uint64_t source, uint64_t words) {
  uint64_t *labels = malloc(words * sizeof *labels);
  if (!labels) {
    ca_statistics.dropped_rows += words;
    return;
  }
  for (uint64_t i = 0; i < words; i++)
    labels[i] = ca_value_at(source + i);
  ca_copy_named(site, target, words, labels);
  free(labels);
}

/* memcpy, memmove. */
CA_CALL void ca_copy_words(uint32_t site, uint64_t to, uint64_t from, uint64_t bytes) {
  if (ca_within(to - from)) {
    ca_statistics.unaligned_copies++;
    ca_spoil_repeats(); /* they are counted one by one */
    ca_forget_range(to, bytes);
  } else if (ca_workspace.exists) {
    uint64_t skipped = ca_within(-to);
    if (bytes > skipped)
      copy_with_names(site, ca_word(to + skipped), ca_word(from + skipped), (bytes - skipped) / CA_WORD_BYTES);
  } else {
    ca_move_words(to, from, bytes);
  }
}

/* Searches from a register value back to the one that its site made before; only ways through workspaces count,
 * because other chains of registers (prefix sums) end by themselves. */
static bool is_carried(uint64_t before, uint32_t count, const uint64_t *labels) {
  for (uint32_t i = 0; i < count; i++) {
    if (!ca_is_named(labels[i]) || !(ca_head_of(ca_row_of(labels[i]))->flags & CA_ROW_TEMPORARY))
      continue;
    if (ca_descends(before, 1, &labels[i]))
      return true;
  }
  return false;
}

/* The vertex of a register value that was not predicted. A value that is carried from one time step to the next
 * in a register and through workspaces stays one vertex: otherwise each step would get new ones.
 * `labels` are sources (of a reduction: a selection); those in the event go into the row. */
struct ca_version ca_register_version(struct ca_event *event, uint32_t count, const uint64_t *labels) {
  uint64_t found = ca_row_again(event);
  if (found)
    return (struct ca_version){found - 1, found - 1, false};
  uint64_t before = lifetimes.last_of_site[event->site];
  if (before && is_carried(before - 1, count, labels)) {
    ca_spoil_repeats(); /* what the site makes next may be another version */
    event->hash = (event->hash + before * ca_multipliers[60]) | 1;
    event->sink = before - 1;
    event->flags = CA_ROW_REGISTER | CA_ROW_UPDATE;
    struct ca_found update = ca_row_lookup(event);
    return (struct ca_version){before - 1, update.row, update.is_new};
  }
  struct ca_found made = ca_row_add(event);
  if (made.is_new) {
    ca_note_definition(made.row, count, labels);
    lifetimes.last_of_site[event->site] = (uint32_t)(made.row + 1);
  }
  return (struct ca_version){made.row, made.row, made.is_new};
}

CA_SLOW uint64_t ca_register_miss(uint64_t hash, uint32_t site, uint32_t count, const uint64_t *labels) {
  uint64_t room[CA_MOST_LABELS];
  labels = ca_names(room, count, labels);
  struct ca_event event = {hash, 0, site, CA_ROW_REGISTER, count, labels};
  if (ca_workspace.exists)
    return CA_REG | ca_register_version(&event, count, labels).vertex;
  return CA_REG | ca_row_lookup(&event).row;
}
