/* embed.c - rows by number: token tables, position tables, and picking rows out of a value. */
#include "nn/layers.h"
#include "tensor/ops.h"

static int bwd(struct device *dev, const struct step *s)
{
    return op_embed_bwd(dev, &s->embed);
}

static void run(struct tape *t, const struct var *y, const struct var *table,
                const struct param *pos, const int32_t *ids, const int32_t *at)
{
    struct embed a = {.y = y->x, .table = table->x, .ids = ids};
    if (pos) a.pos = pos->w, a.at = at;
    if (t->record) {
        struct embed_bwd *b = &tape_record(t, bwd)->embed;
        *b = (struct embed_bwd){.dtable = table->g, .dy = y->g, .ids = ids};
        if (pos) b->dpos = pos->g, b->at = at;
    }
    if (!tape_skips(t)) tape_ran(t, op_embed(t->dev, &a));
}

struct var rows_fwd(struct tape *t, const struct var *x, const struct param *pos,
                    const int32_t *ids, const int32_t *at, int64_t n)
{
    struct var y = tape_var(t, n, x->x.dim[1]);
    run(t, &y, x, pos, ids, at);
    return y;
}

struct var embed_fwd(struct tape *t, const struct param *table, const struct param *pos,
                     const int32_t *ids, const int32_t *at, int64_t n)
{
    return rows_fwd(t, &(struct var){table->w, table->g}, pos, ids, at, n);
}

void row_put(struct tape *t, const struct var *x, int64_t row, const struct param *p)
{
    static const int32_t first[1] = {0};
    struct var to = var_rows(x, row, 1), from = {p->w, p->g};
    from.x = tensor_2d(p->w.data, F32, 1, p->w.dim[0]);
    if (p->g.data) from.g = tensor_2d(p->g.data, F32, 1, p->w.dim[0]);
    run(t, &to, &from, NULL, first, NULL);
}
