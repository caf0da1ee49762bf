/* Hooks called by instrumented code. All are inlined; their cold parts are in rows.c and lifetimes.c. */
#include "contexts.h"
#include "state.h"

/* Labels of scalar arguments and of the return value on their way through a call. */
uint64_t ca_arguments[64];
uint64_t ca_result;
/* Further scalars of vectors and aggregates, and second words of 64-bit integers: 8 parts of 2 words each. */
uint64_t ca_argument_parts[64 * 16];
uint64_t ca_result_parts[16];

CA_HOOK uint64_t ca_load(uint64_t address) { return ca_value_at(ca_word(address)); }

/* Label of the second word of an 8-byte integer: 0 when both words hold one value. */
CA_HOOK uint64_t ca_load_high(uint64_t address) { return ca_value_at(ca_word(address) + CA_HALF); }

CA_HOOK uint64_t ca_control(uint64_t label) {
  return label ? (label & ~(CA_EXACT | CA_ADDRESS)) | CA_CONTROL : 0;
}

CA_HOOK uint64_t ca_address(uint64_t label) {
  return label ? (label & ~(CA_EXACT | CA_CONTROL)) | CA_ADDRESS : 0;
}

CA_INLINE void row(uint32_t site, uint64_t sink, uint32_t count, const uint64_t *labels) {
  ca_order_labels(count, labels);
  uint64_t hash = ca_hash_chain(site, sink, count, labels);
  if (ca_predicted(hash))
    return;
  uint64_t copy[64]; /* a copy, so that the labels themselves stay in registers */
  for (uint32_t i = 0; i < count; i++)
    copy[i] = labels[i];
  ca_row_miss(hash, site, sink, count, copy);
}

CA_INLINE uint64_t named(uint32_t site, uint32_t count, const uint64_t *labels) {
  ca_order_labels(count, labels);
  uint64_t hash = ca_hash_chain(site, 0, count, labels);
  if (ca_predicted(hash))
    return CA_REG | ca_last_row();
  uint64_t copy[64];
  for (uint32_t i = 0; i < count; i++)
    copy[i] = labels[i];
  return ca_register_miss(hash, site, count, copy);
}

/* Whether all words hold values of their own: one branch for the value; pages of programs that never replicate
 * stay unwritten. */
CA_INLINE bool are_own(uint64_t word, uint32_t words) {
  const uint64_t *state = ca_shadow(word);
  uint64_t any = 0;
  if (CA_LIKELY(ca_page_is_own(word) && (words < 2 || ca_page_is_own(word + words - 1))))
    return true;
  for (uint32_t i = 0; i < words; i++)
    any |= state[i];
  return CA_LIKELY(!any);
}

CA_INLINE void own_words(uint64_t word, uint32_t words) {
  if (!are_own(word, words))
    for (uint32_t i = 0; i < words; i++)
      ca_set_state(word + i, ca_own_state(word + i));
}

/* A store over replicated values, or to a workspace; the latter is done when true is returned. */
CA_INLINE bool stored_over(uint32_t site, uint64_t word, uint32_t words, uint32_t count,
                           const uint64_t *labels) {
  uint64_t copy[64];
  for (uint32_t i = 0; i < count; i++)
    copy[i] = labels[i];
  return ca_store_over(site, word, words, count, copy);
}

/* ca_row_N(site, address, words, labels...): a store of a new value covering `words` words. */
#define CA_DEFINE_ROW(N, PARAMETERS, ...)                                                                      \
  CA_HOOK void ca_row_##N(uint32_t site, uint64_t address, uint32_t words PARAMETERS) {                        \
    const uint64_t labels[] = {__VA_ARGS__};                                                                   \
    uint64_t sink = ca_word(address);                                                                          \
    if (are_own(sink, words) || !stored_over(site, sink, words, N, labels)) {                                  \
      row(site, sink, N, labels);                                                                              \
      ca_order_stored(sink, words);                                                                            \
    }                                                                                                          \
  }                                                                                                            \
  CA_HOOK uint64_t ca_register_##N(uint32_t site PARAMETERS) {                                                 \
    const uint64_t labels[] = {__VA_ARGS__};                                                                   \
    return named(site, N, labels);                                                                             \
  }

#define P(i) , uint64_t l##i
CA_DEFINE_ROW(0, , 0)
CA_DEFINE_ROW(1, P(0), l0)
CA_DEFINE_ROW(2, P(0) P(1), l0, l1)
CA_DEFINE_ROW(3, P(0) P(1) P(2), l0, l1, l2)
CA_DEFINE_ROW(4, P(0) P(1) P(2) P(3), l0, l1, l2, l3)
CA_DEFINE_ROW(5, P(0) P(1) P(2) P(3) P(4), l0, l1, l2, l3, l4)
CA_DEFINE_ROW(6, P(0) P(1) P(2) P(3) P(4) P(5), l0, l1, l2, l3, l4, l5)
CA_DEFINE_ROW(7, P(0) P(1) P(2) P(3) P(4) P(5) P(6), l0, l1, l2, l3, l4, l5, l6)
CA_DEFINE_ROW(8, P(0) P(1) P(2) P(3) P(4) P(5) P(6) P(7), l0, l1, l2, l3, l4, l5, l6, l7)

/* Chains with more than eight labels pass them in memory. */
CA_HOOK void ca_row_many(uint32_t site, uint64_t address, uint32_t words, uint32_t count,
                         const uint64_t *labels) {
  uint64_t sink = ca_word(address);
  if (!are_own(sink, words) && stored_over(site, sink, words, count, labels))
    return;
  ca_order_labels(count, labels);
  uint64_t hash = ca_hash_chain(site, sink, count, labels);
  if (!ca_predicted(hash))
    ca_row_miss(hash, site, sink, count, labels);
  ca_order_stored(sink, words);
}

CA_HOOK uint64_t ca_register_many(uint32_t site, uint32_t count, const uint64_t *labels) {
  ca_order_labels(count, labels);
  uint64_t hash = ca_hash_chain(site, 0, count, labels);
  if (ca_predicted(hash))
    return CA_REG | ca_last_row();
  return ca_register_miss(hash, site, count, labels);
}

/* One label for several: the only one there is, or a register value defined by them (Section 2 of the
 * README's semantics: a scalar with several sources is a value of its own). */
CA_CALL uint64_t ca_join(uint32_t site, uint32_t count, const uint64_t *labels) {
  uint64_t compact[64];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t label = labels[i];
    if (!label || (label & ~CA_ROLES) == CA_NOTHING)
      continue;
    bool seen = false;
    for (uint32_t k = 0; k < kept; k++)
      if ((ca_name(compact[k] ^ label) & ~(CA_EXACT | CA_ROLES)) == 0) {
        /* same value twice: data beats control beats address */
        uint64_t roles = compact[k] & label & CA_ROLES;
        if (!roles && (compact[k] & CA_ROLES) && (label & CA_ROLES))
          roles = CA_CONTROL;
        compact[k] = (compact[k] & ~(CA_ROLES | CA_EXACT)) | roles;
        seen = true;
      }
    if (!seen)
      compact[kept++] = label;
  }
  if (kept == 0)
    return 0;
  if (kept == 1)
    return compact[0];
  for (uint32_t k = 0; k < kept; k++)
    compact[k] &= ~CA_EXACT;
  return ca_register_many(site, kept, compact);
}

/* Stores that only replicate. A named value is copied inside workspaces; elsewhere it becomes a version. */
CA_INLINE void copy(uint32_t site, uint64_t word, uint32_t words, uint64_t label) {
  if (CA_LIKELY(!(label & CA_REG))) {
    ca_replicate_words(word, words, label);
  } else {
    const uint64_t labels[] = {label, label, label, label};
    ca_copy_named(site, word, words, labels);
  }
}

CA_HOOK void ca_copy_4(uint32_t site, uint64_t address, uint64_t low) { copy(site, ca_word(address), CA_HALF, low); }

/* The same for fewer bytes, where these are words. */
CA_HOOK void ca_copy_part(uint32_t site, uint64_t address, uint32_t words, uint64_t label) {
  copy(site, ca_word(address), words, label);
}

CA_HOOK void ca_copy_8(uint32_t site, uint64_t address, uint64_t low, uint64_t high) {
  uint64_t word = ca_word(address), labels[2 * CA_HALF], differs = 0;
  for (uint32_t k = 0; k < 2 * CA_HALF; k++)
    labels[k] = k < CA_HALF ? ca_behind(low, k) : ca_behind(high, k - CA_HALF);
  if (!CA_LIKELY(!((low | high) & CA_REG))) {
    if (low == high)
      ca_note_width(low, 2 * CA_HALF);
    ca_copy_named(site, word, 2 * CA_HALF, labels);
    return;
  }
  for (uint32_t k = 0; k < 2 * CA_HALF; k++) {
    labels[k] = ca_copied_state(word + k, labels[k]);
    differs |= ca_shadow(word)[k] ^ labels[k];
  }
  if (differs) {
    if (labels[0] && !ca_workspace.exists)
      ca_note_copy(low & CA_WORD_MASK, word);
    for (uint32_t k = 0; k < 2 * CA_HALF; k++)
      ca_set_state(word + k, labels[k]);
  }
}

/* The same for a register of which one label is known. */
CA_HOOK void ca_copy_value(uint32_t site, uint64_t address, uint64_t label) {
  ca_copy_8(site, address, label, ca_behind(label, CA_HALF));
}

/* Store of a register of which only the first label knows whether it is an exact copy. */
CA_HOOK void ca_store_unknown(uint32_t site, uint64_t address, uint32_t words, uint32_t count,
                              const uint64_t *labels) {
  if (!(labels[0] & CA_EXACT)) {
    ca_row_many(site, address, words, count, labels);
    return;
  }
  uint64_t value = labels[0] & ~CA_EXACT;
  if (words == 2 * CA_HALF && (labels[0] & CA_EXACT_8)) {
    ca_copy_value(site, address, value);
    return;
  }
  bool is_small = CA_HALF > 1 && (labels[0] & CA_EXACT_SMALL);
  uint32_t copied = !is_small ? CA_HALF : labels[0] & CA_EXACT_4 ? 2 : 1;
  ca_copy_part(site, address, words < copied ? words : copied, value);
  if (words > copied)
    own_words(ca_word(address) + copied, words - copied);
}

/* A 64-bit integer that came through a call is one value, or two words with labels of their own. */
CA_HOOK uint64_t ca_lower(uint64_t low) { return (low & CA_EXACT_8) ? (low & ~CA_EXACT) | CA_EXACT_4 : low; }

CA_HOOK uint64_t ca_upper(uint64_t low, uint64_t high) {
  if (high)
    return high;
  if (low & CA_EXACT_8) /* a register value is one label for both words */
    return ((low & ~CA_EXACT) + (low & CA_REG ? 0 : CA_HALF)) | CA_EXACT_4;
  return (low & CA_EXACT) ? 0 : low; /* a widened word has no upper half */
}

CA_HOOK void ca_store_pair(uint32_t site, uint64_t address, uint64_t low, uint64_t high) {
  if (!high) {
    ca_store_unknown(site, address, 2 * CA_HALF, 1, &low);
    return;
  }
  ca_store_unknown(site, address, CA_HALF, low != 0, &low);
  ca_store_unknown(site, address + 4, CA_HALF, 1, &high);
}

/* A lane of a masked store. */
CA_CALL void ca_store_if(uint32_t active, uint32_t site, uint64_t address, uint32_t words, uint32_t count,
                         const uint64_t *labels) {
  if (!active)
    return;
  if (count)
    ca_store_unknown(site, address, words, count, labels);
  else
    ca_row_0(site, address, words);
}

/* A pointer was stored: not a value; the words no longer hold a replicated one. */
CA_HOOK void ca_forget(uint64_t address, uint32_t words) { own_words(ca_word(address), words); }

CA_HOOK void ca_count_block(uint32_t block) { ca_block_counters[block] += CA_IS_ACTIVE; }

CA_HOOK void ca_count_blocks(uint32_t block, uint64_t times) { ca_block_counters[block] += times * CA_IS_ACTIVE; }

CA_HOOK void ca_count_external(uint32_t function) { ca_external_calls[function]++; }

/* Regions: calls of the named functions and what lies between the named marks, nested ones included. When the first
 * one begins, the log and the shadow do, too: rows are in the order of the region, and what it finds in memory is an
 * input of the place where it is, whoever that was copied from. What is copied between its executions is not: such a
 * value may be one that it made. */
static uint64_t region_depth;
CA_CALL void ca_region_enter(void) {
  if (!region_depth++ && !ca_statistics.region_entries++) {
    ca_repeats_forget();
    ca_rows_forget();
    ca_own_copies();
  }
  ca_active = 1;
}
CA_CALL void ca_region_leave(void) {
  if (region_depth && --region_depth == 0)
    ca_active = CA_OUTSIDE;
}

/* The path of a call in a function that was reached by an outer one. */
CA_HOOK uint32_t ca_nested(uint32_t outer, uint32_t call) {
  if (CA_LIKELY(ca_nested_known != 0)) {
    const struct ca_nested_path *known = ca_nested_entry(outer, call);
    if (CA_LIKELY(known->outer == outer && known->number))
      return known->number - 1;
  }
  return ca_nested_anew(outer, call);
}
