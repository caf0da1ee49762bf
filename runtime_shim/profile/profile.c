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
#define BURST_EVERY 32 /* buffers, of a long run */
#define STEPS 2048 /* that are known */

uint32_t ca_profile_segments[SEGMENTS], *ca_profile_next = ca_profile_segments;
uint64_t ca_profile_words[WORDS + LONGEST], *ca_profile_word = ca_profile_words;

struct plan ca_plan;

static uint64_t *executed; /* by segment */
static uint64_t outcomes[1u << (HISTORY + 1)];
static uint64_t branches, history;
static uint8_t first_outcomes[HISTORY];
static struct reuse *data[LINE_SIZES], *code[LINE_SIZES];
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

static void branch(uint64_t outcome) {
  if (branches < HISTORY)
    first_outcomes[branches] = (uint8_t)outcome;
  branches++;
  history = history << 1 | outcome;
  if (branches > HISTORY)
    outcomes[history & ((1u << (HISTORY + 1)) - 1)]++;
}

/* What executing a segment does to the code's lists, if all its lines are in them: distances depend on their order
 * alone. So most executions look up one that was the same, and count it. */
struct step {
  uint64_t before[LINE_SIZES], after[LINE_SIZES], arrivals, times;
  uint64_t counts[LINE_SIZES][LIST];
  struct step *next; /* what followed it last */
  int32_t number;
  int32_t taken; /* the segment that follows if its branch is taken; NONE without one */
};
static struct step steps[STEPS], first_step = {.taken = NONE}, *last = &first_step;

static void count_step(struct step *step) {
  if (!step->times)
    return;
  executed[step->number] += step->times;
  for (int i = 0; i < LINE_SIZES; i++)
    for (int k = 0; k < LIST; k++)
      code[i]->near[k] += step->times * step->counts[i][k];
  step->times = 0;
}

static int is_step(const struct step *step, int32_t number, uint64_t arrivals) {
  return step->number == number && step->before[0] == code[0]->top.order &&
         step->before[1] == code[1]->top.order && step->arrivals == arrivals;
}

static void run_segment(int32_t number) {
  uint64_t arrivals = code[0]->top.arrivals + code[1]->top.arrivals;
  struct step *step = last->next; /* most likely; looking it up would wait for the order that is only known then */
  if (last->taken != NONE)
    branch(last->taken == number);
  if (!step || !is_step(step, number, arrivals)) {
    uint64_t mix = (code[0]->top.order ^ code[1]->top.order << 1) + (uint64_t)number;
    step = &steps[mix * 0x9e3779b97f4a7c15ull >> 32 & (STEPS - 1)];
    last->next = step;
  }
  last = step;
  if (is_step(step, number, arrivals)) {
    step->times++;
    code[0]->top.order = step->after[0];
    code[1]->top.order = step->after[1];
    return;
  }
  const struct segment *s = &ca_plan.segment[number];
  count_step(step);
  executed[number]++;
  step->number = number;
  step->taken = s->end == END_BRANCH ? s->taken : NONE;
  step->arrivals = arrivals;
  uint64_t bytes = (uint64_t)ca_plan.instruction_bytes, first = (uint64_t)s->first_address * bytes;
  uint64_t size = (uint64_t)s->size * bytes;
  for (int i = 0; i < LINE_SIZES; i++) {
    unsigned bits = 6 + (unsigned)i;
    step->before[i] = code[i]->top.order;
    memcpy(step->counts[i], code[i]->near, sizeof step->counts[i]);
    ca_reuse_access(code[i], first, size); /* once per line, then the other instructions of it */
    if (size)
      code[i]->near[0] += (uint64_t)s->size - (((first + size - 1) >> bits) - (first >> bits) + 1);
    for (int k = 0; k < LIST; k++)
      step->counts[i][k] = code[i]->near[k] - step->counts[i][k];
    step->after[i] = code[i]->top.order;
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
  const uint64_t all = ~0ull, *bits = touched;
  const int is_all = ca_plan.is_exact || ca_is_burst;
  uint64_t passed = 0, small = is_all ? all : data[0]->limit, large = is_all ? all : data[1]->limit;
  for (; word < end; word++) {
    uint64_t address = *word & ((1ull << ADDRESS_BITS) - 1), bytes = *word >> ADDRESS_BITS, at = address & 63;
    int is_within = bytes - 1 < 64 - at;
    if (!is_within && !bytes)
      bytes = *++word;
    if (!is_within || (all >> (64 - bytes)) << at & ~bits[(address & ADDRESS_MASK) >> 6])
      touch_bytes(address, bytes);
    if (is_within & (line_hash(address >> 6) > small) & (line_hash(address >> 7) > large)) {
      passed++;
      continue;
    }
    for (int i = 0; i < LINE_SIZES; i++) {
      data[i]->accesses += passed;
      ca_reuse_access(data[i], address, bytes);
    }
    passed = 0;
    small = is_all ? all : data[0]->limit;
    large = is_all ? all : data[1]->limit;
  }
  for (int i = 0; i < LINE_SIZES; i++)
    data[i]->accesses += passed;
}

void ca_profile_flush(void) {
  static uint64_t flushes, next_burst;
  uint64_t apart = flushes / 8 < BURST_EVERY ? 1 + flushes / 8 : BURST_EVERY;
  ca_is_burst = !ca_plan.is_exact && flushes++ == next_burst;
  const uint64_t *word = ca_profile_words;
  for (const uint32_t *number = ca_profile_segments; number < ca_profile_next; number++) {
    run_segment((int32_t)*number);
    if (!ca_plan.has_parallelism)
      continue;
    const struct segment *s = &ca_plan.segment[*number];
    ca_parallelism_segment(s, word);
    word += s->words;
  }
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
  uint64_t instructions = 0;
  ca_profile_flush();
  for (int i = 0; i < STEPS; i++)
    count_step(&steps[i]);
  for (int32_t i = 0; i < ca_plan.segments; i++)
    instructions += executed[i] * (uint64_t)ca_plan.segment[i].size;
  for (int i = 0; i < LINE_SIZES; i++)
    code[i]->accesses = instructions;
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
