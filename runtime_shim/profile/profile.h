/* Runtime of profile runs: what instrumented code writes, and what is measured from it.
 *
 * Instrumented code appends to two buffers. A *segment* is a stretch of instructions that are all executed if the
 * first one is: a basic block, cut behind calls. Every execution of a segment puts its number into one buffer, and
 * into the other a word per access: the address, with the number of bytes above ADDRESS_BITS. Where these are not
 * known before the run, or too many, they are none there, and the next word says how many. So the words can be read
 * without asking whose they are; how many a segment has is in the plan, a file written when the program was
 * instrumented (commanalyzer/profiles/run/plan.py).
 */
#ifndef COMMANALYZER_PROFILE_H
#define COMMANALYZER_PROFILE_H

#include <stdint.h>

#define NONE (-1)
#define SEGMENTS (1u << 13) /* executions that the buffers hold: what is read at once stays in the second cache */
#define WORDS (1u << 14)    /* the longest segment still fits behind them */
#define LONGEST 8192        /* words of one segment, see commanalyzer/profiles/run/plan.py */
#define ADDRESS_BITS 48
#define ADDRESS_MASK ((1ull << 44) - 1) /* as in the recorder's shadow */
#define LINE_SIZES 2
#define LIST 16         /* lines at the top of a stack that are searched for one by one */
#define BINS 44         /* distance 0, then up to 2^0, 2^1, ... */
#define GROUPS 8        /* of sampled lines: their spread is the stated error */
#define HISTORY 16      /* outcomes of branches that are known */
#define CLASSES 5       /* of instructions: mem, int, ctrl, fp, other */
#define MOST_ENGINES 8  /* windows times orders */

enum segment_end { END_PLAIN, END_BRANCH, END_CALL, END_RETURN };

struct segment {
  int32_t first_instruction, instructions; /* in plan->instructions */
  int32_t first_address, size;             /* of the code: instructions before it, and its own */
  int32_t block, function;
  int32_t taken; /* segment that follows if the branch is taken */
  int32_t end, is_entry;
  int32_t words;
};

struct instruction {
  int32_t class;
  int32_t result;   /* register or NONE */
  int32_t operands; /* first of them */
  int32_t count;    /* operands; of a phi, pairs of block and register */
  int32_t word;     /* of its access in the segment, NONE */
  int32_t kind;     /* see enum instruction_kind */
};

enum instruction_kind { PLAIN, PHI, LOAD, STORE, CALL, RETURN, UPDATE };

struct function {
  int32_t parameters; /* first of them in plan->operands */
  int32_t count;
};

struct plan {
  int32_t segments, instructions, operands, functions, registers, windows;
  int32_t is_exact, has_parallelism, instruction_bytes, reserved[3];
  const struct segment *segment;
  const struct instruction *instruction;
  const int32_t *operand;
  const struct function *function;
  const int32_t *window;
};

extern struct plan ca_plan;

extern uint32_t ca_profile_segments[], *ca_profile_next;
extern uint64_t ca_profile_words[], *ca_profile_word;
void ca_profile_flush(void);

/* reuse.c */
struct list {
  uint64_t order;      /* slots, the latest one lowest */
  uint64_t line[LIST]; /* by slot, plus one; 0: none */
  uint32_t *place;     /* by line: slot plus one; behind LIST a stamp of the stack, 0 for none */
  uint64_t mask;       /* of lines that are told apart */
  uint64_t arrivals;   /* lines that came in */
};

struct reuse {
  uint64_t limit; /* a line is sampled if its hash is at most this */
  uint64_t accesses;
  struct list top;
  uint64_t near[LIST]; /* accesses by distance in the list, if it is exact */
  struct stack *stack;
};
static inline uint64_t line_hash(uint64_t line) { return line * 0x9e3779b97f4a7c15ull; }
struct reuse *ca_reuse_new(unsigned line_bits, int is_exact);
void ca_reuse_access(struct reuse *r, uint64_t address, uint64_t bytes);
void ca_reuse_end_burst(struct reuse *r, uint64_t weight);
extern int ca_is_burst;
void ca_reuse_touched(struct reuse *r, uint64_t lines, uint64_t bytes);
void ca_reuse_write(struct reuse *r, void *stream);

/* parallelism.c */
void ca_parallelism_start(void);
void ca_parallelism_segment(const struct segment *s, const uint64_t *words);
void ca_parallelism_write(void *stream);

void ca_profile_put(void *stream, const void *data, uint64_t bytes);
void *ca_profile_map(uint64_t bytes); /* zeroes, of which only those that are written take memory */
void ca_profile_fail(const char *what);

#endif
