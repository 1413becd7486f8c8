/* Rows of a place by number: partitions of both types and of no rows, views and copies. */
#include "stage/dedup/rowset.h"
#include "base/err.h"
#include "format/npy.h"
#include "format/weights_f32.h"
#include "test.h"

enum { DIM = 3, PARTS = 4 };
static const int64_t sizes[PARTS] = {5, 0, 7, 2};
static const int halves[PARTS] = {0, 0, 1, 0};

static float value(int64_t row, int col)
{
    return (float)(row * 4 + col) / 8; /* exact in f16 */
}

static uint16_t half_of(float v) /* small positive numbers that f16 has */
{
    uint32_t bits;
    if (v == 0) return 0;
    memcpy(&bits, &v, sizeof bits);
    return (uint16_t)((((bits >> 23) - 112) << 10) | ((bits >> 13) & 0x3ff));
}

static void put_row(struct npy_writer *w, int64_t row, int half)
{
    float x[DIM];
    uint16_t h[DIM];
    for (int c = 0; c < DIM; c++) x[c] = value(row, c), h[c] = half_of(x[c]);
    CHECK_INT(npy_writer_add(w, half ? (void *)h : (void *)x, 1), 0);
}

/* all: every partition f16 */
static struct sidecars *make(char path[64], int all)
{
    struct place *p = NULL;
    struct sidecars *s = NULL;
    int64_t row = 0;
    snprintf(path, 64, "/tmp/darkroom-rowset-XXXXXX");
    CHECK(mkdtemp(path) != NULL);
    CHECK_INT(place_open(&p, path, 1), 0);
    for (int i = 0; i < PARTS; i++) {
        char name[64];
        struct sink *k;
        struct npy_writer w;
        snprintf(name, sizeof name, "img_emb/img_emb_%d.npy", i);
        CHECK_INT(place_create(p, name, &k), 0);
        CHECK_INT(npy_writer_init(&w, k, halves[i] || all ? "<f2" : "<f4", DIM), 0);
        for (int64_t r = 0; r < sizes[i]; r++) put_row(&w, row++, halves[i] || all);
        CHECK_INT(npy_writer_finish(&w), 0);
        CHECK_INT(sink_commit(k, NULL, NULL), 0);
    }
    place_close(p);
    CHECK_INT(sidecars_open(&s, path), 0);
    return s;
}

static void unmake(struct sidecars *s, const char *path)
{
    char cmd[128];
    sidecars_close(s);
    snprintf(cmd, sizeof cmd, "rm -rf %s", path);
    CHECK_INT(system(cmd), 0);
}

static void check_view(const struct tensor *t, const int64_t *rows)
{
    for (int64_t i = 0; i < t->dim[0]; i++) {
        float x[DIM];
        if (t->type == F16)
            f16_read(x, (uint16_t *)t->data + i * t->ld, DIM);
        else
            memcpy(x, (float *)t->data + i * t->ld, sizeof x);
        for (int c = 0; c < DIM; c++) CHECK_NEAR(x[c], value(rows[i], c), 0);
    }
}

static void check_reader(const struct rowset *r, const int64_t *list, int64_t count)
{
    struct rowset_reader state;
    struct rows rows = rowset_rows(&state, r, list, count);
    int64_t all[14];
    for (int64_t i = 0; i < count; i++) all[i] = list ? list[i] : i;
    for (int64_t first = 0; first < count; first++)
        for (int64_t at = first; at < count;) {
            struct tensor t;
            CHECK_INT(rows.read(rows.state, &t, at, count - at), 0);
            CHECK(t.dim[0] >= 1 && t.dim[0] <= count - at && t.dim[1] == DIM);
            check_view(&t, all + at);
            at += t.dim[0];
        }
    rowset_reader_release(&state);
}

static void check_set(int all, size_t budget)
{
    static const int64_t list[] = {13, 0, 4, 5, 11, 12, 12, 6};
    char path[64];
    struct sidecars *s = make(path, all);
    struct rowset r;
    float out[8 * DIM];
    CHECK_INT(rowset_open(&r, s, budget), 0);
    CHECK_INT(r.total, 14);
    CHECK_INT(r.dim, DIM);
    CHECK_INT(r.half, all);
    static const int part[14] = {0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 3, 3};
    for (int i = 0; i < 14; i++) CHECK_INT(rowset_part(&r, i), part[i]);
    rowset_access(&r, ACCESS_ANYWHERE);
    rowset_expect(&r, list, 8);
    check_reader(&r, NULL, 14);
    check_reader(&r, list, 8);
    CHECK_INT(rowset_gather(out, &r, list, 8), 0);
    struct tensor t = tensor_2d(out, all ? F16 : F32, 8, DIM);
    check_view(&t, list);
    rowset_read(out, &r, 7);
    CHECK_NEAR(out[2], value(7, 2), 0);
    rowset_close(&r);
    rowset_close(&r);
    unmake(s, path);
}

TEST(rows_of_both_types)
{
    check_set(0, 1 << 20);
    check_set(1, 1 << 20);
}

TEST(rows_that_are_let_go)
{
    check_set(0, 16);
    check_set(1, 16);
}

TEST_MAIN
