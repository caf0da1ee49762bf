/* y[i] = x[index[i]], 40 times. Halfway, index is changed in the way that the first argument names: from i to
 * i + 1 (to 0 where its pages are thrown away). The second argument is the number of elements. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1 << 15, ROUNDS = 40 };
static _Alignas(4096) int in_bss[MOST];
static _Alignas(4096) int in_data[MOST] = {1};
static int changed[MOST];
static double x[MOST], y[MOST];
static int *at, n, file = -1;
static int *alias;
static size_t bytes;

__attribute__((noinline)) static void gather(int *idx) {
  for (int i = 0; i < n; i++)
    y[i] = x[idx[i]] * 2;
}

static void on_signal(int number) {
  (void)number;
  for (int i = 0; i < n; i++)
    ((volatile int *)at)[i] = changed[i];
}

static int is(const char *way, const char *name) { return !strcmp(way, name); }

/* A file with what the array holds, mapped over the array; the alias is a second mapping of it. */
static void map_over(int flags) {
  file = memfd_create("index", 0);
  if (pwrite(file, at, bytes, 0) != (ssize_t)bytes)
    exit(9);
  if (mmap(at, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0) != at)
    exit(8);
  alias = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}

static void attach_over(void) {
  int number = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
  alias = shmat(number, 0, 0);
  memcpy(alias, at, bytes);
  if (shmat(number, at, SHM_REMAP) != at)
    exit(7);
  shmctl(number, IPC_RMID, 0);
}

static void prepare(const char *way) {
  if (is(way, "alias") || is(way, "pwrite_shared") || is(way, "fork_shared"))
    map_over(MAP_SHARED);
  else if (is(way, "pwrite_private"))
    map_over(MAP_PRIVATE);
  else if (is(way, "shmat"))
    attach_over();
}

static int piped(void) {
  int source = memfd_create("changed", 0);
  if (pwrite(source, changed, bytes, 0) != (ssize_t)bytes)
    exit(6);
  return source;
}

static void through_socket(int by_message) {
  int ends[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  for (size_t done = 0; done < bytes; done += 4096) {
    if (write(ends[0], (char *)changed + done, 4096) != 4096)
      exit(5);
    struct iovec to = {(char *)at + done, 4096};
    struct msghdr message = {.msg_iov = &to, .msg_iovlen = 1};
    ssize_t got = by_message ? recvmsg(ends[1], &message, MSG_WAITALL) : recv(ends[1], (char *)at + done, 4096, MSG_WAITALL);
    if (got != 4096)
      exit(4);
  }
}

static void change(const char *way) {
  if (is(way, "store"))
    on_signal(0);
  else if (is(way, "memcpy"))
    memcpy(at, changed, bytes);
  else if (is(way, "read"))
    (void)!read(piped(), at, bytes);
  else if (is(way, "raw"))
    syscall(SYS_pread64, piped(), at, bytes, 0L);
  else if (is(way, "fread"))
    (void)!fread(at, 1, bytes, fdopen(piped(), "r"));
  else if (is(way, "readv"))
    (void)!preadv(piped(), &(struct iovec){at, bytes}, 1, 0);
  else if (is(way, "recv"))
    through_socket(0);
  else if (is(way, "recvmsg"))
    through_socket(1);
  else if (is(way, "process_vm_writev"))
    process_vm_writev(getpid(), &(struct iovec){changed, bytes}, 1, &(struct iovec){at, bytes}, 1, 0);
  else if (is(way, "proc_mem"))
    (void)!pwrite(open("/proc/self/mem", O_RDWR), changed, bytes, (off_t)at);
  else if (is(way, "assembly")) {
    void *to = at, *from = changed;
    size_t count = bytes;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
  } else if (is(way, "signal"))
    raise(SIGUSR1);
  else if (is(way, "mremap")) {
    int *other = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(other, changed, bytes);
    if (mremap(other, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at)
      exit(3);
  } else if (is(way, "dontneed"))
    madvise(at, bytes, MADV_DONTNEED);
  else if (is(way, "late")) {
    map_over(MAP_SHARED);
    memcpy(alias, changed, bytes);
  } else if (is(way, "alias") || is(way, "shmat"))
    memcpy(alias, changed, bytes);
  else if (is(way, "pwrite_shared") || is(way, "pwrite_private"))
    (void)!pwrite(file, changed, bytes, 0);
  else if (is(way, "fork_shared")) {
    pid_t child = fork();
    if (!child) {
      on_signal(0);
      _exit(0);
    }
    waitpid(child, 0, 0);
  } else
    exit(2);
}

int main(int argc, char **argv) {
  const char *way = argv[1];
  n = atoi(argv[2]);
  bytes = n * sizeof *at;
  signal(SIGUSR1, on_signal);
  at = is(argv[3], "heap") ? aligned_alloc(4096, bytes) : is(argv[3], "data") ? in_data : in_bss;
  for (int i = 0; i < n; i++) {
    at[i] = i;
    changed[i] = i + 1 < n ? i + 1 : 0;
    x[i] = i;
  }
  prepare(way);
  for (int round = 0; round < ROUNDS; round++) {
    if (round == ROUNDS / 2)
      change(way);
    gather(at);
  }
  printf("%d %g\n", argc, y[3]);
  return 0;
}
