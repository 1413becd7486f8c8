/* feed.c - samples with all their members, straight from the source's buffer: nothing is held but
 * a block of a tar, or one picture with its texts.
 * Grouping is that of shard.c, damage included: a tar that ends badly has simply no more samples.
 * What it should have had, the rows know. */
#include "stage/export/feed.h"
#include "base/mem.h"
#include "data/shard.h"
#include "image/prep.h"
#include "io/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int of_pictures(const struct feed *f)
{
    return f->x->inputs.format == INPUT_FILES;
}

static const struct origin_input *input_of(const struct feed *f)
{
    return &f->origins->inputs[f->origin->from + f->at];
}

/* The input cannot be read: what it would have given is not known. */
static int lose(struct feed *f, int rc)
{
    int64_t input = input_of(f)->input;
    if (rc == ERR_STOPPED) return rc;
    if (input >= 0 && !of_pictures(f)) atomic_store(&f->x->lost[input], 1);
    f->lost = 1;
    return rc;
}

static int no_input(struct feed *f)
{
    const struct origin_input *in = input_of(f);
    long long number = sidecars_number(f->x->sidecars, f->part);
    const char *label = in->promise ? in->promise->name : "";
    if (in->input == INPUT_TWICE)
        err_set(ERR_INPUT,
                "partition %lld was made from %s, and several of the shards are called so; give "
                "them as they were given to embed",
                number, label);
    else if (in->promise)
        err_set(ERR_INPUT, "partition %lld was made from %s, which is not among the shards given",
                number, label);
    else
        err_set(ERR_INPUT, "there is no shard for partition %lld among those given", number);
    return lose(f, ERR_INPUT);
}

/* ---- promises ---- */

int feed_check(const char *path, const struct receipt_file *promise)
{
    struct stat st;
    if (!promise || source_is_pipe(path) || stat(path, &st) || !S_ISREG(st.st_mode)) return 0;
    if ((uint64_t)st.st_size == promise->size) return 0;
    return err_set(ERR_STALE,
                   "%s has changed since it was embedded: it has %lld bytes and had %llu; embed it "
                   "again, or put the old file back",
                   path, (long long)st.st_size, (unsigned long long)promise->size);
}

/* The input has been read to its end. */
static int check_bytes(struct feed *f, const char *path, uint64_t size, const char *sha256)
{
    const struct receipt_file *promise = input_of(f)->promise;
    receipt_add(&f->read, f->label, size, sha256);
    if (!promise || (promise->size == size && !strcmp(promise->sha256, sha256))) return 0;
    return err_set(ERR_STALE,
                   "%s has changed since it was embedded: its sha256 is %.12s..., and was "
                   "%.12s...; embed it again, or put the old file back",
                   path, sha256, promise->sha256);
}

/* ---- tars ---- */

static const char *path_of(const struct feed *f)
{
    return f->x->inputs.names.list[input_of(f)->input];
}

static int open_tar(struct feed *f)
{
    const struct origin_input *in = input_of(f);
    struct source *s;
    if (in->input < 0) return no_input(f);
    const char *path = path_of(f);
    f->label = in->promise ? in->promise->name : f->x->labels[in->input];
    f->hash = hash64(f->label, strlen(f->label));
    if (atomic_load(&f->x->lost[in->input]))
        return lose(f, err_set(ERR_INPUT, "%s: could not be read before", path));
    int rc = feed_check(path, in->promise);
    if (rc) return rc;
    if ((rc = source_open(&s, path))) return lose(f, rc);
    f->tar = tar_open(s, &(struct tar_options){.hash = 1});
    f->ahead = f->over = f->begun = 0;
    return 0;
}

/* Step to the next member that belongs to a sample: 0, 1 at the end, or an error. */
static int pull(struct feed *f)
{
    while (!f->ahead && !f->over) {
        int rc = tar_next(f->tar, &f->member);
        if (rc == 1 || rc == ERR_DATA)
            f->over = 1;
        else if (rc)
            return lose(f, rc);
        else
            f->ahead = (f->key_len = shard_member(&f->member, &f->ext)) > 0;
    }
    return f->over;
}

static int same_key(const struct feed *f)
{
    return f->begun && f->key_len == f->key.len && !memcmp(f->member.name, f->key.p, f->key.len);
}

static int end_tar(struct feed *f)
{
    int rc = check_bytes(f, path_of(f), tar_stored(f->tar), tar_sha256(f->tar));
    tar_close(f->tar);
    f->tar = NULL;
    return rc;
}

/* The first member behind the current sample: 0, 1 at the end of the tar, or an error. */
static int next_in_tar(struct feed *f)
{
    int rc;
    while (!(rc = pull(f)) && same_key(f)) f->ahead = 0;
    if (rc) return rc;
    f->begun = 1;
    f->offset = (int64_t)f->member.offset;
    str_clear(&f->key);
    str_add(&f->key, f->member.name, f->key_len);
    return 0;
}

/* ---- pictures ---- */

static int open_pictures(struct feed *f)
{
    const struct receipt_file *promise = input_of(f)->promise;
    f->label = promise ? promise->name : f->x->labels[0];
    f->next = (size_t)sidecars_number(f->x->sidecars, f->part);
    f->bytes = 0;
    sha256_init(&f->sum);
    return 0;
}

/* Every picture of the partition, dropped ones too: embed's receipt has one hash for them all. */
static int next_picture(struct feed *f)
{
    struct exporter *x = f->x;
    if (f->next >= x->folders.pictures) return 1;
    size_t folder = folders_find(&x->folders, f->next);
    arena_relax(&f->arena, 16 << 20);
    int rc = folders_load(&x->folders, &f->sample, &f->arena, f->next, PREP_MAX_BYTES);
    if (rc && rc != ERR_DATA) return lose(f, rc);
    f->next += (size_t)sidecars_count(x->sidecars);
    f->given = 0;
    f->offset = (int64_t)f->sample.offset;
    f->hash = x->folders.count > 1 ? hash64(x->labels[folder], strlen(x->labels[folder])) : 0;
    str_clear(&f->key);
    str_puts(&f->key, f->sample.key);
    if (rc) return 0;
    sha256_add(&f->sum, f->sample.key, f->key.len + 1);
    for (int i = 0; i < f->sample.count; i++) {
        sha256_add(&f->sum, f->sample.members[i].data, f->sample.members[i].size);
        f->bytes += f->sample.members[i].size;
    }
    return 0;
}

static int end_pictures(struct feed *f)
{
    char hex[65];
    sha256_end(&f->sum, hex);
    return check_bytes(f, f->x->inputs.names.list[0], f->bytes, hex);
}

/* A path as a key of a shard, one to one: what readers would take for the beginning of an
 * extension, or for a file that is no sample, is written as in an URL. */
static void add_safe(struct str *out, const char *path)
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    for (const char *p = path; *p; p++)
        if (*p == '%' || (*p == '.' && p >= last) || (p == path && *p == '_' && p[1] == '_'))
            str_printf(out, "%%%02X", (unsigned char)*p);
        else
            str_putc(out, *p);
}

static int picture_member(struct feed *f, struct feed_member *m)
{
    if (f->given >= f->sample.count) return 1;
    const struct sample_member *one = &f->sample.members[f->given++];
    size_t dot;
    str_clear(&f->member_name);
    add_safe(&f->member_name, f->sample.key);
    dot = f->member_name.len;
    str_puts(&f->member_name, strrchr(one->path, '.'));
    *m = (struct feed_member){f->member_name.p, f->member_name.p + dot + 1, one->size};
    f->body = one->data;
    f->left = one->size;
    return 0;
}

/* ---- both ---- */

static int open_input(struct feed *f)
{
    return of_pictures(f) ? open_pictures(f) : open_tar(f);
}

static int end_input(struct feed *f)
{
    return of_pictures(f) ? end_pictures(f) : end_tar(f);
}

static int is_open(const struct feed *f)
{
    return f->origin && (f->tar || f->sum.ctx);
}

int feed_open(struct feed *f, struct exporter *x, int64_t part, const struct origins *o,
              const struct origin *origin)
{
    feed_close(f);
    f->x = x;
    f->part = part;
    f->origins = o;
    f->origin = origin;
    return open_input(f);
}

int feed_next(struct feed *f)
{
    while (is_open(f)) {
        int rc = of_pictures(f) ? next_picture(f) : next_in_tar(f);
        if (rc <= 0) return rc;
        if ((rc = end_input(f))) return rc;
        if (f->at + 1 == f->origin->count) break;
        f->at++;
        if ((rc = open_input(f))) return rc;
    }
    return 1;
}

int feed_member(struct feed *f, struct feed_member *m)
{
    if (of_pictures(f)) return picture_member(f, m);
    int rc = pull(f);
    if (rc) return rc;
    if (!same_key(f)) return 1;
    f->ahead = 0;
    *m = (struct feed_member){f->member.name, f->ext, f->member.size};
    return 0;
}

/* Inside a sample that has a row, a tar is whole: damage means another file, or one of others. */
static int damaged_inside(struct feed *f)
{
    char *why = mem_strdup(err_text()), *path = mem_strdup(path_of(f));
    f->over = 1;
    int rc = end_tar(f);
    if (!rc) rc = lose(f, err_set(ERR_INPUT, "%s: %s", path, why));
    free(why);
    free(path);
    return rc;
}

int64_t feed_span(struct feed *f, const void **p)
{
    if (!of_pictures(f)) {
        int64_t n = tar_span(f->tar, p);
        if (n == ERR_DATA) return damaged_inside(f);
        return n < 0 ? lose(f, (int)n) : n;
    }
    int64_t n = (int64_t)f->left;
    *p = f->body;
    f->left = 0;
    return n;
}

int feed_finish(struct feed *f)
{
    int rc = 0;
    if (!is_open(f)) return 0;
    while (!rc) rc = of_pictures(f) ? next_picture(f) : next_in_tar(f);
    return rc == 1 ? end_input(f) : rc;
}

void feed_close(struct feed *f)
{
    tar_close(f->tar);
    sha256_release(&f->sum);
    for (size_t i = 0; i < f->read.count; i++) free(f->read.file[i].name);
    free(f->read.file);
    str_release(&f->key);
    str_release(&f->member_name);
    arena_release(&f->arena);
    memset(f, 0, sizeof *f);
}
