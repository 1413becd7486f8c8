/* test_folder.c - pictures of a folder as samples. */
#include "base/err.h"
#include "base/str.h"
#include "data/folder.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/test_folder_XXXXXX";

static const char *below(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(below(name), "wb");
    if (!f)
        TEST_FAIL("%s", name);
    else {
        fputs(text, f);
        fclose(f);
    }
}

static void link_to(const char *target, const char *name)
{
    if (symlink(target, below(name))) TEST_FAIL("%s", name);
}

static void story(struct str *out, uint64_t limit)
{
    struct folder *f;
    struct arena a = {0};
    struct sample s;
    CHECK_INT(folder_open(&f, root, 3), 0);
    for (size_t i = 0; i < folder_count(f); i++) {
        int rc = folder_load(f, &s, &a, i, limit);
        CHECK_INT(s.shard, 3);
        CHECK_INT(s.offset, i);
        str_puts(out, s.key);
        if (rc) str_printf(out, "!%s", rc == ERR_DATA ? bad_name(err_why()) : err_text());
        for (int k = 0; k < s.count; k++) {
            const struct sample_member *m = &s.members[k];
            str_printf(out, "%c%s=%.*s", k ? ',' : '(', m->ext, (int)m->size,
                       (const char *)m->data);
            CHECK(!strncmp(m->path, root, strlen(root)) && !access(m->path, R_OK));
        }
        str_puts(out, rc ? ";" : ");");
        arena_reset(&a);
    }
    arena_release(&a);
    folder_close(f);
}

TEST(pictures_with_their_texts)
{
    struct str s = {0};
    CHECK(mkdtemp(root) != NULL);
    mkdir(below("sub"), 0777);
    mkdir(below("sub/deep"), 0777);
    mkdir(below(".hidden"), 0777);
    put("b.JPG", "1");
    put("b.txt", "one");
    put("b.json", "{}");
    put("a.v2.png", "2"); /* the last dot counts */
    put("a.v2.txt", "two");
    put("sub/c.webp", "3");
    put("sub/deep/d.gif", "4");
    put("sub/text-only.txt", "t");
    put("lonely.json", "{}");
    put("notes.md", "x");
    put("noext", "x");
    put(".dot.jpg", "x");
    put(".hidden/e.jpg", "x");
    put("twins.jpg", "5");
    put("twins.png", "6");
    put("twins.txt", "seven");
    put("x.bmp", "");
    story(&s, 0);
    CHECK_STR(s.p, "a.v2(png=2,txt=two);b(jpg=1,json={},txt=one);sub/c(webp=3);sub/deep/d(gif=4);"
                   "sub/text-only(txt=t);twins.jpg(jpg=5,txt=seven);twins.png(png=6,txt=seven);"
                   "x(bmp=);");
    str_clear(&s);
    story(&s, 3);
    CHECK(strstr(s.p, "twins.jpg!too_large;twins.png!too_large;x(bmp=);") != NULL);
    put("x.txt", "a");
    put("x.TXT", "b");
    str_clear(&s);
    story(&s, 0);
    CHECK(strstr(s.p, ";x!duplicate_member;") != NULL);
    str_release(&s);
}

/* Loops and second ways to a folder: every picture once, under its own name. */
TEST(links)
{
    struct str s = {0};
    unlink(below("x.txt"));
    unlink(below("x.TXT"));
    story(&s, 0);
    char *before = strdup(s.p);
    link_to(".", "loop");
    link_to("..", "sub/up");
    link_to("sub", "a-link");
    link_to("nowhere", "dangling.jpg");
    str_clear(&s);
    story(&s, 0);
    CHECK_STR(s.p, before);
    free(before);
    /* A folder outside is entered, once, by the first link in byte order. */
    char other[] = "/tmp/test_folder_XXXXXX", path[64];
    CHECK(mkdtemp(other) != NULL);
    snprintf(path, sizeof path, "%s/o.jpg", other);
    FILE *f = fopen(path, "wb");
    if (f) fclose(f);
    link_to(other, "z2");
    link_to(other, "z1");
    str_clear(&s);
    story(&s, 0);
    CHECK(str_ends(s.p, "x(bmp=);z1/o(jpg=);"));
    unlink(path);
    rmdir(other);
    str_release(&s);
}

TEST(missing)
{
    struct folder *f;
    CHECK_INT(folder_open(&f, "/nowhere/at/all", 0), ERR_INPUT);
    folder_close(NULL);
    struct arena a = {0};
    struct sample s;
    CHECK_INT(folder_open(&f, root, 0), 0);
    CHECK(folder_ignored(f) >= 3);
    unlink(below("a.v2.png")); /* gone after the list was made: a fault, not a bad sample */
    CHECK_INT(folder_load(f, &s, &a, 0, 0), ERR_INPUT);
    folder_close(f);
    arena_release(&a);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK_INT(system(command), 0);
}

TEST_MAIN
