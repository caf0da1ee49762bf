/* What precompiled library functions do to values; called behind the call unless said otherwise. */
#include "state.h"
#include <string.h>

#define MAX_JOINED 48u

/* Bytes of the text at `address` with its zero byte, at most `limit`. */
CA_CALL uint64_t ca_string_bytes(uint64_t address, uint64_t limit) {
  if (!address || !limit)
    return 0;
  uint64_t length = strnlen((const char *)address, limit);
  return length < limit ? length + 1 : limit;
}

/* Sources of a result that is computed from a range of memory: joined in pieces when there are many. */
CA_CALL uint64_t ca_gather(uint32_t site, uint64_t address, uint64_t bytes, uint32_t width) {
  uint64_t labels[MAX_JOINED];
  uint32_t count = 0;
  for (uint64_t offset = 0; offset < bytes; offset += width) {
    if (count == MAX_JOINED) {
      labels[0] = ca_join(site, count, labels);
      count = 1;
    }
    labels[count++] = ca_value_at(ca_word(address + offset));
  }
  return ca_join(site, count, labels);
}

static void store(uint32_t site, uint64_t address, uint32_t width, uint64_t label) {
  uint32_t words = (uint32_t)ca_words(width);
  if (label)
    ca_row_1(site, address, words, label & ~CA_EXACT);
  else
    ca_row_0(site, address, words);
}

/* New values with one source each (0: none) in a range of memory. */
CA_CALL void ca_scatter(uint32_t site, uint64_t address, uint64_t bytes, uint32_t width, uint64_t label) {
  if (!address)
    return;
  for (uint64_t offset = 0; offset < bytes; offset += width)
    store(site, address + offset, width, label);
}

/* Text that shows a value refers to it, as a copy would. */
CA_CALL void ca_show(uint64_t address, uint64_t bytes, uint64_t label) {
  if (!address || !bytes)
    return;
  ca_forget_range(address, bytes + ca_within(address));
  label &= ~(CA_EXACT | CA_ROLES);
  if (label)
    for (uint64_t word = ca_word(address); word <= ca_word(address + bytes - 1); word++)
      ca_replicate(word, label);
}

/* Value that a text shows, 0 if it was not made from a value of the program. */
CA_CALL uint64_t ca_shown(uint64_t address, uint64_t bytes) {
  if (!address || !bytes)
    return 0;
  for (uint64_t word = ca_word(address); word <= ca_word(address + bytes - 1); word++)
    if (*ca_shadow(word))
      return *ca_shadow(word);
  return 0;
}

/* strcpy: as memcpy, but characters between differently aligned places are no loss worth a warning. */
CA_CALL void ca_copy_string(uint32_t site, uint64_t to, uint64_t from) {
  uint64_t bytes = ca_string_bytes(from, UINT64_MAX);
  if (ca_within(to - from))
    ca_show(to, bytes, ca_shown(from, bytes));
  else
    ca_copy_words(site, to, from, bytes);
}

/* ---- scanf ---------------------------------------------------------------------------------------------- */

struct conversion {
  char kind;
  uint32_t width; /* bytes of the number, 0 for characters */
  bool is_assigned;
};

static uint32_t integer_width(const char *length) {
  if (*length == 'h')
    return length[1] == 'h' ? 1 : 2;
  return *length && strchr("lLjztq", *length) ? 8 : 4;
}

/* Read the conversion behind a '%'; returns what follows it. */
static const char *read_conversion(const char *text, struct conversion *found) {
  found->is_assigned = *text != '*';
  text += !found->is_assigned;
  text += strspn(text, "0123456789");
  const char *length = text;
  text += strspn(text, "hlLjztqm");
  found->kind = *text;
  if (!*text)
    return text;
  found->width = 0;
  if (strchr("diouxXn", *text))
    found->width = integer_width(length);
  else if (strchr("eEfFgGaA", *text))
    found->width = *length == 'l' ? 8 : *length == 'L' ? 16 : 4;
  else if (*text == 'p' || memchr(length, 'm', (size_t)(text - length)))
    found->width = 8;
  if (*text == '[') {
    text += 1 + (text[1] == '^');
    text += *text == ']';
    text += strcspn(text, "]");
  }
  return *text ? text + 1 : text;
}

/* What scanf assigned: numbers with the value that the text showed (0: input from outside) as source. The
 * sites `site`, `site` + 1 and `site` + 2 make values of 4, 8 and 16 bytes. */
CA_CALL void ca_scanned(uint32_t site, uint64_t label, const char *format, int assigned, uint32_t count,
                        const uint64_t *addresses) {
  uint32_t used = 0;
  while (*format && assigned > 0 && used < count) {
    if (*format++ != '%')
      continue;
    if (*format == '%') {
      format++;
      continue;
    }
    struct conversion found;
    format = read_conversion(format, &found);
    if (!found.is_assigned)
      continue;
    uint64_t address = addresses[used++];
    assigned -= found.kind != 'n';
    if (!found.width)
      ca_show(address, found.kind == 'c' ? 1 : ca_string_bytes(address, UINT64_MAX), label);
    else if (label)
      store(site + found.width / 8, address, found.width, label);
    else
      ca_input(site + found.width / 8, address, found.width);
  }
}
