/* test.h - a test file is a program: TEST(name) { ... } bodies, then TEST_MAIN.
 * Prints one line a test ("ok name", "FAIL name", "skip name: why") and ends with
 * "N passed, N failed, N skipped"; tests/run adds these up. */
#ifndef TEST_H
#define TEST_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_case {
    const char *name;
    void (*run)(void);
    struct test_case *next;
};
static struct test_case *test_first, **test_tail = &test_first;
static int test_bad;
static const char *test_why_skipped;

#define TEST(fn)                                                 \
    static void fn(void);                                        \
    static struct test_case test_case_##fn = {#fn, fn, NULL};    \
    __attribute__((constructor)) static void test_add_##fn(void) \
    {                                                            \
        *test_tail = &test_case_##fn;                            \
        test_tail = &test_case_##fn.next;                        \
    }                                                            \
    static void fn(void)

#define TEST_FAIL(...)                           \
    do {                                         \
        printf("  %s:%d: ", __FILE__, __LINE__); \
        printf(__VA_ARGS__);                     \
        printf("\n");                            \
        test_bad++;                              \
    } while (0)

#define CHECK(cond)                                   \
    do {                                              \
        if (!(cond)) TEST_FAIL("%s is false", #cond); \
    } while (0)
#define CHECK_INT(got, want)                                           \
    do {                                                               \
        long long g_ = (long long)(got), w_ = (long long)(want);       \
        if (g_ != w_) TEST_FAIL("%s is %lld, not %lld", #got, g_, w_); \
    } while (0)
#define CHECK_STR(got, want)                                                     \
    do {                                                                         \
        const char *g_ = (got), *w_ = (want);                                    \
        if (strcmp(g_, w_)) TEST_FAIL("%s is \"%s\", not \"%s\"", #got, g_, w_); \
    } while (0)
#define CHECK_NEAR(got, want, tol)                                                      \
    do {                                                                                \
        double g_ = (got), w_ = (want);                                                 \
        if (!(fabs(g_ - w_) <= (tol))) TEST_FAIL("%s is %.9g, not %.9g", #got, g_, w_); \
    } while (0)
#define CHECK_BYTES(got, want, n)                                      \
    do {                                                               \
        if (memcmp((got), (want), (n))) TEST_FAIL("%s differs", #got); \
    } while (0)
#define SKIP(why)                 \
    do {                          \
        test_why_skipped = (why); \
        return;                   \
    } while (0)

#define TEST_MAIN                                                              \
    int main(int argc, char **argv)                                            \
    {                                                                          \
        int passed = 0, failed = 0, skipped = 0;                               \
        setvbuf(stdout, NULL, _IOLBF, 0);                                      \
        for (struct test_case *t = test_first; t; t = t->next) {               \
            if (argc > 1 && !strstr(t->name, argv[1])) continue;               \
            test_bad = 0;                                                      \
            test_why_skipped = NULL;                                           \
            t->run();                                                          \
            if (test_bad)                                                      \
                failed++, printf("FAIL %s\n", t->name);                        \
            else if (test_why_skipped)                                         \
                skipped++, printf("skip %s: %s\n", t->name, test_why_skipped); \
            else                                                               \
                passed++, printf("ok %s\n", t->name);                          \
        }                                                                      \
        printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped); \
        return failed != 0;                                                    \
    }

#endif
