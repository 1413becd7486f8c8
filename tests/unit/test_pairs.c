/* test_pairs.c - keep order, scores and removal inside a cluster: NeMo Curator's own cases, and a
 * plain reference on random rows. */
#include "test.h"

#include "algo/pairs.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tensor/cpu/cpu.h"
#include "tensor/cpu/half.h"
#include "tensor/ops.h"

static struct device *device(int threads)
{
    static struct device *d[4];
    if (!d[threads]) cpu_open(&d[threads], isa_best(), threads);
    return d[threads];
}

static float six[6][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}, {1, 2, 3}, {1, 2, 3}};

static struct pairs_options unit = {.normalize = 1};

TEST(scores_of_nemo)
{
    static const float want[] = {0, .974631f, .998190f, .999618f, 1, 1};
    static const int32_t argmax[] = {0, 0, 1, 2, 0, 0};
    struct tensor x = tensor_2d(six, F32, 6, 3);
    struct rows rows = rows_of(&x);
    float score[6];
    int32_t earlier[6];
    CHECK_INT(pairs_score(score, earlier, device(1), &rows, &unit), 0);
    for (int i = 0; i < 6; i++) {
        CHECK_NEAR(score[i], want[i], 1e-6);
        CHECK_INT(earlier[i], argmax[i]);
    }
}

static double l2(const float *a, const float *b)
{
    double s = 0, na = 0, nb = 0;
    for (int i = 0; i < 3; i++) na += (double)a[i] * a[i], nb += (double)b[i] * b[i];
    for (int i = 0; i < 3; i++) {
        double d = a[i] / sqrt(na) - b[i] / sqrt(nb);
        s += d * d;
    }
    return sqrt(s);
}

/* The same six with the first as centroid: order, score and who, as NeMo's test has them. */
static void ordered_case(enum pairs_keep keep, const int *ids, const int *max_ids,
                         const float *scores)
{
    static const char *const name[] = {"0", "1", "2", "3", "4", "5"};
    struct pairs_item item[6];
    int64_t order[6];
    float sorted[6][3], score[6];
    int32_t earlier[6];
    for (int i = 0; i < 6; i++)
        item[i] = (struct pairs_item){(float)l2(six[i], six[0]), 1, name[i], 0, i};
    pairs_order(order, item, 6, keep, 0);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(order[i], ids[i]);
        memcpy(sorted[i], six[order[i]], sizeof sorted[i]);
    }
    struct tensor x = tensor_2d(sorted, F32, 6, 3);
    struct rows rows = rows_of(&x);
    CHECK_INT(pairs_score(score, earlier, device(1), &rows, &unit), 0);
    for (int i = 0; i < 6; i++) {
        CHECK_NEAR(score[i], scores[i], 1e-5);
        CHECK_INT(order[earlier[i]], max_ids[i]);
    }
}

TEST(hard_and_easy_orders_of_nemo)
{
    ordered_case(PAIRS_HARD, (int[]){3, 2, 1, 5, 4, 0}, (int[]){3, 3, 2, 1, 5, 5},
                 (float[]){0, .99961f, .99819f, .974631f, 1, 1});
    ordered_case(PAIRS_EASY, (int[]){0, 4, 5, 1, 2, 3}, (int[]){0, 0, 0, 0, 1, 2},
                 (float[]){0, 1, 1, .97464f, .99819f, .999618f});
}

static struct pairs_item item(float key, const char *id, int part, int row)
{
    return (struct pairs_item){key, (uint32_t)strlen(id), id, part, row};
}

static void order_is(const struct pairs_item *items, int n, enum pairs_keep keep, const int *want)
{
    int64_t order[16];
    pairs_order(order, items, n, keep, 5);
    for (int i = 0; i < n; i++) CHECK_INT(order[i], want[i]);
}

TEST(order_breaks_ties_by_id_then_place)
{
    struct pairs_item t[] = {item(1, "b", 0, 0),    item(1, "a", 0, 1),    item(1, "ab", 0, 2),
                             item(2, "a", 0, 3),    item(NAN, "a", 0, 4),  item(1, "b", 1, 0),
                             item(1, "b", 0, 7),    item(-0.0f, "", 0, 8), item(0, "", 0, 9),
                             item(1, "\xff", 0, 10)};
    order_is(t, 10, PAIRS_EASY, (int[]){7, 8, 1, 2, 0, 6, 5, 9, 3, 4});
    order_is(t, 10, PAIRS_LOW, (int[]){7, 8, 1, 2, 0, 6, 5, 9, 3, 4});
    order_is(t, 10, PAIRS_HARD, (int[]){3, 9, 0, 6, 5, 2, 1, 7, 8, 4});
    order_is(t, 10, PAIRS_HIGH, (int[]){3, 1, 2, 0, 6, 5, 9, 7, 8, 4});
    order_is(t, 0, PAIRS_EASY, NULL);
}

/* Shuffled input and another split into parts give the same random order; another seed does not. */
TEST(random_order_depends_on_seed_and_id_alone)
{
    enum { N = 50 };
    char name[N][16];
    struct pairs_item a[N], b[N];
    int64_t x[N], y[N];
    int same = 0, rising = 0;
    for (int i = 0; i < N; i++) {
        snprintf(name[i], sizeof name[i], "%02d", i);
        a[i] = item((float)i, name[i], 0, i);
    }
    for (int i = 0; i < N; i++) b[i] = a[(i * 7 + 3) % N], b[i].part = i;
    pairs_order(x, a, N, PAIRS_RANDOM, 42);
    pairs_order(y, b, N, PAIRS_RANDOM, 42);
    for (int i = 0; i < N; i++) CHECK_STR(a[x[i]].id, b[y[i]].id);
    pairs_order(y, a, N, PAIRS_RANDOM, 43);
    for (int i = 0; i < N; i++) same += x[i] == y[i], rising += i && x[i] > x[i - 1];
    CHECK(same < 10 && rising > 10 && rising < 40);
}

static float *unit_rows(int64_t n, int64_t dim, uint64_t seed, double spread)
{
    struct rng r = {seed};
    float *x = mem_aligned((size_t)(n * dim) * sizeof *x);
    for (int64_t i = 0; i < n; i++) {
        double s = 0, middle = (double)(i % 7);
        for (int64_t j = 0; j < dim; j++) {
            double v = rng_normal(&r) * spread + (j % 7 == (int64_t)middle);
            x[i * dim + j] = (float)v;
            s += v * v;
        }
        for (int64_t j = 0; j < dim; j++) x[i * dim + j] /= (float)sqrt(s);
    }
    return x;
}

static float dot(const float *a, const float *b, int64_t n)
{
    float s = 0;
    for (int64_t i = 0; i < n; i++) s = fmaf(a[i], b[i], s);
    return s;
}

TEST(scores_are_the_same_in_any_blocks_and_threads)
{
    int64_t n = 1500, dim = 24;
    float *x = unit_rows(n, dim, 1, 0.3), *score = mem_alloc((size_t)n * 4);
    float *want = mem_alloc((size_t)n * 4);
    int32_t *earlier = mem_alloc((size_t)n * 4), *who = mem_alloc((size_t)n * 4);
    for (int64_t j = 0; j < n; j++) {
        want[j] = 0, who[j] = (int32_t)j;
        for (int64_t i = 0; i < j; i++) {
            float s = dot(x + j * dim, x + i * dim, dim);
            if (s > want[j] || (s == want[j] && who[j] == j)) want[j] = s, who[j] = (int32_t)i;
        }
    }
    struct tensor t = tensor_2d(x, F32, n, dim);
    struct rows rows = rows_of(&t);
    for (int threads = 1; threads < 4; threads++)
        for (size_t memory = 0; memory < 3; memory++) {
            struct pairs_options o = {.memory =
                                          memory * 100000}; /* all, 260 and 520 rows at once */
            CHECK_INT(pairs_score(score, earlier, device(threads), &rows, &o), 0);
            CHECK_BYTES(score, want, (size_t)n * 4);
            CHECK_BYTES(earlier, who, (size_t)n * 4);
        }
    free(x), free(score), free(want), free(earlier), free(who);
}

TEST(scores_of_negative_zero_and_single_rows)
{
    float x[5][2] = {{1, 0}, {-1, 0}, {0, 1}, {-1, -1}, {0, -1}};
    struct tensor t = tensor_2d(x, F32, 5, 2), one = tensor_2d(x, F32, 1, 2);
    struct rows rows = rows_of(&t), single = rows_of(&one);
    float score[5];
    int32_t earlier[5];
    CHECK_INT(pairs_score(score, earlier, device(1), &rows, &unit), 0);
    CHECK(score[0] == 0 && earlier[0] == 0);
    CHECK(score[1] == 0 && earlier[1] == 1);      /* opposite: the diagonal's zero */
    CHECK(score[2] == 0 && earlier[2] == 0);      /* at a right angle: a true zero comes first */
    CHECK(!signbit(score[2]) && earlier[3] == 1); /* between -x and -y */
    CHECK_NEAR(score[3], sqrt(0.5), 1e-6);
    CHECK(earlier[4] == 3);
    CHECK_INT(pairs_score(score, earlier, device(1), &single, &unit), 0);
    CHECK(score[0] == 0 && earlier[0] == 0);
    struct rows none = {0, 2, rows.read, rows.state};
    CHECK_INT(pairs_score(score, earlier, device(1), &none, &unit), 0);
    x[3][0] = NAN;
    CHECK_INT(pairs_score(score, earlier, device(1), &rows, &unit), ERR_INPUT);
    x[3][0] = x[3][1] = 0;
    CHECK_INT(pairs_score(score, earlier, device(1), &rows, &unit), ERR_INPUT);
}

TEST(halves_score_as_their_values)
{
    int64_t n = 300, dim = 20;
    float *x = unit_rows(n, dim, 3, 0.2), a[300], b[300];
    uint16_t *h = mem_alloc((size_t)(n * dim) * 2);
    int32_t who[300], who2[300];
    for (int64_t i = 0; i < n * dim; i++) h[i] = half_from_float(x[i]), x[i] = half_to_float(h[i]);
    struct tensor t = tensor_2d(x, F32, n, dim), th = tensor_2d(h, F16, n, dim);
    struct rows rows = rows_of(&t), half = rows_of(&th);
    CHECK_INT(pairs_score(a, who, device(2), &rows, &unit), 0);
    CHECK_INT(pairs_score(b, who2, device(2), &half, &unit), 0);
    CHECK_BYTES(a, b, sizeof a);
    CHECK_BYTES(who, who2, sizeof who);
    free(x), free(h);
}

TEST(removal_compares_in_f32)
{
    float limit = (float)(1 - 0.01), below = nextafterf(limit, 0), score[] = {0, limit, below, 1};
    uint8_t removed[4];
    CHECK(pairs_limit(0.01) == limit);
    CHECK_INT(pairs_removed(removed, score, 4, 0.01), 2);
    CHECK(!removed[0] && removed[1] && !removed[2] && removed[3]);
    CHECK_INT(pairs_removed(NULL, score, 4, 1), 4); /* a limit of 0: as NeMo, everything goes */
    CHECK_INT(pairs_removed(NULL, score, 4, 0), 1);
    CHECK_INT(pairs_removed(NULL, score, 4, -0.1), 0);
}

/* ---- greedy ---- */

static void greedy_reference(uint8_t *removed, int32_t *by, const float *x, int64_t n, int64_t dim,
                             double eps)
{
    for (int64_t j = 0; j < n; j++) {
        removed[j] = 0, by[j] = -1;
        for (int64_t i = 0; i < j && !removed[j]; i++)
            if (!removed[i] && dot(x + i * dim, x + j * dim, dim) >= (float)(1 - eps))
                removed[j] = 1, by[j] = (int32_t)i;
    }
}

TEST(greedy_keeps_a_set_per_eps)
{
    int64_t n = 2500, dim = 16;
    static const double eps[] = {0.02, 0.1, 0.4, 0, 0.95};
    float *x = unit_rows(n, dim, 9, 0.15);
    memcpy(x + 2000 * dim, x + 7 * dim, (size_t)dim * 4);
    uint8_t *got = mem_alloc((size_t)n * 5), *want = mem_alloc((size_t)n);
    int32_t *by = mem_alloc((size_t)n * 5 * 4), *want_by = mem_alloc((size_t)n * 4);
    struct tensor t = tensor_2d(x, F32, n, dim);
    struct rows rows = rows_of(&t);
    struct pairs_options o = {0};
    CHECK_INT(pairs_greedy(got, by, device(2), &rows, eps, 5, &o), 0);
    for (int e = 0; e < 5; e++) {
        greedy_reference(want, want_by, x, n, dim, eps[e]);
        CHECK_BYTES(got + e * n, want, (size_t)n);
        CHECK_BYTES(by + e * n, want_by, (size_t)n * 4);
    }
    CHECK_INT(pairs_greedy(got, NULL, device(1), &rows, eps, 0, &o), ERR_USAGE);
    CHECK_INT(pairs_greedy(got, NULL, device(1), &rows, eps, PAIRS_EPS + 1, &o), ERR_USAGE);
    free(x), free(got), free(want), free(by), free(want_by);
}

/* a ~ b ~ c, but not a ~ c: the score rule removes b and c, the greedy one keeps c. */
TEST(chains_collapse_unless_greedy)
{
    float x[3][2] = {{1, 0}, {cosf(0.1f), sinf(0.1f)}, {cosf(0.2f), sinf(0.2f)}}, score[3];
    uint8_t removed[3];
    int32_t earlier[3];
    double eps = 0.01;
    struct tensor t = tensor_2d(x, F32, 3, 2);
    struct rows rows = rows_of(&t);
    CHECK_INT(pairs_score(score, earlier, device(1), &rows, &unit), 0);
    CHECK_INT(pairs_removed(removed, score, 3, eps), 2);
    CHECK_INT(pairs_greedy(removed, earlier, device(1), &rows, &eps, 1, &unit), 0);
    CHECK(!removed[0] && removed[1] && !removed[2]);
    CHECK(earlier[0] == -1 && earlier[1] == 0 && earlier[2] == -1);
}

TEST_MAIN
