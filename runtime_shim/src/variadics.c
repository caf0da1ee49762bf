/* Variadic arguments (System V x86-64). The caller describes them; va_start writes their labels to the shadow
 * of the places where va_arg will read. */
#include "state.h"
#include <string.h>

#define CA_VARIADIC_GENERAL 0u /* integers and pointers */
#define CA_VARIADIC_FLOATING 1u
#define CA_VARIADIC_MEMORY 2u
#define CA_VARIADIC_COPIED 3u /* a structure: `low` is the address of the original */
#define MAX_VARIADIC 64u

struct variadic {
  uint32_t kind;
  uint32_t bytes;
  uint64_t low;
  uint64_t high;
};

struct ca_variadics {
  uint64_t count;
  struct variadic items[MAX_VARIADIC];
};

static struct ca_variadics passed;

CA_CALL void ca_pass_variadics(uint32_t count) { passed.count = count < MAX_VARIADIC ? count : MAX_VARIADIC; }

/* One argument. What is no copy of a value in memory is a register value of its own, sources or none. */
CA_CALL void ca_pass_variadic(uint32_t index, uint32_t kind, uint32_t bytes, uint32_t site, uint64_t low,
                              uint64_t high) {
  if (index >= MAX_VARIADIC)
    return;
  if (kind != CA_VARIADIC_COPIED) {
    low &= low & CA_EXACT_SMALL ? ~CA_EXACT : UINT64_MAX; /* promoted */
    if (!high && !(low & CA_EXACT))
      low = low & CA_REG ? low : ca_register_many(site, low != 0, &low);
    if (!high)
      high = (low & CA_EXACT_8) && !(low & CA_REG) ? low + CA_HALF : low & CA_REG ? low : 0;
    low &= ~CA_EXACT;
    high &= ~CA_EXACT;
  }
  passed.items[index] = (struct variadic){kind, bytes, low, high};
}

/* At the start of the callee, before other calls use the same place. */
CA_CALL void ca_take_variadics(struct ca_variadics *to) {
  to->count = passed.count;
  memcpy(to->items, passed.items, passed.count * sizeof *to->items);
  passed.count = 0;
}

/* What `va_list` looks like. */
struct list {
  uint32_t general_offset;
  uint32_t floating_offset;
  uint64_t overflow;
  uint64_t registers;
};

static uint64_t aligned(uint64_t address, uint64_t alignment) {
  return (address + alignment - 1) & ~(alignment - 1);
}

static uint64_t place_of(const struct variadic *item, struct list *list) {
  uint32_t *offset = item->kind == CA_VARIADIC_GENERAL ? &list->general_offset : &list->floating_offset;
  uint32_t limit = item->kind == CA_VARIADIC_GENERAL ? 48 : 176;
  uint32_t step = item->kind == CA_VARIADIC_GENERAL ? (item->bytes + 7) & ~7u : 16;
  if (item->kind < CA_VARIADIC_MEMORY && *offset + step <= limit) {
    *offset += step;
    return list->registers + *offset - step;
  }
  uint64_t place =
      item->bytes == 16 && item->kind != CA_VARIADIC_COPIED ? aligned(list->overflow, 16) : list->overflow;
  list->overflow = place + ((item->bytes + 7) & ~7ull);
  return place;
}

CA_CALL void ca_va_start(const struct ca_variadics *from, const struct list *program_list) {
  struct list list = *program_list;
  for (uint64_t i = 0; i < from->count; i++) {
    const struct variadic *item = &from->items[i];
    uint64_t place = place_of(item, &list), word = ca_word(place);
    if (item->kind == CA_VARIADIC_COPIED) {
      ca_move_words(place, item->low, item->bytes);
      continue;
    }
    ca_replicate_words(word, CA_HALF, item->low);
    for (uint32_t k = CA_HALF; k < ca_words(item->bytes); k += CA_HALF)
      ca_replicate_words(word + k, CA_HALF, k == CA_HALF && item->high ? item->high : word + k);
  }
}
