/* Rows that were not predicted: finding them again (row_index.c), appending new ones. */
#include "state.h"
#include <string.h>

uint64_t ca_num_rows;

#define MOST_ROW_COLUMNS 8u
#define ROWS_STEP (1u << 17)
#define CHECKED_LOOKUPS (1u << 15) /* pages that they touched may have to leave */
#define NUM_INTERRUPTED 8u
#define COMMON_BITS 8u

static struct {
  struct {
    struct ca_column *column;
    uint64_t bytes_per_row;
  } row_columns[MOST_ROW_COLUMNS]; /* with an entry per row; they grow together */
  uint32_t num_row_columns;
  uint32_t lookups;
  uint64_t rows_ready;
  struct ca_column detours;
  /* Where the log was left lately for rows elsewhere: rows that many elements share (constants, temporaries) are
   * stored with the first one, and the others go on behind them. */
  uint64_t interrupted[NUM_INTERRUPTED];
  uint64_t hashes[NUM_INTERRUPTED]; /* of the rows that were expected there: they fill one cache line */
  uint32_t last_interrupted;
  /* Rows that the log was left for alone, by hash: constants, temporaries. They are counted where they come. */
  struct {
    uint64_t hash;
    uint64_t row;
  } common[1u << COMMON_BITS];
  uint32_t recent[CA_AHEAD]; /* known rows that were jumped to last */
  uint32_t num_recent;
} logged;

/* Makes all of them ready for a further row and the unused one behind it. */
static bool extend_rows(void) {
  uint64_t rows = logged.rows_ready + ROWS_STEP;
  for (uint32_t i = 0; i < logged.num_row_columns; i++) {
    struct ca_column *column = logged.row_columns[i].column;
    uint64_t bytes = rows * logged.row_columns[i].bytes_per_row;
    if (bytes > column->ready && !ca_column_extend(column, bytes))
      return false;
    column->bytes = bytes;
  }
  logged.rows_ready = rows;
  return true;
}

bool ca_row_column_reserve(struct ca_column *column, uint64_t bytes_per_row) {
  if (logged.num_row_columns == MOST_ROW_COLUMNS || !ca_column_reserve(column, (1ull << 32) * bytes_per_row))
    return false;
  logged.row_columns[logged.num_row_columns].column = column;
  logged.row_columns[logged.num_row_columns++].bytes_per_row = bytes_per_row;
  column->bytes = logged.rows_ready * bytes_per_row;
  return !logged.rows_ready || ca_column_extend(column, column->bytes);
}

bool ca_rows_reserve(void) {
  if (!ca_row_column_reserve(&ca_cells, sizeof(struct ca_cell)) ||
      !ca_row_column_reserve(&logged.detours, sizeof(struct ca_detour)) || !extend_rows())
    return false;
  ca_cells.is_section = true;
  ca_state.cells = ca_state.cursor = (struct ca_cell *)ca_cells.data;
  ca_state.detours = (struct ca_detour *)logged.detours.data;
  return true;
}

static bool is_narrow(uint64_t sink, uint32_t count, const uint64_t *labels) {
  for (uint32_t i = 0; i < count; i++) {
    int64_t difference = (int64_t)(labels[i] - sink);
    if ((labels[i] >> 42) || labels[i] == 0 || difference != (int32_t)difference)
      return false;
  }
  return true;
}

/* Row or place of the word of a label; too large if it cannot be compact. */
static uint64_t compact_value(uint64_t label) {
  return (label & ~(CA_REG | CA_ROLES)) - (label & CA_REG ? 0 : CA_COMPACT_FIRST);
}

static bool is_compact(uint32_t count, const uint64_t *labels) {
  uint64_t all = 0;
  for (uint32_t i = 0; i < count; i++)
    all |= compact_value(labels[i]);
  return !(all >> CA_COMPACT_BITS);
}

static uint32_t compacted(uint64_t label) {
  uint64_t roles = label / CA_CONTROL & 3, is_row = label / CA_REG & 1;
  return (uint32_t)(compact_value(label) | roles << CA_COMPACT_BITS | is_row << 31);
}

/* There is room for them. */
static void append_labels(struct ca_head *head, uint32_t count, const uint64_t *labels) {
  const uint32_t others = CA_ROW_FILL | CA_ROW_FAMILY; /* their labels are none */
  if (!(head->flags & (CA_ROW_REGISTER | CA_ROW_UPDATE | others)) && is_narrow(head->sink, count, labels)) {
    int32_t *out = ca_column_push(&ca_labels, count * 4ull);
    for (uint32_t i = 0; i < count; i++)
      out[i] = (int32_t)(labels[i] - head->sink);
    return;
  }
  if (!(head->flags & others) && is_compact(count, labels)) {
    head->flags |= CA_ROW_COMPACT;
    uint32_t *out = ca_column_push(&ca_labels, count * 4ull);
    for (uint32_t i = 0; i < count; i++)
      out[i] = compacted(labels[i]);
    return;
  }
  head->flags |= CA_ROW_WIDE;
  unsigned char *out = ca_column_push(&ca_labels, count * 8ull);
  memcpy(out, labels, count * 8ull);
}

static bool append(const struct ca_event *event) {
  bool has_room = ca_num_rows < UINT32_MAX - 1 && (ca_num_rows + 2 < logged.rows_ready || extend_rows()) &&
                  ca_column_room(&ca_labels, event->count * 8ull);
  struct ca_head *head = has_room ? ca_column_push(&ca_heads, sizeof *head) : 0;
  if (!head) {
    ca_statistics.dropped_rows++;
    return false;
  }
  *head = (struct ca_head){event->sink, event->site, (uint16_t)event->count, (uint16_t)event->flags};
  append_labels(head, event->count, event->labels);
  ca_state.cells[ca_num_rows++].hash = event->hash;
  return true;
}

/* Counts a row and predicts that the one behind it comes next. */
static void repeat_row(uint64_t row) {
  if (ca_state.num_kept && ca_state.cursor != ca_state.cells + row)
    ca_note_jump((uint64_t)(ca_state.cursor - ca_state.cells), row);
  ca_state.cells[row].count += ca_active;
  ca_state.cursor = ca_state.cells + row + 1;
  ca_order_row(row);
}

/* Begins to fetch where the log went some jumps behind the one to this row, the last time it was here. */
static void look_ahead(uint64_t row) {
  uint32_t *oldest = &logged.recent[logged.num_recent++ % CA_AHEAD];
  ca_state.detours[*oldest].ahead = (uint32_t)row;
  *oldest = (uint32_t)row;
  uint32_t next = ca_state.detours[row].ahead;
  __builtin_prefetch(&ca_state.cells[next]);
  __builtin_prefetch(&ca_state.detours[next]);
}

/* Keeps where the log is left. */
static void interrupt(uint32_t number, uint64_t expected, uint64_t row) {
  logged.interrupted[number] = expected;
  logged.hashes[number] = ca_state.cells[expected].hash;
  ca_state.detours[expected].instead = (uint32_t)(row + 1);
}

/* Counts a row that was jumped to; where the log is left for it is kept by this number. */
static uint64_t resume(uint32_t number, uint64_t row) {
  interrupt(number, (uint64_t)(ca_state.cursor - ca_state.cells), row);
  look_ahead(row);
  repeat_row(row);
  return row + 1;
}

/* The log goes on where it was left some jumps ago: each row that it was left for alone since then is common. */
static void note_common(uint32_t jumps) {
  uint64_t end = (uint64_t)(ca_state.cursor - ca_state.cells);
  for (uint32_t k = 0; k <= jumps; k++) {
    uint64_t row = logged.recent[(logged.num_recent - 1 - k) % CA_AHEAD], hash = ca_state.cells[row].hash;
    if (end != row + 1)
      return;
    logged.common[hash >> (64 - COMMON_BITS)].hash = hash;
    logged.common[hash >> (64 - COMMON_BITS)].row = row;
    end = logged.interrupted[(logged.last_interrupted - k) % NUM_INTERRUPTED];
  }
}

/* Row + 1 that is counted if it is common: what is expected stays the same. */
static uint64_t row_common(uint64_t hash) {
  uint64_t row = logged.common[hash >> (64 - COMMON_BITS)].row;
  if (logged.common[hash >> (64 - COMMON_BITS)].hash != hash)
    return 0;
  struct ca_cell *expected = ca_state.cursor;
  repeat_row(row);
  if (ca_state.num_kept)
    ca_note_jump(row + 1, (uint64_t)(expected - ca_state.cells));
  ca_state.cursor = expected;
  return row + 1;
}

/* Counts the row of an event that was not predicted, if there is one: row + 1, otherwise 0. It is looked for where
 * the log was left here before, then where it was left for others lately, then in the index. */
uint64_t ca_row_again(const struct ca_event *event) {
  bool is_plain = !(event->flags & CA_ROW_FAMILY); /* others are asked for as the last row */
  uint64_t found = is_plain ? row_common(event->hash) : 0;
  if (found)
    return found;
  if (!(++logged.lookups % CHECKED_LOOKUPS))
    ca_spill_check();
  if (is_plain && ca_has_newest(event->count, event->labels))
    return 0;
  found = ca_state.detours[ca_state.cursor - ca_state.cells].instead;
  if (found && ca_state.cells[found - 1].hash == event->hash)
    return resume(++logged.last_interrupted % NUM_INTERRUPTED, found - 1);
  for (uint32_t k = 0; k < NUM_INTERRUPTED; k++) {
    uint32_t number = (logged.last_interrupted - k) % NUM_INTERRUPTED;
    if (logged.hashes[number] != event->hash)
      continue;
    note_common(k);
    return resume(number, logged.interrupted[number]);
  }
  found = ca_index_find(event->hash);
  if (!found)
    return 0;
  const struct ca_head *head = (const struct ca_head *)ca_heads.data + (found - 1);
  if (head->site != event->site || head->sink != event->sink || head->num_labels != event->count)
    ca_statistics.hash_collisions++;
  return resume(++logged.last_interrupted % NUM_INTERRUPTED, found - 1);
}

/* Appends the row of an event for which ca_row_again found none just now, and counts it. */
struct ca_found ca_row_add(const struct ca_event *event) {
  uint64_t expected = (uint64_t)(ca_state.cursor - ca_state.cells), row = ca_num_rows;
  if (!ca_index_room() || !append(event)) {
    ca_spoil_repeats();
    return (struct ca_found){0, false};
  }
  ca_index_put(row);
  if (row != expected) /* a detour */
    interrupt(++logged.last_interrupted % NUM_INTERRUPTED, expected, row);
  repeat_row(row);
  return (struct ca_found){row, true};
}

/* The row of an event that was not predicted: looks it up or appends it, moves the cursor behind it. */
struct ca_found ca_row_lookup(const struct ca_event *event) {
  uint64_t found = ca_row_again(event);
  return found ? (struct ca_found){found - 1, false} : ca_row_add(event);
}

/* What was recorded so far does not come again: rows are in the order of what happens from now on. */
CA_SLOW void ca_rows_forget(void) {
  ca_index_forget();
  memset(logged.hashes, 0, sizeof logged.hashes);
  memset(logged.common, 0, sizeof logged.common);
  ca_state.cursor = ca_state.cells + ca_num_rows;
  ca_state.detours[ca_num_rows].instead = 0;
}

/* A range of words became constant. */
void ca_fill_row(uint32_t site, uint64_t first, uint64_t words, uint32_t flags) {
  uint64_t hash = (site * ca_multipliers[62] + first * ca_multipliers[63] + words * ca_multipliers[0] +
                   flags * ca_multipliers[1]) |
                  1;
  if (!ca_predicted(hash))
    ca_row_lookup(&(struct ca_event){hash, first, site, flags, 1, &words});
  ca_order_stored(first, words);
}

CA_SLOW void ca_row_miss(uint64_t hash, uint32_t site, uint64_t sink, uint32_t count, const uint64_t *labels) {
  uint64_t room[CA_MOST_LABELS];
  ca_row_lookup(&(struct ca_event){hash, sink, site, 0, count, ca_names(room, count, labels)});
}
