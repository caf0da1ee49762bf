/* The hook of profile runs: linked as bitcode and inlined wherever a segment begins. */
#include "profile.h"

/* Room for the words of a segment, which are up to the caller. */
__attribute__((always_inline)) uint64_t *ca_profile_segment(uint64_t number, uint64_t words) {
  uint64_t *place = ca_profile_word;
  uint32_t *segment = ca_profile_next;
  if (__builtin_expect(segment == ca_profile_segments + SEGMENTS || (words && place > ca_profile_words + WORDS), 0)) {
    ca_profile_flush();
    place = ca_profile_words;
    segment = ca_profile_segments;
  }
  ca_profile_next = segment + 1;
  if (words)
    ca_profile_word = place + words;
  *segment = (uint32_t)number;
  return place;
}
