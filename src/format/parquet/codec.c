/* codec.c - page compression, by the libraries that define each format.
 * A page says how long it will be; a bomb is refused before allocation, since no codec can expand
 * beyond a known ratio, and a page of any other length than said is damaged. */
#include "format/parquet/codec.h"
#include "base/err.h"

#include <assert.h>
#include <lz4.h>
#include <snappy-c.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static const struct {
    const char *name;
    int readable;
    size_t ratio; /* no input expands more; 0 = no limit known */
} codecs[CODEC_COUNT] = {
    [CODEC_NONE] = {"uncompressed", 1, 1}, [CODEC_SNAPPY] = {"snappy", 1, 64},
    [CODEC_GZIP] = {"gzip", 1, 1040},      [CODEC_LZO] = {"lzo", 0, 0},
    [CODEC_BROTLI] = {"brotli", 0, 0},     [CODEC_LZ4_HADOOP] = {"lz4", 1, 256},
    [CODEC_ZSTD] = {"zstd", 1, 131072},    [CODEC_LZ4_RAW] = {"lz4_raw", 1, 256},
};

void codec_release(struct codec_state *s)
{
    ZSTD_freeCCtx(s->zstd_out);
    ZSTD_freeDCtx(s->zstd_in);
    memset(s, 0, sizeof *s);
}

int codec_readable(enum codec codec)
{
    return (unsigned)codec < CODEC_COUNT && codecs[codec].readable;
}

const char *codec_name(enum codec codec)
{
    return (unsigned)codec < CODEC_COUNT ? codecs[codec].name : "unknown";
}

int codec_plausible(enum codec codec, size_t size, size_t n)
{
    return size / codecs[codec].ratio <= n + 16;
}

static size_t zstd_pack(struct codec_state *s, struct str *out, int level, const void *p, size_t n)
{
    if (!s->zstd_out) s->zstd_out = ZSTD_createCCtx();
    str_reserve(out, ZSTD_compressBound(n));
    return ZSTD_compressCCtx(s->zstd_out, out->p, out->cap, p, n, level);
}

void codec_pack(struct codec_state *s, struct str *out, enum codec codec, int level, const void *p,
                size_t n)
{
    str_clear(out);
    if (codec == CODEC_SNAPPY) {
        size_t size = snappy_max_compressed_length(n);
        str_reserve(out, size);
        snappy_status rc = snappy_compress(p, n, out->p, &size);
        assert(rc == SNAPPY_OK);
        out->len = size;
    } else {
        assert(codec == CODEC_ZSTD);
        size_t size = zstd_pack(s, out, level, p, n);
        assert(!ZSTD_isError(size));
        out->len = size;
    }
}

/* gzip or zlib framing, and several gzip members one after another, as the format allows. */
static int gzip_unpack(unsigned char *out, size_t size, const void *p, size_t n)
{
    z_stream z = {.next_in = (void *)(uintptr_t)p,
                  .avail_in = (uInt)n,
                  .next_out = out,
                  .avail_out = (uInt)size};
    if (inflateInit2(&z, 15 + 32) != Z_OK) return 0;
    int rc;
    do rc = inflate(&z, Z_FINISH);
    while (rc == Z_STREAM_END && z.avail_in && inflateReset(&z) == Z_OK);
    int ok = rc == Z_STREAM_END && !z.avail_in && !z.avail_out;
    inflateEnd(&z);
    return ok;
}

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Hadoop's framing: blocks of {size, packed size, big-endian; raw LZ4}. */
static int hadoop_unpack(char *out, size_t size, const unsigned char *p, size_t n)
{
    while (n >= 8) {
        uint32_t block = big_endian(p), packed = big_endian(p + 4);
        p += 8, n -= 8;
        if (packed > n || block > size) return 0;
        if (LZ4_decompress_safe((const char *)p, out, (int)packed, (int)block) != (int)block)
            return 0;
        p += packed, n -= packed;
        out += block, size -= block;
    }
    return !n && !size;
}

static int snappy_unpack(void *out, size_t size, const void *p, size_t n)
{
    size_t said;
    return snappy_uncompressed_length(p, n, &said) == SNAPPY_OK && said == size &&
           snappy_uncompress(p, n, out, &said) == SNAPPY_OK;
}

static int zstd_unpack(struct codec_state *s, void *out, size_t size, const void *p, size_t n)
{
    if (!s->zstd_in) s->zstd_in = ZSTD_createDCtx();
    return ZSTD_decompressDCtx(s->zstd_in, out, size, p, n) == size;
}

int codec_unpack(struct codec_state *s, void *out, size_t size, enum codec codec, const void *p,
                 size_t n)
{
    int ok = 0;
    assert(size <= INT32_MAX && n <= INT32_MAX);
    switch (codec) {
    case CODEC_NONE:
        ok = size == n;
        if (ok && n) memcpy(out, p, n);
        break;
    case CODEC_SNAPPY: ok = snappy_unpack(out, size, p, n); break;
    case CODEC_GZIP: ok = gzip_unpack(out, size, p, n); break;
    case CODEC_ZSTD: ok = zstd_unpack(s, out, size, p, n); break;
    case CODEC_LZ4_RAW: ok = LZ4_decompress_safe(p, out, (int)n, (int)size) == (int)size; break;
    case CODEC_LZ4_HADOOP:
        /* Old Arrow wrote raw blocks under this name; the framing is tried first. */
        ok = hadoop_unpack(out, size, p, n) ||
             LZ4_decompress_safe(p, out, (int)n, (int)size) == (int)size;
        break;
    default: break;
    }
    return ok ? 0 : err_set(ERR_INPUT, "%s data is damaged", codec_name(codec));
}
