/* safetensors: each rule of the format broken once, the sharded index, and the JSON below. */
#include "test.h"
#include "base/err.h"
#include "base/str.h"
#include "format/json_cursor.h"
#include "format/safetensors.h"
#include "io/file.h"

static int decode_raw(struct weight_list *l, const void *p, size_t n)
{
    unsigned char *exact = malloc(n ? n : 1);
    if (n) memcpy(exact, p, n);
    int rc = safetensors_decode(l, exact, n, NULL, 0);
    free(exact);
    return rc;
}

/* A file of this header and `data` bytes of zeros. */
static int decode(struct weight_list *l, const char *header, size_t data)
{
    size_t n = strlen(header);
    struct str s = {0};
    for (int i = 0; i < 8; i++) str_putc(&s, (char)(n >> (8 * i) & 255));
    str_puts(&s, header);
    while (data--) str_putc(&s, 0);
    int rc = decode_raw(l, s.p, s.len);
    str_release(&s);
    return rc;
}

static int verdict(const char *header, size_t data)
{
    struct weight_list l = {0};
    int rc = decode(&l, header, data);
    weight_list_release(&l);
    return rc;
}

TEST(tensors_metadata_and_order)
{
    struct weight_list l = {0};
    CHECK_INT(decode(&l,
                     "{\"__metadata__\":{\"format\":\"pt\",\"k\":\"\\u00e9\\ud83d\\ude00\"},"
                     "\"b\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[4,16]},"
                     "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                     "\"z\":{\"dtype\":\"I64\",\"shape\":[0,7],\"data_offsets\":[16,16]}}   ",
                     16),
              0);
    CHECK_INT(l.count, 3);
    CHECK_STR(l.list[0].name, "b");
    CHECK_INT(l.list[0].stride[0], 3);
    CHECK_INT(l.list[1].rank, 0);
    CHECK_INT(l.list[1].count, 1);
    CHECK_INT(l.list[2].count, 0);
    CHECK(weight_find(&l, "a") == &l.list[1]);
    CHECK(weight_find(&l, "c") == NULL);
    CHECK_INT(l.meta.count, 2);
    CHECK_STR(l.meta.list[1].text, "\xc3\xa9\xf0\x9f\x98\x80");
    weight_list_release(&l);
    CHECK_INT(verdict("{}", 0), 0);
}

TEST(every_rule_is_kept)
{
#define T(rest) "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}" rest "}"
    static const struct {
        const char *header, *why;
        size_t data;
    } bad[] = {
        {" {}", "begin with", 0},
        {"[]", "begin with", 0},
        {"{", "JSON", 0},
        {"{} x", "after the end", 0},
        {"{\"a\":1}", "expected an object", 0},
        {T(""), "bytes of data", 9},
        {T(""), "data_offsets", 7},
        {T(",\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[8,12]}"), "two entries", 12},
        {T(",\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[12,16]}"), "hole", 16},
        {T(",\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,8]}"), "overlap", 8},
        {T(",\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"), "overlap", 8},
        {T(",\"__metadata__\":{\"a\":1}"), "expected a string", 8},
        {T(",\"__metadata__\":[]"), "expected an object", 8},
        {"{\"a\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}}", "dtype F33", 8},
        {"{\"a\":{\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,8]}}", "expected a string", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", "needs 12 bytes", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", "whole number", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", "whole number", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[02],\"data_offsets\":[0,8]}}", "leading zero", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", "expected a list", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", "data_offsets", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", "two numbers", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}", "two numbers", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", "missing", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
         "twice", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}",
         "dimensions", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}",
         "overflows", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9223372036854775808,0],\"data_offsets\":[0,0]}}",
         "overflows", 0},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[18446744073709551616],\"data_offsets\":[0,8]}}",
         "too large", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,18446744073709551615]}}",
         "data_offsets", 8},
        {T(",\"x\":{\"y\":[[[[[[[[1]]]]]]]]}"), "too deep", 8},
        {"{\"\xff\":{}}", "UTF-8", 0},
        {"{\"\\ud800\":{}}", "half a pair", 0},
        {"{\"\\u0000\":{}}", "NUL", 0},
        {"{\"a\nb\":{}}", "control", 0},
        {"{\"__metadata__\":{},}", "expected a value", 0},
        {"{\"a\" {}}", "colon", 0},
        {"{\"a\":{]}", "JSON", 0},
    };
#undef T
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (verdict(bad[i].header, bad[i].data) != ERR_INPUT)
            TEST_FAIL("accepted: %s", bad[i].header);
        else if (!strstr(err_text(), bad[i].why))
            TEST_FAIL("\"%s\" does not say \"%s\"", err_text(), bad[i].why);
    }
}

TEST(lengths)
{
    struct weight_list l = {0};
    unsigned char p[16] = "\x08\0\0\0\0\0\0\0{      }";
    CHECK_INT(decode_raw(&l, p, 16), 0);
    for (size_t n = 0; n < 16; n++) CHECK_INT(decode_raw(&l, p, n), ERR_INPUT);
    p[0] = 9; /* one byte past the end */
    CHECK_INT(decode_raw(&l, p, 16), ERR_INPUT);
    p[7] = 0x80;
    CHECK_INT(decode_raw(&l, p, 16), ERR_INPUT);
    CHECK(strstr(err_text(), "limit 100000000") != NULL);
    char *header = malloc(2200), name[1026] = "";
    memset(name, 'n', 1025);
    snprintf(header, 2200, "{\"%s\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", name);
    CHECK_INT(verdict(header, 1), ERR_INPUT);
    name[1024] = 0;
    snprintf(header, 2200, "{\"%s\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", name);
    CHECK_INT(verdict(header, 1), 0);
    free(header);
    weight_list_release(&l);
}

TEST(every_cut_is_an_error)
{
    struct file_map f;
    struct weight_list l = {0};
    CHECK_INT(file_map(&f, "tests/data/weights/state.safetensors"), 0);
    for (size_t n = 0; n < f.n; n++) {
        CHECK_INT(decode_raw(&l, f.p, n), ERR_INPUT);
        weight_list_release(&l);
    }
    CHECK_INT(decode_raw(&l, f.p, f.n), 0);
    CHECK_INT(l.count, 10);
    weight_list_release(&l);
    file_unmap(&f);
}

static int index_verdict(const char *text)
{
    struct shard_index x;
    int rc = shard_index_decode(&x, text, strlen(text));
    shard_index_release(&x);
    return rc;
}

TEST(shard_names_are_plain)
{
    static const char *const bad[] = {
        "{}",
        "{\"weight_map\":[]}",
        "{\"weight_map\":{\"a\":1}}",
        "{\"weight_map\":{\"a\":\"\"}}",
        "{\"weight_map\":{\"a\":\"..\"}}",
        "{\"weight_map\":{\"a\":\"../x\"}}",
        "{\"weight_map\":{\"a\":\"/etc/passwd\"}}",
        "{\"weight_map\":{\"a\":\"d/x\"}}",
        "{\"weight_map\":{\"a\":\"d\\\\x\"}}",
        "{\"weight_map\":{\"a\":\"x\",\"a\":\"y\"}}",
        "{\"weight_map\":{\"a\":\"x\"},\"weight_map\":{}}",
        "{\"weight_map\":{\"a\":\"x\"}} ?",
    };
    struct shard_index x;
    static const char good[] = "{\"metadata\":{\"total_size\":-1.5e3,\"x\":[true,null]},"
                               "\"weight_map\":{\"a\":\"1.st\",\"b\":\"2.st\",\"c\":\"1.st\"}}";
    uint64_t v;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (index_verdict(bad[i]) != ERR_INPUT) TEST_FAIL("accepted: %s", bad[i]);
    CHECK_INT(shard_index_decode(&x, good, sizeof good - 1), 0);
    CHECK_INT(x.shards.count, 2);
    CHECK(map_get(&x.map, "c", &v) && v == 0);
    CHECK(map_get(&x.map, "b", &v) && v == 1);
    shard_index_release(&x);
}

TEST(json_values_are_skipped_strictly)
{
    static const char *const good[] = {
        "0",    "-0.5e+10",        "\"a\\n\\/\"", "[]", "{}", " [1, {\"a\": null}] ",
        "true", "[[[[[[[[]]]]]]]]"};
    static const char *const bad[] = {"",
                                      "01",
                                      "1.",
                                      "-",
                                      "1e",
                                      "\"",
                                      "[1,",
                                      "[1 2]",
                                      "{1}",
                                      "nul",
                                      "[[[[[[[[[]]]]]]]]]",
                                      "\"\\x\"",
                                      "tru",
                                      "\"\\u12",
                                      "]",
                                      "[}",
                                      "{\"a\"}",
                                      "'a'"};
    struct json_cursor c;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        json_cursor_init(&c, good[i], strlen(good[i]));
        if (json_cursor_skip(&c) || json_cursor_end(&c)) TEST_FAIL("refused: %s", good[i]);
        json_cursor_release(&c);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_cursor_init(&c, bad[i], strlen(bad[i]));
        if (!json_cursor_skip(&c) && !json_cursor_end(&c)) TEST_FAIL("accepted: %s", bad[i]);
        json_cursor_release(&c);
    }
}

TEST_MAIN
