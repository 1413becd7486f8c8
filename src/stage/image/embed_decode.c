/* embed_decode.c - the decode box: bytes in, pixels and tokens into the chunk's own buffers, so
 * that this box can one day be a sandboxed process. Good samples are packed without holes. */
#include "stage/image/embed.h"
#include "base/mem.h"
#include "image/probe.h"

#include <stdlib.h>
#include <string.h>

struct decoder {
    struct arena scratch;
    struct bpe_state *bpe;
};

static int start(void *stage, void **state)
{
    struct embedder *e = stage;
    struct decoder *d = mem_alloc(sizeof *d);
    if (e->bpe) d->bpe = bpe_state_new(e->bpe, e->specials);
    *state = d;
    return 0;
}

static void stop(void *stage, void *state)
{
    struct decoder *d = state;
    (void)stage;
    if (!d) return;
    bpe_state_free(d->bpe);
    arena_release(&d->scratch);
    free(d);
}

static int decode_image(struct embedder *e, struct decoder *d, struct chunk *c, struct slot *s)
{
    const struct sample_member *m = sample_find(&s->sample, e->image_keys);
    struct picture_info info;
    if (!m) return err_bad(BAD_MISSING_IMAGE, "no picture among the sample's files");
    size_t pixels = (size_t)e->prep.size * (size_t)e->prep.size * 3;
    uint64_t cost = image_cost(m->data, m->size);
    gate_take(e->decoding, cost);
    int rc = prep_run(c->pixels + pixels * (size_t)c->rows, &info, m->data, m->size, &e->prep,
                      &d->scratch);
    arena_relax(&d->scratch, KEEP_ARENA);
    gate_give(e->decoding, cost);
    if (rc) return rc;
    s->width = info.width;
    s->height = info.height;
    return 0;
}

static int decode_caption(struct embedder *e, struct decoder *d, struct chunk *c, struct slot *s)
{
    const struct sample_member *m = sample_find(&s->sample, e->caption_keys);
    if (!m)
        return e->text ? err_bad(BAD_MISSING_CAPTION, "no caption among the sample's files") : 0;
    s->caption = arena_strndup(&c->text, (const char *)m->data, m->size);
    s->caption_len = m->size;
    if (!e->text) return 0;
    c->token_at[c->rows + 1] =
        c->token_at[c->rows] + bpe_encode(c->tokens + c->token_at[c->rows], d->bpe, s->caption,
                                          m->size, clip_config(e->clip)->context);
    return 0;
}

static int decode_json(struct embedder *e, struct decoder *d, struct chunk *c, struct slot *s)
{
    const struct sample_member *m = e->metadata ? sample_find(&s->sample, "json") : NULL;
    if (!m) return 0;
    int rc = metadata_check((const char *)m->data, m->size, &d->scratch);
    arena_relax(&d->scratch, KEEP_ARENA);
    s->json = arena_strndup(&c->text, (const char *)m->data, m->size);
    s->json_len = m->size;
    return rc;
}

static void decode_slot(struct embedder *e, struct decoder *d, struct chunk *c, struct slot *s)
{
    int rc = e->image ? decode_image(e, d, c, s) : 0;
    if (!rc) rc = decode_caption(e, d, c, s);
    if (!rc) rc = decode_json(e, d, c, s);
    if (rc) {
        s->bad = err_why() ? err_why() : BAD_CORRUPT;
        s->box = "decode";
        s->message = arena_strndup(&c->text, err_text(), strlen(err_text()));
    } else {
        c->rows++;
    }
}

static int work(void *stage, void *state, void *item)
{
    struct embedder *e = stage;
    struct chunk *c = item;
    c->rows = 0;
    c->token_at[0] = 0;
    for (int i = 0; i < c->count; i++) {
        struct slot *s = &c->slot[i];
        if (!s->bad) decode_slot(e, state, c, s);
        s->sample.key = arena_strndup(&c->text, s->sample.key, strlen(s->sample.key));
        if (s->image_path)
            s->image_path = arena_strndup(&c->text, s->image_path, strlen(s->image_path));
        s->sample.members = NULL;
        s->sample.count = 0;
    }
    arena_relax(&c->bytes, KEEP_ARENA);
    pthread_mutex_lock(&e->lock);
    e->held -= c->held;
    pthread_cond_broadcast(&e->room);
    pthread_mutex_unlock(&e->lock);
    return 0;
}

const struct box embed_decode_box = {"decode", 1, start, work, stop};
