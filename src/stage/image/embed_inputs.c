/* embed_inputs.c - the inputs of a run by number: shards of a list, or the pictures of all given
 * folders one after the other. */
#include "stage/image/embed.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/file.h"
#include "io/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int embed_of_pictures(const struct embedder *e)
{
    return e->inputs.format == INPUT_FILES;
}

static int open_folders(struct embedder *e)
{
    size_t n = e->inputs.names.count;
    e->folders = mem_alloc(n * sizeof *e->folders);
    e->first = mem_alloc((n + 1) * sizeof *e->first);
    for (size_t i = 0; i < n; i++) {
        int rc = folder_open(&e->folders[i], e->inputs.names.list[i], (uint32_t)i);
        if (rc) return rc;
        e->first[i + 1] = e->first[i] + folder_count(e->folders[i]);
    }
    e->count = e->first[n];
    size_t ignored = 0;
    for (size_t i = 0; i < n; i++) ignored += folder_ignored(e->folders[i]);
    if (ignored)
        log_info(
            "%zu files are passed over: neither pictures (jpg jpeg png webp gif bmp) nor .txt or .json",
            ignored);
    return e->count
               ? 0
               : err_set(ERR_INPUT, "%s: no sample found: no picture (jpg png webp gif bmp) in it",
                         e->inputs.names.list[0]);
}

/* Can these be opened at all, and is one of them there? A wrong word should not make a place. */
static int check_shards(const struct embedder *e)
{
    int there = 0;
    for (size_t i = 0; i < e->count; i++) {
        const char *name = e->inputs.names.list[i];
        int rc = source_check(name);
        if (rc) return rc;
        there |= source_is_pipe(name) || file_exists(name);
    }
    if (there) return 0;
    if (e->count == 1)
        return err_set(ERR_INPUT, "%s: no such file or folder", e->inputs.names.list[0]);
    return err_set(ERR_INPUT, "none of the %zu shards is there: %s ...", e->count,
                   e->inputs.names.list[0]);
}

/* The word of a command that names its data (".../00042.tar"), without what may be secret: a
 * query behind '?', or "user:password@". Commands carry tokens; rows and receipts must not, and
 * a fresh token must not make another run. Its length goes to *n; NULL when there is none. */
static const char *pipe_word(const char *command, size_t *n)
{
    for (const char *w = command; *w; w += strspn(w, " \t")) {
        size_t len = strcspn(w, " \t");
        const char *dot = memmem(w, len, ".t", 2);
        if (dot && (!strncmp(dot, ".tar", 4) || !strncmp(dot, ".tgz", 4))) {
            const char *scheme = memmem(w, len, "://", 3), *at = memchr(w, '@', len);
            const char *start = scheme && at && at > scheme ? at + 1 : w;
            start += strspn(start, "'\"");
            *n = strcspn(start, "?'\" \t");
            return start;
        }
        w += len;
    }
    return NULL;
}

/* Names for rows and receipts: relative paths; of commands the last part of their data's name. */
static char *make_label(const struct embedder *e, size_t i)
{
    const char *name = e->inputs.names.list[i], *word;
    struct str s = {0};
    size_t n;
    if (!source_is_pipe(name)) return mem_strdup(name + e->inputs.root);
    if (!(word = pipe_word(name + strlen("pipe:"), &n))) {
        str_printf(&s, "pipe-%zu", i);
    } else {
        const char *slash = memrchr(word, '/', n);
        n -= slash ? (size_t)(slash + 1 - word) : 0;
        str_add(&s, slash ? slash + 1 : word, n);
    }
    return str_steal(&s);
}

/* The folder in which labels are names: where someone who wants to see a sample may look. */
static char *common_folder(const struct embedder *e)
{
    const char *first = e->inputs.names.list[0];
    if (source_is_pipe(first)) return NULL;
    char *folder = e->inputs.root ? mem_strndup(first, e->inputs.root) : mem_strdup(".");
    char *absolute = realpath(folder, NULL);
    free(folder);
    return absolute;
}

static void make_labels(struct embedder *e)
{
    e->inputs_at = common_folder(e);
    e->labels = mem_alloc(e->inputs.names.count * sizeof *e->labels);
    for (size_t i = 0; i < e->inputs.names.count; i++) e->labels[i] = make_label(e, i);
}

void embed_hash_inputs(const struct embedder *e, char hex[65])
{
    struct sha256 h;
    sha256_init(&h);
    for (size_t i = 0; i < e->inputs.names.count; i++) {
        const char *name = e->inputs.names.list[i], *word = e->labels[i];
        size_t n = strlen(word);
        if (source_is_pipe(name) && pipe_word(name + strlen("pipe:"), &n))
            word = pipe_word(name + strlen("pipe:"), &n);
        sha256_add(&h, word, n);
        sha256_add(&h, "", 1);
        if (e->folders) folder_hash(e->folders[i], &h);
    }
    sha256_end(&h, hex);
}

/* Bytes (or pictures) of the partitions to do, for the progress line; 0 when unknown. */
long long embed_total(const struct embedder *e)
{
    long long sum = 0;
    for (size_t t = 0; t < e->ntodo; t++)
        for (size_t i = (size_t)e->todo[t]; i < e->count; i += (size_t)e->partitions) {
            struct stat st;
            if (embed_of_pictures(e))
                sum++;
            else if (source_is_pipe(e->inputs.names.list[i]))
                return 0;
            else if (!stat(e->inputs.names.list[i], &st))
                sum += st.st_size;
        }
    return sum;
}

int embed_open_inputs(struct embedder *e, const char **words, int n)
{
    int rc =
        inputs_load(&e->inputs, words, n, (enum input_format)e->o->input_format, e->o->allow_pipe);
    if (rc) return rc;
    make_labels(e);
    if (embed_of_pictures(e)) return open_folders(e);
    e->count = e->inputs.names.count;
    return check_shards(e);
}

void embed_close_inputs(struct embedder *e)
{
    for (size_t i = 0; e->folders && i < e->inputs.names.count; i++) folder_close(e->folders[i]);
    free(e->folders);
    free(e->first);
    for (size_t i = 0; e->labels && i < e->inputs.names.count; i++) free(e->labels[i]);
    free(e->labels);
    free(e->inputs_at);
    inputs_release(&e->inputs);
}

static size_t folder_of(const struct embedder *e, size_t i)
{
    size_t f = 0;
    while (i >= e->first[f + 1]) f++;
    return f;
}

const char *embed_input_name(const struct embedder *e, size_t i)
{
    if (embed_of_pictures(e)) i = folder_of(e, i);
    return e->labels[i];
}

int embed_load_picture(struct embedder *e, struct sample *s, struct arena *a, size_t i)
{
    size_t f = folder_of(e, i);
    return folder_load(e->folders[f], s, a, i - e->first[f], PREP_MAX_BYTES);
}

/* img2dataset's sidecar has a row per URL with a status; NeMo's has a row per sample. */
static int64_t count_success(struct parquet_reader *r)
{
    int col = parquet_find(r, "status");
    int64_t n = 0;
    size_t rows;
    if (col < 0 || parquet_field(r, (size_t)col)->type != PARQUET_STRING)
        return (int64_t)parquet_rows(r);
    parquet_select(r, (size_t)col);
    while (!parquet_next(r, 0, &rows)) {
        const struct parquet_values *v = parquet_values(r, (size_t)col);
        for (size_t i = 0; i < v->rows; i++)
            n += v->slices[i].n == 7 && !memcmp(v->slices[i].p, "success", 7);
    }
    return n;
}

int64_t embed_expected(const char *tar)
{
    struct str path = {0};
    struct file_map m = {NULL, 0};
    struct parquet_reader *r = NULL;
    int64_t n = 0;
    if (!str_ends(tar, ".tar") || source_is_pipe(tar)) return 0;
    str_add(&path, tar, strlen(tar) - 4);
    str_puts(&path, ".parquet");
    if (file_exists(path.p) == 1 && !file_map(&m, path.p) && !parquet_open(&r, m.p, m.n))
        n = count_success(r);
    parquet_close(r);
    file_unmap(&m);
    str_release(&path);
    return n;
}

int embed_has_captions(const struct embedder *e)
{
    for (size_t f = 0; f < e->inputs.names.count; f++)
        if (folder_captions(e->folders[f])) return 1;
    return 0;
}
