/* x[i] = 2 y[i], under limits or in another process, as the first argument says. */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
static double x[20000], y[20000];
int main(int argc, char **argv) {
  const char *way = argv[1];
  struct rlimit limit;
  if (!strcmp(way, "sizes") || !strcmp(way, "files")) {
    int kind = !strcmp(way, "sizes") ? RLIMIT_FSIZE : RLIMIT_NOFILE;
    getrlimit(kind, &limit);
    limit.rlim_cur = 4;
    setrlimit(kind, &limit);
  } else if (!strcmp(way, "exec")) {
    execl("/bin/true", "true", (char *)0);
  } else if (!strcmp(way, "daemon")) {
    (void)!daemon(1, 1);
  }
  for (int i = 0; i < 20000; i++)
    y[i] = i * argc;
  for (int i = 0; i < 20000; i++)
    x[i] = y[i] * 2;
  return (int)x[3] != 6 * argc;
}
