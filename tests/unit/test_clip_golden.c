/* Every checkpoint family and architecture detail against the library that defines it: small
 * CLIPs with random weights in tests/golden/clip, written by tools/golden/make_clip.py.
 * Tolerance: both sides compute in f32 with sums in another order. Measured here: at most 2e-6
 * of the largest entry; 2e-5 leaves room for other instruction sets. bound_can_fail shows what
 * a real difference, the other activation, looks like beside that. */
#include "test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "format/weights.h"
#include "model/clip.h"
#include "model/load.h"

#define GOLDEN "tests/golden/clip/"

static struct device *dev;

static void open_device(void)
{
    if (!dev && device_open(&dev, "cpu", 1)) TEST_FAIL("%s", err_text());
}

static float *read_all(const struct weight *w)
{
    float *x = mem_alloc((size_t)w->count * sizeof *x);
    if (weights_read_f32(x, w)) TEST_FAIL("%s", err_text());
    return x;
}

static double compare(const char *what, const float *got, const struct weight *w)
{
    float *want = read_all(w);
    double top = 0, worst = 0;
    for (int64_t i = 0; i < w->count; i++) {
        top = fmax(top, fabs(want[i]));
        worst = fmax(worst, fabs((double)got[i] - want[i]));
        if (!isfinite(got[i])) worst = INFINITY;
    }
    if (!(worst <= 2e-5 * top)) TEST_FAIL("%s: off by %g of %g", what, worst, top);
    free(want);
    return worst / top;
}

static double check_images(const char *name, struct clip_runner *r, const struct weights *want,
                           int embed)
{
    const struct weight *px = weights_find(want, "pixels"), *w = weights_find(want, "image");
    if (!px) return 0;
    float *out = mem_alloc((size_t)(px->dim[0] * embed) * sizeof *out);
    CHECK_INT(w->dim[1], embed);
    CHECK_INT(clip_image(r, out, px->data, (int)px->dim[0]), 0);
    double d = compare(name, out, w);
    free(out);
    return d;
}

/* Tokens up to and with the end token, one caption after another. */
static int ragged(int32_t *tokens, int32_t *at, const struct weight *w)
{
    const int32_t *t = w->data;
    int n = 0;
    at[0] = 0;
    for (int64_t i = 0; i < w->dim[0]; i++) {
        int64_t len = w->dim[1];
        while (len > 1 && t[i * w->dim[1] + len - 1] == 0) len--;
        memcpy(tokens + n, t + i * w->dim[1], (size_t)len * sizeof *t);
        n += (int)len;
        at[i + 1] = n;
    }
    return (int)w->dim[0];
}

static double check_texts(const char *name, struct clip_runner *r, const struct weights *want,
                          int embed)
{
    const struct weight *tok = weights_find(want, "tokens"), *w = weights_find(want, "text");
    int32_t tokens[1024], at[64];
    if (!tok) return 0;
    int n = ragged(tokens, at, tok);
    float *out = mem_alloc((size_t)(n * embed) * sizeof *out);
    CHECK_INT(w->dim[1], embed);
    CHECK_INT(clip_text(r, out, tokens, at, n), 0);
    double d = compare(name, out, w);
    free(out);
    return d;
}

static void check_case(const char *model, const char *want_file, int size)
{
    struct clip *c;
    struct clip_runner *r;
    struct weights *want;
    struct clip_ask ask = {.model = model, .image_size = size};
    struct clip_runner_ask form = {.out = F32};
    if (clip_open(&c, dev, &ask)) {
        TEST_FAIL("%s: %s", model, err_text());
        return;
    }
    CHECK_INT(weights_open(&want, want_file), 0);
    CHECK_INT(clip_runner_open(&r, c, dev, &form), 0);
    const struct clip_config *k = clip_config(c);
    CHECK((k->image.layers > 0) == (weights_find(want, "pixels") != NULL));
    double i = check_images(want_file, r, want, k->embed);
    double t = size ? 0 : check_texts(want_file, r, want, k->embed);
    printf("  %-58s image %.1e text %.1e\n", want_file + strlen(GOLDEN), i, t);
    clip_runner_close(r);
    clip_close(c);
    weights_close(want);
}

TEST(every_family)
{
    struct dirent **list;
    open_device();
    int n = scandir(GOLDEN, &list, NULL, alphasort), cases = 0;
    for (int i = 0; i < n; i++) {
        char model[300], want[400];
        if (list[i]->d_name[0] != '.') {
            const char *name = list[i]->d_name;
            snprintf(model, sizeof model, GOLDEN "%s%s", name,
                     !strcmp(name, "openai")                 ? "/ViT-X-8.pt"
                     : !strcmp(name, "open_clip-checkpoint") ? "/epoch_3.pt"
                                                             : "");
            snprintf(want, sizeof want, GOLDEN "%s/want.safetensors", name);
            check_case(model, want, 0);
            cases++;
        }
        free(list[i]);
    }
    if (n >= 0) free(list);
    CHECK(cases >= 15);
}

TEST(bound_can_fail)
{
    struct clip *c;
    struct clip_runner *r;
    struct weights *want;
    float out[3 * 20];
    double top = 0, worst = 0;
    open_device();
    CHECK_INT(clip_open(&c, dev, &(struct clip_ask){.model = GOLDEN "hf", .activation = "gelu"}),
              0);
    CHECK_INT(clip_runner_open(&r, c, dev, &(struct clip_runner_ask){.out = F32}), 0);
    CHECK_INT(weights_open(&want, GOLDEN "hf/want.safetensors"), 0);
    CHECK_INT(clip_image(r, out, weights_find(want, "pixels")->data, 3), 0);
    float *x = read_all(weights_find(want, "image"));
    for (int i = 0; i < 60; i++)
        top = fmax(top, fabs(x[i])), worst = fmax(worst, fabs(out[i] - x[i]));
    printf("  gelu for quick_gelu: off by %.1e of the largest entry\n", worst / top);
    CHECK(worst > 50 * 2e-5 * top);
    free(x);
    weights_close(want);
    clip_runner_close(r);
    clip_close(c);
}

/* open_clip's loader with torch's antialiased bicubic: smaller and larger. */
TEST(positions_for_other_sizes)
{
    static const int sizes[] = {28, 70};
    open_device();
    for (int i = 0; i < 2; i++) {
        char want[256];
        snprintf(want, sizeof want, GOLDEN "open_clip/want-%d.safetensors", sizes[i]);
        check_case(GOLDEN "open_clip", want, sizes[i]);
    }
}

/* The two savings change no bit: against every token of every block, captions padded. */
TEST(savings_are_exact)
{
    static const char *const models[] = {GOLDEN "open_clip", GOLDEN "hf",
                                         GOLDEN "open_clip-quick-fp16"};
    open_device();
    for (int i = 0; i < 3; i++) {
        struct clip *c;
        struct clip_runner *fast, *whole;
        int32_t tokens[64], at[8] = {0};
        CHECK_INT(clip_open(&c, dev, &(struct clip_ask){.model = models[i]}), 0);
        const struct clip_config *k = clip_config(c);
        CHECK_INT(clip_runner_open(&fast, c, dev, &(struct clip_runner_ask){.out = F32}), 0);
        CHECK_INT(clip_runner_open(&whole, c, dev, &(struct clip_runner_ask){.whole = 1}), 0);
        CHECK(clip_runner_bytes(fast) > 0);
        size_t px = (size_t)(5 * k->image_size * k->image_size * 3);
        uint8_t *pixels = mem_alloc(px);
        struct rng rng = {11};
        for (size_t j = 0; j < px; j++) pixels[j] = (uint8_t)rng_u64(&rng);
        size_t bytes = 5 * (size_t)k->embed * sizeof(float);
        float *a = mem_alloc(bytes), *b = mem_alloc(bytes);
        CHECK_INT(clip_image(fast, a, pixels, 5), 0);
        CHECK_INT(clip_image(whole, b, pixels, 5), 0);
        CHECK_BYTES(a, b, bytes);
        for (int j = 0; j < 5; j++) { /* 2, 3, 4, 5 and 10 tokens */
            int len = j == 4 ? 10 : 2 + j;
            for (int t = 0; t < len; t++) tokens[at[j] + t] = (int32_t)rng_below(&rng, 40);
            at[j + 1] = at[j] + len;
        }
        CHECK_INT(clip_text(fast, a, tokens, at, 5), 0);
        CHECK_INT(clip_text(whole, b, tokens, at, 5), 0);
        CHECK_BYTES(a, b, bytes);
        /* one by one = all together */
        for (int j = 0; j < 5; j++) {
            CHECK_INT(clip_text(fast, b, tokens, at + j, 1), 0);
            CHECK_BYTES(b, a + j * k->embed, (size_t)k->embed * sizeof *b);
        }
        CHECK_INT(clip_image(fast, a, pixels, 5), 0);
        for (int j = 0; j < 5; j++) {
            CHECK_INT(clip_image(fast, b, pixels + (size_t)j * px / 5, 1), 0);
            CHECK_BYTES(b, a + j * k->embed, (size_t)k->embed * sizeof *b);
        }
        clip_runner_close(fast);
        clip_runner_close(whole);
        clip_close(c);
        free(pixels);
        free(a);
        free(b);
    }
}

/* Normalised f32, then f16 of exactly that; plain f16 as well. */
TEST(forms_of_output)
{
    struct clip *c;
    struct clip_runner *r;
    uint8_t pixels[28 * 28 * 3];
    float plain[20], unit[20];
    _Alignas(64) uint16_t half[20], raw[20];
    open_device();
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 37);
    CHECK_INT(clip_open(&c, dev, &(struct clip_ask){.model = GOLDEN "hf", .no_text = 1}), 0);
    CHECK_INT(clip_config(c)->text.layers, 0);
    struct {
        enum dtype type;
        int normalize;
        void *out;
    } forms[] = {{F32, 0, plain}, {F32, 1, unit}, {F16, 1, half}, {F16, 0, raw}};
    for (int i = 0; i < 4; i++) {
        struct clip_runner_ask ask = {.out = forms[i].type, .normalize = forms[i].normalize};
        CHECK_INT(clip_runner_open(&r, c, dev, &ask), 0);
        CHECK_INT(clip_image(r, forms[i].out, pixels, 1), 0);
        clip_runner_close(r);
    }
    double norm = 0, length = 0;
    for (int i = 0; i < 20; i++)
        norm += (double)plain[i] * plain[i], length += (double)unit[i] * unit[i];
    CHECK_NEAR(length, 1, 1e-6);
    for (int i = 0; i < 20; i++) {
        CHECK_NEAR(unit[i], plain[i] / sqrt(norm), 1e-6);
        struct weight u = {.dtype = WEIGHT_F16, .rank = 1, .dim = {1}, .stride = {1}, .count = 1};
        float h, p;
        u.data = &half[i];
        CHECK_INT(weights_read_f32(&h, &u), 0);
        CHECK_NEAR(h, unit[i], fabs(unit[i]) * 4.9e-4);
        u.data = &raw[i];
        CHECK_INT(weights_read_f32(&p, &u), 0);
        CHECK_NEAR(p, plain[i], fabs(plain[i]) * 4.9e-4);
    }
    clip_close(c);
}

TEST(configuration_is_read)
{
    struct clip *c;
    open_device();
    CHECK_INT(clip_open(&c, dev, &(struct clip_ask){.model = GOLDEN "open_clip"}), 0);
    const struct clip_config *k = clip_config(c);
    CHECK_INT(k->image.width, 24);
    CHECK_INT(k->image.heads, 3);
    CHECK_INT(k->image.mlp, 104); /* int(24 * 4.3637) */
    CHECK_INT(k->prep.fit, FIT_SQUASH);
    CHECK_INT(k->prep.floor_crop, 0);
    CHECK_INT(k->prep.size, 42);
    CHECK_NEAR(k->prep.mean[0], 0.5, 0);
    CHECK_INT(k->image.act, ACT_GELU);
    struct weights *w;
    CHECK_INT(weights_open(&w, GOLDEN "open_clip/open_clip_model.safetensors"), 0);
    float stored = 0;
    CHECK_INT(weights_read_f32(&stored, weights_find(w, "logit_scale")), 0);
    CHECK_NEAR(k->logit_scale, exp(stored), 1e-5 * exp(stored));
    weights_close(w);
    clip_close(c);
    CHECK_INT(clip_open(&c, dev, &(struct clip_ask){.model = GOLDEN "hf"}), 0);
    k = clip_config(c);
    CHECK_INT(k->prep.floor_crop, 1);
    CHECK_INT(k->prep.rgb_first, 1);
    CHECK_NEAR(k->prep.mean[0], 0.5, 0);
    CHECK_INT(k->text.act, ACT_QUICK_GELU);
    CHECK_INT(k->context, 12);
    clip_close(c);
}

/* The fingerprint is of the whole model: one tower or two, and from anywhere. */
TEST(fingerprint)
{
    char both[65], image[65], gelu[65], other[65];
    struct clip_ask asks[4] = {{.model = GOLDEN "hf"},
                               {.model = GOLDEN "hf", .no_text = 1},
                               {.model = GOLDEN "hf", .activation = "gelu"},
                               {.model = GOLDEN "open_clip"}};
    char *hex[4] = {both, image, gelu, other};
    open_device();
    for (int i = 0; i < 4; i++) {
        struct clip *c;
        CHECK_INT(clip_open(&c, dev, &asks[i]), 0);
        CHECK_INT(clip_fingerprint(c, hex[i]), 0);
        CHECK_INT(strlen(hex[i]), 64);
        clip_close(c);
    }
    CHECK_STR(image, both);
    CHECK(strcmp(gelu, both));
    CHECK(strcmp(other, both));
}

/* ---- what must fail, and how it says so ---- */

static void must_fail(const struct clip_ask *ask, int rc, const char *word)
{
    struct clip *c = NULL;
    int got = clip_open(&c, dev, ask);
    if (got != rc)
        TEST_FAIL("%s gives %d, not %d: %s", ask->model, got, rc, err_text());
    else if (!strstr(err_text(), word))
        TEST_FAIL("\"%s\" does not say %s", err_text(), word);
    clip_close(c);
}

static char folder[64], file[128];

static void temp_copy(const char *from, const char *name)
{
    char cmd[512];
    snprintf(folder, sizeof folder, "/tmp/darkroom-golden-%d", (int)getpid());
    snprintf(file, sizeof file, "%s/%s", folder, name);
    snprintf(cmd, sizeof cmd, "rm -rf %s && mkdir -p %s && cp %s %s", folder, folder, from, file);
    if (system(cmd)) TEST_FAIL("%s", cmd);
}

static void poke(const char *path, long from_end, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "r+b");
    if (!f || fseek(f, -from_end, SEEK_END) || fwrite(bytes, 1, n, f) != n) TEST_FAIL("poke");
    if (f) fclose(f);
}

TEST(bad_models)
{
    const float nan = NAN;
    open_device();
    temp_copy(GOLDEN "open_clip/open_clip_model.safetensors", "x.safetensors");
    must_fail(&(struct clip_ask){.model = file}, ERR_USAGE, "--activation quick_gelu");
    must_fail(&(struct clip_ask){.model = file, .activation = "tanh"}, ERR_USAGE, "tanh");
    /* width 24 is no multiple of 64: heads must be said */
    must_fail(&(struct clip_ask){.model = file, .activation = "gelu"}, ERR_INPUT, "heads");
    must_fail(&(struct clip_ask){.model = GOLDEN "open_clip", .image_size = 43}, ERR_USAGE, "43");
    temp_copy(GOLDEN "openai/ViT-X-8.pt", "cut.pt");
    CHECK_INT(truncate(file, 20000), 0);
    must_fail(&(struct clip_ask){.model = file}, ERR_INPUT, "cut.pt");
    temp_copy(GOLDEN "open_clip/want.safetensors", "not.safetensors");
    must_fail(&(struct clip_ask){.model = file, .activation = "gelu"}, ERR_INPUT, "not a CLIP");
    temp_copy(GOLDEN "hf/model.safetensors", "model.safetensors");
    poke(file, 4 * 24 * 20, &nan, sizeof nan); /* the last tensor is visual_projection.weight */
    char cmd[512];
    snprintf(cmd, sizeof cmd, "cp " GOLDEN "hf/config.json %s/", folder);
    CHECK_INT(system(cmd), 0);
    must_fail(&(struct clip_ask){.model = file}, ERR_INPUT, "visual_projection.weight");
    snprintf(cmd, sizeof cmd,
             "sed -i 's/\"num_hidden_layers\": 2/\"num_hidden_layers\": 3/' %s/config.json",
             folder);
    CHECK_INT(system(cmd), 0);
    must_fail(&(struct clip_ask){.model = file}, ERR_INPUT, "layers 3");
    must_fail(&(struct clip_ask){.model = "ViT-B/14"}, ERR_USAGE, "ViT-B/16");
    must_fail(&(struct clip_ask){.model = "tests/golden"}, ERR_INPUT, "no weights");
    snprintf(cmd, sizeof cmd, "rm -rf %s", folder);
    CHECK_INT(system(cmd), 0);
}

TEST(foreign_tokens)
{
    struct clip *c;
    struct clip_runner *r;
    int32_t tokens[] = {1, 2, 999}, at[] = {0, 3};
    float out[64];
    open_device();
    CHECK_INT(clip_open(&c, dev, &(struct clip_ask){.model = GOLDEN "hf"}), 0);
    CHECK_INT(clip_runner_open(&r, c, dev, &(struct clip_runner_ask){.out = F32}), 0);
    CHECK_INT(clip_text(r, out, tokens, at, 1), ERR_INPUT);
    CHECK(strstr(err_text(), "vocabulary") != NULL);
    clip_runner_close(r);
    clip_close(c);
}

TEST(describe)
{
    struct str s = {0};
    int usable = 0;
    CHECK_INT(clip_describe(&s, &usable, &(struct clip_ask){.model = GOLDEN "hf"}, 0), 0);
    CHECK(usable);
    CHECK(strstr(s.p, "HF transformers") && strstr(s.p, "quick_gelu"));
    str_clear(&s);
    CHECK_INT(clip_describe(&s, &usable, &(struct clip_ask){.model = GOLDEN "open_clip"}, 1), 0);
    CHECK(usable && strstr(s.p, "\"activation\":\"gelu\""));
    str_clear(&s);
    CHECK_INT(
        clip_describe(&s, &usable, &(struct clip_ask){.model = GOLDEN "hf/want.safetensors"}, 0),
        0);
    CHECK(!usable && strstr(s.p, "not a CLIP"));
    str_release(&s);
}

TEST_MAIN
