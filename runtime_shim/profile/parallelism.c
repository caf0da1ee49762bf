/* Parallelism of instructions: the cycle in which each one could start, if each takes one.
 *
 * An instruction starts in the cycle after the last one of those that made its operands: registers, and for
 * loads the last store to the same eight bytes. Phis take no cycle; parameters and results of calls are handed on;
 * branches delay nothing (they are predicted). A window of w holds instructions that have not been released: when w are
 * in it, its oldest cycle ends and the instructions of that cycle leave. In order, no instruction starts before
 * one in front of it.
 *
 * Definition: A. Anghel et al., IJPP 44(5), 2016, Section 4; the manual's Section A.3.
 */
#include "profile.h"
#include <stdlib.h>
#include <string.h>

#define MEMORY_BITS 37 /* eight-byte words that are told apart: addresses modulo 2^40 */
#define DEEPEST (1u << 16)

struct engine {
  uint32_t window, in_order;
  uint32_t oldest, held; /* cycle that ends next, instructions in the window */
  uint32_t latest;       /* of all instructions */
  uint32_t *waiting;     /* instructions by cycle, modulo the ring */
  uint32_t ring;
  uint64_t span;
  uint64_t of_class[CLASSES], last[CLASSES]; /* cycles, and the last one plus one */
};

static struct engine engines[MOST_ENGINES];
static int num_engines;
static uint32_t *ready;  /* by register and engine: first cycle in which it can be used */
static uint32_t *memory; /* by word and engine, likewise */
static uint64_t counted[CLASSES];
static uint64_t started, out_of_range;
static int32_t previous_block = NONE;

struct call {
  int32_t segment; /* that ended with it */
};
static struct call *calls;
static uint32_t depth;
static const struct segment *before;
static uint32_t returned[MOST_ENGINES];

void ca_parallelism_start(void) {
  num_engines = 2 * ca_plan.windows;
  uint64_t registers = (uint64_t)ca_plan.registers + 1;
  uint64_t bytes = (1ull << MEMORY_BITS) * sizeof *memory * (uint64_t)num_engines;
  ready = calloc(registers * (uint64_t)num_engines, sizeof *ready);
  calls = calloc(DEEPEST, sizeof *calls);
  memory = ca_profile_map(bytes);
  if (!ready || !calls)
    ca_profile_fail("memory for the parallelism of instructions");
  for (int i = 0; i < num_engines; i++) {
    struct engine *e = &engines[i];
    e->window = (uint32_t)ca_plan.window[i / 2];
    e->in_order = i % 2;
    e->ring = 1;
    while (e->ring < 2 * e->window + 2)
      e->ring *= 2;
    e->waiting = calloc(e->ring, sizeof *e->waiting);
    if (!e->waiting)
      ca_profile_fail("memory for the parallelism of instructions");
  }
}

static uint32_t *words_at(uint64_t address) {
  uint64_t word = address >> 3 & ((1ull << MEMORY_BITS) - 1);
  return memory + word * (uint64_t)num_engines;
}

static uint32_t *register_at(int32_t number) { return ready + (uint64_t)number * (uint64_t)num_engines; }

static void issue(struct engine *e, uint32_t *cycle, int32_t class) {
  if (e->window && *cycle < e->oldest)
    *cycle = e->oldest;
  if (e->in_order && *cycle < e->latest)
    *cycle = e->latest;
  if (*cycle > e->latest)
    e->latest = *cycle;
  if (*cycle + 1ull > e->span)
    e->span = *cycle + 1ull;
  if (*cycle + 1ull > e->last[class]) {
    e->last[class] = *cycle + 1ull;
    e->of_class[class]++;
  }
  if (!e->window)
    return;
  e->waiting[*cycle & (e->ring - 1)]++;
  e->held++;
  while (e->held >= e->window) {
    uint32_t *leaving = &e->waiting[e->oldest & (e->ring - 1)];
    e->held -= *leaving;
    *leaving = 0;
    e->oldest++;
  }
}

static void raise_to(uint32_t *cycle, const uint32_t *from) {
  for (int i = 0; i < num_engines; i++)
    if (from[i] > cycle[i])
      cycle[i] = from[i];
}

static void run_phis(const struct instruction **at, const struct instruction *end) {
  uint32_t fresh[64][MOST_ENGINES]; /* phis of a block read what was there before any of them */
  const struct instruction *first = *at;
  while (*at < end && (*at)->kind == PHI) {
    const struct instruction *i = *at;
    int place = (int)(i - first) % 64;
    memset(fresh[place], 0, sizeof fresh[place]);
    const int32_t *pair = ca_plan.operand + i->operands;
    for (int32_t k = 0; k < i->count; k++, pair += 2)
      if (pair[0] == previous_block && pair[1] != NONE)
        memcpy(fresh[place], register_at(pair[1]), (uint64_t)num_engines * 4);
    ++*at;
    if (place == 63 || *at == end || (*at)->kind != PHI)
      for (const struct instruction *p = *at - place - 1; p < *at; p++)
        memcpy(register_at(p->result), fresh[(p - first) % 64], (uint64_t)num_engines * 4);
  }
}

/* `at`: the words of its access, none if it has none. */
static void run(const struct instruction *i, const uint64_t *at) {
  uint32_t cycle[MOST_ENGINES] = {0};
  const int32_t *operand = ca_plan.operand + i->operands;
  for (int32_t k = 0; k < i->count; k++)
    raise_to(cycle, register_at(operand[k]));
  uint64_t address = at ? *at & ((1ull << ADDRESS_BITS) - 1) : 0, bytes = at ? *at >> ADDRESS_BITS : 0;
  uint64_t words = at ? ((address & 7) + (bytes ? bytes : at[1]) + 7) / 8 : 0;
  if (i->kind == LOAD || i->kind == UPDATE)
    for (uint64_t k = 0; k < words; k++)
      raise_to(cycle, words_at(address + 8 * k));
  counted[i->class]++;
  started++;
  for (int e = 0; e < num_engines; e++) {
    if (cycle[e] >= UINT32_MAX - 2) { /* after so many cycles the measurement stops */
      out_of_range = 1;
      return;
    }
    issue(&engines[e], &cycle[e], i->class);
    cycle[e]++;
  }
  if (i->kind == STORE || i->kind == UPDATE)
    for (uint64_t k = 0; k < words; k++)
      memcpy(words_at(address + 8 * k), cycle, (uint64_t)num_engines * 4);
  if (i->kind == RETURN && i->count)
    memcpy(returned, register_at(operand[0]), (uint64_t)num_engines * 4);
  if (i->result != NONE)
    memcpy(register_at(i->result), cycle, (uint64_t)num_engines * 4);
}

/* A function begins: its parameters are ready when the arguments of the call are. */
static void enter(const struct segment *s) {
  const struct instruction *call = 0;
  if (before && before->end == END_CALL && before->instructions)
    call = ca_plan.instruction + before->first_instruction + before->instructions - 1;
  const struct function *f = &ca_plan.function[s->function];
  for (int32_t k = 0; k < f->count; k++) {
    uint32_t *parameter = register_at(ca_plan.operand[f->parameters + k]);
    if (call && call->kind == CALL && k < call->count && ca_plan.operand[call->operands + k] != ca_plan.registers)
      memcpy(parameter, register_at(ca_plan.operand[call->operands + k]), (uint64_t)num_engines * 4);
    else
      memset(parameter, 0, (uint64_t)num_engines * 4);
  }
  if (depth < DEEPEST)
    calls[depth].segment = before ? (int32_t)(before - ca_plan.segment) : NONE;
  depth++;
}

/* A function has returned: the result of the call is ready when what it returned is. */
static void leave(const struct segment *resumed) {
  if (!depth)
    return;
  depth--;
  if (depth >= DEEPEST || calls[depth].segment == NONE)
    return;
  const struct segment *s = &ca_plan.segment[calls[depth].segment];
  if (s->function != resumed->function || s->end != END_CALL)
    return;
  const struct instruction *call = ca_plan.instruction + s->first_instruction + s->instructions - 1;
  if (call->kind == CALL && call->result != NONE)
    memcpy(register_at(call->result), returned, (uint64_t)num_engines * 4);
  previous_block = s->block;
}

void ca_parallelism_segment(const struct segment *s, const uint64_t *words) {
  if (out_of_range)
    return;
  if (s->is_entry)
    enter(s);
  else if (before && before->end == END_RETURN)
    leave(s);
  const struct instruction *i = ca_plan.instruction + s->first_instruction, *end = i + s->instructions;
  run_phis(&i, end);
  for (; i < end; i++)
    run(i, i->word == NONE ? 0 : words + i->word);
  previous_block = s->block;
  before = s;
}

void ca_parallelism_write(void *stream) {
  uint64_t facts[2] = {started, out_of_range};
  ca_profile_put(stream, facts, sizeof facts);
  ca_profile_put(stream, counted, sizeof counted);
  for (int i = 0; i < num_engines; i++) {
    uint64_t spans[CLASSES] = {engines[i].span};
    memcpy(spans + 1, engines[i].of_class, (CLASSES - 1) * 8);
    ca_profile_put(stream, spans, sizeof spans);
  }
}
