/*
 * Loaded before libc into the processes of an application in a Room: reads of Spark's block files fail or are slow,
 * files cannot be mapped, threads whose names begin with sluice- stand still, messages are seen late, the wall clock is
 * another one, Sluice's library cannot be loaded, and threads that read one-sidedly end, as the file named by
 * SOAK_CALLS says, which all of the application's processes map. What was changed is counted there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Written by CallFaults; native byte order. */
struct control {
  _Atomic int32_t reads_fail_one_in;
  _Atomic int32_t delay_us;
  _Atomic int64_t clock_ms;
  _Atomic int32_t maps_fail;
  _Atomic int32_t threads_stand;
  _Atomic int32_t events_late_us;
  /* How many of the threads that read one-sidedly are still to end. */
  _Atomic int32_t agents_end;
  _Atomic int32_t library_gone;
  /* Calls that were changed. */
  _Atomic int64_t changed;
};

static struct control nothing;
static struct control *control = &nothing;
static _Atomic uint32_t reads;
static _Atomic uint32_t events_seen;

static int (*next_clock_gettime)(clockid_t, struct timespec *);
static int (*next_gettimeofday)(struct timeval *, void *);
static ssize_t (*next_read)(int, void *, size_t);
static ssize_t (*next_pread)(int, void *, size_t, off64_t);
static ssize_t (*next_sendfile)(int, int, off64_t *, size_t);
static ssize_t (*next_write)(int, const void *, size_t);
static ssize_t (*next_writev)(int, const struct iovec *, int);
static ssize_t (*next_pwrite)(int, const void *, size_t, off64_t);
static void *(*next_mmap)(void *, size_t, int, int, int, off64_t);
static int (*next_epoll_wait)(int, struct epoll_event *, int, int);
static int (*next_poll)(struct pollfd *, nfds_t, int);
static void *(*next_dlopen)(const char *, int);

static void find_next(void) {
  next_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  next_gettimeofday = dlsym(RTLD_NEXT, "gettimeofday");
  next_read = dlsym(RTLD_NEXT, "read");
  next_pread = dlsym(RTLD_NEXT, "pread64");
  next_sendfile = dlsym(RTLD_NEXT, "sendfile64");
  next_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  next_write = dlsym(RTLD_NEXT, "write");
  next_writev = dlsym(RTLD_NEXT, "writev");
  next_mmap = dlsym(RTLD_NEXT, "mmap64");
  next_epoll_wait = dlsym(RTLD_NEXT, "epoll_wait");
  next_poll = dlsym(RTLD_NEXT, "poll");
  next_dlopen = dlsym(RTLD_NEXT, "dlopen");
}

__attribute__((constructor)) static void start(void) {
  find_next();
  const char *path = getenv("SOAK_CALLS");
  int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file >= 0) {
    void *map = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) control = map;
    close(file);
  }
}

static int name_begins(const char *with) {
  char name[16];
  return pthread_getname_np(pthread_self(), name, sizeof name) == 0 && strncmp(name, with, strlen(with)) == 0;
}

/* A thread of Sluice's, Java's or native, that came here stays until the fault is over. */
static void stand(void) {
  if (control->threads_stand == 0 || !name_begins("sluice-")) return;
  control->changed++;
  while (control->threads_stand != 0) usleep(1000);
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
  stand();
  int one_in = is_read ? control->reads_fail_one_in : 0, delay = control->delay_us;
  if ((one_in == 0 && delay == 0) || !is_block_file(file)) return 0;
  int fails = one_in > 0 && reads++ % (uint32_t) one_in == 0;
  if (delay > 0 || fails) control->changed++;
  if (delay > 0) usleep((useconds_t) delay);
  return fails;
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

ssize_t writev(int to, const struct iovec *from, int count) {
  if (next_writev == NULL) find_next();
  harmed(to, 0);
  return next_writev(to, from, count);
}

ssize_t pwrite64(int to, const void *from, size_t count, off64_t at) {
  if (next_pwrite == NULL) find_next();
  harmed(to, 0);
  return next_pwrite(to, from, count, at);
}

/* As at the limit of mappings that a process may have. Memory that is no file's is left alone: the JVM ends without. */
void *mmap64(void *at, size_t length, int protection, int flags, int file, off64_t offset) {
  if (next_mmap == NULL) find_next();
  if (control->maps_fail != 0 && file >= 0 && (flags & MAP_ANONYMOUS) == 0) {
    control->changed++;
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return next_mmap(at, length, protection, flags, file, offset);
}

void *mmap(void *at, size_t length, int protection, int flags, int file, off_t offset) {
  return mmap64(at, length, protection, flags, file, offset);
}

/*
 * What has arrived is seen later, by a time that differs from event to event: each thread looks after some connections,
 * so messages of others overtake.
 */
int epoll_wait(int from, struct epoll_event *events, int most, int timeout) {
  if (next_epoll_wait == NULL) find_next();
  stand();
  int found = next_epoll_wait(from, events, most, timeout);
  int late = control->events_late_us;
  if (found > 0 && late > 0) {
    control->changed++;
    usleep((useconds_t) (late / 8 * (1 + events_seen++ * 2654435761u % 8)));
  }
  return found;
}

/*
 * Where the thread that reads one-sidedly waits, with no lock held. It ends without a word to anybody: no code of its
 * own runs any more, as if the processor had never come back to it.
 */
int poll(struct pollfd *files, nfds_t count, int timeout) {
  if (next_poll == NULL) find_next();
  stand();
  int32_t left = control->agents_end;
  if (left > 0 && name_begins("sluice-ucx")) {
    while (left > 0 && !atomic_compare_exchange_weak(&control->agents_end, &left, left - 1)) {}
    if (left > 0) {
      control->changed++;
      syscall(SYS_exit, 0);
    }
  }
  return next_poll(files, count, timeout);
}

/* As if the file were gone; what the loader says of it is of such a file. */
void *dlopen(const char *path, int flags) {
  if (next_dlopen == NULL) find_next();
  if (control->library_gone != 0 && path != NULL && strstr(path, "/libsluice_jni") != NULL) {
    control->changed++;
    return next_dlopen("/libsluice_jni.so: taken away by the soak", flags);
  }
  return next_dlopen(path, flags);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (next_clock_gettime == NULL) find_next();
  int status = next_clock_gettime(clock, time);
  int64_t ms = control->clock_ms;
  if (status == 0 && ms != 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    control->changed++;
    int64_t ns = time->tv_nsec + (ms % 1000) * 1000000;
    time->tv_sec += ms / 1000 + (ns >= 1000000000) - (ns < 0);
    time->tv_nsec = (ns + 1000000000) % 1000000000;
  }
  return status;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  if (next_gettimeofday == NULL) find_next();
  int status = next_gettimeofday(time, zone);
  if (status == 0 && control->clock_ms != 0) {
    control->changed++;
    time->tv_sec += control->clock_ms / 1000;
  }
  return status;
}
