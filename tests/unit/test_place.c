/* Places, sinks, spills, receipts and runs in a folder of their own. */
#include "scratch_place.h"
#include "base/err.h"
#include "base/hash.h"
#include "data/receipt.h"
#include "io/place.h"
#include "io/source.h"
#include "io/spill.h"

#include <signal.h>
#include <sys/resource.h>

TEST(a_sink_is_invisible_until_committed)
{
    struct place *p = make();
    struct sink *s;
    char sha[65], want[65];
    uint64_t size;
    CHECK_INT(place_create(p, "a/b/c.bin", &s), 0);
    CHECK_INT(sink_write(s, "0000payload", 11), 0);
    CHECK_INT(sink_patch(s, 0, "head", 4), 0);
    CHECK(!place_exists(p, "a/b/c.bin", NULL));
    CHECK_INT(sink_commit(s, sha, &size), 0);
    CHECK(place_exists(p, "a/b/c.bin", &size) && size == 11);
    sha256_of(want, "headpayload", 11);
    CHECK_STR(sha, want);
    CHECK_INT(place_create(p, "a/b/c.bin", &s), 0);
    CHECK_INT(sink_write(s, "x", 1), 0);
    sink_abort(s);
    struct names n = {0};
    CHECK_INT(place_list(p, "a/b", &n), 0);
    CHECK_INT(n.count, 1);
    names_release(&n);
    unmake(p);
}

TEST(only_empty_folders_go)
{
    struct place *p = make();
    CHECK_INT(place_write(p, "a/b/c", "x", 1), 0);
    CHECK_INT(place_remove_folder(p, "a/b"), 0);
    CHECK(place_exists(p, "a/b/c", NULL));
    CHECK_INT(place_remove(p, "a/b/c"), 0);
    CHECK_INT(place_remove_folder(p, "a/b"), 0);
    CHECK_INT(place_remove_folder(p, "a/b"), 0); /* gone already */
    CHECK_INT(place_remove_folder(p, "a"), 0);
    CHECK_INT(place_write(p, "a/b/c", "x", 1), 0); /* and made again */
    CHECK_INT(place_write(p, "f", "x", 1), 0);
    CHECK_INT(place_remove_folder(p, "f"), ERR_OUTPUT); /* not a folder */
    unmake(p);
}

TEST(large_writes_and_patches)
{
    struct place *p = make();
    struct sink *s;
    struct file_map m;
    char *big = malloc(3 << 20);
    memset(big, 'a', 3 << 20);
    CHECK_INT(place_create(p, "big", &s), 0);
    for (int i = 0; i < 1000; i++) CHECK_INT(sink_write(s, big, 777), 0);
    CHECK_INT(sink_write(s, big, 3 << 20), 0);
    CHECK_INT(sink_patch(s, 1000, "zz", 2), 0);
    CHECK_INT(sink_write(s, "end", 3), 0);
    CHECK_INT(sink_commit(s, NULL, NULL), 0);
    CHECK_INT(place_map(p, "big", &m), 0);
    CHECK_INT(m.n, 777000 + (3 << 20) + 3);
    CHECK(m.p[1000] == 'z' && m.p[1001] == 'z' && m.p[1002] == 'a' &&
          !memcmp(m.p + m.n - 3, "end", 3));
    file_unmap(&m);
    free(big);
    unmake(p);
}

/* Written and hashed by a thread of its own: the same file, the same hash. */
TEST(a_flowing_sink)
{
    static const size_t parts[] = {0, 1, 511, 262143, 262144, 262145, 3 << 20, 700001};
    struct place *p = make();
    struct sink *s;
    struct file_map m;
    struct sha256 h;
    uint64_t size, total = 0;
    char sha[65], want[65], *big = malloc(4 << 20);
    for (int i = 0; i < 4 << 20; i++) big[i] = (char)(i * 7 + i / 1000);
    sha256_init(&h);
    CHECK_INT(place_create(p, "f", &s), 0);
    CHECK_INT(sink_flow(s), 0);
    for (int i = 0; i < 24; i++) {
        size_t n = parts[i % 8];
        CHECK_INT(sink_write(s, big + i, n), 0);
        sha256_add(&h, big + i, n);
        total += n;
    }
    CHECK_INT(sink_settle(s), 0);
    CHECK(!place_exists(p, "f", NULL));
    CHECK_INT(sink_settle(s), 0); /* once is enough */
    CHECK_INT(sink_commit(s, sha, &size), 0);
    sha256_end(&h, want);
    CHECK_STR(sha, want);
    CHECK_INT(size, total);
    CHECK_INT(place_map(p, "f", &m), 0);
    sha256_of(want, m.p, m.n);
    CHECK_STR(sha, want);
    file_unmap(&m);
    CHECK_INT(place_create(p, "empty", &s), 0);
    CHECK_INT(sink_flow(s), 0);
    CHECK_INT(sink_commit(s, sha, &size), 0);
    sha256_of(want, "", 0);
    CHECK_STR(sha, want);
    CHECK_INT(size, 0);
    for (int settled = 0; settled < 2; settled++) { /* given up half-way, or when all was ready */
        CHECK_INT(place_create(p, "gone", &s), 0);
        CHECK_INT(sink_flow(s), 0);
        CHECK_INT(sink_write(s, big, 1 << 20), 0);
        if (settled) CHECK_INT(sink_settle(s), 0);
        sink_abort(s);
    }
    struct names n = {0};
    CHECK_INT(place_list(p, "", &n), 0);
    CHECK_INT(n.count, 2);
    names_release(&n);
    free(big);
    unmake(p);
}

TEST(a_settled_sink_is_hashed)
{
    struct place *p = make();
    struct sink *s;
    char sha[65], want[65];
    CHECK_INT(place_create(p, "a", &s), 0);
    CHECK_INT(sink_write(s, "0000payload", 11), 0);
    CHECK_INT(sink_patch(s, 0, "head", 4), 0);
    CHECK_INT(sink_settle(s), 0);
    CHECK(!place_exists(p, "a", NULL));
    CHECK_INT(sink_commit(s, sha, NULL), 0);
    sha256_of(want, "headpayload", 11);
    CHECK_STR(sha, want);
    unmake(p);
}

static void ignore_signal(int sig)
{
    (void)sig;
}

/* What the thread cannot write is told by a later call, and nobody waits for ever. */
TEST(a_flowing_sink_that_cannot_write)
{
    struct place *p = make();
    struct sink *s;
    struct rlimit old, small = {1 << 20, RLIM_INFINITY};
    char *big = calloc(1, 1 << 20);
    int rc = 0;
    signal(SIGXFSZ, ignore_signal);
    getrlimit(RLIMIT_FSIZE, &old);
    CHECK_INT(place_create(p, "f", &s), 0);
    CHECK_INT(sink_flow(s), 0);
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 64 && !rc; i++) rc = sink_write(s, big, 1 << 20);
    CHECK_INT(rc, ERR_OUTPUT);
    CHECK(strstr(err_text(), "File too large") != NULL);
    sink_abort(s);
    CHECK_INT(place_create(p, "f", &s), 0);
    CHECK_INT(sink_flow(s), 0);
    CHECK_INT(sink_write(s, big, 1 << 20), 0);
    CHECK_INT(sink_write(s, big, 1), 0); /* its last byte waits in a block */
    CHECK_INT(sink_settle(s), ERR_OUTPUT);
    sink_abort(s);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    free(big);
    unmake(p);
}

TEST(spill_gives_back_what_it_took)
{
    struct place *p = make();
    for (uint32_t n = 0; n < 3000000; n = n ? n * 100 : 100) {
        struct spill s;
        uint32_t v;
        spill_init(&s, p);
        for (uint32_t i = 0; i < n; i++) CHECK_INT(spill_write(&s, &i, 4), 0);
        CHECK_INT(spill_rewind(&s), 0);
        for (uint32_t i = 0; i < n; i++)
            if (spill_read(&s, &v, 4) || v != i) {
                TEST_FAIL("item %u of %u", i, n);
                break;
            }
        CHECK_INT(spill_read(&s, &v, 4), 1);
        spill_release(&s);
    }
    unmake(p);
}

TEST(runs_refuse_another_value)
{
    struct place *p = make();
    struct run a = {0}, b = {0};
    run_add(&a, "dtype", "f16");
    run_add(&a, "partitions", "3");
    CHECK_INT(run_claim(&a, p, "embed", 0), 0);
    CHECK_INT(run_claim(&a, p, "embed", 0), 0);
    run_add(&b, "dtype", "f32");
    run_add(&b, "partitions", "3");
    CHECK_INT(run_claim(&b, p, "embed", 0), ERR_STALE);
    CHECK(strstr(err_text(), "dtype was 'f16', now 'f32'") != NULL);
    CHECK_INT(run_claim(&b, p, "embed", 1), 0);
    CHECK_INT(run_claim(&b, p, "embed", 0), 0);
    run_release(&a);
    run_release(&b);
    unmake(p);
}

TEST(receipts_come_back_as_written)
{
    struct place *p = make();
    struct receipt r = {.partition = 42, .digits = 4, .samples = 10, .rows = 8}, got;
    strcpy(r.fingerprint, "abc");
    r.errors[BAD_CORRUPT] = 2;
    receipt_add(&r.inputs, "x \"y\".tar", 1234567890123, "deadbeef");
    CHECK_INT(place_write(p, "out.npy", "hello", 5), 0);
    char sha[65];
    sha256_of(sha, "hello", 5);
    receipt_add(&r.outputs, "out.npy", 5, sha);
    CHECK_INT(receipt_save(&r, p, "embed"), 0);
    CHECK_INT(receipt_load(&got, p, "embed", 42, 4), 0);
    CHECK_INT(got.rows, 8);
    CHECK_INT(got.errors[BAD_CORRUPT], 2);
    CHECK_STR(got.inputs.file[0].name, "x \"y\".tar");
    CHECK_INT(got.inputs.file[0].size, 1234567890123);
    CHECK_INT(receipt_check(&got, p, 1), 0);
    CHECK_INT(place_write(p, "out.npy", "hellO", 5), 0);
    CHECK_INT(receipt_check(&got, p, 0), 0);
    CHECK_INT(receipt_check(&got, p, 1), ERR_STALE);
    CHECK_INT(place_write(p, "out.npy", "hell", 4), 0);
    CHECK_INT(receipt_check(&got, p, 0), ERR_STALE);
    receipt_release(&got);
    CHECK_INT(receipt_load(&got, p, "embed", 43, 4), ERR_INPUT);
    CHECK_INT(place_write(p, "_darkroom/embed/0043.json", "{\"format\": 1}", 13), 0);
    CHECK_INT(receipt_load(&got, p, "embed", 43, 4), ERR_STALE);
    receipt_release(&got);
    receipt_release(&r);
    unmake(p);
}

TEST(digits_as_clip_retrieval)
{
    CHECK_INT(partition_digits(1), 1);
    CHECK_INT(partition_digits(9), 1);
    CHECK_INT(partition_digits(10), 2);
    CHECK_INT(partition_digits(99), 2);
    CHECK_INT(partition_digits(100), 3);
}

TEST(pipes_report_how_they_end)
{
    struct source *s;
    char buf[64];
    CHECK_INT(source_open(&s, "pipe:printf hello"), 0);
    CHECK_INT(source_read(s, buf, sizeof buf), 5);
    CHECK_INT(source_close(s), 0);
    CHECK_INT(source_open(&s, "pipe:printf half; exit 9"), 0);
    CHECK_INT(source_read(s, buf, sizeof buf), 4);
    CHECK_INT(source_close(s), ERR_INPUT);
    CHECK(strstr(err_text(), "status 9") != NULL);
    CHECK_INT(source_open(&s, "pipe:yes"), 0);
    CHECK_INT(source_read(s, buf, sizeof buf), 64);
    CHECK_INT(source_close(s), 0); /* we left, not the command */
    CHECK_INT(source_open(&s, "/nonexistent/x.tar"), ERR_INPUT);
}

TEST_MAIN
