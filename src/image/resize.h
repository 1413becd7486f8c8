/* resize.h - Pillow's convolution resize, bit for bit, cropped, fed row by row.
 * Weights are 22-bit fixed point; each pass rounds to 8 bits. Only outputs inside the crop are
 * computed, from the window of the source that feeds them. */
#ifndef IMAGE_RESIZE_H
#define IMAGE_RESIZE_H

#include "base/arena.h"
#include "base/platform.h"
#include "image/prep.h"

enum { RESIZE_BITS = 22, RESIZE_BATCH = 4 };

/* One axis: `count` outputs from `first` of a resize of `in` pixels to `out`. */
struct axis {
    int in, out, first, count;
    int lo, hi; /* inputs [lo, hi) feed the outputs kept */
    int taps;   /* most inputs of any output */
    int *start; /* [count] first input, counted from lo */
    int *len;   /* [count] inputs */
    double *w;  /* [count, taps] weights, sum 1, zero past len */
    int32_t *k; /* [count, taps] the same in fixed point */
    /* What the vector kernels read, laid out by resize.c: */
    int groups;      /* groups of neighbouring taps */
    int blocks;      /* ceil(taps / 8) */
    int block_words; /* words of a block of weights */
    int *from;       /* [count] where the blocks of an output start, counted from lo */
    uint32_t *pack;  /* [count, blocks, block_words] or [count, groups, digits] */
};

void axis_init(struct axis *x, int in, int out, int first, int count, enum prep_filter filter,
               struct arena *a);

/* How a picture is resized and which part of the result is kept: size x size from (x, y). */
struct resize_plan {
    int in_width, in_height, out_width, out_height;
    int x, y, size;
    enum prep_filter filter;
};

/* A resize of four-byte pixels under way. */
struct resize {
    struct axis x, y;
    int down_first; /* vertical pass first */
    const struct resize_kernels *kernels;
    uint8_t **ring;       /* [ring_rows] rows between the passes */
    const uint8_t **taps; /* [tap_rows] scratch */
    int tap_rows;
    uint8_t *scratch; /* 16 bytes for each pixel of four rows, side by side */
    uint8_t *spare;   /* a row nobody reads */
    uint8_t *middle;  /* down_first: one row after the vertical pass */
    int ring_rows;
    int rows_in, rows_out;
    size_t out_stride;
    uint8_t *out; /* [size, size, 4] */
};

void resize_init(struct resize *r, const struct resize_plan *plan, struct arena *a);

/* The same with given kernels: all give the same bytes. */
void resize_init_with(struct resize *r, const struct resize_plan *plan,
                      const struct resize_kernels *kernels, struct arena *a);

/* The next n rows (at most RESIZE_BATCH) of the window: rows y.lo .. y.hi, each from pixel x.lo.
 * Rows must be readable 64 bytes past pixel x.hi. */
void resize_push(struct resize *r, uint8_t *const *rows, int n);

/* The result without its fourth channel: rgb [size, size, 3]. */
void resize_rgb(uint8_t *rgb, const struct resize *r);

/* The same for one 16-bit channel, in double as Pillow does it; whole source at once.
 * src is [in_height, in_width], out is [size, size]. */
void resize_16(uint16_t *out, const uint16_t *src, const struct resize_plan *plan, struct arena *a);

/* Nearest neighbour: the source index of each of the `count` outputs from `first`; -1 if none. */
void resize_nearest(int *index, int in, int out, int first, int count);

/* The inner loops, one set per instruction set; all give the same bytes. A weight is cut into
 * `digits`, and `group` neighbouring taps are multiplied by a digit at once. */
struct resize_kernels {
    int group, digits;
    int blocks; /* across wants blocks of weights, else groups as down does */
    /* Horizontal pass of four rows. May write up to three pixels past the end. */
    void (*across)(uint8_t *const *out, const uint8_t *const *in, const struct axis *x,
                   uint8_t *scratch);
    /* Vertical pass: output row o from group * groups rows of `bytes` bytes. May write up to 64
     * bytes past the end. */
    void (*down)(uint8_t *out, const uint8_t *const *rows, const struct axis *y, int o, int bytes);
    /* n pixels R G B X -> R G B. */
    void (*drop)(uint8_t *rgb, const uint8_t *rgbx, int n);
};
void resize_drop_avx2(uint8_t *rgb, const uint8_t *rgbx, int n);
extern const struct resize_kernels resize_plain, resize_avx2, resize_avx512, resize_vnni;
int resize_has_vnni(void); /* AVX-512 with byte dot products and permutes */

#endif
