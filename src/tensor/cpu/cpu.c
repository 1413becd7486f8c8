/* cpu.c - the CPU as a device: memory, threads, lanes and the table of rows. */
#include "tensor/cpu/cpu.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20 };

/* Large blocks ask for huge pages: packed weights are read end to end, and their pages are
 * touched for the first time while loading. */
static void *block_new(size_t bytes)
{
    void *p = NULL;
    if (bytes < HUGE_PAGE) return mem_aligned(bytes);
    if (posix_memalign(&p, HUGE_PAGE, bytes)) return mem_aligned(bytes);
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

void *scratch_get(struct buffer *set, enum scratch which, size_t bytes)
{
    struct buffer *b = &set[which];
    if (b->bytes < bytes) {
        free(b->data);
        b->data = block_new(bytes);
        b->bytes = bytes;
    }
    return b->data;
}

static void scratch_release(struct buffer *set)
{
    for (int i = 0; i < SCRATCH_COUNT; i++) free(set[i].data);
}

static int cpu_alloc(struct device *d, void **p, size_t bytes)
{
    (void)d;
    *p = block_new(bytes);
    return 0;
}

static void cpu_free(struct device *d, void *p)
{
    (void)d;
    free(p);
}

static int cpu_copy(struct device *d, void *dst, const void *src, size_t bytes)
{
    (void)d;
    memcpy(dst, src, bytes);
    return 0;
}

static int cpu_zero(struct device *d, void *p, size_t bytes)
{
    (void)d;
    memset(p, 0, bytes);
    return 0;
}

static int cpu_sync(struct device *d)
{
    (void)d;
    return 0;
}

static void cpu_close(struct device *d)
{
    struct cpu *c = d->state;
    pool_free(c->pool);
    scratch_release(c->shared);
    for (int i = 0; i < c->workers; i++) scratch_release(c->worker[i]);
    free(c->worker);
    free(c);
    free(d);
}

static struct device *cpu_new(const struct kernels *k, int threads);

static int cpu_lane(struct device *d, struct device **out)
{
    struct cpu *c = d->state;
    *out = cpu_new(c->k, 1);
    memcpy((*out)->kind, d->kind, sizeof d->kind);
    memcpy((*out)->detail, d->detail, sizeof d->detail);
    return 0;
}

static const struct device_ops cpu_ops = {
    .alloc = cpu_alloc,
    .free = cpu_free,
    .put = cpu_copy,
    .get = cpu_copy,
    .zero = cpu_zero,
    .sync = cpu_sync,
    .lane = cpu_lane,
    .close = cpu_close,
    .pack_bytes = cpu_pack_bytes,
    .pack = cpu_pack,
    .linear = cpu_linear,
    .linear_bwd = cpu_linear_bwd,
    .attention = cpu_attention,
    .attention_bwd = cpu_attention_bwd,
    .layernorm = cpu_layernorm,
    .layernorm_bwd = cpu_layernorm_bwd,
    .patchify = cpu_patchify,
    .embed = cpu_embed,
    .embed_bwd = cpu_embed_bwd,
    .l2norm = cpu_l2norm,
    .add = cpu_add,
    .xent = cpu_xent,
    .adamw = cpu_adamw,
    .nearest = cpu_nearest,
    .distance = cpu_distance,
    .sum_by = cpu_sum_by,
    .pair_max = cpu_pair_max,
};

static int64_t l2_bytes(void)
{
    long n = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return n < 1 << 18 ? 1 << 20 : n > 1 << 22 ? 1 << 22 : n;
}

static struct device *cpu_new(const struct kernels *k, int threads)
{
    struct device *d = mem_alloc(sizeof *d);
    struct cpu *c = mem_alloc(sizeof *c);
    c->k = k;
    c->pool = threads > 1 ? pool_new(threads) : NULL;
    c->l2_bytes = l2_bytes();
    c->workers = pool_size(c->pool);
    c->worker = mem_alloc((size_t)c->workers * sizeof *c->worker);
    *d = (struct device){
        .name = "cpu", .kind = "cpu", .lanes = 1, .host = 1, .ops = &cpu_ops, .state = c};
    return d;
}

const struct kernels *kernels_of(enum isa isa)
{
    static const struct kernels *const kernels[] = {
        [ISA_PLAIN] = &kernels_plain, [ISA_AVX2] = &kernels_avx2, [ISA_AVX512] = &kernels_avx512};
    return kernels[isa];
}

int cpu_open(struct device **out, enum isa isa, int threads)
{
    struct device *d = cpu_new(kernels_of(isa), threads);
    d->lanes = threads > 1 ? threads : 1;
    snprintf(d->detail, sizeof d->detail, "%s, %d thread%s", isa_name(isa), d->lanes,
             d->lanes == 1 ? "" : "s");
    *out = d;
    return 0;
}
