/* test_text.c - src/text: decoding, Unicode, HTML references, mojibake, words, BPE, loaders.
 * tests/data/text holds a small vocabulary and what open_clip's algorithm makes of captions with
 * it; the goldens of the real vocabulary need $DARKROOM_TEST_VOCAB. */
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/file.h"
#include "text/bpe.h"
#include "text/clean.h"
#include "text/html.h"
#include "text/unicode.h"
#include "test.h"

#include <jansson.h>
#include <pthread.h>
#include <unistd.h>
#include <zlib.h>

#define SMALL "tests/data/text/small_vocab.txt"

static struct clean cleaner;

static const char *clean(const char *text)
{
    const char *out;
    clean_text(&cleaner, &out, text, strlen(text));
    return out;
}

TEST(utf8_replaces_the_longest_good_prefix)
{
    static const struct {
        const char *bytes;
        size_t want;
    } cases[] = {{"\x80", 1},         {"\xC0\x80", 2},         {"\xC2", 1},
                 {"\xE2\x82", 1},     {"\xE2\x28\xA1", 3},     {"\xED\xA0\x80", 3},
                 {"\xF0\x9F\x98", 1}, {"\xF4\x90\x80\x80", 4}, {"\xF8\x88\x80\x80\x80", 5},
                 {"\xE2\x82\xAC", 1}, {"\xF0\x9F\x98\x80", 1}, {"\xE0\x80\xAF", 3}};
    struct runes r = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        runes_clear(&r);
        utf8_decode(&r, cases[i].bytes, strlen(cases[i].bytes));
        CHECK_INT(r.n, cases[i].want);
    }
    CHECK(utf8_valid("h\xC3\xA9", 3) && !utf8_valid("h\xC3", 2));
    runes_release(&r);
}

TEST(utf8_returns_every_code_point)
{
    char bytes[4];
    for (uint32_t c = 0; c <= RUNE_MAX; c++) {
        uint32_t back;
        int valid;
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        int n = utf8_put(bytes, c);
        if (utf8_next(&back, &valid, (unsigned char *)bytes, 4) != n || back != c || !valid)
            TEST_FAIL("U+%04X", c);
    }
}

TEST(lower_case_knows_the_end_of_a_word)
{
    CHECK_STR(clean("ΟΔΟΣ ΟΔΥΣΣΕΥΣ ΣΑΣ' Σ"), "οδος οδυσσευς σας' σ");
    CHECK_STR(clean("İI ẞ ǅ"), "i̇i ß dž");
}

TEST(cleaning_fixes_what_the_web_breaks)
{
    CHECK_STR(clean("  Many   spaces\tand\nnewlines "), "many spaces and newlines");
    CHECK_STR(clean("&lt;b&gt; Tom &amp;amp; Jerry"), "<b> tom & jerry");
    CHECK_STR(clean("P&EACUTE;REZ &copy2020 &notit; &#x80;"), "pérez ©2020 ¬it; €");
    CHECK_STR(clean("cafÃ© doesnâ€™t"), "café doesn't");
    CHECK_STR(clean("Ã la mode, Â£5"), "à la mode, £5");
    CHECK_STR(clean("ï»¿ÐŸÑ€Ð¸Ð²ÐµÑ‚"), "привет");
    CHECK_STR(clean("“ﬁne” ＡＢＣ　ﾃｽﾄ e\xCC\x81"), "\"fine\" abc テスト é");
    CHECK_STR(clean("a\x1B[31mred\x1B[0m\x07z"), "aredz");
    CHECK_STR(clean("\xFF\xFE ok"), "\xEF\xBF\xBD\xEF\xBF\xBD ok");
    CHECK_STR(clean("<p> &eacute;"), "<p> é");
}

TEST(fixing_alone_keeps_case_and_space)
{
    const char *out;
    clean_fix(&cleaner, &out, "L’Ete  Ã©", strlen("L’Ete  Ã©"));
    CHECK_STR(out, "L'Ete  é");
    clean_fix(&cleaner, &out, "<p> &eacute;", 12);
    CHECK_STR(out, "<p> &eacute;");
}

static void check_ids(const int32_t *got, int n, const json_t *want, const char *text)
{
    int same = (size_t)n == json_array_size(want);
    for (int i = 0; i < n && same; i++)
        same = got[i] == json_integer_value(json_array_get(want, (size_t)i));
    if (!same) TEST_FAIL("tokens of \"%s\" differ", text);
}

static void check_golden(struct bpe_state *s, const char *line, size_t n)
{
    json_t *row = json_loadb(line, n, JSON_ALLOW_NUL, NULL), *text = json_object_get(row, "text");
    const char *p = json_string_value(text), *out;
    int32_t ids[77];
    if (!p) {
        TEST_FAIL("bad golden");
        return;
    }
    size_t len = clean_text(&cleaner, &out, p, json_string_length(text));
    const json_t *want = json_object_get(row, "clean");
    if (len != json_string_length(want) || memcmp(out, json_string_value(want), len))
        TEST_FAIL("\"%s\" becomes \"%s\", not \"%s\"", p, out, json_string_value(want));
    int count = bpe_encode(ids, s, p, json_string_length(text), 77);
    check_ids(ids, count, json_object_get(row, "ids"), p);
    json_decref(row);
}

TEST(tokens_are_those_of_open_clip)
{
    struct str rows = {0};
    struct bpe *b;
    int count = 0;
    CHECK_INT(bpe_open(&b, SMALL), 0);
    CHECK_INT(bpe_size(b), 512 + 400 + 2);
    CHECK_INT(file_read(&rows, "tests/data/text/small_tokens.jsonl", 1 << 20), 0);
    for (int pass = 0; pass < 2; pass++) { /* the second pass finds its words in the cache */
        struct bpe_state *s = bpe_state_new(b, BPE_OPEN_CLIP);
        for (char *p = rows.p, *end; (end = strchr(p, '\n')); p = end + 1, count++)
            check_golden(s, p, (size_t)(end - p));
        bpe_state_free(s);
    }
    CHECK(count > 400);
    bpe_close(b);
    str_release(&rows);
}

TEST(tokens_with_the_real_vocabulary)
{
    static const struct {
        const char *text;
        int32_t ids[16];
    } cases[] = {
        {"a diagram", {320, 22697}},
        {"a photo of a cat", {320, 1125, 539, 320, 2368}},
        {"Hello, World!!! 1234", {3306, 267, 1002, 995, 272, 273, 274, 275}},
        {"it's the dog's 3.5mm plug", {585, 568, 518, 1929, 568, 274, 269, 276, 2848, 12628}},
        {"don't can't we'll I'M", {847, 713, 753, 713, 649, 1342, 328, 880}},
        {"  many   spaces\tand\nnewlines ", {1346, 9006, 537, 1218, 3418}},
        {"&lt;b&gt; Tom &amp;amp; Jerry", {283, 321, 285, 2435, 261, 9164}},
        {"café crème 日本語", {15304, 1075, 12138, 614, 39121, 44353, 34002, 508}},
        {"emoji 😀🐈 ok", {16327, 12832, 2074, 486, 2481}},
        {"", {0}},
    };
    struct bpe *b;
    const char *vocab = getenv("DARKROOM_TEST_VOCAB");
    if (!vocab) SKIP("DARKROOM_TEST_VOCAB names no bpe_simple_vocab_16e6.txt.gz");
    if (bpe_open(&b, vocab)) {
        TEST_FAIL("%s", err_text());
        return;
    }
    struct bpe_state *s = bpe_state_new(b, BPE_OPENAI);
    CHECK_INT(bpe_size(b), 49408);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t ids[77];
        int n = bpe_encode(ids, s, cases[i].text, strlen(cases[i].text), 77), k = 0;
        while (cases[i].ids[k]) k++;
        CHECK_INT(n, k + 2);
        CHECK_INT(ids[0], 49406);
        CHECK_INT(ids[n - 1], 49407);
        CHECK_BYTES(ids + 1, cases[i].ids, (size_t)k * sizeof *ids);
    }
    bpe_state_free(s);
    bpe_close(b);
}

TEST(context_cuts_and_still_ends)
{
    struct bpe *b;
    int32_t ids[8], whole[8];
    CHECK_INT(bpe_open(&b, SMALL), 0);
    struct bpe_state *s = bpe_state_new(b, 0);
    CHECK_INT(bpe_encode(whole, s, "1 2 3 4 5 6 7 8 9", 17, 8), 8);
    for (int context = 1; context < 8; context++) {
        ids[context] = -7;
        CHECK_INT(bpe_encode(ids, s, "1 2 3 4 5 6 7 8 9", 17, context), context);
        CHECK_INT(ids[context - 1], bpe_eot(b));
        CHECK_INT(ids[context], -7);
        CHECK_BYTES(ids, whole, (size_t)(context - 1) * sizeof *ids);
    }
    bpe_state_free(s);
    bpe_close(b);
}

static int tokens_of(int32_t ids[77], struct bpe *b, unsigned specials, const char *text)
{
    struct bpe_state *s = bpe_state_new(b, specials);
    int n = bpe_encode(ids, s, text, strlen(text), 77);
    bpe_state_free(s);
    return n;
}

TEST(special_strings_are_a_choice)
{
    struct bpe *b;
    int32_t ids[77];
    CHECK_INT(bpe_open(&b, SMALL), 0);
    CHECK_INT(tokens_of(ids, b, BPE_OPEN_CLIP, "<Start_Of_Text>"), 3);
    CHECK_INT(ids[1], bpe_sot(b));
    CHECK_INT(tokens_of(ids, b, BPE_OPENAI, "<|endoftext|>"), 3);
    CHECK_INT(ids[1], bpe_eot(b));
    CHECK(tokens_of(ids, b, BPE_OPENAI, "<start_of_text>") > 3);
    CHECK(tokens_of(ids, b, BPE_OPEN_CLIP, "<|endoftext|>") > 3);
    CHECK(tokens_of(ids, b, 0, "<start_of_text>") > 3);
    bpe_close(b);
}

/* Hostile text: what would take hours if anything were quadratic. Seconds are not asserted; the
 * test simply would not end. */
static void feed(struct bpe_state *s, const char *unit, size_t times)
{
    struct str text = {0};
    int32_t ids[77];
    for (size_t i = 0; i < times; i++) str_puts(&text, unit);
    CHECK(bpe_encode(ids, s, text.p, text.len, 77) <= 77);
    str_release(&text);
}

TEST(hostile_text_takes_linear_time)
{
    struct bpe *b;
    CHECK_INT(bpe_open(&b, SMALL), 0);
    struct bpe_state *s = bpe_state_new(b, BPE_OPEN_CLIP);
    feed(s, "a", 1 << 20);
    feed(s, "ab", 1 << 19);
    feed(s, "é", 1 << 19);
    feed(s, "\xCC\x81\xCC\xA3", 1 << 18);
    feed(s, "Ã©", 1 << 17);
    feed(s, "Ã©π", 1 << 16);
    feed(s, "Σ.", 1 << 17);
    feed(s, "&", 1 << 20);
    feed(s, "&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1 << 15);
    feed(s, "amp;", 1 << 18);
    feed(s, "&#", 1 << 19);
    feed(s, "\x1B[1", 1 << 18);
    feed(s, "\n", 1 << 20);
    feed(s, "é\n", 1 << 18);
    feed(s, "<", 1 << 20);
    feed(s, "\xFF", 1 << 20);
    bpe_state_free(s);
    bpe_close(b);
}

TEST(nested_escapes_end)
{
    struct str text = {0};
    struct bpe *b;
    int32_t ids[77];
    CHECK_INT(bpe_open(&b, SMALL), 0);
    struct bpe_state *s = bpe_state_new(b, BPE_OPEN_CLIP);
    str_puts(&text, "&");
    for (int i = 0; i < 1 << 17; i++) str_puts(&text, "amp;");
    CHECK_INT(bpe_encode(ids, s, text.p, text.len, 77), 77);
    CHECK_STR(clean("&amp;amp;amp;amp;amp;lt;"), "<");
    str_release(&text);
    bpe_state_free(s);
    bpe_close(b);
}

TEST(random_bytes_become_valid_text)
{
    struct rng rng = {5};
    char bytes[64];
    for (int i = 0; i < 20000; i++) {
        const char *out;
        size_t n = rng_below(&rng, sizeof bytes);
        for (size_t k = 0; k < n; k++) bytes[k] = (char)rng_u64(&rng);
        size_t len = clean_text(&cleaner, &out, bytes, n);
        if (!utf8_valid(out, len)) TEST_FAIL("invalid UTF-8 came out in round %d", i);
    }
}

struct shared {
    struct bpe *b;
    int32_t ids[77];
    int n;
};

static void *encode_many(void *arg)
{
    struct shared *w = arg;
    struct bpe_state *s = bpe_state_new(w->b, BPE_OPEN_CLIP);
    for (int i = 0; i < 300; i++) w->n = bpe_encode(w->ids, s, "Voilà “thé” cafÃ© x1", 24, 77);
    bpe_state_free(s);
    return NULL;
}

TEST(threads_share_a_vocabulary)
{
    struct shared w[4];
    pthread_t t[4];
    struct bpe *b;
    CHECK_INT(bpe_open(&b, SMALL), 0);
    for (int i = 0; i < 4; i++) {
        w[i] = (struct shared){.b = b};
        CHECK_INT(pthread_create(&t[i], NULL, encode_many, &w[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    for (int i = 1; i < 4; i++) {
        CHECK_INT(w[i].n, w[0].n);
        CHECK_BYTES(w[i].ids, w[0].ids, (size_t)w[0].n * sizeof *w[0].ids);
    }
    bpe_close(b);
}

static void write_file(const char *folder, const char *name, const void *p, size_t n, int pack)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    gzFile f = gzopen(path, pack ? "wb" : "wbT");
    CHECK(f && gzwrite(f, p, (unsigned)n) == (int)n);
    gzclose(f);
}

static void check_open_fails(const char *path, const char *why)
{
    struct bpe *b = NULL;
    int rc = bpe_open(&b, path);
    CHECK_INT(rc, ERR_INPUT);
    CHECK(!b);
    if (rc && !strstr(err_text(), why)) TEST_FAIL("\"%s\" lacks \"%s\"", err_text(), why);
    bpe_close(b);
}

TEST(vocabularies_are_found_and_checked)
{
    char folder[] = "/tmp/darkroom_text_XXXXXX", path[64], first[65], again[65];
    struct str text = {0};
    struct bpe *b;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/a.txt.gz", folder);
    check_open_fails("/no/such/folder", "no such vocabulary");
    check_open_fails(folder, "holds no vocabulary");
    write_file(folder, "a.txt.gz", "#\na b c\n", 8, 1);
    check_open_fails(folder, "line 2 is not a pair");
    write_file(folder, "a.txt.gz", "#\na b\n\nc d", 10, 1);
    check_open_fails(folder, "line 3 is empty");
    write_file(folder, "a.txt.gz", "#", 1, 1);
    check_open_fails(folder, "holds no merges");
    CHECK_INT(file_read(&text, SMALL, 1 << 20), 0);
    write_file(folder, "a.txt.gz", text.p, text.len, 1);
    CHECK_INT(bpe_open(&b, folder), 0);
    bpe_fingerprint(b, first);
    bpe_close(b);
    CHECK_INT(bpe_open(&b, SMALL), 0);
    bpe_fingerprint(b, again);
    CHECK_STR(again, first);
    bpe_close(b);
    CHECK_INT(truncate(path, 900), 0);
    check_open_fails(path, "truncated or damaged");
    write_file(folder, "vocab.json", "{\"a\": -1}", 9, 0);
    check_open_fails(folder, "merges.txt");
    write_file(folder, "merges.txt", "#version\na b\n", 13, 0);
    check_open_fails(folder, "no id between");
    write_file(folder, "vocab.json", "{\"a\": 1}", 8, 0);
    check_open_fails(folder, "has no \"<|startoftext|>\"");
    write_file(folder, "vocab.json", "{\"a\":", 5, 0);
    check_open_fails(folder, "vocab.json: ");
    const char *good = "{\"a\":1,\"b\":3,\"ab</w>\":4,\"<|startoftext|>\":9,\"<|endoftext|>\":8}";
    write_file(folder, "vocab.json", good, strlen(good), 0);
    write_file(folder, "merges.txt", "#version\na b</w>\n", 17, 0);
    CHECK_INT(bpe_open(&b, folder), 0);
    int32_t ids[77], want[] = {9, 4, 8, 8, 8, 8};
    CHECK_INT(tokens_of(ids, b, BPE_OPENAI, "ab a?a"), 6);
    CHECK_BYTES(ids, want, sizeof want);
    CHECK_INT(bpe_size(b), 10);
    bpe_close(b);
    str_release(&text);
    for (int i = 0; i < 3; i++) {
        const char *names[] = {"a.txt.gz", "vocab.json", "merges.txt"};
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

TEST(memory_is_given_back)
{
    clean_release(&cleaner);
    clean_release(&cleaner);
    bpe_close(NULL);
    bpe_state_free(NULL);
}

TEST_MAIN
