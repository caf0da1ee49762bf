/* Reuse distances: an LRU stack of lines whose top is a short list and whose rest is ordered by time stamps.
 *
 * A line of the list has a slot, and one word has the slots in the order of their last accesses, four bits each: a
 * line's distance is the place of its slot in the word. Most accesses are such. A line that falls out of the list
 * gets the next time stamp. The distance of a line there is the length of the list plus the number of later stamps
 * of lines: a bit per stamp, counted by words, with a Fenwick tree over blocks of them (Bennett and Kruskal 1975;
 * Olken 1981) that only has the blocks before the newest one, so that few accesses change it.
 *
 * Where it is not exact, the stack holds a sample of the lines, those whose hash is small, at most MOST_SAMPLED of
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
  struct list burst_top;
  uint64_t lines; /* that were ever in the stack */
  uint64_t *line; /* by stamp */
  uint64_t *bits;
  uint32_t *tree;
  uint32_t stamps, next, live;
  unsigned shift; /* the rate is 2^-shift */
  uint64_t touched_lines, touched_bytes;
  uint64_t burst[LIST + 1]; /* accesses of a burst by place in its list; behind: in none */
  uint64_t bursts[LIST + 1];  /* of all bursts, times their weights, and of accesses to many lines */
  double shares[4]; /* over bursts: sums of weight, weight x share found there, x its square, weight squared */
  uint64_t far[BINS];        /* accesses by distance, of those that are not in the list of one that is exact */
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

static void start_list(struct list *list, unsigned line_bits) {
  list->order = 0xfedcba9876543210ull;
  list->mask = ADDRESS_MASK >> line_bits;
  list->place = ca_profile_map((list->mask + 1) * sizeof *list->place);
}

/* Distance of a line that is in this slot, and comes to the top. */
static inline unsigned move_up(struct list *list, uint64_t slot) {
  const uint64_t each = 0x1111111111111111ull;
  uint64_t other = list->order ^ slot * each, first = (other - each) & ~other & 8 * each; /* lowest: where it is 0 */
  uint64_t moved = first ^ (first - 1);
  list->order = (list->order & ~moved) | (list->order << 4 & moved) | slot;
  return (unsigned)__builtin_ctzll(first) / 4;
}

/* A line comes in at the top; returns the one that falls out plus one, 0 for none. */
static inline uint64_t come_in(struct list *list, uint64_t line) {
  uint64_t slot = list->order >> 60, fallen = list->line[slot];
  list->arrivals++;
  list->order = list->order << 4 | slot;
  list->line[slot] = line + 1;
  list->place[line & list->mask] = (uint32_t)slot + 1;
  return fallen;
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
  start_list(&r->gate.top, line_bits);
  start_list(&r->burst_top, line_bits);
  make_room(r);
  return &r->gate;
}

static uint64_t mixed(uint64_t x) { /* finalizer of splitmix64 */
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

static int is_sampled(const struct stack *r, uint64_t line) { return line_hash(line) <= r->gate.limit; }

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
  r->live--;
  r->bits[stamp / 64] &= ~(1ull << stamp % 64);
  if (stamp / BLOCK < r->next / BLOCK)
    add(r, stamp / BLOCK, (uint32_t)-1);
}

/* The next stamp is that of a line. */
static void give_stamp(struct stack *r, uint64_t line) {
  uint32_t stamp = r->next++;
  r->bits[stamp / 64] |= 1ull << stamp % 64;
  r->line[stamp] = line;
  r->gate.top.place[line & r->gate.top.mask] = LIST + r->next;
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
      give_stamp(r, line[i]);
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
      r->gate.top.place[r->line[i] & r->gate.top.mask] = 0;
      take_out(r, i);
    }
  struct list old = r->gate.top;
  memset(r->gate.top.line, 0, sizeof r->gate.top.line);
  for (int k = LIST - 1; k >= 0; k--) { /* those that stay come in again, the latest one last */
    uint64_t line = old.line[old.order >> 4 * k & (LIST - 1)];
    if (line && is_sampled(r, line - 1))
      come_in(&r->gate.top, line - 1);
    else if (line)
      r->gate.top.place[(line - 1) & r->gate.top.mask] = 0;
  }
}

static unsigned bin_of(uint64_t distance) {
  return distance ? 1 + (unsigned)(distance > 1 ? 64 - __builtin_clzll(distance - 1) : 0) : 0;
}

static inline void record(struct stack *r, uint64_t line, uint64_t distance) {
  if (r->is_exact)
    *(distance < LIST ? &r->gate.near[distance] : &r->far[bin_of(distance)]) += 1;
  else
    r->hist[mixed(line) % GROUPS][bin_of(distance << r->shift)] += (double)(1ull << r->shift);
}

/* A line that is not in the list is accessed. */
static void touch_far(struct stack *r, uint64_t line) {
  uint32_t place = r->gate.top.place[line & r->gate.top.mask];
  r->lines += !place;
  if (place) {
    record(r, line, LIST + count_behind(r, place - LIST - 1));
    take_out(r, place - LIST - 1);
  }
  uint64_t fallen = come_in(&r->gate.top, line);
  if (!fallen)
    return;
  if (r->next == r->stamps)
    renumber(r);
  r->live++;
  give_stamp(r, fallen - 1);
}

static inline void touch(struct stack *r, uint64_t line) {
  uint64_t slot = r->gate.top.place[line & r->gate.top.mask] - 1ull;
  if (slot < LIST)
    record(r, line, move_up(&r->gate.top, slot));
  else
    touch_far(r, line);
}

/* The sample has room, and looking up takes a limited share of the run. */
static void limit(struct stack *r) {
  uint64_t looked_up = ++r->sampled - r->sampled_before; /* since the rate is what it is */
  int is_slow = looked_up > BEFORE_SHARING && looked_up * SHARE_SAMPLED > r->gate.accesses - r->accesses_before;
  if (r->live > MOST_SAMPLED || is_slow)
    halve(r);
}

/* Place of a line in the list of the burst, LIST if it is not there; it comes to the top. */
static inline unsigned burst_place(struct list *list, uint64_t line) {
  uint64_t slot = list->place[line & list->mask] - 1ull;
  if (slot < LIST)
    return move_up(list, slot);
  uint64_t fallen = come_in(list, line);
  if (fallen)
    list->place[(fallen - 1) & list->mask] = 0;
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
      (is_long ? r->bursts : r->burst)[burst_place(&r->burst_top, line)]++;
    if (is_sampled(r, line)) {
      touch(r, line);
      limit(r);
    }
  }
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
  for (unsigned i = 0; i < LIST; i++)
    r->far[bin_of(i)] += r->gate.near[i];
  uint64_t lines = r->touched_lines ? r->touched_lines : r->lines;
  uint64_t facts[5] = {1ull << r->line_bits, r->gate.accesses, lines, r->touched_bytes, r->shift};
  ca_profile_put(stream, facts, sizeof facts);
  ca_profile_put(stream, r->far, sizeof r->far);
  ca_profile_put(stream, r->hist, sizeof r->hist);
  ca_profile_put(stream, r->bursts, sizeof r->bursts);
  ca_profile_put(stream, r->shares, sizeof r->shares);
}
