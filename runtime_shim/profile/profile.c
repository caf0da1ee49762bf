/* Reads the plan when the program starts, the buffer whenever it is full, and writes what was measured at the end.
 *
 * Environment: COMMANALYZER_PROFILE_PLAN (file to read), COMMANALYZER_PROFILE (file to write).
 */
#include "profile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FAILED 113
#define BURST_EVERY 16 /* buffers, of a long run */
#define SHORTEST_LINE 8 /* instructions */

uint32_t ca_profile_segments[SEGMENTS], *ca_profile_next = ca_profile_segments;
uint64_t ca_profile_words[WORDS + LONGEST], *ca_profile_word = ca_profile_words;

struct plan ca_plan;

static uint64_t *executed; /* by segment */
static uint64_t *repeated; /* executions right behind one of the same segment */
static uint64_t outcomes[1u << (HISTORY + 1)];
static uint64_t branches, history;
static uint8_t first_outcomes[HISTORY];
static int32_t pending_branch = NONE; /* the segment before ended with a branch that leads here if taken */
static struct reuse *data[LINE_SIZES], *code[LINE_SIZES];
static int32_t before = NONE; /* the segment before */
static uint64_t *touched, touched_lines[LINE_SIZES], touched_bytes;
static pid_t owner;

void ca_profile_fail(const char *what) {
  fprintf(stderr, "commanalyzer: the profile run found no %s\n", what);
  _exit(FAILED);
}

void ca_profile_put(void *stream, const void *bytes, uint64_t size) {
  if (size && fwrite(bytes, 1, size, stream) != size)
    ca_profile_fail("room for its results");
}

void *ca_profile_map(uint64_t bytes) {
  void *found = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED)
    ca_profile_fail("address space");
  return found;
}

static void branch_to(int32_t segment) {
  uint64_t outcome = segment == pending_branch;
  if (branches < HISTORY)
    first_outcomes[branches] = (uint8_t)outcome;
  branches++;
  history = history << 1 | outcome;
  if (branches > HISTORY)
    outcomes[history & ((1u << (HISTORY + 1)) - 1)]++;
}

/* The lines of a segment that is executed, `times` more if it has just been executed before. */
static void code_lines(const struct segment *s, uint64_t times) {
  uint64_t bytes = (uint64_t)ca_plan.instruction_bytes, first = (uint64_t)s->first_address * bytes;
  uint64_t size = (uint64_t)s->size * bytes;
  for (int i = 0; i < LINE_SIZES; i++) {
    unsigned bits = 6 + (unsigned)i;
    uint64_t lines = ((first + size - 1) >> bits) - (first >> bits) + 1;
    if (times)
      ca_reuse_repeat(code[i], (unsigned)lines - 1, times * lines);
    else
      ca_reuse_access(code[i], first, size); /* once per line, then the other instructions of it */
    ca_reuse_repeat(code[i], 0, (times + !times) * ((uint64_t)s->size - lines));
  }
}

/* Bytes that are touched: a bit each, in words of 64. */
static void touch_bytes(uint64_t address, uint64_t bytes) {
  while (bytes) {
    uint64_t at = address & 63, count = bytes < 64 - at ? bytes : 64 - at;
    uint64_t *word = &touched[(address & ADDRESS_MASK) >> 6], mask = (~0ull >> (64 - count)) << at;
    if (mask & ~*word) {
      if (!*word) {
        touched_lines[0]++;
        touched_lines[1] += !touched[((address & ADDRESS_MASK) >> 6) ^ 1];
      }
      touched_bytes += (uint64_t)__builtin_popcountll(mask & ~*word);
      *word |= mask;
    }
    address += count;
    bytes -= count;
  }
}

/* Accesses: where lines are sampled, nearly all of them only have their lines hashed. */
static void read_accesses(const uint64_t *word, const uint64_t *end) {
  int is_all = ca_plan.is_exact || ca_is_burst;
  for (; word < end; word++) {
    uint64_t address = *word & ((1ull << ADDRESS_BITS) - 1), bytes = *word >> ADDRESS_BITS, at = address & 63;
    if (bytes - 1 < 64 - at) {
      uint64_t mask = (~0ull >> (64 - bytes)) << at;
      if (mask & ~touched[(address & ADDRESS_MASK) >> 6])
        touch_bytes(address, bytes);
    } else {
      bytes = bytes ? bytes : *++word;
      touch_bytes(address, bytes);
    }
    if (!is_all && bytes <= 64 - at) {
      uint64_t hash = address_hash(address);
      data[0]->accesses++;
      data[1]->accesses++;
      for (int i = 0; i < LINE_SIZES; i++)
        if (hash <= data[i]->limit)
          ca_reuse_sampled(data[i], address >> (6 + i));
      continue;
    }
    for (int i = 0; i < LINE_SIZES; i++)
      ca_reuse_access(data[i], address, bytes);
  }
}

/* What the execution of a segment says, whose words begin here; returns the word behind them. */
static const uint64_t *read_segment(int32_t number, const uint64_t *word) {
  const struct segment *s = &ca_plan.segment[number];
  executed[number]++;
  if (pending_branch != NONE)
    branch_to(number);
  pending_branch = s->end == END_BRANCH ? s->taken : NONE;
  if (number == before && s->size < LIST * SHORTEST_LINE)
    repeated[number]++;
  else if (s->size)
    code_lines(s, 0);
  before = number;
  if (ca_plan.has_parallelism)
    ca_parallelism_segment(s, word);
  return word + s->words;
}

void ca_profile_flush(void) {
  static uint64_t flushes, next_burst;
  uint64_t apart = flushes / BURST_EVERY < BURST_EVERY ? 1 + flushes / BURST_EVERY : BURST_EVERY;
  ca_is_burst = !ca_plan.is_exact && flushes++ == next_burst;
  const uint64_t *word = ca_profile_words;
  for (const uint32_t *number = ca_profile_segments; number < ca_profile_next; number++)
    word = read_segment((int32_t)*number, word);
  read_accesses(ca_profile_words, ca_profile_word);
  for (int i = 0; i < LINE_SIZES && ca_is_burst; i++)
    ca_reuse_end_burst(data[i], apart);
  next_burst += ca_is_burst ? apart : 0;
  ca_profile_next = ca_profile_segments;
  ca_profile_word = ca_profile_words;
}

static const void *section(const char **at, uint64_t bytes) {
  const void *found = *at;
  *at += (bytes + 7) & ~7ull;
  return found;
}

static void read_plan(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END))
    ca_profile_fail("plan");
  long size = ftell(file);
  rewind(file);
  char *content = malloc((uint64_t)size);
  if (!content || fread(content, 1, (uint64_t)size, file) != (uint64_t)size)
    ca_profile_fail("plan");
  fclose(file);
  const char *at = content;
  struct plan *p = &ca_plan;
  memcpy(p, section(&at, 12 * 4), 12 * 4);
  p->segment = section(&at, (uint64_t)p->segments * sizeof *p->segment);
  p->instruction = section(&at, (uint64_t)p->instructions * sizeof *p->instruction);
  p->operand = section(&at, (uint64_t)p->operands * 4);
  p->function = section(&at, (uint64_t)p->functions * sizeof *p->function);
  p->window = section(&at, (uint64_t)p->windows * 4);
}

__attribute__((constructor(101))) static void start(void) {
  const char *path = getenv("COMMANALYZER_PROFILE_PLAN");
  owner = getpid();
  if (!path)
    ca_profile_fail("plan");
  read_plan(path);
  touched = ca_profile_map(ADDRESS_MASK / 8 + 1);
  repeated = calloc((uint64_t)ca_plan.segments + 1, 8);
  executed = calloc((uint64_t)ca_plan.segments + 1, 8);
  for (int i = 0; i < LINE_SIZES; i++) {
    data[i] = ca_reuse_new(6 + (unsigned)i, ca_plan.is_exact);
    code[i] = ca_reuse_new(6 + (unsigned)i, 1);
  }
  if (ca_plan.has_parallelism)
    ca_parallelism_start();
}

__attribute__((destructor(101))) static void finish(void) {
  const char *path = getenv("COMMANALYZER_PROFILE");
  if (!path || getpid() != owner)
    return; /* children that were forked have the same buffer */
  ca_profile_flush();
  for (int32_t i = 0; i < ca_plan.segments; i++)
    if (repeated[i] && ca_plan.segment[i].size)
      code_lines(&ca_plan.segment[i], repeated[i]);
  FILE *file = fopen(path, "wb");
  if (!file)
    ca_profile_fail("place for its results");
  ca_profile_put(file, executed, (uint64_t)ca_plan.segments * 8);
  uint64_t facts[2] = {branches, 0};
  ca_profile_put(file, facts, sizeof facts);
  ca_profile_put(file, first_outcomes, sizeof first_outcomes);
  ca_profile_put(file, outcomes, sizeof outcomes);
  for (int i = 0; i < LINE_SIZES; i++) {
    ca_reuse_touched(data[i], touched_lines[i], touched_bytes);
    ca_reuse_write(data[i], file);
  }
  for (int i = 0; i < LINE_SIZES; i++)
    ca_reuse_write(code[i], file);
  if (ca_plan.has_parallelism)
    ca_parallelism_write(file);
  if (fclose(file))
    ca_profile_fail("room for its results");
}
