/* codec.h - page compression: snappy, zstd, gzip and both LZ4 framings. */
#ifndef FORMAT_PARQUET_CODEC_H
#define FORMAT_PARQUET_CODEC_H

#include "base/str.h"
#include "format/parquet/spec.h"

/* State that is costly to make anew for every page. Zeroed is ready. */
struct codec_state {
    void *zstd_in, *zstd_out;
};
void codec_release(struct codec_state *s);

int codec_readable(enum codec codec);
const char *codec_name(enum codec codec);

/* Replace out by the compressed n bytes (snappy or zstd). Never fails for n < 2^31. */
void codec_pack(struct codec_state *s, struct str *out, enum codec codec, int level, const void *p,
                size_t n);

/* Exactly `size` bytes out of n, or ERR_INPUT. */
int codec_unpack(struct codec_state *s, void *out, size_t size, enum codec codec, const void *p,
                 size_t n);

/* Could n packed bytes really become `size`? Asked before anything is allocated. */
int codec_plausible(enum codec codec, size_t size, size_t n);

#endif
