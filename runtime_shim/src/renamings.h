/* Rounds that do what they did before, with other words: renamings.c. */
#ifndef CA_RENAMINGS_H
#define CA_RENAMINGS_H

#include "state.h"

#define CA_MOST_ROUNDS (1u << 24)
#define CA_MEMORIES 64u    /* loops whose rounds are known apart */
#define CA_MOST_MOVING 32u /* accesses of a round whose addresses depend on what it loaded */

/* How a round was recorded, and what it is now. */
struct ca_round_version {
  uint64_t hash; /* what the preview found out */
  uint64_t path; /* hash of its branches */
  uint32_t first;
  uint32_t base;     /* number in the trace + 1, when it was renamed */
  uint32_t renaming; /* + 1; 0: it is the version that was recorded */
  uint16_t count;    /* accesses; 0: it cannot be renamed */
  uint16_t room;
};

#pragma GCC visibility push(hidden)
bool ca_renamings_reserve(void);
uint64_t ca_renamings_bytes(void);
void ca_version_keep(struct ca_round_version *version, const struct ca_round *round);
void ca_version_forget(struct ca_round_version *version);
bool ca_version_count(const struct ca_round_version *version, uint64_t runs);
bool ca_version_rename(struct ca_round_version *version, const struct ca_round *round, uint64_t state,
                       const uint32_t *bounds, uint32_t num_bounds);
void ca_version_fetch(const struct ca_round_version *version, const struct ca_round *round, uint64_t state);
void ca_renamings_place(uint64_t round);
bool ca_renamings_allowed(void);

/* What rounds look at (places.c). */
bool ca_places_reserve(void);
void ca_places_begin(uint32_t memory);
void ca_places_forget(uint32_t memory);
uint64_t ca_places_digest(void);
bool ca_places_are_local(uint64_t word);
bool ca_places_may_carry(void);
bool ca_places_entered(uint64_t row);
bool ca_places_are_apart(void);
#pragma GCC visibility pop

#endif
