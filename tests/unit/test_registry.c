/* Names of models in four spellings, and where files are looked for. */
#include "test.h"

#include <stdarg.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "model/find.h"

static void known(const char *name, const char *arch, const char *tag, enum act act,
                  const char *repo)
{
    struct model_known k;
    if (registry_find(&k, name)) {
        TEST_FAIL("%s: %s", name, err_text());
        return;
    }
    if (arch) {
        CHECK(k.row != NULL);
        CHECK_STR(k.row ? k.row->arch : "", arch);
        CHECK_STR(k.row ? k.row->tag : "", tag);
    }
    CHECK_INT(k.act, act);
    CHECK_STR(k.repo, repo);
}

TEST(spellings)
{
    known("ViT-B/32", "ViT-B-32", "openai", ACT_QUICK_GELU,
          "timm/vit_base_patch32_clip_224.openai");
    known("ViT-B-32", "ViT-B-32", "openai", ACT_QUICK_GELU,
          "timm/vit_base_patch32_clip_224.openai");
    known("ViT-L/14@336px", "ViT-L-14-336", "openai", ACT_QUICK_GELU,
          "timm/vit_large_patch14_clip_336.openai");
    known("openai_clip:ViT-L/14", "ViT-L-14", "openai", ACT_QUICK_GELU,
          "timm/vit_large_patch14_clip_224.openai");
    known("open_clip:ViT-H-14/laion2b_s32b_b79k", "ViT-H-14", "laion2b_s32b_b79k", ACT_GELU,
          "laion/CLIP-ViT-H-14-laion2B-s32B-b79K");
    known("open_clip:ViT-B-32-quickgelu/laion400m_e32", "ViT-B-32", "laion400m_e32", ACT_QUICK_GELU,
          "timm/vit_base_patch32_clip_224.laion400m_e32");
    known("ViT-B-16/laion2b_s34b_b88k", "ViT-B-16", "laion2b_s34b_b88k", ACT_GELU,
          "laion/CLIP-ViT-B-16-laion2B-s34B-b88K");
    known("hf_clip:openai/clip-vit-large-patch14", "ViT-L-14", "openai", ACT_QUICK_GELU,
          "openai/clip-vit-large-patch14");
    known("laion/CLIP-ViT-bigG-14-laion2B-39B-b160k", "ViT-bigG-14", "laion2b_s39b_b160k", ACT_GELU,
          "laion/CLIP-ViT-bigG-14-laion2B-39B-b160k");
    known("vit_large_patch14_clip_quickgelu_224.openai", NULL, NULL, ACT_QUICK_GELU,
          "timm/vit_large_patch14_clip_224.openai");
    known("vit_base_patch32_clip_224.laion2b", NULL, NULL, ACT_GELU,
          "timm/vit_base_patch32_clip_224.laion2b");
    known("hf_clip:someone/their-clip", NULL, NULL, ACT_GELU, "someone/their-clip");
    /* DFN5B is listed under "-quickgelu" only */
    known("open_clip:ViT-H-14-quickgelu/dfn5b", "ViT-H-14", "dfn5b", ACT_QUICK_GELU,
          "apple/DFN5B-CLIP-ViT-H-14");
    /* no tag: the last one, as clip-retrieval's loader takes it */
    known("open_clip:ViT-g-14", "ViT-g-14", "laion2b_s34b_b88k", ACT_GELU,
          "laion/CLIP-ViT-g-14-laion2B-s34B-b88K");
}

static void unknown(const char *name, const char *near)
{
    struct model_known k;
    CHECK_INT(registry_find(&k, name), ERR_USAGE);
    if (!strstr(err_text(), near)) TEST_FAIL("\"%s\" does not offer %s", err_text(), near);
}

TEST(nearest_names)
{
    unknown("ViT-B/14", "ViT-B/16");
    unknown("ViT-B/14", "ViT-L/14");
    unknown("ViT-L/14@338px", "ViT-L/14@336px");
    unknown("open_clip:ViT-H-14/laion2b_s32b_b79", "open_clip:ViT-H-14/laion2b_s32b_b79k");
    unknown("vit_large_patch14_clip_quickgelu_224.opena",
            "vit_large_patch14_clip_quickgelu_224.openai");
    unknown("hf_clip:../../etc", "nearest");
    unknown("open_clip:ViT-B-16-SigLIP/webli", "not a plain ViT CLIP");
    unknown("RN50", "not a plain ViT CLIP");
    unknown("ja_clip:rinna/japanese-clip-vit-b-16", "Japanese");
    CHECK(registry_find(&(struct model_known){0}, "x/../../y") == ERR_USAGE);
}

TEST(exceptions_of_preprocessing)
{
    struct clip_said s;
    struct model_known k;
    clip_said_init(&s);
    CHECK_INT(registry_find(&k, "open_clip:ViT-L-14/laion2b_s32b_b82k"), 0);
    registry_say(&s, k.row);
    CHECK_NEAR(s.prep.mean[0], 0.5, 0);
    CHECK_NEAR(s.prep.std[2], 0.5, 0);
    CHECK_INT(registry_find(&k, "open_clip:ViT-H-14-378-quickgelu/dfn5b"), 0);
    registry_say(&s, k.row);
    CHECK_INT(s.prep.fit, FIT_SQUASH);
    CHECK_INT(s.image.heads, 16);
    CHECK_INT(s.image.act, ACT_QUICK_GELU);
}

TEST(by_file_name)
{
    CHECK_STR(registry_by_file("vit_b_32-laion2b_e16-af8dbd0c.pth")->tag, "laion2b_e16");
    CHECK_STR(registry_by_file("vit_b_16_plus_240-laion400m_e32-699c4b84.pt")->arch,
              "ViT-B-16-plus-240");
    CHECK_STR(registry_by_file("b32_400m.pt")->tag, "metaclip_400m");
    CHECK(registry_by_file("ViT-L-14.safetensors") == NULL); /* whose? */
    CHECK(registry_by_file("ViT-B-32.pt") == NULL);
    CHECK(registry_by_file("model.safetensors") == NULL);
}

/* ---- files ---- */

static char root[64];

static void shell(const char *fmt, ...) PRINTF_LIKE(1, 2);
static void shell(const char *fmt, ...)
{
    char cmd[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(cmd, sizeof cmd, fmt, args);
    va_end(args);
    if (system(cmd)) TEST_FAIL("%s", cmd);
}

static void start(void)
{
    char home[128];
    snprintf(root, sizeof root, "/tmp/darkroom-find-%d", (int)getpid());
    shell("rm -rf %s && mkdir -p %s/home/models %s/hub %s/user", root, root, root, root);
    snprintf(home, sizeof home, "%s/home", root);
    setenv("DARKROOM_HOME", home, 1);
    snprintf(home, sizeof home, "%s/hub", root);
    setenv("HF_HUB_CACHE", home, 1);
    snprintf(home, sizeof home, "%s/user", root);
    setenv("HOME", home, 1);
}

static void found(const char *model, const char *dir, const char *weights, const char *config)
{
    struct model_files f;
    char want[256];
    if (model_find(&f, model, dir)) {
        TEST_FAIL("%s: %s", model, err_text());
        return;
    }
    snprintf(want, sizeof want, "%s/%s", root, weights);
    CHECK_STR(f.weights, want);
    snprintf(want, sizeof want, "%s/%s", root, config);
    if (*config)
        CHECK_STR(f.config[0] ? f.config[0] : "none", want);
    else
        CHECK(f.config[0] == NULL);
    model_files_release(&f);
}

TEST(folders_are_searched)
{
    start();
    struct model_files f;
    CHECK_INT(model_find(&f, NULL, NULL), ERR_INPUT);
    CHECK(strstr(err_text(), "darkroom model pull ViT-B/32") && strstr(err_text(), "--model tiny"));
    CHECK(strstr(err_text(), "/home/models") && strstr(err_text(), "/hub"));

    /* OpenAI's own download folder */
    shell("mkdir -p %s/user/.cache/clip && touch %s/user/.cache/clip/ViT-B-32.pt", root, root);
    found("ViT-B/32", NULL, "user/.cache/clip/ViT-B-32.pt", "");

    /* the HF cache, through refs/main */
    shell("d=%s/hub/models--laion--CLIP-ViT-H-14-laion2B-s32B-b79K && mkdir -p $d/refs "
          "$d/snapshots/abc && printf abc > $d/refs/main && cd $d/snapshots/abc && touch "
          "open_clip_pytorch_model.bin model.safetensors open_clip_config.json config.json",
          root);
    const char snap[] = "hub/models--laion--CLIP-ViT-H-14-laion2B-s32B-b79K/snapshots/abc/";
    char a[256], b[256];
    snprintf(a, sizeof a, "%sopen_clip_pytorch_model.bin", snap);
    snprintf(b, sizeof b, "%sopen_clip_config.json", snap);
    found("open_clip:ViT-H-14/laion2b_s32b_b79k", NULL, a, b);
    snprintf(a, sizeof a, "%smodel.safetensors", snap);
    snprintf(b, sizeof b, "%sconfig.json", snap);
    found("hf_clip:laion/CLIP-ViT-H-14-laion2B-s32B-b79K", NULL, a, b);

    /* a folder of the name in our own models folder, '/' and ':' spelled '-' */
    shell("d=%s/home/models/ViT-B-32 && mkdir -p $d && touch $d/model.safetensors $d/config.json",
          root);
    found("ViT-B/32", NULL, "home/models/ViT-B-32/model.safetensors",
          "home/models/ViT-B-32/config.json");
    shell("mkdir -p %s/mine && touch %s/mine/ViT-B-32.safetensors", root, root);
    snprintf(a, sizeof a, "%s/mine", root);
    found("ViT-B/32", a, "mine/ViT-B-32.safetensors", "");
    /* a folder of one's own may have a name that no registry knows */
    shell("d=%s/home/models/our-clip && mkdir -p $d && touch $d/weights.pt", root);
    found("our-clip", NULL, "home/models/our-clip/weights.pt", "");
    CHECK_INT(model_find(&f, "their-clip", NULL), ERR_USAGE);
    shell("touch %s/home/models/our-clip/other.pt", root);
    CHECK_INT(model_find(&f, "our-clip", NULL), ERR_INPUT);
    CHECK(strstr(err_text(), "2 weight files") != NULL);
}

TEST(configuration_beside_a_file)
{
    start();
    char path[256];
    shell("cd %s && touch a.safetensors a.json b.safetensors config.json model.safetensors "
          "bpe_simple_vocab_16e6.txt.gz",
          root);
    snprintf(path, sizeof path, "%s/a.safetensors", root);
    found(path, NULL, "a.safetensors", "a.json");
    snprintf(path, sizeof path, "%s/b.safetensors", root);
    found(path, NULL, "b.safetensors", ""); /* config.json is model.safetensors' */
    snprintf(path, sizeof path, "%s/model.safetensors", root);
    found(path, NULL, "model.safetensors", "config.json");
    struct model_files f;
    CHECK_INT(model_find(&f, path, NULL), 0);
    CHECK(f.vocab && str_ends(f.vocab, "/bpe_simple_vocab_16e6.txt.gz"));
    model_files_release(&f);
    shell("rm -rf %s", root);
}

TEST_MAIN
