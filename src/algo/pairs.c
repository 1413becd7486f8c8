/* pairs.c - keep order, scores and removal inside one cluster.
 * A cluster is cut into blocks of rows that fit into memory; a block is compared with itself and
 * with every block before it, in order, so that the first of equal maxima stays the one found. */
#include "algo/pairs.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tensor/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_LEAST = 256, GREEDY_BLOCK = 1024, CHUNK = 16 };

/* ---- keep order ---- */

struct ordering {
    const struct pairs_item *items;
    const uint64_t *hash;
    enum pairs_keep keep;
};

static int compare_ids(const struct pairs_item *a, const struct pairs_item *b)
{
    size_t n = a->id_bytes < b->id_bytes ? a->id_bytes : b->id_bytes;
    int c = n ? memcmp(a->id, b->id, n) : 0;
    return c ? c : (a->id_bytes > b->id_bytes) - (a->id_bytes < b->id_bytes);
}

static int compare_keys(float a, float b, int descending) /* NaN last */
{
    if (isnan(a) || isnan(b)) return (isnan(a) != 0) - (isnan(b) != 0);
    int c = (a > b) - (a < b);
    return descending ? -c : c;
}

static int compare_items(const void *x, const void *y, void *arg)
{
    const struct ordering *o = arg;
    int64_t i = *(const int64_t *)x, j = *(const int64_t *)y;
    const struct pairs_item *a = &o->items[i], *b = &o->items[j];
    int c = 0;
    if (o->keep == PAIRS_RANDOM)
        c = (o->hash[i] > o->hash[j]) - (o->hash[i] < o->hash[j]);
    else
        c = compare_keys(a->key, b->key, o->keep == PAIRS_HARD || o->keep == PAIRS_HIGH);
    if (!c) c = o->keep == PAIRS_HARD ? compare_ids(b, a) : compare_ids(a, b);
    if (!c) c = (a->part > b->part) - (a->part < b->part);
    if (!c) c = (a->row > b->row) - (a->row < b->row);
    return c;
}

void pairs_order(int64_t *order, const struct pairs_item *items, int64_t n, enum pairs_keep keep,
                 uint64_t seed)
{
    uint64_t *hash = NULL;
    for (int64_t i = 0; i < n; i++) order[i] = i;
    if (keep == PAIRS_RANDOM) {
        hash = mem_alloc(mem_mul((size_t)n + 1, sizeof *hash));
        for (int64_t i = 0; i < n; i++) {
            struct rng r = {seed ^ hash64(items[i].id, items[i].id_bytes)};
            hash[i] = rng_u64(&r);
        }
    }
    struct ordering o = {items, hash, keep};
    if (n > 1) qsort_r(order, (size_t)n, sizeof *order, compare_items, &o);
    free(hash);
}

/* ---- removal by score ---- */

float pairs_limit(double eps)
{
    return (float)(1 - eps);
}

int64_t pairs_removed(uint8_t *removed, const float *score, int64_t n, double eps)
{
    float limit = pairs_limit(eps);
    int64_t count = 0;
    for (int64_t j = 0; j < n; j++) {
        int goes = score[j] >= limit;
        if (removed) removed[j] = (uint8_t)goes;
        count += goes;
    }
    return count;
}

/* ---- blocks of a cluster ---- */

static int load(struct block *b, struct rows *rows, int64_t first, int64_t n, int normalize)
{
    block_reset(b);
    int rc = block_add(b, rows, first, n, normalize);
    if (!rc) rc = block_finish(b);
    for (int64_t i = 0; !rc && i < n; i++)
        if (row_state(b->norm[i], 1) != ROW_GOOD)
            return err_set(ERR_INPUT, "row %lld of a cluster is zero or not finite: leave it out",
                           (long long)(first + i));
    return rc;
}

static int check_count(const struct rows *rows)
{
    if (rows->count <= INT32_MAX / 2) return 0;
    return err_set(ERR_USAGE, "a cluster of %lld rows cannot be compared: use more clusters",
                   (long long)rows->count);
}

/* Three blocks are in memory at a time: later rows, earlier rows, and those packed. */
static int64_t rows_at_once(const struct rows *rows, const struct pairs_options *o)
{
    size_t memory = o->memory ? o->memory : (size_t)1 << 30;
    int64_t most = (int64_t)(memory / ((size_t)tensor_pitch(rows->dim) * 3 * sizeof(float)));
    if (most < BLOCK_LEAST) most = BLOCK_LEAST;
    return most < rows->count ? most : rows->count;
}

/* ---- scores ---- */

struct scoring {
    struct device *d;
    struct rows *rows;
    int normalize;
    struct block later, before;
    float *score_dev;
    int32_t *index_dev;
};

static int scoring_open(struct scoring *s, int64_t most)
{
    int rc = block_init(&s->later, s->d, most, s->rows->dim);
    if (!rc && most < s->rows->count) rc = block_init(&s->before, s->d, most, s->rows->dim);
    if (!rc) rc = op_alloc(s->d, (void **)&s->score_dev, (size_t)most * sizeof *s->score_dev);
    if (!rc) rc = op_alloc(s->d, (void **)&s->index_dev, (size_t)most * sizeof *s->index_dev);
    return rc;
}

static void scoring_close(struct scoring *s)
{
    block_release(&s->later);
    block_release(&s->before);
    op_free(s->d, s->score_dev);
    op_free(s->d, s->index_dev);
}

static int compare_blocks(struct scoring *s, const struct block *before, int64_t x_first,
                          int64_t e_first)
{
    int64_t n = s->later.x.dim[0];
    struct pair_max a = {.score = tensor_1d(s->score_dev, F32, n),
                         .index = tensor_1d(s->index_dev, I32, n),
                         .x = s->later.x,
                         .e = before->x,
                         .x_first = x_first,
                         .e_first = e_first};
    return op_pair_max(s->d, &a);
}

/* Rows [first, first+n) against all before them. */
static int score_rows(struct scoring *s, float *score, int32_t *earlier, int64_t first, int64_t n)
{
    int64_t most = s->later.most;
    for (int64_t i = 0; i < n; i++) score[i] = -INFINITY, earlier[i] = -1;
    int rc = load(&s->later, s->rows, first, n, s->normalize);
    if (!rc) rc = op_put(s->d, s->score_dev, score, (size_t)n * sizeof *score);
    if (!rc) rc = op_put(s->d, s->index_dev, earlier, (size_t)n * sizeof *earlier);
    for (int64_t e = 0; !rc && e < first; e += most) {
        rc = load(&s->before, s->rows, e, most < first - e ? most : first - e, s->normalize);
        if (!rc) rc = compare_blocks(s, &s->before, first, e);
    }
    if (!rc) rc = compare_blocks(s, &s->later, first, first);
    if (!rc) rc = op_get(s->d, score, s->score_dev, (size_t)n * sizeof *score);
    if (!rc) rc = op_get(s->d, earlier, s->index_dev, (size_t)n * sizeof *earlier);
    for (int64_t i = 0; !rc && i < n; i++) {
        if (!(score[i] >= 0)) earlier[i] = (int32_t)(first + i);
        if (!(score[i] > 0)) score[i] = 0; /* also -0 */
    }
    return rc;
}

int pairs_score(float *score, int32_t *earlier, struct device *d, struct rows *rows,
                const struct pairs_options *o)
{
    struct scoring s = {.d = d, .rows = rows, .normalize = o->normalize};
    int64_t most = rows_at_once(rows, o);
    int rc = check_count(rows);
    if (rc || !rows->count) return rc;
    rc = scoring_open(&s, most);
    for (int64_t at = 0; !rc && at < rows->count; at += most) {
        int64_t n = most < rows->count - at ? most : rows->count - at;
        rc = score_rows(&s, score + at, earlier + at, at, n);
    }
    scoring_close(&s);
    return rc;
}

/* ---- the greedy rule ---- */

struct greedy {
    struct device *d;
    struct rows *rows;
    const struct pairs_options *o;
    uint8_t *removed; /* [count][n] */
    int32_t *by;
    int64_t n;
    int count;
    float limit[PAIRS_EPS], lowest;
    struct block later, before;
    int32_t *kept; /* rows that some eps keeps, in order */
    int64_t keeps;
    float *dot, *dot_dev; /* [GREEDY_BLOCK,GREEDY_BLOCK] */
};

static int greedy_open(struct greedy *g)
{
    size_t cells = (size_t)GREEDY_BLOCK * GREEDY_BLOCK;
    g->kept = mem_alloc(mem_mul((size_t)g->n, sizeof *g->kept));
    g->dot = mem_aligned(cells * sizeof *g->dot);
    int rc = block_init(&g->later, g->d, GREEDY_BLOCK, g->rows->dim);
    if (!rc) rc = block_init(&g->before, g->d, GREEDY_BLOCK, g->rows->dim);
    return rc ? rc : op_alloc(g->d, (void **)&g->dot_dev, cells * sizeof *g->dot);
}

static void greedy_close(struct greedy *g)
{
    block_release(&g->later);
    block_release(&g->before);
    op_free(g->d, g->dot_dev);
    free(g->kept);
    free(g->dot);
}

static int is_settled(const struct greedy *g, int64_t row) /* removed for every eps */
{
    for (int e = 0; e < g->count; e++)
        if (!g->removed[e * g->n + row]) return 0;
    return 1;
}

/* Row j has cosine `dot` with the earlier row i. */
static void meet(struct greedy *g, int64_t j, int64_t i, float dot)
{
    for (int e = 0; e < g->count; e++) {
        int64_t at = e * g->n;
        if (dot < g->limit[e] || g->removed[at + j] || g->removed[at + i]) continue;
        g->removed[at + j] = 1;
        if (g->by) g->by[at + j] = (int32_t)i;
    }
}

/* Whether some of CHUNK cosines reach the lowest limit: seldom, so this is nearly all that most
 * of them cost. */
static int any_reaches(const float *dot, float limit)
{
    int hits = 0;
    for (int i = 0; i < CHUNK; i++) hits += dot[i] >= limit;
    return hits;
}

/* Row j against rows with the numbers `list` (NULL: from `first` on), of which dot has n. */
static void meet_all(struct greedy *g, int64_t j, const float *dot, const int32_t *list,
                     int64_t first, int64_t n)
{
    for (int64_t c = 0; c < n; c += CHUNK) {
        int64_t end = c + CHUNK < n ? c + CHUNK : n;
        if (end == c + CHUNK && !any_reaches(dot + c, g->lowest)) continue;
        if (is_settled(g, j)) return;
        for (int64_t i = c; i < end; i++)
            if (dot[i] >= g->lowest) meet(g, j, list ? list[i] : first + i, dot[i]);
    }
}

static int products(struct greedy *g, const struct block *before)
{
    int64_t m = g->later.x.dim[0], n = before->x.dim[0];
    struct linear a = {.y = tensor_2d(g->dot_dev, F32, m, n), .x = g->later.x, .w = before->x};
    int rc = op_linear(g->d, &a);
    return rc ? rc : op_get(g->d, g->dot, g->dot_dev, (size_t)(m * n) * sizeof *g->dot);
}

/* Kept rows [at, at+n) of the list into the block, runs at a time. */
static int load_kept(struct greedy *g, int64_t at, int64_t n)
{
    block_reset(&g->before);
    for (int64_t i = at, run; i < at + n; i += run) {
        for (run = 1; i + run < at + n && g->kept[i + run] == g->kept[i] + run;) run++;
        int rc = block_add(&g->before, g->rows, g->kept[i], run, g->o->normalize);
        if (rc) return rc;
    }
    return 0;
}

static int greedy_block(struct greedy *g, int64_t first, int64_t n)
{
    int rc = load(&g->later, g->rows, first, n, g->o->normalize);
    for (int64_t at = 0, some; !rc && at < g->keeps; at += some) {
        some = g->keeps - at < GREEDY_BLOCK ? g->keeps - at : GREEDY_BLOCK;
        rc = load_kept(g, at, some);
        if (!rc) rc = products(g, &g->before);
        for (int64_t r = 0; !rc && r < n; r++)
            meet_all(g, first + r, g->dot + r * some, g->kept + at, 0, some);
    }
    if (!rc) rc = products(g, &g->later);
    for (int64_t r = 0; !rc && r < n; r++) {
        meet_all(g, first + r, g->dot + r * n, NULL, first, r);
        if (!is_settled(g, first + r)) g->kept[g->keeps++] = (int32_t)(first + r);
    }
    return rc;
}

int pairs_greedy(uint8_t *removed, int32_t *by, struct device *d, struct rows *rows,
                 const double *eps, int count, const struct pairs_options *o)
{
    struct greedy g = {.d = d,
                       .rows = rows,
                       .o = o,
                       .removed = removed,
                       .by = by,
                       .n = rows->count,
                       .count = count,
                       .lowest = INFINITY};
    if (count < 1 || count > PAIRS_EPS)
        return err_set(ERR_USAGE, "%d values of eps: 1 to %d at a time", count, PAIRS_EPS);
    int rc = check_count(rows);
    if (rc || !g.n) return rc;
    memset(removed, 0, mem_mul((size_t)count, (size_t)g.n));
    for (int64_t i = 0; by && i < count * g.n; i++) by[i] = -1;
    for (int e = 0; e < count; e++) {
        g.limit[e] = pairs_limit(eps[e]);
        g.lowest = fminf(g.lowest, g.limit[e]);
    }
    rc = greedy_open(&g);
    for (int64_t at = 0; !rc && at < g.n; at += GREEDY_BLOCK)
        rc = greedy_block(&g, at, GREEDY_BLOCK < g.n - at ? GREEDY_BLOCK : g.n - at);
    greedy_close(&g);
    return rc;
}
