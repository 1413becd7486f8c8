/* positions.c - position tables for another picture size.
 * open_clip resizes the grid with torch's bicubic, antialias=True, align_corners=False: the
 * cubic has a = -0.5, is widened when shrinking, and is cut and renormalised at the edges.
 * torch works in f32, horizontal pass first; so do we, and agree to its last digits. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/load.h"

static float cubic(float x)
{
    const float a = -0.5f;
    x = fabsf(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
    return 0;
}

/* Weights of the inputs lo..hi for output o. */
static void taps(float *w, int *lo, int *hi, int o, int m, int n)
{
    float scale = (float)n / (float)m, wide = scale > 1 ? scale : 1;
    float support = 2 * wide, center = scale * ((float)o + 0.5f), sum = 0;
    *lo = (int)(center - support + 0.5f);
    *hi = (int)(center + support + 0.5f);
    if (*lo < 0) *lo = 0;
    if (*hi > n) *hi = n;
    for (int i = *lo; i < *hi; i++) {
        w[i - *lo] = cubic(((float)i - center + 0.5f) / wide);
        sum += w[i - *lo];
    }
    for (int i = 0; i < *hi - *lo; i++) w[i] /= sum;
}

/* One axis: `lines` vectors out[o] = sum of w * in, each `width` long; the axis has stride
 * `step` vectors in the input and output alike. */
static void axis(float *out, const float *in, int m, int n, int lines, int step_in, int step_out,
                 int line_in, int line_out, int width)
{
    float *w = mem_alloc((size_t)(n + 1) * sizeof *w);
    for (int o = 0; o < m; o++) {
        int lo, hi;
        taps(w, &lo, &hi, o, m, n);
        for (int l = 0; l < lines; l++) {
            float *y =
                out + ((size_t)l * (size_t)line_out + (size_t)o * (size_t)step_out) * (size_t)width;
            for (int c = 0; c < width; c++) y[c] = 0;
            for (int i = lo; i < hi; i++) {
                const float *x = in + ((size_t)l * (size_t)line_in + (size_t)i * (size_t)step_in) *
                                          (size_t)width;
                for (int c = 0; c < width; c++) y[c] += w[i - lo] * x[c];
            }
        }
    }
    free(w);
}

void positions_resize(float *out, const float *in, int m, int n, int width)
{
    float *half = mem_alloc(mem_mul((size_t)n * (size_t)m, (size_t)width * sizeof *half));
    axis(half, in, m, n, n, 1, 1, n, m, width);  /* along x: rows of n to rows of m */
    axis(out, half, m, n, m, m, m, 1, 1, width); /* along y: columns */
    free(half);
}
