/* embed_device.c - the device box: one runner a lane, each working on chunks of its own, so
 * that threads never wait for each other inside a tower. */
#include "stage/image/embed.h"

int embed_device_start(void *stage, void **state)
{
    struct embed *e = stage;
    struct clip_runner *r = NULL;
    int rc = clip_runner_open(&r, e->clip, e->chunk_cap);
    *state = r;
    return rc;
}

void embed_device_stop(void *stage, void *state)
{
    (void)stage;
    clip_runner_close(state);
}

int embed_device(void *stage, void *state, void *item)
{
    struct embed *e = stage;
    struct chunk *c = item;
    struct clip_out out = {.type = e->o->dtype == DTYPE_F32 ? F32 : F16, .normalize = e->o->normalize};
    int rc = 0;
    if (!c->rows) return 0;
    if (e->image) {
        out.data = c->image;
        rc = clip_image(state, &out, c->pixels, c->rows);
    }
    if (!rc && e->text) {
        out.data = c->caption;
        rc = clip_text(state, &out, c->tokens, c->token_at, c->rows);
    }
    return rc;
}
