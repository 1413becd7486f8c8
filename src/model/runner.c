/* runner.c - one worker's passes through a CLIP.
 * Pictures and captions are taken in passes of a few hundred tokens: enough to keep the matrix
 * products busy, few enough that activations stay in the caches. A dry pass of the largest size
 * fixes the memory; afterwards nothing is allocated. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "model/clip_inside.h"
#include "tensor/ops.h"

enum { ROWS = 800 };

struct clip_runner {
    const struct clip *clip;
    struct device *dev;
    struct tape tape;
    struct pass image, text;
    int tokens, images; /* of a picture; pictures in a pass */
    int text_rows, captions;
    struct clip_runner_ask ask;
    float *plain; /* one pass of embeddings: f16 without normalising is rounded on the host */
    size_t host_bytes;
};

static int32_t *ints(struct clip_runner *r, int n)
{
    r->host_bytes += (size_t)n * sizeof(int32_t);
    return mem_alloc(mem_mul((size_t)n, sizeof(int32_t)));
}

static void pass_init(struct clip_runner *r, struct pass *p, int count, int rows)
{
    p->at = ints(r, count + 1);
    p->unit = ints(r, count + 1);
    p->picks = ints(r, count);
    p->ids = ints(r, rows);
    p->pos = ints(r, rows);
    p->whole = r->ask.whole;
    for (int i = 0; i <= count; i++) p->unit[i] = i;
}

static void pass_release(struct pass *p)
{
    free(p->at);
    free(p->unit);
    free(p->picks);
    free(p->ids);
    free(p->pos);
}

/* Every picture is the same sequence: class token, then its patches. */
static void image_pass(struct clip_runner *r, int count)
{
    struct pass *p = &r->image;
    int t = r->tokens;
    p->count = count;
    p->rows = count * t;
    for (int i = 0; i < count; i++) {
        p->at[i] = p->picks[i] = i * t;
        for (int j = 0; j < t; j++) {
            p->ids[i * t + j] = j ? 1 + i * (t - 1) + j - 1 : 0;
            p->pos[i * t + j] = j;
        }
    }
    p->at[count] = count * t;
}

/* Take captions until the pass is full; how many. */
static int text_pass(struct clip_runner *r, const int32_t *tokens, const int32_t *at, int n)
{
    struct pass *p = &r->text;
    int row = 0, i = 0;
    for (; i < n && i < r->captions; i++) {
        int len = at[i + 1] - at[i], room = r->ask.whole ? r->clip->config.context : len;
        if (row + room > r->text_rows) break;
        p->at[i] = row;
        p->picks[i] = row + len - 1;
        for (int j = 0; j < room; j++, row++) {
            p->ids[row] = j < len ? tokens[at[i] + j] : 0;
            p->pos[row] = j;
        }
    }
    p->at[i] = row;
    p->count = i;
    p->rows = row;
    return i;
}

/* ---- passes ---- */

/* f32 to the nearest f16, ties to even; too large becomes infinity, as numpy does it. */
static void round_half(uint16_t *out, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, in + i, sizeof u);
        uint32_t sign = u >> 16 & 0x8000, mag = u & 0x7fffffff;
        if (mag > 0x7f800000)
            out[i] = (uint16_t)(sign | 0x7e00);
        else if (mag >= 0x477ff000)
            out[i] = (uint16_t)(sign | 0x7c00);
        else if (mag < 0x38800000) /* subnormal: let the adder round at 2^-24 */
            out[i] = (uint16_t)(sign | (uint32_t)lrint(ldexp(fabs((double)in[i]), 24)));
        else
            out[i] = (uint16_t)(sign | ((mag - 0x38000000 + 0xfff + (mag >> 13 & 1)) >> 13));
    }
}

/* Embeddings in the form asked for, to the host. Rounding to f16 happens after normalising. */
static int deliver(struct clip_runner *r, void *out, const struct var *y)
{
    struct tape *t = &r->tape;
    size_t count = (size_t)tensor_count(&y->x), size = dtype_size(r->ask.out);
    struct tensor z = y->x;
    if (r->ask.normalize) {
        z = tensor_2d(tape_alloc(t, count * size), r->ask.out, y->x.dim[0], y->x.dim[1]);
        if (!tape_skips(t)) tape_ran(t, op_l2norm(t->dev, &(struct l2norm){.y = z, .x = y->x}));
    }
    char *to = r->plain ? (char *)r->plain : out;
    size_t row = (size_t)z.dim[1] * dtype_size(z.type), step = (size_t)z.ld * dtype_size(z.type);
    if (row == step && !tape_skips(t))
        tape_ran(t, op_get(t->dev, to, z.data, count * dtype_size(z.type)));
    for (size_t i = 0; row != step && i < (size_t)z.dim[0] && !tape_skips(t); i++)
        tape_ran(t, op_get(t->dev, to + i * row, (char *)z.data + i * step, row));
    if (!tape_skips(t)) tape_ran(t, op_sync(t->dev));
    if (!tape_skips(t) && r->plain) round_half(out, r->plain, count);
    return tape_error(t);
}

static int run_images(struct clip_runner *r, void *out, const uint8_t *pixels, int n)
{
    const struct clip_config *c = &r->clip->config;
    struct tape *t = &r->tape;
    int s = c->image_size, patch = c->patch;
    size_t bytes = (size_t)n * (size_t)s * (size_t)s * 3;
    tape_reset(t);
    if (r->image.count != n) image_pass(r, n);
    struct var patches = {
        .x = tensor_2d(NULL, F32, (int64_t)n * (r->tokens - 1), 3LL * patch * patch)};
    patches.x.data = tape_alloc(t, (size_t)tensor_count(&patches.x) * sizeof(float));
    size_t mark = tape_mark(t);
    void *raw = tape_alloc(t, bytes);
    if (!tape_skips(t)) tape_ran(t, op_put(t->dev, raw, pixels, bytes));
    if (!tape_skips(t))
        tape_ran(t,
                 op_patchify(t->dev, &(struct patchify){patches.x, tensor_4d(raw, U8, n, s, s, 3),
                                                        patch, r->clip->lut[0]}));
    tape_rewind(t, mark);
    struct var y = image_fwd(t, &r->clip->image, c, &patches, &r->image);
    return deliver(r, out, &y);
}

static int run_texts(struct clip_runner *r, void *out)
{
    tape_reset(&r->tape);
    struct var y = text_fwd(&r->tape, &r->clip->text, &r->clip->config, &r->text);
    return deliver(r, out, &y);
}

/* ---- opening ---- */

static void size_passes(struct clip_runner *r)
{
    const struct clip_config *c = &r->clip->config;
    int rows = r->ask.rows ? r->ask.rows : ROWS;
    if (c->image.layers) {
        int grid = c->image_size / c->patch;
        r->tokens = grid * grid + 1;
        r->images = rows / r->tokens ? rows / r->tokens : 1;
        pass_init(r, &r->image, r->images, r->images * r->tokens);
    }
    if (c->text.layers) {
        r->text_rows = rows > c->context ? rows : c->context;
        r->captions = r->text_rows;
        pass_init(r, &r->text, r->captions, r->text_rows);
    }
}

int clip_runner_open(struct clip_runner **out, const struct clip *c, struct device *lane,
                     const struct clip_runner_ask *ask)
{
    struct clip_runner *r = mem_alloc(sizeof *r);
    *out = NULL;
    r->clip = c;
    r->dev = lane;
    r->ask = *ask;
    size_passes(r);
    if (!ask->normalize && ask->out == F16) {
        int most = r->images > r->captions ? r->images : r->captions;
        r->host_bytes += (size_t)most * (size_t)c->config.embed * sizeof *r->plain;
        r->plain = mem_alloc(mem_mul((size_t)most, (size_t)c->config.embed * sizeof *r->plain));
    }
    tape_init(&r->tape, lane, 0);
    if (c->config.image.layers) run_images(r, NULL, NULL, r->images);
    if (c->config.text.layers) {
        r->text.count = r->captions;
        r->text.rows = r->text_rows;
        run_texts(r, NULL);
    }
    int rc = tape_ready(&r->tape);
    if (rc)
        clip_runner_close(r);
    else
        *out = r;
    return rc;
}

void clip_runner_close(struct clip_runner *r)
{
    if (!r) return;
    tape_release(&r->tape);
    pass_release(&r->image);
    pass_release(&r->text);
    free(r->plain);
    free(r);
}

size_t clip_runner_bytes(const struct clip_runner *r)
{
    return r->tape.size + r->host_bytes;
}

int clip_runner_images(const struct clip_runner *r)
{
    return r->images;
}

/* ---- running ---- */

int clip_image(struct clip_runner *r, void *out, const uint8_t *pixels, int n)
{
    const struct clip_config *c = &r->clip->config;
    size_t picture = (size_t)c->image_size * (size_t)c->image_size * 3;
    size_t row = (size_t)c->embed * dtype_size(r->ask.out);
    assert(c->image.layers);
    for (int i = 0; i < n; i += r->images) {
        int some = n - i < r->images ? n - i : r->images;
        int rc = run_images(r, (char *)out + (size_t)i * row, pixels + (size_t)i * picture, some);
        if (rc) return rc;
    }
    return 0;
}

static int check_tokens(const struct clip_config *c, const int32_t *tokens, const int32_t *at,
                        int n)
{
    for (int i = 0; i < n; i++)
        if (at[i + 1] <= at[i] || at[i + 1] - at[i] > c->context)
            return err_set(ERR_USAGE, "a caption of %d tokens, the model takes 1 to %d",
                           at[i + 1] - at[i], c->context);
    for (int32_t j = at[0]; j < at[n]; j++)
        if (tokens[j] < 0 || tokens[j] >= c->vocab)
            return err_set(ERR_INPUT,
                           "token %d, but the model's table has %d rows: this is not "
                           "its vocabulary",
                           tokens[j], c->vocab);
    return 0;
}

int clip_text(struct clip_runner *r, void *out, const int32_t *tokens, const int32_t *at, int n)
{
    const struct clip_config *c = &r->clip->config;
    size_t row = (size_t)c->embed * dtype_size(r->ask.out);
    assert(c->text.layers);
    int rc = n ? check_tokens(c, tokens, at, n) : 0;
    for (int i = 0, took; i < n && !rc; i += took) {
        took = text_pass(r, tokens, at + i, n - i);
        rc = run_texts(r, (char *)out + (size_t)i * row);
    }
    return rc;
}
