/* score_prompts.c - scores in words: 'watermark: a picture with a watermark | a clean picture'.
 * The texts go through the text tower of the model that made the embeddings; the score is the
 * probability of the first among them at the model's own temperature, as CLIP classifies. */
#include "stage/image/score.h"
#include "base/mem.h"
#include "model/clip.h"
#include "text/bpe.h"

#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 1000 };

static int usage(const char *word, const char *why)
{
    return err_set(ERR_USAGE,
                   "--prompts '%s': %s; it takes 'NAME: a | b', the first is the "
                   "one whose probability is the score",
                   word, why);
}

/* [p, end) without the blanks around it. */
static char *trimmed(const char *p, const char *end)
{
    while (p < end && strchr(" \t\r\n", *p)) p++;
    while (end > p && strchr(" \t\r\n", end[-1])) end--;
    return mem_strndup(p, (size_t)(end - p));
}

int prompts_parse(char **name, struct opt_list *texts, const char *word)
{
    const char *colon = strchr(word, ':');
    *name = NULL;
    *texts = (struct opt_list){0};
    if (!colon) return usage(word, "there is no colon behind a name");
    for (const char *p = colon + 1, *end; p; p = *end ? end + 1 : NULL) {
        end = p + strcspn(p, "|");
        texts->item = mem_resize(texts->item, ((size_t)texts->count + 1) * sizeof *texts->item);
        texts->item[texts->count] = trimmed(p, end);
        if (!*texts->item[texts->count++]) return usage(word, "an alternative is empty");
        if (texts->count > TEXTS_MAX) return usage(word, "too many alternatives");
    }
    if (texts->count < 2) return usage(word, "there is nothing to choose from");
    *name = trimmed(word, colon);
    return 0;
}

void prompts_release(struct opt_list *texts)
{
    for (int i = 0; i < texts->count; i++) free((char *)texts->item[i]);
    free(texts->item);
    *texts = (struct opt_list){0};
}

/* ---- the model ---- */

struct tower {
    struct clip *clip;
    struct clip_runner *runner;
    struct bpe *bpe;
    struct bpe_state *state;
    double scale;
};

static void tower_close(struct tower *t)
{
    bpe_state_free(t->state);
    bpe_close(t->bpe);
    clip_runner_close(t->runner);
    clip_close(t->clip);
}

/* Is it the model that made the embeddings? Known by its fingerprint where embed left one. */
static int check_model(const struct scorer *s, struct tower *t)
{
    const char *embedded = sidecars_embedded(s->sidecars, "model");
    const struct clip_config *c = clip_config(t->clip);
    char hex[65];
    if (s->width && c->embed != s->width)
        return err_set(ERR_USAGE,
                       "the model %s (%s) makes embeddings of width %d, but %s has width %d: "
                       "--model must be the one that made them",
                       s->o->model, clip_weights_path(t->clip), c->embed, s->width_from, s->width);
    int rc = *embedded ? clip_fingerprint(t->clip, hex) : 0;
    if (!rc && *embedded && strcmp(embedded, hex))
        rc = err_set(
            ERR_STALE,
            "the model %s (%s) is not the one that made the embeddings of %s: its "
            "fingerprint is %.12s..., theirs %.12s... (--image-size and --activation count too)",
            s->o->model, clip_weights_path(t->clip), place_url(sidecars_place(s->sidecars)), hex,
            embedded);
    return rc;
}

static int open_vocabulary(const struct scorer *s, struct tower *t)
{
    const char *path = s->o->vocab ? s->o->vocab : clip_vocab(t->clip);
    const struct clip_config *c = clip_config(t->clip);
    if (!c->text.layers)
        return err_set(ERR_USAGE, "--prompts: the model %s has no text tower", s->o->model);
    if (!path)
        return err_set(
            ERR_INPUT,
            "no vocabulary found beside the model; give --vocab bpe_simple_vocab_16e6.txt.gz");
    int rc = bpe_open(&t->bpe, path);
    if (rc) return rc;
    if (bpe_size(t->bpe) != c->vocab)
        return err_set(ERR_USAGE,
                       "the vocabulary %s has %d tokens, the model %d; it is cut short or belongs "
                       "to another model",
                       path, bpe_size(t->bpe), c->vocab);
    t->state = bpe_state_new(t->bpe, c->openai ? BPE_OPENAI : BPE_OPEN_CLIP);
    return 0;
}

static int tower_open(struct tower *t, const struct scorer *s)
{
    static const char *const activations[] = {NULL, "gelu", "quick_gelu"};
    struct clip_ask ask = {.model = s->o->model,
                           .model_dir = s->o->model_dir,
                           .activation = activations[s->o->activation],
                           .image_size = (int)s->o->image_size,
                           .no_image = 1};
    struct clip_runner_ask form = {.out = F32, .normalize = 1};
    if (!s->o->model)
        return err_set(ERR_USAGE, "--prompts needs --model, the one that made the embeddings");
    int rc = clip_open(&t->clip, s->device, &ask);
    if (!rc) rc = check_model(s, t);
    if (!rc) rc = open_vocabulary(s, t);
    if (!rc) rc = clip_runner_open(&t->runner, t->clip, s->device, &form);
    if (rc) return rc;
    t->scale =
        s->o->logit_scale > 0 ? s->o->logit_scale : (double)clip_config(t->clip)->logit_scale;
    if (!(t->scale > 0))
        return err_set(ERR_INPUT,
                       "%s holds no logit_scale, the temperature of its probabilities; say it with "
                       "--logit-scale (100 for most published models)",
                       clip_weights_path(t->clip));
    return 0;
}

static int texts_to_head(struct head **out, const struct opt_list *texts, struct tower *t,
                         struct device *dev)
{
    const struct clip_config *c = clip_config(t->clip);
    size_t n = (size_t)texts->count;
    int32_t *tokens = mem_alloc(mem_mul(n, (size_t)c->context * sizeof *tokens));
    int32_t *at = mem_alloc((n + 1) * sizeof *at);
    float *rows = mem_alloc(mem_mul(n, (size_t)c->embed * sizeof *rows));
    for (size_t i = 0; i < n; i++)
        at[i + 1] = at[i] + bpe_encode(tokens + at[i], t->state, texts->item[i],
                                       strlen(texts->item[i]), c->context);
    int rc = clip_text(t->runner, rows, tokens, at, texts->count);
    if (!rc) rc = head_open_prompts(out, dev, rows, texts->count, c->embed, t->scale);
    free(tokens);
    free(at);
    free(rows);
    return rc;
}

int prompts_open(struct head **out, const struct opt_list *texts, size_t count, struct scorer *s)
{
    struct tower t = {0};
    int rc = tower_open(&t, s);
    for (size_t i = 0; i < count && !rc; i++) rc = texts_to_head(&out[i], &texts[i], &t, s->device);
    tower_close(&t);
    return rc;
}
