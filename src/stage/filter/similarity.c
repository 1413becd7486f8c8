/* similarity.c - how well a caption fits its picture: the cosine of the two embeddings. Sums run in
 * sixteen lanes of float32, added up as doubles: the same bits on every machine. */
#include "stage/filter/filter.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 16, SOME = 64 /* rows converted at a time: they stay in the cache */ };

int similarity_open(struct similarity *s, const struct sidecars *c, int64_t partition)
{
    memset(s, 0, sizeof *s);
    int rc = embeddings_open(&s->image, c, SIDE_IMAGE, partition);
    if (!rc) rc = embeddings_open(&s->text, c, SIDE_TEXT, partition);
    if (!rc && s->image.rows && s->image.dim != s->text.dim) {
        struct str image = {0}, text = {0};
        sidecars_name(&image, c, SIDE_IMAGE, partition);
        sidecars_name(&text, c, SIDE_TEXT, partition);
        rc = err_set(ERR_INPUT, "%s has width %d, but %s %d: they are of different models", image.p,
                     s->image.dim, text.p, s->text.dim);
        str_release(&image);
        str_release(&text);
    }
    if (!rc) s->rows = mem_aligned(2 * SOME * ((size_t)s->image.dim + 1) * sizeof *s->rows);
    if (rc) similarity_close(s);
    return rc;
}

void similarity_close(struct similarity *s)
{
    embeddings_close(&s->image);
    embeddings_close(&s->text);
    free(s->rows);
    memset(s, 0, sizeof *s);
}

static double add_up(const float lane[LANES])
{
    double sum = 0;
    for (int l = 0; l < LANES; l++) sum += lane[l];
    return sum;
}

static double cosine(const float *a, const float *b, size_t n)
{
    float ab[LANES] = {0}, aa[LANES] = {0}, bb[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++) {
            ab[l] += a[i + l] * b[i + l];
            aa[l] += a[i + l] * a[i + l];
            bb[l] += b[i + l] * b[i + l];
        }
    for (size_t l = 0; i + l < n; l++) {
        ab[l] += a[i + l] * b[i + l];
        aa[l] += a[i + l] * a[i + l];
        bb[l] += b[i + l] * b[i + l];
    }
    double norm = sqrt(add_up(aa)) * sqrt(add_up(bb)), dot = add_up(ab);
    return norm > 0 && isfinite(norm) && isfinite(dot) ? (float)(dot / norm) : NAN;
}

void similarity_get(double *out, struct similarity *s, int64_t from, int64_t n)
{
    size_t dim = (size_t)s->image.dim;
    float *image = s->rows, *text = s->rows + SOME * dim;
    for (int64_t at = 0; at < n; at += SOME) {
        int64_t some = n - at < SOME ? n - at : SOME;
        embeddings_get(image, &s->image, from + at, some);
        embeddings_get(text, &s->text, from + at, some);
        for (int64_t i = 0; i < some; i++)
            out[at + i] = cosine(image + (size_t)i * dim, text + (size_t)i * dim, dim);
    }
}
