/* Calls single hooks as instrumented code would; one scenario per process, results as "name number" lines. */
#include "comm_shim.h"
#include "hooks.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the instrumenter defines in the program. */
static double field[16];
static double results[64];
const struct ca_global ca_globals[] = {{field, sizeof field, 7}, {results, sizeof results, 8}};
const uint64_t ca_num_globals = 2;
uint64_t ca_block_counters[3];
const uint64_t ca_num_block_counters = 3;
uint64_t ca_external_calls[2];
const uint64_t ca_num_external_calls = 2;
uint64_t ca_active = 1;
const uint64_t ca_switched_off = 0;
const uint64_t ca_num_frames = 2;
const uint64_t ca_num_calls = 8;

static void show(const char *name, uint64_t number) { printf("%s %lld\n", name, (long long)number); }

static uint64_t at(const void *pointer) { return (uint64_t)pointer; }
static uint64_t word(const void *pointer) { return (at(pointer) & CA_ADDRESS_MASK) / 4; }

/* Two chains, three times: two rows. */
static void rows(void) {
  for (int step = 0; step < 3; step++) {
    ca_row_2(1, at(&field[0]), 2, word(&field[1]), word(&field[2]));
    ca_row_1(2, at(&field[1]), 2, word(&field[0]));
  }
  ca_row_2(1, at(&field[0]), 2, word(&field[1]), word(&field[3])); /* other sources: another row */
  ca_row_0(3, at(&field[4]), 2);
  ca_row_1(1, at(&field[5]), 2, word(&field[6]) | CA_CONTROL); /* a role needs all 64 bits */
  show("field", word(field));
}

static void many_labels(void) {
  uint64_t labels[40];
  for (uint64_t i = 0; i < 40; i++)
    labels[i] = word(field) + i;
  ca_row_many(1, at(&field[0]), 2, 40, labels);
  show("field", word(field));
}

static void replication(void) {
  uint64_t a = word(&field[0]), b = word(&field[1]);
  show("own", ca_load(at(&field[1])) == b);
  ca_copy_8(1, at(&field[1]), a, a + 1);
  show("low", ca_load(at(&field[1])) == a);
  show("high", ca_load_high(at(&field[1])) == a + 1);
  ca_copy_words(1, at(&field[4]), at(&field[0]), 16); /* two doubles; the second is a copy itself */
  show("copied", ca_load(at(&field[4])) == a && ca_load(at(&field[5])) == a);
  ca_row_0(1, at(&field[1]), 2);
  show("overwritten", ca_load(at(&field[1])) == b && ca_load_high(at(&field[1])) == b + 1);
  show("copy_stays", ca_load(at(&field[5])) == a);
  ca_forget(at(&field[4]), 2);
  show("forgotten", ca_load(at(&field[4])) == word(&field[4]));
  ca_copy_4(1, at(&field[5]), word(&field[5]));
  show("home", ca_load(at(&field[5])) == word(&field[5]));
}

/* A value of two words of which each lies in a page of the shadow's digests of its own; one of them is a copy.
 */
static void page_ends(void) {
  static _Alignas(4096) char pages[2 * 4096];
  char *value = pages + 4092;
  uint64_t first = word(value), copied = word(&field[3]);
  show("own", ca_load(at(value)) == first && ca_load_high(at(value)) == first + 1);
  ca_copy_4(1, at(value + 4), copied);
  show("second", ca_load(at(value)) == first && ca_load_high(at(value)) == copied);
  ca_row_0(1, at(value), 2);
  show("second_overwritten", ca_load_high(at(value)) == first + 1);
  ca_copy_4(1, at(value), copied);
  show("first", ca_load(at(value)) == copied && ca_load_high(at(value)) == first + 1);
  ca_row_0(1, at(value), 2);
  show("first_overwritten", ca_load(at(value)) == first);
}

/* memmove to a higher and to a lower address, in place. */
static void overlap(void) {
  for (uint64_t i = 0; i < 4; i++)
    ca_copy_4(1, at(field) + 4 * i, word(&field[8]) + i);
  ca_copy_words(1, at(field) + 4, at(field), 12);
  show("up", ca_load(at(field) + 12) == word(&field[8]) + 2 && ca_load(at(field)) == word(&field[8]));
  ca_copy_words(1, at(field), at(field) + 4, 12);
  show("down", ca_load(at(field) + 8) == word(&field[8]) + 2 && ca_load(at(field)) == word(&field[8]));
  ca_copy_words(1, at(field) + 1, at(field) + 32, 8); /* not aligned alike: not followed, but counted */
  show("unaligned", ca_load(at(field) + 4) == word(field) + 1);
}

static void roles(void) {
  uint64_t v = word(field);
  show("none", ca_control(0) | ca_address(0));
  show("control", ca_control(v | CA_EXACT) == (v | CA_CONTROL));
  show("address", ca_address(v | CA_EXACT) == (v | CA_ADDRESS));
  uint64_t same[] = {0, v | CA_CONTROL, v};
  show("data", ca_join(1, 3, same) == v);
  uint64_t single[] = {0, v | CA_EXACT, 0};
  show("single", ca_join(1, 3, single) == (v | CA_EXACT));
}

static void registers(void) {
  uint64_t first = ca_register_2(4, word(&field[0]), word(&field[1]));
  uint64_t other = ca_register_1(4, word(&field[2]));
  uint64_t again = ca_register_2(4, word(&field[0]), word(&field[1]));
  ca_row_1(5, at(&field[3]), 2, first);
  show("first", first & ~CA_REG);
  show("is_register", (first & CA_REG) != 0);
  show("other", other & ~CA_REG);
  show("again", again & ~CA_REG);
  show("field", word(field));
}

static unsigned char accumulator[600];

static uint64_t reduce(uint32_t count, uint64_t stride) {
  uint64_t none = 0;
  ca_accumulator_reset(accumulator, 1, &none);
  for (uint64_t i = 0; i < count; i++)
    ca_term_2(accumulator, word(&field[0]) + stride * i, word(&field[8]) + i * i * (stride == 0));
  return ca_accumulator_close(accumulator, 6);
}

static void reductions(void) {
  memset(accumulator, 0, sizeof accumulator);
  uint64_t none = 0;
  ca_accumulator_reset(accumulator, 1, &none);
  show("empty", ca_accumulator_close(accumulator, 6));
  ca_accumulator_reset(accumulator, 1, &none);
  ca_term_1(accumulator, word(field));
  show("alone", ca_accumulator_close(accumulator, 6) == word(field));
  show("runs", reduce(10000, 2) & ~CA_REG); /* more terms than the buffer holds */
  show("again", reduce(10000, 2) & ~CA_REG);
  show("listed", reduce(3, 0) & ~CA_REG);
  ca_accumulator_free(accumulator);
  show("field", word(field));
}

/* A result read inside the loop: each close sees all terms so far. */
static void running(void) {
  uint64_t none = 0;
  memset(accumulator, 0, sizeof accumulator);
  ca_accumulator_reset(accumulator, 1, &none);
  for (uint64_t i = 0; i < 12; i++) {
    ca_term_1(accumulator, word(field) + i);
    if (i % 6 == 5)
      show(i == 5 ? "half" : "whole", ca_accumulator_close(accumulator, 6) & ~CA_REG);
  }
  show("field", word(field));
}

/* Terms of different widths in irregular order: all of them must be in the trace, in order. */
static void mixed(void) {
  uint64_t none = 0, labels[8], state = 1;
  memset(accumulator, 0, sizeof accumulator);
  ca_accumulator_reset(accumulator, 1, &none);
  for (uint64_t i = 0; i < 3000; i++) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    uint32_t width = 1 + (uint32_t)(state >> 62);
    for (uint64_t k = 0; k < width; k++)
      labels[k] = word(field) + i * (1 + k) + (state >> 61 & 1);
    ca_term_many(accumulator, width, labels);
  }
  ca_accumulator_close(accumulator, 6);
  ca_accumulator_free(accumulator);
  show("field", word(field));
}

/* One sink with many chains, found again in another order. */
static void crowded(void) {
  for (uint64_t i = 0; i < 1000; i++)
    ca_row_1(1, at(&field[0]), 2, word(&field[1]) + i);
  for (uint64_t i = 1000; i-- > 0;)
    ca_row_1(1, at(&field[0]), 2, word(&field[1]) + i);
}

/* Chains of which all but a further label have many: register value, sink, last label. */
static void shared(void) {
  for (uint64_t k = 0; k < 2000; k++) {
    uint64_t i = k < 1000 ? k : 1999 - k, value = ca_register_1(2, word(&field[3]));
    ca_row_3(3, at(&field[0]), 2, value, word(&field[4]) + i, word(&field[1]));
  }
}

/* Chains of which every anchor has many, the further label as well. */
static void shared_by_all(void) {
  for (uint64_t k = 0; k < 2000; k++) {
    uint64_t i = k < 1000 ? k : 1999 - k, value = ca_register_1(2, word(&field[3]));
    uint64_t labels[] = {value, word(&field[2]), word(&field[4]) + i, word(&field[1])};
    ca_row_many(3, at(&field[0]), 2, 4, labels);
  }
}

static void compact(void) {
  uint64_t value = ca_register_1(1, word(&field[0])), first = CA_ARENA_BASE, last = first + (1ull << 31) - 4;
  ca_row_3(2, at(&field[1]), 2, value | CA_CONTROL, word((void *)first), word((void *)last) | CA_ADDRESS);
  ca_row_1(3, at(&field[1]), 2, word((void *)(last + 4)));
  show("last", word((void *)last));
}

static void heap(void) {
  char *a = ca_malloc(0, 100), *b = ca_malloc(0, 100), *other = ca_malloc(1, 100);
  show("distinct", a != b && b != other);
  show("sites_apart", at(other) - at(a) >= 4096 || at(a) - at(other) >= 4096);
  ca_copy_4(1, at(a), word(field));
  memset(a, 1, 100);
  ca_free(a);
  char *again = ca_calloc(0, 25, 4);
  show("same_place", again == a);
  show("zero", again[0] == 0 && again[99] == 0);
  show("forgotten", ca_load(at(a)) == word(a));
  char *large = ca_malloc(2, 3u << 20);
  large[2 << 20] = 1;
  ca_free(large);
  show("large_again", ca_malloc(2, 3u << 20) == (void *)large);
  show("aligned", at(ca_aligned_alloc(3, 256, 1000)) % 256);
  void *out = 0;
  show("memalign", ca_posix_memalign(3, &out, 64, 10) | at(out) % 64);
  show("einval", ca_posix_memalign(3, &out, 24, 10) == EINVAL);
  show("overflow", ca_calloc(0, 1ull << 40, 1ull << 40) == 0 && errno == ENOMEM);
  ca_free(0);
  show("a", at(a));
}

static void reallocation(void) {
  uint64_t *a = ca_realloc(0, 0, 16);
  a[0] = 42;
  ca_copy_8(1, at(a), word(field), word(field) + 1);
  uint64_t *b = ca_realloc(0, a, 1000);
  show("content", b[0] == 42);
  show("label", ca_load(at(b)) == word(field));
  uint64_t *c = realloc(b, 5000); /* from library code */
  show("outside", c[0] == 42 && ca_load(at(c)) == word(field));
  show("freed", ca_realloc(0, c, 0) == 0);
  char *foreign = malloc(10); /* the C library's own */
  free(foreign);
}

static void frames(void) {
  char *outer = ca_frame(0, 128, 1000000);
  char *inner = ca_frame(0, 128, 999000); /* deeper in the stack: recursion */
  char *other = ca_frame(1, 64, 998000);
  show("distinct", outer != inner && inner != other);
  ca_copy_4(1, at(inner), word(field));
  show("inner_again", ca_frame(0, 128, 999000) == (void *)inner);
  show("clean", ca_load(at(inner)) == word(inner));
  show("outer_again", ca_frame(0, 128, 1000000) == (void *)outer);
  show("deeper", ca_frame(0, 128, 990000) == (void *)inner);
}

/* Copies from before the region, and from between its executions; the log from before it. */
static void regions(void) {
  const uint64_t last = word(&field[15]);
  ca_active = 0;
  ca_copy_8(1, at(&field[9]), last, last + 1);
  show("copied", ca_load(at(&field[9])) == last && ca_changes(at(field), at(&field[15])) != 0);
  for (int step = 0; step < 4; step++) {
    if (step == 1)
      ca_region_enter();
    if (step == 2)
      ca_region_enter(), ca_region_leave(); /* nested calls */
    if (step == 3)
      ca_region_leave();
    ca_row_1(1, at(&field[0]), 2, word(&field[1]));
    ca_count_block(1);
    if (step == 1)
      show("own", ca_load(at(&field[9])) == word(&field[9]) && ca_changes(at(field), at(&field[15])) == 0);
  }
  ca_copy_8(1, at(&field[9]), last, last + 1);
  ca_region_enter();
  show("between", ca_load(at(&field[9])) == last);
}

static void counters(void) {
  for (int i = 0; i < 5; i++)
    ca_count_block(2);
  ca_count_block(0);
  ca_count_external(1);
}

static void fills(void) {
  ca_copy_4(1, at(&field[1]), word(&field[9]));
  ca_fill(8, at(field), sizeof field);
  ca_fill(8, at(field), sizeof field);
  ca_fill(8, at(field), 0);
  show("gone", ca_load(at(&field[1])) == word(&field[1]));
  ca_copy_4(1, at(&field[1]), word(&field[9]));
  ca_input(2, at(field), sizeof field);
  show("input", ca_load(at(&field[1])) == word(&field[1]));
  show("field", word(field));
}

static void unknown(void) {
  uint64_t copy[] = {word(&field[1]) | CA_EXACT}, computed[] = {word(&field[1]), word(&field[2])};
  ca_store_unknown(1, at(&field[0]), 2, 1, copy);
  show("replicated", ca_load(at(&field[0])) == word(&field[1]));
  ca_store_unknown(1, at(&field[0]), 2, 2, computed);
  show("computed", ca_load(at(&field[0])) == word(&field[0]));
}

static void environment(void) { show("hidden", getenv("COMMANALYZER_TRACE") == 0); }

static void forked(void) {
  ca_row_0(1, at(&field[0]), 2);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    ca_row_0(2, at(&field[1]), 2);
    exit(0);
  }
  waitpid(child, 0, 0);
}

static void leave_at_once(void) {
  ca_row_0(1, at(&field[0]), 2);
  ca_exit_now(9);
}

#include "driver_loops.inc"
#include "driver_many.inc"
#include "driver_snapshots.inc"
#include "driver_workspaces.inc"

static const struct {
  const char *name;
  void (*run)(void);
} scenarios[] = {
    {"many_rows", many_rows},
    {"exchanged", exchanged},
    {"copying", copying},
    {"rounds", rounds},
    {"ranges", ranges},
    {"nests", nests},
    {"states", states},
    {"repeated", repeated},
    {"temporary", temporary},
    {"snapshots", snapshots},
    {"large_snapshots", large_snapshots},
    {"rows", rows},
    {"many_labels", many_labels},
    {"replication", replication},
    {"page_ends", page_ends},
    {"overlap", overlap},
    {"roles", roles},
    {"registers", registers},
    {"heap", heap},
    {"reallocation", reallocation},
    {"reductions", reductions},
    {"frames", frames},
    {"regions", regions},
    {"counters", counters},
    {"fills", fills},
    {"unknown", unknown},
    {"environment", environment},
    {"forked", forked},
    {"leave_at_once", leave_at_once},
    {"running", running},
    {"mixed", mixed},
    {"crowded", crowded},
    {"shared", shared},
    {"shared_by_all", shared_by_all},
    {"compact", compact},
    {"lifetimes", lifetimes},
    {"updates", updates},
    {"constants", constants},
    {"copies", copies},
    {"carried", carried},
    {"extents", extents},
};

int main(int argc, char **argv) {
  for (size_t i = 0; argc == 2 && i < sizeof scenarios / sizeof *scenarios; i++)
    if (strcmp(argv[1], scenarios[i].name) == 0) {
      scenarios[i].run();
      return 0;
    }
  return 2;
}
