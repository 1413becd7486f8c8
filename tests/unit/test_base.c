/* The base layer: arena, str, map, hash, rng, pool, queue. */
#include "test.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "base/str.h"

#include <pthread.h>
#include <stdatomic.h>

TEST(arena_keeps_blocks_over_reset)
{
    struct arena a = {0};
    for (int round = 0; round < 3; round++) {
        for (size_t i = 1; i < 300; i++) {
            unsigned char *p = arena_alloc(&a, i * 37);
            CHECK_INT((uintptr_t)p % 64, 0);
            memset(p, (int)i, i * 37);
        }
        size_t held = arena_bytes(&a);
        arena_reset(&a);
        CHECK_INT(arena_bytes(&a), held);
    }
    CHECK_STR(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
    arena_release(&a);
}

TEST(str_grows)
{
    struct str s = {0};
    for (int i = 0; i < 1000; i++) str_printf(&s, "%d,", i);
    CHECK_INT(s.len, 3890);
    CHECK(str_ends(s.p, "999,"));
    str_release(&s);
    CHECK(str_same("Batch_Size", "batch-size"));
    CHECK(!str_same("batch", "batch-size"));
    const char *list[] = {"batch-size", "threads", "memory", NULL};
    CHECK_STR(str_nearest("bach-size", list), "batch-size");
    CHECK(str_nearest("qqqqqqqq", list) == NULL);
}

TEST(map_finds_what_was_put)
{
    struct map m = {0};
    char key[32];
    uint64_t v;
    for (uint64_t i = 0; i < 5000; i++) {
        snprintf(key, sizeof key, "key%llu", (unsigned long long)i);
        map_put(&m, key, i);
    }
    CHECK_INT(m.count, 5000);
    for (uint64_t i = 0; i < 5000; i++) {
        snprintf(key, sizeof key, "key%llu", (unsigned long long)i);
        CHECK(map_get(&m, key, &v) && v == i);
        CHECK_STR(m.entries[i].key, key);
    }
    CHECK(!map_get(&m, "absent", NULL));
    map_release(&m);
}

TEST(sha256_of_abc)
{
    char hex[65];
    sha256_of(hex, "abc", 3);
    CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(errors_carry_context)
{
    int rc = err_bad(BAD_TRUNCATED, "ends at byte %d", 7);
    CHECK_INT(rc, ERR_DATA);
    CHECK_INT(err_why(), BAD_TRUNCATED);
    rc = err_wrap(rc, "sample %s", "a");
    CHECK_STR(err_text(), "sample a: ends at byte 7");
    CHECK_INT(err_exit_code(ERR_STALE), 7);
    CHECK_STR(bad_name(BAD_SHARD_MISSING), "shard_missing");
}

static void add_one(void *arg, size_t i, int worker)
{
    (void)worker;
    atomic_fetch_add((atomic_size_t *)arg, i);
}

TEST(pool_runs_every_index_once)
{
    struct pool *p = pool_new(4);
    for (int round = 0; round < 200; round++) {
        atomic_size_t sum = 0;
        pool_for(p, 100, add_one, &sum);
        CHECK_INT(sum, 4950);
    }
    pool_free(p);
}

static void *producer(void *arg)
{
    for (uintptr_t i = 1; i <= 1000; i++) queue_push(arg, (void *)i);
    return NULL;
}

TEST(queue_passes_everything_in_order)
{
    struct queue *q = queue_new(3);
    pthread_t t;
    pthread_create(&t, NULL, producer, q);
    for (uintptr_t i = 1; i <= 1000; i++) CHECK_INT((uintptr_t)queue_pop(q), i);
    pthread_join(t, NULL);
    queue_close(q);
    CHECK(queue_pop(q) == NULL);
    CHECK_INT(queue_push(q, q), 1);
    queue_free(q);
}

TEST_MAIN
