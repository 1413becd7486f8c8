/* source.c - the scheme table, files and byte strings. */
#include "io/source.h"
#include "io/pipe.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_source {
    struct source base;
    int fd;
};

int source_wait(int fd)
{
    struct pollfd ready = {fd, POLLIN, 0};
    while (poll(&ready, 1, 200) <= 0)
        if (stop_wait_over()) return err_set(ERR_STOPPED, "stopped by a signal");
    return 0;
}

static int64_t file_read(struct source *s, void *buf, size_t n)
{
    struct file_source *f = (struct file_source *)s;
    ssize_t got;
    if (s->size < 0 && source_wait(f->fd)) return ERR_STOPPED;
    do got = read(f->fd, buf, n);
    while (got < 0 && errno == EINTR);
    if (got < 0) return err_set(ERR_INPUT, "%s: %s", s->name, strerror(errno));
    return got;
}

static int file_close(struct source *s)
{
    close(((struct file_source *)s)->fd);
    return 0;
}

static const struct source_ops file_ops = {file_read, file_close};

/* A named pipe opens only when someone writes to it; until then it must be possible to stop. */
static int open_stoppable(const char *name)
{
    struct stat st;
    if (stat(name, &st) || !S_ISFIFO(st.st_mode)) return open(name, O_RDONLY | O_CLOEXEC);
    int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && source_wait(fd)) {
        close(fd);
        errno = EINTR;
        return -1;
    }
    if (fd >= 0) fcntl(fd, F_SETFL, 0);
    return fd;
}

static int file_open(struct source **out, const char *name)
{
    struct stat st;
    int fd = open_stoppable(name);
    if (fd < 0) return err_set(ERR_INPUT, "%s: %s", name, strerror(errno));
    if (fstat(fd, &st) || S_ISDIR(st.st_mode)) {
        close(fd);
        return err_set(ERR_INPUT, "%s: is a folder, not a file", name);
    }
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    struct file_source *f = mem_alloc(sizeof *f);
    f->base.ops = &file_ops;
    f->base.size = S_ISREG(st.st_mode) ? st.st_size : -1;
    f->fd = fd;
    *out = &f->base;
    return 0;
}

struct bytes_source {
    struct source base;
    const unsigned char *p;
    size_t left;
};

static int64_t bytes_read(struct source *s, void *buf, size_t n)
{
    struct bytes_source *b = (struct bytes_source *)s;
    if (n > b->left) n = b->left;
    if (n) memcpy(buf, b->p, n);
    b->p += n;
    b->left -= n;
    return (int64_t)n;
}

static int bytes_close(struct source *s)
{
    (void)s;
    return 0;
}

static const struct source_ops bytes_ops = {bytes_read, bytes_close};

struct source *source_of_bytes(const void *p, size_t n)
{
    struct bytes_source *b = mem_alloc(sizeof *b);
    b->base = (struct source){&bytes_ops, (int64_t)n, mem_strdup("bytes")};
    b->p = p;
    b->left = n;
    return &b->base;
}

/* New storage: one row here. */
/* Named so that the error can say what to do. */
static int other_storage(struct source **out, const char *name)
{
    *out = NULL;
    return err_set(
        ERR_USAGE,
        "%s: this version opens local files and pipes; write it as 'pipe:aws s3 cp --quiet "
        "%s -', 'pipe:curl -sfL %s' or the like",
        name, name, name);
}

static const struct scheme {
    const char *prefix;
    int (*open)(struct source **out, const char *name);
} schemes[] = {{"pipe:", pipe_open},       {"file://", NULL},           {"s3://", other_storage},
               {"http://", other_storage}, {"https://", other_storage}, {"gs://", other_storage},
               {"hdfs://", other_storage}, {"hf://", other_storage},    {"", file_open}};

int source_open(struct source **out, const char *name)
{
    const struct scheme *s = schemes;
    while (!str_starts(name, s->prefix)) s++;
    int rc = s->open ? s->open(out, name) : file_open(out, name + strlen(s->prefix));
    if (rc) return rc;
    (*out)->name = mem_strdup(name);
    return 0;
}

int source_check(const char *name)
{
    const struct scheme *s = schemes;
    struct source *none;
    while (!str_starts(name, s->prefix)) s++;
    return s->open == other_storage ? other_storage(&none, name) : 0;
}

int source_is_pipe(const char *name)
{
    return str_starts(name, "pipe:");
}

int64_t source_read(struct source *s, void *buf, size_t n)
{
    size_t have = 0;
    while (have < n) {
        int64_t got = s->ops->read(s, (char *)buf + have, n - have);
        if (got < 0) return got;
        if (!got) break;
        have += (size_t)got;
    }
    return (int64_t)have;
}

int source_close(struct source *s)
{
    if (!s) return 0;
    int rc = s->ops->close(s);
    free(s->name);
    free(s);
    return rc;
}
