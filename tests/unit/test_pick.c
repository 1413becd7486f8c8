/* test_pick.c - samples out of tars: in order, out of order, with long names, cut short. */
#include "base/err.h"
#include "data/pick.h"
#include "tar_maker.h"
#include "test.h"

#include <unistd.h>

static void check_body(struct pick *p, const char *key, const char *want)
{
    const void *bytes = "";
    size_t n = 0;
    int none = pick_find(p, &bytes, &n, key, "jpg;png");
    CHECK_INT(none, want == NULL);
    if (!none && want && (n != strlen(want) || memcmp(bytes, want, n)))
        TEST_FAIL("%s holds %.*s, not %s", key, (int)n, (const char *)bytes, want);
}

/* Large enough that halving has something to do. */
static void add_samples(struct str *tar, int count, int step)
{
    static char big[40000];
    memset(big, 'x', sizeof big - 1);
    for (int k = 0; k < count; k++) {
        char name[64], body[64];
        int i = (int)((long)k * step % count);
        snprintf(name, sizeof name, "%06d.txt", i);
        maker_file(tar, name, "words");
        snprintf(name, sizeof name, "%06d.png", i);
        maker_file(tar, name, i % 3 ? big : "second choice");
        snprintf(name, sizeof name, "%06d.jpg", i);
        snprintf(body, sizeof body, "picture %d", i);
        if (i % 7) maker_file(tar, name, body);
    }
    maker_zeros(tar, 1024);
}

static void check_samples(int count, int step)
{
    struct str tar = {0};
    add_samples(&tar, count, step);
    struct pick *p = pick_of(tar.p, tar.len);
    CHECK_STR(pick_first(p), "000000");
    for (int i = 0; i < count; i += 1 + i % 5) {
        char key[16], body[64];
        snprintf(key, sizeof key, "%06d", i);
        snprintf(body, sizeof body, "picture %d", i);
        if (i % 7)
            check_body(p, key, body);
        else if (i % 3 == 0)
            check_body(p, key, "second choice");
    }
    check_body(p, "00000", NULL);
    check_body(p, "0000000", NULL);
    check_body(p, "999999", NULL);
    check_body(p, "", NULL);
    pick_close(p);
    str_release(&tar);
}

TEST(keys_in_order)
{
    check_samples(600, 1);
}

TEST(keys_out_of_order)
{
    check_samples(300, 101);
}

TEST(long_names)
{
    struct str tar = {0};
    char name[300];
    maker_member(&tar, 'g', "global", "19 comment=nothing\n", MAKER_USTAR);
    memset(name, 'k', 250);
    strcpy(name + 250, ".jpg");
    maker_member(&tar, 'L', "././@LongLink", name, MAKER_GNU);
    maker_file(&tar, "kkkk", "gnu");
    maker_member(&tar, 'x', "PaxHeader", "22 path=l\xc3\xa9zard/1.jpg\n", MAKER_USTAR);
    maker_file(&tar, "l_zard/1.jpg", "pax");
    maker_zeros(&tar, 1024);
    struct pick *p = pick_of(tar.p, tar.len);
    name[250] = 0;
    check_body(p, name, "gnu");
    check_body(p, "l\xc3\xa9zard/1", "pax");
    check_body(p, "l_zard/1", NULL);
    pick_close(p);
    str_release(&tar);
}

/* Cut anywhere, a header spoiled anywhere: an answer, never a crash. */
TEST(damaged_tars)
{
    struct str tar = {0};
    add_samples(&tar, 30, 1);
    for (size_t cut = 0; cut <= tar.len; cut += cut < 4096 ? 37 : tar.len / 40) {
        char *part = malloc(cut + 1); /* of its own, so that a byte too far is seen */
        memcpy(part, tar.p, cut);
        struct pick *p = pick_of(part, cut);
        const void *bytes;
        size_t n;
        for (int i = 0; i < 30; i += 7) {
            char key[16];
            snprintf(key, sizeof key, "%06d", i);
            if (!pick_find(p, &bytes, &n, key, "jpg;png"))
                for (size_t k = 0; k < n; k += 100) CHECK(((const char *)bytes)[k] != 0);
        }
        pick_close(p);
        free(part);
    }
    str_release(&tar);
}

TEST(files)
{
    char path[] = "/tmp/pickXXXXXX";
    struct str tar = {0};
    struct pick *p;
    CHECK_INT(pick_open(&p, "/nonexistent/x.tar"), ERR_INPUT);
    add_samples(&tar, 5, 1);
    int fd = mkstemp(path);
    CHECK(write(fd, tar.p, tar.len) == (ssize_t)tar.len);
    CHECK_INT(pick_open(&p, path), 0);
    check_body(p, "000002", "picture 2");
    pick_close(p);
    CHECK(pwrite(fd, "\x1f\x8b\x08", 3, 0) == 3);
    CHECK_INT(pick_open(&p, path), ERR_INPUT);
    CHECK(strstr(err_text(), "compressed"));
    CHECK(!p);
    close(fd);
    unlink(path);
    str_release(&tar);
}

TEST_MAIN
