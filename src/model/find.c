/* find.c - where models lie: a folder or file that was named, our own models folder, OpenAI's
 * download folder, and the HF cache with its refs and snapshots. */
#include "model/find.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/place.h"

static const char vocab_name[] = "bpe_simple_vocab_16e6.txt.gz";

/* open_clip's order of preference, then shards and TorchScript. */
static const char *const open_clip_first[] = {"open_clip_model.safetensors",
                                              "open_clip_pytorch_model.safetensors",
                                              "open_clip_pytorch_model.bin",
                                              "open_clip_pytorch_model.pth",
                                              "open_clip_model.safetensors.index.json",
                                              "model.safetensors",
                                              "pytorch_model.bin",
                                              "pytorch_model.pth",
                                              "model.pth",
                                              "model.safetensors.index.json",
                                              "pytorch_model.bin.index.json",
                                              NULL};
static const char *const model_first[] = {"model.safetensors",
                                          "pytorch_model.bin",
                                          "pytorch_model.pth",
                                          "model.pth",
                                          "model.safetensors.index.json",
                                          "pytorch_model.bin.index.json",
                                          "open_clip_model.safetensors",
                                          "open_clip_pytorch_model.safetensors",
                                          "open_clip_pytorch_model.bin",
                                          "open_clip_pytorch_model.pth",
                                          NULL};
static const char *const any_weights[] = {".safetensors", ".bin", ".pth", ".pt", ".npz", NULL};

static char *join(const char *folder, const char *name)
{
    struct str s = {0};
    str_printf(&s, "%s/%s", folder, name);
    return str_steal(&s);
}

/* The path when it is there, else NULL. */
static char *there(const char *folder, const char *name)
{
    char *p = join(folder, name);
    if (file_exists(p) == 1) return p;
    free(p);
    return NULL;
}

void model_home(struct str *out)
{
    const char *home = getenv("DARKROOM_HOME"), *user = getenv("HOME");
    str_clear(out);
    if (home && *home)
        str_printf(out, "%s/models", home);
    else
        str_printf(out, "%s/.darkroom/models", user ? user : "");
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- vocabulary and configuration beside the weights ---- */

static char *find_vocab(const char *folder, const char *model_dir)
{
    static const char *const names[] = {vocab_name, "bpe_simple_vocab_16e6.txt", "vocab.txt.gz",
                                        NULL};
    struct str home = {0};
    char *found = NULL;
    for (int i = 0; names[i] && !found; i++) found = there(folder, names[i]);
    if (!found) {
        char *merges = there(folder, "merges.txt");
        if (merges) found = there(folder, "vocab.json");
        free(merges);
    }
    if (!found && model_dir) found = there(model_dir, vocab_name);
    model_home(&home);
    if (!found) found = there(home.p, vocab_name);
    str_release(&home);
    return found;
}

static void find_config(struct model_files *f, const char *folder)
{
    char *open_clip = there(folder, "open_clip_config.json");
    int plain_weights = !str_starts(base_name(f->weights), "open_clip_");
    /* Hubs keep open_clip's and transformers' or timm's files side by side. */
    if (open_clip && (f->kind == KIND_OPEN_CLIP || !plain_weights)) {
        f->config[0] = open_clip;
        return;
    }
    f->config[0] = there(folder, "config.json");
    f->config[1] = there(folder, "preprocessor_config.json");
    if (!f->config[0])
        f->config[0] = open_clip;
    else
        free(open_clip);
}

/* ---- folders and files ---- */

/* The only file in the folder that looks like weights; *count tells how many there are. */
static char *only_weights(const char *folder, int *count)
{
    struct names all = {0};
    DIR *d = opendir(folder);
    char *found = NULL;
    *count = 0;
    for (struct dirent *e; d && (e = readdir(d));) names_add(&all, e->d_name);
    if (d) closedir(d);
    names_sort(&all);
    for (size_t i = 0; i < all.count; i++) {
        for (int k = 0; any_weights[k]; k++) {
            if (!str_ends(all.list[i], any_weights[k])) continue;
            if (!(*count)++) found = there(folder, all.list[i]);
            break;
        }
    }
    names_release(&all);
    return found;
}

static int take_folder(struct model_files *f, const char *folder, const char *model_dir)
{
    const char *const *order = f->kind == KIND_OPEN_CLIP ? open_clip_first : model_first;
    int count = 0;
    for (int i = 0; order[i] && !f->weights; i++) f->weights = there(folder, order[i]);
    if (!f->weights) {
        f->weights = only_weights(folder, &count);
        if (count > 1)
            return err_set(ERR_INPUT,
                           "%s holds %d weight files and none with a usual name: name "
                           "the file itself",
                           folder, count);
    }
    if (!f->weights)
        return err_set(ERR_INPUT,
                       "%s: no weights in this folder (open_clip_model.safetensors, "
                       "model.safetensors, pytorch_model.bin, ...)",
                       folder);
    find_config(f, folder);
    f->vocab = find_vocab(folder, model_dir);
    return 0;
}

static int usual_name(const char *base)
{
    for (int i = 0; open_clip_first[i]; i++)
        if (!strcmp(open_clip_first[i], base)) return 1;
    return 0;
}

/* A snapshot folder of the HF cache tells the repository: .../models--ORG--NAME/snapshots/REV */
static void known_by_cache(struct model_files *f, const char *path)
{
    const char *at = strstr(path, "models--"), *mid, *end;
    char repo[256];
    if (!at || !(mid = strstr(at += strlen("models--"), "--")) || !(end = strchr(mid, '/'))) return;
    snprintf(repo, sizeof repo, "%.*s/%.*s", (int)(mid - at), at, (int)(end - mid - 2), mid + 2);
    const struct model_row *r = registry_by_repo(repo);
    if (!r || f->known) return;
    f->known = 1;
    f->as = (struct model_known){.kind = f->kind, .row = r, .act = r->act};
}

/* Configuration beside a file is its own when the file has a usual name, or the same stem. */
static int take_file(struct model_files *f, const char *path, const char *model_dir)
{
    const char *base = base_name(path), *dot = strrchr(base, '.');
    char *folder = base == path ? mem_strdup(".") : mem_strndup(path, (size_t)(base - path - 1));
    struct str stem = {0};
    if (!*folder) free(folder), folder = mem_strdup("/");
    f->weights = mem_strdup(path);
    if (usual_name(base)) find_config(f, folder);
    if (!f->config[0] && dot) {
        str_printf(&stem, "%.*s.json", (int)(dot - base), base);
        if (strcmp(stem.p, base)) f->config[0] = there(folder, stem.p);
        str_release(&stem);
    }
    f->vocab = find_vocab(folder, model_dir);
    free(folder);
    const struct model_row *r = registry_by_file(base);
    if (r && !f->named) f->known = 1, f->as = (struct model_known){.row = r, .act = r->act};
    known_by_cache(f, path);
    return 0;
}

/* ---- names ---- */

/* Searched folders, for the error. */
static void searched(struct str *s, const char *folder)
{
    str_printf(s, "%s%s", s->len ? ", " : "", folder);
}

/* A folder or file called `name` ('/' and ':' spelled '-') in `dir`. 1: taken; < 0: error. */
static int try_named(struct model_files *f, const char *dir, const char *name,
                     const char *model_dir)
{
    char flat[512];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof flat; n++) flat[n] = strchr("/:", name[n]) ? '-' : name[n];
    flat[n] = 0;
    char *path = join(dir, flat);
    int rc = file_exists(path) == 2 ? take_folder(f, path, model_dir) : 1;
    free(path);
    if (rc <= 0) return rc ? rc : 1;
    for (int k = 0; any_weights[k]; k++) {
        struct str file = {0};
        str_printf(&file, "%s/%s%s", dir, flat, any_weights[k]);
        rc = file_exists(file.p) == 1 ? take_file(f, file.p, model_dir) : 1;
        str_release(&file);
        if (rc <= 0) return rc ? rc : 1;
    }
    return 0;
}

/* HF_HUB_CACHE, HF_HOME/hub, ~/.cache/huggingface/hub */
static void hf_cache(struct str *out)
{
    const char *hub = getenv("HF_HUB_CACHE"), *home = getenv("HF_HOME"), *user = getenv("HOME");
    const char *cache = getenv("XDG_CACHE_HOME");
    str_clear(out);
    if (hub && *hub)
        str_puts(out, hub);
    else if (home && *home)
        str_printf(out, "%s/hub", home);
    else if (cache && *cache)
        str_printf(out, "%s/huggingface/hub", cache);
    else
        str_printf(out, "%s/.cache/huggingface/hub", user ? user : "");
}

/* The snapshot that refs/main points to. 1: taken. */
static int try_hf(struct model_files *f, const char *cache, const char *repo, const char *model_dir)
{
    struct str ref = {0}, path = {0};
    const char *slash = strchr(repo, '/');
    int rc = 0;
    if (!slash) goto done;
    str_printf(&path, "%s/models--%.*s--%s", cache, (int)(slash - repo), repo, slash + 1);
    size_t root = path.len;
    str_puts(&path, "/refs/main");
    if (file_exists(path.p) != 1 || file_read(&ref, path.p, 256)) goto done;
    while (ref.len && strchr(" \r\n", ref.p[ref.len - 1])) ref.p[--ref.len] = 0;
    if (!ref.len || strchr(ref.p, '/') || strstr(ref.p, "..")) goto done;
    path.len = root;
    str_printf(&path, "/snapshots/%s", ref.p);
    if (file_exists(path.p) == 2)
        rc = take_folder(f, path.p, model_dir);
    else
        goto done;
    rc = rc ? rc : 1;
done:
    str_release(&ref);
    str_release(&path);
    return rc;
}

/* OpenAI's loader keeps ViT-B-32.pt in ~/.cache/clip. 1: taken. */
static int try_openai(struct model_files *f, const char *model_dir)
{
    const struct model_row *r = f->as.row;
    const char *user = getenv("HOME");
    struct str path = {0};
    int rc = 0;
    if (!user || !r || !r->file || strcmp(r->tag, "openai") || f->kind != KIND_OPEN_CLIP) return 0;
    str_printf(&path, "%s/.cache/clip/%s", user, r->file);
    if (file_exists(path.p) == 1) rc = take_file(f, path.p, model_dir) ? 0 : 1;
    str_release(&path);
    return rc;
}

/* `dir` by every spelling of the model. */
static int try_folder(struct model_files *f, const char *dir, const char *model,
                      const char *model_dir, struct str *looked)
{
    const char *colon = strchr(model, ':');
    char tagged[256] = "";
    searched(looked, dir);
    int rc = try_named(f, dir, model, model_dir);
    if (!rc && colon) rc = try_named(f, dir, colon + 1, model_dir);
    if (!rc && *f->as.repo) rc = try_named(f, dir, f->as.repo, model_dir);
    if (!rc && f->as.row && f->kind == KIND_OPEN_CLIP) {
        snprintf(tagged, sizeof tagged, "%s-%s", f->as.row->arch, f->as.row->tag);
        rc = try_named(f, dir, tagged, model_dir);
    }
    return rc;
}

/* `darkroom model pull` is named although it is still to come: HF's own tool fills the cache
 * that was searched. */
static int not_here(const struct model_files *f, const char *model, const char *looked,
                    const char *home)
{
    const char *repo = *f->as.repo                   ? f->as.repo
                       : f->as.row && f->as.row->hub ? f->as.row->hub
                                                     : NULL;
    if (repo)
        return err_set(
            ERR_INPUT,
            "model %s is not on this machine (searched %s); get it with `darkroom model pull "
            "%s` or `huggingface-cli download %s`, put its folder or file into %s, or try "
            "--model tiny",
            model, looked, model, repo, home);
    return err_set(
        ERR_INPUT,
        "model %s is not on this machine (searched %s); get it with `darkroom model pull %s`, "
        "put its folder or file into %s, or try --model tiny",
        model, looked, model, home);
}

static int by_name(struct model_files *f, const char *model, const char *model_dir)
{
    struct str home = {0}, cache = {0}, looked = {0};
    int rc = registry_find(&f->as, model), found = 0, unknown = rc;
    f->known = f->named = !rc;
    f->kind = rc ? KIND_OPEN_CLIP : f->as.kind;
    model_home(&home);
    hf_cache(&cache);
    /* A folder of one's own may have any name, so look before believing that there is none. */
    if (model_dir) found = try_folder(f, model_dir, model, model_dir, &looked);
    if (!found) found = try_folder(f, home.p, model, model_dir, &looked);
    if (!found && !unknown) found = try_openai(f, model_dir);
    if (!found && getenv("HOME")) searched(&looked, "~/.cache/clip");
    if (!found && !unknown) {
        searched(&looked, cache.p);
        if (*f->as.repo) found = try_hf(f, cache.p, f->as.repo, model_dir);
        if (!found && f->as.row && f->as.row->hf && f->kind == KIND_OPEN_CLIP)
            found = try_hf(f, cache.p, f->as.row->hf, model_dir);
    }
    if (found < 0)
        rc = found;
    else if (found)
        rc = 0;
    else if (unknown)
        registry_find(&f->as, model); /* for its sentence */
    else
        rc = not_here(f, model, looked.p, home.p);
    str_release(&home);
    str_release(&cache);
    str_release(&looked);
    return rc;
}

/* ---- the embedded default ---- */

int model_tiny(struct str *out)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = 0;
    if (strrchr(exe, '/')) *strrchr(exe, '/') = 0;
    /* beside the program, in the source tree around build/ (and build/asan, build/tests/unit),
     * installed */
    static const char *const up[] = {
        "models/tiny",          "../models/tiny",          "../../models/tiny",
        "../../../models/tiny", "../../../../models/tiny", "../share/darkroom/models/tiny"};
    for (size_t i = 0; i < sizeof up / sizeof *up; i++) {
        str_clear(out);
        str_printf(out, "%s/%s", exe, up[i]);
        if (file_exists(out->p) == 2) return 1;
    }
    str_clear(out);
    str_puts(out, exe);
    return 0;
}

static int take_tiny(struct model_files *f, const char *model_dir)
{
    struct str home = {0}, folder = {0};
    model_home(&home);
    int rc = model_tiny(&folder) ? take_folder(f, folder.p, NULL) : 1;
    if (rc == 1) {
        int found = try_named(f, home.p, "tiny", NULL);
        if (!found && model_dir) found = try_named(f, model_dir, "tiny", NULL);
        rc = found > 0 ? 0 : found ? found : 1;
    }
    if (rc == 1)
        rc = err_set(ERR_INPUT,
                     "models/tiny is not beside the program (%s) nor in %s: reinstall, "
                     "or give its folder as --model",
                     folder.p, home.p);
    str_release(&home);
    str_release(&folder);
    return rc;
}

/* Written as a path: nobody calls a model that. */
static int is_path(const char *model)
{
    static const char *const tails[] = {".safetensors", ".pt",   ".pth", ".bin",
                                        ".ckpt",        ".json", "/"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        if (str_ends(model, tails[i])) return 1;
    return str_starts(model, "/") || str_starts(model, "./") || str_starts(model, "../");
}

int model_find(struct model_files *out, const char *model, const char *model_dir)
{
    int rc, what;
    *out = (struct model_files){0};
    if (!model || !*model) model = "ViT-B/32";
    what = file_exists(model);
    if (what == 2) {
        rc = take_folder(out, model, model_dir);
        if (!rc) known_by_cache(out, model);
    } else if (what == 1) {
        rc = take_file(out, model, model_dir);
    } else if (!strcmp(model, "tiny")) {
        rc = take_tiny(out, model_dir);
    } else if (is_path(model)) {
        rc = err_set(ERR_INPUT, "%s: no such file or folder", model);
    } else {
        rc = by_name(out, model, model_dir);
    }
    if (rc) model_files_release(out);
    return rc;
}

void model_files_release(struct model_files *f)
{
    free(f->weights);
    free(f->config[0]);
    free(f->config[1]);
    free(f->vocab);
    *f = (struct model_files){0};
}
