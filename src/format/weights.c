/* weights.c - see weights.h. Looks at the first bytes, maps what is needed and lets the reader of
 * that format fill one list. */
#include "format/weights.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "format/npy.h"
#include "format/safetensors.h"
#include "format/torch.h"
#include "format/zip.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t INFLATED_MAX = (uint64_t)4 << 30; /* of one npz, in memory */
enum { INDEX_MAX = 100000000 };

struct weights {
    char *path;
    const char *format;
    struct weight_list list;
    struct file_map *maps; /* the file, or its shards */
    size_t map_count, map_cap;
    void **buffers; /* inflated npz members */
    size_t buffer_count, buffer_cap;
    uint64_t inflated;
};

/* Maps a file for as long as w lives. */
static int map_file(struct weights *w, struct file_map *out, const char *path)
{
    int rc = file_map(out, path);
    if (rc) return rc;
    vec_push(w->maps, w->map_count, w->map_cap);
    w->maps[w->map_count++] = *out;
    return 0;
}

/* ---- npy and npz ---- */

static int add_array(struct weights *w, const char *name, size_t n, const void *p, size_t bytes)
{
    static const struct {
        const char *descr;
        enum weight_dtype type;
    } types[] = {
        {"<f4", WEIGHT_F32}, {"<f2", WEIGHT_F16}, {"<f8", WEIGHT_F64}, {"<i8", WEIGHT_I64},
        {"<i4", WEIGHT_I32}, {"<i2", WEIGHT_I16}, {"|i1", WEIGHT_I8},  {"<u8", WEIGHT_U64},
        {"<u4", WEIGHT_U32}, {"<u2", WEIGHT_U16}, {"|u1", WEIGHT_U8},  {"|b1", WEIGHT_BOOL},
        {"<c8", WEIGHT_C64},
    };
    struct npy a;
    size_t i = 0;
    int rc = npy_decode(&a, p, bytes);
    if (rc) return rc;
    while (i < sizeof types / sizeof *types && strcmp(types[i].descr, a.descr)) i++;
    if (i == sizeof types / sizeof *types)
        return err_set(ERR_INPUT, "numbers of type '%s' are not read", a.descr);
    struct weight t = {.name = name, .dtype = types[i].type, .rank = a.rank, .data = a.data};
    memcpy(t.dim, a.dim, sizeof a.dim);
    return weight_add(&w->list, &t, n, (size_t)a.count * a.item, 1);
}

static int add_member(struct weights *w, const struct zip_entry *e)
{
    const void *bytes = e->data;
    size_t n = strlen(e->name);
    int rc;
    if (!str_ends(e->name, ".npy")) return err_set(ERR_INPUT, "%s is no array", e->name);
    if (e->method == ZIP_DEFLATED) {
        if (e->size > INFLATED_MAX - w->inflated)
            return err_set(ERR_INPUT, "inflates to more than %llu bytes; save it uncompressed",
                           (unsigned long long)INFLATED_MAX);
        w->inflated += e->size;
        vec_push(w->buffers, w->buffer_count, w->buffer_cap);
        void *buffer = w->buffers[w->buffer_count++] = mem_aligned(e->size + 1);
        rc = zip_inflate(buffer, e);
        bytes = buffer;
    } else
        rc = zip_check(e, e->data);
    if (!rc) rc = add_array(w, e->name, n - 4, bytes, e->size);
    return rc ? err_wrap(rc, "%s", e->name) : 0;
}

/* ---- zip: torch, TorchScript or npz ---- */

static int open_zip(struct weights *w, struct file_map f)
{
    struct zip z;
    int script = 0, rc = zip_init(&z, f.p, f.n);
    const char *root = rc ? NULL : torch_root(&z, &script, &z.arena);
    if (root) {
        w->format = script ? "TorchScript" : "torch zip";
        rc = torch_decode_zip(&w->list, &z, root, script);
    } else if (!rc && z.count && str_ends(z.list[0].name, ".npy")) {
        w->format = "npz";
        for (size_t i = 0; i < z.count && !rc; i++) rc = add_member(w, &z.list[i]);
    } else if (!rc)
        rc = err_set(ERR_INPUT, "a zip archive that neither torch nor numpy wrote; name a model "
                                "file inside it");
    zip_release(&z);
    return rc;
}

/* ---- one file of any kind but an index ---- */

/* Things people pass by mistake, and what to do about them. */
static int refuse(struct file_map f)
{
    static const struct {
        size_t at;
        const char *bytes, *advice;
    } known[] = {
        {0, "version https://git-lfs", "a Git LFS pointer, not the file itself; run git lfs pull"},
        {0, "GGUF", "a GGUF file; use the original safetensors or torch checkpoint"},
        {0, "\x89HDF", "an HDF5 (Keras) file; save it as safetensors"},
        {0, "<", "a web page, not a model; the download went wrong"},
        {257, "ustar",
         "a tar archive (torch before 0.2, or a shard); save it again with a newer "
         "torch, or extract it"},
        {0, "\x1f\x8b", "compressed by gzip; unpack it first"},
        {0, "\x80", "a pickle, but none that torch.save wrote; save a state_dict with torch.save"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].bytes);
        if (f.n >= known[i].at + n && !memcmp(f.p + known[i].at, known[i].bytes, n))
            return err_set(ERR_INPUT, "%s", known[i].advice);
    }
    if (!f.n) return err_set(ERR_INPUT, "the file is empty");
    return err_set(ERR_INPUT, "no model format we know: safetensors, torch, TorchScript, npz, npy");
}

static int open_one(struct weights *w, struct file_map f, const struct map *only, uint64_t mark)
{
    if (zip_is(f.p, f.n)) return open_zip(w, f);
    if (f.n > 6 && !memcmp(f.p, "\x93NUMPY", 6)) {
        w->format = "npy";
        return add_array(w, "tensor", 6, f.p, f.n);
    }
    if (torch_is_legacy(f.p, f.n)) {
        w->format = "torch legacy";
        return torch_decode_legacy(&w->list, f.p, f.n);
    }
    if (safetensors_is(f.p, f.n)) {
        w->format = "safetensors";
        return safetensors_decode(&w->list, f.p, f.n, only, mark);
    }
    return refuse(f);
}

/* ---- an index and its shards ---- */

static int is_index(struct file_map f)
{
    size_t i = 0;
    while (i < f.n && i < 64 && strchr(" \t\r\n", f.p[i] ? f.p[i] : 'x')) i++;
    return i < f.n && f.p[i] == '{' && !safetensors_is(f.p, f.n);
}

static int open_shard(struct weights *w, const struct shard_index *x, uint64_t shard)
{
    const char *slash = strrchr(w->path, '/'), *name = x->shards.entries[shard].key;
    struct str path = {0};
    struct file_map f;
    if (slash) str_add(&path, w->path, (size_t)(slash - w->path) + 1);
    str_puts(&path, name);
    int rc = map_file(w, &f, path.p);
    if (!rc) {
        rc = open_one(w, f, &x->map, shard);
        if (rc) rc = err_wrap(rc, "shard %s", name);
    }
    str_release(&path);
    return rc;
}

static int open_index(struct weights *w, struct file_map f)
{
    struct shard_index x = {0};
    int rc = f.n > INDEX_MAX
                 ? err_set(ERR_INPUT, "an index of %zu bytes (limit %d)", f.n, INDEX_MAX)
                 : shard_index_decode(&x, f.p, f.n);
    for (uint64_t i = 0; i < x.shards.count && !rc; i++) rc = open_shard(w, &x, i);
    for (size_t i = 0; i < x.map.count && !rc; i++)
        if (!weight_find(&w->list, x.map.entries[i].key))
            rc = err_set(ERR_INPUT, "shard %s has no tensor %s",
                         x.shards.entries[x.map.entries[i].value].key, x.map.entries[i].key);
    shard_index_release(&x);
    return rc;
}

/* ---- the interface ---- */

/* A whole pickled module holds its tensors in objects we never build. */
static int check_not_empty(const struct weights *w)
{
    if (w->list.count) return 0;
    if (w->list.stubs.count)
        return err_set(ERR_INPUT, "no tensors, but a pickled %s; save its state_dict() instead",
                       w->list.stubs.list[0].text);
    return err_set(ERR_INPUT, "holds no tensors");
}

int weights_open(struct weights **out, const char *path)
{
    struct weights *w = mem_alloc(sizeof *w);
    struct file_map f;
    *out = NULL;
    w->path = mem_strdup(path);
    int rc = file_exists(path) == 2
                 ? err_set(ERR_INPUT, "%s: a folder; name the model file in it", path)
                 : map_file(w, &f, path);
    if (!rc) {
        rc = is_index(f) ? open_index(w, f) : open_one(w, f, NULL, 0);
        if (!rc) rc = check_not_empty(w);
        if (rc) rc = err_wrap(rc, "%s", path);
    }
    if (!rc)
        *out = w;
    else
        weights_close(w);
    return rc;
}

void weights_close(struct weights *w)
{
    if (!w) return;
    weight_list_release(&w->list);
    for (size_t i = 0; i < w->map_count; i++) file_unmap(&w->maps[i]);
    for (size_t i = 0; i < w->buffer_count; i++) free(w->buffers[i]);
    free(w->maps);
    free(w->buffers);
    free(w->path);
    free(w);
}

const char *weights_path(const struct weights *w)
{
    return w->path;
}

const char *weights_format(const struct weights *w)
{
    return w->format;
}

size_t weights_count(const struct weights *w)
{
    return w->list.count;
}

const struct weight *weights_at(const struct weights *w, size_t i)
{
    return &w->list.list[i];
}

const struct weight *weights_find(const struct weights *w, const char *name)
{
    return weight_find(&w->list, name);
}

int64_t weights_parameters(const struct weights *w)
{
    int64_t n = 0;
    for (size_t i = 0; i < w->list.count; i++)
        if (__builtin_add_overflow(n, w->list.list[i].count, &n)) return INT64_MAX;
    return n;
}

size_t weights_meta_count(const struct weights *w)
{
    return w->list.meta.count;
}

const struct weight_note *weights_meta_at(const struct weights *w, size_t i)
{
    return &w->list.meta.list[i];
}

const char *weights_meta(const struct weights *w, const char *key)
{
    for (size_t i = 0; i < w->list.meta.count; i++)
        if (!strcmp(w->list.meta.list[i].key, key)) return w->list.meta.list[i].text;
    return NULL;
}

size_t weights_stub_count(const struct weights *w)
{
    return w->list.stubs.count;
}

const struct weight_note *weights_stub_at(const struct weights *w, size_t i)
{
    return &w->list.stubs.list[i];
}
