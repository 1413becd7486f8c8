/* kmeans_assign.c - the nearest centroid of every row, without computing every distance.
 * Each row keeps a lower bound L of its distance to all centroids but its own. When centroids
 * move, the distance u to its own is computed anew (one row of numbers); another centroid can
 * only have come nearer than u if it moved by at least L - u. So the row is compared with the
 * centroids that moved that far: with one of a few sets of them, each packed for the matrix
 * product. In late rounds most rows are compared with none. This is Hamerly's bound with the
 * largest drift replaced by the drifts themselves.
 * Nothing is approximate: a comparison is skipped only where the bound beats the largest possible
 * rounding error of the scores, so every label is the one that comparing with all would give. */
#include "algo/kmeans_inside.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/stop.h"
#include "tensor/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for one block, on the host and on the device. */
struct work {
    int32_t *list;  /* rows of the block by the set they need */
    int32_t *again; /* rows that need all centroids after all */
    int32_t *label, *found;
    float *square, *best, *next;
    uint8_t *level; /* [most] the set that a row needs */
    int64_t count[SETS + 1], agains;
    int whole;
    int32_t *index_dev, *from_dev, *weight_dev;
    float *square_dev, *best_dev, *next_dev;
    struct tensor some; /* rows gathered for a set, on the device */
};
enum { LEVEL_ALL = SETS - 1, LEVEL_BAD = SETS };

int work_open(struct fit *f)
{
    size_t most = (size_t)f->block.most;
    struct work *w = f->work = mem_alloc(sizeof *w);
    int32_t **ints[] = {&w->list, &w->again, &w->label, &w->found};
    float **floats[] = {&w->square, &w->best, &w->next};
    void **device[] = {(void **)&w->index_dev,  (void **)&w->from_dev, (void **)&w->weight_dev,
                       (void **)&w->square_dev, (void **)&w->best_dev, (void **)&w->next_dev};
    for (int i = 0; i < 4; i++) *ints[i] = mem_alloc(most * sizeof(int32_t));
    for (int i = 0; i < 3; i++) *floats[i] = mem_alloc(most * sizeof(float));
    w->level = mem_alloc(most);
    int rc = 0;
    for (int i = 0; !rc && i < 6; i++) rc = op_alloc(f->d, device[i], most * 4);
    w->some = f->block.x;
    w->some.data = NULL;
    size_t bytes = most * (size_t)w->some.ld * sizeof(float);
    return rc ? rc : op_alloc(f->d, &w->some.data, bytes);
}

void work_close(struct fit *f)
{
    struct work *w = f->work;
    if (!w) return;
    void *host[] = {w->list, w->again, w->label, w->found, w->square, w->best, w->next, w->level};
    void *device[] = {w->index_dev, w->from_dev, w->weight_dev, w->square_dev,
                      w->best_dev,  w->next_dev, w->some.data};
    for (size_t i = 0; i < sizeof host / sizeof *host; i++) free(host[i]);
    for (size_t i = 0; i < sizeof device / sizeof *device; i++) op_free(f->d, device[i]);
    free(w);
    f->work = NULL;
}

/* Squared distances of rows x to the n centroids that label names: to square, both on the host. */
static int squares_to(struct fit *f, float *square, const struct tensor *x, const int32_t *label,
                      const void *centroids, int64_t count)
{
    struct work *w = f->work;
    size_t n = (size_t)x->dim[0];
    int rc = op_put(f->d, w->index_dev, label, n * sizeof *label);
    struct distance a = {.square = tensor_1d(w->square_dev, F32, (int64_t)n),
                         .x = *x,
                         .c = tensor_2d((void *)centroids, F32, count, f->dim),
                         .index = tensor_1d(w->index_dev, I32, (int64_t)n)};
    if (!rc) rc = op_distance(f->d, &a);
    return rc ? rc : op_get(f->d, square, w->square_dev, n * sizeof *square);
}

static int squares(struct fit *f, float *square, const struct tensor *x, const int32_t *label)
{
    return squares_to(f, square, x, label, f->centroids, f->k);
}

/* Twice what rounding can add to the score of a row, with room to spare: the score is a chain of
 * dim multiply-adds, and |x|^2 is as good as the norm is. */
static double score_error(const struct fit *f, double length)
{
    double c = f->reach;
    return (double)(f->dim + 8) * 0x1p-22 * (length * length + length * c + c * c);
}

static double row_length(const struct fit *f, int64_t row)
{
    return f->o->normalize ? 1 : f->block.norm[row];
}

/* A lower bound of the distance that belongs to a score. */
static double distance_least(double length, double score, double error)
{
    double square = length * length - 2 * score - error;
    return square > 0 ? sqrt(square) : 0;
}

/* The smallest set that holds every centroid which may have come nearer than the row's own. */
static int level_of(const struct fit *f, int64_t row)
{
    const struct work *w = f->work;
    int64_t ordinal = f->first + row;
    if (f->label[ordinal] == LABEL_BAD) return LEVEL_BAD;
    if (!f->sets || f->label[ordinal] < 0) return LEVEL_ALL;
    double error = score_error(f, row_length(f, row)), u = w->square[row];
    double gap = f->lower[ordinal] - sqrt(u + 2 * error);
    for (int s = 0; s < f->sets; s++)
        if (f->set[s].rest < gap) return s;
    return LEVEL_ALL;
}

/* Rows of the block in the order of their sets. Where nearly all need all centroids, all get
 * them: the block is then used as it stands. */
static void sort_rows(struct fit *f)
{
    struct work *w = f->work;
    int64_t n = f->block.x.dim[0], at[SETS + 1] = {0};
    memset(w->count, 0, sizeof w->count);
    for (int64_t r = 0; r < n; r++) w->count[w->level[r] = (uint8_t)level_of(f, r)]++;
    w->whole = !f->sets || w->count[LEVEL_ALL] > n / 10 * 9;
    for (int s = 1; s <= SETS; s++) at[s] = at[s - 1] + w->count[s - 1];
    for (int64_t r = 0; r < n; r++) w->list[at[w->level[r]]++] = (int32_t)r;
}

static int nearest(struct fit *f, const struct set *s, const struct tensor *x)
{
    struct work *w = f->work;
    int64_t n = x->dim[0];
    struct nearest a = {.index = tensor_1d(w->index_dev, I32, n),
                        .best = tensor_1d(w->best_dev, F32, n),
                        .next = tensor_1d(w->next_dev, F32, n),
                        .x = *x,
                        .c = tensor_2d(s->packed, F32, s->n, f->dim),
                        .half = tensor_1d(s->half, F32, s->n),
                        .packed = 1};
    int rc = op_nearest(f->d, &a);
    if (!rc) rc = op_get(f->d, w->found, w->index_dev, (size_t)n * sizeof *w->found);
    if (!rc) rc = op_get(f->d, w->best, w->best_dev, (size_t)n * sizeof *w->best);
    return rc ? rc : op_get(f->d, w->next, w->next_dev, (size_t)n * sizeof *w->next);
}

int fit_measure(struct fit *f, const struct set *s, const void *centroids, const int32_t **found,
                const float **square)
{
    struct work *w = f->work;
    int rc = nearest(f, s, &f->block.x);
    *found = w->found;
    *square = w->square;
    return rc ? rc : squares_to(f, w->square, &f->block.x, w->found, centroids, s->n);
}

static float bound_down(double x)
{
    return (float)(x * (1 - 0x1p-20));
}

/* What the comparison of a row with a set says: its label, and the new bound. i counts the
 * compared rows, row those of the block. */
static void settle(struct fit *f, const struct set *s, int64_t i, int64_t row)
{
    struct work *w = f->work;
    int64_t ordinal = f->first + row;
    int32_t own = f->label[ordinal], id = s->ids ? s->ids[w->found[i]] : w->found[i];
    double length = row_length(f, row), error = score_error(f, length);
    double second = distance_least(length, w->next[i], error);
    w->label[row] = id;
    if (!f->lower) return;
    if (!s->ids) {
        f->lower[ordinal] = bound_down(second);
        return;
    }
    double rest = f->lower[ordinal] - s->rest, u = sqrt(w->square[row]);
    if (!s->has[own]) {
        double lead = w->best[i] - (length * length - w->square[row]) / 2;
        if (fabs(lead) <= error) { /* too close to tell: compare with all */
            w->again[w->agains++] = (int32_t)row;
            return;
        }
        if (lead < 0) w->label[row] = own;
        second = lead < 0 ? distance_least(length, w->best[i], error) : fmin(second, u);
    }
    f->lower[ordinal] = bound_down(fmin(second, rest));
}

/* Some rows of the block behind one another. */
static int gather(struct fit *f, struct tensor *x, const int32_t *list, int64_t count)
{
    struct work *w = f->work;
    w->some.dim[0] = count;
    *x = w->some;
    struct embed a = {.y = w->some, .table = f->block.x, .ids = list};
    return op_embed(f->d, &a);
}

/* Compare `count` rows of the block with a set. */
static int compare(struct fit *f, const struct set *s, const int32_t *list, int64_t count)
{
    struct tensor x;
    if (!count) return 0;
    int rc = gather(f, &x, list, count);
    if (!rc) rc = nearest(f, s, &x);
    for (int64_t i = 0; !rc && i < count; i++) settle(f, s, i, list[i]);
    f->computed += count * s->n;
    return rc;
}

static int compare_whole(struct fit *f)
{
    const struct set *all = &f->set[LEVEL_ALL];
    int64_t n = f->block.x.dim[0];
    int rc = nearest(f, all, &f->block.x);
    for (int64_t r = 0; !rc && r < n; r++)
        if (f->work->level[r] != LEVEL_BAD) settle(f, all, r, r);
    f->computed += n * all->n;
    return rc;
}

/* Every row with the set it needs. Rows that need none keep their cluster; their bound shrinks. */
static int compare_sets(struct fit *f)
{
    struct work *w = f->work;
    const int32_t *list = w->list;
    int rc = 0;
    w->agains = 0;
    for (int64_t i = 0; i < w->count[0]; i++) {
        float *lower = &f->lower[f->first + list[i]];
        *lower = bound_down(*lower - f->set[0].rest);
    }
    for (int s = 1; !rc && s <= LEVEL_ALL; s++) {
        list += w->count[s - 1];
        rc = compare(f, &f->set[s], list, w->count[s]);
    }
    return rc ? rc : compare(f, &f->set[LEVEL_ALL], w->again, w->agains);
}

/* The distances of rows with another cluster than before; all, where none was known. */
static int new_squares(struct fit *f)
{
    struct work *w = f->work;
    struct tensor x;
    int64_t n = f->block.x.dim[0], changed = 0;
    for (int64_t r = 0; r < n; r++)
        if (w->label[r] != f->label[f->first + r]) {
            w->found[changed] = w->label[r];
            w->again[changed++] = (int32_t)r;
        }
    f->changed += changed;
    w->agains = changed;
    if (!f->sets) return squares(f, w->square, &f->block.x, w->label);
    if (!changed) return 0;
    int rc = gather(f, &x, w->again, changed);
    if (!rc) rc = squares(f, w->best, &x, w->found);
    for (int64_t i = 0; !rc && i < changed; i++) w->square[w->again[i]] = w->best[i];
    return rc;
}

/* Rows that changed go from one sum to another. */
static int move_rows(struct fit *f)
{
    struct work *w = f->work;
    int64_t n = f->block.x.dim[0], cells = f->k * f->dim;
    size_t bytes = (size_t)n * sizeof *w->label;
    struct sum_by a = {.sums = tensor_2d(f->sums, I64, f->k, f->dim),
                       .counts = tensor_1d((int64_t *)f->sums + cells, I64, f->k),
                       .x = f->block.x,
                       .to = tensor_1d(w->index_dev, I32, n),
                       .from = tensor_1d(w->from_dev, I32, n),
                       .scale = f->scale};
    if (!w->agains) return 0;
    int rc = op_put(f->d, w->index_dev, w->label, bytes);
    if (!rc) rc = op_put(f->d, w->from_dev, f->label + f->first, bytes);
    if (f->o->weights) {
        if (!rc) rc = op_put(f->d, w->weight_dev, f->o->weights + f->first, bytes);
        a.w = tensor_1d(w->weight_dev, I32, n);
    }
    return rc ? rc : op_sum_by(f->d, &a);
}

static int assign_block(struct fit *f)
{
    struct work *w = f->work;
    int64_t n = f->block.x.dim[0];
    int rc = f->sets ? squares(f, w->square, &f->block.x, f->label + f->first) : 0;
    if (rc) return rc;
    sort_rows(f);
    memcpy(w->label, f->label + f->first, (size_t)n * sizeof *w->label);
    rc = w->whole ? compare_whole(f) : compare_sets(f);
    if (!rc) rc = new_squares(f);
    if (!rc) rc = move_rows(f);
    if (rc) return rc;
    memcpy(f->label + f->first, w->label, (size_t)n * sizeof *w->label);
    far_note(f, w->square);
    for (int64_t r = 0; r < n; r++)
        if (w->level[r] != LEVEL_BAD)
            f->inertia += llrint(w->square[r] * f->unit) * fit_weight(f, f->first + r);
    return 0;
}

int fit_assign(struct fit *f)
{
    int rc;
    f->inertia = f->changed = f->computed = f->far.n = 0;
    f->far_bar = 0; /* a row on its centroid is no help */
    fit_rewind(f);
    while ((rc = fit_next(f)) > 0) {
        rc = assign_block(f);
        if (rc) return rc;
    }
    return rc;
}

/* ---- the final assignment ---- */

/* A fit without a loop, so that its steps serve: no bounds, no sums. */
struct assignment {
    struct fit f;
    float *l2, *cosine;
    double *length; /* [k] |c| */
    int64_t *sizes;
    double *inertia;
};

static int assignment_open(struct assignment *a, const struct kmeans *m)
{
    struct fit *f = &a->f;
    size_t bytes = (size_t)(m->clusters * m->dim) * sizeof(float);
    int64_t most = block_size(m->dim);
    f->number = mem_alloc((size_t)most * sizeof *f->number);
    a->l2 = mem_alloc((size_t)most * sizeof *a->l2);
    a->cosine = mem_alloc((size_t)most * sizeof *a->cosine);
    a->length = mem_alloc((size_t)f->k * sizeof *a->length);
    for (int64_t j = 0; j < f->k; j++) {
        double sum = 0;
        for (int64_t i = j * f->dim; i < (j + 1) * f->dim; i++)
            sum += (double)m->centroids[i] * m->centroids[i];
        a->length[j] = sqrt(sum);
    }
    int rc = block_init(&f->block, f->d, most, f->dim);
    if (!rc) rc = work_open(f);
    if (!rc) rc = set_fill(&f->set[LEVEL_ALL], f, m->centroids, NULL, f->k);
    if (!rc) rc = op_alloc(f->d, &f->centroids, bytes);
    return rc ? rc : op_put(f->d, f->centroids, m->centroids, bytes);
}

static void assignment_close(struct assignment *a)
{
    set_release(&a->f.set[LEVEL_ALL], a->f.d);
    op_free(a->f.d, a->f.centroids);
    work_close(&a->f);
    block_release(&a->f.block);
    free(a->f.number);
    free(a->l2);
    free(a->cosine);
    free(a->length);
}

/* Nearest centroids and distances of the block, to the host. */
static int measure_block(struct fit *f)
{
    struct work *w = f->work;
    int64_t n = f->block.x.dim[0];
    size_t bytes = (size_t)n * sizeof(float);
    struct distance d = {.square = tensor_1d(w->square_dev, F32, n),
                         .dot = tensor_1d(w->best_dev, F32, n),
                         .x = f->block.x,
                         .c = tensor_2d(f->centroids, F32, f->k, f->dim),
                         .index = tensor_1d(w->index_dev, I32, n)};
    int rc = nearest(f, &f->set[LEVEL_ALL], &f->block.x);
    for (int64_t r = 0; !rc && r < n; r++)
        if (row_state(f->block.norm[r], f->o->normalize) != ROW_GOOD) w->found[r] = -1;
    if (!rc) rc = op_put(f->d, w->index_dev, w->found, bytes);
    if (!rc) rc = op_distance(f->d, &d);
    if (!rc) rc = op_get(f->d, w->square, w->square_dev, bytes);
    return rc ? rc : op_get(f->d, w->best, w->best_dev, bytes);
}

static void count_block(struct assignment *a)
{
    const struct work *w = a->f.work;
    for (int64_t r = 0, n = a->f.block.x.dim[0]; r < n; r++) {
        int32_t c = w->found[r];
        a->l2[r] = sqrtf(w->square[r]);
        if (c < 0) {
            a->cosine[r] = NAN;
            continue;
        }
        /* a centroid in the origin has no direction: everything is at a right angle to it */
        a->cosine[r] = a->length[c] > 0 ? (float)(1 - (double)w->best[r] / a->length[c]) : 1;
        if (a->sizes) a->sizes[c]++;
        if (a->inertia) *a->inertia += w->square[r];
    }
}

int kmeans_assign(const struct kmeans *m, struct device *d, struct rows *rows, int normalize,
                  int (*put)(void *state, const struct kmeans_found *found), void *state,
                  int64_t *sizes, double *inertia)
{
    struct kmeans_options o = {.clusters = m->clusters, .normalize = normalize};
    struct assignment a = {.f = {.d = d, .rows = rows, .o = &o, .k = m->clusters, .dim = m->dim},
                           .sizes = sizes,
                           .inertia = inertia};
    if (rows->dim != m->dim)
        return err_set(ERR_USAGE, "rows of %lld numbers, but centroids of %lld",
                       (long long)rows->dim, (long long)m->dim);
    if (sizes) memset(sizes, 0, (size_t)m->clusters * sizeof *sizes);
    if (inertia) *inertia = 0;
    int rc = assignment_open(&a, m);
    while (!rc && (rc = fit_next(&a.f)) > 0) {
        rc = measure_block(&a.f);
        if (rc) break;
        count_block(&a);
        struct kmeans_found found = {a.f.first, a.f.block.x.dim[0], a.f.work->found,
                                     a.l2,      a.cosine,           a.f.block.norm};
        if (put) rc = put(state, &found);
    }
    assignment_close(&a);
    return rc;
}
