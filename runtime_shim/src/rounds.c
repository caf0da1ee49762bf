/* Loops whose rounds are known apart: in each run, a few of them do something else than before.
 *
 * A loop whose previews keep finding something new has a memory: per round, what the preview found out when the
 * round was recorded, and the stretches of the log that it counted. Rounds that the preview finds unchanged run
 * without hooks; they count their rows by the number of runs that the memory had.
 *
 * A round does what it did before if it finds the same shadow. No round may change the shadow; the digest of what
 * rounds look at must be the same in all runs. As soon as a round changes it, all rounds behind it run with hooks,
 * and the memory is made anew. There must be no named values in the memory that rounds look at. Which values enter
 * is part of the key, so a memory sees always the same ones.
 */
#include "prefix.h"
#include "rounds.h"
#include <string.h>

#define MOST_STRETCHES 512u /* of a round */
#define FEWEST_ROUNDS 16u
#define FEWEST_FAILURES 2u /* previews of the loop, before there is a memory */
#define PATIENCE 3u        /* runs in a row in which the memory was of no use */
#define SAME 2u            /* runs in a row without a change, before the loop is remembered as a whole */
#define AHEAD 6u
#define MOST_FETCHED 8u /* stretches of a round */

struct ca_rounds ca_rounds;

static struct ca_memory *current;
static bool is_stopped, is_forced;

bool ca_rounds_reserve(void) {
  ca_rounds.list = ca_map((CA_MOST_ROUNDS + 1ull) * sizeof *ca_rounds.list);
  return ca_rounds.list && ca_notes_reserve();
}

/* Their memory is needed. */
void ca_rounds_stop(void) {
  is_stopped = true;
  if (!ca_rounds.is_running)
    ca_memories_give_up();
}

/* A preview begins. `key` stands for all that enters the loop. */
CA_CALL void ca_rounds_look(uint32_t loop, uint64_t key) {
  ca_rounds.limit = ca_rounds.seen = ca_rounds.num_changed = 0;
  current = 0;
  if (is_stopped || !CA_IS_ACTIVE)
    return;
  struct ca_memory *memory = &ca_memories[((key ^ (key >> 32)) * 0x9e3779b97f4a7c15ull) >> 58];
  if (!memory->key && ca_previews_failed(loop) >= FEWEST_FAILURES) {
    memory->key = key;
    ca_memory_prepare(memory);
  }
  if (memory->key != key || memory->is_given_up)
    return;
  current = memory;
  ca_rounds.hashes = memory->hashes;
  ca_rounds.limit = CA_MOST_ROUNDS;
  ca_places_begin();
}

/* All rounds are recorded. */
static bool start_anew(struct ca_memory *memory) {
  for (uint64_t k = 0; k < ca_rounds.num_changed; k++)
    memory->hashes[ca_rounds.list[k].number] = ca_rounds.list[k].hash;
  for (uint64_t k = 0; ca_rounds.num_changed < ca_rounds.seen && k < ca_rounds.seen; k++)
    ca_rounds.list[k] = (struct ca_round){.number = k, .hash = memory->hashes[k]};
  ca_rounds.num_changed = ca_rounds.seen;
  ca_memory_forget_from(memory, 0);
  memset(memory->hashes, 0, ca_rounds.seen * sizeof *memory->hashes);
  memory->is_ready = false;
  memory->useless++;
  if (memory->useless > PATIENCE || !ca_memories_have_room(ca_rounds.seen) ||
      (ca_has_workspace && ca_places_have_named())) {
    ca_memory_give_up(memory);
    return false;
  }
  memory->digest = ca_places_digest();
  memory->is_ready = true;
  return true;
}

/* Whether it is better to record the loop as a whole, after so many changes. */
static bool is_in_vain(struct ca_memory *memory, uint64_t changed) {
  if (!changed && memory->num_rounds == ca_rounds.seen) {
    memory->same = (memory->same + 1) % (SAME + 1);
    return !memory->same;
  }
  memory->same = 0;
  memory->useless = 2 * ca_rounds.num_changed > ca_rounds.seen ? memory->useless + 1 : 0;
  if (memory->useless <= PATIENCE)
    return false;
  ca_memory_give_up(memory);
  return true;
}

/* The last round runs with hooks: what it leaves in the shadow stays. */
static void add_last(const struct ca_memory *memory) {
  uint64_t last = ca_rounds.seen - 1, count = ca_rounds.num_changed;
  if (!count || ca_rounds.list[count - 1].number != last)
    ca_rounds.list[ca_rounds.num_changed++] = (struct ca_round){.number = last, .hash = memory->hashes[last]};
}

static const struct ca_note *note_at(const struct ca_memory *memory, uint64_t place) {
  return &memory->notes[ca_rounds.list[place].number];
}

/* Begins to fetch what rounds further down the list will need: they are far apart in all tables. */
static void look_ahead(const struct ca_memory *memory, uint64_t place) {
  const struct ca_round *list = ca_rounds.list + place;
  uint64_t left = ca_rounds.num_changed - place;
  if (left > 8 * AHEAD) {
    __builtin_prefetch(note_at(memory, place + 8 * AHEAD), 1);
    __builtin_prefetch(&memory->hashes[list[8 * AHEAD].number], 1);
  }
  if (left > 4 * AHEAD)
    __builtin_prefetch(ca_note_bounds(note_at(memory, place + 4 * AHEAD)));
  if (left <= 2 * AHEAD)
    return;
  const struct ca_note *note = note_at(memory, place + 2 * AHEAD);
  const uint32_t *at = ca_note_bounds(note);
  for (uint32_t k = 0; k < note->count && k < MOST_FETCHED; k++)
    __builtin_prefetch(&ca_state.cells[at[2 * k]], 1);
}

/* Decides how the loop that was previewed is run: true for round by round. */
bool ca_rounds_run(void) {
  struct ca_memory *memory = current;
  uint64_t rounds = ca_rounds.seen;
  ca_rounds.seen = 0; /* whatever comes next was not previewed */
  if (!memory || is_stopped || rounds < FEWEST_ROUNDS || rounds >= ca_rounds.limit || !ca_rounds_may_record())
    return false;
  ca_rounds.seen = rounds;
  bool is_new = !memory->is_ready || memory->digest != ca_places_digest();
  uint64_t changed = ca_rounds.num_changed;
  if (is_new ? !start_anew(memory) : is_in_vain(memory, changed))
    return false;
  add_last(memory);
  if (memory->num_rounds > rounds)
    ca_memory_forget_from(memory, rounds);
  for (uint64_t k = 0; k < ca_rounds.num_changed; k++) {
    struct ca_note *note = &memory->notes[ca_rounds.list[k].number];
    look_ahead(memory, k);
    ca_note_settle(memory, note);
    memory->rows -= ca_note_rows(note);
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
static void predict(const struct ca_note *note) {
  if (note->count) {
    ca_prefix_count_predicted();
    ca_state.cursor = ca_state.cells + ca_note_bounds(note)[0];
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
static void keep(struct ca_memory *memory, const struct ca_round *round) {
  uint32_t found[2 * MOST_STRETCHES];
  uint32_t count = ca_round_recorded(found, MOST_STRETCHES);
  struct ca_note *note = &memory->notes[round->number];
  if (count == UINT32_MAX || !ca_note_write(note, found, count)) {
    ca_memory_forget_round(memory, round->number);
    return;
  }
  memory->hashes[round->number] = round->hash;
  memory->rows += ca_note_rows(note);
}

/* A round changes shadow that others may look at: those behind it run with hooks, and are not counted. */
CA_SLOW static void force(void) {
  struct ca_memory *memory = current;
  uint64_t number = ca_rounds.list[ca_rounds.next].number;
  for (uint64_t k = ca_rounds.next; k < ca_rounds.num_changed; k++)
    memory->rows += ca_note_rows(&memory->notes[ca_rounds.list[k].number]);
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

void ca_rounds_changed(void) {
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
