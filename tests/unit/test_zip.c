/* zip: archives written by numpy and torch, and every lie a directory can tell. */
#include "test.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "format/zip.h"
#include "io/file.h"

static unsigned char *load(const char *name, size_t *n)
{
    char path[128];
    struct file_map f;
    snprintf(path, sizeof path, "tests/data/weights/%s", name);
    if (file_map(&f, path)) return NULL;
    unsigned char *p = malloc(f.n);
    memcpy(p, f.p, f.n);
    *n = f.n;
    file_unmap(&f);
    return p;
}

static int check(const void *p, size_t n)
{
    struct zip z;
    int rc = zip_init(&z, p, n);
    zip_release(&z);
    return rc;
}

static unsigned char *find(unsigned char *p, size_t n, const char *sig)
{
    return memmem(p, n, sig, 4);
}

TEST(stored_and_deflated_members)
{
    static const char *const names[] = {"stored.npz", "deflated.npz"};
    char first[2][512];
    for (int i = 0; i < 2; i++) {
        struct zip z;
        size_t n;
        unsigned char *p = load(names[i], &n);
        CHECK_INT(zip_init(&z, p, n), 0);
        CHECK_INT(z.count, 2);
        CHECK(zip_find(&z, "c.npy") == NULL);
        const struct zip_entry *e = zip_find(&z, "a.npy");
        CHECK(e && e->size == 176);
        if (i == 0) {
            CHECK_INT(e->method, ZIP_STORED);
            CHECK_INT(zip_check(e, e->data), 0);
            memcpy(first[0], e->data, e->size);
        } else {
            CHECK_INT(e->method, ZIP_DEFLATED);
            CHECK_INT(zip_inflate(first[1], e), 0);
            CHECK_BYTES(first[0], first[1], e->size);
            p[e->data - p + 20] ^= 1; /* damage inside the deflate stream */
            CHECK_INT(zip_inflate(first[1], e), ERR_INPUT);
        }
        zip_release(&z);
        free(p);
    }
}

TEST(every_cut_and_every_flip_is_survived)
{
    static const char *const names[] = {"stored.npz", "deflated.npz", "lone.pt"};
    for (int i = 0; i < 3; i++) {
        size_t n;
        unsigned char *p = load(names[i], &n);
        for (size_t cut = 0; cut < n; cut++) {
            unsigned char *q = malloc(cut ? cut : 1);
            memcpy(q, p, cut);
            CHECK_INT(check(q, cut), ERR_INPUT);
            free(q);
        }
        for (size_t at = 0; at < n; at++)
            for (int bit = 0; bit < 8; bit++) {
                p[at] ^= (unsigned char)(1 << bit);
                check(p, n); /* data bytes may differ; it must only not read outside */
                p[at] ^= (unsigned char)(1 << bit);
            }
        CHECK_INT(check(p, n), 0);
        free(p);
    }
}

/* Change one field of the first central or local record; each must be noticed. */
TEST(directory_and_local_header_must_agree)
{
    static const struct {
        const char *sig;
        size_t at;
        unsigned char value;
    } lies[] = {
        {"PK\1\2", 8, 1},     /* encrypted */
        {"PK\1\2", 10, 8},    /* method */
        {"PK\1\2", 10, 12},   /* a method we do not know */
        {"PK\1\2", 16, 0xaa}, /* crc */
        {"PK\1\2", 20, 1},    /* packed size */
        {"PK\1\2", 24, 1},    /* size */
        {"PK\1\2", 28, 4},    /* name length */
        {"PK\1\2", 42, 1},    /* offset */
        {"PK\1\2", 46, 'b'},  /* name, now a duplicate too */
        {"PK\3\4", 6, 1},     {"PK\3\4", 8, 8},  {"PK\3\4", 14, 0xaa}, {"PK\3\4", 26, 4},
        {"PK\3\4", 30, 'z'},  {"PK\5\6", 4, 1},  {"PK\5\6", 8, 1},     {"PK\5\6", 10, 1},
        {"PK\5\6", 12, 1},    {"PK\5\6", 16, 1}, {"PK\5\6", 20, 1},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        size_t n;
        unsigned char *p = load("stored.npz", &n), *at = find(p, n, lies[i].sig);
        CHECK(at && at[lies[i].at] != lies[i].value);
        at[lies[i].at] = lies[i].value;
        if (check(p, n) != ERR_INPUT)
            TEST_FAIL("not noticed: %.2s.. field %zu", lies[i].sig, lies[i].at);
        free(p);
    }
}

TEST(two_members_may_not_share_bytes)
{
    /* Both records of the directory describe the first member under the same name. */
    size_t n;
    unsigned char *p = load("stored.npz", &n), *one = find(p, n, "PK\1\2");
    size_t left = n - (size_t)(one + 4 - p);
    unsigned char *two = find(one + 4, left, "PK\1\2");
    CHECK(two != NULL);
    memcpy(two, one, 46 + 5);
    CHECK_INT(check(p, n), ERR_INPUT);
    CHECK(strstr(err_text(), "two members") != NULL);
    free(p);
}

/* ---- archives made by hand ---- */

static void put(struct str *s, uint64_t v, int bytes)
{
    for (; bytes--; v >>= 8) str_putc(s, (char)(v & 255));
}

static void put_local(struct str *s, const char *name, const void *data, size_t n)
{
    str_add(s, "PK\3\4\0\0\0\0\0\0\0\0\0\0", 14);
    put(s, hash_crc32(0, data, n), 4);
    put(s, n, 4);
    put(s, n, 4);
    put(s, strlen(name), 2);
    put(s, 0, 2);
    str_puts(s, name);
    str_add(s, data, n);
}

/* zip64: sizes and offset stand in the extra field. */
static void put_central(struct str *s, const char *name, const void *data, size_t n, size_t at,
                        int zip64)
{
    str_add(s, "PK\1\2\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    put(s, hash_crc32(0, data, n), 4);
    put(s, zip64 ? UINT32_MAX : n, 4);
    put(s, zip64 ? UINT32_MAX : n, 4);
    put(s, strlen(name), 2);
    put(s, zip64 ? 28 : 0, 2);
    put(s, 0, 10); /* comment, disk, attributes */
    put(s, zip64 ? UINT32_MAX : at, 4);
    str_puts(s, name);
    if (!zip64) return;
    put(s, 1, 2);
    put(s, 24, 2);
    put(s, n, 8);
    put(s, n, 8);
    put(s, at, 8);
}

static void put_end(struct str *s, size_t start, size_t count, int zip64)
{
    size_t here = s->len, size = here - start;
    if (zip64) {
        str_add(s, "PK\6\6", 4);
        put(s, 44, 8);
        put(s, 45 | 45 << 16, 4);
        put(s, 0, 8);
        put(s, count, 8);
        put(s, count, 8);
        put(s, size, 8);
        put(s, start, 8);
        str_add(s, "PK\6\7\0\0\0\0", 8);
        put(s, here, 8);
        put(s, 1, 4);
    }
    str_add(s, "PK\5\6\0\0\0\0", 8);
    put(s, zip64 ? UINT16_MAX : count, 2);
    put(s, zip64 ? UINT16_MAX : count, 2);
    put(s, zip64 ? UINT32_MAX : size, 4);
    put(s, zip64 ? UINT32_MAX : start, 4);
    put(s, 0, 2);
}

TEST(zip64_records)
{
    struct str s = {0};
    struct zip z;
    put_local(&s, "a", "hello", 5);
    size_t start = s.len;
    put_central(&s, "a", "hello", 5, 0, 1);
    put_end(&s, start, 1, 1);
    CHECK_INT(zip_init(&z, s.p, s.len), 0);
    CHECK(zip_find(&z, "a") && !memcmp(zip_find(&z, "a")->data, "hello", 5));
    zip_release(&z);
    for (size_t i = start; i < s.len; i++) {
        unsigned char *copy = malloc(s.len);
        memcpy(copy, s.p, s.len);
        copy[i] ^= 0x80; /* a size, offset or count beyond all bounds */
        check(copy, s.len);
        free(copy);
    }
    str_release(&s);
}

TEST(a_member_inside_another_is_refused)
{
    struct str inner = {0}, s = {0};
    put_local(&inner, "b", "xy", 2);
    put_local(&s, "a", inner.p, inner.len);
    size_t start = s.len;
    put_central(&s, "a", inner.p, inner.len, 0, 0);
    put_central(&s, "b", "xy", 2, 31, 0);
    put_end(&s, start, 2, 0);
    CHECK_INT(check(s.p, s.len), ERR_INPUT);
    CHECK(strstr(err_text(), "overlap") != NULL);
    str_release(&inner);
    str_release(&s);
}

TEST(empty_and_short)
{
    unsigned char end[22] = "PK\5\6";
    CHECK_INT(check(end, sizeof end), 0);
    end[10] = end[8] = 1; /* one member promised, none there */
    CHECK_INT(check(end, sizeof end), ERR_INPUT);
    CHECK_INT(check("PK", 2), ERR_INPUT);
    CHECK(!zip_is("PK", 2));
}

TEST_MAIN
