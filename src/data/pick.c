/* pick.c - find a sample in a mapped tar.
 * Halving needs a header near any offset: blocks are tried one after the other until one has the
 * magic and the checksum of a header. A picture that holds a tar could pretend; its key would
 * then have to be the one asked for, and what is shown would still be bytes of this shard. */
#include "data/pick.h"
#include "base/err.h"
#include "base/mem.h"
#include "data/sample.h"
#include "data/shard.h"
#include "format/tar_header.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

enum { NEAR = 1 << 20, PROBE = 64 << 20 }; /* bytes: walk from here on; give up the search */

struct pick {
    struct file_map map;
    int borrowed; /* the bytes are not ours to unmap */
    struct str name, long_name;
};

/* A member: where its headers begin, its body, where the next one begins. */
struct member {
    size_t at, body, size, next;
    const char *name;
    int regular;
};

int pick_open(struct pick **out, const char *path)
{
    struct file_map m;
    *out = NULL;
    int rc = file_map(&m, path);
    if (rc) return rc;
    if (m.n > 4 && (!memcmp(m.p, "\x1f\x8b", 2) || !memcmp(m.p, "\x28\xb5\x2f\xfd", 4))) {
        file_unmap(&m);
        return err_set(ERR_INPUT, "%s: is compressed, so no sample can be picked out of it", path);
    }
    /* Halving jumps about: reading ahead would read the shard. */
    if (m.n) (void)madvise((void *)(uintptr_t)m.p, m.n, MADV_RANDOM);
    *out = mem_alloc(sizeof **out);
    (*out)->map = m;
    return 0;
}

struct pick *pick_of(const void *tar, size_t n)
{
    struct pick *p = mem_alloc(sizeof *p);
    p->map = (struct file_map){tar, n};
    p->borrowed = 1;
    return p;
}

void pick_close(struct pick *p)
{
    if (!p) return;
    if (!p->borrowed) file_unmap(&p->map);
    str_release(&p->name);
    str_release(&p->long_name);
    free(p);
}

/* The name a GNU or pax header gives to the file behind it. */
static void take_long_name(struct pick *p, const struct tar_header *h, const char *body)
{
    struct tar_pax pax = {0};
    if (h->type == 'L') {
        str_clear(&p->long_name);
        str_add(&p->long_name, body, strnlen(body, (size_t)h->size));
    } else if (h->type == 'x' && !tar_pax_decode(&pax, body, (size_t)h->size, 0) && pax.path) {
        str_clear(&p->long_name);
        str_add(&p->long_name, pax.path, pax.path_len);
    }
}

/* The member whose headers begin at `at`: 0, or 1 when there is none. */
static int member_at(struct pick *p, struct member *m, size_t at)
{
    struct tar_header h;
    str_clear(&p->long_name);
    for (m->at = at;;) {
        if (p->map.n < TAR_BLOCK || at > p->map.n - TAR_BLOCK) return 1;
        if (tar_header_decode(&h, p->map.p + at)) return 1;
        size_t body = at + TAR_BLOCK, room = p->map.n - body;
        if (h.size > room) return 1;
        size_t padded = ((size_t)h.size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
        at = padded > room ? p->map.n : body + padded;
        m->body = body;
        m->size = (size_t)h.size;
        m->next = at;
        if (!strchr("xgLK", h.type)) break;
        take_long_name(p, &h, (const char *)p->map.p + body);
    }
    m->regular = h.type == '0';
    str_clear(&p->name);
    if (p->long_name.len)
        str_add(&p->name, p->long_name.p, p->long_name.len);
    else
        str_add(&p->name, h.name, h.name_len);
    m->name = p->name.p;
    return 0;
}

/* The first member that begins at or behind `at`. */
static int member_near(struct pick *p, struct member *m, size_t at)
{
    size_t end = p->map.n - at > PROBE ? at + PROBE : p->map.n;
    for (at = (at + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK; at + TAR_BLOCK <= end; at += TAR_BLOCK)
        if (!memcmp(p->map.p + at + 257, "ustar", 5) && !member_at(p, m, at)) return 0;
    return 1;
}

/* The member's key against the one looked for, as memcmp orders them. */
static int compare(const struct member *m, const char *key, const char **ext)
{
    size_t n = shard_key(m->name, ext), want = strlen(key), least = n < want ? n : want;
    int order = memcmp(m->name, key, least);
    return order ? order : (n > want) - (n < want);
}

/* An offset from which walking meets the key soon, if keys are in order. */
static size_t halve(struct pick *p, const char *key)
{
    size_t low = 0, high = p->map.n;
    while (high - low > NEAR) {
        struct member m;
        const char *ext;
        size_t middle = low + (high - low) / 2;
        if (member_near(p, &m, middle) || m.at >= high || compare(&m, key, &ext) >= 0)
            high = middle;
        else
            low = m.at;
    }
    return low;
}

static size_t rank_of(const char *exts, const char *ext)
{
    size_t rank = 0, n = strlen(ext);
    for (const char *e = exts; *e; e += strcspn(e, ";"), e += *e == ';', rank++)
        if (strcspn(e, ";") == n && !strncasecmp(e, ext, n)) return rank;
    return SIZE_MAX;
}

/* Walk from `at` through the sample; the best of its members. Members of a sample lie together,
 * so the walk ends behind it. */
static int walk(struct pick *p, struct member *found, size_t at, size_t end, const char *key,
                const char *exts)
{
    size_t best = SIZE_MAX;
    int inside = 0;
    for (struct member m; at < end && !member_at(p, &m, at); at = m.next) {
        const char *ext = "";
        int same = m.regular && !compare(&m, key, &ext);
        if (inside && !same && m.regular) break;
        inside |= same;
        size_t rank = same ? rank_of(exts, ext) : SIZE_MAX;
        if (rank < best) best = rank, *found = m;
    }
    return best == SIZE_MAX;
}

int pick_find(struct pick *p, const void **bytes, size_t *n, const char *key, const char *exts)
{
    struct member m;
    size_t start = halve(p, key);
    size_t end = p->map.n - start > 4 * (size_t)NEAR ? start + 4 * (size_t)NEAR : p->map.n;
    int none = walk(p, &m, start, end, key, exts);
    if (none) none = walk(p, &m, 0, p->map.n, key, exts);
    if (none) return 1;
    *bytes = p->map.p + m.body;
    *n = m.size;
    return 0;
}

const char *pick_first(struct pick *p)
{
    struct member m;
    const char *ext;
    for (size_t at = 0; !member_at(p, &m, at); at = m.next) {
        size_t n = m.regular ? shard_key(m.name, &ext) : 0;
        if (!n) continue;
        p->name.p[n] = 0;
        return p->name.p;
    }
    return "";
}
