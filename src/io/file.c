/* file.c - see file.h. */
#include "io/file.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_regular(int *fd, struct stat *st, const char *path)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe of that name does not hang us */
    if (*fd < 0) return err_set(ERR_INPUT, "%s: %s", path, strerror(errno));
    if (!fstat(*fd, st) && S_ISREG(st->st_mode)) return 0;
    close(*fd);
    return err_set(ERR_INPUT, "%s: not a regular file", path);
}

int file_map(struct file_map *m, const char *path)
{
    struct stat st;
    int fd;
    *m = (struct file_map){NULL, 0};
    int rc = open_regular(&fd, &st, path);
    if (rc) return rc;
    if (st.st_size) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
            rc = err_set(ERR_INPUT, "%s: %s", path, strerror(errno));
        else
            *m = (struct file_map){p, (size_t)st.st_size};
    }
    close(fd);
    return rc;
}

void file_unmap(struct file_map *m)
{
    if (m->n) munmap((void *)(uintptr_t)m->p, m->n);
    *m = (struct file_map){NULL, 0};
}

int file_read(struct str *out, const char *path, size_t limit)
{
    struct stat st;
    int fd, rc = open_regular(&fd, &st, path);
    if (rc) return rc;
    str_clear(out);
    for (;;) {
        str_reserve(out, 64 << 10);
        ssize_t got = read(fd, out->p + out->len, 64 << 10);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) rc = err_set(ERR_INPUT, "%s: %s", path, strerror(errno));
        if (got <= 0) break;
        out->len += (size_t)got;
        if (out->len > limit) {
            rc = err_set(ERR_INPUT, "%s: larger than %zu bytes", path, limit);
            break;
        }
    }
    out->p[out->len] = 0;
    close(fd);
    return rc;
}

int file_exists(const char *path)
{
    struct stat st;
    if (stat(path, &st)) return 0;
    return S_ISDIR(st.st_mode) ? 2 : 1;
}
