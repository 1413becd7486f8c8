/* load.c - numbers from the mapped file into the device's layout.
 * Every parameter is one job for a pool: find its rows in the file, check that they are finite,
 * pack them, and let the pages go. Nothing is copied twice unless the file stores it in another
 * form (transposed, q, k and v apart, another dtype). */
#include "model/load.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/pool.h"
#include "tensor/ops.h"

enum { CHUNK = 8 << 20 }; /* bytes of one job: a token table is split, so that no thread waits */

/* ---- which tensors there must be ---- */

/* Shape [n,k] (k 0: a vector) that a role has in this configuration; n 0: the role is unused. */
static void role_shape(const struct model *m, enum side side, enum role role, int64_t *n,
                       int64_t *k)
{
    const struct clip_config *c = &m->config;
    const struct tower_config *t = side == SIDE_IMAGE ? &c->image : &c->text;
    int64_t w = t->width;
    *k = 0;
    switch (role) {
    case ROLE_TABLE:
        *n = side == SIDE_IMAGE ? w : c->vocab;
        *k = side == SIDE_IMAGE ? 3LL * c->patch * c->patch : w;
        return;
    case ROLE_FIRST: *n = side == SIDE_IMAGE ? w : 0; return;
    case ROLE_POS: *n = side == SIDE_IMAGE ? m->grid * m->grid + 1 : c->context, *k = w; return;
    case ROLE_PRE_GAIN:
    case ROLE_PRE_BIAS: *n = side == SIDE_IMAGE && c->pre_norm ? w : 0; return;
    case ROLE_PROJ: *n = t->projected ? c->embed : 0, *k = w; return;
    case ROLE_PROJ_BIAS: *n = t->projected ? c->embed : 0; return;
    case ROLE_QKV: *n = 3 * w, *k = w; return;
    case ROLE_QKV_BIAS: *n = 3 * w; return;
    case ROLE_OUT: *n = w, *k = w; return;
    case ROLE_FC1: *n = t->mlp, *k = w; return;
    case ROLE_FC1_BIAS: *n = t->mlp; return;
    case ROLE_FC2: *n = w, *k = t->mlp; return;
    default: *n = w; return;
    }
}

static int role_optional(enum role role)
{
    return role == ROLE_TABLE_BIAS || role == ROLE_PROJ_BIAS;
}

/* Every role of a tower in order; block -1 for those outside the blocks. */
static int each_role(const struct model *m, enum side side,
                     int (*fn)(void *arg, const struct model *m, enum side side, enum role role,
                               int block),
                     void *arg)
{
    int layers = side == SIDE_IMAGE ? m->config.image.layers : m->config.text.layers, rc = 0;
    for (enum role r = 0; r < ROLE_LN1_GAIN && !rc; r++) rc = fn(arg, m, side, r, -1);
    for (int b = 0; b < layers; b++)
        for (enum role r = ROLE_LN1_GAIN; r < ROLES && !rc; r++) rc = fn(arg, m, side, r, b);
    return rc;
}

static void find_role(struct found *f, const struct model *m, enum side side, enum role role,
                      int block)
{
    names_find(f, m->weights, side == SIDE_IMAGE ? &m->image : &m->text, role, block);
}

/* Does the tensor hold [n,k], perhaps with ones in front ([1,1,W]) or spread ([W,3,p,p])? */
static int shape_fits(const struct weight *w, int64_t n, int64_t k, int transposed)
{
    int i = 0;
    if (w->count != n * (k ? k : 1)) return 0;
    /* One number repeated (stride 0) would let a small file ask for any amount of memory. */
    for (int d = 0; d < w->rank; d++)
        if (w->dim[d] > 1 && !w->stride[d]) return 0;
    if (transposed) return w->rank == 2 && w->dim[0] == k && w->dim[1] == n;
    while (i < w->rank - 1 && w->dim[i] == 1) i++;
    return w->rank > i && (w->dim[i] == n || (w->rank == i + 1 && !k));
}

static void print_shape(struct str *s, const struct weight *w)
{
    str_putc(s, '[');
    for (int i = 0; i < w->rank; i++) str_printf(s, "%s%lld", i ? "," : "", (long long)w->dim[i]);
    str_putc(s, ']');
}

struct problems {
    struct str *missing, *misshapen;
    struct map used;
};

static int check_role(void *arg, const struct model *m, enum side side, enum role role, int block)
{
    struct problems *p = arg;
    struct found f;
    int64_t n, k;
    role_shape(m, side, role, &n, &k);
    if (!n) return 0;
    find_role(&f, m, side, role, block);
    if (!*f.name) return 0; /* this family has no such role */
    if (!f.parts && !role_optional(role)) str_printf(p->missing, "%s\n", f.name);
    for (int i = 0; i < f.parts; i++) {
        const struct weight *w = f.part[i];
        int64_t rows = n / f.parts;
        map_put(&p->used, w->name, 1);
        if (shape_fits(w, rows, k, f.transposed)) continue;
        str_printf(p->misshapen, "%s is ", w->name);
        print_shape(p->misshapen, w);
        if (!k)
            str_printf(p->misshapen, ", not [%lld]\n", (long long)rows);
        else
            str_printf(p->misshapen, ", not [%lld,%lld]\n", (long long)(f.transposed ? k : rows),
                       (long long)(f.transposed ? rows : k));
    }
    return 0;
}

int model_problems(const struct model *m, struct str *missing, struct str *misshapen,
                   struct str *strange, struct str *unused)
{
    struct problems p = {missing, misshapen, {0}};
    if (m->config.image.layers) each_role(m, SIDE_IMAGE, check_role, &p);
    if (m->config.text.layers) each_role(m, SIDE_TEXT, check_role, &p);
    for (size_t i = 0; i < weights_count(m->weights); i++) {
        const char *name = weights_at(m->weights, i)->name;
        uint64_t yes;
        if (map_get(&p.used, name, &yes)) continue;
        const struct weight *scale = names_scale(m->weights, m->text.layout ? &m->text : &m->image);
        if (scale && !strcmp(scale->name, name)) continue;
        str_printf(names_stranger(name, &m->image, &m->text) ? strange : unused, "%s\n", name);
    }
    map_release(&p.used);
    return missing->len || misshapen->len || strange->len;
}

/* ---- reading ---- */

struct job {
    struct param *to;
    struct found from;
    int64_t n, k;           /* of the whole role */
    int64_t first, rows;    /* the rows this parameter takes of it */
    int64_t at;             /* where they go in the parameter (a plain table is read in chunks) */
    int old_grid, new_grid; /* positions that need resizing */
};

struct loader {
    const struct model *m;
    struct job *jobs;
    size_t count, cap;
    struct device **lanes;
    pthread_mutex_t lock;
    size_t failed; /* the first job that failed, so that the message does not depend on threads */
    int rc;
    char why[512];
};

struct loader *loader_new(const struct model *m)
{
    struct loader *l = mem_alloc(sizeof *l);
    l->m = m;
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void loader_free(struct loader *l)
{
    if (!l) return;
    pthread_mutex_destroy(&l->lock);
    free(l->jobs);
    free(l);
}

static void add_job(struct loader *l, const struct job *j)
{
    vec_push(l->jobs, l->count, l->cap);
    l->jobs[l->count++] = *j;
}

/* Rows first..first+rows of a role become parameter p. Optional ones that are absent stay so. */
static void want(struct loader *l, struct params *set, struct param *p, enum side side,
                 enum role role, int block, int part, int parts)
{
    struct job j = {.to = p};
    int packed = role == ROLE_PROJ || role == ROLE_QKV || role == ROLE_OUT || role == ROLE_FC1 ||
                 role == ROLE_FC2 || (role == ROLE_TABLE && side == SIDE_IMAGE);
    role_shape(l->m, side, role, &j.n, &j.k);
    if (!j.n) return;
    find_role(&j.from, l->m, side, role, block);
    if (!j.from.parts) return;
    j.first = j.n / 3 * part * (parts != 3);
    j.rows = parts == 3 ? j.n : j.n / 3 * parts;
    if (role == ROLE_POS && side == SIDE_IMAGE) {
        j.old_grid = l->m->grid;
        j.new_grid = l->m->config.image_size / l->m->config.patch;
        j.rows = (int64_t)j.new_grid * j.new_grid + 1;
        if (j.new_grid == j.old_grid) j.old_grid = j.new_grid = 0;
    }
    params_add(set, p, j.rows, j.k, packed);
    int64_t chunk = j.k ? CHUNK / (j.k * (int64_t)sizeof(float)) + 1 : j.rows;
    if (packed || j.new_grid || j.rows <= chunk) {
        add_job(l, &j);
        return;
    }
    for (int64_t r = 0, all = j.rows; r < all; r += chunk) {
        struct job part_of = j;
        part_of.first = j.first + r;
        part_of.rows = all - r < chunk ? all - r : chunk;
        part_of.at = r;
        add_job(l, &part_of);
    }
}

static void want_dense(struct loader *l, struct params *set, struct dense *d, enum side side,
                       enum role role, int block, int part, int parts)
{
    want(l, set, &d->w, side, role, block, part, parts);
    want(l, set, &d->b, side, role + 1, block, part, parts);
}

static void want_norm(struct loader *l, struct params *set, struct norm *n, enum side side,
                      enum role role, int block, float eps)
{
    want(l, set, &n->gain, side, role, block, 0, 3);
    want(l, set, &n->bias, side, role + 1, block, 0, 3);
    n->eps = eps;
}

void loader_tower(struct loader *l, struct params *set, struct tower *t, enum side side)
{
    const struct tower_config *c = side == SIDE_IMAGE ? &l->m->config.image : &l->m->config.text;
    t->blocks = mem_alloc(mem_mul((size_t)c->layers, sizeof *t->blocks));
    if (side == SIDE_IMAGE)
        want_dense(l, set, &t->patch, side, ROLE_TABLE, -1, 0, 3);
    else
        want(l, set, &t->table, side, ROLE_TABLE, -1, 0, 3);
    want(l, set, &t->first, side, ROLE_FIRST, -1, 0, 3);
    want(l, set, &t->pos, side, ROLE_POS, -1, 0, 3);
    want_norm(l, set, &t->pre, side, ROLE_PRE_GAIN, -1, c->eps);
    want_norm(l, set, &t->post, side, ROLE_POST_GAIN, -1, c->eps);
    want_dense(l, set, &t->proj, side, ROLE_PROJ, -1, 0, 3);
    for (int i = 0; i < c->layers; i++) {
        struct block *b = &t->blocks[i];
        want_norm(l, set, &b->ln1, side, ROLE_LN1_GAIN, i, c->eps);
        if (i < c->layers - 1) {
            want_dense(l, set, &b->qkv, side, ROLE_QKV, i, 0, 3);
        } else {
            want_dense(l, set, &b->q, side, ROLE_QKV, i, 0, 1);
            want_dense(l, set, &b->kv, side, ROLE_QKV, i, 1, 2);
        }
        want_dense(l, set, &b->out, side, ROLE_OUT, i, 0, 3);
        want_norm(l, set, &b->ln2, side, ROLE_LN2_GAIN, i, c->eps);
        want_dense(l, set, &b->fc1, side, ROLE_FC1, i, 0, 3);
        want_dense(l, set, &b->fc2, side, ROLE_FC2, i, 0, 3);
    }
}

/* Rows of a tensor as a tensor of its own: the same memory. A [1,1,W] is one row. */
static struct weight cut(const struct weight *w, int64_t first, int64_t rows)
{
    struct weight s = *w;
    if (w->rank < 1 || w->dim[0] == rows || w->count == 0) return s;
    while (s.rank > 1 && s.dim[0] == 1) {
        memmove(s.dim, s.dim + 1, (size_t)(--s.rank) * sizeof *s.dim);
        memmove(s.stride, s.stride + 1, (size_t)s.rank * sizeof *s.stride);
    }
    if (s.dim[0] == rows) return s;
    s.data = (const char *)s.data + first * s.stride[0] * (int64_t)weight_size(s.dtype);
    s.count = s.count / s.dim[0] * rows;
    s.dim[0] = rows;
    return s;
}

/* The stored dtypes that the device packs by itself. */
static int direct(enum dtype *type, const struct weight *w)
{
    size_t size = weight_size(w->dtype);
    if (w->dtype == WEIGHT_F32)
        *type = F32;
    else if (w->dtype == WEIGHT_F16)
        *type = F16;
    else if (w->dtype == WEIGHT_BF16)
        *type = BF16;
    else
        return 0;
    return weight_is_dense(w) && (uintptr_t)w->data % size == 0;
}

/* All of one transposed tensor [k,n] as [n,k]. */
static int read_transposed(float *out, const struct weight *w, int64_t n, int64_t k)
{
    float *raw = mem_aligned(mem_mul((size_t)w->count, sizeof *raw));
    int rc = weights_read_f32(raw, w);
    for (int64_t i = 0; i < n && !rc; i++)
        for (int64_t j = 0; j < k; j++) out[i * k + j] = raw[j * n + i];
    free(raw);
    return rc;
}

static int read_positions(float *out, const struct job *j)
{
    const struct weight *w = j->from.part[0];
    float *raw = mem_aligned(mem_mul((size_t)w->count, sizeof *raw));
    int rc = weights_read_f32(raw, w);
    if (!rc) {
        memcpy(out, raw, (size_t)j->k * sizeof *raw); /* the class token's stays */
        positions_resize(out + j->k, raw + j->k, j->new_grid, j->old_grid, (int)j->k);
    }
    free(raw);
    return rc;
}

/* A job's rows as a host tensor; *temp is to be freed. */
static int fetch(struct tensor *host, float **temp, const struct job *j)
{
    int64_t k = j->k ? j->k : 1, each = j->n / j->from.parts, rc = 0;
    int64_t p0 = j->first / each, p1 = (j->first + j->rows - 1) / each;
    enum dtype type;
    *temp = NULL;
    if (!j->new_grid && !j->from.transposed && p0 == p1) {
        struct weight s = cut(j->from.part[p0], j->first - p0 * each, j->rows);
        if (direct(&type, &s)) {
            *host = tensor_2d((void *)(uintptr_t)s.data, type, j->rows, k);
            return 0;
        }
    }
    float *out = *temp = mem_aligned(mem_mul((size_t)(j->rows * k), sizeof(float)));
    *host = tensor_2d(out, F32, j->rows, k);
    if (j->new_grid) return read_positions(out, j);
    if (j->from.transposed) return read_transposed(out, j->from.part[0], j->n, j->k);
    for (int64_t row = j->first, end = j->first + j->rows; row < end && !rc;) {
        int64_t p = row / each, stop = (p + 1) * each < end ? (p + 1) * each : end;
        struct weight s = cut(j->from.part[p], row - p * each, stop - row);
        rc = weights_read_f32(out, &s);
        out += (stop - row) * k;
        row = stop;
    }
    return (int)rc;
}

/* Exponent bits all ones = infinity or NaN. Blocks of 16 keep this at memory speed. */
static int all_finite(const struct tensor *t)
{
    int64_t n = tensor_count(t), i = 0;
    uint32_t bad = 0;
    if (t->type == F32) {
        const uint32_t *x = t->data;
        for (; i + 16 <= n; i += 16) {
            uint32_t top = 0;
            for (int j = 0; j < 16; j++) top |= ((x[i + j] & 0x7f800000u) + 0x00800000u) >> 31;
            bad |= top;
        }
        for (; i < n; i++) bad |= ((x[i] & 0x7f800000u) + 0x00800000u) >> 31;
        return !bad;
    }
    const uint16_t *x = t->data, mask = t->type == F16 ? 0x7c00 : 0x7f80;
    for (; i < n; i++) bad |= (x[i] & mask) == mask;
    return !bad;
}

/* The pages of a tensor's numbers back to the system: they are packed now. Only those that are
 * wholly its own, and only of mapped files. */
static void drop_pages(const struct model *m, const struct weight *w)
{
    if (!strncmp(weights_format(m->weights), "np", 2)) return; /* npz: inflated on the heap */
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), p = (uintptr_t)w->data;
    if (!weight_is_dense(w)) return;
    uintptr_t end = (p + (size_t)w->count * weight_size(w->dtype)) / page * page;
    p = (p + page - 1) / page * page;
    if (end > p) madvise((void *)p, end - p, MADV_DONTNEED);
}

static void drop_job(const struct model *m, const struct job *j)
{
    int slice = j->from.parts == 1 && !j->from.transposed && !j->new_grid;
    struct weight s = slice ? cut(j->from.part[0], j->first, j->rows) : *j->from.part[0];
    drop_pages(m, &s);
    for (int i = 1; i < j->from.parts; i++) drop_pages(m, j->from.part[i]);
}

static int run_job(struct loader *l, const struct job *j, struct device *dev)
{
    struct tensor host;
    float *temp;
    int rc = fetch(&host, &temp, j);
    if (!rc && !all_finite(&host))
        rc = err_set(ERR_INPUT,
                     "tensor %s holds numbers that are not finite (NaN or infinity): "
                     "the file is damaged or training diverged",
                     j->from.part[0]->name);
    if (!rc && j->to->packed) {
        rc = op_pack(dev, j->to->w.data, &host);
    } else if (!rc) {
        float *plain = temp;
        int64_t count = tensor_count(&host);
        if (!temp && host.type != F32) { /* a plain table is f32 whatever it is stored as */
            plain = temp = mem_aligned((size_t)count * sizeof(float));
            struct weight s = cut(j->from.part[j->first / (j->n / j->from.parts)],
                                  j->first % (j->n / j->from.parts), j->rows);
            rc = weights_read_f32(plain, &s);
        }
        float *to = (float *)j->to->w.data + j->at * (j->k ? j->k : 1);
        if (!rc)
            rc = op_put(dev, to, plain ? (void *)plain : host.data, (size_t)count * sizeof(float));
    }
    free(temp);
    drop_job(l->m, j);
    return rc;
}

static void do_job(void *arg, size_t i, int worker)
{
    struct loader *l = arg;
    int rc = run_job(l, &l->jobs[i], l->lanes[worker]);
    if (!rc) return;
    pthread_mutex_lock(&l->lock);
    if (!l->rc || i < l->failed) {
        l->rc = rc;
        l->failed = i;
        snprintf(l->why, sizeof l->why, "%s", err_text());
    }
    pthread_mutex_unlock(&l->lock);
}

int loader_run(struct loader *l, struct device *dev)
{
    int threads = cpu_count(), opened = 0, rc = 0;
    l->lanes = mem_alloc((size_t)threads * sizeof *l->lanes);
    for (; opened < threads && !rc; opened++) rc = device_lane(&l->lanes[opened], dev);
    if (!rc) {
        struct pool *pool = pool_new(threads);
        pool_for(pool, l->count, do_job, l);
        pool_free(pool);
        if (l->rc) rc = err_set(l->rc, "%s", l->why);
    }
    for (int i = 0; i < opened; i++) device_close(l->lanes[i]);
    free(l->lanes);
    l->lanes = NULL;
    return rc;
}

/* ---- the fingerprint ---- */

static void hash_weight(const struct model *m, struct sha256 *h, const struct weight *w)
{
    struct str head = {0};
    str_printf(&head, "%s ", weight_type(w->dtype));
    print_shape(&head, w);
    sha256_add(h, head.p, head.len);
    str_release(&head);
    if (weight_is_dense(w)) {
        sha256_add(h, w->data, (size_t)w->count * weight_size(w->dtype));
        drop_pages(m, w);
        return;
    }
    float *plain = mem_aligned(mem_mul((size_t)w->count, sizeof *plain));
    if (!weights_read_f32(plain, w)) sha256_add(h, plain, (size_t)w->count * sizeof *plain);
    free(plain);
}

static int hash_role(void *arg, const struct model *m, enum side side, enum role role, int block)
{
    struct found f;
    find_role(&f, m, side, role, block);
    for (int i = 0; i < f.parts; i++) hash_weight(m, arg, f.part[i]);
    return 0;
}

void loader_hash(const struct model *m, struct sha256 *h)
{
    if (m->config.image.layers) each_role(m, SIDE_IMAGE, hash_role, h);
    if (m->config.text.layers) each_role(m, SIDE_TEXT, hash_role, h);
}
