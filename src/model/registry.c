/* registry.c - from a spelling to a row. Every family spells the same model differently; all
 * are brought to open_clip's "ARCH/TAG" or to a repository id, and looked up there. */
#include "model/registry.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

enum { NEAREST = 3, NAME = 256 };

const struct model_arch *registry_arch(const char *name)
{
    for (const struct model_arch *a = model_archs; a->name; a++)
        if (!strcasecmp(a->name, name)) return a;
    return NULL;
}

static const struct model_row *find_row(const char *arch, const char *tag)
{
    const struct model_row *last = NULL;
    for (const struct model_row *r = model_rows; r->arch; r++) {
        if (strcasecmp(r->arch, arch)) continue;
        if (!tag || !*tag)
            last = r; /* open_clip without a tag: all_clip takes the last one */
        else if (str_same(r->tag, tag))
            return r;
    }
    return last;
}

const struct model_row *registry_by_repo(const char *repo)
{
    for (const struct model_row *r = model_rows; r->arch; r++)
        if ((r->hub && !strcasecmp(r->hub, repo)) || (r->hf && !strcasecmp(r->hf, repo))) return r;
    return NULL;
}

/* "ViT-L/14@336px" -> "ViT-L-14-336" */
static void openai_arch(char out[NAME], const char *name)
{
    size_t n = 0;
    for (; *name && n + 1 < NAME; name++) out[n++] = *name == '/' || *name == '@' ? '-' : *name;
    out[n] = 0;
    if (n > 2 && !strcmp(out + n - 2, "px")) out[n - 2] = 0;
}

static void take_row(struct model_known *out, const struct model_row *r, enum model_kind kind)
{
    const char *repo = kind == KIND_HF && r->hf ? r->hf : r->hub ? r->hub : r->hf;
    *out = (struct model_known){.kind = kind, .row = r, .act = r->act};
    snprintf(out->repo, sizeof out->repo, "%s", repo ? repo : "");
}

/* "ViT-H-14-quickgelu/dfn5b", "ViT-B-32": 1 when known. */
static int open_clip_name(struct model_known *out, const char *name)
{
    char arch[NAME];
    const char *slash = strchr(name, '/');
    const char tail[] = "-quickgelu";
    snprintf(arch, sizeof arch, "%.*s", (int)(slash ? (size_t)(slash - name) : strlen(name)), name);
    int quick = str_ends(arch, tail);
    if (quick) arch[strlen(arch) - strlen(tail)] = 0;
    const struct model_row *r = find_row(arch, slash ? slash + 1 : NULL);
    if (!r) return 0;
    take_row(out, r, KIND_OPEN_CLIP);
    if (quick) out->act = ACT_QUICK_GELU;
    return 1;
}

static int openai_name(struct model_known *out, const char *name)
{
    char arch[NAME];
    openai_arch(arch, name);
    const struct model_row *r = registry_arch(arch) ? find_row(arch, "openai") : NULL;
    if (!r) return 0;
    take_row(out, r, KIND_OPEN_CLIP);
    return 1;
}

static int timm_name(struct model_known *out, const char *name)
{
    if (str_starts(name, "timm/")) name += strlen("timm/");
    for (const struct model_timm *t = model_timms; t->name; t++) {
        if (strcmp(t->name, name)) continue;
        *out = (struct model_known){.kind = KIND_TIMM, .timm = t, .act = t->act};
        snprintf(out->repo, sizeof out->repo, "%s", t->hub);
        return 1;
    }
    return 0;
}

/* "org/name": exactly one slash, and not the spelling of an architecture. */
static int repo_name(struct model_known *out, const char *name, enum model_kind kind)
{
    const char *slash = strchr(name, '/');
    if (!slash || slash == name || !slash[1] || strchr(slash + 1, '/')) return 0;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_./", *c)) return 0;
    if (strstr(name, "..") || *name == '.') return 0; /* it becomes part of a path */
    const struct model_row *r = registry_by_repo(name);
    *out = (struct model_known){.kind = kind, .row = r, .act = r ? r->act : ACT_GELU};
    snprintf(out->repo, sizeof out->repo, "%s", name);
    return 1;
}

/* ---- nearest names ---- */

struct near {
    char name[NAME];
    int distance;
};

static void offer(struct near best[NEAREST], const char *name, const char *wanted)
{
    int d = str_distance(name, wanted);
    for (int i = 0; i < NEAREST; i++) {
        if (!strcmp(best[i].name, name)) return;
        if (*best[i].name && best[i].distance <= d) continue;
        memmove(best + i + 1, best + i, (size_t)(NEAREST - 1 - i) * sizeof *best);
        snprintf(best[i].name, NAME, "%s", name);
        best[i].distance = d;
        return;
    }
}

/* Real models that are other arithmetic: saying so is kinder than a list of near names. */
static int not_run(const char *name)
{
    static const char *const others[] = {"SigLIP", "siglip",  "CLIPA",     "RN50",       "RN101",
                                         "coca_",  "EVA0",    "convnext",  "MobileCLIP", "ViTamin",
                                         "nllb",   "roberta", "worldwide", "PE-Core",    NULL};
    for (int i = 0; others[i]; i++)
        if (strstr(name, others[i]))
            return err_set(ERR_USAGE,
                           "\"%s\" is not a plain ViT CLIP (%s): this program does not "
                           "run it",
                           name, others[i]);
    return 0;
}

/* Names in the family the question was asked in: one does not want timm's for an open_clip typo. */
static int not_known(const char *name)
{
    struct near best[NEAREST] = {0};
    char buf[NAME * 2];
    int open_clip = str_starts(name, "open_clip:");
    if (not_run(name)) return ERR_USAGE;
    if (str_distance(name, "tiny") < 3) offer(best, "tiny", name);
    for (const struct model_row *r = model_rows; r->arch; r++) {
        if (open_clip) {
            snprintf(buf, sizeof buf, "open_clip:%s/%s", r->arch, r->tag);
            offer(best, buf, name);
        } else if (!strcmp(r->tag, "openai")) {
            snprintf(buf, sizeof buf, "%s", r->arch);
            char *size = strchr(buf + 4, '-'), *px = size ? strchr(size + 1, '-') : NULL;
            if (size) *size = '/';
            if (px) { /* ViT-L/14@336px */
                *px = '@';
                snprintf(buf + strlen(buf), sizeof buf - strlen(buf), "px");
            }
            offer(best, buf, name);
        } else {
            offer(best, r->arch, name);
            if (r->hub) offer(best, r->hub, name);
        }
        if (r->hf) offer(best, r->hf, name);
    }
    for (const struct model_timm *t = model_timms; t->name; t++) offer(best, t->name, name);
    return err_set(ERR_USAGE, "no model is called \"%s\"; nearest: %s, %s, %s", name, best[0].name,
                   best[1].name, best[2].name);
}

int registry_find(struct model_known *out, const char *name)
{
    if (strlen(name) >= NAME) return err_set(ERR_USAGE, "a model name of %zu bytes", strlen(name));
    if (str_starts(name, "open_clip:"))
        return open_clip_name(out, name + strlen("open_clip:")) ? 0 : not_known(name);
    if (str_starts(name, "hf_clip:") || str_starts(name, "hf-hub:"))
        return repo_name(out, strchr(name, ':') + 1,
                         *name == 'h' && name[2] == '_' ? KIND_HF : KIND_OPEN_CLIP)
                   ? 0
                   : not_known(name);
    if (str_starts(name, "openai_clip:"))
        return openai_name(out, name + strlen("openai_clip:")) ? 0 : not_known(name);
    if (str_starts(name, "nm:") || str_starts(name, "ja_clip:"))
        return err_set(ERR_USAGE, "\"%s\": DeepSparse and Japanese CLIP models are not supported",
                       name);
    if (openai_name(out, name) || open_clip_name(out, name) || timm_name(out, name)) return 0;
    if (!str_starts(name, "ViT-") && repo_name(out, name, KIND_OPEN_CLIP)) return 0;
    return not_known(name);
}

/* ---- by file, by shape ---- */

/* ARCH then TAG inside the name, separators and case aside. The longest arch and tag win, so
 * that ViT-B-32-256 is not taken for ViT-B-32. */
static int holds(const char *base, const char *word)
{
    size_t n = strlen(word);
    for (; *base; base++) {
        size_t i = 0;
        while (i < n && base[i] &&
               (tolower((unsigned char)base[i]) == tolower((unsigned char)word[i]) ||
                (strchr("-_", base[i]) && strchr("-_", word[i]))))
            i++;
        if (i == n) return 1;
    }
    return 0;
}

const struct model_row *registry_by_file(const char *base)
{
    const struct model_row *best = NULL;
    size_t best_len = 0;
    for (const struct model_row *r = model_rows; r->arch; r++) {
        /* Anyone may call a file ViT-B-32.pt; OpenAI's own are known by what is inside. */
        if (r->file && !strcmp(r->file, base) && strcmp(r->tag, "openai")) return r;
        size_t len = strlen(r->arch) + strlen(r->tag);
        if (len > best_len && holds(base, r->arch) && holds(base, r->tag)) best = r, best_len = len;
    }
    return best;
}

const char *registry_arch_of(const struct clip_config *c)
{
    const struct tower_config *v = &c->image, *t = &c->text;
    for (const struct model_arch *a = model_archs; a->name; a++) {
        if (v->layers &&
            (a->width != v->width || a->layers != v->layers || a->heads != v->heads ||
             a->mlp != v->mlp || a->patch != c->patch || a->image_size != c->image_size))
            continue;
        if (t->layers &&
            (a->text_width != t->width || a->text_layers != t->layers || a->text_heads != t->heads))
            continue;
        if (a->embed == c->embed) return a->name;
    }
    return NULL;
}

void registry_say(struct clip_said *s, const struct model_row *row)
{
    static const float means[][3] = {[NORM_OPENAI] = {0.48145466f, 0.4578275f, 0.40821073f},
                                     [NORM_HALF] = {0.5f, 0.5f, 0.5f},
                                     [NORM_IMAGENET] = {0.485f, 0.456f, 0.406f}};
    static const float stds[][3] = {[NORM_OPENAI] = {0.26862954f, 0.26130258f, 0.27577711f},
                                    [NORM_HALF] = {0.5f, 0.5f, 0.5f},
                                    [NORM_IMAGENET] = {0.229f, 0.224f, 0.225f}};
    const struct model_arch *a = registry_arch(row->arch);
    s->image.act = s->text.act = (int)row->act;
    if (a) s->image.heads = a->heads, s->text.heads = a->text_heads;
    memcpy(s->prep.mean, means[row->norm], sizeof s->prep.mean);
    memcpy(s->prep.std, stds[row->norm], sizeof s->prep.std);
    s->prep.fit = row->fit;
    s->prep.filter = row->filter;
    s->prep_known = 1;
    snprintf(s->act_from, sizeof s->act_from, "known as %s/%s", row->arch, row->tag);
    memcpy(s->prep_from, s->act_from, sizeof s->prep_from);
}
