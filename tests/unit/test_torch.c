/* torch files and weights.h: values from files that torch, safetensors and numpy wrote, number
 * conversions against arithmetic, every cut and every flipped bit. */
#include "test.h"
#include "base/err.h"
#include "base/rng.h"
#include "format/torch.h"
#include "format/weights.h"
#include "format/weights_f32.h"
#include "io/file.h"

#include <sys/stat.h>
#include <unistd.h>

#define DATA "tests/data/weights/"

static float *read_all(const struct weight *t)
{
    float *v = malloc((size_t)(t->count + 1) * sizeof *v);
    CHECK_INT(weights_read_f32(v, t), 0);
    return v;
}

/* Tensor k of the fixtures holds i/8 - k. */
static void check_numbers(const struct weights *w, const char *prefix, const char *name, int k,
                          int64_t count)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const struct weight *t = weights_find(w, full);
    if (!t) {
        TEST_FAIL("no tensor %s in %s", full, weights_path(w));
        return;
    }
    CHECK_INT(t->count, count);
    float *v = read_all(t);
    for (int64_t i = 0; i < t->count; i++)
        if (v[i] != (float)i / 8 - (float)k) TEST_FAIL("%s[%d] is %g", full, (int)i, v[i]);
    free(v);
}

static void check_state(const char *path, const char *format, const char *prefix, size_t count)
{
    struct weights *w;
    char name[128];
    CHECK_INT(weights_open(&w, path), 0);
    if (!w) {
        TEST_FAIL("%s", err_text());
        return;
    }
    CHECK_STR(weights_format(w), format);
    CHECK_INT(weights_count(w), count);
    check_numbers(w, prefix, "a.weight", 0, 6);
    check_numbers(w, prefix, "a.half", 1, 5);
    check_numbers(w, prefix, "a.bfloat", 2, 3);
    check_numbers(w, prefix, "scalar", 3, 1);
    check_numbers(w, prefix, "base", 4, 24);
    check_numbers(w, prefix, "empty", 0, 0);
    snprintf(name, sizeof name, "%sbase_t", prefix);
    float *t = read_all(weights_find(w, name));
    for (int i = 0; i < 24; i++) CHECK_NEAR(t[i], (i % 6 * 4 + i / 6) / 8.0 - 4, 0);
    free(t);
    snprintf(name, sizeof name, "%swindow", prefix);
    t = read_all(weights_find(w, name));
    for (int i = 0; i < 6; i++) CHECK_NEAR(t[i], ((i / 2 + 2) * 4 + i % 2 + 1) / 8.0 - 4, 0);
    free(t);
    snprintf(name, sizeof name, "%sids", prefix);
    t = read_all(weights_find(w, name));
    for (int i = 0; i < 7; i++) CHECK_NEAR(t[i], i, 0);
    free(t);
    CHECK(weights_find(w, "nothing") == NULL);
    weights_close(w);
}

TEST(state_dicts_of_every_container)
{
    check_state(DATA "state.pt", "torch zip", "", 10);
    check_state(DATA "protocol4.pt", "torch zip", "", 10);
    check_state(DATA "legacy.pt", "torch legacy", "", 10);
    check_state(DATA "state.safetensors", "safetensors", "", 10);
    check_state(DATA "model.safetensors.index.json", "safetensors", "", 10);
    check_state(DATA "checkpoint.pt", "torch zip", "state_dict.module.", 11);
}

TEST(checkpoint_scalars_and_stubs)
{
    struct weights *w;
    CHECK_INT(weights_open(&w, DATA "checkpoint.pt"), 0);
    CHECK_STR(weights_meta(w, "epoch"), "12");
    CHECK_STR(weights_meta(w, "name"), "ViT-B-32");
    CHECK_STR(weights_meta(w, "lr"), "0.1");
    CHECK_STR(weights_meta(w, "done"), "true");
    CHECK_STR(weights_meta(w, "optimizer.state.0.step"), "5");
    CHECK(weights_meta(w, "nothing") == NULL);
    CHECK_INT(weights_stub_count(w), 1);
    CHECK_STR(weights_stub_at(w, 0)->key, "np");
    check_numbers(w, "", "optimizer.state.0.exp_avg", 9, 2);
    weights_close(w);
}

TEST(torchscript_attributes_become_names)
{
    struct weights *w;
    CHECK_INT(weights_open(&w, DATA "script.pt"), 0);
    CHECK_STR(weights_format(w), "TorchScript");
    CHECK_INT(weights_count(w), 6);
    CHECK_INT(weights_parameters(w), 21);
    check_numbers(w, "", "inner.weight", 0, 6);
    check_numbers(w, "", "inner.mean", 1, 3);
    check_numbers(w, "", "blocks.0.weight", 2, 4);
    check_numbers(w, "", "blocks.1.bias", 5, 2);
    CHECK_STR(weights_meta(w, "input_resolution"), "224");
    weights_close(w);
}

TEST(arrays)
{
    static const char *const files[] = {DATA "stored.npz", DATA "deflated.npz"};
    struct weights *w;
    for (int i = 0; i < 2; i++) {
        CHECK_INT(weights_open(&w, files[i]), 0);
        CHECK_STR(weights_format(w), "npz");
        check_numbers(w, "", "a", 0, 12);
        CHECK(weights_find(w, "b") && weights_find(w, "b")->dtype == WEIGHT_I64);
        weights_close(w);
    }
    CHECK_INT(weights_open(&w, DATA "array.npy"), 0);
    check_numbers(w, "", "tensor", 0, 12);
    weights_close(w);
    CHECK_INT(weights_open(&w, DATA "lone.pt"), 0);
    check_numbers(w, "", "tensor", 0, 4);
    weights_close(w);
}

TEST(nothing_is_executed)
{
    struct weights *w;
    unlink("/tmp/darkroom-canary");
    CHECK_INT(weights_open(&w, DATA "evil.pt"), 0);
    CHECK_INT(weights_count(w), 1);
    CHECK_STR(weights_stub_at(w, 0)->text, "posix.system");
    weights_close(w);
    CHECK_INT(weights_open(&w, DATA "module.pt"), ERR_INPUT);
    CHECK(strstr(err_text(), "module.pt: no tensors, but a pickled posix.system") != NULL);
    CHECK(access("/tmp/darkroom-canary", F_OK) != 0);
}

static int decode(struct weight_list *l, const void *p, size_t n)
{
    struct zip z = {0};
    int script = 0;
    if (!zip_is(p, n)) return torch_decode_legacy(l, p, n);
    int rc = zip_init(&z, p, n);
    const char *root = rc ? NULL : torch_root(&z, &script, &z.arena);
    if (!rc) rc = root ? torch_decode_zip(l, &z, root, script) : ERR_INPUT;
    zip_release(&z);
    return rc;
}

/* Tensors that are given must be readable to their last byte. */
static int decode_and_read(const void *p, size_t n)
{
    struct weight_list l = {0};
    unsigned char *exact = malloc(n ? n : 1);
    if (n) memcpy(exact, p, n);
    int rc = decode(&l, exact, n);
    for (size_t i = 0; !rc && i < l.count; i++)
        if (l.list[i].count < 1 << 16 && l.list[i].dtype != WEIGHT_C64) free(read_all(&l.list[i]));
    weight_list_release(&l);
    free(exact);
    return rc;
}

TEST(every_cut_is_an_error)
{
    static const char *const files[] = {DATA "lone.pt", DATA "legacy.pt"};
    for (int i = 0; i < 2; i++) {
        struct file_map f;
        CHECK_INT(file_map(&f, files[i]), 0);
        CHECK_INT(decode_and_read(f.p, f.n), 0);
        for (size_t n = 0; n < f.n; n++)
            if (decode_and_read(f.p, n) != ERR_INPUT) TEST_FAIL("%s cut at %zu", files[i], n);
        file_unmap(&f);
    }
}

/* Also inside the pickle, where no checksum stands in the way. */
TEST(every_flipped_bit_is_survived)
{
    static const char *const files[] = {DATA "lone.pt", DATA "legacy.pt", DATA "evil.pt"};
    for (int i = 0; i < 3; i++) {
        struct file_map f;
        CHECK_INT(file_map(&f, files[i]), 0);
        unsigned char *p = malloc(f.n);
        memcpy(p, f.p, f.n);
        for (size_t at = 0; at < f.n; at++)
            for (int bit = 0; bit < 8; bit++) {
                p[at] ^= (unsigned char)(1 << bit);
                decode_and_read(p, f.n);
                p[at] ^= (unsigned char)(1 << bit);
            }
        free(p);
        file_unmap(&f);
    }
    CHECK(access("/tmp/darkroom-canary", F_OK) != 0);
}

static int open_bytes(const void *p, size_t n)
{
    char path[] = "/tmp/test_torch.XXXXXX";
    struct weights *w;
    int fd = mkstemp(path);
    CHECK(write(fd, p, n) == (ssize_t)n);
    close(fd);
    int rc = weights_open(&w, path);
    weights_close(w);
    unlink(path);
    return rc;
}

TEST(wrong_files_get_advice)
{
    static const struct {
        const char *bytes, *advice;
    } cases[] = {
        {"", "empty"},
        {"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"},
        {"<!DOCTYPE html>", "web page"},
        {"GGUF....", "GGUF"},
        {"\x1f\x8b\x08", "gzip"},
        {"{\"model_type\":\"clip\"}", "weight_map"},
        {"\x80\x04N.", "torch.save"},
        {"hello", "no model format"},
        {"{\"weight_map\":{\"a\":\"no-such-shard\"}}", "no-such-shard"},
    };
    struct weights *w;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(open_bytes(cases[i].bytes, strlen(cases[i].bytes)), ERR_INPUT);
        if (!strstr(err_text(), cases[i].advice) || !strstr(err_text(), "/tmp/"))
            TEST_FAIL("%s", err_text());
    }
    CHECK_INT(weights_open(&w, DATA), ERR_INPUT);
    CHECK(strstr(err_text(), "folder") != NULL);
    CHECK_INT(weights_open(&w, DATA "missing.pt"), ERR_INPUT);
    CHECK(strstr(err_text(), "missing.pt") != NULL);
    weights_close(NULL);
}

/* ---- numbers ---- */

static double small_float(unsigned v, int exponent, int mantissa, int bias)
{
    unsigned e = v >> mantissa & ((1u << exponent) - 1), m = v & ((1u << mantissa) - 1);
    double sign = v >> (exponent + mantissa) & 1 ? -1 : 1;
    if (!e) return sign * ldexp(m, 1 - bias - mantissa);
    return sign * ldexp(1 + ldexp(m, -mantissa), (int)e - bias);
}

static void check_float(float got, double want, int is_nan, unsigned v)
{
    if (is_nan ? !isnan(got) : (double)got != want || !signbit(got) != !signbit(want))
        TEST_FAIL("%#x is %g, not %g", v, got, want);
}

TEST(every_half)
{
    static uint16_t all[65536];
    static float plain[65536], best[65536];
    for (int i = 0; i < 65536; i++) all[i] = (uint16_t)i;
    f16_read_plain(plain, all, 65536);
    f16_read(best, all, 65536);
    CHECK_BYTES(plain, best, sizeof plain);
    for (unsigned i = 0; i < 65536; i++) {
        unsigned rest = i & 0x7fff;
        double want = rest == 0x7c00 ? (i >> 15 ? -INFINITY : INFINITY) : small_float(i, 5, 10, 15);
        check_float(plain[i], want, rest > 0x7c00, i);
    }
    f16_read(best, (char *)all + 2, 13); /* unaligned, odd count */
    CHECK_BYTES(best, plain + 1, 13 * sizeof *best);
}

TEST(every_bf16_and_f8)
{
    static uint16_t wide[65536];
    static float got[65536];
    uint8_t narrow[256];
    struct weight w = {.name = "x", .rank = 1, .dim = {65536}, .stride = {1}, .count = 65536};
    for (int i = 0; i < 65536; i++) wide[i] = (uint16_t)i, narrow[i & 255] = (uint8_t)i;
    w.dtype = WEIGHT_BF16;
    w.data = wide;
    CHECK_INT(weights_read_f32(got, &w), 0);
    for (unsigned i = 0; i < 65536; i++) {
        uint32_t bits;
        memcpy(&bits, &got[i], 4);
        if (bits != i << 16) TEST_FAIL("bf16 %#x", i);
    }
    w.dim[0] = w.count = 256;
    w.data = narrow;
    w.dtype = WEIGHT_F8_E4M3;
    CHECK_INT(weights_read_f32(got, &w), 0);
    for (unsigned i = 0; i < 256; i++)
        check_float(got[i], small_float(i, 4, 3, 7), (i & 127) == 127, i);
    w.dtype = WEIGHT_F8_E5M2;
    CHECK_INT(weights_read_f32(got, &w), 0);
    for (unsigned i = 0; i < 256; i++) {
        double want =
            (i & 127) == 124 ? (i > 127 ? -INFINITY : INFINITY) : small_float(i, 5, 2, 15);
        check_float(got[i], want, (i & 127) > 124, i);
    }
    w.dtype = WEIGHT_C64;
    CHECK_INT(weights_read_f32(got, &w), ERR_INPUT);
}

TEST(random_strides)
{
    static float base[4096], got[4096];
    struct rng r = {7};
    for (int i = 0; i < 4096; i++) base[i] = (float)i;
    for (int round = 0; round < 2000; round++) {
        struct weight w = {.name = "x", .dtype = WEIGHT_F32, .data = base, .count = 1};
        int64_t last = 0;
        w.rank = (int)rng_below(&r, 6);
        for (int i = 0; i < w.rank; i++) {
            w.dim[i] = (int64_t)rng_below(&r, 5);
            w.stride[i] = (int64_t)rng_below(&r, 3) ? (int64_t)rng_below(&r, 200) : 1;
            w.count *= w.dim[i];
            last += w.dim[i] ? (w.dim[i] - 1) * w.stride[i] : 0;
        }
        if (last >= 4096) continue;
        CHECK_INT(weights_read_f32(got, &w), 0);
        for (int64_t n = 0; n < w.count; n++) {
            int64_t rest = n, at = 0;
            for (int i = w.rank; i--; rest /= w.dim[i]) at += rest % w.dim[i] * w.stride[i];
            if (got[n] != (float)at) TEST_FAIL("round %d, element %d", round, (int)n);
        }
    }
}

TEST_MAIN
