/* spill.c - see spill.h. */
#include "io/spill.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { IN_MEMORY = 4 << 20, BLOCK = 1 << 20 };

void spill_init(struct spill *s, struct place *p)
{
    *s = (struct spill){.place = p, .fd = -1};
}

static int spill_flush(struct spill *s)
{
    int rc = s->fd < 0 ? place_scratch(s->place, &s->fd) : 0;
    for (size_t done = 0; !rc && done < s->buf.len;) {
        ssize_t n = write(s->fd, s->buf.p + done, s->buf.len - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            rc = err_set(ERR_OUTPUT, "%s: spilling: %s", place_url(s->place), strerror(errno));
        else
            done += (size_t)n;
    }
    s->size += s->buf.len;
    str_clear(&s->buf);
    return rc;
}

int spill_write(struct spill *s, const void *p, size_t n)
{
    str_add(&s->buf, p, n);
    return s->buf.len > IN_MEMORY ? spill_flush(s) : 0;
}

int spill_rewind(struct spill *s)
{
    s->used = 0;
    s->at = 0;
    return s->fd < 0 ? 0 : spill_flush(s);
}

static int spill_fill(struct spill *s)
{
    ssize_t n;
    str_clear(&s->buf);
    s->used = 0;
    str_reserve(&s->buf, BLOCK);
    do n = pread(s->fd, s->buf.p, BLOCK, (off_t)s->at);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set(ERR_OUTPUT, "%s: reading back: %s", place_url(s->place), strerror(errno));
    s->at += (uint64_t)n;
    s->buf.len = (size_t)n;
    return 0;
}

int spill_read(struct spill *s, void *p, size_t n)
{
    for (size_t have = 0; have < n;) {
        size_t left = s->buf.len - s->used, take = left < n - have ? left : n - have;
        if (take) memcpy((char *)p + have, s->buf.p + s->used, take);
        have += take;
        s->used += take;
        if (have == n) break;
        int rc = s->fd < 0 ? 0 : spill_fill(s);
        if (rc) return rc;
        if (s->fd < 0 || !s->buf.len) return have ? err_set(ERR_FAIL, "a spill ends early") : 1;
    }
    return 0;
}

void spill_release(struct spill *s)
{
    if (s->place && s->fd >= 0) close(s->fd);
    str_release(&s->buf);
    memset(s, 0, sizeof *s);
    s->fd = -1;
}
