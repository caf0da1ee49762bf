/* To how many places the values of a word are copied.
 *
 * A value that is copied keeps its home. If the home is used again for another value meanwhile, the copy outlives
 * it: a line of a scratch buffer is copied into one row of an array after the other. Places that gather values of
 * several words (a local copy of what an element needs) do not count: they are used again themselves.
 */
#include "state.h"

#define GATHERS UINT32_MAX /* for good: the homes of what is copied there are not looked at any more */

/* What is known of a word: numbers of entries + 1, 0 for none. */
struct copied {
  uint32_t number; /* its own entry, if its values were copied */
  uint32_t origin; /* of the word that the first value copied to it came from; GATHERS if others came as well */
};

struct ca_column ca_copies;
static struct copied *words;

bool ca_copies_reserve(void) {
  words = ca_map((CA_ADDRESS_MASK + 1) / 4 * sizeof *words);
  return words && ca_section_reserve(&ca_copies, 1ull << 36);
}

static struct ca_copy *entry_of(uint32_t number) { return (struct ca_copy *)ca_copies.data + number - 1; }

static uint32_t number_of(uint64_t home) {
  if (!words[home].number && ca_copies.bytes / sizeof(struct ca_copy) + 1 < GATHERS) {
    struct ca_copy *entry = ca_column_push(&ca_copies, sizeof *entry);
    if (entry) {
      *entry = (struct ca_copy){home, 0};
      words[home].number = (uint32_t)(ca_copies.bytes / sizeof *entry);
    }
  }
  return words[home].number;
}

void ca_note_copy(uint64_t home, uint64_t word) {
  uint32_t origin = words[word].origin, number = origin == GATHERS ? 0 : number_of(home);
  if (!number || origin == number)
    return;
  if (origin)
    entry_of(origin)->places--;
  else
    entry_of(number)->places++;
  words[word].origin = origin ? GATHERS : number;
}

/* Forgets the words whose values were copied to one place at most: most of them, and nobody asks for them. */
void ca_copies_compact(void) {
  uint64_t count = ca_copies.bytes / sizeof(struct ca_copy), kept = 0;
  for (uint64_t i = 0; i < count; i++) {
    struct ca_copy *entry = entry_of((uint32_t)i + 1);
    if (entry->places > 1)
      *entry_of((uint32_t)++kept) = *entry;
  }
  ca_copies.bytes = kept * sizeof(struct ca_copy);
}
