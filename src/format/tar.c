/* tar.c - the walk over headers and bodies.
 * One buffer, refilled in large reads; headers are decoded in place, bodies are copied once to
 * where the caller wants them (large ones are read there directly). The end of the archive is
 * believed only when its two zero blocks, and nothing but zeros after them, were seen. */
#include "format/tar.h"
#include "format/tar_header.h"
#include "format/unpack.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

enum {
    BUFFER = 256 << 10,  /* stays in the second-level cache, and so does the copy out of it */
    DIRECT = 128 << 10,  /* from here on a body is read in place */
    EXTENSION = 1 << 20, /* bytes of a pax header or long name */
    MEMBERS = 1000 * 1000
};

struct tar {
    struct unpack in;
    struct tar_options options;
    unsigned char *buf;
    size_t at, have;    /* unread bytes are buf[at..have) */
    uint64_t offset;    /* of buf[at] in the stream */
    uint64_t left, pad; /* of the current body and its padding, unread */
    uint64_t members;
    struct tar_header head;
    int style;                     /* of the headers so far, 0 before the first */
    struct str long_name, records; /* of the GNU and pax headers before a member */
    struct str ignored;            /* long link names and global headers */
    struct tar_pax pax;
    int has_long_name, has_long_link, has_pax;
    int state, unterminated; /* state: 0 reading, 1 ended, else the error to repeat */
    enum bad why;
    uint64_t damage;
    char *text, sha256[65];
};

struct tar *tar_open(struct source *s, const struct tar_options *options)
{
    struct tar *t = mem_alloc(sizeof *t);
    if (options) t->options = *options;
    if (!t->options.member_limit) t->options.member_limit = (uint64_t)2 << 30;
    if (!t->options.members_limit) t->options.members_limit = MEMBERS;
    unpack_init(&t->in, s, t->options.hash);
    t->buf = mem_aligned(BUFFER);
    return t;
}

void tar_close(struct tar *t)
{
    if (!t) return;
    unpack_release(&t->in);
    str_release(&t->long_name);
    str_release(&t->records);
    str_release(&t->ignored);
    free(t->buf);
    free(t->text);
    free(t);
}

/* Remember the failure. A source that fails on the way to its end outranks damage: the bytes we
 * judged were not the archive's. */
static int fail(struct tar *t, int rc)
{
    t->damage = t->offset;
    if (rc == ERR_DATA) {
        t->why = err_why();
        t->text = mem_strdup(err_text());
        int broken = unpack_end(&t->in, t->sha256);
        if (broken) {
            rc = broken;
            t->unterminated = 0;
        } else
            err_bad(t->why, "%s", t->text);
    }
    free(t->text);
    t->text = mem_strdup(err_text());
    return t->state = rc;
}

static int damaged(struct tar *t, const char *what)
{
    return fail(t, err_bad(BAD_TAR_DAMAGED, "byte %llu: %s", (unsigned long long)t->offset, what));
}

static int repeat(struct tar *t)
{
    if (t->state == 1) return 1;
    return t->state == ERR_DATA ? err_bad(t->why, "%s", t->text) : err_set(t->state, "%s", t->text);
}

static void advance(struct tar *t, size_t n)
{
    t->at += n;
    t->offset += n;
}

/* Refill an empty or nearly empty buffer: the bytes there now, fewer than `want` only at the
 * end of the source, or an error. */
static int64_t fill(struct tar *t, size_t want)
{
    size_t rest = t->have - t->at;
    if (rest >= want) return (int64_t)rest;
    memmove(t->buf, t->buf + t->at, rest);
    t->at = 0;
    t->have = rest;
    while (t->have < want) {
        int64_t got = unpack_read(&t->in, t->buf + t->have, BUFFER - t->have);
        if (got < 0) return got;
        if (!got) break;
        t->have += (size_t)got;
    }
    return (int64_t)t->have;
}

static int copy(struct tar *t, unsigned char *dst, size_t n)
{
    while (n) {
        size_t rest = t->have - t->at, part = rest < n ? rest : n;
        memcpy(dst, t->buf + t->at, part);
        advance(t, part);
        dst += part;
        n -= part;
        int64_t got = 1;
        if (n >= DIRECT) {
            got = unpack_read(&t->in, dst, n);
            if (got > 0) {
                t->offset += (uint64_t)got;
                dst += got;
                n -= (size_t)got;
            }
        } else if (n) {
            got = fill(t, 1);
        }
        if (got < 0) return fail(t, (int)got);
        if (!got) return damaged(t, "the archive ends inside a member");
    }
    return 0;
}

int tar_read(struct tar *t, void *dst, size_t n)
{
    if (t->state) return repeat(t);
    if (n > t->left) return err_set(ERR_FAIL, "read beyond a member");
    int rc = copy(t, dst, n);
    if (!rc) t->left -= n;
    return rc;
}

int64_t tar_span(struct tar *t, const void **p)
{
    if (t->state) return repeat(t);
    if (!t->left) return 0;
    int64_t got = fill(t, 1);
    if (got < 0) return fail(t, (int)got);
    if (!got) return damaged(t, "the archive ends inside a member");
    if ((uint64_t)got > t->left) got = (int64_t)t->left;
    *p = t->buf + t->at;
    advance(t, (size_t)got);
    t->left -= (uint64_t)got;
    return got;
}

int tar_has(const struct tar *t, uint64_t n)
{
    if (t->have - t->at >= n) return 1;
    if (t->in.kind != UNPACK_PLAIN || !t->in.source || t->in.source->size < 0) return 0;
    uint64_t size = (uint64_t)t->in.source->size;
    return t->offset <= size && size - t->offset >= n;
}

/* Step over what is left of the body, then over its padding. */
static int skip_body(struct tar *t)
{
    uint64_t n = t->left + t->pad;
    while (n) {
        size_t rest = t->have - t->at, part = rest < n ? rest : (size_t)n;
        advance(t, part);
        n -= part;
        if (!n) break;
        int64_t got = fill(t, 1);
        if (got < 0) return fail(t, (int)got);
        if (!got)
            return damaged(t, n <= t->pad ? "the archive ends in the padding after a member"
                                          : "the archive ends inside a member");
    }
    t->left = t->pad = 0;
    return 0;
}

/* The body of an extension header. */
static int read_extension(struct tar *t, struct str *out)
{
    if (t->head.size > EXTENSION) return damaged(t, "an extension header over 1 MiB");
    size_t n = (size_t)t->head.size;
    str_clear(out);
    str_reserve(out, n);
    int rc = copy(t, (unsigned char *)out->p, n);
    if (rc) return rc;
    out->len = n;
    out->p[n] = 0;
    t->pad = -t->head.size & (TAR_BLOCK - 1);
    return skip_body(t);
}

/* GNU writes the name with its NUL; others without. */
static int read_long_name(struct tar *t)
{
    int rc = read_extension(t, &t->long_name);
    if (rc) return rc;
    size_t n = strnlen(t->long_name.p, t->long_name.len);
    for (size_t i = n; i < t->long_name.len; i++)
        if (t->long_name.p[i]) return damaged(t, "a long name with a NUL inside");
    if (!n) return damaged(t, "an empty long name");
    t->long_name.len = n;
    return 0;
}

/* Readers differ on which of two extensions of one kind wins, and on a global header between an
 * extension and its member: such archives are refused. */
static int read_extension_header(struct tar *t)
{
    char type = t->head.type;
    int waiting = t->has_pax || t->has_long_name || t->has_long_link;
    if ((type == 'L' && t->has_long_name) || (type == 'K' && t->has_long_link) ||
        (type == 'x' && t->has_pax) || (type == 'g' && waiting))
        return damaged(t, "two extension headers that contradict each other");
    if (type == 'L') t->has_long_name = 1;
    if (type == 'K') t->has_long_link = 1;
    if (type == 'x') t->has_pax = 1;
    if (type == 'L') return read_long_name(t);
    if (type == 'K') return read_extension(t, &t->ignored);

    struct str *records = type == 'x' ? &t->records : &t->ignored;
    struct tar_pax pax;
    int rc = read_extension(t, records);
    if (rc) return rc;
    rc = tar_pax_decode(&pax, records->p, records->len, type == 'g');
    if (rc) return fail(t, err_wrap(rc, "before byte %llu", (unsigned long long)t->offset));
    if (type == 'x') t->pax = pax;
    return 0;
}

/* After the first zero block: a second one, and zeros to the end of the last block. */
static int finish(struct tar *t)
{
    int64_t got = fill(t, TAR_BLOCK);
    if (got >= 0 && got < TAR_BLOCK) {
        t->unterminated = !got;
        return damaged(t, "the archive ends inside its end mark");
    }
    while (got > 0) {
        for (const unsigned char *p = t->buf + t->at; t->at < t->have; p++, advance(t, 1))
            if (*p) return damaged(t, "bytes after the end of the archive");
        got = fill(t, 1);
    }
    if (got < 0) return fail(t, (int)got);
    if (t->offset % TAR_BLOCK) return damaged(t, "the archive ends inside a block");
    int rc = unpack_end(&t->in, t->sha256);
    return rc ? fail(t, rc) : (t->state = 1);
}

/* What the header and the extensions before it say together. */
static int describe(struct tar *t, struct tar_member *m)
{
    const struct tar_header *h = &t->head;
    m->name = h->name;
    m->name_len = h->name_len;
    m->size = h->size;
    m->body = t->offset;
    if (t->has_long_name && t->has_pax && t->pax.path)
        return damaged(t, "a GNU and a pax name for one member");
    if (t->has_long_name) {
        m->name = t->long_name.p;
        m->name_len = t->long_name.len;
    }
    if (t->has_pax && t->pax.path) {
        str_clear(&t->long_name);
        str_add(&t->long_name, t->pax.path, t->pax.path_len);
        m->name = t->long_name.p;
        m->name_len = t->long_name.len;
    }
    if (t->has_pax && t->pax.has_size) m->size = t->pax.size;
    m->regular = h->type == '0' && m->name[m->name_len - 1] != '/';
    if (!m->regular && m->size) return damaged(t, "a link, folder or device with a body");
    if (m->size > t->options.member_limit) return damaged(t, "a member larger than the limit");
    if (++t->members > t->options.members_limit) return damaged(t, "too many members");
    t->has_pax = t->has_long_name = t->has_long_link = 0;
    t->left = m->size;
    t->pad = -m->size & (TAR_BLOCK - 1);
    return 0;
}

int tar_next(struct tar *t, struct tar_member *m)
{
    if (t->state) return repeat(t);
    int rc = skip_body(t);
    if (rc) return rc;
    m->offset = t->offset;
    for (;;) {
        int waiting = t->has_pax || t->has_long_name || t->has_long_link;
        int64_t got = fill(t, TAR_BLOCK);
        if (got < 0) return fail(t, (int)got);
        if (!got && !waiting) {
            t->unterminated = 1;
            return damaged(t, "the archive ends without its end mark");
        }
        if (got < TAR_BLOCK) return damaged(t, "the archive ends inside a header");
        rc = tar_header_decode(&t->head, t->buf + t->at);
        if (rc < 0) return fail(t, err_wrap(rc, "byte %llu", (unsigned long long)t->offset));
        if (!rc && t->style && t->head.style != t->style)
            return damaged(t, "the header checksum is spelled unlike the others");
        if (!rc) t->style = t->head.style;
        if (rc && waiting) return damaged(t, "an extension header without its member");
        advance(t, TAR_BLOCK);
        if (rc) return finish(t);
        if (!strchr("xgLK", t->head.type)) return describe(t, m);
        rc = read_extension_header(t);
        if (rc) return rc;
    }
}

uint64_t tar_damage_offset(const struct tar *t)
{
    return t->damage;
}

int tar_unterminated(const struct tar *t)
{
    return t->state == ERR_DATA && t->unterminated;
}

uint64_t tar_stored(const struct tar *t)
{
    return t->in.stored;
}

const char *tar_sha256(const struct tar *t)
{
    return t->sha256;
}
