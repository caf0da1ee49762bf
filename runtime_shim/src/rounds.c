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
#include "renamings.h"
#include <string.h>

#define NUM_MEMORIES CA_MEMORIES
#define MOST_ROUNDS (1u << 24)
#define MOST_STRETCHES 512u /* of a round */
#define FEWEST_ROUNDS 16u
#define FEWEST_FAILURES 2u /* previews of the loop, before there is a memory */
#define PATIENCE 3u        /* runs in a row in which the memory was of no use */
#define SAME 2u            /* runs in a row without a change, before the loop is remembered as a whole */
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
  struct ca_round_version *versions; /* of rounds that may be renamed; or 0 */
  uint64_t num_rounds;               /* of the last run */
  uint64_t rows;                     /* of all its rounds */
  uint32_t runs;
  uint32_t useless; /* runs in a row */
  uint32_t same;    /* runs in a row */
  bool is_ready;    /* digest and hashes are those of a run */
  bool is_given_up;
};

static struct memory memories[NUM_MEMORIES];
static struct memory *current;
static struct ca_column bounds; /* first row and end of each stretch */
static bool is_stopped, is_forced;
static bool is_renaming; /* the memory is in use: what is written may need it, see ca_rounds_stop */

bool ca_rounds_reserve(void) {
  ca_rounds.list = ca_map((MOST_ROUNDS + 1ull) * sizeof *ca_rounds.list);
  return ca_rounds.list && ca_column_reserve(&bounds, 1ull << 35) && ca_renamings_reserve();
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
  if (memory->versions && ca_version_count(&memory->versions[note - memory->notes], runs))
    return;
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
  if (memory->versions)
    ca_version_forget(&memory->versions[number]);
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
  if (memory->versions)
    ca_unmap(memory->versions, MOST_ROUNDS * sizeof *memory->versions);
  ca_places_forget((uint32_t)(memory - memories));
  *memory = (struct memory){.key = memory->key, .is_given_up = true};
}

/* Their memory is needed. */
void ca_rounds_stop(void) {
  is_stopped = true;
  for (uint32_t i = 0; i < NUM_MEMORIES && !ca_rounds.is_running && !is_renaming; i++)
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
  ca_rounds.are_moving = false;
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
  ca_places_begin((uint32_t)(memory - memories));
}

/* Whether there is memory for so many rounds more. */
static bool has_room(uint64_t rounds) {
  uint64_t allowed = ca_memory_allowed() / SHARE_OF_MEMORY;
  for (uint32_t i = 0; i < NUM_MEMORIES; i++)
    rounds += memories[i].num_rounds;
  uint64_t per_round =
      sizeof(uint64_t) + sizeof(struct note) + sizeof(struct ca_round) + sizeof(struct ca_round_version);
  uint64_t bytes = rounds * per_round + bounds.bytes + ca_renamings_bytes();
  return bytes <= (allowed < MOST_BYTES ? allowed : MOST_BYTES);
}

/* All rounds are recorded. */
static bool start_anew(struct memory *memory, uint64_t entering) {
  for (uint64_t k = 0; k < ca_rounds.num_changed; k++)
    memory->hashes[ca_rounds.list[k].number] = ca_rounds.list[k].hash;
  for (uint64_t k = 0; ca_rounds.num_changed < ca_rounds.seen && k < ca_rounds.seen; k++)
    ca_rounds.list[k] = (struct ca_round){.number = k, .hash = memory->hashes[k]};
  ca_rounds.num_changed = ca_rounds.seen;
  forget_from(memory, 0);
  memset(memory->hashes, 0, ca_rounds.seen * sizeof *memory->hashes);
  memory->is_ready = false;
  memory->useless++;
  if (memory->useless > PATIENCE || !has_room(ca_rounds.seen) ||
      (ca_has_workspace && ((entering & CA_REG) || ca_places_have_named()))) {
    give_up(memory);
    return false;
  }
  memory->digest = ca_places_digest();
  memory->is_ready = true;
  return true;
}

/* Whether it is better to record the loop as a whole, after so many changes; some may have been renamed. */
static bool is_in_vain(struct memory *memory, uint64_t changed) {
  if (!changed && memory->num_rounds == ca_rounds.seen) {
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
    ca_rounds.list[ca_rounds.num_changed++] = (struct ca_round){.number = last, .hash = memory->hashes[last]};
}

static const struct note *note_at(const struct memory *memory, uint64_t place) {
  return &memory->notes[ca_rounds.list[place].number];
}

static const uint32_t *bounds_of(const struct note *note) {
  return (const uint32_t *)bounds.data + 2ull * note->first;
}

static uint64_t state_of(const struct memory *memory) {
  return memory->key * ca_multipliers[1] + memory->digest;
}

/* Begins to fetch what rounds further down the list will need: they are far apart in all tables. */
static void look_ahead(const struct memory *memory, uint64_t place) {
  const struct ca_round *list = ca_rounds.list + place;
  uint64_t left = ca_rounds.num_changed - place;
  if (left > 8 * AHEAD) {
    __builtin_prefetch(note_at(memory, place + 8 * AHEAD), 1);
    __builtin_prefetch(&memory->hashes[list[8 * AHEAD].number], 1);
    if (memory->versions)
      __builtin_prefetch(&memory->versions[list[8 * AHEAD].number], 1);
  }
  if (left > 4 * AHEAD) {
    __builtin_prefetch(bounds_of(note_at(memory, place + 4 * AHEAD)));
    if (memory->versions)
      ca_version_fetch(&memory->versions[list[4 * AHEAD].number], &list[4 * AHEAD], state_of(memory));
  }
  if (left <= 2 * AHEAD || (memory->versions && memory->versions[list[2 * AHEAD].number].renaming))
    return;
  const struct note *note = note_at(memory, place + 2 * AHEAD);
  const uint32_t *at = bounds_of(note);
  for (uint32_t k = 0; k < note->count && k < MOST_FETCHED; k++)
    __builtin_prefetch(&ca_state.cells[at[2 * k]], 1);
}

/* Rounds that do what they did before with other words need not run with hooks; the last one does. */
static void rename_rounds(struct memory *memory) {
  uint64_t kept = 0;
  for (uint64_t k = 0; k < ca_rounds.num_changed; k++) {
    const struct ca_round *round = &ca_rounds.list[k];
    struct note *note = &memory->notes[round->number];
    look_ahead(memory, k);
    settle(memory, note);
    bool is_last = round->number + 1 == ca_rounds.seen;
    if (!is_last && ca_version_rename(&memory->versions[round->number], round, state_of(memory),
                                      bounds_of(note), note->count))
      memory->hashes[round->number] = round->hash;
    else
      ca_rounds.list[kept++] = *round;
  }
  ca_rounds.num_changed = kept;
}

static bool may_rename(struct memory *memory) {
  if (!ca_rounds.are_moving || !ca_renamings_allowed())
    return false;
  if (!memory->versions)
    memory->versions = ca_map(MOST_ROUNDS * sizeof *memory->versions);
  return memory->versions;
}

/* Decides how the loop that was previewed is run: true for round by round. */
bool ca_rounds_run(uint64_t entering) {
  struct memory *memory = current;
  uint64_t rounds = ca_rounds.seen;
  ca_rounds.seen = 0; /* whatever comes next was not previewed */
  if (!memory || is_stopped || rounds < FEWEST_ROUNDS || rounds >= ca_rounds.limit || !ca_rounds_may_record())
    return false;
  ca_rounds.seen = rounds;
  bool is_new = !memory->is_ready || memory->digest != ca_places_digest();
  uint64_t changed = ca_rounds.num_changed;
  is_renaming = true;
  if (may_rename(memory) && !is_new && ca_places_are_apart())
    rename_rounds(memory);
  is_renaming = false;
  if (is_new ? !start_anew(memory, entering) : is_in_vain(memory, changed))
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
  ca_renamings_place(number);
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
  if (memory->versions)
    ca_version_keep(&memory->versions[round->number], round);
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
  if (!ca_places_are_local(word) && !is_forced)
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
  ca_renamings_place(UINT64_MAX);
  ca_rounds_recorded();
  ca_rounds.is_running = false;
  ca_rounds.seen = 0;
  if (is_stopped)
    ca_rounds_stop();
}
