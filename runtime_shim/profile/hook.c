/* The hook of profile runs: linked as bitcode and inlined wherever a segment begins. */
#include <stdint.h>

extern uint64_t *ca_profile_next;
extern uint64_t *ca_profile_limit; /* the longest segment still fits behind it */

uint64_t *ca_profile_flush(void);

/* Room for the words of a segment: its number is written, the others are up to the caller. */
__attribute__((always_inline)) uint64_t *ca_profile_segment(uint64_t number, uint64_t words) {
  uint64_t *place = ca_profile_next;
  if (__builtin_expect(place > ca_profile_limit, 0))
    place = ca_profile_flush();
  ca_profile_next = place + words;
  *place = number;
  return place;
}
