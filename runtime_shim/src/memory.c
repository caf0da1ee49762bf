/* Memory of the recorder: columns, which move into the trace when they outgrow the memory.
 *
 * They start as anonymous memory. When the memory that only this process can hold exceeds half of what it may
 * use, the trace becomes a sparse file in which every column has a place of its own, and the columns are mapped
 * from there: the kernel can write them out, nothing is copied at the end. What was filled is sent to the disk
 * and leaves the process's tables; it comes back by itself when it is looked at.
 *
 *   trace:  header | counters | cells | heads | ... | columns of the recorder only
 *                               each at a multiple of 2 MiB, with room for its capacity; holes cost nothing
 */
#define _GNU_SOURCE
#include "state.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define STEP (1ull << 21)
#define MOST_COLUMNS 32u
#define CHECKED_BYTES (1ull << 23) /* growth after which the memory is looked at */
#define FIRST_SECTION 4096u
#define NEVER UINT64_MAX

struct ca_column ca_cells, ca_heads, ca_labels, ca_groups, ca_runs, ca_listed, ca_extents;
struct ca_statistics ca_statistics;
struct ca_state ca_state;

static struct {
  struct ca_column *columns[MOST_COLUMNS];
  uint32_t num_columns;
  const char *path; /* of the trace */
  uint64_t allowed; /* bytes */
  uint64_t grown;   /* bytes since it was looked at */
  void (*give_back)(void);
  bool is_spilled, is_finished, is_copy;
} memory = {.allowed = NEVER};

/* The environment says what the process may use; without it, or without a trace, nothing is spilled. When memory
 * is short, `give_back` is called. */
void ca_spill_prepare(const char *path, void (*give_back)(void)) {
  const char *allowed = getenv("COMMANALYZER_MEMORY");
  memory.path = path;
  memory.give_back = give_back;
  if (allowed && path[0])
    memory.allowed = strtoull(allowed, NULL, 10);
}

/* Memory that the process may use; UINT64_MAX if nobody said. */
uint64_t ca_memory_allowed(void) { return memory.allowed; }

void *ca_map(uint64_t bytes) {
  void *data = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return data == MAP_FAILED ? 0 : data;
}

#define HUGE_FROM (1ull << 21)

/* Large tables are faulted in by large pages; what small programs use of them stays small. */
void ca_prefer_huge_pages(void *data, uint64_t bytes) {
  if (bytes > HUGE_FROM)
    madvise((unsigned char *)data + HUGE_FROM, bytes - HUGE_FROM, MADV_HUGEPAGE);
}

/* Memory of a table that is going to be filled. */
void *ca_table(uint64_t bytes) {
  void *data = ca_map(bytes);
  if (data)
    ca_prefer_huge_pages(data, bytes);
  return data;
}

bool ca_write_all(int file, const void *data, uint64_t bytes, uint64_t offset) {
  const unsigned char *at = data;
  while (bytes) {
    ssize_t done = pwrite(file, at, bytes > (1u << 30) ? 1u << 30 : bytes, (off_t)offset);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return false;
    at += done;
    bytes -= (uint64_t)done;
    offset += (uint64_t)done;
  }
  return true;
}

void ca_unmap(void *data, uint64_t bytes) { munmap(data, bytes); }

void *ca_column_push(struct ca_column *column, uint64_t bytes) {
  if (!ca_column_room(column, bytes))
    return 0;
  void *at = column->data + column->bytes;
  column->bytes += bytes;
  return at;
}

static uint64_t rounded(uint64_t bytes) { return (bytes + STEP - 1) & ~(STEP - 1); }

/* Resident bytes: all, and those that are pages of files. */
static bool resident(uint64_t *all, uint64_t *of_files) {
  char text[256];
  int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
  char *at;
  strtoull(text, &at, 10); /* the whole address space */
  *all = strtoull(at, &at, 10) * 4096;
  *of_files = strtoull(at, &at, 10) * 4096;
  return length > 0;
}

static bool map_columns(int file, int sharing) {
  for (uint32_t i = 0; i < memory.num_columns; i++) {
    const struct ca_column *column = memory.columns[i];
    const int flags = MAP_FIXED | MAP_NORESERVE | sharing;
    if (mmap(column->data, column->capacity, PROT_READ | PROT_WRITE, flags, file, (off_t)column->offset) ==
        MAP_FAILED)
      return false;
    madvise(column->data, column->capacity, MADV_DONTDUMP);
  }
  return true;
}

/* A forked child records on into its own copy. */
static void copy_in_child(void) {
  int file = open(memory.path, O_RDWR | O_CLOEXEC);
  memory.is_copy = true;
  if (file < 0 || !map_columns(file, MAP_PRIVATE))
    _exit(CA_FAILURE_STATUS);
  close(file);
}

/* Places of the columns; those of the trace come first, then those that only the recorder needs. */
static uint64_t place_columns(void) {
  uint64_t counters = (ca_num_block_counters + ca_num_external_calls) * sizeof(uint64_t) + 128;
  uint64_t offset = rounded(FIRST_SECTION + counters);
  for (uint32_t pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < memory.num_columns; i++)
      if (memory.columns[i]->is_section == (pass == 0)) {
        memory.columns[i]->offset = offset;
        offset += rounded(memory.columns[i]->capacity);
      }
  return offset;
}

static bool fill_file(int file, uint64_t size) {
  struct rlimit limit; /* beyond it, a signal would end the program */
  if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < size || ftruncate(file, (off_t)size))
    return false;
  for (uint32_t i = 0; i < memory.num_columns; i++)
    if (!ca_write_all(file, memory.columns[i]->data, memory.columns[i]->bytes, memory.columns[i]->offset))
      return false;
  return true;
}

static void spill(void) {
  memory.give_back();
  int file = open(memory.path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0)
    return;
  if (!fill_file(file, place_columns()) || pthread_atfork(NULL, NULL, copy_in_child)) {
    (void)!ftruncate(file, 0);
    memory.allowed = NEVER; /* it was worth a try */
  } else if (map_columns(file, MAP_SHARED)) {
    memory.is_spilled = true;
  } else {
    _exit(CA_FAILURE_STATUS); /* some columns are gone */
  }
  close(file);
}

/* Pages of the columns leave the process; the kernel writes them out when it needs their memory. */
static void release_pages(void) {
  for (uint32_t i = 0; i < memory.num_columns; i++)
    if (memory.columns[i]->ready)
      madvise(memory.columns[i]->data, memory.columns[i]->ready, MADV_DONTNEED);
}

void ca_spill_check(void) {
  uint64_t all, of_files;
  int saved = errno;
  if (memory.allowed == NEVER || memory.is_copy || memory.is_finished || !resident(&all, &of_files)) {
    errno = saved;
    return;
  }
  if (!memory.is_spilled && all - of_files > memory.allowed / 2)
    spill();
  else if (memory.is_spilled && of_files > memory.allowed / 4)
    release_pages();
  errno = saved;
}

/* Room on the disk for the next step, so that writing to it cannot fail; the step before goes there now. */
static bool extend_file(const struct ca_column *column, uint64_t ready) {
  int file = open(memory.path, O_RDWR | O_CLOEXEC);
  if (file < 0)
    return false;
  uint64_t more = ready - column->ready, at = column->offset + column->ready;
  bool has_room = !posix_fallocate(file, (off_t)at, (off_t)more);
  if (has_room && column->ready) {
    sync_file_range(file, (off_t)(at - STEP), STEP, SYNC_FILE_RANGE_WRITE);
    madvise(column->data + column->ready - STEP, STEP, MADV_DONTNEED);
  }
  close(file);
  return has_room;
}

/* Makes a column ready for so many bytes. */
CA_SLOW bool ca_column_extend(struct ca_column *column, uint64_t bytes) {
  uint64_t ready = rounded(bytes);
  if (bytes > column->capacity)
    return false;
  memory.grown += ready - column->ready;
  if (memory.grown > CHECKED_BYTES) {
    memory.grown = 0;
    ca_spill_check();
  }
  int saved = errno;
  bool has_room = !memory.is_spilled || memory.is_copy || memory.is_finished || extend_file(column, ready);
  errno = saved;
  if (has_room)
    column->ready = ready;
  return has_room;
}

bool ca_column_reserve(struct ca_column *column, uint64_t capacity) {
  *column = (struct ca_column){.data = ca_map(capacity), .capacity = capacity};
  if (!column->data || memory.num_columns == MOST_COLUMNS)
    return false;
  ca_prefer_huge_pages(column->data, capacity);
  memory.columns[memory.num_columns++] = column;
  return true;
}

/* Writes a section to the trace. Its memory is given back on the way: the pages of the file take its place, so
 * that no further memory is touched, which is expensive where the machine is a virtual one. */
bool ca_column_move(struct ca_column *column, int file, uint64_t bytes, uint64_t offset) {
  for (uint64_t done = 0, next; done < bytes; done = next) {
    next = (done & ~(STEP - 1)) + STEP;
    next = next < bytes ? next : bytes;
    if (!ca_write_all(file, column->data + done, next - done, offset + done))
      return false;
    madvise(column->data + done, next - done, MADV_DONTNEED);
  }
  return true;
}

/* Gives back the memory of the columns that are not part of the trace. What the process still records finds
 * them empty, as if nothing was known. */
void ca_columns_forget(void) {
  for (uint32_t i = 0; i < memory.num_columns; i++)
    if (!memory.columns[i]->is_section)
      madvise(memory.columns[i]->data, memory.columns[i]->ready, MADV_DONTNEED);
}

/* A column of the trace. */
bool ca_section_reserve(struct ca_column *column, uint64_t capacity) {
  bool reserved = ca_column_reserve(column, capacity);
  column->is_section = true;
  return reserved;
}

/* Bytes of the columns in the file; 0 if there is none. */
uint64_t ca_spilled_bytes(void) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; memory.is_spilled && i < memory.num_columns; i++)
    bytes += memory.columns[i]->bytes;
  return bytes;
}

/* The trace is complete: what the process still records goes to memory of its own. The file keeps the columns
 * of the trace. */
void ca_spill_finish(int file) {
  uint64_t end = UINT64_MAX;
  memory.is_finished = true;
  if (!map_columns(file, MAP_PRIVATE))
    _exit(CA_FAILURE_STATUS);
  for (uint32_t i = 0; i < memory.num_columns; i++)
    if (!memory.columns[i]->is_section) {
      const int flags = MAP_FIXED | MAP_NORESERVE | MAP_PRIVATE | MAP_ANONYMOUS;
      mmap(memory.columns[i]->data, memory.columns[i]->capacity, PROT_READ | PROT_WRITE, flags, -1, 0);
      end = memory.columns[i]->offset < end ? memory.columns[i]->offset : end;
    }
  (void)!ftruncate(file, (off_t)end);
}
