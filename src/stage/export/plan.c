/* plan.c - what an export reads, where its borders are, and what is left to do. */
#include "stage/export/feed.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/source.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the sources ---- */

/* Labels as tables and receipts hold them: ill-formed text is U+FFFD. */
static char *clean_label(const struct inputs *in, size_t i)
{
    char *label = inputs_label(in, i);
    struct runes r = {0};
    struct str s = {0};
    if (utf8_valid(label, strlen(label))) return label;
    utf8_decode(&r, label, strlen(label));
    utf8_encode(&s, r.p, r.n);
    runes_release(&r);
    free(label);
    return str_steal(&s);
}

static void make_labels(struct exporter *x)
{
    size_t n = x->inputs.names.count;
    x->labels = mem_alloc(n * sizeof *x->labels);
    x->lost = mem_alloc(n * sizeof *x->lost);
    for (size_t i = 0; i < n; i++) {
        x->labels[i] = clean_label(&x->inputs, i);
        uint64_t *at = map_at(&x->by_label, x->labels[i], strlen(x->labels[i]), 1);
        *at = *at ? LABEL_TWICE : i + 1;
    }
}

static int check_pictures(struct exporter *x)
{
    const char *count = sidecars_embedded(x->sidecars, "pictures");
    const struct receipt *r = NULL;
    for (int64_t i = 0; i < sidecars_count(x->sidecars) && !(r && r->inputs.count); i++)
        r = sidecars_receipt(x->sidecars, i);
    int rc = folders_open(&x->folders, &x->inputs.names);
    if (rc) return rc;
    if (strtoull(count, NULL, 10) != x->folders.pictures)
        return err_set(ERR_STALE, "%s: holds %zu samples, but %s when it was embedded",
                       x->inputs.names.list[0], x->folders.pictures, count);
    if (x->folders.count > 1 && r && r->inputs.count &&
        strcmp(r->inputs.file[0].name, x->labels[0]))
        return err_set(ERR_USAGE, "give the folders as they were given to embed: %s ...",
                       r->inputs.file[0].name);
    return 0;
}

/* A wrong word should not make a folder. */
static int check_shards(const struct exporter *x)
{
    int there = 0;
    for (size_t i = 0; i < x->inputs.names.count; i++) {
        const char *name = x->inputs.names.list[i];
        int rc = source_check(name);
        if (rc) return rc;
        there |= source_is_pipe(name) || file_exists(name);
    }
    if (there) return 0;
    return err_set(ERR_INPUT, "%s%s: no such shard", x->inputs.names.list[0],
                   x->inputs.names.count > 1 ? " and all the others" : "");
}

int plan_inputs(struct exporter *x, const char **words, int n)
{
    int rc =
        inputs_load(&x->inputs, words, n, (enum input_format)x->o->input_format, x->o->allow_pipe);
    if (rc) return rc;
    make_labels(x);
    const char *format = sidecars_embedded(x->sidecars, "input-format");
    int pictures = x->inputs.format == INPUT_FILES;
    if (sidecars_layout(x->sidecars) == LAYOUT_DARKROOM && pictures != !strcmp(format, "files"))
        return err_set(ERR_USAGE, "%s: holds %s, but the place was made from %s",
                       x->inputs.names.list[0], pictures ? "pictures" : "shards",
                       pictures ? "shards" : "pictures");
    if (sidecars_layout(x->sidecars) != LAYOUT_DARKROOM && pictures)
        return err_set(ERR_USAGE, "%s: holds no tar shards", x->inputs.names.list[0]);
    return pictures ? check_pictures(x) : check_shards(x);
}

/* ---- the borders ---- */

int plan_shards(struct exporter *x)
{
    int64_t n = x->o->samples_per_shard, most = 1;
    for (int i = 0; i < x->o->max_shards; i++) most *= 10;
    x->shards = (x->survivors.count + n - 1) / n;
    if (x->shards > most || x->shards > PARTITIONS_MAX)
        return err_set(ERR_USAGE,
                       "%lld samples make %lld shards of %lld, too many for %lld digits; use "
                       "--max-shards or a larger --samples-per-shard",
                       (long long)x->survivors.count, (long long)x->shards, (long long)n,
                       (long long)x->o->max_shards);
    x->digits = partition_digits(x->shards);
    for (int64_t k = 1; k < n; k *= 10) x->index_digits++;
    return 0;
}

static void hash_files(struct sha256 *h, const struct receipt_files *f)
{
    for (size_t i = 0; i < f->count; i++) {
        sha256_add(h, f->file[i].name, strlen(f->file[i].name) + 1);
        sha256_add(h, f->file[i].sha256, 65);
    }
}

/* What decides the bytes of an export beside its options, each by a hash: "" when there is none. */
static const struct {
    const char *name;
    enum sidecar kind;
} sources[] = {{"metadata", SIDE_METADATA},
               {"scores", SIDE_SCORES},
               {"filter", SIDE_KEEP},
               {"embeddings", SIDE_IMAGE}};
enum { SOURCES = sizeof sources / sizeof *sources };

static void hash_shards(char hex[65], const struct exporter *x)
{
    struct sha256 h;
    sha256_init(&h);
    for (int64_t i = 0; i < sidecars_count(x->sidecars); i++) {
        const struct receipt *r = sidecars_receipt(x->sidecars, i);
        if (r) hash_files(&h, &r->inputs);
    }
    sha256_end(&h, hex);
}

int plan_describe(struct run *run, const struct exporter *x)
{
    char hex[65];
    int rc = 0;
    hash_shards(hex, x);
    run_add(run, "shards", hex);
    for (int k = 0; k < SOURCES - 1 + x->o->with_embedding && !rc; k++) {
        struct receipt all = {0};
        rc = sidecars_note_all(&all.inputs, x->sidecars, sources[k].kind);
        run_add(run, sources[k].name, all.inputs.count ? all.inputs.file[0].sha256 : "");
        receipt_release(&all);
    }
    run_add(run, "dedup", x->survivors.removed_sha256);
    return rc;
}

/* ---- OUT ---- */

/* Shards that an export with more of them left behind. */
static int remove_beyond(const struct exporter *x)
{
    struct names n = {0};
    int rc = place_list(x->out, "", &n);
    for (size_t i = 0; i < n.count && !rc; i++) {
        char *end;
        long long number = strtoll(n.list[i], &end, 10);
        if (strspn(n.list[i], "0123456789") != (size_t)(end - n.list[i]) || end == n.list[i] ||
            (strcmp(end, ".tar") && strcmp(end, ".parquet")))
            continue;
        if (end - n.list[i] != x->o->max_shards || number >= x->shards)
            rc = place_remove(x->out, n.list[i]);
    }
    names_release(&n);
    return rc;
}

static int same_folder(const char *a, const char *b)
{
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* What we write must never be what we read. */
static int check_out(const struct exporter *x, const char *out)
{
    struct str folder = {0}, last = {0};
    int rc = 0;
    if (same_folder(out, place_url(sidecars_place(x->sidecars))))
        return err_set(ERR_USAGE, "%s: OUT must be another folder than PLACE", out);
    for (size_t i = 0; i < x->inputs.names.count && !rc; i++) {
        const char *name = x->inputs.names.list[i];
        if (source_is_pipe(name)) continue;
        char *real = realpath(name, NULL); /* a shard may be a link into OUT */
        const char *at = real ? real : name, *slash = strrchr(at, '/');
        str_clear(&folder);
        if (x->inputs.format == INPUT_FILES)
            str_puts(&folder, name);
        else
            str_add(&folder, slash ? at : ".", slash ? (size_t)(slash - at) + 1 : 1);
        free(real);
        if (last.p && !strcmp(last.p, folder.p)) continue;
        if (same_folder(out, folder.p))
            rc = err_set(ERR_USAGE, "%s: OUT must be another folder than that of the shards", out);
        str_clear(&last);
        str_puts(&last, folder.p);
    }
    str_release(&folder);
    str_release(&last);
    return rc;
}

/* Shards that another program left here are not ours to overwrite. */
static int check_foreign(const struct exporter *x)
{
    struct names n = {0};
    int rc = place_list(x->out, "", &n);
    for (size_t i = 0; i < n.count && !rc; i++)
        if (str_ends(n.list[i], ".tar") || str_ends(n.list[i], ".parquet"))
            rc = err_set(ERR_STALE,
                         "%s/%s was not made by export; use another folder, or --force-new-run to "
                         "write over it",
                         place_url(x->out), n.list[i]);
    names_release(&n);
    return rc;
}

/* Hashes tell people nothing: say which of the things exported are others now. */
static int check_same(const struct exporter *x)
{
    static const char *const names[] = {"shards", "metadata",   "scores",
                                        "filter", "embeddings", "dedup"};
    struct run old = {0};
    struct str changed = {0};
    int rc = run_load(&old, x->out, "export");
    for (size_t i = 0; i < sizeof names / sizeof *names && !rc; i++) {
        const char *was = run_get(&old, names[i]), *now = run_get(&x->run, names[i]);
        if (was && now && strcmp(was, now))
            str_printf(&changed, "%s%s", changed.len ? ", " : "", names[i]);
    }
    if (changed.len)
        rc = err_set(ERR_STALE,
                     "%s holds an export of what was there before: %s changed since; use another "
                     "folder, or --force-new-run to replace it",
                     place_url(x->out), changed.p);
    run_release(&old);
    str_release(&changed);
    return rc;
}

int plan_out(struct exporter *x, const char *out)
{
    int rc = check_out(x, out);
    if (!rc) rc = place_open(&x->out, out, 1);
    if (rc) return rc;
    int ours = place_exists(x->out, "_darkroom/export/run.json", NULL), force = x->o->force_new_run;
    if (!force) rc = ours ? check_same(x) : check_foreign(x);
    if (!rc) rc = run_claim(&x->run, x->out, "export", force ? RUN_FORCE : RUN_KEEP);
    if (!rc && ours && force) rc = remove_beyond(x);
    return rc;
}

int plan_is_done(const struct exporter *x, int64_t shard)
{
    struct receipt r;
    int done = !receipt_load(&r, x->out, "export", shard, x->digits) &&
               !strcmp(r.fingerprint, x->run.fingerprint) && !receipt_check(&r, x->out, 0);
    receipt_release(&r);
    return done;
}

/* A source of another size is found before hours of copying, not after. */
static int check_sources(const struct exporter *x)
{
    int64_t first, last, row, per = x->o->samples_per_shard;
    int rc = 0;
    if (!x->ntodo || x->inputs.format == INPUT_FILES) return 0;
    int64_t end = (x->todo[x->ntodo - 1] + 1) * per;
    survivors_at(&x->survivors, x->todo[0] * per, &first, &row);
    survivors_at(&x->survivors, (end < x->survivors.count ? end : x->survivors.count) - 1, &last,
                 &row);
    for (int64_t i = first; i <= last && !rc; i++) {
        const struct receipt *r = sidecars_receipt(x->sidecars, i);
        if (!r || x->survivors.first[i] == x->survivors.first[i + 1]) continue;
        for (size_t k = 0; k < r->inputs.count && !rc; k++) {
            int64_t input = origin_find(x, i, k, r->inputs.file[k].name);
            if (input >= 0) rc = feed_check(x->inputs.names.list[input], &r->inputs.file[k]);
        }
    }
    return rc;
}

/* A task is a row of neighbouring shards: so each source is read by one task, or by two. */
int plan_todo(struct exporter *x)
{
    int64_t from = (int64_t)((__int128)x->shards * x->task.index / x->task.count);
    int64_t to = (int64_t)((__int128)x->shards * (x->task.index + 1) / x->task.count);
    size_t cap = 0;
    for (int64_t i = from; i < to; i++) {
        if (plan_is_done(x, i)) {
            x->done_before++;
            continue;
        }
        vec_push(x->todo, x->ntodo, cap);
        x->todo[x->ntodo++] = i;
        int64_t left = x->survivors.count - i * x->o->samples_per_shard;
        x->total += left < x->o->samples_per_shard ? left : x->o->samples_per_shard;
    }
    return check_sources(x);
}
