/* probe.h - what a picture's header promises, before anything is decoded. */
#ifndef IMAGE_PROBE_H
#define IMAGE_PROBE_H

#include "base/platform.h"

struct probe {
    uint32_t width, height;
    int progressive; /* a JPEG of several scans: all its coefficients are held at once */
    int streamed;    /* decoded row by row: a few rows are held, never the picture */
};

/* 0 when the header was understood, 1 when not. Never an error: decoders judge. */
int image_probe(struct probe *out, const void *bytes, size_t n);

/* About how much memory decoding it may hold at once; 0 when its header says nothing. */
uint64_t image_cost(const void *bytes, size_t n);

#endif
