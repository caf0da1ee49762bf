/* Counters of one process: strings, regions, transfers, calls; start, end, writing the file. */
#define _GNU_SOURCE
#include "counter.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DEPTH 64
#define MAX_PATH_CHARS 4096
#define OFF "\2" /* region of what is sent while MPI_Pcontrol(0) holds */

typedef struct {
  int64_t bytes, messages;
} traffic;

/* Per region: traffic[layer][is_sent][peer]. */
typedef struct {
  uint32_t text;
  traffic *cells;
} region;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int depth;
static int rank = -1, size, is_written;
static pid_t owner; /* a forked child must not report for its parent */
static char **texts;
static uint32_t num_texts;
static region *regions;
static uint32_t num_regions, current;
static const char *open_names[MAX_DEPTH];
static int num_open, is_off, is_inside; /* the function that COMMANALYZER_REGION names */
static ca_file_call *calls;
static uint64_t num_calls, room_calls;
static uint32_t *slots; /* hash table over calls, entry + 1 */
static uint64_t num_slots;

static void *grown(void *memory, size_t bytes) {
  void *larger = realloc(memory, bytes);
  if (!larger) {
    fprintf(stderr, "commanalyzer: out of memory in the byte counter\n");
    abort();
  }
  return larger;
}

int ca_enter(void) { return depth++ == 0 && rank >= 0; }

void ca_leave(void) { depth--; }

void *ca_next(const char *symbol) {
  void *found = dlsym(RTLD_NEXT, symbol);
  if (!found) {
    fprintf(stderr, "commanalyzer: the MPI library has no %s\n", symbol);
    abort();
  }
  return found;
}

static uint32_t text_number(const char *text) {
  for (uint32_t i = 0; i < num_texts; i++)
    if (strcmp(texts[i], text) == 0)
      return i;
  texts = grown(texts, (num_texts + 1) * sizeof *texts);
  texts[num_texts] = strdup(text);
  return num_texts++;
}

uint32_t ca_text(const char *text) {
  pthread_mutex_lock(&lock);
  const uint32_t number = text_number(text);
  pthread_mutex_unlock(&lock);
  return number;
}

/* --- regions --- */

static void enter_region(uint32_t text) {
  for (current = 0; current < num_regions; current++)
    if (regions[current].text == text)
      return;
  regions = grown(regions, (num_regions + 1) * sizeof *regions);
  traffic *cells = calloc((size_t)CA_LAYERS * 2 * (size_t)(size > 0 ? size : 1), sizeof *cells);
  if (!cells)
    grown(NULL, SIZE_MAX);
  regions[num_regions++] = (region){text, cells};
}

static void choose_region(void) {
  char path[MAX_PATH_CHARS] = OFF;
  size_t used = 0;
  if (!is_off) {
    path[0] = 0;
    for (int i = 0; i < num_open && used < sizeof path; i++)
      used += (size_t)snprintf(path + used, sizeof path - used, "%s%s", i ? "\1" : "", open_names[i]);
    if (is_inside && used < sizeof path)
      snprintf(path + used, sizeof path - used, "%s%s", used ? "\1" : "", getenv("COMMANALYZER_REGION"));
  }
  enter_region(text_number(path));
}

static void change_region(const char *name, int begins) {
  pthread_mutex_lock(&lock);
  if (begins && num_open < MAX_DEPTH) {
    open_names[num_open++] = strdup(name ? name : "");
  } else if (!begins) {
    int at = num_open - 1;
    while (at >= 0 && name && strcmp(open_names[at], name) != 0)
      at--;
    if (at >= 0) {
      free((char *)open_names[at]);
      memmove(open_names + at, open_names + at + 1, (size_t)(--num_open - at) * sizeof *open_names);
    }
  }
  if (rank >= 0)
    choose_region();
  pthread_mutex_unlock(&lock);
}

/* Marks of commanalyzer.h. */
void commanalyzer_region_begin(const char *name);
void commanalyzer_region_end(const char *name);
void commanalyzer_region_begin(const char *name) { change_region(name, 1); }
void commanalyzer_region_end(const char *name) { change_region(name, 0); }

/* MPI standard: 0 disables profiling, 1 and more enable it. Further arguments are not read. */
int MPI_Pcontrol(const int level, ...) {
  pthread_mutex_lock(&lock);
  is_off = level == 0;
  if (rank >= 0)
    choose_region();
  pthread_mutex_unlock(&lock);
  return MPI_SUCCESS;
}
CA_EXPORT(Pcontrol)

/* --- counting --- */

static int is_row(const ca_file_call *row, uint32_t where, const ca_call *call) {
  return row->region == where && row->name == call->name && row->label == call->label &&
         row->root == call->root;
}

static uint64_t hash_of(uint32_t where, uint32_t name, uint32_t label, int64_t root) {
  uint64_t hash = where * UINT64_C(0x9e3779b97f4a7c15);
  hash = (hash ^ name) * UINT64_C(0xff51afd7ed558ccd);
  hash = (hash ^ label) * UINT64_C(0xc4ceb9fe1a85ec53);
  hash = (hash ^ (uint64_t)root) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ (hash >> 29);
}

static void rehash(void) {
  num_slots = num_slots ? 2 * num_slots : 256;
  slots = grown(slots, num_slots * sizeof *slots);
  memset(slots, 0, num_slots * sizeof *slots);
  for (uint64_t i = 0; i < num_calls; i++) {
    const ca_file_call *row = &calls[i];
    uint64_t at = hash_of(row->region, row->name, row->label, row->root) % num_slots;
    while (slots[at])
      at = (at + 1) % num_slots;
    slots[at] = (uint32_t)i + 1;
  }
}

static ca_file_call *row_of(uint32_t where, const ca_call *call) {
  if (2 * (num_calls + 1) > num_slots)
    rehash();
  uint64_t at = hash_of(where, call->name, call->label, call->root) % num_slots;
  for (; slots[at]; at = (at + 1) % num_slots)
    if (is_row(&calls[slots[at] - 1], where, call))
      return &calls[slots[at] - 1];
  if (num_calls == room_calls) {
    room_calls = 2 * room_calls + 64;
    calls = grown(calls, room_calls * sizeof *calls);
  }
  ca_file_call *row = &calls[num_calls++];
  *row = (ca_file_call){.region = where, .layer = call->layer, .name = call->name};
  row->label = call->label;
  row->root = call->root;
  slots[at] = (uint32_t)num_calls;
  return row;
}

void ca_count(const ca_call *call) {
  const int inside = ca_is_inside();
  pthread_mutex_lock(&lock);
  if (inside != is_inside) {
    is_inside = inside;
    choose_region();
  }
  region *here = &regions[current];
  ca_file_call *row = row_of(here->text, call);
  row->operations += call->operations;
  row->given_bytes += call->given_bytes;
  for (int64_t i = 0; i < call->num_transfers; i++) {
    const ca_transfer *item = &call->transfers[i];
    if (item->peer == rank) {
      row->self_bytes += item->bytes;
    } else if (item->peer < 0) {
      row->unknown_bytes += item->bytes;
    } else {
      traffic *cell = &here->cells[((int)call->layer * 2 + item->is_sent) * size + item->peer];
      cell->bytes += item->bytes;
      cell->messages++;
      row->charged_bytes += item->bytes;
    }
  }
  pthread_mutex_unlock(&lock);
}

/* --- start and end --- */

void ca_start(void) {
  if (rank >= 0)
    return;
  owner = getpid();
  CA_REAL(PMPI_Comm_size)(MPI_COMM_WORLD, &size);
  ca_find_functions(getenv("COMMANALYZER_REGION"));
  pthread_mutex_lock(&lock);
  CA_REAL(PMPI_Comm_rank)(MPI_COMM_WORLD, &rank);
  choose_region();
  pthread_mutex_unlock(&lock);
}

static uint64_t put_transfers(FILE *file, const region *from) {
  uint64_t written = 0;
  for (int i = 0; i < CA_LAYERS * 2 * size; i++) {
    const traffic cell = from->cells[i];
    if (!cell.messages)
      continue;
    const int peer = i % size, is_sent = i / size % 2;
    const ca_file_transfer item = {
        from->text,   (uint32_t)(i / size / 2), is_sent ? rank : peer, is_sent ? peer : rank, cell.bytes,
        cell.messages};
    fwrite(&item, sizeof item, 1, file);
    written++;
  }
  return written;
}

/* The magic is written last: a file without it is incomplete. */
void ca_write(uint32_t flags) {
  const char *folder = getenv("COMMANALYZER_COUNTS");
  if (!folder || rank < 0 || is_written || getpid() != owner)
    return;
  is_written = 1;
  char path[MAX_PATH_CHARS];
  snprintf(path, sizeof path, "%s/rank-%d-%ld.counts", folder, rank, (long)getpid());
  FILE *file = fopen(path, "wb");
  if (!file)
    return;
  ca_file_header header = {.rank = rank, .size = size, .flags = flags, .num_calls = num_calls};
  fwrite(&header, sizeof header, 1, file);
  for (uint32_t i = 0; i < num_regions; i++)
    header.num_transfers += put_transfers(file, &regions[i]);
  fwrite(calls, sizeof *calls, num_calls, file);
  for (uint32_t i = 0; i < num_texts; i++) {
    const size_t length = strlen(texts[i]) + 1;
    fwrite(texts[i], 1, length, file);
    header.text_bytes += length;
  }
  header.magic = CA_COUNTS_MAGIC;
  rewind(file);
  fwrite(&header, sizeof header, 1, file);
  fclose(file);
}

/* A process that ends without MPI_Finalize still tells what it counted. */
__attribute__((destructor)) static void at_exit(void) { ca_write(0); }
