/* npy: the writer's bytes, and everything the reader must refuse. tests/interop/test_npy.py holds
 * both against numpy itself. */
#include "test.h"
#include "base/err.h"
#include "format/npy.h"
#include "io/file.h"
#include "io/place.h"

#include <unistd.h>

/* A format 1.0 file with this header text and n bytes of zeros behind it. */
static int decode(struct npy *a, const char *text, size_t n)
{
    size_t len = strlen(text);
    unsigned char *f = calloc(1, 10 + len + n);
    memcpy(f, "\x93NUMPY\x01\x00", 8);
    f[8] = (unsigned char)(len & 255);
    f[9] = (unsigned char)(len >> 8);
    memcpy(f + 10, text, len);
    int rc = npy_decode(a, f, 10 + len + n);
    free(f);
    return rc;
}

TEST(header_is_numpys)
{
    static const char want[] = "{'descr': '<f2', 'fortran_order': False, 'shape': (3, 512), }";
    int64_t dim[] = {3, 512};
    struct str s = {0};
    CHECK_INT(npy_encode_header(&s, "<f2", dim, 2), 0);
    CHECK_INT(s.len, 128);
    CHECK_BYTES(s.p, "\x93NUMPY\x01\x00\x76\x00", 10);
    CHECK_BYTES(s.p + 10, want, sizeof want - 1);
    CHECK_INT(s.p[127], '\n');
    dim[0] = INT64_MAX; /* the header keeps its length, whatever the rows */
    CHECK_INT(npy_encode_header(&s, "<f2", dim, 2), 0);
    CHECK_INT(s.len, 128);
    CHECK_INT(npy_encode_header(&s, "<f3", dim, 2), ERR_USAGE);
    str_release(&s);
}

TEST(rows_stream_and_read_back)
{
    char folder[] = "/tmp/test_npy.XXXXXX", path[64];
    float rows[6] = {1, 2, 3, 4, 5, 6};
    struct place *place;
    struct sink *sink;
    struct npy_writer w;
    struct file_map f;
    struct npy a;
    CHECK(mkdtemp(folder) != NULL);
    CHECK_INT(place_open(&place, folder, 1), 0);
    CHECK_INT(place_create(place, "x.npy", &sink), 0);
    CHECK_INT(npy_writer_init(&w, sink, "<f99", 2), ERR_USAGE);
    CHECK_INT(npy_writer_init(&w, sink, "<f4", 2), 0);
    CHECK_INT(npy_writer_add(&w, rows, 1), 0);
    CHECK_INT(npy_writer_add(&w, rows + 2, 2), 0);
    CHECK_INT(npy_writer_finish(&w), 0);
    CHECK_INT(sink_commit(sink, NULL, NULL), 0);
    snprintf(path, sizeof path, "%s/x.npy", folder);
    CHECK_INT(file_map(&f, path), 0);
    CHECK_INT(f.n, 128 + sizeof rows);
    CHECK_INT(npy_decode(&a, f.p, f.n), 0);
    CHECK_STR(a.descr, "<f4");
    CHECK_INT(a.rank, 2);
    CHECK_INT(a.dim[0], 3);
    CHECK_INT(a.count, 6);
    CHECK_BYTES(a.data, rows, sizeof rows);
    file_unmap(&f);
    place_remove(place, "x.npy");
    place_close(place);
    rmdir(folder);
}

TEST(good_headers)
{
    static const struct {
        const char *text;
        size_t bytes;
        int rank;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24, 2},
        {"{\"shape\":(2,),\"descr\":\"<i8\",\"fortran_order\":False}", 16, 1},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (), }   \n", 1, 0},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (0, 512), }", 0, 2},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (3L, 1L), }", 6, 2},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,2), }", 2, 8},
    };
    struct npy a;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(decode(&a, cases[i].text, cases[i].bytes), 0);
        CHECK_INT(a.rank, cases[i].rank);
        CHECK_INT((size_t)a.count * a.item, cases[i].bytes);
    }
}

TEST(bad_headers)
{
    static const char *const cases[] = {
        "",
        "{",
        "{}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } x",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': 1, 'shape': (2, 3), }",
        "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': 'O8', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<U4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, -3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 6, }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 6), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 6), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 0), }",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': __import__('os'), 'shape': (2, 3), }",
    };
    struct npy a;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (decode(&a, cases[i], 24) != ERR_INPUT) TEST_FAIL("accepted: %s", cases[i]);
    CHECK_INT(decode(&a, "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", 16),
              ERR_INPUT);
    CHECK(strstr(err_text(), "objects") != NULL);
}

TEST(versions_and_lengths)
{
    unsigned char v2[12] = "\x93NUMPY\x02\x00\xff\xff\xff\xff";
    struct npy a;
    CHECK_INT(npy_decode(&a, v2, sizeof v2), ERR_INPUT);
    CHECK(strstr(err_text(), "limit 65536") != NULL);
    v2[6] = 4;
    CHECK_INT(npy_decode(&a, v2, sizeof v2), ERR_INPUT);
    CHECK_INT(npy_decode(&a, "\x93NUMPX\x01\x00\x00\x00", 10), ERR_INPUT);
}

TEST(every_cut_is_an_error)
{
    struct file_map f;
    struct npy a;
    CHECK_INT(file_map(&f, "tests/data/weights/array.npy"), 0);
    CHECK_INT(npy_decode(&a, f.p, f.n), 0);
    for (size_t n = 0; n < f.n; n++) {
        unsigned char *cut = malloc(n + 1);
        memcpy(cut, f.p, n);
        cut = realloc(cut, n ? n : 1);
        CHECK_INT(npy_decode(&a, cut, n), ERR_INPUT);
        free(cut);
    }
    file_unmap(&f);
}

TEST_MAIN
