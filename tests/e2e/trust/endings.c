/* Ways in which a program ends, or goes on elsewhere: each call of work() stores 63 values, each from the one before. */
#define _GNU_SOURCE
#include <alloca.h>
#include <assert.h>
#include <err.h>
#include <error.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static double u[64], v[64];
static volatile int ticks;
static jmp_buf place;
static sigjmp_buf behind;
static void (*volatile leave)(int) = _exit;

__attribute__((noinline)) static void work(int n) {
  for (int i = 1; i < 64; i++)
    u[i] = u[i - 1] * 0.5 + n;
}

static void show(void) {
  printf("%a %a\n", u[63], v[63]);
  fflush(stdout);
}

static void more(void) {
  work(2);
  show();
}

static void again(void) {
  more();
  exit(4);
}

static void with_status(int status, void *of) {
  work(3);
  printf("%d %a\n", status, *(double *)of);
}

static void ends(int number) {
  more();
  exit(number == SIGSEGV);
}

static void ends_now(int number) {
  more();
  _exit(number == SIGUSR1);
}

static void jumps(int number) { longjmp(place, number); }

static void jumps_back(int number) { siglongjmp(behind, number); }

static void tick(int number) {
  for (int i = 1; i < 64; i++)
    v[i] = v[i - 1] + number;
  if (++ticks == 60) {
    show();
    exit(0);
  }
}

__attribute__((noinline)) static void descend(int depth) {
  double *own = alloca((depth + 1) * sizeof *own);
  for (int i = 0; i <= depth; i++)
    own[i] = depth;
  if (depth == 20)
    longjmp(place, (int)own[7]);
  descend(depth + 1);
  v[depth] = own[0];
}

/* 200 blocks of growing size that live until main returns, and none that outlives its call */
static void in_loops(void) {
  double *block = u;
  for (int k = 1; k <= 200; k++) {
    double *next = alloca(k * sizeof *next);
    for (int i = 0; i < k; i++)
      next[i] = k;
    next[0] = block[0] + 1;
    block = next;
  }
  v[63] = block[0];
}

__attribute__((noinline)) static int overflow(int n) {
  volatile char bytes[4096];
  bytes[0] = (char)n;
  return overflow(n + 1) + bytes[0];
}

static void on_alternate_stack(void) {
  stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  struct sigaction action = {.sa_handler = ends, .sa_flags = SA_ONSTACK};
  sigaltstack(&stack, 0);
  sigaction(SIGSEGV, &action, 0);
  exit(overflow(0));
}

static void through_timer(void) {
  struct itimerval every = {{0, 300}, {0, 300}};
  signal(SIGALRM, tick);
  setitimer(ITIMER_REAL, &every, 0);
  for (int n = 0; ticks < 100; n++) {
    work(1);
    free(malloc(100 + n % 50));
  }
}

static void forks(const char *way) {
  int status;
  fflush(stdout);
  pid_t child = strcmp(way, "vfork") ? fork() : vfork();
  if (!child && !strcmp(way, "vfork"))
    _exit(3);
  if (!child) {
    work(5);
    work(6);
    show();
    if (!strcmp(way, "fork, child aborts"))
      abort();
    exit(5);
  }
  waitpid(child, &status, 0);
  printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

__attribute__((destructor)) static void destroy(void) { printf("destroyed %a\n", u[63]); }

int main(int argc, char **argv) {
  const char *way = argv[1];
  volatile int times = 0;
  work(1);
#define WAY(name) if (!strcmp(way, name))
  WAY("return") return 3;
  WAY("exit") exit(6);
  WAY("_exit") _exit(7);
  WAY("_Exit") _Exit(7);
  WAY("_exit through a pointer") leave(0);
  WAY("quick_exit") { at_quick_exit(more); quick_exit(8); }
  WAY("atexit") { atexit(more); exit(9); }
  WAY("exit in atexit") { atexit(more); atexit(again); exit(9); }
  WAY("on_exit") { on_exit(with_status, &u[5]); exit(10); }
  WAY("errx") errx(11, "stop");
  WAY("error") error(12, 0, "stop");
  WAY("assert") assert(argc == 100);
  WAY("abort") abort();
  WAY("trap") __builtin_trap();
  WAY("kill") kill(getpid(), SIGTERM);
  WAY("exit in a handler") { signal(SIGUSR1, ends); raise(SIGUSR1); }
  WAY("_exit in a handler") { signal(SIGUSR1, ends_now); raise(SIGUSR1); }
  WAY("exit at abort") { signal(SIGABRT, ends); abort(); }
  WAY("jump at abort") { signal(SIGABRT, jumps); if (!setjmp(place)) abort(); more(); }
  WAY("jump from a fault") { signal(SIGSEGV, jumps_back); if (!sigsetjmp(behind, 1)) raise(SIGSEGV); more(); }
  WAY("exit from a full stack") on_alternate_stack();
  WAY("exit in a timer") through_timer();
  WAY("jump out of callees") { setjmp(place); if (times++ < 3) descend(0); more(); }
  WAY("alloca in a loop") { in_loops(); in_loops(); more(); }
  if (!strcmp(way, "vfork") || !strncmp(way, "fork", 4)) { forks(way); more(); }
  WAY("pthread_exit") pthread_exit(0);
  WAY("exec") execl("/bin/true", "true", (char *)0);
  WAY("daemon") return daemon(1, 1);
  WAY("exit_group") syscall(SYS_exit_group, 0);
  return 0;
}
