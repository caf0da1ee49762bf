/* Reuse distances: an LRU stack of lines whose top is a short list and whose rest is a tree over time stamps.
 *
 * A line that is found in the list has its place there as distance; most accesses are such. Lines that fall out
 * of the list get the next time stamp, so that stamps order the rest of the stack. The distance of a line there
 * is the length of the list plus the number of later stamps: a bit per stamp, counted by words, with a Fenwick
 * tree over groups of them (Bennett and Kruskal 1975; Olken 1981).
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
#define MOST_SAMPLED 8192
#define FIRST_STAMPS (1u << 15)
#define FIRST_CHUNKS (1u << 10)
#define CHUNK 8
#define FILTER 1024
#define SHARE_SAMPLED 24 /* of all accesses, one in so many is looked up */
#define BEFORE_SHARING (1u << 14)

/* Neighbouring lines: scans touch the table as they touch memory. */
struct chunk {
  uint64_t number;       /* plus one; 0 is empty */
  uint64_t seen;         /* by line */
  uint32_t stamp[CHUNK]; /* plus one; 0: in the list, or not sampled */
};

struct stack {
  struct reuse gate; /* first: what others see */
  unsigned line_bits;
  int is_exact;
  uint64_t list[LIST]; /* a ring: the latest line is at `head` */
  unsigned head, listed;
  uint8_t in_list[FILTER]; /* lines in the list, by their last bits */
  struct chunk *chunks;
  uint64_t room, chunks_used, lines_used;
  uint64_t *bits;
  uint32_t *tree;
  uint32_t stamps, next, live;
  unsigned shift; /* the rate is 2^-shift */
  uint64_t touched_lines, touched_bytes;
  uint64_t near[LIST];        /* accesses that were found in the list, by place */
  uint64_t burst_list[LIST], burst[LIST + 1]; /* accesses of a burst by place in its list; behind: in none */
  uint64_t bursts[LIST + 1];  /* of all bursts, times their weights, and of accesses to many lines */
  double shares[4]; /* over bursts: sums of weight, weight x share found there, x its square, weight squared */
  double hist[GROUPS][BINS];  /* of sampled accesses, weighted by 1 / rate */
  uint64_t sampled, sampled_before, accesses_before;
};

int ca_is_burst; /* all lines are looked at */

static void *room_for(uint64_t count, uint64_t size) {
  void *found = calloc(count, size);
  if (!found)
    ca_profile_fail("memory");
  return found;
}

struct reuse *ca_reuse_new(unsigned line_bits, int is_exact) {
  struct stack *r = room_for(1, sizeof *r);
  r->gate.stack = r;
  r->gate.limit = ~0ull;
  r->line_bits = line_bits;
  r->is_exact = is_exact;
  r->room = FIRST_CHUNKS;
  r->chunks = room_for(r->room, sizeof *r->chunks);
  r->stamps = FIRST_STAMPS;
  r->bits = room_for(r->stamps / 64, 8);
  r->tree = room_for(r->stamps / (64 * BLOCK_WORDS) + 1, 4);
  return &r->gate;
}

static uint64_t mixed(uint64_t x) { /* finalizer of splitmix64 */
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

static int is_sampled(const struct stack *r, uint64_t line) { return line_hash(line) <= r->gate.limit; }

static struct chunk *place_of(const struct stack *r, uint64_t chunk) {
  uint64_t mask = r->room - 1, at = mixed(chunk) & mask;
  while (r->chunks[at].number && r->chunks[at].number != chunk + 1)
    at = (at + 1) & mask;
  return &r->chunks[at];
}

static void grow(struct stack *r) {
  struct chunk *old = r->chunks;
  uint64_t count = r->room;
  r->room *= 2;
  r->chunks = room_for(r->room, sizeof *r->chunks);
  for (uint64_t i = 0; i < count; i++)
    if (old[i].number)
      *place_of(r, old[i].number - 1) = old[i];
  free(old);
}

/* The chunk of a line that is touched. */
static struct chunk *chunk_with(struct stack *r, uint64_t line) {
  uint64_t number = line / CHUNK, bit = 1ull << line % CHUNK;
  struct chunk *c = place_of(r, number);
  if (!c->number) {
    c->number = number + 1;
    if (2 * ++r->chunks_used > r->room) {
      grow(r);
      c = place_of(r, number);
    }
  }
  r->lines_used += !(c->seen & bit);
  c->seen |= bit;
  return c;
}

static void add(struct stack *r, uint32_t stamp, uint32_t value) {
  uint32_t blocks = r->stamps / (64 * BLOCK_WORDS);
  for (uint32_t i = stamp / (64 * BLOCK_WORDS) + 1; i <= blocks; i += i & -i)
    r->tree[i] += value;
}

/* Live stamps up to this one. */
static uint32_t count_to(const struct stack *r, uint32_t stamp) {
  uint32_t result = 0, word = stamp / 64, block = word / BLOCK_WORDS;
  for (uint32_t i = block; i; i -= i & -i)
    result += r->tree[i];
  for (uint32_t i = block * BLOCK_WORDS; i < word; i++)
    result += (uint32_t)__builtin_popcountll(r->bits[i]);
  return result + (uint32_t)__builtin_popcountll(r->bits[word] & (~0ull >> (63 - stamp % 64)));
}

static void take_out(struct stack *r, uint32_t stamp) {
  r->bits[stamp / 64] &= ~(1ull << stamp % 64);
  add(r, stamp, (uint32_t)-1);
  r->live--;
}

/* Stamps without gaps, in the same order, and at least twice as much room as they need. */
static void renumber(struct stack *r) {
  for (uint64_t i = 0; i < r->room; i++)
    for (int k = 0; k < CHUNK; k++)
      if (r->chunks[i].stamp[k])
        r->chunks[i].stamp[k] = count_to(r, r->chunks[i].stamp[k] - 1);
  if (2 * r->live > r->stamps) {
    if (r->stamps >> 30)
      ca_profile_fail("room for more than 2^30 lines");
    r->stamps *= 4;
  }
  free(r->bits);
  free(r->tree);
  r->bits = room_for(r->stamps / 64, 8);
  r->tree = room_for(r->stamps / (64 * BLOCK_WORDS) + 1, 4);
  for (uint32_t i = 0; i < r->live; i++)
    r->bits[i / 64] |= 1ull << i % 64;
  uint32_t blocks = r->stamps / (64 * BLOCK_WORDS);
  for (uint32_t i = 1; i <= blocks; i++) {
    uint32_t first = (i - 1) * 64 * BLOCK_WORDS, own = 0;
    if (first < r->live)
      own = r->live - first < 64 * BLOCK_WORDS ? r->live - first : 64 * BLOCK_WORDS;
    r->tree[i] += own;
    if (i + (i & -i) <= blocks)
      r->tree[i + (i & -i)] += r->tree[i];
  }
  r->next = r->live;
}

static void halve(struct stack *r) {
  uint64_t kept[LIST];
  unsigned count = 0;
  r->shift++;
  r->gate.limit >>= 1;
  for (unsigned k = 0; k < r->listed; k++) {
    uint64_t line = r->list[(r->head + k) % LIST];
    if (is_sampled(r, line))
      kept[count++] = line;
    else
      r->in_list[line % FILTER]--;
  }
  memcpy(r->list, kept, count * sizeof *kept);
  r->head = 0;
  r->listed = count;
  r->sampled_before = r->sampled;
  r->accesses_before = r->gate.accesses;
  for (uint64_t i = 0; i < r->room; i++)
    for (unsigned k = 0; k < CHUNK; k++) {
      struct chunk *c = &r->chunks[i];
      if (c->stamp[k] && !is_sampled(r, (c->number - 1) * CHUNK + k)) {
        take_out(r, c->stamp[k] - 1);
        c->stamp[k] = 0;
      }
    }
}

/* A line falls out of the list. */
static void push(struct stack *r, uint64_t line) {
  struct chunk *c = chunk_with(r, line);
  if (r->next == r->stamps)
    renumber(r);
  uint32_t stamp = r->next++;
  c->stamp[line % CHUNK] = stamp + 1;
  r->bits[stamp / 64] |= 1ull << stamp % 64;
  add(r, stamp, 1);
  r->live++;
}

static unsigned bin_of(double distance) {
  uint64_t whole = (uint64_t)distance;
  return whole ? 1 + (unsigned)(whole > 1 ? 64 - __builtin_clzll(whole - 1) : 0) : 0;
}

static void record(struct stack *r, uint64_t line, uint64_t distance) {
  if (r->is_exact && distance < LIST)
    r->near[distance]++;
  else
    r->hist[mixed(line) % GROUPS][bin_of((double)(distance << r->shift))] += (double)(1ull << r->shift);
}

/* A line that is not in the list is accessed. */
static void count_far(struct stack *r, uint64_t line) {
  struct chunk *c = place_of(r, line / CHUNK);
  if (!(c->seen & 1ull << line % CHUNK) || !c->stamp[line % CHUNK])
    return; /* the first access */
  uint32_t stamp = c->stamp[line % CHUNK] - 1;
  record(r, line, LIST + (r->live - count_to(r, stamp)));
  take_out(r, stamp);
  c->stamp[line % CHUNK] = 0;
}

/* The line comes to the top of the list from `distance`; those above it move down. */
static void move_up(struct stack *r, unsigned distance, uint64_t line) {
  for (unsigned k = distance; k; k--)
    r->list[(r->head + k) % LIST] = r->list[(r->head + k - 1) % LIST];
  r->list[r->head] = line;
}

static void come_in(struct stack *r, uint64_t line) {
  unsigned place = (r->head + LIST - 1) % LIST; /* of the last one, if the list is full */
  if (r->listed == LIST) {
    count_far(r, line);
    r->in_list[r->list[place] % FILTER]--;
    push(r, r->list[place]);
  } else {
    count_far(r, line); /* lines that were dropped from the sample leave room in the list */
    r->listed++;
  }
  r->head = place;
  r->list[place] = line;
  r->in_list[line % FILTER]++;
}

static void touch(struct stack *r, uint64_t line) {
  if (r->list[r->head] == line && r->listed) {
    record(r, line, 0);
    return;
  }
  if (r->in_list[line % FILTER])
    for (unsigned k = 1; k < r->listed; k++)
      if (r->list[(r->head + k) % LIST] == line) {
        record(r, line, k);
        move_up(r, k, line);
        return;
      }
  come_in(r, line);
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
  r->near[distance] += times;
}

/* Distances below LIST, counted so far: what a repetition adds can be told from two of them. */
const uint64_t *ca_reuse_near(const struct reuse *reuse) { return reuse->stack->near; }

/* Lines and bytes that are touched, where they are known from elsewhere. */
void ca_reuse_touched(struct reuse *reuse, uint64_t lines, uint64_t bytes) {
  struct stack *r = reuse->stack;
  r->touched_lines = lines;
  r->touched_bytes = bytes;
}

/* Counts by distance: of each group in doubles, then what is known exactly. */
void ca_reuse_write(struct reuse *reuse, void *stream) {
  struct stack *r = reuse->stack;
  for (unsigned i = 0; i < r->listed; i++) /* what the list holds belongs to the footprint */
    chunk_with(r, r->list[(r->head + i) % LIST]);
  uint64_t exact[BINS] = {0};
  for (unsigned i = 0; i < LIST; i++)
    exact[bin_of(i)] += r->near[i];
  uint64_t lines = r->touched_lines ? r->touched_lines : r->lines_used;
  uint64_t facts[5] = {1ull << r->line_bits, r->gate.accesses, lines, r->touched_bytes, r->shift};
  ca_profile_put(stream, facts, sizeof facts);
  ca_profile_put(stream, exact, sizeof exact);
  ca_profile_put(stream, r->hist, sizeof r->hist);
  ca_profile_put(stream, r->bursts, sizeof r->bursts);
  ca_profile_put(stream, r->shares, sizeof r->shares);
}
