/* End of the recording: writing the trace. */
#define _GNU_SOURCE
#include "state.h"
#include "contexts.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct {
  char path[4096];
  pid_t process; /* that is recorded; 0 when its trace is written */
} trace;

struct section {
  const void *data;
  struct ca_column *column; /* 0 for counters */
  uint64_t count;
  uint64_t size;
};

/* The kernel's own count: what a parent sees (ru_maxrss) contains the memory of the process that forked us. */
static uint64_t peak_rss_bytes(void) {
  char text[4096];
  int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
  const char *line = strstr(text, "VmHWM:");
  return line ? strtoull(line + 6, NULL, 10) * 1024 : 0;
}

/* The magic comes last: it marks the trace as complete. */
static bool write_header(int file, struct ca_trace_header *header) {
  ca_statistics.num_block_counters = ca_num_block_counters;
  ca_statistics.peak_rss_bytes = peak_rss_bytes();
  header->statistics = ca_statistics;
  if (!ca_write_all(file, header, sizeof *header, 0))
    return false;
  header->magic = CA_TRACE_MAGIC;
  return ca_write_all(file, header, sizeof *header, 0);
}

static bool write_trace(int file) {
  ca_trim_extents();
  ca_repeats_settle();
  ca_copies_compact();
  for (uint64_t i = 0; i < ca_num_globals; i++)
    ca_add_extent(CA_EXTENT_GLOBAL, (uint32_t)ca_globals[i].object, (uint64_t)ca_globals[i].start,
                  ca_globals[i].size, 0, 0);
  uint64_t num_sites;
  const struct ca_blocks *blocks = ca_list_blocks(&num_sites);
  const struct section sections[CA_NUM_SECTIONS] = {
      {ca_cells.data, &ca_cells, ca_num_rows, sizeof(struct ca_cell)},
      {ca_heads.data, &ca_heads, ca_heads.bytes / sizeof(struct ca_head), sizeof(struct ca_head)},
      {ca_labels.data, &ca_labels, ca_labels.bytes / 4, 4},
      {ca_groups.data, &ca_groups, ca_groups.bytes / sizeof(struct ca_group), sizeof(struct ca_group)},
      {ca_runs.data, &ca_runs, ca_runs.bytes / sizeof(struct ca_run), sizeof(struct ca_run)},
      {ca_listed.data, &ca_listed, ca_listed.bytes / 8, 8},
      {ca_extents.data, &ca_extents, ca_extents.bytes / sizeof(struct ca_extent), sizeof(struct ca_extent)},
      {ca_block_counters, 0, ca_num_block_counters, 8},
      {ca_external_calls, 0, ca_num_external_calls, 8},
      {ca_copies.data, &ca_copies, ca_copies.bytes / sizeof(struct ca_copy), sizeof(struct ca_copy)},
      {ca_contexts, 0, ca_num_contexts, sizeof(struct ca_context)},
      {blocks, 0, num_sites, sizeof(struct ca_blocks)},
      {ca_order.data, &ca_order, ca_order.bytes / 4, 4},
  };
  const uint64_t spilled_bytes = ca_spilled_bytes();
  struct ca_trace_header header = {.magic = 0, .abi_version = CA_ABI_VERSION, .word_bytes = CA_WORD_BYTES};
  uint64_t offset = 4096;
  ca_index_forget();
  if (!spilled_bytes)
    ca_columns_forget();
  for (uint32_t i = 0; i < CA_NUM_SECTIONS; i++) {
    uint64_t bytes = sections[i].count * sections[i].size;
    header.sections[i].offset = offset;
    header.sections[i].count = sections[i].count;
    if (spilled_bytes && sections[i].column) { /* it is there */
      header.sections[i].offset = sections[i].column->offset;
      continue;
    }
    if (!(sections[i].column ? ca_column_move(sections[i].column, file, bytes, offset)
                             : ca_write_all(file, sections[i].data, bytes, offset)))
      return false;
    offset = (offset + bytes + 63) & ~63ull;
  }
  ca_statistics.recorder_bytes = ca_num_rows * sizeof(struct ca_cell) + ca_heads.bytes + ca_labels.bytes +
                                 ca_groups.bytes + ca_runs.bytes + ca_listed.bytes + ca_copies.bytes;
  ca_statistics.spilled_bytes = spilled_bytes;
  if (spilled_bytes)
    ca_spill_finish(file);
  return write_header(file, &header);
}

/* Exchanges the soft limits of sizes and numbers of files: those of the program are not meant for its trace. */
static void exchange_limits(const int kinds[2], struct rlimit limits[2]) {
  for (int i = 0; i < 2; i++) {
    struct rlimit own = limits[i];
    getrlimit(kinds[i], &own);
    setrlimit(kinds[i], &limits[i]);
    limits[i] = own;
  }
}

static void write_file(void) {
  trace.process = 0;
  int saved = errno;
  const int kinds[2] = {RLIMIT_FSIZE, RLIMIT_NOFILE};
  struct rlimit limits[2];
  for (int i = 0; i < 2; i++) {
    getrlimit(kinds[i], &limits[i]);
    limits[i].rlim_cur = limits[i].rlim_max;
  }
  exchange_limits(kinds, limits);
  struct sigaction ignored = {.sa_handler = SIG_IGN}, known; /* should the hard limit be too low */
  sigaction(SIGXFSZ, &ignored, &known);
  int file = open(trace.path, O_RDWR | O_CREAT | (ca_spilled_bytes() ? 0 : O_TRUNC) | O_CLOEXEC, 0600);
  if (file >= 0) {
    if (!write_trace(file))
      (void)!ftruncate(file, 0); /* the reader reports a truncated trace */
    close(file);
  }
  sigaction(SIGXFSZ, &known, 0);
  exchange_limits(kinds, limits);
  errno = saved;
}

void ca_finish(void) {
  if (!trace.path[0] || getpid() != trace.process)
    return;
  write_file();
}

/* Where the trace will be: "" if nobody asked for one. */
const char *ca_trace_prepare(const char *path) {
  if (path && strlen(path) < sizeof trace.path)
    strcpy(trace.path, path);
  trace.process = getpid();
  atexit(ca_finish);
  at_quick_exit(ca_finish);
  return trace.path;
}

/* The program is about to start a thread: two threads would record into each other, so the run ends here. The
 * trace says which function was called; the reader refuses it. */
__attribute__((noreturn, used)) void ca_refuse_thread(void) {
  ca_finish();
  _exit(CA_FAILURE_STATUS);
}

/* _exit and _Exit skip the exit handlers; what has no room for an optional recording does not wait for them. */
__attribute__((noreturn, used)) void ca_exit_now(int status) {
  ca_finish();
  _exit(status);
}
