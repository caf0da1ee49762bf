/* Persistent requests: the description of the call is kept and counted at every start. */
#include "counter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024

typedef struct kept {
  struct kept *next;
  MPI_Request request;
  ca_call call;
} kept;

static kept *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A handle is a number or a pointer, depending on the library. */
static kept **bucket_of(MPI_Request request) {
  uint64_t bits = 0;
  memcpy(&bits, &request, sizeof request);
  return &buckets[(bits * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

static kept **find(MPI_Request request) {
  kept **at = bucket_of(request);
  while (*at && (*at)->request != request)
    at = &(*at)->next;
  return at;
}

void ca_forget(MPI_Request request) {
  pthread_mutex_lock(&lock);
  kept **at = find(request);
  kept *found = *at;
  if (found) {
    *at = found->next;
    free(found->call.transfers);
    free(found);
  }
  pthread_mutex_unlock(&lock);
}

void ca_keep(MPI_Request request, const ca_call *call) {
  ca_forget(request);
  kept *item = malloc(sizeof *item);
  const size_t bytes = (size_t)call->num_transfers * sizeof *call->transfers;
  ca_transfer *transfers = malloc(bytes + 1);
  if (!item || !transfers)
    abort();
  if (bytes)
    memcpy(transfers, call->transfers, bytes);
  *item = (kept){.request = request, .call = *call};
  item->call.transfers = transfers;
  pthread_mutex_lock(&lock);
  kept **bucket = bucket_of(request);
  item->next = *bucket;
  *bucket = item;
  pthread_mutex_unlock(&lock);
}

void ca_started(MPI_Request request) {
  pthread_mutex_lock(&lock);
  const kept *found = *find(request);
  if (found)
    ca_count(&found->call);
  pthread_mutex_unlock(&lock);
}
