/* Byte counter for MPI programs: what the wrappers of MPI calls tell the counter, and what a rank writes.
 *
 * A wrapper describes one call as a list of transfers between world ranks. The description is either counted
 * at once or kept with a persistent request and counted at every start.
 */
#ifndef COMMANALYZER_MPI_COUNTER_H
#define COMMANALYZER_MPI_COUNTER_H

#include <mpi.h>
#include <stdint.h>

#define CA_COUNTS_MAGIC UINT64_C(0x00315450434d4143) /* "CAMCPT1" */

/* Open MPI 5 has most of MPI 4 but still calls itself 3.1. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define CA_HAS_MPI4 1
#else
#define CA_HAS_MPI4 0
#endif

typedef enum { CA_POINT_TO_POINT, CA_ONE_SIDED, CA_COLLECTIVE, CA_LAYERS } ca_layer;

/* Members of a communicator or window as world ranks; cached in an attribute of it. */
typedef struct {
  int32_t num_peers;
  int32_t me;       /* rank of this process in it */
  int32_t is_inter; /* peers are the remote group */
  uint32_t label;   /* text */
  int32_t world[];  /* -1: not in this MPI_COMM_WORLD */
} ca_ranks;

/* One transfer between this process and a peer. */
typedef struct {
  int32_t peer; /* world rank, -1 unknown */
  int32_t is_sent;
  int64_t bytes;
} ca_transfer;

/* One call of the program, under construction. */
typedef struct {
  ca_layer layer;
  uint32_t name;
  uint32_t label;
  int32_t root;       /* world rank, -1 none */
  int32_t operations; /* 1 where the call is counted: every process, or comm rank 0 of a collective */
  int64_t given_bytes;
  int64_t num_transfers;
  int64_t room;
  ca_transfer *transfers;
} ca_call;

/* --- file that a rank writes: header, transfers, calls, text (strings separated by NUL) --- */

enum { CA_FLAG_FINALIZED = 1, CA_FLAG_ABORTED = 2, CA_FLAG_SPAWNED = 4 };

typedef struct {
  uint64_t magic;
  int32_t rank, size;
  uint32_t flags, reserved;
  uint64_t num_transfers, num_calls, text_bytes;
} ca_file_header;

typedef struct {
  uint32_t region, layer; /* region: text, names of open regions joined by '\1' */
  int32_t source, target; /* world ranks */
  int64_t bytes, messages;
} ca_file_transfer;

typedef struct {
  uint32_t region, layer, name, label;
  int64_t root, operations, given_bytes, charged_bytes, self_bytes, unknown_bytes;
} ca_file_call;

/* --- state.c --- */
int ca_enter(void); /* 1 when the program itself calls, 0 inside another MPI call */
void ca_leave(void);
void *ca_next(const char *symbol);
void ca_start(void);
void ca_write(uint32_t flags);
uint32_t ca_text(const char *text);
void ca_count(const ca_call *call);

/* --- functions.c --- */
void ca_find_functions(const char *name);
int ca_is_inside(void); /* 1 while a function of that name is running */

/* --- ranks.c --- */
const ca_ranks *ca_ranks_of(MPI_Comm comm);
const ca_ranks *ca_ranks_of_window(MPI_Win window);
int64_t ca_bytes(int64_t count, MPI_Datatype type);

/* --- describe.c: `ranks` are of the communicator, peers are ranks in it --- */
ca_call *ca_describe(ca_layer layer, uint32_t name, const ca_ranks *ranks);
void ca_sent(ca_call *call, const ca_ranks *ranks, int peer, int64_t bytes);
void ca_received(ca_call *call, const ca_ranks *ranks, int peer, int64_t bytes);
ca_call *ca_describe_collective(uint32_t name, const ca_ranks *ranks, int root, int64_t given_bytes);
void ca_to_root(ca_call *call, const ca_ranks *ranks, int root, int64_t bytes);
void ca_from_root(ca_call *call, const ca_ranks *ranks, int root, int64_t bytes);

/* --- requests.c --- */
void ca_keep(MPI_Request request, const ca_call *call);
void ca_started(MPI_Request request);
void ca_forget(MPI_Request request);

/* --- neighbours.c: ranks in `comm` from which neighbourhood calls receive, in their order --- */
int ca_sources(MPI_Comm comm, const int **sources);

/* The real function behind a wrapper. */
#define CA_TEXT_OF(symbol) #symbol
#define CA_REAL(function)                                                                                      \
  ({                                                                                                           \
    static __typeof__(&function) real;                                                                         \
    if (!real)                                                                                                 \
      real = (__typeof__(&function))ca_next(CA_TEXT_OF(function));                                             \
    real;                                                                                                      \
  })

/* Open MPI's Fortran library calls PMPI_ functions: they are replaced too. MPICH's calls MPI_ functions. */
#ifdef OPEN_MPI
#define CA_EXPORT(name) extern __typeof__(PMPI_##name) PMPI_##name __attribute__((alias("MPI_" #name)));
#else
#define CA_EXPORT(name)
#endif

/* Defines MPI_<name>; `after` is executed when the program's own call has succeeded. */
#define CA_DEFINE(name, parameters, arguments, after)                                                          \
  int MPI_##name parameters {                                                                                  \
    const int is_own = ca_enter();                                                                             \
    const int status = CA_REAL(PMPI_##name) arguments;                                                         \
    if (is_own && status == MPI_SUCCESS) {                                                                     \
      after;                                                                                                   \
    }                                                                                                          \
    ca_leave();                                                                                                \
    return status;                                                                                             \
  }                                                                                                            \
  CA_EXPORT(name)

/* Number of a call's name, found once per place. */
#define CA_NAME(literal)                                                                                       \
  ({                                                                                                           \
    static uint32_t number = UINT32_MAX;                                                                       \
    if (number == UINT32_MAX)                                                                                  \
      number = ca_text(literal);                                                                               \
    number;                                                                                                    \
  })

#endif
