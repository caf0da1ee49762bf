/* Reuse distances: an LRU stack of lines, ordered by time stamps.
 *
 * Every line has the stamp of its last access, and every stamp a bit that is set while it is the last of its line:
 * the distance of an access is the number of bits behind the stamp of its line (Bennett and Kruskal 1975; Olken
 * 1981). Most are a few words apart and counted there; others by a Fenwick tree over blocks of words, which only
 * has the blocks before the newest one, so most accesses leave it alone.
 *
 * Where it is not exact, the stack holds a sample of the lines, those whose hash is small (of 128 bytes: lines of both sizes are in it together), at most MOST_SAMPLED of
 * them; a distance is the number of sampled lines in between, divided by the rate (SHARDS with a fixed size,
 * Waldspurger et al., FAST 2015, whose 8192 lines leave an error of the curve of less than 0.01; with half as
 * many it grows by half, with twice as many the run takes longer). The rate also falls while looking lines up
 * takes too much of the run. Short distances, of which a sample of lines says little (few lines may have most of
 * the accesses), are counted in bursts: for all buffers of a short run, and ever fewer of a longer one, all lines
 * go through a list of their own. A burst counts for as many buffers as it stands for; accesses to many lines at
 * once (copies), of which one may be more than all else of a buffer, are all looked at, and count once.
 */
#include "profile.h"
#include <stdlib.h>
#include <string.h>

#define BLOCK_WORDS 8 /* of 64 stamps each */
#define BLOCK (64 * BLOCK_WORDS)
#define NEAR_WORDS 8 /* that are counted one by one */
#define MOST_SAMPLED 8192
#define FIRST_STAMPS (1u << 15)
#define SHARE_SAMPLED 24 /* of all accesses, one in so many is looked up */
#define BEFORE_SHARING (1u << 14)

struct stack {
  struct reuse gate; /* first: what others see */
  unsigned line_bits;
  int is_exact;
  uint64_t top; /* the latest line, plus one */
  uint32_t *stamp; /* by line, plus one */
  uint64_t *line; /* by stamp */
  uint64_t *bits;
  uint32_t *tree;
  uint32_t stamps, next, live;
  unsigned shift; /* the rate is 2^-shift */
  uint64_t touched_lines, touched_bytes;
  uint64_t burst_list[LIST], burst[LIST + 1]; /* accesses of a burst by place in its list; behind: in none */
  uint64_t bursts[LIST + 1];  /* of all bursts, times their weights, and of accesses to many lines */
  double shares[4]; /* over bursts: sums of weight, weight x share found there, x its square, weight squared */
  uint64_t exact[BINS];      /* accesses by distance, if it is exact */
  double hist[GROUPS][BINS]; /* of sampled accesses, weighted by 1 / rate */
  uint64_t sampled, sampled_before, accesses_before;
};

int ca_is_burst; /* all lines are looked at */

static void *room_for(uint64_t count, uint64_t size) {
  void *found = calloc(count, size);
  if (!found)
    ca_profile_fail("memory");
  return found;
}

static void make_room(struct stack *r) {
  r->bits = room_for(r->stamps / 64, 8);
  r->line = room_for(r->stamps, 8);
  r->tree = room_for(r->stamps / BLOCK + 1, 4);
}

struct reuse *ca_reuse_new(unsigned line_bits, int is_exact) {
  struct stack *r = room_for(1, sizeof *r);
  r->gate.stack = r;
  r->gate.limit = ~0ull;
  r->line_bits = line_bits;
  r->is_exact = is_exact;
  r->stamps = FIRST_STAMPS;
  r->stamp = ca_profile_map(((ADDRESS_MASK >> line_bits) + 1) * sizeof *r->stamp);
  make_room(r);
  return &r->gate;
}

static uint64_t mixed(uint64_t x) { /* finalizer of splitmix64 */
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

static int is_sampled(const struct stack *r, uint64_t line) {
  return address_hash(line << r->line_bits) <= r->gate.limit;
}

static uint32_t *stamp_of(const struct stack *r, uint64_t line) {
  return &r->stamp[line & (ADDRESS_MASK >> r->line_bits)];
}

static void add(struct stack *r, uint32_t block, uint32_t value) {
  for (uint32_t i = block + 1; i <= r->stamps / BLOCK; i += i & -i)
    r->tree[i] += value;
}

static uint32_t ones(const struct stack *r, uint32_t first, uint32_t end) { /* in words */
  uint32_t result = 0;
  for (uint32_t i = first; i < end; i++)
    result += (uint32_t)__builtin_popcountll(r->bits[i]);
  return result;
}

/* Live stamps behind this one. */
static uint64_t count_behind(const struct stack *r, uint32_t stamp) {
  uint32_t word = stamp / 64, last = (r->next - 1) / 64;
  uint64_t own = r->bits[word] >> stamp % 64 >> 1;
  if (last - word < NEAR_WORDS)
    return (uint64_t)__builtin_popcountll(own) + ones(r, word + 1, last + 1);
  uint32_t before = 0;
  for (uint32_t i = stamp / BLOCK; i; i -= i & -i)
    before += r->tree[i];
  before += ones(r, stamp / BLOCK * BLOCK_WORDS, word + 1) - (uint32_t)__builtin_popcountll(own);
  return r->live - before;
}

static void take_out(struct stack *r, uint32_t stamp) {
  r->bits[stamp / 64] &= ~(1ull << stamp % 64);
  if (stamp / BLOCK < r->next / BLOCK)
    add(r, stamp / BLOCK, (uint32_t)-1);
}

/* The next stamp is that of a line. */
static void put_on_top(struct stack *r, uint64_t line) {
  uint32_t stamp = r->next++;
  r->bits[stamp / 64] |= 1ull << stamp % 64;
  r->line[stamp] = line;
  *stamp_of(r, line) = r->next;
  if (r->next % BLOCK == 0)
    add(r, stamp / BLOCK, ones(r, stamp / BLOCK * BLOCK_WORDS, r->next / 64));
}

/* Stamps without gaps, in the same order, and at least twice as much room as they need. */
static void renumber(struct stack *r) {
  uint64_t *bits = r->bits, *line = r->line;
  uint32_t end = r->next;
  if (2 * r->live > r->stamps) {
    if (r->stamps >> 30)
      ca_profile_fail("room for more than 2^30 lines");
    r->stamps *= 4;
  }
  free(r->tree);
  make_room(r);
  r->next = 0;
  for (uint32_t i = 0; i < end; i++)
    if (bits[i / 64] >> i % 64 & 1)
      put_on_top(r, line[i]);
  free(bits);
  free(line);
}

static void halve(struct stack *r) {
  r->shift++;
  r->gate.limit >>= 1;
  r->sampled_before = r->sampled;
  r->accesses_before = r->gate.accesses;
  for (uint32_t i = 0; i < r->next; i++)
    if (r->bits[i / 64] >> i % 64 & 1 && !is_sampled(r, r->line[i])) {
      *stamp_of(r, r->line[i]) = 0;
      take_out(r, i);
      r->live--;
    }
}

static unsigned bin_of(uint64_t distance) {
  return distance ? 1 + (unsigned)(distance > 1 ? 64 - __builtin_clzll(distance - 1) : 0) : 0;
}

static inline void record(struct stack *r, uint64_t line, uint64_t distance) {
  if (r->is_exact)
    r->exact[bin_of(distance)]++;
  else
    r->hist[mixed(line << r->line_bits >> 7) % GROUPS][bin_of(distance << r->shift)] += (double)(1ull << r->shift);
}

static void touch(struct stack *r, uint64_t line) {
  if (r->top == line + 1) {
    record(r, line, 0);
    return;
  }
  if (r->next == r->stamps)
    renumber(r);
  uint32_t stamp = *stamp_of(r, line);
  if (stamp) {
    record(r, line, count_behind(r, stamp - 1));
    take_out(r, stamp - 1);
  } else
    r->live++; /* the first access */
  put_on_top(r, line);
  r->top = line + 1;
}

/* The sample has room, and looking up takes a limited share of the run. */
static void limit(struct stack *r) {
  uint64_t looked_up = ++r->sampled - r->sampled_before; /* since the rate is what it is */
  int is_slow = looked_up > BEFORE_SHARING && looked_up * SHARE_SAMPLED > r->gate.accesses - r->accesses_before;
  if (r->live > MOST_SAMPLED || is_slow)
    halve(r);
}

/* Place of a line in the list of the burst, LIST if it is not there; it comes to the top. */
static unsigned burst_place(struct stack *r, uint64_t line) {
  uint64_t *list = r->burst_list, moved = line;
  for (unsigned k = 0; k < LIST; k++) {
    uint64_t here = list[k];
    list[k] = moved;
    if (here == line)
      return k;
    moved = here;
  }
  return LIST;
}

/* What a burst found counts for `weight` buffers; its share of short distances is for the error of their mean. */
void ca_reuse_end_burst(struct reuse *reuse, uint64_t weight) {
  struct stack *r = reuse->stack;
  uint64_t all = 0;
  for (int k = 0; k <= LIST; k++) {
    all += r->burst[k];
    r->bursts[k] += weight * r->burst[k];
  }
  double share = all ? 1 - (double)r->burst[LIST] / (double)all : 0;
  double terms[4] = {1, share, share * share, (double)weight};
  for (int k = 0; k < 4 && all; k++)
    r->shares[k] += (double)weight * terms[k];
  memset(r->burst, 0, sizeof r->burst);
}

/* An access to a line that is sampled; it is counted already. */
void ca_reuse_sampled(struct reuse *reuse, uint64_t line) {
  touch(reuse->stack, line);
  limit(reuse->stack);
}

/* An access; one to several lines is one to each of them. */
void ca_reuse_access(struct reuse *reuse, uint64_t address, uint64_t bytes) {
  struct stack *r = reuse->stack;
  if (!bytes)
    return;
  uint64_t first = address >> r->line_bits, last = (address + bytes - 1) >> r->line_bits;
  int is_long = last - first > LIST;
  for (uint64_t line = first; line <= last; line++) {
    r->gate.accesses++;
    if (r->is_exact) {
      touch(r, line);
      continue;
    }
    if (ca_is_burst || is_long)
      (is_long ? r->bursts : r->burst)[burst_place(r, line)]++;
    if (is_sampled(r, line)) {
      touch(r, line);
      limit(r);
    }
  }
}

/* Further accesses with a small distance, which leave the stack as it is in the end. */
void ca_reuse_repeat(struct reuse *reuse, unsigned distance, uint64_t times) {
  struct stack *r = reuse->stack;
  r->gate.accesses += times;
  r->exact[bin_of(distance)] += times;
}

/* Lines and bytes that are touched, where they are known from elsewhere. */
void ca_reuse_touched(struct reuse *reuse, uint64_t lines, uint64_t bytes) {
  struct stack *r = reuse->stack;
  r->touched_lines = lines;
  r->touched_bytes = bytes;
}

/* Counts by distance: of each group in doubles, then what is known exactly. */
void ca_reuse_write(struct reuse *reuse, void *stream) {
  struct stack *r = reuse->stack;
  uint64_t lines = r->touched_lines ? r->touched_lines : r->live;
  uint64_t facts[5] = {1ull << r->line_bits, r->gate.accesses, lines, r->touched_bytes, r->shift};
  ca_profile_put(stream, facts, sizeof facts);
  ca_profile_put(stream, r->exact, sizeof r->exact);
  ca_profile_put(stream, r->hist, sizeof r->hist);
  ca_profile_put(stream, r->bursts, sizeof r->bursts);
  ca_profile_put(stream, r->shares, sizeof r->shares);
}
