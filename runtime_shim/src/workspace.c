/* Workspaces: memory that is used for one element after the other. Which words these are is known from a first
 * recording (commanalyzer/graph/contraction/workspaces.py); what lives there is in lifetimes.c. */
#include "state.h"
#include <stdio.h>
#include <string.h>

struct ca_workspaces ca_workspace;

/* Reads the list; false without it, or without memory. */
bool ca_workspace_read(const char *path) {
  FILE *file = fopen(path, "re");
  if (!file)
    return false;
  bool is_read = fread(&ca_workspace.header, sizeof ca_workspace.header, 1, file) == 1;
  uint64_t count = ca_workspace.header.num_pieces;
  ca_workspace.pieces = ca_map((count + 1) * sizeof *ca_workspace.pieces);
  ca_workspace.marks = ca_map(CA_WORD_MASK + 1);
  is_read = is_read && ca_workspace.pieces && ca_workspace.marks &&
            fread(ca_workspace.pieces, sizeof *ca_workspace.pieces, count, file) == count;
  fclose(file);
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
    uint64_t word = ca_word(extent->start + first), words = first < last ? ca_words(last - first) : 0;
    memset(ca_workspace.marks + word, 1, words);
    ca_set_states(word, words, CA_NOTHING);
  }
}

/* From now on there are workspaces. */
void ca_workspace_begin(void) {
  ca_workspace.exists = true;
  for (uint64_t i = 0; i < ca_num_globals; i++) {
    uint64_t start = (uint64_t)ca_globals[i].start, size = ca_globals[i].size, object = ca_globals[i].object;
    if (object >> 32)
      memset(ca_workspace.marks + ca_word(start), CA_LITERAL, ca_words(size));
    ca_workspace_extent(&(struct ca_extent){start, size, 0, (uint32_t)object, CA_EXTENT_GLOBAL, 0});
  }
}

bool ca_has_workspace_in(uint64_t word, uint64_t words) {
  return ca_workspace.exists && memchr(ca_workspace.marks + word, 1, words);
}
