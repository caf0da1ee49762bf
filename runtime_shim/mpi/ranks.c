/* Communicators and windows as world ranks, and their names; cached in attributes. */
#include "counter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_CHARS 256

static int comm_key = MPI_KEYVAL_INVALID, win_key = MPI_KEYVAL_INVALID;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int64_t ca_bytes(int64_t count, MPI_Datatype type) {
  MPI_Count bytes = 0;
  if (count <= 0 || type == MPI_DATATYPE_NULL)
    return 0;
  CA_REAL(PMPI_Type_size_x)(type, &bytes);
  return bytes > 0 ? count * (int64_t)bytes : 0;
}

static int free_comm_ranks(MPI_Comm comm, int key, void *value, void *state) {
  (void)comm, (void)key, (void)state;
  free(value);
  return MPI_SUCCESS;
}

static int free_window_ranks(MPI_Win window, int key, void *value, void *state) {
  (void)window, (void)key, (void)state;
  free(value);
  return MPI_SUCCESS;
}

/* Ranks as ranges: "4 ranks 0-2,5"; long lists end in a number that tells them apart. */
static void describe_members(char *text, size_t room, const ca_ranks *ranks) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (int i = 0; i < ranks->num_peers; i++)
    hash = (hash ^ (uint32_t)ranks->world[i]) * UINT64_C(0x100000001b3);
  size_t used = (size_t)snprintf(text, room, "%d ranks ", ranks->num_peers);
  for (int i = 0; i < ranks->num_peers; i++) {
    const int first = i;
    while (i + 1 < ranks->num_peers && ranks->world[i + 1] == ranks->world[i] + 1)
      i++;
    if (used + 48 > room) {
      snprintf(text + used, room - used, "...#%08x", (unsigned)(hash ^ (hash >> 32)));
      return;
    }
    used += (size_t)snprintf(text + used, room - used, "%s%d", first ? "," : "", ranks->world[first]);
    if (i > first)
      used += (size_t)snprintf(text + used, room - used, "-%d", ranks->world[i]);
  }
}

static ca_ranks *ranks_of_group(MPI_Group group, const char *name) {
  int num = 0;
  MPI_Group world;
  CA_REAL(PMPI_Group_size)(group, &num);
  ca_ranks *ranks = calloc(1, sizeof *ranks + (size_t)num * sizeof(int32_t));
  int *own = malloc(((size_t)num + 1) * sizeof *own);
  if (!ranks || !own)
    abort();
  ranks->num_peers = num;
  for (int i = 0; i < num; i++)
    own[i] = i;
  CA_REAL(PMPI_Comm_group)(MPI_COMM_WORLD, &world);
  CA_REAL(PMPI_Group_translate_ranks)(group, num, own, world, ranks->world);
  CA_REAL(PMPI_Group_free)(&world);
  for (int i = 0; i < num; i++)
    if (ranks->world[i] == MPI_UNDEFINED)
      ranks->world[i] = -1;
  free(own);
  char members[LABEL_CHARS], label[LABEL_CHARS + MPI_MAX_OBJECT_NAME + 8];
  describe_members(members, sizeof members, ranks);
  if (name[0] && strcmp(name, "MPI_COMM_WORLD") != 0 && strcmp(name, "MPI_COMM_SELF") != 0)
    snprintf(label, sizeof label, "%s (%s)", name, members);
  else
    snprintf(label, sizeof label, "%s", name[0] ? name : members);
  ranks->label = ca_text(label);
  return ranks;
}

static ca_ranks *new_ranks_of(MPI_Comm comm) {
  char name[MPI_MAX_OBJECT_NAME + 1] = "";
  int length = 0, is_inter = 0, me = 0;
  MPI_Group group;
  CA_REAL(PMPI_Comm_get_name)(comm, name, &length);
  CA_REAL(PMPI_Comm_test_inter)(comm, &is_inter);
  CA_REAL(PMPI_Comm_rank)(comm, &me);
  if (is_inter)
    CA_REAL(PMPI_Comm_remote_group)(comm, &group);
  else
    CA_REAL(PMPI_Comm_group)(comm, &group);
  ca_ranks *ranks = ranks_of_group(group, name);
  CA_REAL(PMPI_Group_free)(&group);
  ranks->me = me;
  ranks->is_inter = is_inter;
  return ranks;
}

const ca_ranks *ca_ranks_of(MPI_Comm comm) {
  void *cached = NULL;
  int is_set = 0;
  pthread_mutex_lock(&lock);
  if (comm_key == MPI_KEYVAL_INVALID)
    CA_REAL(PMPI_Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, free_comm_ranks, &comm_key, NULL);
  CA_REAL(PMPI_Comm_get_attr)(comm, comm_key, &cached, &is_set);
  if (!is_set) {
    cached = new_ranks_of(comm);
    CA_REAL(PMPI_Comm_set_attr)(comm, comm_key, cached);
  }
  pthread_mutex_unlock(&lock);
  return cached;
}

const ca_ranks *ca_ranks_of_window(MPI_Win window) {
  void *cached = NULL;
  int is_set = 0;
  pthread_mutex_lock(&lock);
  if (win_key == MPI_KEYVAL_INVALID)
    CA_REAL(PMPI_Win_create_keyval)(MPI_WIN_NULL_COPY_FN, free_window_ranks, &win_key, NULL);
  CA_REAL(PMPI_Win_get_attr)(window, win_key, &cached, &is_set);
  if (!is_set) {
    MPI_Group group;
    CA_REAL(PMPI_Win_get_group)(window, &group);
    cached = ranks_of_group(group, "");
    CA_REAL(PMPI_Group_free)(&group);
    CA_REAL(PMPI_Win_set_attr)(window, win_key, cached);
  }
  pthread_mutex_unlock(&lock);
  return cached;
}
