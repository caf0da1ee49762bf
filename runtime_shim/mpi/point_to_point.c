/* Start and end of MPI, and point-to-point calls. Bytes are counted by the sender. */
#include "counter.h"

static ca_call *describe_send(uint32_t name, int64_t count, MPI_Datatype type, int dest, MPI_Comm comm) {
  const ca_ranks *ranks = ca_ranks_of(comm);
  ca_call *call = ca_describe(CA_POINT_TO_POINT, name, ranks);
  call->given_bytes = ca_bytes(count, type);
  ca_sent(call, ranks, dest, call->given_bytes);
  return call;
}

/* A call whose effect the counter cannot see: listed without bytes. */
static void note(uint32_t name) { ca_count(ca_describe(CA_POINT_TO_POINT, name, ca_ranks_of(MPI_COMM_WORLD))); }

int MPI_Init(int *argc, char ***argv) {
  const int status = CA_REAL(PMPI_Init)(argc, argv);
  if (status == MPI_SUCCESS)
    ca_start();
  return status;
}
CA_EXPORT(Init)

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  const int status = CA_REAL(PMPI_Init_thread)(argc, argv, required, provided);
  if (status == MPI_SUCCESS)
    ca_start();
  return status;
}
CA_EXPORT(Init_thread)

int MPI_Finalize(void) {
  MPI_Comm parent = MPI_COMM_NULL;
  CA_REAL(PMPI_Comm_get_parent)(&parent);
  ca_write(CA_FLAG_FINALIZED | (parent == MPI_COMM_NULL ? 0 : CA_FLAG_SPAWNED));
  return CA_REAL(PMPI_Finalize)();
}
CA_EXPORT(Finalize)

int MPI_Abort(MPI_Comm comm, int code) {
  ca_write(CA_FLAG_ABORTED);
  return CA_REAL(PMPI_Abort)(comm, code);
}
CA_EXPORT(Abort)

#define CA_CALLS "point_to_point.inc"
#include "both_sizes.inc"

CA_DEFINE(Start, (MPI_Request * request), (request), ca_started(*request))
CA_DEFINE(Startall, (int count, MPI_Request requests[]), (count, requests),
          for (int i = 0; i < count; i++) ca_started(requests[i]))

int MPI_Request_free(MPI_Request *request) {
  ca_forget(*request);
  return CA_REAL(PMPI_Request_free)(request);
}
CA_EXPORT(Request_free)

#if CA_HAS_MPI4
/* One message per start; how the library splits it among partitions is its own affair. */
CA_DEFINE(Psend_init,
          (const void *buffer, int partitions, MPI_Count count, MPI_Datatype type, int dest, int tag,
           MPI_Comm comm, MPI_Info info, MPI_Request *request),
          (buffer, partitions, count, type, dest, tag, comm, info, request),
          ca_keep(*request,
                  describe_send(CA_NAME("MPI_Psend_init"), partitions *(int64_t)count, type, dest, comm)))
#endif

CA_DEFINE(Comm_spawn,
          (const char *command, char *argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm,
           MPI_Comm *intercomm, int errors[]),
          (command, argv, maxprocs, info, root, comm, intercomm, errors), note(CA_NAME("MPI_Comm_spawn")))
CA_DEFINE(Comm_spawn_multiple,
          (int count, char *commands[], char **argvs[], const int maxprocs[], const MPI_Info infos[], int root,
           MPI_Comm comm, MPI_Comm *intercomm, int errors[]),
          (count, commands, argvs, maxprocs, infos, root, comm, intercomm, errors),
          note(CA_NAME("MPI_Comm_spawn_multiple")))
CA_DEFINE(Win_shared_query, (MPI_Win window, int rank, MPI_Aint *size, int *unit, void *base),
          (window, rank, size, unit, base), note(CA_NAME("MPI_Win_shared_query")))
