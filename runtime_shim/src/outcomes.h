/* What loops do to the shadow. Shared by repeats.c and outcomes.c only. */
#ifndef CA_OUTCOMES_H
#define CA_OUTCOMES_H

#include "state.h"
#include <string.h>

#pragma GCC visibility push(hidden)
bool ca_outcomes_reserve(void);
uint64_t ca_outcomes_bytes(void);
uint64_t ca_changes_noted(void);
void ca_changes_forget(void);
uint64_t ca_recording_since(void); /* the change from which on the innermost recorded loop wants to know */
bool ca_outcomes_push(uint64_t since, uint64_t most, struct ca_repeat *repeat);
#pragma GCC visibility pop

#endif
