/* kmeans_empty.c - clusters without rows, as scikit-learn deals with them: each takes over the row
 * that is farthest from its own centroid, the next one the second farthest, and so on. */
#include "algo/kmeans_inside.h"
#include "tensor/ops.h"

#include <string.h>

enum { FAR_MOST = 4096 }; /* clusters that can be filled in one round */

static int64_t far_most(const struct fit *f)
{
    return f->k < FAR_MOST ? f->k : FAR_MOST;
}

void far_note(struct fit *f, const float *square)
{
    int64_t most = far_most(f);
    if (f->o->keep_empty) return;
    for (int64_t i = f->first, r = 0; i < f->next; i++, r++) {
        if (f->label[i] < 0 || !(-square[r] < f->far_bar)) continue;
        picks_add(&f->far, f, -square[r], f->number[r], i);
        if (f->far.n < 2 * most + 64) continue;
        picks_cut(&f->far, most);
        f->far_bar = f->far.list[f->far.n - 1].key;
    }
}

/* A row of this rank from its cluster to another one. */
static int row_moves(struct fit *f, const struct pick *p, int32_t to)
{
    int32_t from = f->label[p->ordinal], weight = (int32_t)fit_weight(f, p->ordinal);
    int32_t where[3] = {to, from, weight};
    void *where_dev = NULL;
    block_reset(&f->block);
    int rc = block_add(&f->block, f->rows, p->number - f->o->first_row, 1, f->o->normalize);
    if (!rc) rc = op_alloc(f->d, &where_dev, sizeof where);
    if (!rc) rc = op_put(f->d, where_dev, where, sizeof where);
    struct sum_by a = {.sums = tensor_2d(f->sums, I64, f->k, f->dim),
                       .counts = tensor_1d((int64_t *)f->sums + f->k * f->dim, I64, f->k),
                       .x = f->block.x,
                       .to = tensor_1d(where_dev, I32, 1),
                       .from = tensor_1d((int32_t *)where_dev + 1, I32, 1),
                       .w = tensor_1d((int32_t *)where_dev + 2, I32, 1),
                       .scale = f->scale};
    if (!rc) rc = op_sum_by(f->d, &a);
    op_free(f->d, where_dev);
    f->label[p->ordinal] = to;
    if (f->lower) f->lower[p->ordinal] = 0; /* nothing is known */
    return rc;
}

int far_fill(struct fit *f, int64_t *moved)
{
    const int64_t *counts = f->total + f->k * f->dim;
    int64_t here = f->o->team ? f->o->team->rank : 0, empty = 0;
    *moved = 0;
    for (int64_t j = 0; j < f->k; j++) empty += counts[j] == 0;
    if (!empty) return 0;
    picks_cut(&f->far, far_most(f));
    int rc = picks_share(&f->far, f);
    picks_cut(&f->far, far_most(f));
    for (int64_t j = 0; !rc && j < f->k && *moved < f->far.n; j++) {
        if (counts[j]) continue;
        const struct pick *p = &f->far.list[(*moved)++];
        if (p->rank == here) rc = row_moves(f, p, (int32_t)j);
    }
    return rc;
}
