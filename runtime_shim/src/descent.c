/* What named values were computed from: for the question who descends from whom. Only ways through named values
 * count; a value at home is nobody's descendant. */
#include "descent.h"

#define MAX_PARENTS 64u
#define MAX_VISITED 4096u
/* Steps of all searches together: so many, and some for each search; then searches are short. Half of it takes
 * states of long chains for new ones earlier, twice of it may cost tables that are computed anew 40 ms more. */
#define SPARE_STEPS (1u << 21)
#define STEPS_PER_SEARCH 8u
#define ARE_LABELS (1u << 31)
#define NONE UINT64_MAX

struct ca_definition *ca_definitions;
#define VISITED_BITS 14u
static struct {
  struct ca_column definitions;
  struct ca_column parents; /* rows, u32 */
  /* Rows that a search was at: open addressing. */
  struct {
    uint32_t row;
    uint32_t search;
  } visited[1u << VISITED_BITS];
  uint32_t searches;
  uint64_t spent; /* steps of all searches */
} descent;
_Static_assert(2 * MAX_VISITED <= 1u << VISITED_BITS, "half of the places stay empty");

bool ca_descent_reserve(void) {
  if (!ca_row_column_reserve(&descent.definitions, sizeof *ca_definitions) ||
      !ca_column_reserve(&descent.parents, 1ull << 33) || !ca_column_push(&descent.parents, sizeof(uint32_t)))
    return false;
  ca_definitions = (struct ca_definition *)descent.definitions.data;
  return true;
}

/* Notes that a new named value was computed from these named values; their rows. */
static void note_parents(struct ca_definition *definition, uint32_t count, const uint64_t *labels) {
  uint64_t place = descent.parents.bytes / sizeof(uint32_t);
  uint32_t *number = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!ca_is_named(labels[i]))
      continue;
    if ((number && *number == MAX_PARENTS) || !ca_column_room(&descent.parents, 2 * sizeof(uint32_t)))
      return;
    if (!number) {
      definition->parents = (uint32_t)place;
      number = ca_column_push(&descent.parents, sizeof *number);
    }
    *(uint32_t *)ca_column_push(&descent.parents, sizeof(uint32_t)) = (uint32_t)ca_row_of(labels[i]);
    ++*number;
  }
}

/* Notes what the newest row, which names a value, was computed from. */
void ca_note_definition(uint64_t row, uint32_t count, const uint64_t *labels) {
  struct ca_definition *definition = &ca_definitions[row];
  const struct ca_head *head = ca_head_of(row);
  uint64_t place = ca_labels.bytes / sizeof(uint32_t) - ca_row_units(head);
  uint64_t oldest = ca_oldest_of(count, labels);
  definition->oldest = (uint32_t)(oldest < row ? oldest : row);
  bool has_parents = oldest != NONE;
  if (has_parents && head->num_labels == count && place < ARE_LABELS)
    definition->parents = (uint32_t)place | ARE_LABELS;
  else if (has_parents)
    note_parents(definition, count, labels);
}

/* Row of the oldest named value that values with these labels were computed from; NONE if there is none. */
uint64_t ca_oldest_of(uint32_t count, const uint64_t *labels) {
  uint64_t oldest = NONE;
  for (uint32_t i = 0; i < count; i++)
    if (ca_is_named(labels[i]) && ca_definitions[ca_row_of(labels[i])].oldest < oldest)
      oldest = ca_definitions[ca_row_of(labels[i])].oldest;
  return oldest;
}

/* Whether a search comes to a row for the first time. */
static bool visit(uint32_t row) {
  uint32_t place = row * 0x9e3779b1u >> (32 - VISITED_BITS);
  while (descent.visited[place].search == descent.searches) {
    if (descent.visited[place].row == row)
      return false;
    place = (place + 1) & ((1u << VISITED_BITS) - 1);
  }
  descent.visited[place].row = row;
  descent.visited[place].search = descent.searches;
  return true;
}

/* Puts the rows that a named value was computed from on a stack of this depth; its depth then. */
static uint32_t push_parents(uint32_t row, uint32_t *stack, uint32_t depth) {
  uint32_t place = ca_definitions[row].parents & ~ARE_LABELS;
  if (!(ca_definitions[row].parents & ARE_LABELS)) {
    const uint32_t *number = (const uint32_t *)descent.parents.data + place;
    for (uint32_t i = 1; place && i <= *number && depth < MAX_VISITED; i++)
      stack[depth++] = number[i];
    return depth;
  }
  const struct ca_head *head = ca_head_of(row);
  const int32_t *unit = (const int32_t *)ca_labels.data + place;
  for (uint32_t k = 0; k < head->num_labels && depth < MAX_VISITED; k++) {
    uint64_t label = ca_row_label(head->flags, head->sink, unit, k);
    if (ca_is_named(label))
      stack[depth++] = (uint32_t)ca_row_of(label);
  }
  return depth;
}

/* Depth-first search for `ancestor`. Rows are numbered in the order of their creation and are computed from
 * older ones only, so nothing older than the ancestor needs to be looked at. */
bool ca_descends(uint64_t ancestor, uint32_t count, const uint64_t *labels) {
  if (ca_oldest_of(count, labels) > ancestor)
    return false;
  uint32_t stack[MAX_VISITED + MAX_PARENTS], depth = 0;
  for (uint32_t i = 0; i < count; i++)
    if (ca_is_named(labels[i]) && depth < MAX_PARENTS)
      stack[depth++] = (uint32_t)ca_row_of(labels[i]);
  descent.searches++;
  uint32_t most = descent.spent < SPARE_STEPS + (uint64_t)STEPS_PER_SEARCH * descent.searches ? MAX_VISITED : STEPS_PER_SEARCH;
  for (uint32_t steps = 0; depth && steps < most; steps++, descent.spent++) {
    uint32_t row = stack[--depth];
    if (row == ancestor)
      return true;
    const struct ca_definition *definition = &ca_definitions[row];
    if (row >= ancestor && definition->oldest <= ancestor && definition->parents && visit(row))
      depth = push_parents(row, stack, depth);
  }
  return false;
}
