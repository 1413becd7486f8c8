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
    int rc = folders_open(&e->folders, &e->inputs.names);
    if (rc) return rc;
    e->count = e->folders.pictures;
    size_t ignored = 0;
    for (size_t i = 0; i < e->folders.count; i++) ignored += folder_ignored(e->folders.list[i]);
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
    for (size_t i = 0; i < e->inputs.names.count; i++) e->labels[i] = inputs_label(&e->inputs, i);
}

void embed_hash_inputs(const struct embedder *e, char hex[65])
{
    struct sha256 h;
    sha256_init(&h);
    for (size_t i = 0; i < e->inputs.names.count; i++) {
        const char *name = e->inputs.names.list[i], *word = e->labels[i];
        size_t n = strlen(word);
        if (inputs_pipe_word(name, &n)) word = inputs_pipe_word(name, &n);
        sha256_add(&h, word, n);
        sha256_add(&h, "", 1);
        if (embed_of_pictures(e)) folder_hash(e->folders.list[i], &h);
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
    folders_close(&e->folders);
    for (size_t i = 0; e->labels && i < e->inputs.names.count; i++) free(e->labels[i]);
    free(e->labels);
    free(e->inputs_at);
    inputs_release(&e->inputs);
}

const char *embed_input_name(const struct embedder *e, size_t i)
{
    if (embed_of_pictures(e)) i = folders_find(&e->folders, i);
    return e->labels[i];
}

int embed_load_picture(struct embedder *e, struct sample *s, struct arena *a, size_t i)
{
    return folders_load(&e->folders, s, a, i, PREP_MAX_BYTES);
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
    for (size_t f = 0; f < e->folders.count; f++)
        if (folder_captions(e->folders.list[f])) return 1;
    return 0;
}
