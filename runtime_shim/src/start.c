/* Start of the recording: reserving memory, reading the environment. */
#define _GNU_SOURCE
#include "state.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIB (1ull << 40)

static void give_up(const char *reason) {
  dprintf(2, "commanalyzer: cannot record: %s\n", reason);
  _exit(CA_FAILURE_STATUS);
}

static void map_at(uint64_t base, uint64_t bytes, const char *what) {
  void *got = mmap((void *)base, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != (void *)base)
    give_up(what);
  madvise(got, bytes, MADV_DONTDUMP);
}

__attribute__((constructor(1), used)) static void start(void) {
  map_at(CA_SHADOW_BASE, CA_SHADOW_BYTES, "no address space for the shadow memory");
  map_at(CA_CHANGES_BASE, CA_CHANGES_BYTES + CA_COARSE_BYTES, "no address space for the changes of the shadow");
  map_at(CA_ARENA_BASE, CA_ARENA_BYTES, "no address space for the program's heap");
  bool reserved = ca_rows_reserve() && ca_section_reserve(&ca_heads, TIB / 8) &&
                  ca_section_reserve(&ca_labels, TIB) && ca_section_reserve(&ca_groups, TIB / 4) &&
                  ca_section_reserve(&ca_runs, TIB / 4) && ca_section_reserve(&ca_listed, TIB / 2) &&
                  ca_section_reserve(&ca_extents, TIB / 1024) && ca_copies_reserve() &&
                  ca_repeats_reserve() && ca_order_reserve();
  if (!reserved)
    give_up("no address space for the rows");
  ca_name_literals();
  ca_prefer_huge_pages(ca_shadow(ca_word(CA_ARENA_BASE)), DENSE_BYTES * 8 / CA_WORD_BYTES);
  const char *path = ca_trace_prepare(getenv("COMMANALYZER_TRACE"));
  const char *workspace = getenv("COMMANALYZER_WORKSPACE");
  if (workspace)
    ca_lifetimes_prepare(workspace);
  ca_spill_prepare(path, ca_snapshots_stop); /* all columns are reserved: they move together */
  unsetenv("COMMANALYZER_TRACE"); /* the program sees the environment it was given */
  unsetenv("COMMANALYZER_WORKSPACE");
  unsetenv("COMMANALYZER_MEMORY");
  unsetenv("COMMANALYZER_PADDING");
}
