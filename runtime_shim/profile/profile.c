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

#define WORDS (1u << 16) /* of the buffer: half of it is 256 kB, which stays in the second cache */
#define LONGEST 8192     /* words of one segment, see commanalyzer/profiles/run/plan.py */
#define FAILED 113
#define BURST_EVERY 16 /* buffers, of a long run */
#define SHORTEST_LINE 8 /* instructions */
#define MOST_REMEMBERED 64 /* accesses of a segment that is compared with its last execution */
#define ADDRESS_MASK ((1ull << 44) - 1) /* as in the recorder's shadow */

uint64_t *ca_profile_next;
uint64_t *ca_profile_limit;

struct plan ca_plan;

static uint64_t buffer[WORDS];
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

/* A segment that follows itself and touches the lines that it touched before. All distances of the second such
 * execution depend on the lines of two executions alone, so further ones only repeat its counts. */
static struct {
  int32_t number;
  int is_known; /* the counts are */
  uint64_t line[MOST_REMEMBERED];
  uint64_t near[LINE_SIZES][LIST];
} last;

static int repeats(int32_t number, const struct segment *s, const uint64_t *word) {
  if (number != last.number)
    return 0;
  const struct access *a = ca_plan.access + s->first_access;
  uint64_t differs = 0;
  for (int32_t i = 0; i < s->accesses; i++) {
    uint64_t end = word[i] + (uint64_t)a[i].bytes - 1;
    differs |= (word[i] >> 6 ^ last.line[i]) | (end >> 6 ^ last.line[i]);
  }
  return !differs;
}

static void access_lines(uint64_t address, uint64_t bytes) {
  ca_reuse_access(data[0], address, bytes);
  ca_reuse_access(data[1], address, bytes);
}

/* The same where lines are sampled: nearly all accesses only have their lines hashed. */
static void sampled_accesses(const struct segment *s, const uint64_t *word) {
  const struct access *a = ca_plan.access + s->first_access;
  for (int32_t i = 0; i < s->accesses; i++) {
    uint64_t line = word[i] >> 6, bytes = (uint64_t)a[i].bytes;
    touch_bytes(word[i], bytes);
    if ((word[i] & 63) + bytes > 64) {
      access_lines(word[i], bytes);
      continue;
    }
    data[0]->accesses++;
    data[1]->accesses++;
    if (line_hash(line) <= data[0]->limit)
      ca_reuse_sampled(data[0], line);
    if (line_hash(line >> 1) <= data[1]->limit)
      ca_reuse_sampled(data[1], line >> 1);
  }
}

/* Accesses of one word each. */
static void plain_accesses(int32_t number, const struct segment *s, const uint64_t *word) {
  const struct access *a = ca_plan.access + s->first_access;
  int is_same = ca_plan.is_exact && repeats(number, s, word);
  for (int32_t i = 0; i < s->accesses; i++)
    touch_bytes(word[i], (uint64_t)a[i].bytes);
  if (is_same && last.is_known) {
    for (int k = 0; k < LINE_SIZES; k++)
      for (unsigned d = 0; d < LIST && d < (unsigned)s->accesses; d++)
        if (last.near[k][d])
          ca_reuse_repeat(data[k], d, last.near[k][d]);
    return;
  }
  uint64_t found = 0;
  for (int k = 0; k < LINE_SIZES && is_same; k++)
    memcpy(last.near[k], ca_reuse_near(data[k]), sizeof last.near[k]);
  for (int32_t i = 0; i < s->accesses; i++)
    access_lines(word[i], (uint64_t)a[i].bytes);
  for (int k = 0; k < LINE_SIZES && is_same; k++)
    for (int d = 0; d < LIST; d++)
      found += last.near[k][d] = ca_reuse_near(data[k])[d] - last.near[k][d];
  if (!ca_plan.is_exact)
    return;
  last.is_known = is_same && found == (uint64_t)s->accesses * LINE_SIZES;
  last.number = number;
  for (int32_t i = 0; i < s->accesses; i++)
    last.line[i] = word[i] >> 6;
}

/* Accesses of which some are of unknown size. */
static void other_accesses(const struct segment *s, const uint64_t *word) {
  const struct access *a = ca_plan.access + s->first_access;
  last.number = NONE;
  for (int32_t i = 0; i < s->accesses; i++, a++) {
    uint64_t address = word[0], bytes = a->bytes ? (uint64_t)a->bytes : word[1];
    word += a->bytes ? 1 : 2;
    touch_bytes(address, bytes);
    access_lines(address, bytes);
  }
}

/* What the words of an execution of a segment say; returns the word behind them. */
static const uint64_t *read_segment(const uint64_t *word) {
  int32_t number = (int32_t)*word;
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
  if (s->words != s->accesses + 1 || s->accesses > MOST_REMEMBERED)
    other_accesses(s, word + 1);
  else if (!ca_plan.is_exact && !ca_is_burst)
    sampled_accesses(s, word + 1);
  else if (s->accesses)
    plain_accesses(number, s, word + 1);
  if (ca_plan.has_parallelism)
    ca_parallelism_segment(s, word + 1);
  return word + s->words;
}

uint64_t *ca_profile_flush(void) {
  static uint64_t flushes, next_burst;
  uint64_t apart = flushes / BURST_EVERY < BURST_EVERY ? 1 + flushes / BURST_EVERY : BURST_EVERY;
  ca_is_burst = !ca_plan.is_exact && flushes++ == next_burst;
  for (const uint64_t *word = buffer; word < ca_profile_next;)
    word = read_segment(word);
  for (int i = 0; i < LINE_SIZES && ca_is_burst; i++)
    ca_reuse_end_burst(data[i], apart);
  next_burst += ca_is_burst ? apart : 0;
  ca_profile_next = buffer;
  return buffer;
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
  p->access = section(&at, (uint64_t)p->accesses * sizeof *p->access);
  p->instruction = section(&at, (uint64_t)p->instructions * sizeof *p->instruction);
  p->operand = section(&at, (uint64_t)p->operands * 4);
  p->function = section(&at, (uint64_t)p->functions * sizeof *p->function);
  p->window = section(&at, (uint64_t)p->windows * 4);
}

__attribute__((constructor(101))) static void start(void) {
  const char *path = getenv("COMMANALYZER_PROFILE_PLAN");
  ca_profile_next = buffer;
  ca_profile_limit = buffer + WORDS - LONGEST;
  owner = getpid();
  if (!path)
    ca_profile_fail("plan");
  read_plan(path);
  last.number = NONE;
  touched = mmap(0, ADDRESS_MASK / 8 + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (touched == MAP_FAILED)
    ca_profile_fail("address space");
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
