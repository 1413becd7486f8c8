/* tower.c - pre-norm transformer towers over ragged sequences.
 * Two savings that change no bit: captions are computed up to their end token only (the mask is
 * causal, so padding could not be seen), and the last block is computed for the one row that
 * leaves the tower; only its keys and values need all rows. */
#include "model/tower.h"

static void mlp_fwd(struct tape *t, struct var *x, const struct block *b, enum act act)
{
    size_t mark = tape_mark(t);
    struct var h = norm_fwd(t, x, &b->ln2);
    struct var m = linear_fwd(t, &h, &b->fc1, act);
    linear_add(t, x, &m, &b->fc2);
    tape_rewind(t, mark);
}

static void block_fwd(struct tape *t, struct var *x, const struct block *b,
                      const struct tower_config *c, const struct ragged *r)
{
    size_t mark = tape_mark(t);
    struct var h = norm_fwd(t, x, &b->ln1);
    struct var qkv = linear_fwd(t, &h, &b->qkv, ACT_NONE);
    struct var q = var_cols(&qkv, 0, c->width), k = var_cols(&qkv, c->width, c->width);
    struct var v = var_cols(&qkv, 2 * c->width, c->width);
    struct var a = attention_fwd(t, &q, &k, &v, r);
    linear_add(t, x, &a, &b->out);
    tape_rewind(t, mark);
    mlp_fwd(t, x, b, c->act);
}

/* The last block, for rows p->picks only: x becomes [count, width]. */
static void last_fwd(struct tape *t, struct var *x, const struct block *b,
                     const struct tower_config *c, const struct ragged *all, const struct pass *p)
{
    struct var h = norm_fwd(t, x, &b->ln1), hq = h;
    struct var kv = linear_fwd(t, &h, &b->kv, ACT_NONE);
    struct ragged r = *all;
    if (!p->whole) {
        *x = rows_fwd(t, x, NULL, p->picks, NULL, p->count);
        hq = rows_fwd(t, &h, NULL, p->picks, NULL, p->count);
        r.q_at = p->unit;
    }
    struct var q = linear_fwd(t, &hq, &b->q, ACT_NONE);
    struct var k = var_cols(&kv, 0, c->width), v = var_cols(&kv, c->width, c->width);
    struct var a = attention_fwd(t, &q, &k, &v, &r);
    linear_add(t, x, &a, &b->out);
    mlp_fwd(t, x, b, c->act);
    if (p->whole) *x = rows_fwd(t, x, NULL, p->picks, NULL, p->count);
}

static struct var blocks_fwd(struct tape *t, struct var x, const struct tower *w,
                             const struct tower_config *c, const struct pass *p, int causal)
{
    struct ragged r = {p->at, p->at, p->count, c->heads, causal};
    for (int i = 0; i < c->layers - 1; i++) block_fwd(t, &x, &w->blocks[i], c, &r);
    last_fwd(t, &x, &w->blocks[c->layers - 1], c, &r, p);
    x = norm_fwd(t, &x, &w->post);
    return c->projected ? linear_fwd(t, &x, &w->proj, ACT_NONE) : x;
}

struct var image_fwd(struct tape *t, const struct tower *w, const struct clip_config *c,
                     const struct var *patches, const struct pass *p)
{
    /* Row 0 is the class token, the patches follow; p->ids puts both where they belong. */
    struct var rows = tape_var(t, patches->x.dim[0] + 1, c->image.width);
    struct var body = var_rows(&rows, 1, patches->x.dim[0]);
    row_put(t, &rows, 0, &w->first);
    linear_into(t, &body, patches, &w->patch, ACT_NONE);
    struct var x = rows_fwd(t, &rows, &w->pos, p->ids, p->pos, p->rows);
    if (c->pre_norm) x = norm_fwd(t, &x, &w->pre);
    return blocks_fwd(t, x, w, &c->image, p, 0);
}

struct var text_fwd(struct tape *t, const struct tower *w, const struct clip_config *c,
                    const struct pass *p)
{
    struct var x = embed_fwd(t, &w->table, &w->pos, p->ids, p->pos, p->rows);
    return blocks_fwd(t, x, w, &c->text, p, 1);
}
