/* Homes and chains as the log tells of them. Shared by chains.c, homes.c, survey.c and prefix.c only. */
#ifndef CA_SURVEY_H
#define CA_SURVEY_H

#include "state.h"

/* A word where values live, and what it held. There are many: half a cache line. */
struct ca_home {
  uint64_t word : 44;
  uint64_t width : 8;     /* of the widest value, bytes */
  uint64_t is_shared : 1; /* ranges store to it: the same chain may be in several rows */
  uint64_t differs : 1;   /* one site stored chains with different sources */
  uint64_t is_eligible : 1;
  uint64_t is_workspace : 1;
  uint64_t is_read : 1; /* its reach was passed on to others */
  uint64_t lifetimes;   /* how often something new began */
  union {
    uint64_t versions;  /* until the homes are chosen that begin many lifetimes */
    uint64_t commonest; /* then: occurrences of its commonest chain with sources */
  };
  uint32_t reach;  /* occurrences of the commonest chain in the workspaces that it comes from, at most */
  uint32_t extent; /* + 1, 0 for memory without a name */
};
_Static_assert(sizeof(struct ca_home) == 32, "half a cache line");

/* Homes, numbered from 1 on as they are stored to. */
struct ca_homes {
  struct ca_home *entries;
  uint32_t count;
  uint32_t capacity;
  uint32_t *number_of; /* by word; words that a wider value covers have the number of its home */
  struct ca_extent *extents;
  uint64_t num_extents;
  uint64_t extents_bytes;
};

/* A chain: a row of the log, or one store in one round of a range. */
struct ca_chain {
  uint64_t row;
  uint64_t sink;
  uint64_t times;
  uint32_t site;
  uint32_t flags;
  uint32_t num_labels;  /* without those of groups */
  const int32_t *units; /* 0 for a round of a range, which has: */
  const uint64_t *labels;
  uint64_t round;
  const struct ca_group *groups;
  uint32_t num_groups;
};

/* Stores of a row to words that advance by `stride`. */
struct ca_sinks {
  uint64_t first;
  uint64_t stride;
  uint64_t rounds;
  uint32_t site;
  bool is_range;
};

#pragma GCC visibility push(hidden)
/* Visits the chains that a range stands for. */
void ca_visit_range(const struct ca_head *head, const int32_t *unit, struct ca_chain *chain,
                    void (*visit)(const struct ca_chain *chain));

/* Visits the stores to homes of all rows, whether they occurred or not. */
void ca_walk_sinks(void (*visit)(const struct ca_sinks *sinks));

bool ca_homes_make(struct ca_homes *homes, const uint8_t *site_widths, uint64_t num_sites);
void ca_homes_name(struct ca_homes *homes);
void ca_homes_forget(struct ca_homes *homes, uint32_t number);
bool ca_homes_write(const struct ca_homes *homes, uint64_t max_rows, const char *path);
void ca_homes_release(struct ca_homes *homes);
#pragma GCC visibility pop

CA_INLINE const struct ca_head *ca_row_heads(void) { return (const struct ca_head *)ca_heads.data; }

#define CA_ROWS_AHEAD 32u /* of the row that is looked at: what they name is fetched meanwhile */

/* The word that a later row stores to; that of the last row at the end. */
CA_INLINE uint64_t ca_sink_ahead(uint64_t row, uint64_t rows) {
  return ca_row_heads()[row + rows < ca_num_rows ? row + rows : ca_num_rows - 1].sink;
}

/* Label k of a chain. */
CA_INLINE uint64_t ca_chain_label(const struct ca_chain *chain, uint32_t k) {
  if (!chain->units)
    return chain->labels[k] + chain->round * chain->labels[chain->num_labels + k];
  return ca_row_label(chain->flags, chain->sink, chain->units, k);
}

/* The groups of a row; false if they are not in the order of rows. */
CA_INLINE bool ca_find_groups(struct ca_chain *chain, const struct ca_group **next) {
  const struct ca_group *end = (const struct ca_group *)(ca_groups.data + ca_groups.bytes);
  chain->groups = *next;
  if (*next < end && (*next)->row < chain->row)
    return false;
  while (*next < end && (*next)->row == chain->row)
    ++*next;
  chain->num_groups = (uint32_t)(*next - chain->groups);
  return true;
}

/* Visits all chains that occurred, but not those of rows for which `passed` has this mark; false if the log
 * cannot be read in this way. Inlined with its visitor: most chains have few labels. */
CA_INLINE bool ca_walk_chains(void (*visit)(const struct ca_chain *chain), const uint8_t *passed,
                              uint8_t mark) {
  const int32_t *unit = (const int32_t *)ca_labels.data;
  const struct ca_group *group = (const struct ca_group *)ca_groups.data;
  for (uint64_t row = 0; row < ca_num_rows; row++) {
    const struct ca_head *head = ca_row_heads() + row;
    if (head->flags & CA_ROW_NEST) /* they are written out when the graph is built only */
      return false;
    struct ca_chain chain = {.row = row};
    if (!ca_find_groups(&chain, &group))
      return false;
    if (!(passed[row] & mark) && (chain.times = ca_state.cells[row].count)) {
      chain.sink = head->sink;
      chain.site = head->site;
      chain.flags = head->flags;
      chain.num_labels = head->num_labels;
      chain.units = unit;
      if (head->flags & CA_ROW_RANGE)
        ca_visit_range(head, unit, &chain, visit);
      else
        visit(&chain);
    }
    unit += ca_row_units(head);
  }
  return true;
}

#endif
