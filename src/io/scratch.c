/* scratch.c - see scratch.h. Space is reserved before it is mapped, so that a full disk is an
 * error here and not a bus error at some write later. */
#include "io/scratch.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { IN_MEMORY = 4 << 20, PAGE = 4096 };

static int fail(const struct scratch *s, int error)
{
    return err_set(ERR_OUTPUT, "%s: %zu bytes of scratch space: %s", place_url(s->place), s->n,
                   strerror(error));
}

static int map(struct scratch *s)
{
    int error = 0;
    if (s->fd >= 0) {
        do error = posix_fallocate(s->fd, 0, (off_t)s->n);
        while (error == EINTR);
        if (error) return fail(s, error);
    }
    int flags = s->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *p = mmap(NULL, s->n, PROT_READ | PROT_WRITE, flags, s->fd, 0);
    if (p == MAP_FAILED) return fail(s, errno);
    s->p = p;
    return 0;
}

int scratch_open(struct scratch *s, struct place *p, size_t n)
{
    *s = (struct scratch){.place = p, .n = n ? n : 1, .fd = -1};
    int rc = n > IN_MEMORY ? place_scratch(p, &s->fd) : 0;
    if (!rc) rc = map(s);
    if (rc) scratch_close(s);
    return rc;
}

int scratch_grow(struct scratch *s, size_t n)
{
    if (n <= s->n) return 0;
    struct scratch old = *s;
    s->n = n + n / 4;
    s->p = NULL;
    int rc = s->fd < 0 && s->n > IN_MEMORY ? place_scratch(s->place, &s->fd) : 0;
    if (!rc) rc = map(s);
    if (!rc && old.fd < 0) memcpy(s->p, old.p, old.n);
    munmap(old.p, old.n);
    return rc;
}

void scratch_close(struct scratch *s)
{
    if (!s->place) return;
    if (s->p) munmap(s->p, s->n);
    if (s->fd >= 0) close(s->fd);
    memset(s, 0, sizeof *s);
}

void scratch_forget(const struct scratch *s, size_t from, size_t n)
{
    size_t first = (from + PAGE - 1) / PAGE * PAGE, end = (from + n) / PAGE * PAGE;
    if (s->fd >= 0 && end > first) madvise((char *)s->p + first, end - first, MADV_DONTNEED);
}
