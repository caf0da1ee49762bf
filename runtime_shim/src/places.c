/* What rounds that are known apart look at: addresses of memory, and what their shadow is.
 *
 * Accesses whose addresses depend on what rounds load must lie apart from all others, or words of the one would
 * be taken for words of the other when rounds are renamed (renamings.c). What lay there in any run counts, as
 * versions of rounds are as old as that.
 */
#include "descent.h"
#include "renamings.h"
#include <string.h>

#define MOST_RANGES 32u
#define MOST_LOCALS 8u
#define MOST_ENTERING 32u
#define MOST_SCANNED (1ull << 26)

struct range { /* addresses or words; the end is not included */
  uint64_t first;
  uint64_t end;
};

struct hulls {
  struct range moving[MOST_RANGES], fixed[MOST_RANGES], entering[MOST_ENTERING];
};

static struct hulls hulls[CA_MEMORIES]; /* words, by memory */
static struct hulls *current;
static uint64_t entering_rows[MOST_ENTERING];
static struct range ranges[MOST_RANGES], locals[MOST_LOCALS]; /* addresses, words */
static uint32_t num_ranges, num_locals, num_moving, num_fixed, num_entering, num_entering_rows;
static uint64_t digest;
static bool are_all;
static uint64_t *entered; /* by site: memories whose entering labels descend from its register values, bits */
_Static_assert(CA_MEMORIES == 64, "a bit each");

bool ca_places_reserve(void) {
  entered = ca_map((1ull << 32) * sizeof *entered);
  return entered;
}

void ca_places_begin(uint32_t memory) {
  current = &hulls[memory];
  num_ranges = num_locals = num_moving = num_fixed = num_entering = num_entering_rows = 0;
  digest = 0;
  are_all = true;
}

void ca_places_forget(uint32_t memory) { memset(&hulls[memory], 0, sizeof hulls[memory]); }

uint64_t ca_places_digest(void) { return digest; }

static void widen(struct range *hull, uint64_t first, uint64_t end) {
  hull->first = hull->end && hull->first < first ? hull->first : first;
  hull->end = hull->end > end ? hull->end : end;
}

/* `is_moving` where addresses depend on what rounds load. */
CA_CALL void ca_rounds_range(uint64_t low, uint64_t high, uint32_t is_moving) {
  if (!ca_rounds.seen || (int64_t)high < (int64_t)low || num_ranges == MOST_RANGES)
    return; /* the compiler knows that there are no more */
  ranges[num_ranges++] = (struct range){low, high + 1};
  digest += ca_changes_in(low, high) * ca_multipliers[num_ranges];
  widen(is_moving ? &current->moving[num_moving++] : &current->fixed[num_fixed++], ca_word(low),
        ca_word(high) + 1);
}

/* A label that enters the loop: rounds do not rename it. */
CA_CALL void ca_rounds_entering(uint64_t label) {
  uint64_t number = label & (CA_ADDRESS_MASK >> 2);
  if (!ca_rounds.seen || !label || (label & ~CA_ROLES) == CA_NOTHING)
    return;
  are_all &= num_entering < MOST_ENTERING && num_entering_rows < MOST_ENTERING;
  if (!are_all)
    return;
  if (label & CA_REG)
    entering_rows[num_entering_rows++] = number;
  else
    widen(&current->entering[num_entering++], number, number + 1);
}

/* Whether a label that enters the loop is the value that this row defines, or descends from a register value of
 * its site: whether a new value of the site is carried depends on those that it made before. */
bool ca_places_entered(uint64_t row) {
  for (uint32_t i = 0; i < num_entering_rows; i++)
    if (entering_rows[i] == row)
      return true;
  const struct ca_head *head = ca_head_of(row);
  return (head->flags & CA_ROW_REGISTER) && entered[head->site] >> (current - hulls) & 1;
}

CA_CALL void ca_rounds_local(uint64_t address, uint64_t bytes) {
  if (!ca_rounds.seen || num_locals == MOST_LOCALS)
    return;
  locals[num_locals++] = (struct range){ca_word(address), ca_word(address + bytes + 3)};
  digest += address * ca_multipliers[MOST_RANGES + num_locals];
}

bool ca_places_are_local(uint64_t word) {
  for (uint32_t i = 0; i < num_locals; i++)
    if (word >= locals[i].first && word < locals[i].end)
      return true;
  return false;
}

/* Whether a label that enters the loop may descend from a lifetime of a word of the local arrays. */
static bool may_descend_from_locals(void) {
  const uint32_t *ancestors;
  uint32_t count = are_all ? ca_ancestors(num_entering_rows, entering_rows, &ancestors) : UINT32_MAX;
  for (uint32_t i = 0; count != UINT32_MAX && i < count; i++) {
    const struct ca_head *head = ca_head_of(ancestors[i]);
    if ((head->flags & CA_ROW_TEMPORARY) && ca_places_are_local(head->sink))
      return true;
    if (head->flags & CA_ROW_REGISTER)
      entered[head->site] |= 1ull << (current - hulls);
  }
  return count == UINT32_MAX;
}

/* Whether memory that rounds look at holds named values. */
static bool have_named(void) {
  uint64_t scanned = 0;
  for (uint32_t i = 0; i < num_ranges; i++) {
    scanned += ranges[i].end - ranges[i].first;
    if (scanned > MOST_SCANNED)
      return true;
    for (uint64_t word = ca_word(ranges[i].first); word < ca_word(ranges[i].end + 3); word++)
      if (*ca_shadow(word) & CA_REG)
        return true;
  }
  return false;
}

/* Whether what a round stores in its local arrays may have been computed from what another round left there. */
bool ca_places_may_carry(void) { return have_named() || may_descend_from_locals(); }

/* Whether all words hold values of their own. The digest of a page says so at once if it has no others. */
static bool are_own(const struct range *words) {
  const uint64_t *pages = (const uint64_t *)CA_CHANGES_BASE, per_page = (1u << CA_CHANGES_PAGE) / 4;
  for (uint64_t word = words->first, next; word < words->end; word = next) {
    next = (word / per_page + 1) * per_page;
    for (; pages[word / per_page] && word < next && word < words->end; word++)
      if (*ca_shadow(word))
        return false;
  }
  return true;
}

static bool are_apart(const struct range *range, const struct range *others, uint32_t count) {
  for (uint32_t k = 0; k < count; k++)
    if (range->first < others[k].end && others[k].first < range->end)
      return false;
  return true;
}

/* Whether rounds of this run may be renamed: all words hold values of their own, and the two kinds are apart.
 */
bool ca_places_are_apart(void) {
  bool result = are_all;
  for (uint32_t k = 0; result && k < num_fixed; k++)
    result = are_own(&current->fixed[k]);
  for (uint32_t i = 0; result && i < num_moving; i++) {
    const struct range *moving = &current->moving[i];
    result = are_own(moving) && are_apart(moving, current->fixed, num_fixed) &&
             are_apart(moving, current->entering, num_entering);
  }
  return result;
}
