/* Memory of the program: its names (extents), whole ranges of words (fills, copies). */
#include "state.h"
#include <string.h>

void ca_add_extent(uint32_t kind, uint32_t object, uint64_t start, uint64_t size, uint64_t offset,
                   uint64_t depth) {
  struct ca_extent *extent = ca_column_push(&ca_extents, sizeof *extent);
  if (!extent)
    return;
  *extent = (struct ca_extent){start, size, offset, object, kind, depth};
  if (ca_workspace.exists)
    ca_workspace_extent(extent);
}

static uint64_t arena_next = CA_ARENA_BASE;

void *ca_arena_take(uint64_t bytes, uint64_t alignment) {
  uint64_t start = (arena_next + alignment - 1) & ~(alignment - 1);
  if (bytes > CA_ARENA_BYTES || start + bytes > CA_ARENA_BASE + CA_ARENA_BYTES)
    return 0;
  arena_next = start + bytes;
  return (void *)start;
}

#define PAGE_WORDS (1ull << (CA_CHANGES_PAGE - CA_UNIT_BITS))
#define MOST_LITERALS (1ull << 16) /* words of a variable: the shadow of larger ones would cost more */

/* A page that held other values is empty: so is its digest. */
static void forget_page(uint64_t word, uint64_t *digest) {
  ((uint64_t *)CA_COARSE_BASE)[word >> (CA_COARSE_PAGE - CA_UNIT_BITS)] -= *digest;
  *digest = 0;
  memset(ca_shadow(word), 0, PAGE_WORDS * sizeof(uint64_t));
}

static void forget_words(uint64_t word, uint64_t words) {
  const uint64_t *state = ca_shadow(word);
  for (uint64_t i = 0; i < words; i++)
    if (state[i])
      ca_set_state(word + i, ca_own_state(word + i));
}

/* The words hold values of their own from now on. */
void ca_forget_range(uint64_t address, uint64_t bytes) {
  uint64_t word = ca_word(address), end = word + ca_words(bytes);
  while (word < end) {
    uint64_t next = (word | (PAGE_WORDS - 1)) + 1;
    uint64_t words = (next < end ? next : end) - word;
    uint64_t *digest = (uint64_t *)CA_CHANGES_BASE + (word >> (CA_CHANGES_PAGE - CA_UNIT_BITS));
    if (*digest) { /* otherwise they do */
      if (words == PAGE_WORDS && !ca_state.num_kept && !ca_has_workspace_in(word, words))
        forget_page(word, digest);
      else
        forget_words(word, words);
    }
    word += words;
  }
}

/* A variable that nothing may be stored to holds literals, which are no sources: all of them are copies of its first
 * word, so that what is computed from one or another of them is the same chain. */
void ca_name_literals(void) {
  for (uint64_t i = 0; i < ca_num_globals; i++) {
    uint64_t word = ca_word((uint64_t)ca_globals[i].start), words = ca_words(ca_globals[i].size);
    if (ca_globals[i].object >> 32 && words > 1 && words <= MOST_LITERALS)
      ca_set_states(word + 1, words - 1, ca_current(word));
  }
}

/* All values that were copied become values of their place; in workspaces, which are no places, they stay. */
CA_SLOW void ca_own_copies(void) {
  const uint64_t *digests = (const uint64_t *)CA_COARSE_BASE, most = PAGE_WORDS << (CA_COARSE_PAGE - CA_CHANGES_PAGE);
  for (uint64_t first = 0; first < CA_WORD_MASK; first += most)
    for (uint64_t page = first; digests[first / most] && page < first + most; page += PAGE_WORDS)
      for (uint64_t word = page; !ca_page_is_own(page) && word < page + PAGE_WORDS; word++)
        if (*ca_shadow(word) && !ca_own_state(word))
          ca_set_state(word, 0);
  ca_name_literals();
}

static void fill(uint32_t site, uint64_t address, uint64_t bytes, uint32_t flags) {
  ca_fill_row(site, ca_word(address), ca_word(address + bytes - 1) - ca_word(address) + 1, flags);
  ca_forget_range(address, bytes);
}

/* memset and the like: a range of words becomes constant. */
CA_CALL void ca_fill(uint32_t site, uint64_t address, uint64_t bytes) {
  if (bytes)
    fill(site, address, bytes, CA_ROW_FILL);
}

/* Written by the outside world (input functions): new values without sources. */
CA_CALL void ca_input(uint32_t site, uint64_t address, uint64_t bytes) {
  if (address && bytes && bytes <= CA_ARENA_BYTES) /* otherwise the call itself refused the size */
    fill(site, address, bytes, CA_ROW_FILL | CA_ROW_INPUT);
}

/* Replication word by word, in the direction that memmove would take; named values stay what they are. */
void ca_move_words(uint64_t to, uint64_t from, uint64_t bytes) {
  uint64_t skipped = ca_within(-to); /* whole words only */
  uint64_t target = ca_word(to + skipped), source = ca_word(from + skipped);
  uint64_t words = bytes > skipped ? (bytes - skipped) / CA_WORD_BYTES : 0;
  if (target <= source)
    for (uint64_t i = 0; i < words; i++)
      ca_replicate(target + i, ca_value_at(source + i));
  else
    for (uint64_t i = words; i-- > 0;)
      ca_replicate(target + i, ca_value_at(source + i));
}
