/* State shared by the files of the shim and small helpers; not part of the contract. */
#ifndef CA_STATE_H
#define CA_STATE_H

#include "comm_shim.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* None is `used`: what a program does not call is left out of it. */
#define CA_INLINE __attribute__((always_inline)) static inline
#define CA_HOOK __attribute__((always_inline))
#define CA_SLOW __attribute__((noinline, cold))
#define CA_CALL __attribute__((noinline))
#define CA_FAILURE_STATUS 113 /* launch.py knows it: the recorder could not start */
#define CA_LIKELY(x) __builtin_expect(!!(x), 1)

/* A column: an array that grows inside reserved address space, so it never moves. */
struct ca_column {
  unsigned char *data;
  uint64_t bytes;
  uint64_t ready; /* bytes that can be written; more are made ready in steps (memory.c) */
  uint64_t capacity;
  uint64_t offset; /* in the trace, when it was spilled */
  bool is_section; /* of the trace; others are the recorder's own */
};

/* A loop that was recorded and left the shadow as it was: another run with the same hash, while the shadow has
 * not changed either, counts the same rows. */
struct ca_repeat { /* a cache line */
  uint64_t hash;
  uint64_t changes; /* digest of the shadow that the loop looks at, before it */
  uint64_t count;   /* further runs */
  uint32_t end;     /* cell behind its last row */
  uint32_t next;    /* the loop that came after it last time */
  uint32_t num_stretches;
  uint32_t num_outcomes; /* entries of the shadow as the loop leaves them, where it changes some */
  uint32_t first_stretch;
  uint32_t first_outcome;
  uint32_t first_delta;
  uint32_t first_counter; /* block counters that a previewed loop advances, by its deltas */
  uint16_t num_counters;
  uint16_t num_replaced; /* states of the shadow by others, at most a few */
  uint32_t ahead; /* the loop that came some loops later last time */
};
_Static_assert(sizeof(struct ca_repeat) == 64, "a cache line");

/* A place where another row than the predicted one came. */
struct ca_detour {
  uint32_t instead; /* row + 1 that came there the last time */
  uint32_t ahead;   /* row where the log was some jumps later */
};

#define CA_AHEAD 8u /* known loops, or rows that are jumped to; a power of 2 */

struct ca_state {
  struct ca_cell *cursor; /* next expected row */
  struct ca_cell *cells;  /* all rows */
  struct ca_repeat *repeats;
  struct ca_detour *detours; /* by row */
  uint32_t last_repeat;      /* the loop that was left last */
  uint32_t num_recording;    /* loops that are being recorded, one inside the other */
  uint32_t num_kept;         /* those of them that may be remembered */
  uint32_t recent[CA_AHEAD]; /* known loops that came last */
  uint32_t num_recent;
};

#pragma GCC visibility push(hidden)
extern struct ca_state ca_state;
extern struct ca_column ca_cells, ca_heads, ca_labels, ca_groups, ca_runs, ca_listed, ca_extents;
extern struct ca_column ca_copies;
extern struct ca_statistics ca_statistics;
extern uint64_t ca_num_rows;

bool ca_column_reserve(struct ca_column *column, uint64_t capacity);
bool ca_section_reserve(struct ca_column *column, uint64_t capacity);
bool ca_column_extend(struct ca_column *column, uint64_t bytes);
void *ca_column_push(struct ca_column *column, uint64_t bytes);
bool ca_column_move(struct ca_column *column, int file, uint64_t bytes, uint64_t offset);
void ca_columns_forget(void);
void ca_spill_prepare(const char *path, void (*give_back)(void));
void ca_spill_check(void);
void ca_spill_finish(int file);
uint64_t ca_spilled_bytes(void);
uint64_t ca_memory_allowed(void);
const char *ca_trace_prepare(const char *path);
void ca_exit_now(int status);
bool ca_write_all(int file, const void *data, uint64_t bytes, uint64_t offset);
void *ca_map(uint64_t bytes);
void *ca_table(uint64_t bytes);
/* Tables about the first bytes of the heap: a program that touches few words of much more memory must not pay
 * for a large page around each. */
#define DENSE_BYTES (1ull << 29)
void ca_prefer_huge_pages(void *data, uint64_t bytes);
void ca_unmap(void *data, uint64_t bytes);
bool ca_rows_reserve(void);
bool ca_copies_reserve(void);
void ca_copies_compact(void);
bool ca_row_column_reserve(struct ca_column *column, uint64_t bytes_per_row);
void ca_add_extent(uint32_t kind, uint32_t object, uint64_t start, uint64_t size, uint64_t offset,
                   uint64_t depth);
void *ca_arena_take(uint64_t bytes, uint64_t alignment);
void ca_forget_range(uint64_t address, uint64_t bytes);
void ca_copy_words(uint32_t site, uint64_t to, uint64_t from, uint64_t bytes);
void ca_move_words(uint64_t to, uint64_t from, uint64_t bytes);
void ca_own_copies(void);
void ca_name_literals(void);
void ca_fill_row(uint32_t site, uint64_t first, uint64_t words, uint32_t flags);
void ca_trim_extents(void);
const struct ca_blocks *ca_list_blocks(uint64_t *count);
void ca_input(uint32_t site, uint64_t address, uint64_t bytes);
void ca_row_0(uint32_t site, uint64_t address, uint32_t words);
void ca_row_1(uint32_t site, uint64_t address, uint32_t words, uint64_t label);
uint64_t ca_join(uint32_t site, uint32_t count, const uint64_t *labels);
uint64_t ca_register_many(uint32_t site, uint32_t count, const uint64_t *labels);
void ca_row_miss(uint64_t hash, uint32_t site, uint64_t sink, uint32_t count, const uint64_t *labels);
uint64_t ca_register_miss(uint64_t hash, uint32_t site, uint32_t count, const uint64_t *labels);

/* Odd random multipliers, from a seeded generator; position i of a chain has its own, so order and repetition matter. */
static const uint64_t ca_multipliers[64] = {
    0xcb40b343af55b585ull, 0x039c88768ac29b7bull, 0x556666692e8f1b91ull, 0xa18e52d4cd8985b1ull,
    0xf4f84369e31285e7ull, 0x244072e7e95eb51full, 0x49b5af4c9e22b8efull, 0x68cd7a55ca57c4f5ull,
    0xd3f034ee6e147e4full, 0x0effba07253d819full, 0x012d2d53f6961e83ull, 0xca47a52188d24f05ull,
    0x55db2de13ca85335ull, 0x86a28a0c7b209c0dull, 0x17123507178d7031ull, 0x6cedbd0b5c263539ull,
    0x45e85446d6caf783ull, 0xb8d4ef1258d1ee47ull, 0x6e840f0401573e33ull, 0x77384e94f60405b3ull,
    0xe50dc268cf0ef665ull, 0x3af3f359e019ac15ull, 0xf19fa550ce51f791ull, 0xa679d514b7130035ull,
    0xf3d3a3fdfe299c1full, 0x8140899de0f2a7fbull, 0x8b7454da5ce2fb35ull, 0x8f1b763f5647b343ull,
    0x07aa0f43860e4c19ull, 0xacb6af07d7720aefull, 0xf219b2b389b4bdd1ull, 0x0a1e84ecb4b72babull,
    0x32ad94b9b328fba9ull, 0xd94f8bfac2bf782bull, 0xe488472b6fe351a3ull, 0x99493aaefeaebf67ull,
    0x0bacc366eee63f4dull, 0xcc378a8c6979c37full, 0x4313dd6dd4850c79ull, 0xd67cb2200922077dull,
    0x6fcbad499a7e5127ull, 0xfb7761bcbaa74997ull, 0xa2f67b6babf04dc1ull, 0x001843a7715060f9ull,
    0x64ca4463600cb4d5ull, 0x71404a7842af9b55ull, 0xf64751865dfcf161ull, 0x641607d5f1ab756dull,
    0xd4e83e4465b6c161ull, 0x988759847c0d5c7dull, 0x99033588e72c28b5ull, 0xc7ed4f1992fed4efull,
    0xd703ad90604f901bull, 0x98623a84bfd39dafull, 0x265085be67aa85adull, 0x4b4c69dfc8ae31a5ull,
    0x0535e69a172ec56dull, 0xacc745b6ef1ad10bull, 0x74d6abf87d6f0041ull, 0xf21f1b0a1b70752bull,
    0xd640fb125d7784cfull, 0xc7d65e6bd50245edull, 0x55ab36bbade636bbull, 0x60e925e02c1080a9ull,
};

/* A chain on its way into the log. */
struct ca_event {
  uint64_t hash;
  uint64_t sink;   /* word, 0 for registers */
  uint32_t site;
  uint32_t flags;
  uint32_t count;
  const uint64_t *labels;
};

struct ca_found {
  uint64_t row;
  bool is_new;
};

/* The index of rows (row_index.c). */
uint64_t ca_index_find(uint64_t hash); /* row + 1, 0 for none */
bool ca_index_room(void);
void ca_index_put(uint64_t row);
void ca_index_forget(void);

void ca_rows_forget(void);
struct ca_found ca_row_lookup(const struct ca_event *event);
uint64_t ca_row_again(const struct ca_event *event);
struct ca_found ca_row_add(const struct ca_event *event);

/* Loops that are being recorded (notes.c). */
void ca_spoil_repeats(void);
void ca_note_jump(uint64_t from, uint64_t to);
void ca_set_states(uint64_t word, uint64_t words, uint64_t state);

/* Loops that repeat (repeats.c). */
bool ca_repeats_reserve(void);
void ca_repeats_forget(void);
void ca_repeats_settle(void);
void ca_repeat_outcome(const struct ca_repeat *repeat);
struct ca_repeat *ca_repeat_find(uint64_t hash, uint64_t changes);
uint32_t ca_repeat_unpredicted(uint64_t hash, uint64_t changes, uint64_t rounds);
bool ca_repeat_index_reserve(void);
uint32_t ca_num_repeats(void);
uint32_t ca_repeat_latest(uint64_t hash);
uint32_t ca_repeat_number(uint64_t hash, uint64_t changes);
uint32_t ca_repeat_place(uint64_t hash, uint64_t changes);
void ca_repeat_row(uint64_t hash, uint64_t changes);
uint64_t ca_preview_blocks(uint64_t hash); /* that a previewed loop executes; 0 if it was not recorded */
void ca_snapshots_stop(void);

/* Workspaces (workspace.c). */
#define CA_LITERAL 2u
extern struct ca_workspaces {
  bool exists;
  uint8_t *marks; /* by word: 1 for one of a workspace, CA_LITERAL for one of a constant variable */
  struct ca_workspace header;
  struct ca_piece *pieces;
} ca_workspace;
bool ca_workspace_read(const char *path);
void ca_workspace_begin(void);
void ca_workspace_extent(const struct ca_extent *extent);
bool ca_has_workspace_in(uint64_t word, uint64_t words);

/* What lives there (lifetimes.c). */
void ca_lifetimes_prepare(const char *path);
bool ca_store_over(uint32_t site, uint64_t word, uint32_t words, uint32_t count, const uint64_t *labels);
void ca_copy_named(uint32_t site, uint64_t word, uint64_t words, const uint64_t *labels);
void ca_note_width(uint64_t label, uint32_t words);
void ca_note_definition(uint64_t row, uint32_t count, const uint64_t *labels);

/* The vertex that a register value belongs to, and the row that says so. */
struct ca_version {
  uint64_t vertex;
  uint64_t row;
  bool is_new;
};
struct ca_version ca_register_version(struct ca_event *event, uint32_t count, const uint64_t *labels);
#pragma GCC visibility pop

/* Whether so many bytes more can be pushed. */
CA_INLINE bool ca_column_room(struct ca_column *column, uint64_t bytes) {
  return CA_LIKELY(column->bytes + bytes <= column->ready) || ca_column_extend(column, column->bytes + bytes);
}

CA_INLINE uint64_t ca_word(uint64_t address) { return (address & CA_ADDRESS_MASK) >> CA_UNIT_BITS; }

/* Words that so many bytes from the begin of one on take. */
CA_INLINE uint64_t ca_words(uint64_t bytes) { return (bytes + CA_WORD_BYTES - 1) >> CA_UNIT_BITS; }

/* Bytes of the word that an address lies in, in front of it. */
CA_INLINE uint64_t ca_within(uint64_t address) { return address & (CA_WORD_BYTES - 1); }

#define CA_HALF (4u >> CA_UNIT_BITS) /* words of four bytes, the halves of 64-bit integers */

CA_INLINE uint64_t *ca_shadow(uint64_t word) { return (uint64_t *)CA_SHADOW_BASE + word; }

CA_INLINE void ca_set_state(uint64_t word, uint64_t state) {
  if (*ca_shadow(word) != state)
    ca_set_states(word, 1, state);
}

/* Whether all words of the page of this one hold values of their own: its digest is 0. */
CA_INLINE bool ca_page_is_own(uint64_t word) {
  return !((const uint64_t *)CA_CHANGES_BASE)[word >> (CA_CHANGES_PAGE - CA_UNIT_BITS)];
}

/* Recordings that keep the order of events (order.c) tell the versions of a word apart: in a label, they stand
 * above the word, which is its name. */
extern struct ca_column ca_order;
#ifdef CA_ORDERED
#define CA_WORD_BITS 42u
#define CA_VERSION 0xffffull
extern uint16_t *ca_versions;
bool ca_order_reserve(void);
void ca_order_labels(uint32_t count, const uint64_t *labels); /* of the next row */
void ca_order_row(uint64_t row);
void ca_order_stored(uint64_t word, uint64_t words);
CA_INLINE uint64_t ca_name(uint64_t label) { return label & ~(CA_VERSION << CA_WORD_BITS); }
CA_INLINE uint64_t ca_current(uint64_t word) { return word | (ca_versions[word] + 1ull) << CA_WORD_BITS; }
#else
CA_INLINE bool ca_order_reserve(void) { return true; }
CA_INLINE void ca_order_labels(uint32_t count, const uint64_t *labels) { (void)count, (void)labels; }
CA_INLINE void ca_order_row(uint64_t row) { (void)row; }
CA_INLINE void ca_order_stored(uint64_t word, uint64_t words) { (void)word, (void)words; }
CA_INLINE uint64_t ca_name(uint64_t label) { return label; }
CA_INLINE uint64_t ca_current(uint64_t word) { return word; }
#endif

/* Where to put more words behind those used of a growing array; 0 if there is no room, which is counted. */
uint64_t *ca_room(uint64_t **words, uint64_t used, uint64_t *capacity, uint64_t more);

#define CA_MOST_LABELS 64u

/* The names of labels, where they differ in `room`. */
CA_INLINE const uint64_t *ca_names(uint64_t *room, uint32_t count, const uint64_t *labels) {
#ifdef CA_ORDERED
  for (uint32_t i = 0; i < count; i++)
    room[i] = ca_name(labels[i]);
  return room;
#else
  (void)room, (void)count;
  return labels;
#endif
}

/* Digests are a thousandth of the shadow: where a page holds no copies, no line of its shadow is fetched. */
CA_INLINE uint64_t ca_value_at(uint64_t word) {
  if (CA_LIKELY(ca_page_is_own(word)))
    return ca_current(word);
  uint64_t state = *ca_shadow(word);
  return state ? state : ca_current(word);
}

/* State of a word that holds no replicated value. */
CA_INLINE uint64_t ca_own_state(uint64_t word) {
  return CA_LIKELY(!ca_workspace.exists) || !ca_workspace.marks[word] ? 0 : CA_NOTHING;
}

/* A value that lives elsewhere is copied to a word that did not hold it (copies.c); workspaces were found by it. */
void ca_note_copy(uint64_t home, uint64_t word);

/* State of a word that the value of a label is copied to. */
CA_INLINE uint64_t ca_copied_state(uint64_t word, uint64_t label) {
  return label == word || label == ca_current(word) ? 0 : label;
}

CA_INLINE void ca_replicate(uint64_t word, uint64_t label) {
  uint64_t state = ca_copied_state(word, label);
  if (state && !ca_workspace.exists && !(label & CA_REG) && *ca_shadow(word) != label)
    ca_note_copy(label & CA_WORD_MASK, word);
  ca_set_state(word, state);
}

/* Label of the word so many words behind that of a label; a named value has one label for all of them. */
CA_INLINE uint64_t ca_behind(uint64_t label, uint64_t words) { return label & CA_REG ? label : label + words; }

/* The same for some words, the value of a label. */
CA_INLINE void ca_replicate_words(uint64_t word, uint32_t words, uint64_t label) {
  for (uint32_t k = 0; k < words; k++)
    ca_replicate(word + k, ca_behind(label, k));
}

/* Previewed loops are remembered by what the preview found out and whether it is analysed. */
CA_INLINE uint64_t ca_preview_hash(uint64_t hash) { return (hash + ca_active * ca_multipliers[60]) | 1; }

/* Counts the row that was expected next, if this is it. */
CA_INLINE bool ca_predicted(uint64_t hash) {
  struct ca_cell *cell = ca_state.cursor;
  if (!CA_LIKELY(cell->hash == hash))
    return false;
  cell->count += ca_active;
  ca_state.cursor = cell + 1;
  ca_order_row((uint64_t)(cell - ca_state.cells));
  return true;
}

#define CA_WIDE_BYTES (1ull << 30) /* of larger ranges, few pages are touched */

/* Digest of the shadow of the pages that these addresses lie in: the sum of what its entries add. */
CA_INLINE uint64_t ca_changes_in(uint64_t low, uint64_t high) {
  bool is_wide = high > low && high - low >= CA_WIDE_BYTES;
  uint32_t shift = is_wide ? CA_COARSE_PAGE : CA_CHANGES_PAGE;
  const uint64_t *pages = (const uint64_t *)(is_wide ? CA_COARSE_BASE : CA_CHANGES_BASE);
  const uint64_t mask = CA_ADDRESS_MASK >> shift;
  uint64_t page = low >> shift, last = high >> shift, sum = 0;
#pragma clang loop vectorize(disable) unroll(disable)
  do {
    sum += pages[page & mask];
  } while (page++ < last);
  return sum;
}

/* Fetches the known loop that comes some loops behind this one: the chain of those that come next is longer
 * than the memory's latency. */
CA_INLINE void ca_fetch_ahead(uint32_t number) {
  uint32_t *oldest = &ca_state.recent[ca_state.num_recent++ % CA_AHEAD];
  ca_state.repeats[*oldest].ahead = number;
  *oldest = number;
  __builtin_prefetch(ca_state.repeats + ca_state.repeats[number].ahead);
}

/* Counts the loop that was expected next, if this is it. */
CA_INLINE struct ca_repeat *ca_repeat_predicted(uint64_t hash, uint64_t changes) {
  struct ca_repeat *next = ca_state.repeats + ca_state.repeats[ca_state.last_repeat].next;
  if (!CA_LIKELY(next->hash == hash && next->changes == changes && !ca_state.num_kept))
    return 0;
  next->count += ca_active;
  if (next->num_stretches) {
    ca_state.cursor = ca_state.cells + next->end;
    __builtin_prefetch(ca_state.cursor); /* it is needed behind the loop */
  }
  const struct ca_repeat *then = ca_state.repeats + next->next;
  __builtin_prefetch(ca_state.cells + then->end);
  __builtin_prefetch(ca_state.detours + then->end);
  ca_state.last_repeat = (uint32_t)(next - ca_state.repeats);
  ca_fetch_ahead(ca_state.last_repeat);
  if (!CA_LIKELY(!next->num_outcomes))
    ca_repeat_outcome(next);
  return next;
}

CA_INLINE struct ca_repeat *ca_repeat_again(uint64_t hash, uint64_t changes) {
  struct ca_repeat *found = ca_repeat_predicted(hash, changes);
  return found ? found : ca_repeat_find(hash, changes);
}

/* The row that was counted last. */
CA_INLINE uint64_t ca_last_row(void) { return (uint64_t)(ca_state.cursor - 1 - ca_state.cells); }

/* Whether a label names the newest row: none behind that one has it yet. */
CA_INLINE bool ca_has_newest(uint32_t count, const uint64_t *labels) {
  bool found = false;
  for (uint32_t i = 0; i < count; i++)
    found |= (labels[i] & ~CA_ROLES) == (CA_REG | (ca_num_rows - 1));
  return found;
}

/* Units of the label column that a row takes. */
CA_INLINE uint32_t ca_row_units(const struct ca_head *head) {
  return (uint32_t)head->num_labels << (head->flags & CA_ROW_WIDE ? 1 : 0);
}

/* The label that a unit of a compact row stands for. */
CA_INLINE uint64_t ca_expanded(uint32_t unit) {
  uint64_t value = unit & ((1u << CA_COMPACT_BITS) - 1), roles = unit >> CA_COMPACT_BITS & 3;
  return value + (unit >> 31 ? CA_REG : CA_COMPACT_FIRST) + roles * CA_CONTROL;
}

/* Label k of a row with this sink whose labels begin at `units`. */
CA_INLINE uint64_t ca_row_label(uint32_t flags, uint64_t sink, const int32_t *units, uint32_t k) {
  if (flags & CA_ROW_WIDE)
    return ((uint64_t)(uint32_t)units[2 * k + 1] << 32) | (uint32_t)units[2 * k];
  if (flags & CA_ROW_COMPACT)
    return ca_expanded((uint32_t)units[k]);
  return sink + (uint64_t)(int64_t)units[k];
}

/* What a chain's hash has of its labels and its site. */
CA_INLINE uint64_t ca_hash_sum(uint32_t site, uint32_t count, const uint64_t *labels) {
  uint64_t sum = site * ca_multipliers[62];
  for (uint32_t i = 0; i < count; i++)
    sum += ca_name(labels[i]) * ca_multipliers[i];
  return sum;
}

CA_INLINE uint64_t ca_hash_chain(uint32_t site, uint64_t sink, uint32_t count, const uint64_t *labels) {
  /* 0 marks the unused cell behind the last row */
  return (ca_hash_sum(site, count, labels) + sink * ca_multipliers[63]) | 1;
}

#endif
