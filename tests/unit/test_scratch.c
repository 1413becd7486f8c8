/* Scratch arrays: zero at first, keep their bytes when they grow from memory into a file. */
#include "io/scratch.h"
#include "test.h"

#include <dirent.h>

static struct place *make(char path[64])
{
    struct place *p = NULL;
    snprintf(path, 64, "/tmp/darkroom-scratch-XXXXXX");
    CHECK(mkdtemp(path) != NULL);
    CHECK_INT(place_open(&p, path, 1), 0);
    return p;
}

static void unmake(struct place *p, const char *path)
{
    place_close(p);
    CHECK_INT(remove(path), 0); /* so nothing was left in it */
}

static int files_in(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

TEST(bytes_stay_when_it_grows)
{
    char path[64];
    struct place *p = make(path);
    struct scratch s;
    size_t n = 1000;
    CHECK_INT(scratch_open(&s, p, n), 0);
    unsigned char *b = s.p;
    int same = 1;
    for (size_t i = 0; i < n; i++) same &= b[i] == 0;
    for (size_t i = 0; i < n; i++) b[i] = (unsigned char)(i * 7);
    for (size_t more = 3 * n; more < (size_t)40 << 20; more = more * 3 + 1) {
        CHECK_INT(scratch_grow(&s, more), 0);
        CHECK(s.n >= more);
        b = s.p;
        for (size_t i = 0; i < n; i++) same &= b[i] == (unsigned char)(i * 7);
        same &= b[s.n - 1] == 0;
    }
    CHECK(same);
    CHECK(s.fd >= 0); /* it has outgrown memory */
    CHECK_INT(files_in(path), 0);
    scratch_forget(&s, 0, s.n); /* pages go, bytes stay */
    CHECK_INT(((unsigned char *)s.p)[3], 21);
    scratch_close(&s);
    scratch_close(&s);
    unmake(p, path);
}

TEST(empty_and_too_large)
{
    char path[64];
    struct place *p = make(path);
    struct scratch s;
    CHECK_INT(scratch_open(&s, p, 0), 0);
    scratch_close(&s);
    CHECK(scratch_open(&s, p, (size_t)1 << 60) < 0); /* no disk has that */
    scratch_close(&s);
    unmake(p, path);
}

TEST_MAIN
