/*
 * Loaded before libc into the processes of an application in a Room: reads of Spark's block files fail or are slow, and
 * the wall clock is another one, as the file named by SOAK_CALLS says, which all of the application's processes map.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Written by CallFaults; native byte order. */
struct control {
  _Atomic int32_t reads_fail_one_in;
  _Atomic int32_t delay_us;
  _Atomic int64_t clock_ms;
};

static struct control nothing;
static struct control *control = &nothing;
static _Atomic uint32_t reads;

static int (*next_clock_gettime)(clockid_t, struct timespec *);
static int (*next_gettimeofday)(struct timeval *, void *);
static ssize_t (*next_read)(int, void *, size_t);
static ssize_t (*next_pread)(int, void *, size_t, off64_t);
static ssize_t (*next_sendfile)(int, int, off64_t *, size_t);
static ssize_t (*next_write)(int, const void *, size_t);
static ssize_t (*next_pwrite)(int, const void *, size_t, off64_t);

static void find_next(void) {
  next_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  next_gettimeofday = dlsym(RTLD_NEXT, "gettimeofday");
  next_read = dlsym(RTLD_NEXT, "read");
  next_pread = dlsym(RTLD_NEXT, "pread64");
  next_sendfile = dlsym(RTLD_NEXT, "sendfile64");
  next_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  next_write = dlsym(RTLD_NEXT, "write");
}

__attribute__((constructor)) static void start(void) {
  find_next();
  const char *path = getenv("SOAK_CALLS");
  int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    void *map = mmap(NULL, sizeof(struct control), PROT_READ, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) control = map;
    close(file);
  }
}

static int is_block_file(int file) {
  char link[32], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return strstr(path, "/blockmgr-") != NULL;
}

/* Waits if the disk is slow; whether this read is to fail. */
static int harmed(int file, int is_read) {
  int one_in = is_read ? control->reads_fail_one_in : 0, delay = control->delay_us;
  if ((one_in == 0 && delay == 0) || !is_block_file(file)) return 0;
  if (delay > 0) usleep((useconds_t) delay);
  return one_in > 0 && reads++ % (uint32_t) one_in == 0;
}

#define READ(call)                 \
  if (next_read == NULL) find_next(); \
  if (harmed(from, 1)) {           \
    errno = EIO;                   \
    return -1;                     \
  }                                \
  return call

ssize_t read(int from, void *to, size_t count) { READ(next_read(from, to, count)); }
ssize_t pread64(int from, void *to, size_t count, off64_t at) { READ(next_pread(from, to, count, at)); }
ssize_t pread(int from, void *to, size_t count, off_t at) { READ(next_pread(from, to, count, at)); }
ssize_t sendfile64(int to, int from, off64_t *at, size_t count) { READ(next_sendfile(to, from, at, count)); }
ssize_t sendfile(int to, int from, off_t *at, size_t count) { READ(next_sendfile(to, from, at, count)); }

ssize_t write(int to, const void *from, size_t count) {
  if (next_write == NULL) find_next();
  harmed(to, 0);
  return next_write(to, from, count);
}

ssize_t pwrite64(int to, const void *from, size_t count, off64_t at) {
  if (next_pwrite == NULL) find_next();
  harmed(to, 0);
  return next_pwrite(to, from, count, at);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (next_clock_gettime == NULL) find_next();
  int status = next_clock_gettime(clock, time);
  int64_t ms = control->clock_ms;
  if (status == 0 && ms != 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    int64_t ns = time->tv_nsec + (ms % 1000) * 1000000;
    time->tv_sec += ms / 1000 + (ns >= 1000000000) - (ns < 0);
    time->tv_nsec = (ns + 1000000000) % 1000000000;
  }
  return status;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  if (next_gettimeofday == NULL) find_next();
  int status = next_gettimeofday(time, zone);
  if (status == 0) time->tv_sec += control->clock_ms / 1000;
  return status;
}
