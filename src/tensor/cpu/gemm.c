/* gemm.c - blocking: which part of the product is computed when, so that each operand comes
 * from the cache that can feed the micro-kernel.
 * A block of rows of a stays in L2, read in place (or packed, when its rows would fall on the
 * same cache sets). A few panels of b at a time are walked in blocks of k: the panel block is
 * read from L1 and L2 by all tiles of the row block in turn, while the next one is prefetched.
 * Sums rest in a small buffer between blocks of k, which costs no bit; after the last block the
 * tile is finished while it is still in L1. */
#include "tensor/cpu/gemm.h"
#include "base/mem.h"
#include "tensor/cpu/half.h"

#include <string.h>

enum {
    WHOLE_K = 768, /* a k up to this is not cut */
    BLOCK_K = 512,
    BLOCK_PANELS = 8
};

struct gemm_job {
    struct cpu *cpu;
    const struct gemm *g;
    float *packed;            /* rows of a: block of k, tile, row, kc; NULL: a is read in place */
    int64_t row, rows, tiles; /* the rows at work now */
    int64_t tiles_unit;       /* tiles that one unit of work takes */
    int64_t panels, panels_unit, col_units;
    int64_t kc, kblocks;
};

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t tile_row(const struct gemm_job *j, int64_t tile) /* rows spread evenly over tiles */
{
    return tile * j->rows / j->tiles;
}

static int64_t block_k(const struct gemm_job *j, int64_t block)
{
    return least(j->g->k - block * j->kc, j->kc);
}

static float *packed_tile(const struct gemm_job *j, int64_t block, int64_t tile)
{
    return j->packed + block * j->kc * j->rows + tile_row(j, tile) * block_k(j, block);
}

static void pack_tile(void *arg, size_t index, int worker)
{
    const struct gemm_job *j = arg;
    const struct gemm *g = j->g;
    int64_t tile = (int64_t)index, first = tile_row(j, tile), rows = tile_row(j, tile + 1) - first;
    (void)worker;
    for (int64_t b = 0; b < j->kblocks; b++) {
        float *to = packed_tile(j, b, tile);
        int64_t k0 = b * j->kc, kc = block_k(j, b);
        for (int64_t r = 0; r < rows; r++, to += kc) {
            const float *from = g->a_trans ? g->a + k0 * g->lda + j->row + first + r
                                           : g->a + (j->row + first + r) * g->lda + k0;
            if (!g->a_trans)
                memcpy(to, from, (size_t)kc * sizeof *to);
            else
                for (int64_t i = 0; i < kc; i++) to[i] = from[i * g->lda];
        }
    }
}

/* The part of the result that one unit of work makes: tiles [t0,t1), panels [p0,p1). */
struct gemm_unit {
    int64_t t0, t1, p0, p1;
    int64_t row0, span;
    float *sums; /* [panel][row][PANEL] between blocks of k; one tile when k is whole */
};

static const float *panel_block(const struct gemm_job *j, int64_t panel, int64_t block)
{
    return j->g->b + (panel * j->g->k + block * j->kc) * PANEL;
}

/* The panel block that follows (p, b) in the order of run_unit: fetched while this one works. */
static const float *next_block(const struct gemm_job *j, const struct gemm_unit *u, int64_t p,
                               int64_t b)
{
    if (p + 1 < u->p1) return panel_block(j, p + 1, b);
    if (b + 1 < j->kblocks) return panel_block(j, u->p0, b + 1);
    return panel_block(j, u->p1 < j->panels ? u->p1 : 0, 0);
}

static void fetch_result(const struct finish *f, int64_t row, int64_t col, int rows)
{
    for (int r = 0; r < rows; r++) {
        const float *y = f->y + (row + r) * f->ldy + col;
        __builtin_prefetch(y, 1);
        __builtin_prefetch(y + PANEL / 2, 1);
        if (!f->residual || f->residual == f->y) continue;
        const float *res = f->residual + (row + r) * f->ldres + col;
        __builtin_prefetch(res);
        __builtin_prefetch(res + PANEL / 2);
    }
}

/* One panel block against all tiles of the unit. */
static void run_block(const struct gemm_job *j, const struct gemm_unit *u, int64_t p, int64_t b)
{
    const struct gemm *g = j->g;
    int64_t kc = block_k(j, b), fours = kc / 4 ? kc / 4 : 1, tiles = u->t1 - u->t0;
    int cols = (int)least(g->n - p * PANEL, PANEL), last = b + 1 == j->kblocks;
    const char *ahead = (const char *)next_block(j, u, p, b);
    struct tile t = {.b = panel_block(j, p, b),
                     .ldc = PANEL,
                     .lda = j->packed ? kc : g->lda,
                     .k = kc,
                     .step = ceil_div(kc * PANEL * 4, tiles * fours),
                     .more = b > 0};
    for (int64_t i = u->t0; i < u->t1; i++) {
        int64_t row = tile_row(j, i);
        t.rows = (int)(tile_row(j, i + 1) - row);
        t.c = u->sums;
        if (j->kblocks > 1) t.c += ((p - u->p0) * u->span + row - u->row0) * PANEL;
        t.a = j->packed ? packed_tile(j, b, i) : g->a + (j->row + row) * g->lda + b * j->kc;
        t.ahead = ahead + (i - u->t0) * fours * t.step;
        if (last && !g->sink) fetch_result(&g->finish, j->row + row, p * PANEL, t.rows);
        j->cpu->k->tile(&t);
        if (!last) continue;
        if (g->sink)
            g->sink(g->arg, t.c, j->row + row, p * PANEL, t.rows, cols);
        else
            j->cpu->k->finish(&g->finish, t.c, j->row + row, p * PANEL, t.rows, cols);
    }
}

static void run_panels(const struct gemm_job *j, struct gemm_unit *u, int worker)
{
    u->row0 = tile_row(j, u->t0);
    u->span = tile_row(j, u->t1) - u->row0;
    int64_t rows = j->kblocks > 1 ? u->span * (u->p1 - u->p0) : TILE_MOST;
    u->sums =
        scratch_get(j->cpu->worker[worker], SCRATCH_C, (size_t)(rows * PANEL) * sizeof *u->sums);
    for (int64_t b = 0; b < j->kblocks; b++)
        for (int64_t p = u->p0; p < u->p1; p++) run_block(j, u, p, b);
}

static void run_unit(void *arg, size_t index, int worker)
{
    const struct gemm_job *j = arg;
    struct gemm_unit u;
    u.t0 = (int64_t)index / j->col_units * j->tiles_unit;
    u.t1 = least(u.t0 + j->tiles_unit, j->tiles);
    u.p0 = (int64_t)index % j->col_units * j->panels_unit;
    u.p1 = least(u.p0 + j->panels_unit, j->panels);
    run_panels(j, &u, worker);
}

/* As many rows as fill 30 % of L2 with one block of k: sums, results and the coming panels need
 * room as well, and a neighbour thread may use half of it. */
static int64_t block_rows(const struct cpu *cpu, int64_t kc)
{
    int64_t rows = cpu->l2_bytes * 3 / 10 / (kc * (int64_t)sizeof(float) + 1);
    int64_t tile = cpu->k->tile_rows;
    return rows < 4 * tile ? 4 * tile : rows;
}

static struct gemm_job gemm_plan(struct cpu *cpu, const struct gemm *g)
{
    struct gemm_job j = {.cpu = cpu, .g = g};
    j.kblocks = g->k > WHOLE_K ? ceil_div(g->k, BLOCK_K) : 1;
    j.kc = ceil_div(g->k, j.kblocks);
    j.panels = ceil_div(g->n, PANEL);
    return j;
}

int64_t gemm_strip_rows(const struct cpu *cpu, int64_t k)
{
    int64_t kblocks = k > WHOLE_K ? ceil_div(k, BLOCK_K) : 1, tile = cpu->k->tile_rows;
    return ceil_div(block_rows(cpu, ceil_div(k, kblocks)), tile) * tile;
}

void gemm_strip(struct cpu *cpu, const struct gemm *g, int worker)
{
    struct gemm_job j = gemm_plan(cpu, g);
    j.rows = g->m;
    j.tiles = ceil_div(j.rows, cpu->k->tile_rows);
    struct gemm_unit u = {.t1 = j.tiles};
    for (; u.p0 < j.panels; u.p0 = u.p1) {
        u.p1 = least(u.p0 + BLOCK_PANELS, j.panels);
        run_panels(&j, &u, worker);
    }
}

void gemm_run(struct cpu *cpu, const struct gemm *g)
{
    struct gemm_job j = gemm_plan(cpu, g);
    int64_t threads = pool_size(cpu->pool);
    int64_t rows_once = block_rows(cpu, j.kc) * threads;
    for (j.row = 0; j.row < g->m; j.row += j.rows) {
        int64_t left = g->m - j.row;
        j.rows = ceil_div(left, ceil_div(left, rows_once));
        j.tiles = ceil_div(j.rows, cpu->k->tile_rows);
        j.tiles_unit = ceil_div(j.tiles, threads);
        j.panels_unit = j.tiles < threads ? 1 : BLOCK_PANELS;
        j.col_units = ceil_div(j.panels, j.panels_unit);
        if (g->a_trans || rows_collide(g->lda)) {
            size_t bytes = (size_t)(j.rows * g->k) * sizeof *j.packed;
            j.packed = scratch_get(cpu->shared, SCRATCH_A, bytes);
            pool_for(cpu->pool, (size_t)j.tiles, pack_tile, &j);
        }
        pool_for(cpu->pool, (size_t)(ceil_div(j.tiles, j.tiles_unit) * j.col_units), run_unit, &j);
    }
}

size_t gemm_pack_bytes(int64_t n, int64_t k)
{
    return (size_t)(ceil_div(n, PANEL) * k * PANEL) * sizeof(float);
}

struct pack_job {
    struct cpu *cpu;
    float *packed;
    const struct tensor *w;
    const float *b;
    int64_t ldb, n, k;
};

static void widen(float *to, const uint16_t *from, int64_t n, enum dtype type)
{
    if (type == F16)
        for (int64_t i = 0; i < n; i++) to[i] = half_to_float(from[i]);
    else
        for (int64_t i = 0; i < n; i++) to[i] = bfloat_to_float(from[i]);
}

static void pack_row_panel(void *arg, size_t index, int worker)
{
    const struct pack_job *j = arg;
    int64_t first = (int64_t)index * PANEL, k = j->k, ld = j->w->ld;
    int cols = (int)(j->n - first < PANEL ? j->n - first : PANEL);
    const float *rows = (const float *)j->w->data + first * ld;
    if (j->w->type != F32) {
        float *wide = scratch_get(j->cpu->worker[worker], SCRATCH_C, (size_t)(PANEL * k) * 4);
        const uint16_t *half = (const uint16_t *)j->w->data + first * ld;
        for (int r = 0; r < cols; r++) widen(wide + r * k, half + r * ld, k, j->w->type);
        rows = wide;
        ld = k;
    }
    j->cpu->k->transpose(j->packed + first * k, rows, ld, cols, k);
}

void gemm_pack_rows(struct cpu *cpu, float *packed, const struct tensor *w)
{
    struct pack_job j = {cpu, packed, w, NULL, 0, w->dim[0], w->dim[1]};
    pool_for(cpu->pool, (size_t)ceil_div(j.n, PANEL), pack_row_panel, &j);
}

static void pack_col_panel(void *arg, size_t index, int worker)
{
    const struct pack_job *j = arg;
    int64_t first = (int64_t)index * PANEL;
    (void)worker;
    j->cpu->k->copy(j->packed + first * j->k, j->b + first, j->ldb, (int)least(j->n - first, PANEL),
                    j->k);
}

void gemm_pack_cols(struct cpu *cpu, float *packed, const float *b, int64_t ldb, int64_t n,
                    int64_t k)
{
    struct pack_job j = {cpu, packed, NULL, b, ldb, n, k};
    pool_for(cpu->pool, (size_t)ceil_div(n, PANEL), pack_col_panel, &j);
}
