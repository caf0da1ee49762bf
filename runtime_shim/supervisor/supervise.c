/* supervise REPORT PARENT PROGRAM ARGUMENT...
 *
 * Runs a program in a session of its own and sees to it that nothing of it is left: when it ends, when this
 * process is told to end, and when the process that started this one ends, however that happens (SIGKILL
 * included). Descendants that leave the session are found, too: their orphans become children of this process.
 *
 * What happens is written to the descriptor REPORT, a line each: "pid N", "cannot ERRNO", and "end STATUS
 * USER_US SYSTEM_US PEAK_KIB" as soon as the program has ended, with what wait4(2) says about it alone.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_S 2 /* between asking the program to end and ending it */

static int report;

static void run(char **command, pid_t supervisor, const sigset_t *mask) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* should somebody end the supervisor itself */
  if (getppid() != supervisor)
    _exit(127);
  sigprocmask(SIG_SETMASK, mask, 0);
  execvp(command[0], command);
  dprintf(report, "cannot %d\n", errno);
  _exit(127);
}

/* Whether the process is a child of this one, as /proc/PID/stat says: "PID (NAME) STATE PARENT ...". */
static int is_child(const char *name) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%.20s/stat", name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
  if (file >= 0)
    close(file);
  text[size > 0 ? size : 0] = 0;
  const char *behind = strrchr(text, ')');
  return behind && strlen(behind) > 4 && atoi(behind + 4) == getpid();
}

/* Ends all children, and those that become children as their parents end. */
static void end_all(void) {
  do {
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    while (processes && (entry = readdir(processes)))
      if (isdigit((unsigned char)entry->d_name[0]) && is_child(entry->d_name))
        kill(atoi(entry->d_name), SIGKILL);
    if (processes)
      closedir(processes);
  } while (wait(0) > 0 || errno == EINTR);
}

static int has_ended(pid_t program) {
  int status;
  struct rusage used;
  for (pid_t ended; (ended = wait4(-1, &status, WNOHANG, &used)) > 0;)
    if (ended == program) {
      dprintf(report, "end %d %lld %lld %ld\n", status, used.ru_utime.tv_sec * 1000000ll + used.ru_utime.tv_usec,
              used.ru_stime.tv_sec * 1000000ll + used.ru_stime.tv_usec, used.ru_maxrss);
      return 1;
    }
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  sigset_t set, mask;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, &mask);
  report = atoi(argv[1]);
  fcntl(report, F_SETFD, FD_CLOEXEC);
  signal(SIGPIPE, SIG_IGN); /* whoever reads the report may be gone; the program starts with the default */
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != atoi(argv[2]))
    return 1;
  pid_t self = getpid(), program = fork();
  if (program == 0) {
    signal(SIGPIPE, SIG_DFL);
    run(argv + 3, self, &mask);
  }
  if (program < 0) {
    dprintf(report, "cannot %d\n", errno);
    return 1;
  }
  dprintf(report, "pid %d\n", program);
  const struct timespec grace = {GRACE_S, 0};
  int is_ending = 0;
  while (!has_ended(program)) {
    int number = is_ending ? sigtimedwait(&set, 0, &grace) : sigwaitinfo(&set, 0);
    if (number == SIGTERM && !is_ending) {
      is_ending = 1;
      kill(-program, SIGTERM);
    } else if (number < 0 && errno == EAGAIN) {
      kill(program, SIGKILL);
    }
  }
  end_all();
  return 0;
}
