/* The driver: order, bounds, errors and stopping. */
#include "test.h"
#include "base/err.h"
#include "stage/stage.h"

#include <stdatomic.h>
#include <unistd.h>

struct item {
    int number, doubled;
};

struct job {
    atomic_int made, started, stopped;
    int count, fail_at, seen, wrong;
    struct stage stage;
};

static int start(void *stage, void **state)
{
    struct job *j = stage;
    *state = j;
    atomic_fetch_add(&j->started, 1);
    return 0;
}

static void stop(void *stage, void *state)
{
    if (stage == state) atomic_fetch_add(&((struct job *)stage)->stopped, 1);
}

static int make(void *stage, void *state, void *item)
{
    struct job *j = stage;
    struct item *i = item;
    (void)state;
    if (atomic_load(&j->made) >= j->count) return 1;
    i->number = atomic_fetch_add(&j->made, 1);
    return 0;
}

static int twice(void *stage, void *state, void *item)
{
    struct job *j = stage;
    struct item *i = item;
    (void)state;
    if (i->number % 7 == 0) usleep(200);
    i->doubled = 2 * i->number;
    return i->number == j->fail_at ? err_set(ERR_DEVICE, "item %d", i->number) : 0;
}

static int check(void *stage, void *state, void *item)
{
    struct job *j = stage;
    struct item *i = item;
    (void)state;
    j->wrong += i->number != j->seen++ || i->doubled != 2 * i->number;
    return 0;
}

static int run(struct job *j, int count, int fail_at)
{
    struct item items[5];
    void *list[5] = {&items[0], &items[1], &items[2], &items[3], &items[4]};
    memset(j, 0, sizeof *j);
    j->count = count;
    j->fail_at = fail_at;
    j->stage = (struct stage){.arg = j, .items = list, .nitems = 5, .boxes = 4};
    j->stage.box[0] = (struct box){"make", 1, start, make, stop};
    j->stage.box[1] = (struct box){"twice", 3, start, twice, stop};
    j->stage.box[2] = (struct box){"again", 2, NULL, twice, NULL};
    j->stage.box[3] = (struct box){"check", 1, start, check, stop};
    return stage_run(&j->stage);
}

TEST(items_arrive_in_order)
{
    struct job j;
    for (int n = 0; n < 400; n = 2 * n + 1) {
        CHECK_INT(run(&j, n, -1), 0);
        CHECK_INT(j.seen, n);
        CHECK_INT(j.wrong, 0);
        CHECK_INT(j.started, j.stopped);
    }
}

TEST(the_first_error_ends_everything)
{
    struct job j;
    for (int at = 0; at < 50; at += 7) {
        CHECK_INT(run(&j, 1000, at), ERR_DEVICE);
        CHECK_INT(j.wrong, 0);
        CHECK(j.seen <= at + 1);
        CHECK_INT(j.started, j.stopped);
        CHECK(strstr(err_text(), "item") != NULL);
    }
}

TEST(the_busiest_box_is_named)
{
    struct job j;
    CHECK_INT(run(&j, 300, -1), 0);
    CHECK(!strcmp(stage_bottleneck(&j.stage), "twice") ||
          !strcmp(stage_bottleneck(&j.stage), "again"));
}

TEST_MAIN
