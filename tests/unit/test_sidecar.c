/* Places of three layouts as partitions of rows, and their columns side by side. */
#include "scratch_place.h"
#include "base/err.h"
#include "data/batch.h"
#include "format/npy.h"

static void put_npy(struct place *p, const char *name, int rows, float first)
{
    struct sink *s;
    struct npy_writer w;
    CHECK_INT(place_create(p, name, &s), 0);
    CHECK_INT(npy_writer_init(&w, s, "<f4", 3), 0);
    for (int i = 0; i < rows; i++) {
        float row[3] = {first + (float)i, 1, 2};
        CHECK_INT(npy_writer_add(&w, row, 1), 0);
    }
    CHECK_INT(npy_writer_finish(&w), 0);
    CHECK_INT(sink_commit(s, NULL, NULL), 0);
}

/* Columns id (string), n (int or real), odd rows null. */
static void put_table(struct place *p, const char *name, int rows, enum parquet_type n_type,
                      size_t group, int lists)
{
    struct parquet_column columns[] = {{"image_path", PARQUET_STRING, 0},
                                       {"n", n_type, 1},
                                       {"image_embedding", PARQUET_FLOATS, 1}};
    struct parquet_options o = {.row_group_rows = group};
    struct sink *s;
    struct parquet_writer *w;
    CHECK_INT(place_create(p, name, &s), 0);
    CHECK_INT(parquet_writer_new(&w, s, columns, lists ? 3 : 2, &o), 0);
    for (int i = 0; i < rows; i++) {
        char text[32];
        float row[4] = {(float)i, 1, 2, 3};
        int n = snprintf(text, sizeof text, "s%d", i);
        parquet_put_string(w, 0, text, (size_t)n);
        if (!(i & 1) && n_type == PARQUET_INT64) parquet_put_int(w, 1, i);
        if (!(i & 1) && n_type == PARQUET_DOUBLE) parquet_put_real(w, 1, i + 0.5);
        if (!(i & 1) && n_type == PARQUET_STRING) parquet_put_string(w, 1, text, (size_t)n);
        if (lists && i != 1) parquet_put_floats(w, 2, row, 4);
        CHECK_INT(parquet_end_row(w), 0);
    }
    CHECK_INT(parquet_finish(w), 0);
    parquet_writer_free(w);
    CHECK_INT(sink_commit(s, NULL, NULL), 0);
}

TEST(a_clip_retrieval_folder_is_a_place)
{
    struct place *p = make();
    struct sidecars *s;
    struct embeddings e;
    put_npy(p, "img_emb/img_emb_0.npy", 5, 10);
    put_npy(p, "img_emb/img_emb_2.npy", 7, 20);
    put_npy(p, "img_emb/img_emb_10.npy", 1, 30);
    CHECK_INT(sidecars_open(&s, place_url(p)), 0);
    CHECK_INT(sidecars_layout(s), LAYOUT_RETRIEVAL);
    CHECK_INT(sidecars_count(s), 3);
    CHECK_INT(sidecars_number(s, 2), 10);
    CHECK_INT(sidecars_find(s, 2), 1);
    CHECK_INT(sidecars_find(s, 3), -1);
    CHECK_INT(sidecars_total(s), 13);
    CHECK_INT(embeddings_open(&e, s, SIDE_IMAGE, 1), 0);
    CHECK_INT(e.rows, 7);
    CHECK_INT(e.dim, 3);
    float rows[6];
    embeddings_get(rows, &e, 4, 2);
    CHECK_NEAR(rows[0], 24, 0);
    CHECK_NEAR(rows[3], 25, 0);
    embeddings_close(&e);
    CHECK(!sidecars_has(s, SIDE_TEXT, 0));
    sidecars_close(s);
    unmake(p);
}

TEST(columns_are_widened_over_the_place)
{
    struct place *p = make();
    struct sidecars *s;
    struct columns c;
    put_npy(p, "img_emb/img_emb_0.npy", 9000, 0);
    put_npy(p, "img_emb/img_emb_1.npy", 4, 0);
    put_table(p, "metadata/metadata_0.parquet", 9000, PARQUET_INT64, 700, 0);
    put_table(p, "metadata/metadata_1.parquet", 4, PARQUET_DOUBLE, 0, 0);
    CHECK_INT(sidecars_open(&s, place_url(p)), 0);
    CHECK_INT(columns_load(&c, s), 0);
    CHECK_INT(c.count, 2);
    CHECK_STR(columns_id(&c), "image_path");
    const struct column_info *want[] = {columns_find(&c, "n"), columns_find(&c, "image_path")};
    CHECK_INT(want[0]->type, COLUMN_REAL);
    struct batch *b;
    CHECK_INT(batch_open(&b, s, 0, want, 2), 0);
    size_t rows, at = 0;
    int rc;
    while (!(rc = batch_next(b, 0, &rows))) {
        for (size_t i = 0; i < rows; i++, at++) {
            const struct column *n = batch_column(b, 0), *id = batch_column(b, 1);
            char text[32];
            int len = snprintf(text, sizeof text, "s%zu", at);
            if (id->strings[i].n != (size_t)len || memcmp(id->strings[i].p, text, (size_t)len))
                TEST_FAIL("row %zu has another id", at);
            if (n->valid[i] != !(at & 1)) TEST_FAIL("row %zu: null or not", at);
            if (n->valid[i] && n->reals[i] != (double)at) TEST_FAIL("row %zu: value", at);
        }
    }
    CHECK_INT(rc, 1);
    CHECK_INT(at, 9000);
    batch_close(b);
    columns_release(&c);
    sidecars_close(s);
    unmake(p);
}

TEST(stepping_over_rows_equals_reading_them)
{
    struct place *p = make();
    struct sidecars *s;
    struct columns c;
    put_npy(p, "img_emb/img_emb_0.npy", 9000, 0);
    put_table(p, "metadata/metadata_0.parquet", 9000, PARQUET_INT64, 700, 0);
    CHECK_INT(sidecars_open(&s, place_url(p)), 0);
    CHECK_INT(columns_load_from(&c, s, 1u << SIDE_METADATA), 0);
    CHECK_INT(c.count, 2);
    CHECK_INT(columns_find(&c, "n")->stored, PARQUET_INT64);
    const struct column_info *want[] = {columns_find(&c, "image_path")};
    struct batch *b;
    CHECK_INT(batch_open(&b, s, 0, want, 1), 0);
    static const int64_t steps[] = {0, 1, 650, 3, 1400, 0, 5000};
    size_t rows, at = 0;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        char text[32];
        CHECK_INT(batch_skip(b, steps[k]), 0);
        at += (size_t)steps[k];
        CHECK_INT(batch_next(b, 40, &rows), 0);
        int len = snprintf(text, sizeof text, "s%zu", at);
        struct parquet_slice id = batch_column(b, 0)->strings[0];
        if (id.n != (size_t)len || memcmp(id.p, text, id.n))
            TEST_FAIL("row %zu has another id", at);
        at += rows;
    }
    CHECK_INT(batch_skip(b, 9000), 0); /* no more than are left */
    CHECK_INT(batch_next(b, 0, &rows), 1);
    batch_close(b);
    CHECK_INT(columns_load_from(&(struct columns){0}, s, 1u << SIDE_SCORES), 0);
    columns_release(&c);
    sidecars_close(s);
    unmake(p);
}

TEST(numbers_beside_words_become_words)
{
    struct place *p = make();
    struct sidecars *s;
    struct columns c;
    struct batch *b;
    size_t rows;
    put_table(p, "metadata/metadata_0.parquet", 3, PARQUET_INT64, 0, 0);
    put_table(p, "metadata/metadata_1.parquet", 3, PARQUET_STRING, 0, 0);
    CHECK_INT(sidecars_open(&s, place_url(p)), 0);
    CHECK_INT(columns_load(&c, s), 0);
    const struct column_info *want[] = {columns_find(&c, "n")};
    CHECK_INT(want[0]->type, COLUMN_STRING);
    CHECK_INT(batch_open(&b, s, 0, want, 1), 0);
    CHECK_INT(batch_next(b, 0, &rows), 0);
    CHECK_INT(rows, 3);
    const struct column *n = batch_column(b, 0);
    CHECK(n->strings[2].n == 1 && n->strings[2].p[0] == '2' && !n->valid[1]);
    batch_close(b);
    columns_release(&c);
    sidecars_close(s);
    unmake(p);
}

TEST(files_of_different_lengths_are_told_apart)
{
    struct place *p = make();
    struct sidecars *s;
    struct columns c;
    struct batch *b;
    put_npy(p, "img_emb/img_emb_0.npy", 5, 0);
    put_npy(p, "text_emb/text_emb_0.npy", 4, 0);
    put_table(p, "metadata/metadata_0.parquet", 6, PARQUET_INT64, 0, 0);
    CHECK_INT(sidecars_open(&s, place_url(p)), 0);
    CHECK_INT(columns_load(&c, s), 0);
    const struct column_info *want[] = {columns_find(&c, "n")};
    CHECK_INT(batch_open(&b, s, 0, want, 1), ERR_INPUT);
    CHECK(strstr(err_text(), "metadata_0.parquet has 6 rows, but img_emb/img_emb_0.npy 5"));
    struct embeddings e;
    CHECK_INT(embeddings_open(&e, s, SIDE_TEXT, 0), ERR_INPUT);
    CHECK(strstr(err_text(), "text_emb_0.npy has 4 rows"));
    columns_release(&c);
    sidecars_close(s);
    unmake(p);
}

TEST(nemo_tables_hold_embeddings_in_a_column)
{
    struct place *p = make();
    struct sidecars *s;
    struct embeddings e;
    put_table(p, "00000.parquet", 5, PARQUET_INT64, 2, 1);
    put_table(p, "00007.parquet", 2, PARQUET_INT64, 0, 1);
    CHECK_INT(sidecars_open(&s, place_url(p)), 0);
    CHECK_INT(sidecars_layout(s), LAYOUT_NEMO);
    CHECK_INT(sidecars_number(s, 1), 7);
    CHECK_INT(embeddings_open(&e, s, SIDE_IMAGE, 0), 0);
    CHECK_INT(e.rows, 5);
    CHECK_INT(e.dim, 4);
    float row[4];
    embeddings_get(row, &e, 3, 1);
    CHECK_NEAR(row[0], 3, 0);
    embeddings_get(row, &e, 1, 1);
    CHECK(isnan(row[0])); /* no list: set aside later */
    embeddings_close(&e);
    struct str name = {0};
    sidecars_name(&name, s, SIDE_SCORES, 1);
    CHECK_STR(name.p, "scores/scores_00007.parquet");
    str_release(&name);
    sidecars_close(s);
    unmake(p);
}

TEST(a_folder_of_something_else_is_no_place)
{
    struct place *p = make();
    struct sidecars *s = NULL;
    CHECK_INT(place_write(p, "notes.txt", "x", 1), 0);
    CHECK_INT(sidecars_open(&s, place_url(p)), ERR_INPUT);
    CHECK(strstr(err_text(), "holds no embeddings"));
    CHECK(!s);
    unmake(p);
}

TEST_MAIN
