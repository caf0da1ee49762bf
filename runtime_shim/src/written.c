/* Which pages of the program were written to since they were last watched.
 *
 * The kernel knows: pages are write-protected so that it lifts the protection by itself when they are written
 * to (userfaultfd, asynchronous mode, Linux 6.7), be it by the program, a library or a system call, and says
 * later which are still protected. Nobody is interrupted, nothing fails. Where the kernel cannot do that, or
 * must not, every page counts as written. So does a page that is shared or still a file's: protected is one
 * mapping of it, and it may be written to through another.
 */
#define _GNU_SOURCE
#include "written.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096u
#define FIRST_FILE 512 /* descriptors of the program stay what they are */
#define MOST_WATCHES 4096u

/* The kernel's interface; its headers may be older than the kernel (linux/userfaultfd.h, linux/fs.h). */
#define USER_MODE_ONLY 1
#define API 0xaau
#define FEATURES (1u << 13 | 1u << 15) /* pages that were not touched yet, asynchronous */
#define MODE_REGISTER 2u
#define MODE_PROTECT 1u
#define WATCHABLE 1u
#define WRITTEN 2u
#define OF_FILE 4u /* of a file or shared: others may write to it through mappings of their own */
#define PRESENT 8u

struct api {
  uint64_t api, features, ioctls;
};

struct registration {
  uint64_t start, bytes, mode, ioctls;
};

struct protection {
  uint64_t start, bytes, mode;
};

struct scan {
  uint64_t size, flags, start, end, stopped_at, found, most_found, most_pages;
  uint64_t inverted, all_of, any_of, told;
};

#define SET_API _IOWR(0xaa, 0x3f, struct api)
#define REGISTER _IOWR(0xaa, 0x00, struct registration)
#define PROTECT _IOWR(0xaa, 0x06, struct protection)
#define SCAN _IOWR('f', 16, struct scan)

static int watcher = -1, page_map = -1; /* -1: not tried yet, or not possible */
static pid_t owner;
static uint64_t num_watches;

/* Moves a descriptor out of the program's way. */
static int moved(int file) {
  int far = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, FIRST_FILE);
  if (file >= 0)
    close(file);
  return far;
}

static bool open_watcher(void) {
  struct api api = {API, FEATURES, 0};
  owner = getpid();
  watcher = moved((int)syscall(SYS_userfaultfd, O_CLOEXEC | USER_MODE_ONLY));
  page_map = watcher < 0 || ioctl(watcher, SET_API, &api)
                 ? -1
                 : moved(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (page_map < 0 && watcher >= 0)
    close(watcher);
  return page_map >= 0;
}

static uint64_t first_page(uint64_t low) { return low & ~(uint64_t)(PAGE - 1); }

static uint64_t behind_pages(uint64_t low, uint64_t bytes) { return first_page(low + bytes + PAGE - 1); }

static bool watch(uint64_t low, uint64_t bytes) {
  uint64_t start = first_page(low), whole = behind_pages(low, bytes) - start;
  return !ioctl(watcher, REGISTER, &(struct registration){start, whole, MODE_REGISTER, 0}) &&
         !ioctl(watcher, PROTECT, &(struct protection){start, whole, MODE_PROTECT});
}

/* From now on it is noted where the ranges are written to. What was noted of pages before is lost: returns the
 * number of this loss, 0 if the ranges cannot be watched. */
uint64_t ca_written_watch(const struct ca_range *ranges, uint32_t count) {
  int saved = errno;
  bool is_possible = owner ? page_map >= 0 && owner == getpid() : open_watcher();
  is_possible = is_possible && !(ca_switched_off & CA_WITHOUT_WATCHED_PAGES) && num_watches < MOST_WATCHES;
  num_watches += is_possible;
  for (uint32_t i = 0; is_possible && i < count; i++)
    is_possible = watch(ranges[i].low, ranges[i].bytes);
  errno = saved;
  return is_possible ? num_watches : 0;
}

uint64_t ca_written_losses(void) { return num_watches; }

/* Pages from `low` on that may have been written to, at most `most` runs of them; behind the last page that was
 * looked at. All of them, if that is not known. */
uint64_t ca_written_pages(uint64_t low, uint64_t end, struct ca_pages *found, uint32_t most, uint32_t *count) {
  /* those that are written, shared, of a file, not there, or not watched any more */
  struct scan scan = {.size = sizeof scan,
                      .start = first_page(low),
                      .end = behind_pages(end, 0),
                      .found = (uint64_t)found,
                      .most_found = most,
                      .inverted = PRESENT | WATCHABLE,
                      .any_of = WRITTEN | OF_FILE | PRESENT | WATCHABLE,
                      .told = WRITTEN};
  int saved = errno;
  int runs = owner == getpid() ? ioctl(page_map, SCAN, &scan) : -1;
  errno = saved;
  if (runs >= 0 && scan.stopped_at > low) {
    *count = (uint32_t)runs;
    return scan.stopped_at;
  }
  *found = (struct ca_pages){low, end, 0};
  *count = 1;
  return end;
}
