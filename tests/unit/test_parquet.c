/* Parquet: round trips, encodings bit by bit, shapes that no writer at hand produces, damage. */
#include "test.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "format/parquet/codec.h"
#include "format/parquet/delta.h"
#include "format/parquet/dict.h"
#include "format/parquet/parquet.h"
#include "format/parquet/rle.h"
#include "format/parquet/strings.h"
#include "format/parquet/thrift.h"
#include "io/file.h"
#include "io/place.h"

#include <lz4.h>
#include <unistd.h>

static char folder[] = "/tmp/test_parquet_XXXXXX";

/* A file being written: open, put rows, then file_of reads it back into memory. */
struct job {
    struct place *place;
    struct sink *sink;
    struct parquet_writer *w;
};

static void job_open(struct job *j, const struct parquet_column *columns, size_t n,
                     const struct parquet_options *options)
{
    if (strstr(folder, "XXXXXX") && !mkdtemp(folder)) TEST_FAIL("mkdtemp");
    CHECK_INT(place_open(&j->place, folder, 1), 0);
    CHECK_INT(place_create(j->place, "t.parquet", &j->sink), 0);
    CHECK_INT(parquet_writer_new(&j->w, j->sink, columns, n, options), 0);
}

static struct str job_close(struct job *j)
{
    struct str bytes = {0};
    CHECK_INT(parquet_finish(j->w), 0);
    parquet_writer_free(j->w);
    CHECK_INT(sink_commit(j->sink, NULL, NULL), 0);
    CHECK_INT(place_read(j->place, "t.parquet", &bytes, 1 << 30), 0);
    CHECK_INT(place_remove(j->place, "t.parquet"), 0);
    place_close(j->place);
    return bytes;
}

static void job_abort(struct job *j)
{
    parquet_writer_free(j->w);
    sink_abort(j->sink);
    place_close(j->place);
}

static struct parquet_reader *open_all(const struct str *bytes)
{
    struct parquet_reader *r;
    if (parquet_open(&r, bytes->p, bytes->len)) return NULL;
    for (size_t i = 0; i < parquet_fields(r); i++) parquet_select(r, i);
    return r;
}

/* ---- round trips ---- */

static const struct parquet_column all_types[] = {
    {"b", PARQUET_BOOL, 1},   {"i", PARQUET_INT32, 1},  {"l", PARQUET_INT64, 0},
    {"f", PARQUET_FLOAT, 1},  {"d", PARQUET_DOUBLE, 0}, {"s", PARQUET_STRING, 1},
    {"y", PARQUET_BINARY, 1}, {"e", PARQUET_FLOATS, 1},
};

static int is_null(uint64_t row, size_t col)
{
    return all_types[col].nullable && (row * 7 + col) % 5 == 0;
}

static size_t text_of(char out[64], uint64_t row)
{
    return (size_t)snprintf(out, 64, "value %llu", (unsigned long long)(row % 91));
}

static void put_row(struct parquet_writer *w, uint64_t row)
{
    char text[64];
    size_t n = text_of(text, row);
    float list[5] = {(float)row, -1, 0.5f, 3, (float)row * 2};
    if (!is_null(row, 0)) parquet_put_bool(w, 0, row % 3 == 0);
    if (!is_null(row, 1)) parquet_put_int(w, 1, -(int32_t)row);
    parquet_put_int(w, 2, (int64_t)(row * 0x9e3779b97f4a7c15u));
    if (!is_null(row, 3)) parquet_put_real(w, 3, (double)row / 4);
    parquet_put_real(w, 4, (double)row / 3);
    if (!is_null(row, 5)) parquet_put_string(w, 5, text, n);
    if (!is_null(row, 6)) parquet_put_binary(w, 6, text, n / 2);
    if (!is_null(row, 7)) parquet_put_floats(w, 7, list, row % 6);
}

static void check_row(const struct parquet_reader *r, uint64_t row, size_t i)
{
    const struct parquet_values *v[8];
    char text[64];
    size_t n = text_of(text, row);
    for (size_t k = 0; k < 8; k++) {
        v[k] = parquet_values(r, k);
        CHECK_INT(!v[k]->valid || v[k]->valid[i], !is_null(row, k));
    }
    if (!is_null(row, 0)) CHECK_INT(v[0]->bools[i], row % 3 == 0);
    if (!is_null(row, 1)) CHECK_INT(v[1]->ints[i], -(int64_t)row);
    CHECK(v[2]->ints[i] == (int64_t)(row * 0x9e3779b97f4a7c15u));
    if (!is_null(row, 3)) CHECK(v[3]->reals[i] == (double)row / 4);
    CHECK(v[4]->reals[i] == (double)row / 3);
    if (!is_null(row, 5)) CHECK(v[5]->slices[i].n == n && !memcmp(v[5]->slices[i].p, text, n));
    if (!is_null(row, 6)) CHECK_INT(v[6]->slices[i].n, n / 2);
    size_t count = is_null(row, 7) ? 0 : row % 6;
    CHECK_INT(v[7]->starts[i + 1] - v[7]->starts[i], count);
    if (count > 4) CHECK(v[7]->floats[v[7]->starts[i] + 4] == (float)row * 2);
}

static struct str write_rows(uint64_t rows, const struct parquet_options *options)
{
    struct job j;
    job_open(&j, all_types, 8, options);
    for (uint64_t row = 0; row < rows; row++) {
        put_row(j.w, row);
        CHECK_INT(parquet_end_row(j.w), 0);
    }
    CHECK_INT(parquet_rows_written(j.w), rows);
    return job_close(&j);
}

static void check_rows(const struct str *bytes, uint64_t rows, size_t batch)
{
    struct parquet_reader *r = open_all(bytes);
    if (!r) {
        TEST_FAIL("%s", err_text());
        return;
    }
    CHECK_INT(parquet_rows(r), rows);
    for (int pass = 0; pass < 2; pass++, parquet_rewind(r)) {
        uint64_t row = 0;
        size_t n;
        int rc;
        while (!(rc = parquet_next(r, batch, &n)))
            for (size_t i = 0; i < n; i++) check_row(r, row++, i);
        CHECK_INT(rc, 1);
        CHECK_INT(row, rows);
    }
    parquet_close(r);
}

TEST(round_trip)
{
    static const uint64_t counts[] = {0, 1, 8, 1000, 9000};
    for (size_t k = 0; k < 15; k++) {
        struct parquet_options o = {.codec = (enum parquet_codec)(k % 3),
                                    .row_group_rows = k % 2 ? 700 : 0,
                                    .page_bytes = k % 4 ? 500 : 0,
                                    .no_dictionary = k % 5 == 4};
        struct str bytes = write_rows(counts[k / 3], k ? &o : NULL);
        check_rows(&bytes, counts[k / 3], k % 2 ? 0 : 37);
        str_release(&bytes);
    }
}

TEST(skipping_equals_reading)
{
    static const uint64_t steps[] = {0, 1, 36, 699, 700, 701, 1400, 3999};
    struct str bytes = write_rows(4000, &(struct parquet_options){.row_group_rows = 700});
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        struct parquet_reader *r = open_all(&bytes);
        uint64_t row = 0;
        size_t n;
        int rc = parquet_skip(r, steps[k]);
        for (row = steps[k]; !rc && !(rc = parquet_next(r, 1, &n)); row++) {
            CHECK_INT(n, 1);
            check_row(r, row, 0);
            if (!(rc = parquet_skip(r, steps[k] / 3))) row += steps[k] / 3;
        }
        CHECK_INT(rc, 1);
        CHECK(row >= steps[k] && row <= 4000);
        parquet_rewind(r);
        CHECK_INT(parquet_skip(r, 4000), 0);
        CHECK_INT(parquet_next(r, 1, &n), 1);
        CHECK_INT(parquet_skip(r, 1), 1);
        parquet_close(r);
    }
    str_release(&bytes);
}

TEST(same_bytes)
{
    struct str a = write_rows(3000, NULL), b = write_rows(3000, NULL);
    CHECK(a.len == b.len && !memcmp(a.p, b.p, a.len));
    str_release(&a);
    str_release(&b);
}

TEST(selection_and_metadata)
{
    const char *texts[] = {"key", "value", "more", "", NULL};
    struct str bytes = write_rows(100, &(struct parquet_options){.metadata = texts});
    struct parquet_reader *r;
    size_t n;
    CHECK_INT(parquet_open(&r, bytes.p, bytes.len), 0);
    CHECK_STR(parquet_metadata(r, "key"), "value");
    CHECK_STR(parquet_metadata(r, "more"), "");
    CHECK(!parquet_metadata(r, "none"));
    CHECK_INT(parquet_find(r, "s"), 5);
    CHECK_INT(parquet_find(r, "nothing"), -1);
    CHECK_INT(parquet_field(r, 7)->type, PARQUET_FLOATS);
    CHECK_INT(parquet_next(r, 0, &n), 0); /* rows count also without any column */
    CHECK_INT(n, 100);
    CHECK_INT(parquet_next(r, 0, &n), 1);
    parquet_rewind(r);
    parquet_select(r, 4);
    CHECK_INT(parquet_next(r, 10, &n), 0);
    CHECK(parquet_values(r, 4)->reals[9] == 3.0);
    parquet_close(r);
    str_release(&bytes);
}

TEST(ill_formed_strings_are_repaired)
{
    static const char *const cases[][2] = {
        {"ok \xc3\xbc", "ok \xc3\xbc"},
        {"\xff", "\xef\xbf\xbd"},
        {"a\xc3", "a\xef\xbf\xbd"},
        {"\xe2\x82z", "\xef\xbf\xbdz"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"long enough \xf0\x9f\x98", "long enough \xef\xbf\xbd"},
    };
    const struct parquet_column column = {"s", PARQUET_STRING, 0};
    size_t n, count = sizeof cases / sizeof *cases;
    struct job j;
    job_open(&j, &column, 1, NULL);
    for (size_t i = 0; i < count; i++) {
        parquet_put_string(j.w, 0, cases[i][0], strlen(cases[i][0]));
        CHECK_INT(parquet_end_row(j.w), 0);
    }
    struct str bytes = job_close(&j);
    struct parquet_reader *r = open_all(&bytes);
    CHECK_INT(parquet_next(r, 0, &n), 0);
    for (size_t i = 0; i < count; i++) {
        struct parquet_slice s = parquet_values(r, 0)->slices[i];
        CHECK(s.n == strlen(cases[i][1]) && !memcmp(s.p, cases[i][1], s.n));
    }
    parquet_close(r);
    str_release(&bytes);
}

TEST(writer_refuses)
{
    const struct parquet_column twice[] = {{"a", PARQUET_BOOL, 1}, {"a", PARQUET_BOOL, 1}};
    const struct parquet_column nameless = {"", PARQUET_BOOL, 1}, bad = {"\xff", PARQUET_BOOL, 1};
    const struct parquet_column narrow = {"n", PARQUET_INT32, 0};
    struct parquet_writer *w;
    struct job j;
    job_open(&j, &narrow, 1, NULL);
    CHECK_INT(parquet_writer_new(&w, j.sink, twice, 2, NULL), ERR_USAGE);
    CHECK_STR(err_text(), "two columns are named 'a'");
    CHECK_INT(parquet_writer_new(&w, j.sink, &nameless, 1, NULL), ERR_USAGE);
    CHECK_INT(parquet_writer_new(&w, j.sink, &bad, 1, NULL), ERR_USAGE);
    CHECK_INT(parquet_writer_new(&w, j.sink, NULL, 0, NULL), ERR_USAGE);
    parquet_put_int(j.w, 0, 1);
    CHECK_INT(parquet_end_row(j.w), 0);
    parquet_put_int(j.w, 0, (int64_t)INT32_MAX + 1);
    CHECK_INT(parquet_end_row(j.w), ERR_USAGE);
    CHECK_STR(err_text(), "column 'n' has a value beyond 32 bits (row 1)");
    job_abort(&j);
    job_open(&j, &narrow, 1, NULL);
    CHECK_INT(parquet_end_row(j.w), ERR_USAGE);
    CHECK_STR(err_text(), "column 'n' has no value but is not nullable (row 0)");
    job_abort(&j);
}

/* ---- parts ---- */

TEST(rle_round_trip)
{
    struct rng rng = {7};
    for (int width = 1; width <= 32; width++) {
        struct rle_out out = {.width = width};
        struct str bytes = {0};
        uint32_t want[4000], got[4000], max = width == 32 ? UINT32_MAX : (1u << width) - 1;
        size_t n = 0;
        while (n < 4000) {
            uint32_t v = (uint32_t)rng_u64(&rng) & max;
            size_t run = rng_below(&rng, 3) ? 1 : 1 + rng_below(&rng, 40);
            for (size_t i = 0; i < run && n < 4000; i++) want[n++] = v;
        }
        for (size_t i = 0; i < n; i++) rle_put(&out, &bytes, want[i], 1);
        rle_end(&out, &bytes);
        struct rle_in in;
        rle_init(&in, width, bytes.p, bytes.len);
        for (size_t at = 0, m; at < n; at += m) {
            m = 1 + rng_below(&rng, 300);
            if (m > n - at) m = n - at;
            CHECK_INT(rle_get(&in, got + at, m, max), 0);
        }
        CHECK_BYTES(got, want, sizeof want);
        rle_init(&in, width, bytes.p, bytes.len / 2);
        CHECK_INT(rle_get(&in, got, n, max), -1);
        str_release(&bytes);
    }
}

TEST(delta_by_hand)
{
    /* The format's own example: 7 5 3 1 2 3 4 5, then what follows. */
    static const unsigned char bytes[] = {0x80, 0x01, 0x04, 0x08, 0x0e, 0x03, 0x02, 0, 0,   0,
                                          0xc0, 0x3f, 0,    0,    0,    0,    0,    0, 0xaa};
    static const int64_t want[] = {7, 5, 3, 1, 2, 3, 4, 5};
    struct delta d;
    int64_t got[8];
    const unsigned char *end;
    CHECK_INT(delta_init(&d, bytes, sizeof bytes), 0);
    CHECK_INT(delta_end(d, &end), 0);
    CHECK_INT(*end, 0xaa);
    CHECK_INT(delta_get(&d, got, 3), 0);
    CHECK_INT(delta_get(&d, got + 3, 5), 0);
    CHECK_BYTES(got, want, sizeof want);
    CHECK_INT(delta_get(&d, got, 1), -1);
    for (size_t n = 0; n < sizeof bytes - 1; n++)
        CHECK(delta_init(&d, bytes, n) || delta_get(&d, got, 8));
}

TEST(bounds_of_strings)
{
    struct str s = {0};
    int exact;
    strings_below(&s, &exact, "abcdef", 6, 4, 1);
    CHECK_STR(s.p, "abcd");
    CHECK_INT(exact, 0);
    strings_below(&s, &exact, "ab\xc3\xbc!", 5, 3, 1); /* not inside a character */
    CHECK_STR(s.p, "ab");
    CHECK_INT(strings_above(&s, &exact, "abcdef", 6, 4, 1), 1);
    CHECK_STR(s.p, "abce");
    CHECK_INT(strings_above(&s, &exact, "abc", 3, 4, 1), 1);
    CHECK_STR(s.p, "abc");
    CHECK_INT(exact, 1);
    CHECK_INT(strings_above(&s, &exact, "a\x7f!", 3, 2, 1), 1); /* grows to two bytes */
    CHECK_STR(s.p, "a\xc2\x80");
    CHECK_INT(strings_above(&s, &exact, "\xed\x9f\xbf!", 4, 3, 1), 1); /* over the surrogates */
    CHECK_STR(s.p, "\xee\x80\x80");
    CHECK_INT(strings_above(&s, &exact, "a\xf4\x8f\xbf\xbf!", 6, 5, 1), 1);
    CHECK_STR(s.p, "b");
    CHECK_INT(strings_above(&s, &exact, "\xff\xff\xff", 3, 2, 0), 0);
    CHECK_INT(strings_above(&s, &exact, "a\xff\xff", 3, 2, 0), 1);
    CHECK_STR(s.p, "b");
    str_release(&s);
}

TEST(thrift_is_bounded)
{
    char deep[4000];
    memset(deep, 0x1c, sizeof deep); /* a struct in a struct in ... */
    struct thrift_in t = {.p = (unsigned char *)deep, .end = (unsigned char *)deep + sizeof deep};
    thrift_skip(&t, THRIFT_STRUCT);
    CHECK(t.bad && strstr(t.bad, "deep"));
    memset(deep, 0x99, sizeof deep); /* a list of lists */
    t = (struct thrift_in){.p = (unsigned char *)deep, .end = (unsigned char *)deep + sizeof deep};
    thrift_skip(&t, THRIFT_LIST);
    CHECK(t.bad);
    static const unsigned char big[] = {0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f};
    t = (struct thrift_in){.p = big, .end = big + sizeof big};
    CHECK_INT(thrift_get_list(&t, (struct thrift_field){1, THRIFT_LIST}, THRIFT_STRUCT), 0);
    CHECK(t.bad);
}

/* ---- files made by hand ---- */

struct node {
    const char *name;
    int type, repetition, children, converted; /* -1 = absent */
};

/* One column chunk of one v1 page with the given body. */
static struct str make_file(const struct node *nodes, size_t n, int physical, int codec, int rows,
                            int levels, const void *body, size_t size, size_t raw)
{
    struct str f = {0}, footer = {0};
    str_add(&f, "PAR1", 4);
    struct thrift_out t = {.out = &f};
    thrift_int(&t, 1, THRIFT_I32, PAGE_DATA);
    thrift_int(&t, 2, THRIFT_I32, (int64_t)raw);
    thrift_int(&t, 3, THRIFT_I32, (int64_t)size);
    thrift_begin(&t, 5);
    thrift_int(&t, 1, THRIFT_I32, levels);
    thrift_int(&t, 2, THRIFT_I32, ENCODING_PLAIN);
    thrift_int(&t, 3, THRIFT_I32, ENCODING_RLE);
    thrift_int(&t, 4, THRIFT_I32, ENCODING_RLE);
    thrift_end(&t);
    str_putc(&f, 0);
    str_add(&f, body, size);
    size_t end = f.len;
    t = (struct thrift_out){.out = &footer};
    thrift_int(&t, 1, THRIFT_I32, 1);
    thrift_list(&t, 2, THRIFT_STRUCT, n);
    for (size_t i = 0; i < n; i++) {
        thrift_begin_element(&t);
        if (nodes[i].type >= 0) thrift_int(&t, 1, THRIFT_I32, nodes[i].type);
        thrift_int(&t, 3, THRIFT_I32, nodes[i].repetition);
        thrift_bytes(&t, 4, nodes[i].name, strlen(nodes[i].name));
        if (nodes[i].children) thrift_int(&t, 5, THRIFT_I32, nodes[i].children);
        if (nodes[i].converted >= 0) thrift_int(&t, 6, THRIFT_I32, nodes[i].converted);
        thrift_end(&t);
    }
    thrift_int(&t, 3, THRIFT_I64, rows);
    thrift_list(&t, 4, THRIFT_STRUCT, 1);
    thrift_begin_element(&t);
    thrift_list(&t, 1, THRIFT_STRUCT, 1);
    thrift_begin_element(&t);
    thrift_begin(&t, 3);
    thrift_int(&t, 1, THRIFT_I32, physical);
    thrift_int(&t, 4, THRIFT_I32, codec);
    thrift_int(&t, 5, THRIFT_I64, levels);
    thrift_int(&t, 7, THRIFT_I64, (int64_t)end - 4);
    thrift_int(&t, 9, THRIFT_I64, 4);
    thrift_end(&t);
    thrift_end(&t);
    thrift_int(&t, 3, THRIFT_I64, rows);
    thrift_end(&t);
    str_putc(&footer, 0);
    uint32_t footer_size = (uint32_t)footer.len;
    str_add(&f, footer.p, footer.len);
    str_add(&f, &footer_size, 4);
    str_add(&f, "PAR1", 4);
    str_release(&footer);
    return f;
}

/* Rows [1 2] [] null [3], or without the null where the shape has none. */
static void check_legacy_list(const struct node *nodes, size_t n, int nullable)
{
    struct str body = {0};
    struct rle_out rep = {.width = 1}, def = {.width = nullable ? 2 : 1};
    struct str reps = {0}, defs = {0};
    uint32_t full = (uint32_t)nullable + 1;
    uint32_t r[] = {0, 1, 0, 0, 0}, d[] = {full, full, full - 1, 0, full};
    for (int i = 0; i < 5; i++) {
        rle_put(&rep, &reps, r[i], 1);
        rle_put(&def, &defs, d[i], 1);
    }
    rle_end(&rep, &reps);
    rle_end(&def, &defs);
    uint32_t size = (uint32_t)reps.len;
    str_add(&body, &size, 4);
    str_add(&body, reps.p, reps.len);
    size = (uint32_t)defs.len;
    str_add(&body, &size, 4);
    str_add(&body, defs.p, defs.len);
    str_add(&body, (float[]){1, 2, 3}, 12);
    struct str f =
        make_file(nodes, n, PHYSICAL_FLOAT, CODEC_NONE, 4, 5, body.p, body.len, body.len);
    struct parquet_reader *rd = open_all(&f);
    size_t rows;
    CHECK(rd != NULL);
    if (rd) {
        CHECK_INT(parquet_fields(rd), 1);
        CHECK_STR(parquet_field(rd, 0)->name, "x");
        CHECK_INT(parquet_field(rd, 0)->type, PARQUET_FLOATS);
        CHECK_INT(parquet_next(rd, 0, &rows), 0);
        const struct parquet_values *v = parquet_values(rd, 0);
        static const size_t starts[] = {0, 2, 2, 2, 3};
        CHECK_BYTES(v->starts, starts, sizeof starts);
        CHECK_INT(v->valid ? v->valid[2] : 1, !nullable);
        CHECK(v->floats[0] == 1 && v->floats[2] == 3);
    }
    parquet_close(rd);
    str_release(&f);
    str_release(&body);
    str_release(&reps);
    str_release(&defs);
}

TEST(legacy_lists)
{
    const struct node two_level[] = {{"schema", -1, 0, 1, -1},
                                     {"x", -1, REPETITION_OPTIONAL, 1, CONVERTED_LIST},
                                     {"array", PHYSICAL_FLOAT, REPETITION_REPEATED, 0, -1}};
    const struct node bare[] = {{"schema", -1, 0, 1, -1},
                                {"x", PHYSICAL_FLOAT, REPETITION_REPEATED, 0, -1}};
    const struct node bag[] = {{"schema", -1, 0, 1, -1},
                               {"x", -1, REPETITION_OPTIONAL, 1, CONVERTED_LIST},
                               {"bag", -1, REPETITION_REPEATED, 1, -1},
                               {"array_element", PHYSICAL_FLOAT, REPETITION_REQUIRED, 0, -1}};
    check_legacy_list(two_level, 3, 1);
    check_legacy_list(bare, 2, 0);
    check_legacy_list(bag, 4, 1);
}

TEST(lz4_hadoop_framing)
{
    const struct node nodes[] = {{"schema", -1, 0, 1, -1},
                                 {"x", PHYSICAL_INT64, REPETITION_REQUIRED, 0, -1}};
    int64_t values[300];
    for (int i = 0; i < 300; i++) values[i] = i / 7;
    char body[4000];
    size_t at = 0;
    for (int half = 0; half < 2; half++) {
        int n = LZ4_compress_default((char *)(values + 150 * half), body + at + 8, 1200, 1900);
        unsigned char head[8] = {0, 0, 1200 >> 8, 1200 & 255, 0, 0, (uint8_t)(n >> 8), (uint8_t)n};
        memcpy(body + at, head, 8);
        at += 8 + (size_t)n;
    }
    struct str f = make_file(nodes, 2, PHYSICAL_INT64, CODEC_LZ4_HADOOP, 300, 300, body, at, 2400);
    struct parquet_reader *r = open_all(&f);
    size_t rows;
    CHECK_INT(parquet_next(r, 0, &rows), 0);
    CHECK_INT(rows, 300);
    CHECK_BYTES(parquet_values(r, 0)->ints, values, sizeof values);
    parquet_close(r);
    str_release(&f);
}

/* A page that claims a gigabyte is refused before it is allocated; levels that claim two billion
 * values in six bytes cost no more memory than a batch. */
TEST(bombs)
{
    const struct node required[] = {{"schema", -1, 0, 1, -1},
                                    {"x", PHYSICAL_INT64, REPETITION_REQUIRED, 0, -1}};
    const struct node optional[] = {{"schema", -1, 0, 1, -1},
                                    {"x", PHYSICAL_INT64, REPETITION_OPTIONAL, 0, -1}};
    struct str f =
        make_file(required, 2, PHYSICAL_INT64, CODEC_SNAPPY, 300, 300, "abc", 3, 1 << 30);
    struct parquet_reader *r = open_all(&f);
    size_t rows;
    CHECK_INT(parquet_next(r, 0, &rows), ERR_INPUT);
    CHECK(strstr(err_text(), "cannot unpack"));
    CHECK_INT(parquet_next(r, 0, &rows), ERR_INPUT);
    parquet_close(r);
    str_release(&f);
    static const unsigned char nulls[] = {6, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0};
    f = make_file(optional, 2, PHYSICAL_INT64, CODEC_NONE, INT32_MAX, INT32_MAX, nulls, 10, 10);
    r = open_all(&f);
    for (int i = 0; i < 50; i++) CHECK_INT(parquet_next(r, 0, &rows), 0);
    CHECK(parquet_values(r, 0)->valid && !parquet_values(r, 0)->valid[rows - 1]);
    parquet_close(r);
    str_release(&f);
}

/* ---- damage ---- */

/* Copied to the end of an allocation of its own, so that ASan sees a byte too far. */
static int read_copy(const char *p, size_t n)
{
    char *copy = mem_resize(NULL, n ? n : 1);
    memcpy(copy, p, n);
    struct str bytes = {copy, n, n};
    struct parquet_reader *r = open_all(&bytes);
    size_t rows;
    int rc = r ? 0 : ERR_INPUT;
    for (int i = 0; i < 2000 && !rc; i++) rc = parquet_next(r, 0, &rows);
    parquet_close(r);
    free(copy);
    return rc;
}

TEST(truncation)
{
    struct str bytes = write_rows(200, &(struct parquet_options){.row_group_rows = 90});
    CHECK_INT(read_copy(bytes.p, bytes.len), 1);
    for (size_t n = 0; n < bytes.len; n++)
        if (read_copy(bytes.p, n) != ERR_INPUT) TEST_FAIL("cut at %zu", n);
    str_release(&bytes);
}

TEST(bit_flips)
{
    struct rng rng = {3};
    for (int codec = 0; codec < 3; codec++) {
        struct parquet_options o = {.codec = (enum parquet_codec)codec, .page_bytes = 900};
        struct str bytes = write_rows(300, &o);
        for (int i = 0; i < 1500; i++) {
            size_t at = rng_below(&rng, i % 2 ? bytes.len : 1500);
            if (i % 2 == 0) at = bytes.len - 1 - at; /* the footer, every other time */
            char old = bytes.p[at];
            bytes.p[at] ^= (char)(1 << rng_below(&rng, 8));
            read_copy(bytes.p, bytes.len);
            bytes.p[at] = old;
        }
        CHECK_INT(read_copy(bytes.p, bytes.len), 1);
        str_release(&bytes);
    }
}

__attribute__((destructor)) static void clean(void)
{
    rmdir(folder);
}

TEST_MAIN
