/* Embeddings for the Python tests:
 *   clip_tool MODEL INPUT.safetensors OUT.bin [ACTIVATION]
 * INPUT holds pixels u8 [n,S,S,3] and tokens i32 [m,context] (zero padded), either may be absent;
 * OUT gets the image, then the text embeddings as raw f32. Prints the description as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "format/weights.h"
#include "model/clip.h"

static int fail(void)
{
    fprintf(stderr, "%s\n", err_text());
    return 1;
}

static void emit(FILE *f, float *out, size_t n)
{
    fwrite(out, sizeof *out, n, f);
    free(out);
}

static int run_text(FILE *f, struct clip_runner *r, const struct weight *w, int embed)
{
    int n = (int)w->dim[0], context = (int)w->dim[1];
    const int32_t *t = w->data;
    int32_t *tokens = mem_alloc((size_t)w->count * sizeof *tokens);
    int32_t *at = mem_alloc((size_t)(n + 1) * sizeof *at);
    float *out = mem_alloc((size_t)n * (size_t)embed * sizeof *out);
    for (int i = 0; i < n; i++) {
        int len = context;
        while (len > 1 && !t[i * context + len - 1]) len--;
        memcpy(tokens + at[i], t + i * context, (size_t)len * sizeof *t);
        at[i + 1] = at[i] + len;
    }
    int rc = clip_text(r, out, tokens, at, n);
    free(tokens);
    free(at);
    emit(f, out, (size_t)n * (size_t)embed);
    return rc;
}

int main(int argc, char **argv)
{
    struct device *dev;
    struct clip *c;
    struct clip_runner *r;
    struct weights *in;
    struct str about = {0};
    int usable, rc = 0;
    if (argc < 4) return 2;
    struct clip_ask ask = {.model = argv[1], .activation = argc > 4 ? argv[4] : NULL};
    if (device_open(&dev, "cpu", 0) || clip_describe(&about, &usable, &ask, 1) ||
        clip_open(&c, dev, &ask) || weights_open(&in, argv[2]) ||
        clip_runner_open(&r, c, dev, &(struct clip_runner_ask){.out = F32}))
        return fail();
    FILE *f = fopen(argv[3], "wb");
    const struct weight *px = weights_find(in, "pixels"), *tok = weights_find(in, "tokens");
    int embed = clip_config(c)->embed;
    if (!f) return 1;
    if (px && px->dim[1] == clip_config(c)->image_size) {
        size_t n = (size_t)px->dim[0] * (size_t)embed;
        float *out = mem_alloc(n * sizeof *out);
        rc = clip_image(r, out, px->data, (int)px->dim[0]);
        emit(f, out, n);
    }
    if (tok && !rc) rc = run_text(f, r, tok, embed);
    fclose(f);
    fputs(about.p, stdout);
    if (rc) fail();
    str_release(&about);
    clip_runner_close(r);
    weights_close(in);
    clip_close(c);
    device_close(dev);
    return rc != 0;
}
