/* Loops whose rounds are known apart: in each run, a few of them do something else than before.
 *
 * A loop whose previews keep finding something new has a memory: per round, what the preview found out when the
 * round was recorded, and the stretches of the log that it counted. Rounds that the preview finds unchanged run
 * without hooks; they count their rows by the number of runs that the memory had.
 *
 * A round does what it did before if it finds the same shadow. No round may change the shadow, but for local
 * arrays that each round fills before it reads them; the digest of what rounds look at must be the same in all
 * runs. As soon as a round changes other shadow, all rounds behind it run with hooks, and the memory is made
 * anew. Which lifetime of a workspace word a store overwrites depends on the round before; it matters only if
 * what is stored was computed from that lifetime. Here, named values come from the round itself: there must be
 * none in the memory that rounds look at, and none may enter the loop.
 */
#include "state.h"
#include <string.h>

#define NUM_MEMORIES 64u
#define MOST_ROUNDS (1u << 24)
#define MOST_RANGES 32u
#define MOST_LOCALS 8u
#define MOST_STRETCHES 512u /* of a round */
#define FEWEST_ROUNDS 16u
#define FEWEST_FAILURES 2u /* previews of the loop, before there is a memory */
#define PATIENCE 3u        /* runs in a row in which the memory was of no use */
#define SAME 2u            /* runs in a row without a change, before the loop is remembered as a whole */
#define MOST_SCANNED (1ull << 26)
#define SHARE_OF_MEMORY 16u
#define MOST_BYTES (1ull << 32)
#define AHEAD 6u
#define MOST_FETCHED 8u /* stretches of a round */

struct ca_rounds ca_rounds;

/* A round that was recorded. */
struct note {
  uint32_t first; /* of its bounds */
  uint32_t count; /* stretches */
  uint32_t room;  /* for so many */
  uint32_t since; /* runs that are counted */
};

struct memory {
  uint64_t key;
  uint64_t digest; /* of the shadow that rounds look at */
  uint64_t *hashes;
  struct note *notes;
  uint64_t num_rounds; /* of the last run */
  uint64_t rows;       /* of all its rounds */
  uint32_t runs;
  uint32_t useless; /* runs in a row */
  uint32_t same;    /* runs in a row */
  bool is_ready;    /* digest and hashes are those of a run */
  bool is_given_up;
};

struct range {
  uint64_t first;
  uint64_t end;
};

static struct memory memories[NUM_MEMORIES];
static struct memory *current;
static struct ca_column bounds;                               /* first row and end of each stretch */
static struct range ranges[MOST_RANGES], locals[MOST_LOCALS]; /* addresses, words */
static uint32_t num_ranges, num_locals;
static uint64_t digest;
static bool is_stopped, is_forced;

bool ca_rounds_reserve(void) {
  ca_rounds.list = ca_map((MOST_ROUNDS + 1ull) * sizeof *ca_rounds.list);
  return ca_rounds.list && ca_column_reserve(&bounds, 1ull << 35);
}

static uint64_t rows_of(const struct note *note) {
  const uint32_t *at = (const uint32_t *)bounds.data + 2ull * note->first;
  uint64_t rows = 0;
  for (uint32_t k = 0; k < note->count; k++)
    rows += at[2 * k + 1] - at[2 * k];
  return rows;
}

/* Runs since the round was recorded become counts of rows. */
static void settle(const struct memory *memory, struct note *note) {
  uint64_t runs = (uint64_t)(int64_t)(int32_t)(memory->runs - note->since);
  note->since = memory->runs;
  const uint32_t *at = (const uint32_t *)bounds.data + 2ull * note->first;
  for (uint32_t k = 0; runs && k < note->count; k++)
    for (uint64_t row = at[2 * k]; row < at[2 * k + 1]; row++)
      ca_state.cells[row].count += runs;
}

static void settle_from(struct memory *memory, uint64_t first) {
  for (uint64_t k = first; memory->notes && k < memory->num_rounds; k++)
    settle(memory, &memory->notes[k]);
}

void ca_rounds_settle(void) {
  for (uint32_t i = 0; i < NUM_MEMORIES; i++)
    settle_from(&memories[i], 0);
}

static void forget_round(struct memory *memory, uint64_t number) {
  memory->hashes[number] = 0;
  memory->notes[number].count = 0;
}

/* Rounds from this one on are not known any more. */
static void forget_from(struct memory *memory, uint64_t first) {
  settle_from(memory, first);
  for (uint64_t k = first; k < memory->num_rounds; k++) {
    memory->rows -= rows_of(&memory->notes[k]);
    forget_round(memory, k);
  }
  memory->num_rounds = first < memory->num_rounds ? first : memory->num_rounds;
}

static void give_up(struct memory *memory) {
  settle_from(memory, 0);
  if (memory->hashes)
    ca_unmap(memory->hashes, MOST_ROUNDS * sizeof *memory->hashes);
  if (memory->notes)
    ca_unmap(memory->notes, MOST_ROUNDS * sizeof *memory->notes);
  *memory = (struct memory){.key = memory->key, .is_given_up = true};
}

/* Their memory is needed. */
void ca_rounds_stop(void) {
  is_stopped = true;
  for (uint32_t i = 0; i < NUM_MEMORIES && !ca_rounds.is_running; i++)
    if (memories[i].hashes)
      give_up(&memories[i]);
}

static bool prepare(struct memory *memory) {
  memory->hashes = ca_map(MOST_ROUNDS * sizeof *memory->hashes);
  memory->notes = ca_map(MOST_ROUNDS * sizeof *memory->notes);
  if (memory->hashes && memory->notes)
    return true;
  give_up(memory);
  return false;
}

/* A preview begins. `key` stands for all that enters the loop. */
CA_CALL void ca_rounds_look(uint32_t loop, uint64_t key) {
  ca_rounds.limit = ca_rounds.seen = ca_rounds.num_changed = 0;
  num_ranges = num_locals = 0;
  digest = 0;
  current = 0;
  if (is_stopped || !ca_active)
    return;
  struct memory *memory = &memories[((key ^ (key >> 32)) * 0x9e3779b97f4a7c15ull) >> 58];
  if (!memory->key && ca_previews_failed(loop) >= FEWEST_FAILURES) {
    memory->key = key;
    prepare(memory);
  }
  if (memory->key != key || memory->is_given_up)
    return;
  current = memory;
  ca_rounds.hashes = memory->hashes;
  ca_rounds.limit = MOST_ROUNDS;
}

CA_CALL void ca_rounds_range(uint64_t low, uint64_t high) {
  if (!ca_rounds.seen || (int64_t)high < (int64_t)low || num_ranges == MOST_RANGES)
    return; /* the compiler knows that there are no more */
  ranges[num_ranges++] = (struct range){low, high + 1};
  digest += ca_changes_in(low, high) * ca_multipliers[num_ranges];
}

CA_CALL void ca_rounds_local(uint64_t address, uint64_t bytes) {
  if (ca_rounds.seen && num_locals < MOST_LOCALS)
    locals[num_locals++] = (struct range){ca_word(address), ca_word(address + bytes + 3)};
}

/* Whether memory that rounds look at holds named values. */
static bool finds_named(void) {
  uint64_t scanned = 0;
  for (uint32_t i = 0; i < num_ranges; i++) {
    scanned += ranges[i].end - ranges[i].first;
    if (scanned > MOST_SCANNED)
      return true;
    for (uint64_t word = ca_word(ranges[i].first); word < ca_word(ranges[i].end + 3); word++)
      if (*ca_shadow(word) & CA_REG)
        return true;
  }
  return false;
}

/* Whether there is memory for so many rounds more. */
static bool has_room(uint64_t rounds) {
  uint64_t allowed = ca_memory_allowed() / SHARE_OF_MEMORY;
  for (uint32_t i = 0; i < NUM_MEMORIES; i++)
    rounds += memories[i].num_rounds;
  uint64_t bytes = rounds * (sizeof(uint64_t) + sizeof(struct note) + sizeof(struct ca_round)) + bounds.bytes;
  return bytes <= (allowed < MOST_BYTES ? allowed : MOST_BYTES);
}

/* All rounds are recorded. */
static bool start_anew(struct memory *memory, uint64_t entering) {
  for (uint64_t k = 0; k < ca_rounds.num_changed; k++)
    memory->hashes[ca_rounds.list[k].number] = ca_rounds.list[k].hash;
  for (uint64_t k = 0; k < ca_rounds.seen; k++)
    ca_rounds.list[k] = (struct ca_round){k, memory->hashes[k]};
  ca_rounds.num_changed = ca_rounds.seen;
  forget_from(memory, 0);
  memset(memory->hashes, 0, ca_rounds.seen * sizeof *memory->hashes);
  memory->is_ready = false;
  memory->useless++;
  if (memory->useless > PATIENCE || !has_room(ca_rounds.seen) ||
      (ca_has_workspace && ((entering & CA_REG) || finds_named()))) {
    give_up(memory);
    return false;
  }
  memory->digest = digest;
  memory->is_ready = true;
  return true;
}

/* Whether it is better to record the loop as a whole. */
static bool is_in_vain(struct memory *memory) {
  if (!ca_rounds.num_changed && memory->num_rounds == ca_rounds.seen) {
    memory->same = (memory->same + 1) % (SAME + 1);
    return !memory->same;
  }
  memory->same = 0;
  memory->useless = 2 * ca_rounds.num_changed > ca_rounds.seen ? memory->useless + 1 : 0;
  if (memory->useless <= PATIENCE)
    return false;
  give_up(memory);
  return true;
}

/* The last round runs with hooks: what it leaves in the shadow stays. */
static void add_last(const struct memory *memory) {
  uint64_t last = ca_rounds.seen - 1, count = ca_rounds.num_changed;
  if (!count || ca_rounds.list[count - 1].number != last)
    ca_rounds.list[ca_rounds.num_changed++] = (struct ca_round){last, memory->hashes[last]};
}

static const struct note *note_at(const struct memory *memory, uint64_t place) {
  return &memory->notes[ca_rounds.list[place].number];
}

static const uint32_t *bounds_of(const struct note *note) {
  return (const uint32_t *)bounds.data + 2ull * note->first;
}

/* Begins to fetch what rounds further down the list will need: they are far apart in all tables. */
static void look_ahead(const struct memory *memory, uint64_t place) {
  uint64_t left = ca_rounds.num_changed - place;
  if (left > 4 * AHEAD)
    __builtin_prefetch(note_at(memory, place + 4 * AHEAD));
  if (left > 3 * AHEAD)
    __builtin_prefetch(bounds_of(note_at(memory, place + 3 * AHEAD)));
  if (left <= 2 * AHEAD)
    return;
  const struct note *note = note_at(memory, place + 2 * AHEAD);
  const uint32_t *at = bounds_of(note);
  for (uint32_t k = 0; k < note->count && k < MOST_FETCHED; k++)
    __builtin_prefetch(&ca_state.cells[at[2 * k]]);
}

/* Decides how the loop that was previewed is run: true for round by round. */
bool ca_rounds_run(uint64_t entering) {
  struct memory *memory = current;
  uint64_t rounds = ca_rounds.seen;
  ca_rounds.seen = 0; /* whatever comes next was not previewed */
  if (!memory || is_stopped || rounds < FEWEST_ROUNDS || rounds >= ca_rounds.limit || !ca_rounds_may_record())
    return false;
  ca_rounds.seen = rounds;
  bool is_new = !memory->is_ready || memory->digest != digest;
  if (is_new ? !start_anew(memory, entering) : is_in_vain(memory))
    return false;
  add_last(memory);
  if (memory->num_rounds > rounds)
    forget_from(memory, rounds);
  for (uint64_t k = 0; k < ca_rounds.num_changed; k++) {
    struct note *note = &memory->notes[ca_rounds.list[k].number];
    look_ahead(memory, k);
    settle(memory, note);
    memory->rows -= rows_of(note);
    note->since++; /* this run is counted by hooks */
  }
  memory->runs++;
  memory->num_rounds = rounds;
  ca_rounds.next = 0;
  is_forced = false;
  ca_prefix_count_predicted();
  ca_prefix_count_loop(memory->rows);
  return true;
}

/* The cursor predicts that a round does nearly what it did before. */
static void predict(const struct note *note) {
  if (note->count) {
    ca_prefix_count_predicted();
    ca_state.cursor = ca_state.cells + ((const uint32_t *)bounds.data)[2ull * note->first];
    ca_prefix.since = (uint64_t)(ca_state.cursor - ca_state.cells);
  }
}

static uint64_t begin_round(uint64_t number) {
  predict(&current->notes[number]);
  ca_round_record();
  return number;
}

CA_CALL uint64_t ca_rounds_first(void) {
  ca_rounds_record();
  ca_rounds.is_running = true;
  ca_rounds.depth = ca_state.num_recording;
  return begin_round(ca_rounds.list[0].number);
}

/* Keeps what a round counted; rounds that cannot be kept run with hooks again. */
static void keep(struct memory *memory, const struct ca_round *round) {
  uint32_t found[2 * MOST_STRETCHES];
  uint32_t count = ca_round_recorded(found, MOST_STRETCHES);
  struct note *note = &memory->notes[round->number];
  if (count != UINT32_MAX && count > note->room) {
    uint64_t first = bounds.bytes / 8;
    bool is_pushed = first + count < UINT32_MAX && ca_column_push(&bounds, 8ull * count);
    if (is_pushed) {
      note->first = (uint32_t)first;
      note->room = count;
    } else {
      count = UINT32_MAX;
    }
  }
  if (count == UINT32_MAX) {
    forget_round(memory, round->number);
    return;
  }
  memcpy((uint32_t *)bounds.data + 2ull * note->first, found, 8ull * count);
  note->count = count;
  memory->hashes[round->number] = round->hash;
  memory->rows += rows_of(note);
}

/* A round changes shadow that others may look at: those behind it run with hooks, and are not counted. */
CA_SLOW static void force(void) {
  struct memory *memory = current;
  uint64_t number = ca_rounds.list[ca_rounds.next].number;
  for (uint64_t k = ca_rounds.next; k < ca_rounds.num_changed; k++)
    memory->rows += rows_of(&memory->notes[ca_rounds.list[k].number]);
  uint64_t at = ca_rounds.next + 1;
  for (uint64_t k = number + 1; k < ca_rounds.seen; k++) {
    if (at < ca_rounds.num_changed && ca_rounds.list[at].number == k)
      at++; /* its hooks count anyway */
    else
      memory->notes[k].since++;
  }
  is_forced = true;
  memory->is_ready = false;
  ca_spoil_repeats(); /* nothing is noted for the round any more */
}

void ca_rounds_changed(uint64_t word) {
  for (uint32_t i = 0; i < num_locals; i++)
    if (word >= locals[i].first && word < locals[i].end)
      return;
  if (!is_forced)
    force();
}

CA_CALL uint64_t ca_round_end(uint64_t number) {
  if (is_forced)
    return number + 1;
  const struct ca_round *round = &ca_rounds.list[ca_rounds.next++];
  keep(current, round++);
  if (ca_rounds.next == ca_rounds.num_changed)
    return UINT64_MAX;
  look_ahead(current, ca_rounds.next);
  return begin_round(round->number);
}

CA_CALL void ca_rounds_end(void) {
  if (!is_forced && ca_rounds.next < ca_rounds.num_changed)
    keep(current, &ca_rounds.list[ca_rounds.next]); /* the last one ended in front of its latch */
  ca_rounds_recorded();
  ca_rounds.is_running = false;
  ca_rounds.seen = 0;
  if (is_stopped)
    ca_rounds_stop();
}
