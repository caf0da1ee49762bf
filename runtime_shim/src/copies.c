/* To how many places the values of a word are copied.
 *
 * A value that is copied keeps its home. If the home is used again for another value meanwhile, the copy outlives
 * it: a line of a scratch buffer is copied into one row of an array after the other. Places that gather values of
 * many words (a local copy of what an element needs) do not count: they are used again themselves. Values of a few
 * words come to an element that is updated along one direction after the other.
 */
#include "state.h"

#define FEW 3 /* directions of a grid; fewer than what a workspace holds in turn (FACTOR in workspaces.py) */

/* A word whose values were copied, or that values were copied to. */
struct copied {
  uint64_t home;
  uint32_t places;       /* its values were copied to so many */
  uint32_t origins[FEW]; /* numbers of the words that its values were copied from, 0 for none */
};

#define MANY UINT32_MAX /* in place of the first origin, for good: there are more than FEW */

struct ca_column ca_copies;    /* of these, until they are compacted */
static struct copied *entries; /* the first is of no word */
static uint32_t *number_of;    /* by word, 0 for none */

bool ca_copies_reserve(void) {
  number_of = ca_map((CA_WORD_MASK + 1) * sizeof *number_of);
  bool is_reserved = number_of && ca_section_reserve(&ca_copies, 1ull << 36);
  entries = is_reserved ? ca_column_push(&ca_copies, sizeof *entries) : NULL;
  return entries;
}

static uint32_t entry_of(uint64_t word) {
  uint64_t count = ca_copies.bytes / sizeof *entries;
  if (!number_of[word] && count < MANY && ca_column_push(&ca_copies, sizeof *entries)) {
    entries[count] = (struct copied){.home = word};
    number_of[word] = (uint32_t)count;
  }
  return number_of[word];
}

void ca_note_copy(uint64_t home, uint64_t word) {
  uint32_t *origins = entries[entry_of(word)].origins, origin = entry_of(home), i = 0;
  while (i < FEW && origins[i] && origins[i] != origin)
    i++;
  if (i < FEW)
    origins[i] = origin;
  else
    origins[0] = MANY;
}

/* Counts places, and forgets words that were copied to one at most: most of them, and nobody asks for them. */
void ca_copies_compact(void) {
  uint64_t count = ca_copies.bytes / sizeof *entries, kept = 0;
  for (uint64_t i = 1; i < count; i++)
    for (int k = 0; k < FEW && entries[i].origins[0] != MANY; k++)
      entries[entries[i].origins[k]].places++;
  for (uint64_t i = 1; i < count; i++) {
    const struct copied entry = entries[i];
    if (entry.places > 1)
      ((struct ca_copy *)entries)[kept++] = (struct ca_copy){entry.home, entry.places};
  }
  ca_copies.bytes = kept * sizeof(struct ca_copy);
}
