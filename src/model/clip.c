/* clip.c - opening a CLIP: weights once, on the device, and a fingerprint in the background. */
#include "model/clip.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "model/clip_inside.h"

/* The file stays mapped until it is hashed; hashing waits until loading is done, so that it does
 * not compete with the first pictures' start. */
static void *hash_all(void *arg)
{
    struct clip *c = arg;
    struct sha256 h;
    struct str config = {0};
    /* Without --image-size the pictures' size is the model's own; with it, embeddings differ. */
    config_print(&config, &c->whole);
    sha256_init(&h);
    sha256_add(&h, "darkroom clip 1\n", 16);
    sha256_add(&h, config.p, config.len);
    loader_hash(&c->model, &h);
    sha256_end(&h, c->fingerprint);
    str_release(&config);
    return NULL;
}

int clip_fingerprint(struct clip *c, char hex[65])
{
    pthread_mutex_lock(&c->lock);
    if (c->hashing) {
        pthread_join(c->hasher, NULL);
        c->hashing = 0;
        weights_close(c->model.weights);
        c->model.weights = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    memcpy(hex, c->fingerprint, sizeof c->fingerprint);
    return 0;
}

/* The first lines of a list and how many more there are. */
static int list_error(const struct model *m, const char *what, const struct str *lines)
{
    struct str some = {0};
    int n = 0;
    for (const char *p = lines->p; *p; n++) {
        size_t len = strcspn(p, "\n");
        if (n < 4) str_printf(&some, "%s%.*s", n ? "; " : "", (int)len, p);
        p += len + (p[len] == '\n');
    }
    if (n > 4) str_printf(&some, "; and %d more", n - 4);
    int rc = err_set(ERR_INPUT, "%s: %s: %s", m->files.weights, what, some.p);
    str_release(&some);
    return rc;
}

static int check(const struct model *m)
{
    struct str missing = {0}, misshapen = {0}, strange = {0}, unused = {0};
    int rc = 0;
    model_problems(m, &missing, &misshapen, &strange, &unused);
    if (missing.len)
        rc = list_error(m, "tensors are missing", &missing);
    else if (misshapen.len)
        rc = list_error(m, "tensors do not fit together", &misshapen);
    else if (strange.len)
        rc = list_error(m, "not a plain CLIP ViT, the towers hold what this program cannot run",
                        &strange);
    str_release(&missing);
    str_release(&misshapen);
    str_release(&strange);
    str_release(&unused);
    return rc;
}

static int load(struct clip *c, const struct clip_ask *ask)
{
    struct loader *l = loader_new(&c->model);
    c->config = c->whole = c->model.config;
    if (ask->no_image) c->config.image = (struct tower_config){0};
    if (ask->no_text) c->config.text = (struct tower_config){0};
    if (c->config.image.layers) loader_tower(l, &c->params, &c->image, SIDE_IMAGE);
    if (c->config.text.layers) loader_tower(l, &c->params, &c->text, SIDE_TEXT);
    int rc = params_alloc(&c->params, c->dev);
    if (!rc) rc = loader_run(l, c->dev);
    loader_free(l);
    return rc ? err_wrap(rc, "%s", c->model.files.weights) : 0;
}

int clip_open(struct clip **out, struct device *dev, const struct clip_ask *ask)
{
    struct clip *c = mem_alloc(sizeof *c);
    *out = NULL;
    c->dev = dev;
    pthread_mutex_init(&c->lock, NULL);
    int rc = model_open(&c->model, ask);
    if (!rc) rc = check(&c->model);
    if (!rc) rc = load(c, ask);
    if (!rc) {
        prep_lut(c->lut, &c->config.prep);
        if (pthread_create(&c->hasher, NULL, hash_all, c))
            rc = err_set(ERR_FAIL, "a thread could not be started");
        else
            c->hashing = 1;
    }
    if (rc)
        clip_close(c);
    else
        *out = c;
    return rc;
}

void clip_close(struct clip *c)
{
    char hex[65];
    if (!c) return;
    clip_fingerprint(c, hex);
    params_release(&c->params);
    free(c->image.blocks);
    free(c->text.blocks);
    model_close(&c->model);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

int clip_peek(struct clip_config *out, const struct clip_ask *ask)
{
    struct model m;
    struct clip_ask peek = *ask;
    peek.config_only = 1;
    int rc = model_open(&m, &peek);
    *out = m.config;
    model_close(&m);
    return rc;
}

const struct clip_config *clip_config(const struct clip *c)
{
    return &c->config;
}

const char *clip_weights_path(const struct clip *c)
{
    return c->model.files.weights;
}

const char *clip_vocab(const struct clip *c)
{
    return c->model.files.vocab;
}

size_t clip_bytes(const struct clip *c)
{
    return c->params.weight_bytes;
}
