/* cluster_tool.c - kmeans.h and pairs.h for tests in Python, over raw files.
 *     cluster_tool fit X f32|f16 N DIM K key=value...     c.f32 label.i32 l2.f32 cosine.f32 in out=
 *     cluster_tool score X f32|f16 N DIM key=value...     score.f32 earlier.i32
 *     cluster_tool greedy X f32|f16 N DIM key=value...    removed.u8 by.i32, eps=A,B,...
 *     cluster_tool order KEYS IDS hard|easy|random|high|low SEED    ids one a line, to stdout
 * keys: out start (file, parallel, plusplus, random) iters keep_empty tol stop (cuml, sklearn)
 * normalize fraction threads block seed bounds memory eps. The last line of fit is JSON. */
#include "algo/kmeans.h"
#include "algo/pairs.h"
#include "base/err.h"
#include "base/mem.h"
#include "tensor/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char **args;
static int arg_count;

static const char *value(const char *key, const char *none)
{
    size_t n = strlen(key);
    for (int i = 0; i < arg_count; i++)
        if (!strncmp(args[i], key, n) && args[i][n] == '=') return args[i] + n + 1;
    return none;
}

static double number(const char *key, double none)
{
    const char *v = value(key, NULL);
    return v ? strtod(v, NULL) : none;
}

static void *read_file(const char *path, size_t bytes)
{
    FILE *f = fopen(path, "rb");
    void *p = mem_aligned(bytes + 64);
    if (!f || fread(p, 1, bytes, f) != bytes) {
        fprintf(stderr, "%s: %zu bytes wanted\n", path, bytes);
        exit(1);
    }
    fclose(f);
    return p;
}

static void write_file(const char *name, const void *p, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", value("out", "."), name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(p, 1, bytes, f) != bytes || fclose(f)) exit(1);
}

struct found {
    int32_t *cluster;
    float *l2, *cosine;
};

static int take(void *state, const struct kmeans_found *f)
{
    struct found *to = state;
    memcpy(to->cluster + f->first, f->cluster, (size_t)f->n * 4);
    memcpy(to->l2 + f->first, f->l2, (size_t)f->n * 4);
    memcpy(to->cosine + f->first, f->cosine, (size_t)f->n * 4);
    return 0;
}

static void choose_start(struct kmeans_options *o, int64_t dim)
{
    const char *start = value("start", "parallel");
    static const char *const name[] = {"parallel", "plusplus", "random"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(start, name[i])) {
            o->start = (enum kmeans_start)i;
            return;
        }
    o->start = KMEANS_GIVEN;
    o->centroids = read_file(start, (size_t)(o->clusters * dim) * sizeof(float));
}

static int fit(struct device *d, struct rows *rows, int64_t k)
{
    size_t n = (size_t)rows->count;
    struct kmeans m;
    struct kmeans_options o = {.clusters = k,
                               .max_iter = (int)number("iters", 0),
                               .keep_empty = (int)number("keep_empty", 0),
                               .tol = number("tol", 1e-4),
                               .stop = strcmp(value("stop", "cuml"), "cuml") ? KMEANS_SKLEARN
                                                                             : KMEANS_CUML,
                               .seed = (uint64_t)number("seed", 0),
                               .fit_fraction = number("fraction", 0),
                               .normalize = (int)number("normalize", 0),
                               .no_bounds = !number("bounds", 1),
                               .block_rows = (int64_t)number("block", 0)};
    struct found f = {mem_alloc(n * 4 + 4), mem_alloc(n * 4 + 4), mem_alloc(n * 4 + 4)};
    double inertia = 0;
    choose_start(&o, rows->dim);
    int rc = kmeans_fit(&m, d, rows, &o);
    if (!rc) rc = kmeans_assign(&m, d, rows, o.normalize, take, &f, NULL, &inertia);
    if (!rc) {
        write_file("c.f32", m.centroids, (size_t)(k * rows->dim) * 4);
        write_file("label.i32", f.cluster, n * 4);
        write_file("l2.f32", f.l2, n * 4);
        write_file("cosine.f32", f.cosine, n * 4);
        printf("{\"inertia\": %.17g, \"iterations\": %d, \"rows\": %lld, \"zero\": %lld, "
               "\"not_finite\": %lld, \"converged\": %d}\n",
               inertia, m.iterations, (long long)m.rows, (long long)m.zero, (long long)m.not_finite,
               m.converged);
    }
    kmeans_release(&m);
    free(f.cluster), free(f.l2), free(f.cosine), free((void *)o.centroids);
    return rc;
}

static struct pairs_options pairs_options(void)
{
    return (struct pairs_options){(size_t)number("memory", 0), (int)number("normalize", 1)};
}

static int score(struct device *d, struct rows *rows)
{
    size_t n = (size_t)rows->count;
    struct pairs_options o = pairs_options();
    float *s = mem_alloc(n * 4 + 4);
    int32_t *earlier = mem_alloc(n * 4 + 4);
    int rc = pairs_score(s, earlier, d, rows, &o);
    if (!rc) write_file("score.f32", s, n * 4);
    if (!rc) write_file("earlier.i32", earlier, n * 4);
    free(s), free(earlier);
    return rc;
}

static int greedy(struct device *d, struct rows *rows)
{
    size_t n = (size_t)rows->count;
    struct pairs_options o = pairs_options();
    double eps[PAIRS_EPS];
    int count = 0;
    for (const char *p = value("eps", "0.01"); p && count < PAIRS_EPS; p = strchr(p, ',')) {
        if (*p == ',') p++;
        eps[count++] = strtod(p, NULL);
    }
    uint8_t *removed = mem_alloc(n * (size_t)count + 1);
    int32_t *by = mem_alloc(n * (size_t)count * 4 + 4);
    int rc = pairs_greedy(removed, by, d, rows, eps, count, &o);
    if (!rc) write_file("removed.u8", removed, n * (size_t)count);
    if (!rc) write_file("by.i32", by, n * (size_t)count * 4);
    free(removed), free(by);
    return rc;
}

/* KEYS: a raw f32 file; IDS: as many lines. */
static int order(const char *keys, const char *ids, const char *keep, uint64_t seed)
{
    static const char *const name[] = {"hard", "easy", "random", "high", "low"};
    enum { MOST = 100000 };
    struct pairs_item *item = mem_alloc(MOST * sizeof *item);
    char *line = NULL;
    size_t cap = 0;
    int64_t n = 0, *to = mem_alloc(MOST * sizeof *to);
    int k = 0;
    FILE *f = fopen(ids, "r");
    for (ssize_t got; f && n < MOST && (got = getline(&line, &cap, f)) > 0; n++) {
        item[n].id_bytes = (uint32_t)(got - 1);
        item[n].id = mem_strndup(line, (size_t)(got - 1));
        item[n].row = n;
    }
    if (f) fclose(f);
    float *key = read_file(keys, (size_t)n * 4);
    for (int64_t i = 0; i < n; i++) item[i].key = key[i];
    while (k < 4 && strcmp(keep, name[k])) k++;
    pairs_order(to, item, n, (enum pairs_keep)k, seed);
    for (int64_t i = 0; i < n; i++) printf("%s\n", item[to[i]].id);
    for (int64_t i = 0; i < n; i++) free((void *)item[i].id);
    free(item), free(line), free(to), free(key);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 6 && !strcmp(argv[1], "order"))
        return order(argv[2], argv[3], argv[4], strtoull(argv[5], NULL, 10));
    if (argc < 7) return 2;
    args = argv;
    arg_count = argc;
    int half = !strcmp(argv[3], "f16");
    int64_t n = strtoll(argv[4], NULL, 10), dim = strtoll(argv[5], NULL, 10);
    void *x = read_file(argv[2], (size_t)(n * dim) * (half ? 2 : 4));
    struct tensor t = tensor_2d(x, half ? F16 : F32, n, dim);
    struct rows rows = rows_of(&t);
    struct device *d;
    int rc = device_open(&d, "cpu", (int)number("threads", 2));
    if (!rc && !strcmp(argv[1], "fit")) rc = fit(d, &rows, strtoll(argv[6], NULL, 10));
    if (!rc && !strcmp(argv[1], "score")) rc = score(d, &rows);
    if (!rc && !strcmp(argv[1], "greedy")) rc = greedy(d, &rows);
    if (rc) fprintf(stderr, "%s\n", err_text());
    device_close(d);
    free(x);
    return rc ? err_exit_code(rc) : 0;
}
