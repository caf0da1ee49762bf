/* Workspaces: memory that is used for one element after the other. Which words these are is known from a first
 * recording (commanalyzer/graph/contraction/workspaces.py); what lives there is in lifetimes.c. */
#include "state.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct ca_workspaces ca_workspace;

static bool read_all(int file, void *data, uint64_t bytes) {
  unsigned char *at = data;
  while (bytes) {
    ssize_t got = read(file, at, bytes);
    if (got <= 0)
      return false;
    at += got;
    bytes -= (uint64_t)got;
  }
  return true;
}

/* Reads the list; false without it, or without memory. */
bool ca_workspace_read(const char *path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  bool is_read = read_all(file, &ca_workspace.header, sizeof ca_workspace.header);
  uint64_t bytes = ca_workspace.header.num_pieces * sizeof *ca_workspace.pieces;
  ca_workspace.pieces = ca_map(bytes ? bytes : 1);
  ca_workspace.marks = ca_map((CA_ADDRESS_MASK + 1) / 4);
  is_read = is_read && ca_workspace.pieces && ca_workspace.marks && read_all(file, ca_workspace.pieces, bytes);
  close(file);
  return is_read;
}

static bool precedes(const struct ca_piece *piece, const struct ca_extent *extent) {
  if (piece->kind != extent->kind)
    return piece->kind < extent->kind;
  if (piece->object != extent->object)
    return piece->object < extent->object;
  if (piece->depth != extent->depth)
    return piece->depth < extent->depth;
  return piece->last <= extent->offset;
}

/* Marks the workspace words of memory that just got its name. */
void ca_workspace_extent(const struct ca_extent *extent) {
  uint64_t low = 0, high = ca_workspace.header.num_pieces;
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    if (precedes(&ca_workspace.pieces[middle], extent))
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < ca_workspace.header.num_pieces; low++) {
    const struct ca_piece *piece = &ca_workspace.pieces[low];
    if (piece->kind != extent->kind || piece->object != extent->object || piece->depth != extent->depth ||
        piece->first >= extent->offset + extent->size)
      return;
    uint64_t first = piece->first > extent->offset ? piece->first - extent->offset : 0;
    uint64_t last = piece->last - extent->offset < extent->size ? piece->last - extent->offset : extent->size;
    uint64_t word = ca_word(extent->start + first), words = first < last ? (last - first + 3) / 4 : 0;
    memset(ca_workspace.marks + word, 1, words);
    ca_set_states(word, words, CA_NOTHING);
  }
}

/* From now on there are workspaces. */
void ca_workspace_begin(void) {
  ca_workspace.exists = true;
  for (uint64_t i = 0; i < ca_num_globals; i++)
    ca_workspace_extent(&(struct ca_extent){(uint64_t)ca_globals[i].start, ca_globals[i].size, 0,
                                            (uint32_t)ca_globals[i].object, CA_EXTENT_GLOBAL, 0});
}

bool ca_has_workspace_in(uint64_t word, uint64_t words) {
  return ca_workspace.exists && memchr(ca_workspace.marks + word, 1, words);
}
