/* find.c - where heads lie: a file or folder that was named, the folders of models, the places
 * where the programs that use the same heads keep them, and beside the built-in model. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "io/file.h"
#include "model/find.h"
#include "model/head/head.h"

/* Under which names the usual heads are published, by the width they take. */
static const struct {
    const char *name;
    int width;
    const char *file;
    const char *repo; /* on HF, or NULL */
} published[] = {
    {"aesthetic", 768, "sac+logos+ava1-l14-linearMSE.pth", "ttj/sac-logos-ava1-l14-linearMSE"},
    {"nsfw", 768, "clip_autokeras_binary_nsfw.pth", NULL},
    {"nsfw", 1024, "h14_nsfw.pth", NULL},
};
enum { PUBLISHED = sizeof published / sizeof *published };

struct search {
    const char *name;
    int width;
    struct str path;   /* last tried; what was found */
    struct str looked; /* folders, for the error */
};

static int is_file(struct search *s, const char *dir, const char *name, const char *tail)
{
    str_clear(&s->path);
    str_printf(&s->path, "%s/%s%s", dir, name, tail);
    return file_exists(s->path.p) == 1;
}

/* A folder of a head: its description, else its weights as in a folder of a model. */
static int take_folder(struct str *out, const char *folder)
{
    struct model_files f;
    str_clear(out);
    str_printf(out, "%s/head.json", folder);
    if (file_exists(out->p) == 1) return 0;
    int rc = model_find(&f, folder, NULL);
    if (rc) return rc;
    str_clear(out);
    str_puts(out, f.weights);
    model_files_release(&f);
    return 0;
}

/* One of a published name; width 0: of any, whose width is then checked against its weights. */
static int try_published(struct search *s, const char *dir, int width)
{
    for (int i = 0; i < PUBLISHED; i++)
        if (!strcmp(published[i].name, s->name) && (!width || published[i].width == width) &&
            is_file(s, dir, published[i].file, ""))
            return 1;
    return 0;
}

/* By name in one folder. 1: found; 0: not; < 0: error. */
static int try_folder(struct search *s, const char *dir)
{
    static const char *const tails[] = {".json", ".safetensors", ".pth", ".pt",
                                        ".bin",  ".npz",         NULL};
    char flat[256];
    size_t n = 0;
    for (; s->name[n] && n + 1 < sizeof flat; n++)
        flat[n] = strchr("/:", s->name[n]) ? '-' : s->name[n];
    flat[n] = 0;
    str_printf(&s->looked, "%s%s", s->looked.len ? ", " : "", dir);
    for (int i = 0; tails[i]; i++)
        if (is_file(s, dir, flat, tails[i])) return 1;
    if (is_file(s, dir, flat, ""), file_exists(s->path.p) == 2) {
        char *folder = mem_strdup(s->path.p);
        int rc = take_folder(&s->path, folder);
        free(folder);
        return rc ? rc : 1;
    }
    return try_published(s, dir, s->width) || try_published(s, dir, 0);
}

/* $variable/tail, or ~/otherwise */
static int try_other(struct search *s, const char *variable, const char *otherwise)
{
    const char *set = variable ? getenv(variable) : NULL, *home = getenv("HOME");
    struct str dir = {0};
    if (set && *set)
        str_puts(&dir, set);
    else if (home && *home)
        str_printf(&dir, "%s/%s", home, otherwise);
    int rc = dir.len ? try_folder(s, dir.p) : 0;
    str_release(&dir);
    return rc;
}

/* A repository in HF's cache. */
static int try_repo(struct search *s, const char *repo, const char *model_dir)
{
    struct model_files f;
    if (model_find(&f, repo, model_dir)) return 0;
    str_clear(&s->path);
    str_puts(&s->path, f.weights);
    model_files_release(&f);
    return 1;
}

static int try_repos(struct search *s, const char *model_dir)
{
    if (strchr(s->name, '/')) return try_repo(s, s->name, model_dir);
    for (int i = 0; i < PUBLISHED; i++)
        if (!strcmp(published[i].name, s->name) && published[i].width == s->width &&
            published[i].repo && try_repo(s, published[i].repo, model_dir))
            return 1;
    return 0;
}

static int not_here(const struct search *s)
{
    struct str more = {0};
    for (int i = 0; i < PUBLISHED; i++)
        if (!strcmp(published[i].name, s->name) && published[i].width == s->width)
            str_printf(&more, "; for embeddings of width %d it is published as %s", s->width,
                       published[i].file);
    int rc = err_set(ERR_INPUT,
                     "head %s is not on this machine (searched %s); give its file, --head "
                     "%s=FILE%s",
                     s->name, s->looked.p, strchr(s->name, '/') ? "NAME" : s->name,
                     more.p ? more.p : "");
    str_release(&more);
    return rc;
}

static int by_name(struct search *s, const char *model_dir, int tiny)
{
    struct str dir = {0};
    int rc = model_dir ? try_folder(s, model_dir) : 0;
    model_home(&dir);
    if (!rc) rc = try_folder(s, dir.p);
    if (!rc) rc = try_other(s, "NEMO_CURATOR_HOME", ".nemo_curator");
    if (!rc) rc = try_other(s, NULL, ".cache/clip_retrieval");
    if (!rc) rc = try_repos(s, model_dir);
    if (!rc && tiny && model_tiny(&dir)) rc = try_folder(s, dir.p);
    str_release(&dir);
    return rc > 0 ? 0 : rc ? rc : not_here(s);
}

/* Written as a path: nobody calls a head that. */
static int is_path(const char *word)
{
    static const char *const tails[] = {".json", ".safetensors", ".pth", ".pt",
                                        ".bin",  ".npz",         "/",    NULL};
    for (int i = 0; tails[i]; i++)
        if (str_ends(word, tails[i])) return 1;
    return str_starts(word, "/") || str_starts(word, "./") || str_starts(word, "../");
}

int head_find(char **out, const char *word, const char *model_dir, int width, int tiny)
{
    struct search s = {.name = word, .width = width};
    int what = file_exists(word), rc = 0;
    *out = NULL;
    if (what == 1)
        str_puts(&s.path, word);
    else if (what == 2)
        rc = take_folder(&s.path, word);
    else if (is_path(word))
        rc = err_set(ERR_INPUT, "%s: no such file or folder", word);
    else
        rc = by_name(&s, model_dir, tiny);
    if (!rc) *out = str_steal(&s.path);
    str_release(&s.path);
    str_release(&s.looked);
    return rc;
}
