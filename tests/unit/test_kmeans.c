/* test_kmeans.c - k-means: the same bits for any threads, blocks, instruction sets, ranks and with
 * or without bounds; a plain Lloyd in double; NeMo Curator's blobs; cases at the edge. */
#include "test.h"

#include "algo/kmeans.h"
#include "algo/pairs.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tensor/cpu/cpu.h"
#include "tensor/ops.h"

#include <pthread.h>

static struct device *device(int threads)
{
    static struct device *d[4];
    if (!d[threads]) cpu_open(&d[threads], isa_best(), threads);
    return d[threads];
}

/* n rows around `groups` directions. */
static float *grouped(int64_t n, int64_t dim, int groups, double spread, uint64_t seed)
{
    struct rng r = {seed};
    float *x = mem_aligned((size_t)((n + 1) * dim) * sizeof *x);
    float *middle = mem_alloc((size_t)(groups * dim) * sizeof *middle);
    for (int64_t i = 0; i < groups * dim; i++) middle[i] = (float)rng_normal(&r);
    for (int64_t i = 0; i < n; i++) {
        int64_t g = (int64_t)rng_below(&r, (uint64_t)groups);
        for (int64_t j = 0; j < dim; j++)
            x[i * dim + j] = (float)(middle[g * dim + j] + spread * rng_normal(&r));
    }
    free(middle);
    return x;
}

static struct rows rows_in(struct tensor *t, float *x, int64_t n, int64_t dim)
{
    *t = tensor_2d(x, F32, n, dim);
    return rows_of(t);
}

/* ---- the same bits ---- */

static void same_fit(const struct kmeans *a, const struct kmeans *b, const char *what)
{
    size_t cells = (size_t)(a->clusters * a->dim);
    if (a->iterations != b->iterations || a->inertia != b->inertia || a->rows != b->rows ||
        memcmp(a->centroids, b->centroids, cells * sizeof(float)) ||
        memcmp(a->sizes, b->sizes, (size_t)a->clusters * sizeof *a->sizes))
        TEST_FAIL("%s: %d rounds, inertia %.17g; not %d, %.17g", what, b->iterations, b->inertia,
                  a->iterations, a->inertia);
}

TEST(threads_blocks_bounds_and_isa_change_no_bit)
{
    int64_t n = 1000, dim = 18;
    float *x = grouped(n, dim, 60, 0.8, 4);
    x[5 * dim + 3] = NAN; /* left out */
    memset(x + 9 * dim, 0, (size_t)dim * sizeof *x);
    memcpy(x + 700 * dim, x + 3 * dim, (size_t)dim * sizeof *x);
    struct tensor t;
    struct rows rows = rows_in(&t, x, n, dim);
    for (enum kmeans_start start = KMEANS_PARALLEL; start < KMEANS_GIVEN; start++)
        for (int normalize = 0; normalize < 2; normalize++) {
            struct kmeans_options o = {
                .clusters = 140, .start = start, .seed = 8, .oversampling = 0.3};
            struct kmeans want, got;
            int isa_too = normalize && start == KMEANS_RANDOM; /* slow under a sanitizer */
            o.normalize = normalize;
            o.fit_fraction = start == KMEANS_RANDOM ? 0.7 : 0;
            CHECK_INT(kmeans_fit(&want, device(1), &rows, &o), 0);
            CHECK(want.converged && want.iterations > 3);
            CHECK_INT(want.not_finite, 1);
            if (!o.fit_fraction) CHECK_INT(want.rows, n - 1 - normalize);
            o.no_bounds = 1;
            CHECK_INT(kmeans_fit(&got, device(2), &rows, &o), 0);
            same_fit(&want, &got, "no bounds");
            kmeans_release(&got);
            o.no_bounds = 0;
            for (int threads = 1; threads < 4; threads++) {
                o.block_rows = threads == 1 ? 37 : threads == 2 ? 256 : 1000;
                CHECK_INT(kmeans_fit(&got, device(threads), &rows, &o), 0);
                same_fit(&want, &got, "threads and blocks");
                kmeans_release(&got);
            }
            for (enum isa isa = ISA_PLAIN; isa < isa_best() && isa_too; isa++) {
                struct device *d;
                cpu_open(&d, isa, 1);
                CHECK_INT(kmeans_fit(&got, d, &rows, &o), 0);
                same_fit(&want, &got, isa_name(isa));
                kmeans_release(&got);
                device_close(d);
            }
            kmeans_release(&want);
        }
    free(x);
}

struct shares {
    int rounds;
    double least;
};

static int note_work(void *state, const struct kmeans_step *step)
{
    struct shares *s = state;
    s->rounds++;
    if (step->work < s->least) s->least = step->work;
    return 0;
}

/* Groups that overlap, in several dimensions: bounds save much, and change nothing. */
TEST(bounds_save_work_and_change_no_bit)
{
    for (int64_t dim = 2; dim < 80; dim *= 6)
        for (int copies = 0; copies < 2; copies++) {
            int64_t n = 3000;
            float *x = grouped(n, dim, 500, 0.3, (uint64_t)dim);
            if (copies) /* ties without end */
                for (int64_t i = 0; i < n; i++)
                    memcpy(x + i * dim, x + i % 700 * dim, (size_t)dim * sizeof *x);
            struct tensor t;
            struct rows rows = rows_in(&t, x, n, dim);
            struct shares shares = {0, 1};
            struct kmeans_options o = {.clusters = 600,
                                       .start = KMEANS_GIVEN,
                                       .centroids = x,
                                       .max_iter = 40,
                                       .progress = note_work,
                                       .state = &shares};
            struct kmeans a, b;
            CHECK_INT(kmeans_fit(&a, device(2), &rows, &o), 0);
            CHECK(shares.least < 0.3 && shares.rounds == a.iterations);
            o.no_bounds = 1;
            CHECK_INT(kmeans_fit(&b, device(1), &rows, &o), 0);
            same_fit(&b, &a, "bounds");
            kmeans_release(&a), kmeans_release(&b);
            free(x);
        }
}

/* Ranks as threads: a sum is a place where all meet. */
enum { RANKS = 3 };
static struct meeting {
    pthread_barrier_t all;
    int64_t *values[RANKS];
} meeting;

struct member {
    struct kmeans_team team;
    struct rows rows;
    struct kmeans_options o;
    struct kmeans m;
    struct tensor t;
    int rc;
};

static int meeting_sum(void *state, int64_t *values, size_t n)
{
    struct member *me = state;
    int64_t *sum = mem_alloc((n + 1) * sizeof *sum);
    meeting.values[me->team.rank] = values;
    pthread_barrier_wait(&meeting.all);
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < n; i++) sum[i] += meeting.values[r][i];
    pthread_barrier_wait(&meeting.all);
    memcpy(values, sum, n * sizeof *sum);
    free(sum);
    return 0;
}

static void *member_run(void *arg)
{
    struct member *me = arg;
    struct device *d;
    cpu_open(&d, isa_best(), 1);
    me->rc = kmeans_fit(&me->m, d, &me->rows, &me->o);
    device_close(d);
    return NULL;
}

TEST(ranks_change_no_bit)
{
    int64_t n = 700, dim = 12, cut[] = {0, 130, 131, 700};
    float *x = grouped(n, dim, 30, 0.7, 14);
    x[130 * dim] = INFINITY; /* all that the second rank has */
    struct tensor t;
    struct rows rows = rows_in(&t, x, n, dim);
    float far[20 * 12] = {0};
    for (int i = 0; i < 20 * 12; i++) far[i] = i < 60 ? x[i] : 100; /* fifteen empty clusters */
    for (enum kmeans_start start = KMEANS_PARALLEL; start <= KMEANS_GIVEN; start++) {
        struct kmeans_options o = {.clusters = 20,
                                   .start = start,
                                   .seed = 3,
                                   .centroids = far,
                                   .normalize = start != KMEANS_RANDOM};
        struct kmeans want;
        struct member member[RANKS] = {0};
        pthread_t thread[RANKS];
        CHECK_INT(kmeans_fit(&want, device(1), &rows, &o), 0);
        pthread_barrier_init(&meeting.all, NULL, RANKS);
        for (int r = 0; r < RANKS; r++) {
            struct member *me = &member[r];
            me->rows = rows_in(&me->t, x + cut[r] * dim, cut[r + 1] - cut[r], dim);
            me->team = (struct kmeans_team){r, RANKS, meeting_sum, me};
            me->o = o;
            me->o.team = &me->team;
            me->o.first_row = cut[r];
            pthread_create(&thread[r], NULL, member_run, me);
        }
        for (int r = 0; r < RANKS; r++) {
            pthread_join(thread[r], NULL);
            CHECK_INT(member[r].rc, 0);
            same_fit(&want, &member[r].m, "a rank");
            CHECK_INT(member[r].m.not_finite, 1);
            kmeans_release(&member[r].m);
        }
        pthread_barrier_destroy(&meeting.all);
        kmeans_release(&want);
    }
    free(x);
}

TEST(a_weight_is_a_number_of_copies)
{
    int64_t n = 200, dim = 5, many = 0;
    float *x = grouped(n, dim, 9, 0.5, 2), *copies = mem_alloc((size_t)(n * 4 * dim) * 4);
    int32_t *weights = mem_alloc((size_t)n * 4);
    for (int64_t i = 0; i < n; i++) {
        weights[i] = 1 + (int32_t)(i % 4);
        for (int c = 0; c < weights[i]; c++)
            memcpy(copies + many++ * dim, x + i * dim, (size_t)dim * 4);
    }
    struct tensor t, t2;
    struct rows rows = rows_in(&t, x, n, dim), all = rows_in(&t2, copies, many, dim);
    struct kmeans_options o = {.clusters = 9, .start = KMEANS_GIVEN, .centroids = x};
    struct kmeans a, b;
    CHECK_INT(kmeans_fit(&a, device(1), &all, &o), 0);
    o.weights = weights;
    CHECK_INT(kmeans_fit(&b, device(1), &rows, &o), 0);
    CHECK_INT(a.iterations, b.iterations);
    for (int64_t i = 0; i < 9 * dim; i++) CHECK_NEAR(a.centroids[i], b.centroids[i], 1e-6);
    for (int i = 0; i < 9; i++) CHECK_INT(a.sizes[i], b.sizes[i]);
    CHECK_NEAR(a.inertia, b.inertia, 1e-6 * a.inertia);
    kmeans_release(&a), kmeans_release(&b);
    free(x), free(copies), free(weights);
}

/* ---- against a plain Lloyd ---- */

struct labels {
    int32_t *cluster;
    float *l2, *cosine;
    int64_t next;
};

static int take_labels(void *state, const struct kmeans_found *f)
{
    struct labels *l = state;
    CHECK_INT(f->first, l->next);
    l->next += f->n;
    memcpy(l->cluster + f->first, f->cluster, (size_t)f->n * sizeof *f->cluster);
    memcpy(l->l2 + f->first, f->l2, (size_t)f->n * sizeof *f->l2);
    memcpy(l->cosine + f->first, f->cosine, (size_t)f->n * sizeof *f->cosine);
    return 0;
}

static struct labels labels_new(int64_t n)
{
    return (struct labels){mem_alloc((size_t)n * 4), mem_alloc((size_t)n * 4),
                           mem_alloc((size_t)n * 4), 0};
}

static void labels_free(struct labels *l)
{
    free(l->cluster), free(l->l2), free(l->cosine);
}

static int64_t nearest_in_double(const double *c, const float *x, int64_t k, int64_t dim,
                                 double *square)
{
    int64_t best = 0;
    *square = INFINITY;
    for (int64_t j = 0; j < k; j++) {
        double s = 0;
        for (int64_t i = 0; i < dim; i++) s += (x[i] - c[j * dim + i]) * (x[i] - c[j * dim + i]);
        if (s < *square) *square = s, best = j;
    }
    return best;
}

TEST(fit_follows_lloyd_in_double)
{
    int64_t n = 900, dim = 8, k = 30;
    float *x = grouped(n, dim, 30, 0.9, 6);
    double *c = mem_alloc((size_t)(k * dim) * 8), *sum = mem_alloc((size_t)(k * dim) * 8);
    int64_t *count = mem_alloc((size_t)k * 8);
    struct tensor t;
    struct rows rows = rows_in(&t, x, n, dim);
    struct kmeans_options o = {
        .clusters = k, .start = KMEANS_GIVEN, .centroids = x, .max_iter = 12, .tol = 0};
    struct kmeans m;
    CHECK_INT(kmeans_fit(&m, device(2), &rows, &o), 0);
    for (int64_t i = 0; i < k * dim; i++) c[i] = x[i];
    double inertia = 0, square;
    for (int round = 0; round < m.iterations; round++) {
        inertia = 0;
        memset(sum, 0, (size_t)(k * dim) * 8), memset(count, 0, (size_t)k * 8);
        for (int64_t r = 0; r < n; r++) {
            int64_t j = nearest_in_double(c, x + r * dim, k, dim, &square);
            inertia += square;
            count[j]++;
            for (int64_t i = 0; i < dim; i++) sum[j * dim + i] += x[r * dim + i];
        }
        for (int64_t i = 0; i < k * dim; i++)
            if (count[i / dim]) c[i] = (float)(sum[i] / (double)count[i / dim]);
    }
    CHECK_NEAR(m.inertia, inertia, 1e-6 * inertia);
    for (int64_t i = 0; i < k * dim; i++) CHECK_NEAR(m.centroids[i], c[i], 1e-5);
    for (int64_t j = 0; j < k; j++) CHECK_INT(m.sizes[j], count[j]);

    struct labels l = labels_new(n);
    int64_t *sizes = mem_alloc((size_t)k * 8), total = 0;
    double final;
    CHECK_INT(kmeans_assign(&m, device(3), &rows, 0, take_labels, &l, sizes, &final), 0);
    CHECK_INT(l.next, n);
    CHECK(final <= m.inertia);
    for (int64_t r = 0; r < n; r++) {
        int64_t j = nearest_in_double(c, x + r * dim, k, dim, &square);
        double p = 0, cc = 0;
        for (int64_t i = 0; i < dim; i++)
            p += x[r * dim + i] * c[j * dim + i], cc += c[j * dim + i] * c[j * dim + i];
        CHECK_INT(l.cluster[r], j);
        CHECK_NEAR(l.l2[r], sqrt(square), 1e-5);
        CHECK_NEAR(l.cosine[r], 1 - p / sqrt(cc), 1e-5);
    }
    for (int64_t j = 0; j < k; j++) total += sizes[j];
    CHECK_INT(total, n);
    labels_free(&l);
    free(x), free(c), free(sum), free(count), free(sizes);
    kmeans_release(&m);
}

/* NeMo: x = [.6,.8], c = [1,0]: l2 sqrt(.8), cosine .4. */
TEST(distances_of_nemo)
{
    float x[3][2] = {{3, 4}, {0, 0}, {NAN, 1}}, c[2] = {1, 0}, cosine[3], l2[3];
    int32_t cluster[3];
    struct tensor t = tensor_2d(x, F32, 3, 2);
    struct rows rows = rows_of(&t);
    struct kmeans m = {.clusters = 1, .dim = 2, .centroids = c};
    struct labels l = {cluster, l2, cosine, 0};
    int64_t size;
    CHECK_INT(kmeans_assign(&m, device(1), &rows, 1, take_labels, &l, &size, NULL), 0);
    CHECK_NEAR(l2[0], sqrt(.8), 1e-6);
    CHECK_NEAR(cosine[0], .4, 1e-6);
    CHECK(cluster[0] == 0 && cluster[1] == -1 && cluster[2] == -1);
    CHECK(isnan(l2[1]) && isnan(l2[2]) && isnan(cosine[1]) && isnan(cosine[2]));
    CHECK_INT(size, 1);
    struct kmeans wide = {.clusters = 1, .dim = 3, .centroids = c};
    CHECK_INT(kmeans_assign(&wide, device(1), &rows, 1, NULL, NULL, NULL, NULL), ERR_USAGE);
}

TEST(normalize_of_nemo)
{
    float x[2][3] = {{3, 4, 5}, {1, 2, 2}},
          want[2][3] = {{.424264f, .565685f, .707107f}, {1 / 3.f, 2 / 3.f, 2 / 3.f}};
    struct tensor t = tensor_2d(x, F32, 2, 3);
    struct rows rows = rows_of(&t);
    struct block b;
    CHECK_INT(block_init(&b, device(1), 2, 3), 0);
    CHECK_INT(block_add(&b, &rows, 0, 2, 1), 0);
    CHECK_INT(block_finish(&b), 0);
    for (int i = 0; i < 6; i++)
        CHECK_NEAR(((float *)b.x.data)[i / 3 * b.x.ld + i % 3], want[i / 3][i % 3], 1e-6);
    CHECK_NEAR(b.norm[1], 3, 1e-6);
    block_release(&b);
    block_release(&b);
}

/* ---- NeMo's blobs, from start to removal ---- */

struct blobs {
    float x[1500][3];
    struct labels l;
    char id[1500][8];
};

static int64_t blobs_removed(struct blobs *b, int64_t k, enum pairs_keep keep, int by_l2)
{
    int64_t removed = 0;
    float(*sorted)[3] = mem_alloc(sizeof b->x), *score = mem_alloc(1500 * 4);
    int32_t *earlier = mem_alloc(1500 * 4);
    struct pairs_item *item = mem_alloc(1500 * sizeof *item);
    int64_t *order = mem_alloc(1500 * sizeof *order);
    for (int64_t c = 0; c < k; c++) {
        int64_t n = 0;
        for (int i = 0; i < 1500; i++)
            if (b->l.cluster[i] == c)
                item[n++] = (struct pairs_item){by_l2 ? b->l.l2[i] : b->l.cosine[i],
                                                (uint32_t)strlen(b->id[i]), b->id[i], 0, i};
        pairs_order(order, item, n, keep, 42);
        for (int64_t i = 0; i < n; i++)
            memcpy(sorted[i], b->x[item[order[i]].row], sizeof sorted[i]);
        struct tensor t = tensor_2d(sorted, F32, n, 3);
        struct rows rows = rows_of(&t);
        struct pairs_options o = {.normalize = 1};
        CHECK_INT(pairs_score(score, earlier, device(2), &rows, &o), 0);
        removed += pairs_removed(NULL, score, n, 0.01);
    }
    free(sorted), free(score), free(earlier), free(item), free(order);
    return removed;
}

TEST(blobs_of_nemo)
{
    struct blobs *b = mem_alloc(sizeof *b);
    FILE *f = fopen("tests/golden/dedup/blobs.f32", "rb");
    CHECK(f && fread(b->x, 1, sizeof b->x, f) == sizeof b->x);
    if (f) fclose(f);
    for (int i = 0; i < 1500; i++) snprintf(b->id[i], sizeof b->id[i], "%04d", i);
    b->l = labels_new(1500);
    struct tensor t = tensor_2d(b->x, F32, 1500, 3);
    struct rows rows = rows_of(&t);
    static const int64_t want[5] = {100, 199, 300, 400, 501};
    int stuck = 0; /* k-means++ ends in another minimum one time in twelve */
    for (enum kmeans_start start = KMEANS_PARALLEL; start <= KMEANS_PLUSPLUS; start++)
        for (uint64_t seed = 10; seed < 20; seed++) {
            struct kmeans_options o = {
                .clusters = 5, .tol = 1e-4, .start = start, .seed = seed, .normalize = 1};
            struct kmeans m;
            int64_t sizes[5], found = 0;
            b->l.next = 0;
            CHECK_INT(kmeans_fit(&m, device(2), &rows, &o), 0);
            CHECK_INT(kmeans_assign(&m, device(2), &rows, 1, take_labels, &b->l, sizes, NULL), 0);
            if (start == KMEANS_PLUSPLUS && m.inertia > 30) {
                stuck++;
                kmeans_release(&m);
                continue;
            }
            for (int i = 0; i < 5; i++)
                for (int j = 0; j < 5; j++) found += llabs(sizes[j] - want[i]) <= 2;
            CHECK_INT(found, 5);
            double norm = 0;
            for (int i = 0; i < 3; i++) norm += (double)m.centroids[i] * m.centroids[i];
            CHECK(sqrt(norm) < 0.9999); /* means, not normalised again */
            for (int by_l2 = 0; by_l2 < 2; by_l2++) {
                CHECK_INT(blobs_removed(b, 5, PAIRS_HARD, by_l2), 1471);
                CHECK_INT(blobs_removed(b, 5, PAIRS_EASY, by_l2), 1495);
            }
            kmeans_release(&m);
        }
    CHECK(stuck <= 3);
    labels_free(&b->l);
    free(b);
}

/* ---- edges ---- */

static int fit(struct kmeans *m, float *x, int64_t n, int64_t dim, struct kmeans_options o)
{
    struct tensor t;
    struct rows rows = rows_in(&t, x, n, dim);
    return kmeans_fit(m, device(2), &rows, &o);
}

TEST(one_cluster_is_the_mean)
{
    float x[4][2] = {{0, 0}, {2, 0}, {0, 2}, {2, 2}};
    struct kmeans m;
    for (enum kmeans_start s = KMEANS_PARALLEL; s < KMEANS_GIVEN; s++) {
        CHECK_INT(fit(&m, x[0], 4, 2, (struct kmeans_options){.clusters = 1, .start = s}), 0);
        CHECK(m.centroids[0] == 1 && m.centroids[1] == 1 && m.sizes[0] == 4);
        CHECK_NEAR(m.inertia, 8, 1e-9);
        kmeans_release(&m);
    }
}

TEST(as_many_clusters_as_rows)
{
    enum { N = 40 };
    float *x = grouped(N, 3, 40, 1, 11);
    struct kmeans m;
    for (enum kmeans_start s = KMEANS_PARALLEL; s < KMEANS_GIVEN; s++) {
        struct kmeans_options o = {.clusters = N, .start = s, .seed = 5};
        CHECK_INT(fit(&m, x, N, 3, o), 0);
        CHECK_NEAR(m.inertia, 0, 1e-9);
        for (int i = 0; i < N; i++) CHECK_INT(m.sizes[i], 1);
        kmeans_release(&m);
    }
    struct kmeans_options o = {.clusters = N + 1};
    CHECK_INT(fit(&m, x, N, 3, o), ERR_USAGE);
    CHECK(strstr(err_text(), "41 clusters") && strstr(err_text(), "40") &&
          strstr(err_text(), "say 2"));
    kmeans_release(&m);
    free(x);
}

TEST(identical_rows_leave_empty_clusters)
{
    enum { N = 100 };
    float x[N][4];
    struct kmeans m;
    for (int i = 0; i < N; i++) memcpy(x[i], (float[]){1, 2, 3, 4}, sizeof x[i]);
    for (enum kmeans_start s = KMEANS_PARALLEL; s < KMEANS_GIVEN; s++) {
        struct kmeans_options o = {.clusters = 7, .start = s, .normalize = 1};
        CHECK_INT(fit(&m, x[0], N, 4, o), 0);
        CHECK(m.converged && m.sizes[0] == N && m.sizes[6] == 0);
        for (int i = 0; i < 28; i++) CHECK(fabs(m.centroids[i] - (i % 4 + 1) / sqrt(30)) < 1e-6);
        kmeans_release(&m);
    }
}

TEST(an_empty_cluster_gets_the_farthest_row)
{
    float x[] = {0, 1, 2, 10, 11, 20}, start[] = {1, 12, 1000, 1001, 5000};
    struct kmeans m;
    struct kmeans_options o = {.clusters = 3, .start = KMEANS_GIVEN, .centroids = start};
    CHECK_INT(fit(&m, x, 6, 1, o), 0);
    CHECK(m.centroids[0] == 1 && m.centroids[1] == 10.5f && m.centroids[2] == 20);
    CHECK(m.sizes[0] == 3 && m.sizes[1] == 2 && m.sizes[2] == 1 && m.converged);
    kmeans_release(&m);
    o.clusters = 5; /* three empty ones take 20, 10 and 0 or 2 */
    CHECK_INT(fit(&m, x, 6, 1, o), 0);
    for (int i = 0; i < 5; i++) CHECK(m.sizes[i] > 0);
    CHECK(m.converged && m.inertia <= 0.5 + 1e-9);
    kmeans_release(&m);
}

TEST(an_empty_cluster_keeps_its_centroid)
{
    float x[] = {0, 1, 2, 10, 11, 12}, start[] = {1, 11, 1000};
    struct kmeans m;
    struct kmeans_options o = {
        .clusters = 3, .start = KMEANS_GIVEN, .centroids = start, .keep_empty = 1};
    CHECK_INT(fit(&m, x, 6, 1, o), 0);
    CHECK(m.centroids[0] == 1 && m.centroids[1] == 11 && m.centroids[2] == 1000);
    CHECK(m.sizes[0] == 3 && m.sizes[2] == 0 && m.converged);
    kmeans_release(&m);
    start[2] = NAN;
    CHECK_INT(fit(&m, x, 6, 1, o), ERR_INPUT);
    kmeans_release(&m);
}

TEST(bad_rows_never_count)
{
    enum { N = 60 };
    float *x = grouped(N, 4, 3, 0.1, 21), *clean = mem_alloc(N * 4 * 4);
    int64_t good = 0;
    struct kmeans a, b;
    for (int i = 0; i < N; i++)
        if (i % 10 == 3)
            x[i * 4 + 1] = i % 20 == 3 ? NAN : -INFINITY;
        else if (i % 10 == 7)
            memset(x + i * 4, 0, 16);
        else
            memcpy(clean + good++ * 4, x + i * 4, 16);
    struct kmeans_options o = {
        .clusters = 3, .start = KMEANS_GIVEN, .centroids = clean, .normalize = 1};
    CHECK_INT(fit(&a, x, N, 4, o), 0);
    CHECK_INT(fit(&b, clean, good, 4, o), 0);
    CHECK(a.zero == 6 && a.not_finite == 6 && a.rows == good && b.zero == 0);
    CHECK_BYTES(a.centroids, b.centroids, 3 * 4 * 4);
    kmeans_release(&a), kmeans_release(&b);
    o.start = KMEANS_PARALLEL;
    CHECK_INT(fit(&a, x, N, 4, o), 0);
    CHECK_INT(a.sizes[0] + a.sizes[1] + a.sizes[2], good);
    kmeans_release(&a);
    memset(x, 0, N * 16);
    CHECK_INT(fit(&a, x, N, 4, o), ERR_USAGE);
    CHECK(strstr(err_text(), "60 are zero"));
    kmeans_release(&a);
    CHECK_INT(fit(&a, x, 0, 4, o), ERR_USAGE);
    kmeans_release(&a);
    free(x), free(clean);
}

TEST(large_and_small_numbers_keep_their_means)
{
    for (int e = -30; e <= 50; e += 20) {
        float x[6][2], unit = ldexpf(1, e);
        for (int i = 0; i < 6; i++)
            x[i][0] = unit * (float)(i % 3 + 10 * (i / 3)), x[i][1] = unit * 0.1f;
        struct kmeans m;
        struct kmeans_options o = {.clusters = 2, .start = KMEANS_PLUSPLUS};
        CHECK_INT(fit(&m, x[0], 6, 2, o), 0);
        float a = fminf(m.centroids[0], m.centroids[2]), b = fmaxf(m.centroids[0], m.centroids[2]);
        CHECK_NEAR(a / unit, 1, 1e-6);
        CHECK_NEAR(b / unit, 11, 1e-6);
        CHECK_NEAR(m.centroids[1] / unit, 0.1, 1e-6);
        kmeans_release(&m);
    }
}

TEST(fit_fraction_takes_that_share)
{
    int64_t n = 4000;
    float *x = grouped(n, 3, 8, 0.05, 33);
    struct kmeans m, again;
    struct kmeans_options o = {.clusters = 8, .fit_fraction = 0.25, .seed = 1, .tol = 1e-4};
    CHECK_INT(fit(&m, x, n, 3, o), 0);
    CHECK(m.rows > 900 && m.rows < 1100);
    CHECK_INT(fit(&again, x, n, 3, o), 0);
    same_fit(&m, &again, "again");
    kmeans_release(&again);
    o.seed = 2;
    CHECK_INT(fit(&again, x, n, 3, o), 0);
    CHECK(again.rows != m.rows || memcmp(again.centroids, m.centroids, 8 * 3 * 4));
    kmeans_release(&again), kmeans_release(&m);
    o.clusters = 2000;
    CHECK_INT(fit(&m, x, n, 3, o), ERR_USAGE);
    CHECK(strstr(err_text(), "fit fraction"));
    kmeans_release(&m);
    free(x);
}

static int stop_at_two(void *state, const struct kmeans_step *s)
{
    int *seen = state;
    if (strcmp(s->phase, "fit")) return 0;
    CHECK(s->centroids && s->inertia > 0 && s->round == *seen + 1);
    return ++*seen == 2 ? err_set(ERR_STOPPED, "enough") : 0;
}

TEST(progress_can_stop_and_bad_options_are_named)
{
    float *x = grouped(500, 6, 40, 1, 3);
    int seen = 0;
    struct kmeans m;
    struct kmeans_options o = {
        .clusters = 40, .start = KMEANS_RANDOM, .progress = stop_at_two, .state = &seen};
    CHECK_INT(fit(&m, x, 500, 6, o), ERR_STOPPED);
    CHECK_INT(seen, 2);
    kmeans_release(&m);
    CHECK_INT(fit(&m, x, 500, 6, (struct kmeans_options){.clusters = 0}), ERR_USAGE);
    kmeans_release(&m);
    o = (struct kmeans_options){.clusters = 2, .fit_fraction = 1.5};
    CHECK_INT(fit(&m, x, 500, 6, o), ERR_USAGE);
    o = (struct kmeans_options){.clusters = 2, .tol = NAN};
    CHECK_INT(fit(&m, x, 500, 6, o), ERR_USAGE);
    CHECK_INT(kmeans_clusters(0), 1);
    CHECK_INT(kmeans_clusters(1000000), 200);
    free(x);
}

static int read_fails(void *state, struct tensor *out, int64_t first, int64_t most)
{
    (void)state, (void)out, (void)most;
    return err_set(ERR_INPUT, "row %lld cannot be read", (long long)first);
}

TEST(an_error_of_the_rows_comes_through)
{
    struct rows rows = {10, 3, read_fails, NULL};
    struct kmeans m;
    struct kmeans_options o = {.clusters = 2};
    CHECK_INT(kmeans_fit(&m, device(1), &rows, &o), ERR_INPUT);
    CHECK_STR(err_text(), "row 0 cannot be read");
    kmeans_release(&m);
}

TEST_MAIN
