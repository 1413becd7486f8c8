/* test_tar.c - the tar reader and writer: what is read, and that everything else is refused. */
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "format/tar.h"
#include "format/tar_header.h"
#include "format/tar_writer.h"
#include "io/file.h"
#include "io/place.h"
#include "tar_maker.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

/* What an archive says, "name=body;" for every file, "name/" for others; then how it ended. */
struct reading {
    struct str text;
    int rc, unterminated;
    uint64_t damage;
    char sha256[65];
};

static struct reading read_source(struct source *src, const struct tar_options *o)
{
    struct reading r = {0};
    struct tar_member m;
    struct tar *t = tar_open(src, o);
    while (!(r.rc = tar_next(t, &m))) {
        char *body = mem_alloc(m.size + 1);
        if (strlen(m.name) != m.name_len) TEST_FAIL("name length");
        if ((r.rc = tar_read(t, body, m.size))) {
            free(body);
            break;
        }
        str_puts(&r.text, m.name);
        if (m.regular) str_printf(&r.text, "=%s", body);
        str_putc(&r.text, ';');
        free(body);
    }
    r.unterminated = tar_unterminated(t);
    r.damage = tar_damage_offset(t);
    memcpy(r.sha256, tar_sha256(t), 65);
    if (r.rc < 0) {
        char *said = mem_strdup(err_text());
        CHECK_INT(tar_next(t, &m), r.rc); /* it says the same again */
        CHECK_STR(err_text(), said);
        free(said);
    }
    tar_close(t);
    if (!r.text.p) str_puts(&r.text, "");
    return r;
}

static struct reading read_bytes(const struct str *s, const struct tar_options *o)
{
    /* An exact copy, so that ASan sees one byte too far. */
    char *copy = mem_alloc(s->len);
    memcpy(copy, s->p, s->len);
    struct reading r = read_source(source_of_bytes(copy, s->len), o);
    free(copy);
    return r;
}

static void expect(struct str *s, const char *text)
{
    struct reading r = read_bytes(s, NULL);
    if (r.rc != 1) TEST_FAIL("refused: %s", err_text());
    CHECK_STR(r.text.p, text);
    str_release(&r.text);
    str_release(s);
}

/* Refused, and the sentence holds these words. */
static void expect_damage(struct str *s, const char *words)
{
    struct reading r = read_bytes(s, NULL);
    CHECK_INT(r.rc, ERR_DATA);
    CHECK_INT(err_why(), BAD_TAR_DAMAGED);
    if (!strstr(err_text(), words)) TEST_FAIL("\"%s\" does not say \"%s\"", err_text(), words);
    CHECK(strstr(err_text(), "byte ") != NULL);
    str_release(&r.text);
    str_release(s);
}

TEST(reads_every_dialect)
{
    enum maker_magic all[] = {MAKER_USTAR, MAKER_GNU, MAKER_V7};
    for (int i = 0; i < 3; i++) {
        struct str s = {0};
        maker_member(&s, '0', "a.jpg", "picture", all[i]);
        maker_member(&s, 0, "b.txt", "", all[i]);
        maker_member(&s, '5', "dir/", "", all[i]);
        maker_member(&s, '2', "link", "", all[i]);
        maker_member(&s, '7', "c", "x", all[i]);
        maker_member(&s, '0', "old-folder/", "", all[i]);
        maker_end(&s);
        expect(&s, "a.jpg=picture;b.txt=;dir/;link;c=x;old-folder/;");
    }
}

TEST(reads_an_empty_archive)
{
    struct str s = {0};
    maker_end(&s);
    expect(&s, "");
    maker_zeros(&s, 1024);
    expect(&s, "");
}

TEST(joins_prefix_and_name)
{
    struct str s = {0};
    char b[512], long_name[101];
    memset(long_name, 'n', 100);
    long_name[100] = 0;
    maker_block(b, '0', long_name, 0, MAKER_USTAR);
    memset(b + 345, 'p', 155);
    maker_sum(b);
    str_add(&s, b, 512);
    maker_end(&s);
    struct reading r = read_bytes(&s, NULL);
    CHECK_INT(r.rc, 1);
    CHECK_INT(r.text.len, 155 + 1 + 100 + 2);
    CHECK_INT(r.text.p[155], '/');
    str_release(&r.text);
    str_release(&s);
    /* Old tar knows no prefix: bytes there make it no tar at all. */
    maker_block(b, '0', "a", 0, MAKER_V7);
    b[400] = 'p';
    maker_sum(b);
    str_add(&s, b, 512);
    maker_end(&s);
    expect_damage(&s, "neither ustar, GNU nor old");
    maker_block(b, '0', "a", 0, MAKER_GNU);
    memcpy(b + 345, "13370000000", 12);
    maker_sum(b);
    str_add(&s, b, 512);
    maker_end(&s);
    expect_damage(&s, "incremental");
}

TEST(reads_long_names)
{
    struct str s = {0};
    char name[400];
    memset(name, 'y', sizeof name);
    name[399] = 0;
    maker_member(&s, 'L', "././@LongLink", name, MAKER_GNU);
    maker_member(&s, '0', "yyyy", "1", MAKER_GNU);
    maker_file(&s, "b", "2"); /* the long name was for one member only */
    maker_end(&s);
    struct str want = {0};
    str_printf(&want, "%s=1;b=2;", name);
    expect(&s, want.p);
    str_release(&want);
    maker_member(&s, 'K', "././@LongLink", name, MAKER_GNU);
    maker_member(&s, 'L', "././@LongLink", "long", MAKER_GNU);
    maker_member(&s, '2', "short", "", MAKER_GNU);
    maker_end(&s);
    expect(&s, "long;");
}

TEST(reads_pax)
{
    struct str s = {0};
    maker_member(&s, 'g', "global", "18 comment=a b c\n\n", MAKER_USTAR);
    maker_member(&s, 'x', "pax", "15 path=a/\xc3\xa4.b\n28 mtime=1700000000.1234567\n",
                 MAKER_USTAR);
    maker_file(&s, "short", "1");
    maker_file(&s, "b", "2");
    maker_end(&s);
    expect(&s, "a/\xc3\xa4.b=1;b=2;");
    /* One size rule: pax says 600, the header 0; all 600 bytes are the member's. */
    char b[512], body[600];
    memset(body, 'z', 600);
    maker_member(&s, 'x', "pax", "12 size=600\n", MAKER_USTAR);
    maker_block(b, '0', "a", 0, MAKER_USTAR);
    str_add(&s, b, 512);
    maker_body(&s, body, 600);
    maker_file(&s, "b", "2");
    maker_end(&s);
    struct reading r = read_bytes(&s, NULL);
    CHECK_INT(r.rc, 1);
    CHECK_INT(r.text.len, 2 + 600 + 1 + 4);
    str_release(&r.text);
    str_release(&s);
}

TEST(reads_base256_sizes)
{
    struct str s = {0};
    char b[512];
    maker_block(b, '0', "a", 0, MAKER_GNU);
    memset(b + 124, 0, 12);
    b[124] = (char)0x80;
    b[135] = 3;
    memset(b + 136, 0xff, 12); /* a time before 1970 */
    maker_sum(b);
    str_add(&s, b, 512);
    maker_body(&s, "abc", 3);
    maker_end(&s);
    expect(&s, "a=abc;");
    static const unsigned char wrong[][12] = {
        {0xff, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 253}, /* -3 */
        {0x80, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0},                    /* 2^63 */
        {0x81},
        {0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(b + 124, wrong[i], 12);
        maker_sum(b);
        str_add(&s, b, 512);
        maker_body(&s, "abc", 3);
        maker_end(&s);
        expect_damage(&s, "size");
    }
}

TEST(takes_a_signed_checksum)
{
    struct str s = {0};
    char b[512];
    maker_block(b, '0', "\xc3\xa4.txt", 1, MAKER_USTAR);
    int sum = 8 * ' ';
    for (int i = 0; i < 512; i++)
        if (i < 148 || i > 155) sum += (signed char)b[i];
    snprintf(b + 148, 7, "%06o", (unsigned)sum & 0777777);
    str_add(&s, b, 512);
    maker_body(&s, "1", 1);
    maker_end(&s);
    expect(&s, "\xc3\xa4.txt=1;");
}

/* A header with bytes of a field replaced, the checksum right again. */
static void spoiled(struct str *s, int at, const char *bytes, size_t n)
{
    char b[512];
    maker_block(b, '0', "a", 1, MAKER_USTAR);
    memcpy(b + at, bytes, n);
    maker_sum(b);
    str_add(s, b, 512);
    maker_body(s, "1", 1);
    maker_end(s);
}

TEST(refuses_what_readers_read_differently)
{
    static const struct {
        int at;
        const char *bytes;
        size_t n;
        const char *words;
    } cases[] = {
        {124, "0000000000x", 11, "size field"},
        {124, "\0\0\0\0\0\0\0\0\0\0\0", 11, "size field"},
        {124, "           ", 11, "size field"},
        {124, "00000000 01", 11, "size field"},
        {124, "0000000000\0001", 12, "size field"},
        {124, "00000000008", 11, "size field"},
        {124, "-0000000001", 11, "size field"},
        {100, "0000689", 7, "a number"},
        {136, "yesterday!!", 11, "a number"},
        {329, "dev", 3, "a number"},
        {156, "S", 1, "sparse"},
        {156, "M", 1, "unknown type"},
        {156, "V", 1, "unknown type"},
        {156, "\xff", 1, "unknown type"},
        {156, "5", 1, "with a body"},
        {156, "1", 1, "with a body"},
        {0, "a/", 2, "with a body"},
        {0, "\0", 1, "no name"},
        {257, "rats\0\0", 6, "neither ustar"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str s = {0};
        spoiled(&s, cases[i].at, cases[i].bytes, cases[i].n);
        expect_damage(&s, cases[i].words);
    }
}

TEST(refuses_malformed_pax)
{
    static const char *const records[] = {
        "path=x\n",    /* no length */
        "9 path=x\n ", /* too short by one: garbage follows */
        "99 path=x\n", /* beyond the end */
        "09 path=x\n", /* leading zero */
        "9 path=xy",   /* no newline */
        "7 path\n",    /* no '=' */
        "4 =\n",       /* no key */
        "3 \n",        /* nothing */
        "18446744073709551617 path=x\n",
        "8 path=\n", /* empty path: some readers drop it */
        "9 path=x\n9 path=y\n",
        "9 size=1\n9 size=2\n",
        "10 size=-1\n",
        "11 size=0x1\n",
        "10 size=01\n",
        "9 size= \n",
        "8 size=\n",
        "30 size=99999999999999999999\n",
        "25 GNU.sparse.major=1\n\n\n\n",
        "22 GNU.sparse.size=10\n",
        "21 SCHILY.realsize=1\n",
        "\n",
    };
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        struct str s = {0};
        maker_member(&s, 'x', "pax", records[i], MAKER_USTAR);
        maker_file(&s, "a", "1");
        maker_end(&s);
        expect_damage(&s, "");
    }
    struct str s = {0};
    maker_member(&s, 'g', "pax", "9 path=x\n", MAKER_USTAR);
    maker_file(&s, "a", "1");
    maker_end(&s);
    expect_damage(&s, "global");
    char b[512]; /* a NUL in the path */
    maker_block(b, 'x', "pax", 12, MAKER_USTAR);
    str_add(&s, b, 512);
    maker_body(&s, "12 path=x\0y\n", 12);
    maker_file(&s, "a", "1");
    maker_end(&s);
    expect_damage(&s, "NUL");
}

TEST(refuses_contradicting_extensions)
{
    static const char *const orders[] = {"xx", "LL", "KK", "xL", "Lx", "xg", "Lg", "x", "L", "K"};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct str s = {0};
        for (const char *c = orders[i]; *c; c++)
            maker_member(&s, *c, "extension", strchr("xg", *c) ? "9 path=x\n" : "name",
                         MAKER_USTAR);
        if (orders[i][1]) maker_file(&s, "a", "1"); /* else: an extension and then the end */
        maker_end(&s);
        expect_damage(&s, "");
    }
    struct str s = {0}; /* pax size is for the file, not for the long name in between */
    maker_member(&s, 'x', "pax", "9 size=1\n", MAKER_USTAR);
    maker_member(&s, 'L', "long", "long-name", MAKER_USTAR);
    maker_file(&s, "a", "1");
    maker_end(&s);
    expect(&s, "long-name=1;");
    maker_member(&s, 'L', "long", "", MAKER_USTAR);
    maker_file(&s, "a", "1");
    maker_end(&s);
    expect_damage(&s, "empty long name");
}

TEST(limits)
{
    struct str s = {0};
    char b[512];
    maker_block(b, 'x', "pax", (1 << 20) + 1, MAKER_USTAR);
    str_add(&s, b, 512);
    expect_damage(&s, "1 MiB");
    maker_block(b, '0', "a", (2ull << 30) + 1, MAKER_USTAR);
    str_add(&s, b, 512);
    expect_damage(&s, "limit");
    for (int i = 0; i < 5; i++) maker_file(&s, "a", "1");
    maker_end(&s);
    struct reading r = read_bytes(&s, &(struct tar_options){.members_limit = 4});
    CHECK_INT(r.rc, ERR_DATA);
    CHECK_STR(r.text.p, "a=1;a=1;a=1;a=1;");
    str_release(&r.text);
    r = read_bytes(&s, &(struct tar_options){.members_limit = 5, .member_limit = 1});
    CHECK_INT(r.rc, 1);
    str_release(&r.text);
    str_release(&s);
}

static void small_archive(struct str *s)
{
    maker_member(s, 'x', "pax", "14 path=a.jpg\n", MAKER_USTAR);
    maker_file(s, "a", "picture");
    maker_member(s, 'L', "long", "a.json", MAKER_USTAR);
    maker_file(s, "x", "{}");
    maker_file(s, "b.txt", "");
}

/* Every prefix of an archive is refused, but for those that lose only zeros behind the mark. */
TEST(every_cut_is_found)
{
    struct str s = {0};
    small_archive(&s);
    size_t members = s.len, all;
    maker_end(&s);
    all = s.len;
    for (s.len = 0; s.len < all; s.len++) {
        struct reading r = read_bytes(&s, NULL);
        int whole = s.len >= members + 1024 && s.len % 512 == 0;
        if (r.rc != (whole ? 1 : ERR_DATA)) TEST_FAIL("cut at %zu: %d", s.len, r.rc);
        int boundary = s.len == 0 || s.len == 2048 || s.len == 4096 || s.len == members ||
                       s.len == members + 512;
        if (r.unterminated != boundary) TEST_FAIL("cut at %zu: unterminated", s.len);
        str_release(&r.text);
    }
    str_release(&s);
}

TEST(every_flipped_header_bit_is_found)
{
    struct str s = {0};
    small_archive(&s);
    size_t members = s.len;
    maker_end(&s);
    static const size_t headers[] = {0, 1024, 2048, 3072, 4096};
    for (size_t i = 0; i < 5; i++)
        for (size_t bit = 8 * headers[i]; bit < 8 * (headers[i] + 512); bit++) {
            s.p[bit / 8] ^= (char)(1 << bit % 8);
            struct reading r = read_bytes(&s, NULL);
            if (r.rc != ERR_DATA) TEST_FAIL("bit %zu", bit);
            s.p[bit / 8] ^= (char)(1 << bit % 8);
            str_release(&r.text);
        }
    for (size_t bit = 8 * members; bit < 8 * s.len; bit++) { /* and in the end mark */
        s.p[bit / 8] ^= (char)(1 << bit % 8);
        struct reading r = read_bytes(&s, NULL);
        if (r.rc != ERR_DATA) TEST_FAIL("bit %zu of the end", bit);
        s.p[bit / 8] ^= (char)(1 << bit % 8);
        str_release(&r.text);
    }
    str_release(&s);
}

TEST(damage_says_where)
{
    struct str s = {0};
    maker_file(&s, "a", "1");
    maker_file(&s, "b", "2");
    s.p[1024 + 3] ^= 4;
    struct reading r = read_bytes(&s, NULL);
    CHECK_STR(r.text.p, "a=1;");
    CHECK_INT(r.damage, 1024);
    CHECK_STR(err_text(), "byte 1024: the header checksum is wrong");
    str_release(&r.text);
    str_clear(&s);
    maker_file(&s, "a", "1");
    maker_zeros(&s, 512); /* a lone zero block */
    maker_file(&s, "b", "2");
    maker_end(&s);
    expect_damage(&s, "after the end");
    maker_file(&s, "a", "1");
    maker_end(&s);
    str_puts(&s, "more");
    expect_damage(&s, "after the end");
}

TEST(large_bodies_and_odd_sizes)
{
    struct rng rng = {5};
    struct str s = {0};
    char b[512];
    static const size_t sizes[] = {0,      1,      511,    512,    513, 131072,  131071,
                                   262144, 262143, 262145, 700001, 5,   3 << 20, 1};
    enum { N = sizeof sizes / sizeof *sizes };
    uint64_t want[N];
    for (int i = 0; i < N; i++) {
        unsigned char *body = mem_alloc(sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++) body[k] = (unsigned char)rng_u64(&rng);
        maker_block(b, '0', "x", sizes[i], MAKER_USTAR);
        str_add(&s, b, 512);
        maker_body(&s, body, sizes[i]);
        want[i] = hash64(body, sizes[i]);
        free(body);
    }
    maker_end(&s);
    for (int skip = 0; skip < 3; skip++) { /* all; the first half of each; none */
        struct tar *t = tar_open(source_of_bytes(s.p, s.len), NULL);
        struct tar_member m;
        for (int i = 0; i < N; i++) {
            CHECK_INT(tar_next(t, &m), 0);
            CHECK_INT(m.size, sizes[i]);
            CHECK(tar_has(t, m.size));
            size_t n = skip == 2 ? 0 : skip ? m.size / 2 : m.size;
            unsigned char *body = mem_alloc(n);
            CHECK_INT(tar_read(t, body, n / 3), 0);
            CHECK_INT(tar_read(t, body + n / 3, n - n / 3), 0);
            if (!skip) CHECK(hash64(body, n) == want[i]);
            free(body);
        }
        CHECK_INT(tar_next(t, &m), 1);
        CHECK_INT(tar_next(t, &m), 1);
        tar_close(t);
    }
    struct tar *t = tar_open(source_of_bytes(s.p, s.len), NULL); /* and without a copy */
    struct tar_member m;
    for (int i = 0; i < N; i++) {
        struct str body = {0};
        const void *p;
        int64_t got;
        CHECK_INT(tar_next(t, &m), 0);
        while ((got = tar_span(t, &p)) > 0) str_add(&body, p, (size_t)got);
        CHECK_INT(got, 0);
        CHECK(body.len == sizes[i] && hash64(body.p ? body.p : "", body.len) == want[i]);
        str_release(&body);
    }
    CHECK_INT(tar_next(t, &m), 1);
    tar_close(t);
    t = tar_open(source_of_bytes(s.p, 512 + 512 + 300), NULL); /* cut inside the second body */
    const void *p;
    int64_t got;
    CHECK_INT(tar_next(t, &m), 0);
    CHECK_INT(tar_next(t, &m), 0);
    CHECK_INT(tar_span(t, &p), 1);
    CHECK_INT(tar_span(t, &p), 0);
    CHECK_INT(tar_next(t, &m), ERR_DATA);
    tar_close(t);
    t = tar_open(source_of_bytes(s.p, s.len - (1 << 20)), NULL);
    while (!(got = tar_next(t, &m)))
        while ((got = tar_span(t, &p)) > 0) {
        }
    CHECK_INT(got, ERR_DATA);
    CHECK_INT(tar_span(t, &p), ERR_DATA);
    tar_close(t);
    str_release(&s);
}

static void gzip(struct str *out, const struct str *in)
{
    z_stream z = {0};
    deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    size_t bound = deflateBound(&z, in->len);
    str_reserve(out, bound);
    z.next_in = (unsigned char *)in->p;
    z.avail_in = (unsigned)in->len;
    z.next_out = (unsigned char *)out->p + out->len;
    z.avail_out = (unsigned)bound;
    CHECK_INT(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->len += z.total_out;
    deflateEnd(&z);
}

static void zstd(struct str *out, const struct str *in)
{
    size_t bound = ZSTD_compressBound(in->len);
    str_reserve(out, bound);
    out->len += ZSTD_compress(out->p + out->len, bound, in->p, in->len, 3);
}

TEST(unpacks_gzip_and_zstd)
{
    void (*pack[])(struct str *, const struct str *) = {gzip, zstd};
    struct str s = {0}, packed = {0}, head = {0}, tail = {0};
    small_archive(&s);
    maker_end(&s);
    for (int k = 0; k < 2; k++) {
        str_clear(&packed);
        pack[k](&packed, &s);
        struct reading r = read_bytes(&packed, &(struct tar_options){.hash = 1});
        char hex[65];
        sha256_of(hex, packed.p, packed.len);
        CHECK_INT(r.rc, 1);
        CHECK_STR(r.text.p, "a.jpg=picture;a.json={};b.txt=;");
        CHECK_STR(r.sha256, hex); /* of the file, not of what is in it */
        str_release(&r.text);
        size_t all = packed.len;
        for (packed.len = 1; packed.len < all; packed.len++) {
            r = read_bytes(&packed, NULL);
            if (r.rc != ERR_DATA) TEST_FAIL("packing %d cut at %zu: %d", k, packed.len, r.rc);
            str_release(&r.text);
        }
        packed.len = all;
        str_puts(&packed, "x");
        r = read_bytes(&packed, NULL); /* something behind the stream */
        CHECK_INT(r.rc, ERR_DATA);
        str_release(&r.text);
        /* In two pieces, as pigz and zstd -T write it. */
        str_clear(&packed);
        str_clear(&head);
        str_clear(&tail);
        str_add(&head, s.p, 700);
        str_add(&tail, s.p + 700, s.len - 700);
        pack[k](&packed, &head);
        pack[k](&packed, &tail);
        if (!k) maker_zeros(&packed, 100); /* gzip on tape */
        r = read_bytes(&packed, NULL);
        CHECK_INT(r.rc, 1);
        CHECK_STR(r.text.p, "a.jpg=picture;a.json={};b.txt=;");
        str_release(&r.text);
    }
    str_release(&s);
    str_release(&packed);
    str_release(&head);
    str_release(&tail);
}

TEST(names_packings_it_does_not_read)
{
    struct str s = {0};
    str_add(&s, "BZh91AY&SY......", 16);
    struct reading r = read_bytes(&s, NULL);
    CHECK_INT(r.rc, ERR_DATA);
    CHECK(strstr(err_text(), "bzip2") != NULL);
    str_release(&r.text);
    str_clear(&s);
    str_add(&s, "\xfd\x37zXZ\0......", 12);
    r = read_bytes(&s, NULL);
    CHECK_INT(r.rc, ERR_DATA);
    CHECK(strstr(err_text(), "xz") != NULL);
    str_release(&r.text);
    str_clear(&s);
    maker_file(&s, "BZh9", "1"); /* a file called so is no bzip2 */
    maker_end(&s);
    expect(&s, "BZh9=1;");
}

static char folder[] = "/tmp/test_tar_XXXXXX";

static void write_file(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(p, 1, n, f) == n);
    if (f) fclose(f);
}

/* A command that fails half-way is the source's failure, not a damaged archive. */
TEST(a_failing_pipe_is_not_damage)
{
    struct str s = {0}, name = {0};
    char path[64];
    small_archive(&s);
    maker_end(&s);
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/a.tar", folder);
    write_file(path, s.p, s.len);
    static const struct {
        const char *command;
        int rc;
    } cases[] = {{"cat %s", 1},
                 {"head -c 1800 %s", ERR_DATA},
                 {"head -c 1800 %s; exit 3", ERR_INPUT},
                 {"head -c 2048 %s; exit 3", ERR_INPUT},
                 {"cat %s; exit 1", ERR_INPUT},
                 {"exit 1; cat %s", ERR_INPUT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct source *src;
        str_clear(&name);
        str_puts(&name, "pipe:");
        const char *at = strstr(cases[i].command, "%s");
        str_add(&name, cases[i].command, (size_t)(at - cases[i].command));
        str_printf(&name, "%s%s", path, at + 2);
        CHECK_INT(source_open(&src, name.p), 0);
        struct reading r = read_source(src, NULL);
        if (r.rc != cases[i].rc) TEST_FAIL("%s: %d", name.p, r.rc);
        str_release(&r.text);
    }
    struct source *src; /* and a plain file, hashed */
    CHECK_INT(source_open(&src, path), 0);
    struct reading r = read_source(src, &(struct tar_options){.hash = 1});
    char hex[65];
    sha256_of(hex, s.p, s.len);
    CHECK_INT(r.rc, 1);
    CHECK_STR(r.sha256, hex);
    str_release(&r.text);
    unlink(path);
    rmdir(folder);
    str_release(&s);
    str_release(&name);
}

/* Closing in the middle gives everything back (seen by ASan and valgrind). */
TEST(closes_at_any_moment)
{
    struct str s = {0};
    struct tar_member m;
    small_archive(&s);
    maker_end(&s);
    tar_close(NULL);
    tar_close(tar_open(source_of_bytes(s.p, s.len), &(struct tar_options){.hash = 1}));
    struct tar *t = tar_open(source_of_bytes(s.p, s.len), &(struct tar_options){.hash = 1});
    CHECK_INT(tar_next(t, &m), 0);
    char c[8];
    CHECK_INT(tar_read(t, c, 8), ERR_FAIL); /* more than there is */
    CHECK_INT(tar_read(t, c, 2), 0);
    tar_close(t);
    str_release(&s);
}

static void write_names(struct str *out, const char *const *names, size_t n)
{
    struct place *place;
    struct sink *sink;
    struct tar_writer w;
    char dir[] = "/tmp/test_tar_XXXXXX", path[64];
    CHECK(mkdtemp(dir) != NULL);
    CHECK_INT(place_open(&place, dir, 1), 0);
    CHECK_INT(place_create(place, "a.tar", &sink), 0);
    tar_writer_init(&w, sink);
    for (size_t i = 0; i < n; i++) CHECK_INT(tar_writer_add(&w, names[i], "body", i % 5), 0);
    CHECK_INT(tar_writer_add(&w, "", "", 0), ERR_USAGE);
    CHECK_INT(tar_writer_add(&w, "folder/", "", 0), ERR_USAGE);
    CHECK_INT(tar_writer_end(&w), 0);
    CHECK_INT(w.offset % 10240, 0);
    CHECK_INT(sink_commit(sink, NULL, NULL), 0);
    snprintf(path, sizeof path, "%s/a.tar", dir);
    CHECK_INT(file_read(out, path, 1 << 30), 0);
    CHECK_INT(out->len, w.offset);
    place_close(place);
    unlink(path);
    rmdir(dir);
}

TEST(writes_what_it_reads)
{
    const char *names[1000];
    struct str want = {0}, one = {0}, two = {0};
    size_t n = 0;
    for (size_t len = 1; len<600; len += len> 300 ? 37 : 1) { /* around every ustar limit */
        for (int kind = 0; kind < 2; kind++) {
            char *name = mem_alloc(len + 1);
            memset(name, 'a' + kind, len);
            for (size_t i = 50; kind && i + 1 < len; i += 50) name[i] = '/';
            names[n++] = name;
        }
    }
    names[n++] = mem_strdup("caf\xc3\xa9/\xe6\x97\xa5.jpg");
    for (size_t i = 0; i < n; i++) str_printf(&want, "%s=%.*s;", names[i], (int)(i % 5), "body");
    write_names(&one, names, n);
    write_names(&two, names, n);
    CHECK_INT(one.len, two.len);
    CHECK_BYTES(one.p, two.p, one.len);
    expect(&one, want.p);
    for (size_t i = 0; i < n; i++) free((char *)(uintptr_t)names[i]);
    str_release(&two);
    const char *plain[] = {"000000012.jpg", "000000012.json", "000000012.txt"};
    write_names(&one, plain, 3); /* no pax where none is needed */
    CHECK_INT(one.p[156], '0');
    CHECK_INT(one.len, 10240);
    str_release(&one);
    str_release(&want);
}

/* A member in parts has the bytes of a member at once. */
TEST(writes_in_parts)
{
    char dir[] = "/tmp/test_tar_XXXXXX", body[3000];
    struct place *place;
    struct str file[2] = {{0}, {0}};
    static const size_t sizes[] = {0, 1, 511, 512, 513, 3000};
    memset(body, 'x', sizeof body);
    CHECK(mkdtemp(dir) != NULL);
    CHECK_INT(place_open(&place, dir, 1), 0);
    for (int parts = 0; parts < 2; parts++) {
        struct sink *sink;
        struct tar_writer w;
        CHECK_INT(place_create(place, "t.tar", &sink), 0);
        tar_writer_init(&w, sink);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size_t n = sizes[i];
            if (!parts) {
                CHECK_INT(tar_writer_add(&w, "a.bin", body, n), 0);
                continue;
            }
            CHECK_INT(tar_writer_begin(&w, "a.bin", n), 0);
            CHECK_INT(tar_writer_put(&w, body, n / 3), 0);
            CHECK_INT(tar_writer_put(&w, body, n - n / 3), 0);
        }
        CHECK_INT(tar_writer_end(&w), 0);
        CHECK_INT(sink_commit(sink, NULL, NULL), 0);
        CHECK_INT(place_read(place, "t.tar", &file[parts], 1 << 20), 0);
    }
    CHECK_INT(file[0].len, file[1].len);
    CHECK_BYTES(file[0].p, file[1].p, file[0].len);
    CHECK_INT(place_remove(place, "t.tar"), 0);
    place_close(place);
    rmdir(dir);
    str_release(&file[0]);
    str_release(&file[1]);
}

TEST_MAIN
