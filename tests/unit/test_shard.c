/* test_shard.c - members to samples: webdataset's key rule, bad samples, and what is and is not
 * believed when the tar is damaged. */
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "data/shard.h"
#include "tar_maker.h"
#include "test.h"

/* Everything a shard says: "key(ext=body,...)" for samples, "key!status" for bad ones. */
struct story {
    struct str text;
    int rc;
    uint64_t samples, bad, damaged, offset; /* offset: of the last bad one */
    char sha256[65], last[512];
};

static struct story tell(const struct str *s, const struct shard_options *o)
{
    struct story y = {0};
    struct sample p;
    struct arena a = {0};
    char *copy = mem_alloc(s->len);
    memcpy(copy, s->p, s->len);
    struct shard *r = shard_of(source_of_bytes(copy, s->len), 7, o);
    while ((y.rc = shard_next(r, &p, &a)) == 0 || y.rc == ERR_DATA) {
        CHECK_INT(p.shard, 7);
        str_puts(&y.text, p.key);
        if (y.rc) {
            str_printf(&y.text, "!%s;", bad_name(err_why()));
            y.offset = p.offset;
            snprintf(y.last, sizeof y.last, "%s", err_text());
            CHECK_INT(p.count, 0);
        }
        for (int i = 0; i < p.count; i++) {
            const struct sample_member *m = &p.members[i];
            str_printf(&y.text, "%c%s=%.*s", i ? ',' : '(', m->ext, (int)m->size,
                       m->data ? (const char *)m->data : "?");
            if (m->data) CHECK_BYTES(m->data, s->p + m->offset, m->size);
        }
        if (!y.rc) str_puts(&y.text, ");");
        arena_reset(&a);
    }
    CHECK_INT(shard_next(r, &p, &a), y.rc);
    y.samples = shard_counts(r)->samples;
    y.bad = shard_counts(r)->bad;
    y.damaged = shard_counts(r)->damaged;
    memcpy(y.sha256, shard_sha256(r), 65);
    if (y.rc == 1) CHECK_INT(shard_size(r), s->len);
    shard_close(r);
    arena_release(&a);
    free(copy);
    if (!y.text.p) str_puts(&y.text, "");
    return y;
}

static void expect(struct str *s, const struct shard_options *o, const char *text)
{
    struct story y = tell(s, o);
    CHECK_INT(y.rc, 1);
    CHECK_STR(y.text.p, text);
    str_release(&y.text);
}

TEST(key_rule)
{
    static const struct {
        const char *name, *key, *ext;
    } cases[] = {{"a.b/c.seg.png", "a.b/c", "seg.png"},
                 {"a/b.c.d", "a/b", "c.d"},
                 {"a/.hidden.jpg", "a/", "hidden.jpg"},
                 {"x", "", ""},
                 {"dir.1/y", "", ""},
                 {".jpg", "", ""},
                 {"a.jpg", "a", "jpg"},
                 {"./a.jpg", "./a", "jpg"},
                 {"a.", "a", ""},
                 {"a.b/.c", "", ""},
                 {"p/x.y/.c", "", ""},
                 {"a//.c", "a//", "c"},
                 {"/.c", "/", "c"},
                 {"a/b/..c", "a/b/", ".c"},
                 {"..", "", ""},
                 {"", "", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *ext = "";
        size_t n = shard_key(cases[i].name, &ext);
        if (n != strlen(cases[i].key) || memcmp(cases[i].name, cases[i].key, n) ||
            (n && strcmp(ext, cases[i].ext)))
            TEST_FAIL("%s: %.*s, %s", cases[i].name, (int)n, cases[i].name, ext);
    }
}

TEST(groups_neighbours)
{
    struct str s = {0};
    maker_member(&s, '5', "d/", "", MAKER_USTAR);
    maker_file(&s, "__meta__", "x");
    maker_file(&s, "__meta__/a.jpg", "x");
    maker_file(&s, "README", "x");
    maker_file(&s, "d/1.JPG", "p");
    maker_file(&s, "d/1.Seg.PNG", "q");
    maker_file(&s, "__x__.jpg", "y");
    maker_file(&s, "2.txt", "t");
    maker_file(&s, "noext", "x");
    maker_file(&s, "2.pth", "u");
    maker_end(&s);
    expect(&s, NULL, "d/1(jpg=p,seg.png=q);__x__(jpg=y);2(txt=t,pth=u);");
    expect(&s, &(struct shard_options){.wanted = "jpg;txt"},
           "d/1(jpg=p,seg.png=?);__x__(jpg=y);2(txt=t,pth=?);");
    struct story y = tell(&s, &(struct shard_options){.hash = 1});
    char hex[65];
    sha256_of(hex, s.p, s.len);
    CHECK_STR(y.sha256, hex);
    str_release(&y.text);
    str_release(&s);
}

TEST(finds_members)
{
    struct sample_member m[] = {{.ext = "png"}, {.ext = "jpeg"}, {.ext = "txt"}};
    struct sample s = {.members = m, .count = 3};
    CHECK(sample_find(&s, SAMPLE_PICTURES) == &m[1]);
    CHECK(sample_find(&s, "txt") == &m[2]);
    CHECK(sample_find(&s, "PNG;jpeg") == &m[0]);
    CHECK(!sample_find(&s, "json"));
    CHECK(!sample_find(&s, "jp"));
    CHECK(!sample_find(&s, ""));
    CHECK(sample_is_one_of("a;;b", "B"));
    CHECK(!sample_is_one_of("a;;b", ""));
}

TEST(bad_samples_are_stepped_over)
{
    struct str s = {0};
    maker_file(&s, "1.jpg", "a");
    maker_file(&s, "1.JPG", "b"); /* twice */
    maker_file(&s, "1.txt", "c");
    maker_file(&s, "2.jpg", "d");
    maker_file(&s, "3.jpg", "e");
    maker_file(&s, "2.txt", "f"); /* again */
    maker_file(&s, "2.json", "g");
    maker_file(&s, "4.jpg", "h");
    maker_end(&s);
    expect(&s, NULL, "1!duplicate_member;2(jpg=d);3(jpg=e);2!non_adjacent;4(jpg=h);");
    struct story y = tell(&s, NULL);
    CHECK_INT(y.samples, 3);
    CHECK_INT(y.bad, 2);
    CHECK_INT(y.damaged, 0);
    CHECK_INT(y.offset, 5 * 1024);
    str_release(&y.text);
    str_release(&s);
}

TEST(limits)
{
    struct str s = {0};
    char name[1200];
    maker_file(&s, "1.jpg", "0123456789");
    maker_file(&s, "2.jpg", "01234567890");
    maker_file(&s, "2.txt", "");
    maker_file(&s, "3.jpg", "01234");
    maker_file(&s, "3.txt", "01234");
    for (int i = 0; i < 5; i++) { /* each is fine, all together are not */
        snprintf(name, sizeof name, "4.%d", i);
        maker_file(&s, name, "0123456789");
    }
    memset(name, 'k', sizeof name);
    strcpy(name + 1025, ".jpg");
    maker_member(&s, 'L', "long", name, MAKER_USTAR);
    maker_file(&s, "x", "1");
    maker_end(&s);
    struct story y = tell(&s, &(struct shard_options){.member_limit = 10});
    CHECK_INT(y.rc, 1);
    CHECK_INT(y.samples, 2);
    CHECK_INT(y.bad, 3);
    CHECK(str_starts(y.text.p,
                     "1(jpg=0123456789);2!too_large;3(jpg=01234,txt=01234);4!too_large;kkk"));
    CHECK(strstr(y.last, "1 KiB") != NULL);
    CHECK_INT(y.text.len,
              strlen("1(jpg=0123456789);2!too_large;3(jpg=01234,txt=01234);4!too_large;") + 1024 +
                  strlen("!too_large;"));
    str_release(&y.text);
    str_clear(&s);
    for (int i = 0; i < 1001; i++) {
        snprintf(name, sizeof name, "a.%d", i);
        maker_file(&s, name, "");
    }
    maker_file(&s, "b.txt", "1");
    maker_end(&s);
    expect(&s, NULL, "a!too_large;b(txt=1);");
    str_release(&s);
}

/* Samples before the damage are good, the one at hand is not used, counts close. */
TEST(damage)
{
    struct str s = {0};
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d.jpg", i);
        maker_file(&s, name, "p");
        snprintf(name, sizeof name, "%d.txt", i);
        maker_file(&s, name, "t");
    }
    maker_end(&s);
    struct str bad = {0};
    str_add(&bad, s.p, s.len);
    bad.p[4 * 1024 + 5] ^= 1; /* the header of 2.jpg: 1 may have had more members */
    struct story y = tell(&bad, NULL);
    CHECK_INT(y.rc, 1);
    CHECK_STR(y.text.p, "0(jpg=p,txt=t);!tar_damaged;");
    CHECK_INT(y.offset, 4096);
    CHECK_INT(y.samples, 1);
    CHECK_INT(y.damaged, 1);
    CHECK(strstr(y.last, "byte 4096") && strstr(y.last, "is not used"));
    str_release(&y.text);
    str_release(&bad);
    size_t all = s.len;
    for (s.len = 0; s.len < all; s.len++) { /* every cut: nothing wrong is ever given out */
        y = tell(&s, NULL);
        CHECK_INT(y.rc, 1);
        CHECK_INT(y.damaged, s.len < 7168 || s.len % 512 != 0);
        CHECK_INT(y.bad, 0);
        if (!str_starts("0(jpg=p,txt=t);1(jpg=p,txt=t);2(jpg=p,txt=t);!tar_damaged;", y.text.p) &&
            !strstr(y.text.p, "!tar_damaged;"))
            TEST_FAIL("cut at %zu: %s", s.len, y.text.p);
        for (uint64_t i = 0; i < y.samples; i++) {
            char want[32];
            snprintf(want, sizeof want, "%d(jpg=p,txt=t);", (int)i);
            if (!strstr(y.text.p, want)) TEST_FAIL("cut at %zu: %s", s.len, y.text.p);
        }
        str_release(&y.text);
    }
    str_release(&s);
}

TEST(a_bad_sample_before_damage_has_its_own_row)
{
    struct str s = {0};
    maker_file(&s, "0.jpg", "a");
    maker_file(&s, "0.jpg", "b");
    s.p[s.len - 1] = 0;
    str_puts(&s, "garbage");
    expect(&s, NULL, "0!duplicate_member;!tar_damaged;");
    str_release(&s);
}

/* NeMo's tars end without a mark. */
TEST(unterminated)
{
    struct str s = {0};
    maker_file(&s, "0.jpg", "p");
    maker_file(&s, "0.txt", "t");
    size_t one = s.len;
    maker_file(&s, "1.jpg", "q");
    size_t half = s.len;
    maker_file(&s, "1.txt", "u");
    expect(&s, NULL,
           "0(jpg=p,txt=t);1(jpg=q,txt=u);!tar_damaged;"); /* as whole as the one before */
    expect(&s, &(struct shard_options){.allow_unterminated = 1}, "0(jpg=p,txt=t);1(jpg=q,txt=u);");
    expect(&s, &(struct shard_options){.expected = 2}, "0(jpg=p,txt=t);1(jpg=q,txt=u);");
    expect(&s, &(struct shard_options){.expected = 3},
           "0(jpg=p,txt=t);1(jpg=q,txt=u);!tar_damaged;");
    s.len = half;
    expect(&s, NULL, "0(jpg=p,txt=t);!tar_damaged;"); /* 1 lacks its text */
    s.len = one;
    expect(&s, NULL, "!tar_damaged;"); /* nothing to compare with */
    expect(&s, &(struct shard_options){.expected = 1}, "0(jpg=p,txt=t);");
    s.len = one - 1; /* a real cut is damage whatever is allowed */
    expect(&s, &(struct shard_options){.expected = 1, .allow_unterminated = 1}, "!tar_damaged;");
    s.len = 0;
    expect(&s, NULL, "!tar_damaged;");
    expect(&s, &(struct shard_options){.allow_unterminated = 1}, "");
    str_release(&s);
}

/* A header that claims a gigabyte costs no gigabyte, and a large member of a pipe arrives. */
TEST(large_members_of_unknown_sources)
{
    struct shard *r;
    struct sample p;
    struct arena a = {0};
    CHECK_INT(shard_open(&r, "pipe:printf x", 0, NULL), 0);
    CHECK_INT(shard_next(r, &p, &a), ERR_DATA);
    shard_close(r);
    struct str s = {0}, pipe = {0};
    char b[512], path[] = "/tmp/test_shard_XXXXXX";
    size_t n = (9 << 20) + 1;
    maker_block(b, '0', "a.bin", n, MAKER_USTAR);
    str_add(&s, b, 512);
    char *body = mem_alloc(n);
    for (size_t i = 0; i < n; i++) body[i] = (char)(i * 7 + i / 251);
    maker_body(&s, body, n);
    maker_end(&s);
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "wb");
    CHECK(f && fwrite(s.p, 1, s.len, f) == s.len);
    fclose(f);
    str_printf(&pipe, "pipe:cat %s", path);
    CHECK_INT(shard_open(&r, pipe.p, 0, NULL), 0);
    CHECK_INT(shard_next(r, &p, &a), 0);
    CHECK_INT(p.members[0].size, n);
    CHECK_BYTES(p.members[0].data, body, n);
    CHECK_INT(shard_next(r, &p, &a), 1);
    shard_close(r);
    arena_release(&a);
    str_clear(&pipe);
    str_printf(&pipe, "pipe:head -c 1000 %s", path);
    maker_block(b, '0', "a.bin", 1 << 30, MAKER_USTAR);
    f = fopen(path, "wb");
    CHECK(f && fwrite(b, 1, 512, f) == 512 && fwrite(body, 1, 9 << 20, f) == 9 << 20);
    fclose(f);
    CHECK_INT(shard_open(&r, pipe.p, 0, NULL), 0);
    CHECK_INT(shard_next(r, &p, &a), ERR_DATA);
    CHECK(arena_bytes(&a) < 1 << 20);
    shard_close(r);
    CHECK_INT(shard_open(&r, path, 0, NULL), 0); /* a file of known size: refused before reading */
    CHECK_INT(shard_next(r, &p, &a), ERR_DATA);
    CHECK(arena_bytes(&a) < 32 << 20);
    shard_close(r);
    remove(path);
    free(body);
    arena_release(&a);
    str_release(&s);
    str_release(&pipe);
    CHECK_INT(shard_open(&r, "/nowhere/x.tar", 0, NULL), ERR_INPUT);
    shard_close(NULL);
}

/* A hundred thousand keys: none is taken for another, and a late return is seen. */
TEST(many_keys)
{
    struct str s = {0};
    char name[32];
    int n = 100000;
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%09d.txt", i);
        maker_file(&s, name, "x");
    }
    maker_file(&s, "000000001.jpg", "x");
    maker_end(&s);
    struct story y = tell(&s, &(struct shard_options){.hash = 0});
    CHECK_INT(y.samples, n);
    CHECK_INT(y.bad, 1);
    str_release(&y.text);
    str_release(&s);
}

TEST_MAIN
