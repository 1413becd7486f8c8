/* Which rows are left after filter and dedup, and their numbers. */
#include "test.h"
#include "base/rng.h"
#include "data/survivors.h"
#include "format/npy.h"
#include "format/parquet/parquet.h"

enum { PARTS = 5 };
static const int rows_of[PARTS] = {100, 0, 1, 700, 64};

static struct place *make(void)
{
    static char path[64];
    struct place *p = NULL;
    snprintf(path, sizeof path, "/tmp/darkroom-test-XXXXXX");
    if (!mkdtemp(path) || place_open(&p, path, 1)) TEST_FAIL("no place: %s", err_text());
    for (int i = 0; i < PARTS; i++) {
        struct sink *s;
        struct npy_writer w;
        char name[64];
        float row[2] = {0, 0};
        snprintf(name, sizeof name, "img_emb/img_emb_%d.npy", 2 * i); /* numbers with gaps */
        CHECK_INT(place_create(p, name, &s), 0);
        CHECK_INT(npy_writer_init(&w, s, "<f4", 2), 0);
        for (int k = 0; k < rows_of[i]; k++) CHECK_INT(npy_writer_add(&w, row, 1), 0);
        CHECK_INT(npy_writer_finish(&w), 0);
        CHECK_INT(sink_commit(s, NULL, NULL), 0);
    }
    return p;
}

static void unmake(struct place *p)
{
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf %s", place_url(p));
    CHECK_INT(system(cmd), 0);
    place_close(p);
}

static void receipt_for(struct place *p, const struct run *run, const char *product, int i,
                        int count, const char *name, struct sink *s)
{
    struct receipt r = {.partition = i, .digits = partition_digits(count)};
    char sha[65];
    uint64_t size;
    CHECK_INT(sink_commit(s, sha, &size), 0);
    memcpy(r.fingerprint, run->fingerprint, sizeof r.fingerprint);
    receipt_add(&r.outputs, name, size, sha);
    CHECK_INT(receipt_save(&r, p, product), 0);
    receipt_release(&r);
}

static int drops(int part, int row)
{
    return (part * 31 + row * 7) % 3 == 0;
}

static int removes(int part, int row)
{
    return (part * 17 + row * 5) % 4 == 1;
}

static void put_keep(struct place *p, const struct run *run, int i, int rows)
{
    static const struct parquet_column columns[] = {{"keep", PARQUET_BOOL, 0}};
    struct sink *s;
    struct parquet_writer *w;
    char name[64];
    snprintf(name, sizeof name, "keep/keep_%d.parquet", 2 * i);
    CHECK_INT(place_create(p, name, &s), 0);
    CHECK_INT(parquet_writer_new(&w, s, columns, 1, NULL), 0);
    for (int k = 0; k < rows; k++) {
        parquet_put_bool(w, 0, !drops(i, k));
        CHECK_INT(parquet_end_row(w), 0);
    }
    CHECK_INT(parquet_finish(w), 0);
    parquet_writer_free(w);
    receipt_for(p, run, "filter", i, PARTS, name, s);
}

static void put_removed(struct place *p, const struct run *run, int bad_row)
{
    static const struct parquet_column columns[] = {
        {"id", PARQUET_STRING, 0}, {"part", PARQUET_INT32, 0}, {"row", PARQUET_INT64, 0}};
    struct sink *s;
    struct parquet_writer *w;
    CHECK_INT(place_create(p, "dedup/removed.parquet", &s), 0);
    CHECK_INT(parquet_writer_new(&w, s, columns, 3, NULL), 0);
    for (int i = PARTS - 1; i >= 0; i--)
        for (int k = 0; k < rows_of[i] + bad_row; k++) {
            if (!removes(i, k) && k < rows_of[i]) continue;
            parquet_put_string(w, 0, "x", 1);
            parquet_put_int(w, 1, 2 * i);
            parquet_put_int(w, 2, k);
            CHECK_INT(parquet_end_row(w), 0);
        }
    CHECK_INT(parquet_finish(w), 0);
    parquet_writer_free(w);
    receipt_for(p, run, "dedup-eps", 0, 1, "dedup/removed.parquet", s);
}

static void claim(struct run *run, struct place *p, const char *product)
{
    memset(run, 0, sizeof *run);
    run_add(run, "partitions", "1");
    CHECK_INT(run_claim(run, p, product, RUN_KEEP), 0);
}

/* Against the two rules, row by row. */
static void check(struct place *p, int filtered, int deduped)
{
    struct sidecars *c;
    struct survivors s;
    int64_t n = 0, dropped = 0, removed = 0, part, row;
    CHECK_INT(sidecars_open(&c, place_url(p)), 0);
    if (survivors_load(&s, c)) TEST_FAIL("%s", err_text());
    CHECK_INT(s.filtered, filtered);
    CHECK_INT(s.deduped, deduped);
    for (int i = 0; i < PARTS; i++)
        for (int k = 0; k < rows_of[i]; k++) {
            int drop = filtered && drops(i, k), gone = !drop && deduped && removes(i, k);
            dropped += drop;
            removed += gone;
            CHECK_INT(survivors_before(&s, i, k), n);
            CHECK_INT(survivors_has(&s, i, k), !drop && !gone);
            if (drop || gone) continue;
            survivors_at(&s, n, &part, &row);
            CHECK_INT(part, i);
            CHECK_INT(row, k);
            n++;
        }
    CHECK_INT(s.count, n);
    CHECK_INT(s.dropped, dropped);
    CHECK_INT(s.removed, removed);
    CHECK_INT(s.rows, n + dropped + removed);
    survivors_release(&s);
    sidecars_close(c);
}

static void refuse(struct place *p, const char *words)
{
    struct sidecars *c;
    struct survivors s;
    CHECK_INT(sidecars_open(&c, place_url(p)), 0);
    CHECK_INT(survivors_load(&s, c), ERR_INPUT);
    if (!strstr(err_text(), words)) TEST_FAIL("'%s' does not say '%s'", err_text(), words);
    sidecars_close(c);
}

TEST(filter_and_dedup_leave_survivors)
{
    struct place *p = make();
    struct run filter, dedup;
    check(p, 0, 0);
    claim(&filter, p, "filter");
    refuse(p, "run darkroom filter to its end");
    for (int i = 0; i < PARTS; i++) put_keep(p, &filter, i, rows_of[i]);
    check(p, 1, 0);
    claim(&dedup, p, "dedup-eps");
    refuse(p, "dedup was not finished");
    put_removed(p, &dedup, 0);
    check(p, 1, 1);
    put_removed(p, &dedup, 1);
    refuse(p, "names row 64 of partition 8");
    put_removed(p, &dedup, 0);
    put_keep(p, &filter, 3, 699);
    refuse(p, "keep_6.parquet has 699 rows, but its partition 700");
    put_keep(p, &filter, 3, 700);
    check(p, 1, 1);
    CHECK_INT(place_remove(p, "dedup/removed.parquet"), 0);
    refuse(p, "dedup was not finished");
    run_release(&filter);
    run_release(&dedup);
    unmake(p);
}

TEST(a_list_of_others_is_left_aside)
{
    struct place *p = make();
    struct run dedup;
    claim(&dedup, p, "dedup-eps");
    put_removed(p, &dedup, 0);
    check(p, 0, 1);
    CHECK_INT(place_remove(p, "_darkroom/dedup-eps/run.json"), 0);
    check(p, 0, 0);
    run_release(&dedup);
    unmake(p);
}

TEST_MAIN
