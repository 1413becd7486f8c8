/* shots.c - the samples that are shown: their keys and captions from metadata, their pictures
 * from the shards, when these can be found: where --shards says, where embed read them, or beside
 * NeMo's tables. Shards are handed to threads one by one. */
#include "stage/report/report.h"
#include "base/arena.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/stop.h"
#include "data/inputs.h"
#include "data/pick.h"
#include "data/sample.h"
#include "format/json.h"
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TEXT_MAX = 4096 }; /* of a caption or path that is kept */

int report_add_shot(struct report *r, int64_t part, int64_t row)
{
    for (int i = 0; i < r->shots; i++)
        if (r->shot[i].part == part && r->shot[i].row == row) return i;
    if (r->shots == SHOTS_MAX) return -1;
    r->shot[r->shots] = (struct shot){.part = part, .row = row};
    return r->shots++;
}

/* ---- what rows say ---- */

enum { T_KEY, T_CAPTION, T_SHARD, T_PATH, TEXTS };

struct reading {
    struct report *r;
    int at[TEXTS]; /* column of the walk, -1: none */
};

static struct text copy(const struct column *c, size_t i)
{
    struct text none = {NULL, 0};
    char number[24];
    if (!c || (c->valid && !c->valid[i])) return none;
    if (c->type == COLUMN_STRING) return text_copy(c->strings[i].p, c->strings[i].n, TEXT_MAX);
    if (c->type != COLUMN_INT) return none;
    int n = snprintf(number, sizeof number, "%lld", (long long)c->ints[i]);
    return text_copy(number, (size_t)n, TEXT_MAX);
}

static void read_texts(void *arg, const struct rows *rows)
{
    struct reading *t = arg;
    for (int k = 0; k < t->r->shots; k++) {
        struct shot *s = &t->r->shot[k];
        int64_t i = s->row - rows->row;
        struct text *to[TEXTS] = {&s->key, &s->caption, &s->shard, &s->path};
        if (s->part != rows->part || i < 0 || i >= (int64_t)rows->count) continue;
        for (int c = 0; c < TEXTS; c++)
            if (t->at[c] >= 0) *to[c] = copy(rows->col[t->at[c]], (size_t)i);
    }
}

static int load_texts(struct report *r)
{
    static const char *const captions[] = {"caption", "TEXT", "text"};
    const struct columns *all = &r->columns;
    const char *id = columns_id(all);
    const struct column_info *found[TEXTS] = {id ? columns_find(all, id) : NULL}, *want[TEXTS];
    struct reading t = {.r = r};
    size_t n = 0;
    for (size_t i = 0; i < 3 && !found[T_CAPTION]; i++)
        found[T_CAPTION] = columns_find(all, captions[i]);
    found[T_SHARD] = columns_find(all, "shard");
    found[T_PATH] = columns_find(all, "image_path");
    for (int c = 0; c < TEXTS; c++) {
        t.at[c] = found[c] ? (int)n : -1;
        if (found[c]) want[n++] = found[c];
    }
    r->only = mem_alloc((size_t)sidecars_count(r->sidecars) + 1);
    for (int i = 0; i < r->shots; i++) r->only[r->shot[i].part] = 1;
    int rc = report_walk(r, want, n, read_texts, &t);
    free(r->only);
    r->only = NULL;
    return rc;
}

/* ---- where the pictures are ---- */

/* One shard or picture file and the shots that come out of it. */
struct job {
    char *path;
    int file; /* the picture itself */
    int *shot;
    size_t count, cap;
};

struct finder {
    struct report *r;
    struct job *job;
    size_t jobs, jobs_cap;
    struct map by_path; /* 1 + job */
    struct inputs inputs;
    struct map by_label, by_base; /* 1 + input */
    char **first;                 /* [inputs] key of the first sample; "" unknown */
    char *folder;                 /* in which labels are names */
    const char *exts;
    int orient;
    struct arena *scratch; /* one a worker */
};

static void add_job(struct finder *f, const char *path, int file, int shot)
{
    uint64_t *at = map_at(&f->by_path, path, strlen(path), 1);
    if (!*at) {
        vec_push(f->job, f->jobs, f->jobs_cap);
        f->job[f->jobs++] = (struct job){.path = mem_strdup(path), .file = file};
        *at = f->jobs;
    }
    struct job *j = &f->job[*at - 1];
    vec_push(j->shot, j->count, j->cap);
    j->shot[j->count++] = shot;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Key of every shard's first sample, asked once: which shard a key belongs to when rows do not
 * say. */
static void load_firsts(struct finder *f)
{
    f->first = mem_alloc(f->inputs.names.count * sizeof *f->first);
    for (size_t i = 0; i < f->inputs.names.count; i++) {
        struct pick *p = NULL;
        int rc = pick_open(&p, f->inputs.names.list[i]);
        f->first[i] = mem_strdup(rc ? "" : pick_first(p));
        pick_close(p);
    }
}

static const char *shard_of_key(struct finder *f, const char *key)
{
    const char *best = NULL, *best_key = "";
    if (!f->first) load_firsts(f);
    for (size_t i = 0; i < f->inputs.names.count; i++)
        if (f->first[i][0] && strcmp(f->first[i], key) <= 0 && strcmp(f->first[i], best_key) > 0)
            best_key = f->first[i], best = f->inputs.names.list[i];
    return best;
}

/* A picture of a folder: its path was written where embed ran, so its ends are tried below the
 * folder that is at hand, the longest first. Never a path that leads out of it. */
static void find_picture_file(struct finder *f, int i, const char *folder)
{
    const char *rest = f->r->shot[i].path.p;
    struct str path = {0};
    while (rest && *rest) {
        str_clear(&path);
        str_printf(&path, "%s/%s", folder, rest);
        if (place_name_ok(rest) && file_exists(path.p) == 1) {
            add_job(f, path.p, 1, i);
            break;
        }
        rest = strchr(rest, '/');
        if (rest) rest++;
    }
    str_release(&path);
}

static const char *input_named(struct finder *f, const char *label)
{
    uint64_t at;
    if (!label || !*label) return NULL;
    if (!map_get(&f->by_label, label, &at) && !map_get(&f->by_base, base_of(label), &at))
        return NULL;
    return f->inputs.names.list[at - 1];
}

static void find_given(struct finder *f, int i)
{
    const struct shot *s = &f->r->shot[i];
    const char *path = input_named(f, s->shard.p);
    if (f->inputs.format == INPUT_FILES) {
        if (!path) path = f->inputs.names.list[0];
        find_picture_file(f, i, path);
        return;
    }
    if (!path) path = shard_of_key(f, s->key.p);
    if (path) add_job(f, path, 0, i);
}

/* A place may come from anyone, and its files may name any file here: a shard is opened unasked
 * only when embed's receipt knows it, by name and size. */
static int is_input(const struct report *r, const struct shot *s, const char *path)
{
    const struct receipt *receipt = sidecars_receipt(r->sidecars, s->part);
    struct stat st;
    if (!receipt) return sidecars_layout(r->sidecars) == LAYOUT_NEMO;
    if (stat(path, &st)) return 0;
    for (size_t i = 0; i < receipt->inputs.count; i++)
        if (strlen(receipt->inputs.file[i].name) == s->shard.n &&
            !memcmp(receipt->inputs.file[i].name, s->shard.p, s->shard.n) &&
            receipt->inputs.file[i].size == (uint64_t)st.st_size)
            return 1;
    return 0;
}

/* In the folder where embed found its inputs, or beside NeMo's tables. */
static void find_near(struct finder *f, int i)
{
    const struct shot *s = &f->r->shot[i];
    struct str path = {0};
    if (sidecars_layout(f->r->sidecars) == LAYOUT_NEMO) {
        struct str table = {0};
        sidecars_name(&table, f->r->sidecars, SIDE_METADATA, s->part);
        str_printf(&path, "%s/%.*s.tar", place_url(sidecars_place(f->r->sidecars)),
                   (int)(table.len - strlen(".parquet")), table.p);
        str_release(&table);
    } else if (f->folder && s->shard.n && (*s->shard.p == '/' || place_name_ok(s->shard.p))) {
        /* a single folder or shard is named as it was typed */
        str_printf(&path, "%s/%s", *s->shard.p == '/' ? "" : f->folder, s->shard.p);
    }
    int kind = path.len ? file_exists(path.p) : 0;
    if (kind == 1 && !is_input(f->r, s, path.p)) kind = 0;
    if (kind == 1) add_job(f, path.p, 0, i);
    if (kind == 2) find_picture_file(f, i, path.p);
    str_release(&path);
}

/* The folder that embed's live file names. */
static char *embedded_folder(struct report *r)
{
    struct str text = {0};
    struct arena a = {0};
    struct json *j;
    char *folder = NULL;
    struct names n = {0};
    struct place *p = sidecars_place(r->sidecars);
    if (place_list(p, "_darkroom/embed/live", &n)) n.count = 0;
    for (size_t i = 0; i < n.count && !folder; i++) {
        struct str name = {0};
        str_printf(&name, "_darkroom/embed/live/%s", n.list[i]);
        str_clear(&text);
        if (!place_read(p, name.p, &text, 1 << 20) && !json_parse(&j, text.p, text.len, &a) &&
            j->type == JSON_OBJECT) {
            const char *at = json_text(j, "inputs", "");
            if (*at == '/' && file_exists(at) == 2) folder = mem_strdup(at);
        }
        str_release(&name);
    }
    names_release(&n);
    str_release(&text);
    arena_release(&a);
    return folder;
}

static int open_finder(struct finder *f)
{
    const struct report_options *o = f->r->o;
    const char *key = sidecars_embedded(f->r->sidecars, "wds-image-key");
    f->exts = *key ? key : SAMPLE_PICTURES;
    f->orient = !strcmp(sidecars_embedded(f->r->sidecars, "exif-orient"), "true");
    if (!o->shards.count) {
        f->folder = embedded_folder(f->r);
        if (f->folder) f->r->pictures_from = mem_strdup(f->folder);
        return 0;
    }
    int rc = inputs_load(&f->inputs, o->shards.item, o->shards.count, INPUT_AUTO, 0);
    if (rc) return err_wrap(rc, "--shards");
    int there = 0;
    for (size_t i = 0; i < f->inputs.names.count; i++) {
        const char *name = f->inputs.names.list[i];
        there |= file_exists(name);
        map_put(&f->by_label, name + f->inputs.root, i + 1);
        map_put(&f->by_base, base_of(name), i + 1);
    }
    f->r->pictures_from = mem_strdup(o->shards.item[0]);
    if (!there)
        return err_set(ERR_INPUT, "--shards: %s: no such file or folder", f->inputs.names.list[0]);
    return 0;
}

/* ---- pictures ---- */

static void make_thumb(struct finder *f, struct shot *s, const void *bytes, size_t n, int worker)
{
    struct arena *a = &f->scratch[worker];
    if (thumb_make(&s->thumb, bytes, n, THUMB_SIDE, f->orient, a)) {
        thumb_release(&s->thumb);
        s->none = "cannot be decoded";
    }
    arena_relax(a, 16 << 20);
}

static void do_job(void *arg, size_t i, int worker)
{
    struct finder *f = arg;
    const struct job *j = &f->job[i];
    struct file_map m = {0};
    struct pick *p = NULL;
    if (stop_asked()) return;
    int rc = j->file ? file_map(&m, j->path) : pick_open(&p, j->path);
    for (size_t k = 0; k < j->count && !rc; k++) {
        struct shot *s = &f->r->shot[j->shot[k]];
        const void *bytes = m.p;
        size_t n = m.n;
        if (!j->file && pick_find(p, &bytes, &n, s->key.p, f->exts))
            s->none = "not in its shard";
        else
            make_thumb(f, s, bytes, n, worker);
    }
    pick_close(p);
    file_unmap(&m);
}

static void make_thumbs(struct finder *f)
{
    int64_t asked = f->r->o->common.threads;
    int threads = asked > 0 ? (int)asked : cpu_count();
    if ((size_t)threads > f->jobs) threads = (int)f->jobs;
    if (!f->jobs) return;
    struct pool *pool = pool_new(threads);
    f->scratch = mem_alloc((size_t)threads * sizeof *f->scratch);
    pool_for(pool, f->jobs, do_job, f);
    pool_free(pool);
    for (int i = 0; i < threads; i++) arena_release(&f->scratch[i]);
    free(f->scratch);
}

static void close_finder(struct finder *f)
{
    for (size_t i = 0; i < f->jobs; i++) {
        free(f->job[i].path);
        free(f->job[i].shot);
    }
    for (size_t i = 0; f->first && i < f->inputs.names.count; i++) free(f->first[i]);
    free(f->first);
    free(f->job);
    free(f->folder);
    map_release(&f->by_path);
    map_release(&f->by_label);
    map_release(&f->by_base);
    inputs_release(&f->inputs);
}

int report_shots(struct report *r)
{
    struct finder f = {.r = r};
    int rc = load_texts(r);
    if (!rc && r->o->pictures > 0) rc = open_finder(&f);
    for (int i = 0; i < r->shots && !rc; i++) {
        struct shot *s = &r->shot[i];
        s->none = r->o->pictures > 0 ? "not at hand" : "not asked for";
        if (!s->key.p || i >= r->o->pictures) continue;
        if (f.inputs.names.count)
            find_given(&f, i);
        else
            find_near(&f, i);
    }
    if (!rc) make_thumbs(&f);
    for (int i = 0; i < r->shots; i++) r->pictures += r->shot[i].thumb.jpeg.len > 0;
    close_finder(&f);
    return rc;
}
