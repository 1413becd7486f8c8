/* unpack.c - gzip and zstd by content. The first read goes straight into the caller's buffer;
 * only when it shows a packed stream is it moved behind a decompressor. */
#include "format/unpack.h"
#include "base/err.h"
#include "base/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { IN_SIZE = 256 << 10 };

void unpack_init(struct unpack *u, struct source *s, int hash)
{
    *u = (struct unpack){.source = s, .hashing = hash};
    if (hash) sha256_init(&u->hash);
}

/* Bytes as stored, counted and hashed. */
static int64_t read_stored(struct unpack *u, void *buf, size_t n)
{
    int64_t got = source_read(u->source, buf, n);
    if (got <= 0) return got;
    u->stored += (uint64_t)got;
    if (u->hashing) sha256_add(&u->hash, buf, (size_t)got);
    return got;
}

static int64_t refill(struct unpack *u)
{
    if (u->at < u->have) return (int64_t)(u->have - u->at);
    int64_t got = read_stored(u, u->in, IN_SIZE);
    u->at = 0;
    u->have = got > 0 ? (size_t)got : 0;
    return got;
}

static int64_t damaged(struct unpack *u, const char *what)
{
    return err_bad(BAD_TAR_DAMAGED, "the %s stream %s near byte %llu",
                   u->kind == UNPACK_GZIP ? "gzip" : "zstd", what,
                   (unsigned long long)(u->stored - (u->have - u->at)));
}

/* Between gzip members: zero padding is skipped, another member may follow. 1 at the end. */
static int64_t next_gzip_member(struct unpack *u)
{
    for (;;) {
        int64_t got = refill(u);
        if (got <= 0) return got < 0 ? got : 1;
        while (u->at < u->have && !u->in[u->at]) u->at++;
        if (u->at == u->have) continue;
        if (u->in[u->at] != 0x1f) return damaged(u, "is followed by something else");
        inflateReset(u->state);
        u->frame_open = 1;
        return 0;
    }
}

static int64_t read_gzip(struct unpack *u, unsigned char *buf, size_t n)
{
    z_stream *z = u->state;
    size_t done = 0;
    while (done < n) {
        if (!u->frame_open) {
            int64_t end = next_gzip_member(u);
            if (end) return end < 0 ? end : (int64_t)done;
        }
        int64_t got = refill(u);
        if (got < 0) return got;
        if (!got) return damaged(u, "is cut");
        size_t room = n - done > UINT_MAX ? UINT_MAX : n - done;
        z->next_in = u->in + u->at;
        z->avail_in = (unsigned)(u->have - u->at);
        z->next_out = buf + done;
        z->avail_out = (unsigned)room;
        int rc = inflate(z, Z_NO_FLUSH);
        u->at = u->have - z->avail_in;
        done += room - z->avail_out;
        if (rc == Z_STREAM_END)
            u->frame_open = 0;
        else if (rc != Z_OK && rc != Z_BUF_ERROR)
            return damaged(u, "is damaged");
    }
    return (int64_t)done;
}

static int64_t read_zstd(struct unpack *u, unsigned char *buf, size_t n)
{
    ZSTD_outBuffer out = {buf, n, 0};
    while (out.pos < n) {
        int64_t got = refill(u);
        if (got < 0) return got;
        if (!got && u->frame_open) return damaged(u, "is cut");
        if (!got) break;
        ZSTD_inBuffer in = {u->in, u->have, u->at};
        size_t rc = ZSTD_decompressStream(u->state, &out, &in);
        u->at = in.pos;
        if (ZSTD_isError(rc)) return damaged(u, "is damaged, or needs a window over 128 MiB,");
        u->frame_open = rc != 0;
    }
    return (int64_t)out.pos;
}

static const struct packing {
    const char *magic;
    size_t len;
    enum unpack_kind kind;
    const char *tool; /* that unpacks what we do not */
} packings[] = {
    {"\x1f\x8b\x08", 3, UNPACK_GZIP, NULL},
    {"\x28\xb5\x2f\xfd", 4, UNPACK_ZSTD, NULL},
    {"BZh", 3, UNPACK_UNKNOWN, "bzip2"},
    {"\xfd\x37zXZ", 6, UNPACK_UNKNOWN, "xz"}, /* with its NUL */
    {"\x04\x22\x4d\x18", 4, UNPACK_UNKNOWN, "lz4"},
};

/* A tar may begin with a file called BZh: a bzip2 stream goes on with a level and pi. */
static int matches(const struct packing *p, const unsigned char *b, size_t n)
{
    if (n < p->len || memcmp(b, p->magic, p->len)) return 0;
    return p->magic[0] != 'B' || (n >= 10 && !memcmp(b + 4, "1AY&SY", 6));
}

static int64_t start(struct unpack *u, unsigned char *buf, size_t n)
{
    int64_t got = read_stored(u, buf, n < IN_SIZE ? n : IN_SIZE);
    if (got < 0) return got;
    u->kind = UNPACK_PLAIN;
    for (size_t i = 0; i < sizeof packings / sizeof *packings; i++) {
        const struct packing *p = &packings[i];
        if (!matches(p, buf, (size_t)got)) continue;
        if (p->tool)
            return err_bad(BAD_TAR_DAMAGED,
                           "packed with %s, which is not read here; unpack it, "
                           "or give it as 'pipe:%s -dc FILE'",
                           p->tool, p->tool);
        u->kind = p->kind;
    }
    if (u->kind == UNPACK_PLAIN) return got;
    u->in = mem_aligned(IN_SIZE);
    memcpy(u->in, buf, (size_t)got);
    u->have = (size_t)got;
    u->frame_open = 1;
    if (u->kind == UNPACK_ZSTD) {
        u->state = ZSTD_createDStream();
        return u->state ? read_zstd(u, buf, n) : err_set(ERR_FAIL, "zstd cannot start");
    }
    u->state = mem_alloc(sizeof(z_stream));
    if (inflateInit2(u->state, 15 + 16) != Z_OK) return err_set(ERR_FAIL, "zlib cannot start");
    return read_gzip(u, buf, n);
}

int64_t unpack_read(struct unpack *u, void *buf, size_t n)
{
    switch (u->kind) {
    case UNPACK_UNKNOWN: return start(u, buf, n);
    case UNPACK_PLAIN: return read_stored(u, buf, n);
    case UNPACK_GZIP: return read_gzip(u, buf, n);
    case UNPACK_ZSTD: return read_zstd(u, buf, n);
    }
    return 0;
}

int unpack_end(struct unpack *u, char sha256[65])
{
    int64_t got = 1;
    if (!u->in) u->in = mem_aligned(IN_SIZE);
    while (got > 0) got = read_stored(u, u->in, IN_SIZE);
    struct source *s = u->source;
    u->source = NULL;
    int rc = source_close(s);
    if (sha256) sha256[0] = 0;
    if (u->hashing && sha256) {
        sha256_end(&u->hash, sha256);
        u->hashing = 0;
    }
    return got < 0 ? (int)got : rc;
}

void unpack_release(struct unpack *u)
{
    if (u->kind == UNPACK_GZIP && u->state) {
        inflateEnd(u->state);
        free(u->state);
    }
    if (u->kind == UNPACK_ZSTD) ZSTD_freeDStream(u->state);
    if (u->hashing) sha256_release(&u->hash);
    source_close(u->source);
    free(u->in);
    memset(u, 0, sizeof *u);
}
