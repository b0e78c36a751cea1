/* Counts the system calls that change files; at a chosen one it fails with a chosen error number, or ends the process.

   fault_arm(n, what): the n-th call from now (from 1) fails with errno `what`, or the process is killed before it (what = -1) or
   right after it (what = -2). fault_count(): calls since. fault_pause(1): calls are neither counted nor failed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long at = 0, count = 0;
static int what = 0, paused = 1;

void fault_arm(long n, int w) { at = n; what = w; count = 0; paused = 0; }
long fault_count(void) { return count; }
void fault_pause(int p) { paused = p; }

static int due(void) {
    if (paused) return 0;
    if (++count != at) return 0;
    if (what == -1) kill(getpid(), SIGKILL);
    return 1;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)
#define FAIL(call) do { \
        if (due()) { \
            if (what == -2) { (void)!(call); kill(getpid(), SIGKILL); } \
            errno = what; return -1; \
        } \
        return call; \
    } while (0)

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list list; va_start(list, flags); mode_t mode = va_arg(list, mode_t); va_end(list); \
        REAL(name); FAIL(real(path, flags, mode)); }
#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        va_list list; va_start(list, flags); mode_t mode = va_arg(list, mode_t); va_end(list); \
        REAL(name); FAIL(real(folder, path, flags, mode)); }
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64)
ssize_t write(int fd, const void *data, size_t n) { REAL(write); FAIL(real(fd, data, n)); }
int fsync(int fd) { REAL(fsync); FAIL(real(fd)); }
int rename(const char *a, const char *b) { REAL(rename); FAIL(real(a, b)); }
int renameat(int f, const char *a, int g, const char *b) { REAL(renameat); FAIL(real(f, a, g, b)); }
int unlink(const char *a) { REAL(unlink); FAIL(real(a)); }
int unlinkat(int f, const char *a, int flags) { REAL(unlinkat); FAIL(real(f, a, flags)); }
int mkdir(const char *a, mode_t m) { REAL(mkdir); FAIL(real(a, m)); }
int mkdirat(int f, const char *a, mode_t m) { REAL(mkdirat); FAIL(real(f, a, m)); }
int rmdir(const char *a) { REAL(rmdir); FAIL(real(a)); }
int symlink(const char *a, const char *b) { REAL(symlink); FAIL(real(a, b)); }
int fchmod(int fd, mode_t m) { REAL(fchmod); FAIL(real(fd, m)); }
int fchown(int fd, uid_t u, gid_t g) { REAL(fchown); FAIL(real(fd, u, g)); }
