/* ops_bench.c - an image tower as a bare sequence of ops with random weights: how much of the
 * FMA peak the whole chain keeps, one lane per thread.
 *     ops_bench [b32|b16|l14 [images a lane [lanes [seconds]]]]
 * Each op of the chain counts with the least CPU time it took in any step, so that other load on
 * the machine counts as little as possible; the best whole step stands beside it. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "peak.h"
#include "tensor/ops.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arch {
    const char *name;
    int size, patch, width, layers, heads, out;
};
static const struct arch archs[] = {{"b32", 224, 32, 768, 12, 12, 512},
                                    {"b16", 224, 16, 768, 12, 12, 512},
                                    {"l14", 224, 14, 1024, 24, 16, 768}};

struct block {
    struct tensor qkv, proj, fc1, fc2;
};

struct tower {
    struct arch a;
    struct device *d;
    struct tensor patch, head, vec; /* vec: ones and zeros for biases, gains */
    struct block *blocks;
    double best, flop, peak, seconds;
    int images;
};

static struct tensor weight(struct device *d, int64_t n, int64_t k)
{
    struct rng r = {(uint64_t)(n * 7 + k)};
    float *w = mem_aligned((size_t)(n * k) * 4);
    for (int64_t i = 0; i < n * k; i++) w[i] = ((float)rng_unit(&r) - 0.5f) * 0.06f;
    struct tensor t = tensor_2d(w, F32, n, k), p = t;
    op_alloc(d, &p.data, op_pack_bytes(d, n, k, F32));
    op_pack(d, p.data, &t);
    free(w);
    return p;
}

static void tower_load(struct tower *t)
{
    int64_t w = t->a.width;
    t->blocks = mem_alloc((size_t)t->a.layers * sizeof *t->blocks);
    t->patch = weight(t->d, w, 3 * t->a.patch * t->a.patch);
    t->head = weight(t->d, t->a.out, w);
    for (int i = 0; i < t->a.layers; i++)
        t->blocks[i] = (struct block){weight(t->d, 3 * w, w), weight(t->d, w, w),
                                      weight(t->d, 4 * w, w), weight(t->d, w, 4 * w)};
    float *v = mem_aligned((size_t)(4 * w) * 4);
    for (int64_t i = 0; i < 4 * w; i++) v[i] = 0.01f;
    t->vec = tensor_1d(v, F32, 4 * w);
}

static struct tensor rows(struct device *d, int64_t n, int64_t cols)
{
    void *p;
    int64_t ld = tensor_pitch(cols);
    op_alloc(d, &p, (size_t)(n * ld) * 4);
    op_zero(d, p, (size_t)(n * ld) * 4);
    struct tensor t = tensor_2d(p, F32, n, cols);
    t.ld = ld;
    return t;
}

enum kind { QKV, PROJ, FC1, FC2, EDGE, ATTENTION, NORM, PATCHIFY, KINDS };
static const char *const kind_name[] = {"qkv",         "proj",      "fc1",       "fc2",
                                        "first, last", "attention", "layernorm", "patchify"};
enum { OPS_MOST = 512 };

struct lane {
    struct tower *t;
    struct {
        enum kind kind;
        double best, flop;
    } op[OPS_MOST];
    int ops;
    struct device *d;
    struct tensor pixels, patches, x, h, qkv, att, mlp, cls, emb;
    int32_t *at, *one;
    double flop;
};

static struct tensor cut1(const struct tensor *t, int64_t n)
{
    return tensor_cut_cols(t, 0, n);
}

static void op_done(struct lane *l, enum kind kind, double since, double flop)
{
    double t = clock_cpu() - since;
    int i = l->ops++;
    if (!l->op[i].best || t < l->op[i].best) l->op[i].best = t;
    l->op[i].kind = kind;
    l->op[i].flop = flop;
    l->flop += flop;
}

static void linear(struct lane *l, struct tensor *y, const struct tensor *x, const struct tensor *w,
                   enum kind kind)
{
    struct linear a = {.y = *y, .x = *x, .w = *w, .bias = cut1(&l->t->vec, w->dim[0]), .packed = 1};
    if (kind == FC1) a.act = ACT_QUICK_GELU;
    if (kind == PROJ || kind == FC2) a.residual = *y;
    double since = clock_cpu();
    op_linear(l->d, &a);
    op_done(l, kind, since, 2.0 * (double)tensor_rows(x) * (double)w->dim[0] * (double)w->dim[1]);
}

static void norm(struct lane *l, struct tensor *y, const struct tensor *x)
{
    int64_t n = tensor_cols(x);
    struct layernorm a = {
        .y = *y, .x = *x, .gain = cut1(&l->t->vec, n), .bias = cut1(&l->t->vec, n)};
    a.eps = 1e-5f;
    double since = clock_cpu();
    op_layernorm(l->d, &a);
    op_done(l, NORM, since, 0);
}

static void attend(struct lane *l, const struct tensor *q, struct tensor *out, const int32_t *q_at)
{
    int64_t w = l->t->a.width, tokens = l->at[1];
    struct attention a = {.out = *out,
                          .q = *q,
                          .k = tensor_cut_cols(&l->qkv, w, w),
                          .v = tensor_cut_cols(&l->qkv, 2 * w, w),
                          .q_at = q_at,
                          .k_at = l->at,
                          .count = l->t->images,
                          .heads = l->t->a.heads,
                          .scale = 0.125f};
    double since = clock_cpu();
    op_attention(l->d, &a);
    op_done(l, ATTENTION, since, 4.0 * (double)tensor_rows(q) * (double)tokens * (double)w);
}

/* First rows of all images next to each other, as a view: row stride = tokens rows. */
static struct tensor class_rows(const struct tensor *t, int64_t images, int64_t tokens)
{
    struct tensor c = *t;
    c.dim[0] = images;
    c.ld = t->ld * tokens;
    return c;
}

static void step(struct lane *l)
{
    const struct tower *t = l->t;
    int64_t w = t->a.width, n = t->images, tokens = l->at[1];
    static float lut[768];
    struct patchify p = {
        .patches = l->patches, .pixels = l->pixels, .patch = t->a.patch, .lut = lut};
    double since = clock_cpu();
    op_patchify(l->d, &p);
    op_done(l, PATCHIFY, since, 0);
    struct tensor body = tensor_cut_rows(&l->x, 0, tensor_rows(&l->patches));
    linear(l, &body, &l->patches, &t->patch, EDGE);
    norm(l, &l->x, &l->x);
    for (int b = 0; b < t->a.layers; b++) {
        const struct block *k = &t->blocks[b];
        int last = b + 1 == t->a.layers;
        struct tensor x = last ? class_rows(&l->x, n, tokens) : l->x;
        struct tensor h = last ? class_rows(&l->h, n, tokens) : l->h;
        struct tensor q = tensor_cut_cols(&l->qkv, 0, w), att = l->att, mlp = l->mlp;
        if (last) q = class_rows(&q, n, tokens);
        att.dim[0] = mlp.dim[0] = x.dim[0];
        norm(l, &l->h, &l->x);
        linear(l, &l->qkv, &l->h, &k->qkv, QKV);
        attend(l, &q, &att, last ? l->one : l->at);
        linear(l, &x, &att, &k->proj, PROJ);
        norm(l, &h, &x);
        linear(l, &mlp, &h, &k->fc1, FC1);
        linear(l, &x, &mlp, &k->fc2, FC2);
    }
    struct tensor x = class_rows(&l->x, n, tokens);
    norm(l, &l->cls, &x);
    linear(l, &l->emb, &l->cls, &t->head, EDGE);
    struct l2norm a = {.y = l->emb, .x = l->emb};
    op_l2norm(l->d, &a);
}

static void lane_init(struct lane *l, struct tower *t)
{
    int64_t across = t->a.size / t->a.patch, each = across * across, tokens = each + 1,
            w = t->a.width;
    int64_t n = t->images, m = n * tokens;
    *l = (struct lane){.t = t};
    device_lane(&l->d, t->d);
    uint8_t *px = mem_alloc((size_t)(n * t->a.size * t->a.size * 3));
    l->pixels = tensor_4d(px, U8, n, t->a.size, t->a.size, 3);
    l->patches = rows(l->d, n * each, 3 * t->a.patch * t->a.patch);
    l->x = rows(l->d, m, w), l->h = rows(l->d, m, w), l->att = rows(l->d, m, w);
    l->qkv = rows(l->d, m, 3 * w), l->mlp = rows(l->d, m, 4 * w);
    l->cls = rows(l->d, n, w), l->emb = rows(l->d, n, t->a.out);
    l->at = mem_alloc((size_t)(n + 1) * 4), l->one = mem_alloc((size_t)(n + 1) * 4);
    for (int64_t i = 0; i <= n; i++) l->at[i] = (int32_t)(i * tokens), l->one[i] = (int32_t)i;
}

static void report(const struct lane *l, double best, double peak)
{
    double sum = 0, part[KINDS] = {0}, flop[KINDS] = {0};
    for (int i = 0; i < l->ops; i++) {
        sum += l->op[i].best;
        part[l->op[i].kind] += l->op[i].best;
        flop[l->op[i].kind] += l->op[i].flop;
    }
    printf("lane: %.2f img/s, %.1f of %.1f GFLOP/s = %.1f %% of peak (best whole step %.1f %%)\n",
           l->t->images / sum, l->flop / sum / 1e9, peak, 100 * l->flop / sum / 1e9 / peak,
           100 * l->flop / best / 1e9 / peak);
    for (int k = 0; k < KINDS; k++)
        printf("    %-12s %5.1f %% of time, %5.1f %% of peak\n", kind_name[k], 100 * part[k] / sum,
               100 * flop[k] / part[k] / 1e9 / peak);
}

static void *lane_main(void *arg)
{
    struct tower *t = arg;
    static _Thread_local struct lane l;
    lane_init(&l, t);
    double end = clock_now() + t->seconds, best = 1e9, peak = 0;
    for (int i = 0; i < 3 || clock_now() < end; i++) {
        double p = peak_fma(isa_best()), c = clock_cpu();
        l.flop = l.ops = 0;
        step(&l);
        c = clock_cpu() - c;
        best = i && c < best ? c : best;
        peak = p > peak ? p : peak;
    }
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    report(&l, best, peak);
    t->best += t->images / best;
    pthread_mutex_unlock(&lock);
    device_close(l.d);
    return NULL;
}

int main(int argc, char **argv)
{
    struct tower t = {.a = archs[0], .images = 8, .seconds = argc > 4 ? atof(argv[4]) : 10};
    for (size_t i = 0; argc > 1 && i < sizeof archs / sizeof *archs; i++)
        if (!strcmp(argv[1], archs[i].name)) t.a = archs[i];
    if (argc > 2) t.images = atoi(argv[2]);
    int lanes = argc > 3 ? atoi(argv[3]) : 2;
    pthread_t thread[64];
    device_open(&t.d, "cpu", lanes);
    tower_load(&t);
    for (int i = 0; i < lanes && i < 64; i++) pthread_create(&thread[i], NULL, lane_main, &t);
    for (int i = 0; i < lanes && i < 64; i++) pthread_join(thread[i], NULL);
    printf("%s, %d images a lane, %d lanes: %.2f img/s\n", t.a.name, t.images, lanes, t.best);
    device_close(t.d);
    return 0;
}
