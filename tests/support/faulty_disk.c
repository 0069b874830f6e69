/* Counts what this process does to files below a folder, records it, and lets the n-th of it fail.

   Loaded by LD_PRELOAD in front of the C library; sweep.py builds it, and arms it by disk_arm. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))real(#name))
#define ONCE 1 /* the n-th fails with an error of the device */
#define FULL 2 /* half of the n-th is written, and from then on there is no room */

static char folder[PATH_MAX];
static long at, done;
static int mode, trace = -1;

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

void disk_arm(const char *watched, long n, int how, int records) {
  done = 0, at = n, mode = how, trace = records;
  snprintf(folder, sizeof folder, "%s", watched);
}

long disk_count(void) { return done; }

static void record(char kind, const char *path, int64_t offset, const void *data, int64_t size) {
  struct __attribute__((packed)) { char kind; int32_t path; int64_t offset, size; } head = {
      kind, (int32_t)strlen(path), offset, size};
  struct iovec parts[] = {
      {&head, sizeof head}, {(void *)path, strlen(path)}, {(void *)data, (size_t)size}};
  if (trace >= 0 && REAL(writev)(trace, parts, 3) < 0) _exit(99);
}

void disk_note(const char *text) { record('N', text, 0, "", 0); }

/* Whether a file or a path lies below the folder; then its whole path. */
static int is_below(const char *path, char *whole) {
  if (!*folder) return 0;
  if (path[0] == '/') {
    snprintf(whole, PATH_MAX, "%s", path);
  } else {
    if (!getcwd(whole, PATH_MAX / 2)) return 0;
    strncat(whole, "/", 2);
    strncat(whole, path, PATH_MAX / 2 - 2);
  }
  return !strncmp(whole, folder, strlen(folder));
}

static int is_ours(int fd, char *whole) {
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t size = *folder && fd != trace ? readlink(name, whole, PATH_MAX - 1) : -1;
  if (size < 0) return 0;
  whole[size] = 0;
  return !strncmp(whole, folder, strlen(folder));
}

/* 0: go on; else the error that this call has. What needs no room succeeds on a full disk. */
static int fault(int needs_room) {
  long n = __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
  if (mode == ONCE && n == at) return EIO;
  if (mode == FULL && n >= at && needs_room) return ENOSPC;
  return 0;
}

static ssize_t put(int fd, const void *data, size_t size, off_t offset, int has_offset) {
  char path[PATH_MAX];
  int ours = is_ours(fd, path), error = ours ? fault(1) : 0;
  if (error == ENOSPC && done == at && size > 1)
    size /= 2; /* a full disk takes what fits */
  else if (error)
    return errno = error, -1;
  ssize_t put = has_offset ? REAL(pwrite)(fd, data, size, offset) : REAL(write)(fd, data, size);
  if (ours && put > 0) {
    off_t from = has_offset ? offset : lseek(fd, 0, SEEK_CUR) - put;
    record('W', path, from, data, put);
  }
  return put;
}

ssize_t write(int fd, const void *data, size_t size) { return put(fd, data, size, 0, 0); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t from) {
  return put(fd, data, size, from, 1);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t from) {
  return put(fd, data, size, from, 1);
}

static int cut(int fd, off_t size) {
  char path[PATH_MAX];
  struct stat found;
  int ours = is_ours(fd, path);
  int error = ours && !fstat(fd, &found) ? fault(size > found.st_size) : 0;
  if (error) return errno = error, -1;
  if (ours) record('T', path, size, "", 0);
  return REAL(ftruncate)(fd, size);
}

int ftruncate(int fd, off_t size) { return cut(fd, size); }
int ftruncate64(int fd, off64_t size) { return cut(fd, size); }

static int flush(int fd, int (*real_one)(int)) {
  char path[PATH_MAX];
  int ours = is_ours(fd, path), error = ours ? fault(0) : 0;
  if (error) return errno = error, -1;
  if (ours) record('S', path, 0, "", 0);
  return real_one(fd);
}

int fsync(int fd) { return flush(fd, REAL(fsync)); }
int fdatasync(int fd) { return flush(fd, REAL(fdatasync)); }

static int name(char kind, const char *from, const char *to, int (*real_one)(void)) {
  char whole[PATH_MAX], other[PATH_MAX] = "";
  int ours = is_below(from, whole), error = ours ? fault(kind != 'U' && kind != 'R') : 0;
  if (error) return errno = error, -1;
  int got = to ? ((int (*)(const char *, const char *))real_one)(from, to)
               : ((int (*)(const char *))real_one)(from);
  if (to) is_below(to, other);
  if (ours && !got) record(kind, whole, 0, other, (int64_t)strlen(other));
  return got;
}

int rename(const char *from, const char *to) { return name('R', from, to, real("rename")); }
int link(const char *from, const char *to) { return name('L', from, to, real("link")); }
int unlink(const char *path) { return name('U', path, NULL, real("unlink")); }

static int make(const char *path, int flags, mode_t rights, const char *real_one) {
  char whole[PATH_MAX];
  int makes = flags & (O_CREAT | O_TRUNC) && is_below(path, whole);
  int is_there = makes && !access(path, F_OK);
  int error = makes && (!is_there || flags & O_TRUNC) ? fault(1) : 0;
  if (error) return errno = error, -1;
  int fd = ((int (*)(const char *, int, ...))real(real_one))(path, flags, rights);
  if (fd >= 0 && makes && !is_there) record('C', whole, 0, "", 0);
  if (fd >= 0 && makes && is_there && flags & O_TRUNC) record('T', whole, 0, "", 0);
  return fd;
}

#define OPEN(open)                                                                            \
  int open(const char *path, int flags, ...) {                                                \
    va_list more;                                                                             \
    va_start(more, flags);                                                                    \
    mode_t rights = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;                 \
    va_end(more);                                                                             \
    return make(path, flags, rights, #open);                                                  \
  }
OPEN(open)
OPEN(open64)
