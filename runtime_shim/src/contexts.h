/* Paths of allocations that were asked for last (contexts.c). */
#ifndef CONTEXTS_H
#define CONTEXTS_H

#include "state.h"

#define CA_NESTED_WAYS 8u /* outer paths per call: allocators are reached by a few in turn */

struct ca_nested_path {
  uint32_t outer;
  uint32_t number; /* of the path + 1, 0 for none */
};

#pragma GCC visibility push(hidden)
extern struct ca_nested_path *ca_nested_known;
extern struct ca_context *ca_contexts;
extern uint64_t ca_num_contexts;
uint32_t ca_nested_anew(uint32_t outer, uint32_t call);
#pragma GCC visibility pop

CA_INLINE struct ca_nested_path *ca_nested_entry(uint32_t outer, uint32_t call) {
  return &ca_nested_known[call * CA_NESTED_WAYS + outer % CA_NESTED_WAYS];
}

#endif
