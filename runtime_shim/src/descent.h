/* Named values and what they were computed from: descent.c. */
#ifndef CA_DESCENT_H
#define CA_DESCENT_H

#include "state.h"

/* What a named value was computed from: named values only. */
struct ca_definition {
  uint32_t oldest; /* row of the oldest named ancestor or itself */
  uint32_t
      parents; /* 0 for none; place of its labels, if these are all; or of their number, before themselves */
};

#pragma GCC visibility push(hidden)
extern struct ca_definition *ca_definitions; /* by row */
bool ca_descent_reserve(void);
uint64_t ca_oldest_of(uint32_t count, const uint64_t *labels);
bool ca_descends(uint64_t ancestor, uint32_t count, const uint64_t *labels);
#pragma GCC visibility pop

CA_INLINE bool ca_is_named(uint64_t label) { return (label & CA_REG) && (label & ~CA_ROLES) != CA_NOTHING; }

CA_INLINE uint64_t ca_row_of(uint64_t label) { return label & UINT32_MAX; }

CA_INLINE const struct ca_head *ca_head_of(uint64_t row) { return (const struct ca_head *)ca_heads.data + row; }

#endif
