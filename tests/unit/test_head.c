/* Heads against torch: tests/golden/heads, written by tools/golden/make_heads.py in float64, layer
 * by layer. Ours are folded, in f32. Measured: at most 6e-7 of the largest score; the bound leaves
 * room for other instruction sets, and bound_can_fail shows what a forgotten activation does.
 * Then what must not matter (batch, thread, instruction set), and what is refused. */
#include "test.h"

#include <dirent.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "format/weights.h"
#include "io/file.h"
#include "model/head/head.h"
#include "model/head/net.h"
#include "tensor/cpu/cpu.h"
#include "tensor/cpu/half.h"

#define GOLDEN "tests/golden/heads/"

static struct device *dev;
static char scratch[64]; /* a folder */

static void set_up(void)
{
    if (dev) return;
    if (device_open(&dev, "cpu", 1)) TEST_FAIL("%s", err_text());
    snprintf(scratch, sizeof scratch, "/tmp/darkroom-head-XXXXXX");
    CHECK(mkdtemp(scratch) != NULL);
}

static float *numbers(const struct weight *w)
{
    float *x = mem_alloc((size_t)w->count * sizeof *x);
    if (!w || weights_read_f32(x, w)) TEST_FAIL("%s", err_text());
    return x;
}

static struct head *open_case(const char *name)
{
    char path[400];
    struct head *h = NULL;
    snprintf(path, sizeof path, GOLDEN "%s/head.json", name);
    if (!file_exists(path)) snprintf(path, sizeof path, GOLDEN "%s/head.pth", name);
    if (!file_exists(path)) snprintf(path, sizeof path, GOLDEN "%s/head.safetensors", name);
    if (head_open(&h, dev, path)) TEST_FAIL("%s: %s", path, err_text());
    return h;
}

struct wanted {
    struct weights *file;
    float *rows, *score;
    int64_t n, width;
};

static void want_open(struct wanted *w, const char *name)
{
    char path[400];
    snprintf(path, sizeof path, GOLDEN "%s/want.safetensors", name);
    if (weights_open(&w->file, path)) TEST_FAIL("%s", err_text());
    const struct weight *rows = weights_find(w->file, "rows");
    w->rows = numbers(rows);
    w->score = numbers(weights_find(w->file, "score"));
    w->n = rows->dim[0];
    w->width = rows->dim[1];
}

static void want_close(struct wanted *w)
{
    weights_close(w->file);
    free(w->rows);
    free(w->score);
}

/* Scores of n rows, at most `rows` at a time. */
static void run(float *out, const struct head *h, struct device *lane, const void *data,
                enum dtype type, int64_t n, int rows)
{
    struct head_runner *r;
    CHECK_INT(head_runner_open(&r, &h, 1, lane, rows), 0);
    CHECK_INT(head_run(r, &out, data, type, n), 0);
    head_runner_close(r);
}

static double distance(const float *got, const float *want, int64_t n)
{
    double top = 0, far = 0;
    for (int64_t i = 0; i < n; i++) {
        top = fmax(top, fabs(want[i]));
        double d = fabs((double)got[i] - want[i]);
        if (!(d <= far)) far = d;
    }
    return far / top;
}

TEST(every_network)
{
    struct dirent **list;
    set_up();
    int n = scandir(GOLDEN, &list, NULL, alphasort), cases = 0;
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        if (name[0] != '.') {
            struct wanted w;
            struct head *h = open_case(name);
            want_open(&w, name);
            float *got = mem_alloc((size_t)w.n * sizeof *got);
            CHECK_INT(head_width(h), w.width);
            run(got, h, dev, w.rows, F32, w.n, 0);
            double far = distance(got, w.score, w.n);
            printf("  %-18s %-52s %.1e\n", name, head_what(h), far);
            if (!(far < 3e-6)) TEST_FAIL("%s: off by %g", name, far);
            CHECK_INT(strlen(head_fingerprint(h)), 64);
            free(got);
            head_close(h);
            want_close(&w);
            cases++;
        }
        free(list[i]);
    }
    if (n >= 0) free(list);
    CHECK(cases >= 16);
}

TEST(bound_can_fail)
{
    struct wanted w;
    struct head *h;
    float got[64];
    set_up();
    h = open_case("aesthetic-relu");
    want_open(&w, "aesthetic-linear");
    run(got, h, dev, w.rows, F32, w.n, 0);
    CHECK(distance(got, w.score, w.n) > 1e-2);
    head_close(h);
    want_close(&w);
}

/* One affine map is one dot product. */
TEST(linear_layers_become_one)
{
    static const char *const what[][2] = {
        {"aesthetic-linear", "aesthetic predictor (linear layers only), 24 -> 1"},
        {"aesthetic-relu", "aesthetic predictor (ReLU), 24 -> 20 -> 12 -> 8 -> 6 -> 1"},
        {"nsfw", "NSFW detector, 24 -> 10 -> 20 -> 14 -> 1"},
        {"h14", "H/14 NSFW detector (not squashed), 24 -> 20 -> 28 -> 20 -> 12 -> 8 -> 1"},
        {"batchnorm", "described head, 24 -> 10 -> 1"},
        {"batchnorm-last", "described head, 24 -> 9 -> 1"},
        {"softmax", "described head, 24 -> 4"}};
    set_up();
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
        struct head *h = open_case(what[i][0]);
        CHECK_STR(head_what(h), what[i][1]);
        head_close(h);
    }
}

/* The same network in another kind of file has the same fingerprint; another network has not. */
TEST(fingerprints)
{
    set_up();
    struct head *a = open_case("aesthetic-linear"), *b = open_case("aesthetic-prefix");
    struct head *c = open_case("aesthetic-legacy");
    CHECK_STR(head_fingerprint(a), head_fingerprint(b));
    CHECK(strcmp(head_fingerprint(a), head_fingerprint(c)) != 0);
    head_close(a);
    head_close(b);
    head_close(c);
}

/* Same bytes whatever the batch, its end, the other heads beside it, or the instruction set. */
TEST(bytes_do_not_depend_on_company)
{
    static const char *const names[] = {"nsfw", "aesthetic-linear", "softmax", "layernorm", "raw"};
    enum { COUNT = sizeof names / sizeof *names };
    const struct head *heads[COUNT];
    struct wanted w;
    float all[COUNT][64], one[COUNT][64];
    float *to[COUNT], *single[COUNT];
    uint16_t half[64 * 24];
    struct head_runner *r;
    set_up();
    want_open(&w, "nsfw");
    for (int64_t i = 0; i < w.n * w.width; i++) half[i] = half_from_float(w.rows[i]);
    for (int i = 0; i < COUNT; i++) heads[i] = open_case(names[i]), to[i] = all[i];
    CHECK_INT(head_runner_open(&r, heads, COUNT, dev, 0), 0);
    CHECK_INT(head_run(r, to, half, F16, w.n), 0);
    head_runner_close(r);
    for (enum isa isa = ISA_PLAIN; isa <= isa_best(); isa++) {
        struct device *other;
        cpu_open(&other, isa, 1);
        for (int batch = 1; batch < 40; batch += batch < 4 ? 1 : 9) {
            CHECK_INT(head_runner_open(&r, heads, COUNT, other, batch), 0);
            for (int64_t i = 0, some; i < w.n; i += some) { /* in bites of other sizes */
                some = w.n - i < 7 ? w.n - i : 7;
                for (int h = 0; h < COUNT; h++) single[h] = one[h] + i;
                CHECK_INT(head_run(r, single, half + i * w.width, F16, some), 0);
            }
            head_runner_close(r);
            for (int h = 0; h < COUNT; h++)
                CHECK_BYTES(one[h], all[h], (size_t)w.n * sizeof(float));
        }
        device_close(other);
    }
    for (int h = 0; h < COUNT; h++) {
        run(one[h], heads[h], dev, half, F16, w.n, 5);
        CHECK_BYTES(one[h], all[h], (size_t)w.n * sizeof(float));
        head_close((struct head *)heads[h]);
    }
    want_close(&w);
}

/* A row's length does not matter, unless a description says so; a row without a direction has no
 * score, and its neighbours do not notice. */
TEST(lengths_and_directions)
{
    struct wanted w;
    float got[64], again[64], *rows;
    set_up();
    want_open(&w, "nsfw");
    rows = mem_alloc((size_t)(w.n * w.width) * sizeof *rows);
    struct head *h = open_case("nsfw"), *raw = open_case("raw");
    for (int64_t i = 0; i < w.n * w.width; i++) rows[i] = 256 * w.rows[i];
    run(got, h, dev, w.rows, F32, w.n, 0);
    run(again, h, dev, rows, F32, w.n, 0);
    CHECK_BYTES(got, again, (size_t)w.n * sizeof *got);
    run(again, raw, dev, rows, F32, w.n, 0);
    CHECK(distance(again, got, w.n) > 1);
    memset(rows + 2 * w.width, 0, (size_t)w.width * sizeof *rows);
    rows[5 * w.width + 3] = NAN;
    rows[7 * w.width] = INFINITY;
    rows[9 * w.width] = 1e30f; /* its square is infinite */
    for (int k = 0; k < 2; k++) {
        run(again, k ? raw : h, dev, rows, F32, w.n, 4);
        for (int64_t i = 0; i < w.n; i++)
            CHECK_INT(isnan(again[i]) != 0, i == 2 || i == 5 || i == 7 || i == 9);
    }
    run(again, h, dev, rows, F32, w.n, 4);
    for (int64_t i = 0; i < w.n; i++)
        if (!isnan(again[i])) CHECK_BYTES(again + i, got + i, sizeof *got);
    free(rows);
    head_close(h);
    head_close(raw);
    want_close(&w);
}

TEST(prompts)
{
    /* three texts on the axes of a plane: cosines are the coordinates */
    static const float texts[] = {1, 0, 0, 0, 1, 0, -1, 0, 0};
    static const float rows[] = {3, 4, 0, 0, 0, 1, -2, 0, 0};
    struct head *h;
    float got[3];
    set_up();
    CHECK_INT(head_open_prompts(&h, dev, texts, 3, 3, 10), 0);
    CHECK_STR(head_what(h), "prompts, 3 -> 3");
    run(got, h, dev, rows, F32, 3, 0);
    CHECK_NEAR(got[0], exp(6) / (exp(6) + exp(8) + exp(-6)), 1e-6);
    CHECK_NEAR(got[1], 1.0 / 3, 1e-7);
    CHECK_NEAR(got[2] / (exp(-10) / (exp(-10) + 1 + exp(10))), 1, 1e-5);
    head_close(h);
    CHECK_INT(head_open_prompts(&h, dev, texts, 3, 3, 1e4), 0); /* beyond exp of float and double */
    run(got, h, dev, rows, F32, 3, 0);
    CHECK(got[0] == 0 && got[2] == 0);
    head_close(h);
}

/* ---- what is refused ---- */

/* A safetensors file with tensors "name rows cols" of ones; rows 0: a vector. The first number of
 * the first tensor is `first`. */
static void write_weights(const char *path, const char *tensors, float first)
{
    struct str head = {0}, file = {0}, data = {0};
    char name[64];
    int rows, cols, used;
    str_putc(&head, '{');
    for (const char *p = tensors; sscanf(p, "%63s %d %d%n", name, &rows, &cols, &used) == 3;
         p += used) {
        size_t at = data.len, count = (size_t)(rows ? rows : 1) * (size_t)cols;
        for (size_t i = 0; i < count; i++) {
            float x = data.len ? 1 : first;
            str_add(&data, &x, sizeof x);
        }
        str_printf(&head, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[", at ? "," : "", name);
        if (rows) str_printf(&head, "%d,", rows);
        str_printf(&head, "%d],\"data_offsets\":[%zu,%zu]}", cols, at, data.len);
    }
    str_putc(&head, '}');
    uint64_t size = head.len;
    str_add(&file, &size, sizeof size);
    str_add(&file, head.p, head.len);
    str_add(&file, data.p ? data.p : "", data.len);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(file.p, 1, file.len, f) == file.len && !fclose(f));
    str_release(&head);
    str_release(&file);
    str_release(&data);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

/* Open scratch/h.json or, without text, scratch/h.safetensors: the error, or "" when it opens. */
static const char *refusal(const char *tensors, const char *text, float first)
{
    char weights[128], json[128];
    struct head *h = NULL;
    set_up();
    snprintf(weights, sizeof weights, "%s/h.safetensors", scratch);
    snprintf(json, sizeof json, "%s/h.json", scratch);
    unlink(json);
    write_weights(weights, tensors, first);
    if (text) write_text(json, text);
    int rc = head_open(&h, dev, text ? json : weights);
    CHECK(rc == 0 || rc == ERR_INPUT);
    head_close(h);
    if (rc && !strstr(err_text(), scratch)) TEST_FAIL("no file named: %s", err_text());
    return rc ? err_text() : "";
}

#define CHECK_SAYS(text, part)                                                    \
    do {                                                                          \
        const char *t_ = (text);                                                  \
        if (!strstr(t_, part)) TEST_FAIL("\"%s\" does not say \"%s\"", t_, part); \
    } while (0)

TEST(refused_weights)
{
    CHECK_STR(refusal("weight 1 8 bias 0 1", NULL, 1), "");
    CHECK_STR(refusal("fc.weight 1 8", NULL, 1), "");
    CHECK_SAYS(refusal("weight 1 8 bias 0 1", NULL, NAN),
               "weight holds numbers that are not finite");
    CHECK_SAYS(refusal("weight 1 8 bias 0 1", NULL, INFINITY), "not finite");
    CHECK_SAYS(refusal("weight 2 8 bias 0 2", NULL, 1), "gives 2 numbers, a score is one");
    CHECK_SAYS(refusal("weight 1 8 bias 0 3", NULL, 1), "bias has the shape [3], not [1]");
    CHECK_SAYS(refusal("a.weight 4 8 b.weight 1 4", NULL, 1), "docs/heads.md");
    CHECK_SAYS(refusal("a.weight 4 8 b.weight 1 4", NULL, 1), "a.weight [4,8], b.weight [1,4]");
    CHECK_SAYS(refusal("layers.0.weight 4 8 layers.0.bias 0 4", NULL, 1), "docs/heads.md");
    CHECK_SAYS(
        refusal("norm.mean 0 8 norm.variance 0 8 linear_1.weight 1 8 linear_1.bias 0 1 x 0 1", NULL,
                1),
        "docs/heads.md");
    CHECK_STR(
        refusal("norm.mean 0 8 norm.variance 0 8 linear_1.weight 1 8 linear_1.bias 0 1", NULL, 1),
        "");
    CHECK_SAYS(
        refusal("norm.variance 0 8 norm.mean 0 8 linear_1.weight 1 8 linear_1.bias 0 1", NULL, 0),
        "norm.variance is not positive everywhere");
    CHECK_SAYS(
        refusal("norm.mean 0 7 norm.variance 0 7 linear_1.weight 1 8 linear_1.bias 0 1", NULL, 1),
        "linear_1.weight takes 8 numbers, but the step before it gives 7");
    CHECK_SAYS(refusal("", NULL, 1), "holds no tensors");
}

TEST(refused_descriptions)
{
    static const char ab[] = "a.weight 4 8 a.bias 0 4 b.weight 2 4 n.weight 0 4 m 0 8 v 0 8";
    static const char *const bad[][2] = {
        {"{", "line 1"},
        {"[]", "not a JSON object"},
        {"{\"layers\": [], \"layers\": []}", "duplicate"},
        {"{}", "\"layers\" is not a list"},
        {"{\"layers\": [\"relu\"]}", "the first step is \"relu\""},
        {"{\"layers\": [{\"linear\": \"a\"}, \"swishy\"], \"output\": {\"take\": 0}}",
         "step 2 of \"layers\": unknown step \"swishy\""},
        {"{\"layers\": [{\"linear\": \"q\"}]}",
         "step 1 of \"layers\": there is no tensor q.weight"},
        {"{\"layers\": [{\"linear\": \"b\"}, {\"linear\": \"a\"}]}",
         "a.weight takes 8 numbers, but the step before it gives 2"},
        {"{\"layers\": [{\"linear\": \"a\"}]}", "gives 4 numbers, a score is one"},
        {"{\"layers\": [{\"linear\": \"a\"}], \"output\": {\"take\": 4}}", "\"take\": 4"},
        {"{\"layers\": [{\"linear\": \"a\"}], \"output\": {\"take\": 1.5}}", "\"take\": 1.5"},
        {"{\"layers\": [{\"linear\": \"a\"}], \"output\": {\"softmaxx\": true}}",
         "did you mean \"softmax\""},
        {"{\"layers\": [{\"linear\": \"a\"}], \"normalise\": 1}", "no key \"normalise\""},
        {"{\"layers\": [{\"lineal\": \"a\"}]}", "did you mean \"linear\""},
        {"{\"layers\": [{\"linear\": \"a\", \"eps\": 1}]}", "no key \"eps\""},
        {"{\"layers\": [{\"linear\": \"a\", \"layernorm\": \"n\"}]}", "no key \"linear\""},
        {"{\"layers\": [{\"linear\": {\"bias\": \"a.bias\"}}]}", "names no \"weight\""},
        {"{\"layers\": [{\"linear\": {\"weight\": 3}}]}", "not the name of a tensor"},
        {"{\"layers\": [7]}", "neither a name nor an object"},
        {"{\"layers\": [{}]}", "a step is one of"},
        {"{\"layers\": [{\"statistics\": {\"mean\": \"m\"}}]}", "one of \"variance\", \"std\""},
        {"{\"layers\": [{\"linear\": \"a\"}, {\"layernorm\": \"n\", \"eps\": -1}]}", "negative"},
        {"{\"layers\": [{\"linear\": \"a\"}, {\"batchnorm\": \"n\"}]}", "n.running_mean"},
        {"{\"weights\": \"none.pth\", \"layers\": [{\"linear\": \"a\"}]}", "none.pth"},
        {"{\"weights\": 1, \"layers\": [{\"linear\": \"a\"}]}", "\"weights\" is not the name"},
        {"{\"layers\": [{\"linear\": \"a\"}], \"output\": {\"take\": 0, \"scale\": 1e39}}",
         "beyond float32"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_SAYS(refusal(ab, bad[i][0], 1), bad[i][1]);
    CHECK_STR(refusal(ab,
                      "{\"layers\": [{\"statistics\": {\"mean\": \"m\", \"std\": \"v\"}}, "
                      "{\"linear\": \"a\"}, {\"layernorm\": \"n\"}], \"output\": {\"take\": 3}}",
                      1),
              "");
    struct str many = {0};
    str_puts(&many, "{\"layers\": [{\"linear\": \"a\"}");
    for (int i = 0; i < 70; i++) str_puts(&many, ",\"tanh\"");
    str_puts(&many, "], \"output\": {\"take\": 0}}");
    CHECK_SAYS(refusal(ab, many.p, 1), "more than 64 layers");
    str_release(&many);
}

/* ---- finding ---- */

TEST(found_by_name)
{
    char *path = NULL, dir[100], file[160];
    set_up();
    snprintf(dir, sizeof dir, "%s/none", scratch);
    setenv("DARKROOM_HOME", dir, 1);
    setenv("HOME", dir, 1);
    CHECK_INT(head_find(&path, "aesthetic", NULL, 96, 0), ERR_INPUT);
    CHECK_SAYS(err_text(), "none/models");
    CHECK_SAYS(err_text(), "--head aesthetic=FILE");
    CHECK(path == NULL);
    CHECK_INT(head_find(&path, "aesthetic", NULL, 768, 0), ERR_INPUT);
    CHECK_SAYS(err_text(), "published as sac+logos+ava1-l14-linearMSE.pth");
    CHECK_INT(head_find(&path, "aesthetic", NULL, 96, 1), 0);
    CHECK(strstr(path, "models/tiny/aesthetic.pth") != NULL);
    free(path);
    CHECK_INT(head_find(&path, "missing.pth", NULL, 96, 1), ERR_INPUT);
    CHECK_SAYS(err_text(), "missing.pth: no such file");
    snprintf(file, sizeof file, "%s/h14_nsfw.pth", scratch);
    write_text(file, "x");
    CHECK_INT(head_find(&path, "nsfw", scratch, 768, 0), 0); /* its weights tell its width */
    CHECK_STR(path, file);
    free(path);
    CHECK_INT(head_find(&path, "nsfw", scratch, 1024, 0), 0);
    CHECK_STR(path, file);
    free(path);
    unlink(file);
    CHECK_INT(head_find(&path, GOLDEN "batchnorm", NULL, 0, 0), 0);
    CHECK_STR(path, GOLDEN "batchnorm/head.json");
    free(path);
}

/* A description beside the weights is used; one about something else is not. */
TEST(description_beside_the_weights)
{
    char weights[128], json[128];
    struct head *h = NULL;
    set_up();
    snprintf(weights, sizeof weights, "%s/beside.safetensors", scratch);
    snprintf(json, sizeof json, "%s/beside.json", scratch);
    write_weights(weights, "weight 2 8 bias 0 2", 1);
    write_text(json,
               "{\"layers\": [{\"linear\": {\"weight\": \"weight\"}}], \"output\": {\"take\": 1}}");
    CHECK_INT(head_open(&h, dev, weights), 0);
    head_close(h);
    write_text(json, "{\"model\": \"something else\"}");
    CHECK_INT(head_open(&h, dev, weights), ERR_INPUT);
    CHECK_SAYS(err_text(), "gives 2 numbers");
    unlink(weights);
    unlink(json);
}

TEST(clean_up)
{
    char path[128];
    static const char *const left[] = {"h.safetensors", "h.json"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", scratch, left[i]);
        unlink(path);
    }
    rmdir(scratch);
    device_close(dev);
}

TEST_MAIN
