/* LD_PRELOAD: the disk is full from the n-th change on below a folder (LW_FULL_AT, LW_FULL_BELOW).
   All changes are counted; the count is written to LW_FULL_COUNT at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static long changes = 0;

static int is_full(void) {
    const char* at = getenv("LW_FULL_AT");
    const long now = __atomic_add_fetch(&changes, 1, __ATOMIC_SEQ_CST);
    return at && now >= atol(at);
}

static int is_below(const char* path) {
    const char* below = getenv("LW_FULL_BELOW");
    return below && path && strncmp(path, below, strlen(below)) == 0;
}

static int is_watched(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    return is_below(path);
}

static int refuse(void) {
    errno = ENOSPC;
    return -1;
}

ssize_t write(int fd, const void* data, size_t n) {
    static ssize_t (*real)(int, const void*, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    return is_watched(fd) && is_full() ? refuse() : real(fd, data, n);
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    return is_watched(fd) && is_full() ? refuse() : real(fd);
}

int posix_fallocate(int fd, off_t from, off_t n) {
    static int (*real)(int, off_t, off_t);
    if (!real) real = dlsym(RTLD_NEXT, "posix_fallocate");
    return is_watched(fd) && is_full() ? ENOSPC : real(fd, from, n);
}

int posix_fallocate64(int fd, off64_t from, off64_t n) {
    static int (*real)(int, off64_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "posix_fallocate64");
    return is_watched(fd) && is_full() ? ENOSPC : real(fd, from, n);
}

int mkdir(const char* path, mode_t mode) {
    static int (*real)(const char*, mode_t);
    if (!real) real = dlsym(RTLD_NEXT, "mkdir");
    return is_below(path) && is_full() ? refuse() : real(path, mode);
}

__attribute__((destructor)) static void tell(void) {
    const char* name = getenv("LW_FULL_COUNT");
    FILE* file = name ? fopen(name, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", changes);
        fclose(file);
    }
}
