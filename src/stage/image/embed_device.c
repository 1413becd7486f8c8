/* embed_device.c - the device box: one runner a lane, each working on chunks of its own, so
 * that threads never wait for each other inside a tower. */
#include "stage/image/embed.h"
#include "base/mem.h"

#include <stdlib.h>

struct worker {
    struct device *lane;
    struct clip_runner *runner;
};

static int start(void *stage, void **state)
{
    struct embedder *e = stage;
    struct worker *w = *state = mem_alloc(sizeof *w);
    struct clip_runner_ask ask = {.out = e->o->dtype == DTYPE_F32 ? F32 : F16,
                                  .normalize = e->o->normalize};
    int rc = device_lane(&w->lane, e->device);
    return rc ? rc : clip_runner_open(&w->runner, e->clip, w->lane, &ask);
}

static void stop(void *stage, void *state)
{
    struct worker *w = state;
    (void)stage;
    if (!w) return;
    clip_runner_close(w->runner);
    device_close(w->lane);
    free(w);
}

static int work(void *stage, void *state, void *item)
{
    struct embedder *e = stage;
    struct worker *w = state;
    struct chunk *c = item;
    int rc = 0;
    if (!c->rows) return 0;
    if (e->image) rc = clip_image(w->runner, c->image, c->pixels, c->rows);
    if (!rc && e->text) rc = clip_text(w->runner, c->caption, c->tokens, c->token_at, c->rows);
    return rc;
}

const struct box embed_device_box = {"device", 1, start, work, stop};
