/*
 * Preloaded into a server under test: counts the changes in a directory, and ends the process at a
 * chosen change or makes all changes fail. A change is anything that survives a kill of the process:
 * written bytes, and created, renamed or removed names.
 *
 * FAULTS_ROOT: the directory. FAULTS_CONTROL: a file of four 64-bit numbers, shared with the test:
 * the number of changes so far, the change at which the process ends (0: never), the error number of
 * failing changes (0: none), and whether changes to the catalog's files are exempt.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct control {
  volatile int64_t changes, end_at, error, spare_catalog;
};

static struct control *control;
static const char *root;

__attribute__((constructor)) static void start(void) {
  root = getenv("FAULTS_ROOT");
  const char *path = getenv("FAULTS_CONTROL");
  if (!root || !path) return;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR, 0);
  if (fd < 0) return;
  void *shared = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared != MAP_FAILED) control = shared;
}

/* Whether changes of this path count. */
static int watched(int dir, const char *path) {
  if (!control) return 0;
  char whole[PATH_MAX * 2];
  if (path[0] != '/') {
    char link[64];
    if (dir == AT_FDCWD) {
      if (!getcwd(whole, PATH_MAX)) return 0;
    } else {
      snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
      ssize_t length = readlink(link, whole, PATH_MAX - 1);
      if (length < 0) return 0;
      whole[length] = 0;
    }
    strncat(whole, "/", 2);
    strncat(whole, path, PATH_MAX - 1);
    path = whole;
  }
  size_t length = strlen(root);
  if (strncmp(path, root, length) != 0) return 0;
  return !(control->spare_catalog && strncmp(path + length, "/.joust", 7) == 0);
}

static int watched_file(int fd) {
  if (!control) return 0;
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return path[0] == '/' && watched(AT_FDCWD, path);
}

/* Before a change: ends the process, or returns whether the change fails. */
static int fails(void) {
  int64_t change = __sync_add_and_fetch(&control->changes, 1);
  if (control->end_at && change == control->end_at) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  if (!control->error) return 0;
  errno = (int)control->error;
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name, dir, params, args)                       \
  int name params {                                         \
    static __typeof__(&name) real;                          \
    if (!real) real = REAL(name);                           \
    mode_t mode = 0;                                        \
    if (flags & (O_CREAT | O_TMPFILE)) {                    \
      va_list rest;                                         \
      va_start(rest, flags);                                \
      mode = va_arg(rest, mode_t);                          \
      va_end(rest);                                         \
    }                                                       \
    int changes = (flags & (O_CREAT | O_TRUNC)) != 0;       \
    if (changes && watched(dir, path) && fails()) return -1; \
    return real args;                                       \
  }

OPEN(open, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, dir, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))
OPEN(openat64, dir, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))

#define CHANGE(result, name, where, params, args)  \
  result name params {                             \
    static __typeof__(&name) real;                 \
    if (!real) real = REAL(name);                  \
    if ((where) && fails()) return -1;             \
    return real args;                              \
  }

CHANGE(ssize_t, write, watched_file(fd), (int fd, const void *bytes, size_t size), (fd, bytes, size))
CHANGE(ssize_t, pwrite, watched_file(fd), (int fd, const void *bytes, size_t size, off_t at),
       (fd, bytes, size, at))
CHANGE(ssize_t, pwrite64, watched_file(fd), (int fd, const void *bytes, size_t size, off64_t at),
       (fd, bytes, size, at))
CHANGE(ssize_t, writev, watched_file(fd), (int fd, const struct iovec *parts, int count),
       (fd, parts, count))
CHANGE(int, ftruncate, watched_file(fd), (int fd, off_t size), (fd, size))
CHANGE(int, ftruncate64, watched_file(fd), (int fd, off64_t size), (fd, size))
CHANGE(int, rename, watched(AT_FDCWD, to), (const char *from, const char *to), (from, to))
CHANGE(int, renameat, watched(at, to), (int of, const char *from, int at, const char *to),
       (of, from, at, to))
CHANGE(int, link, watched(AT_FDCWD, to), (const char *from, const char *to), (from, to))
CHANGE(int, linkat, watched(at, to), (int of, const char *from, int at, const char *to, int flags),
       (of, from, at, to, flags))
CHANGE(int, unlink, watched(AT_FDCWD, path), (const char *path), (path))
CHANGE(int, unlinkat, watched(dir, path), (int dir, const char *path, int flags), (dir, path, flags))
CHANGE(int, rmdir, watched(AT_FDCWD, path), (const char *path), (path))
CHANGE(int, mkdir, watched(AT_FDCWD, path), (const char *path, mode_t mode), (path, mode))

/* A sync does not count as a change, but it can fail. */
#define SYNC(name)                                        \
  int name(int fd) {                                      \
    static __typeof__(&name) real;                        \
    if (!real) real = REAL(name);                         \
    if (control && control->error && watched_file(fd)) {  \
      errno = (int)control->error;                        \
      return -1;                                          \
    }                                                     \
    return real(fd);                                      \
  }

SYNC(fsync)
SYNC(fdatasync)
