/* torch.c - see torch.h. Two halves: where the storages are (zip members, or one after another
 * behind the legacy pickles), and the walk over the tree that turns dictionaries, TorchScript
 * objects and lists into dotted names. */
#include "format/torch.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "format/pickle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS_MAX = 4 << 20, /* shared values can make a small file a large tree */
    META_MAX = 1 << 16,
    META_TEXT_MAX = 4096,
    LEGACY_PROTOCOL = 1001,
};

static const struct {
    const char *storage, *dtype;
    enum weight_dtype type;
} types[] = {
    {"FloatStorage", "float32", WEIGHT_F32},
    {"HalfStorage", "float16", WEIGHT_F16},
    {"BFloat16Storage", "bfloat16", WEIGHT_BF16},
    {"DoubleStorage", "float64", WEIGHT_F64},
    {"LongStorage", "int64", WEIGHT_I64},
    {"IntStorage", "int32", WEIGHT_I32},
    {"ShortStorage", "int16", WEIGHT_I16},
    {"CharStorage", "int8", WEIGHT_I8},
    {"ByteStorage", "uint8", WEIGHT_U8},
    {"BoolStorage", "bool", WEIGHT_BOOL},
    {"ComplexFloatStorage", "complex64", WEIGHT_C64},
    {"", "uint16", WEIGHT_U16},
    {"", "uint32", WEIGHT_U32},
    {"", "uint64", WEIGHT_U64},
    {"", "float8_e4m3fn", WEIGHT_F8_E4M3},
    {"", "float8_e5m2", WEIGHT_F8_E5M2},
};
enum { TYPES = sizeof types / sizeof *types };

struct storage {
    const unsigned char *data;
    size_t bytes;
};

struct walk {
    struct weight_list *out;
    struct arena arena;    /* of the pickle */
    const struct zip *zip; /* NULL: legacy */
    const char *root;
    struct map keys; /* legacy: storage key -> place in storages */
    struct storage *storages;
    int script;
    struct str path;
    size_t steps;
};

static void stub(struct walk *w, const char *what)
{
    if (w->out->stubs.count < META_MAX)
        weight_note(w->out, &w->out->stubs, w->path.len ? w->path.p : "(root)", what);
}

/* ---- storages ---- */

/* ("storage", type, key, location, count [, view]): the type; UntypedStorage counts bytes and
 * has its type elsewhere. */
static int storage_type(const struct pickle *id, enum weight_dtype *type, int *untyped)
{
    const struct pickle *global = pickle_item(id, 1);
    *untyped = pickle_is(global, "torch.storage", "UntypedStorage") ||
               pickle_is(global, "torch", "UntypedStorage");
    *type = WEIGHT_U8;
    if (*untyped) return 0;
    for (size_t i = 0; i < TYPES; i++)
        if (*types[i].storage && (pickle_is(global, "torch", types[i].storage) ||
                                  pickle_is(global, "torch.cuda", types[i].storage))) {
            *type = types[i].type;
            return 0;
        }
    return err_set(ERR_INPUT, "a storage of an unknown type");
}

/* The key as text: a string, or an integer in some old files. */
static int storage_key(const struct pickle *id, char *key, size_t size)
{
    const struct pickle *k = pickle_item(id, 2);
    if (!pickle_text_is(pickle_item(id, 0), "storage") || !k)
        return err_set(ERR_INPUT, "a persistent id that is no storage");
    if (k->kind == PICKLE_INT)
        snprintf(key, size, "%lld", (long long)k->i);
    else if (k->kind == PICKLE_STRING && k->text.n < size && !memchr(k->text.p, 0, k->text.n))
        snprintf(key, size, "%.*s", (int)k->text.n, k->text.p);
    else
        return err_set(ERR_INPUT, "a storage without a key");
    return 0;
}

static int find_in_zip(struct storage *out, const struct walk *w, const char *key)
{
    char name[1024];
    if (snprintf(name, sizeof name, "%s/data/%s", w->root, key) >= (int)sizeof name)
        return err_set(ERR_INPUT, "a storage key too long");
    const struct zip_entry *e = zip_find(w->zip, name);
    if (!e) return err_set(ERR_INPUT, "storage %s is missing", name);
    if (e->method != ZIP_STORED) return err_set(ERR_INPUT, "storage %s is compressed", name);
    *out = (struct storage){e->data, e->size};
    return 0;
}

/* Legacy files may let one storage be a window of another: (key, offset, count). */
static int cut_view(struct storage *s, const struct pickle *view, size_t size)
{
    const struct pickle *offset = pickle_item(view, 1), *count = pickle_item(view, 2);
    size_t skip, bytes;
    if (!view || view->kind == PICKLE_NONE) return 0;
    if (!offset || !count || offset->kind != PICKLE_INT || count->kind != PICKLE_INT ||
        offset->i < 0 || count->i < 0 || mem_mul_overflows((size_t)offset->i, size, &skip) ||
        mem_mul_overflows((size_t)count->i, size, &bytes) || skip > s->bytes ||
        bytes > s->bytes - skip)
        return err_set(ERR_INPUT, "a view outside its storage");
    *s = (struct storage){s->data + skip, bytes};
    return 0;
}

static int find_storage(struct storage *out, const struct walk *w, const struct pickle *v,
                        enum weight_dtype *type, int *untyped)
{
    const struct pickle *id = v && v->kind == PICKLE_PERSISTENT ? v->id : NULL;
    const struct pickle *count = pickle_item(id, 4);
    char key[256];
    uint64_t at;
    size_t bytes;
    int rc = storage_key(id, key, sizeof key);
    if (!rc) rc = storage_type(id, type, untyped);
    if (rc) return rc;
    if (w->zip)
        rc = find_in_zip(out, w, key);
    else if (map_get(&w->keys, key, &at))
        *out = w->storages[at];
    else
        rc = err_set(ERR_INPUT, "storage %s is missing", key);
    if (rc) return rc;
    if (!count || count->kind != PICKLE_INT || count->i < 0 ||
        mem_mul_overflows((size_t)count->i, weight_size(*type), &bytes) || bytes > out->bytes)
        return err_set(ERR_INPUT, "storage %s is smaller than it is said to be", key);
    return w->zip ? 0 : cut_view(out, pickle_item(id, 5), weight_size(*type));
}

/* ---- tensors ---- */

static int read_ints(int64_t *out, int *rank, const struct pickle *v)
{
    /* torch.Size(...) is a call around the tuple. */
    if (v && v->kind == PICKLE_OBJECT && pickle_is(v->object->callee, "torch", "Size"))
        v = pickle_item(v->object->args, 0);
    if (!v || (v->kind != PICKLE_TUPLE && v->kind != PICKLE_LIST)) return 0;
    if (v->items.count > WEIGHT_RANK) {
        *rank = WEIGHT_RANK + 1;
        return 1;
    }
    for (size_t i = 0; i < v->items.count; i++) {
        const struct pickle *n = v->items.list[i];
        if (n->kind != PICKLE_INT || n->i < 0) return 0;
        out[i] = n->i;
    }
    *rank = (int)v->items.count;
    return 1;
}

static int dtype_of(const struct pickle *global, enum weight_dtype *type)
{
    for (size_t i = 0; i < TYPES; i++)
        if (pickle_is(global, "torch", types[i].dtype)) {
            *type = types[i].type;
            return 1;
        }
    return 0;
}

/* args of _rebuild_tensor*: storage, offset, size, stride[, requires_grad, hooks[, dtype]]. */
static int add_tensor(struct walk *w, const struct pickle *args, int v3)
{
    struct weight t = {.name = w->path.len ? w->path.p : "tensor"};
    const struct pickle *offset = pickle_item(args, 1);
    struct storage s = {0};
    int untyped, strides;
    size_t skip;
    int rc = find_storage(&s, w, pickle_item(args, 0), &t.dtype, &untyped);
    if (rc) return rc;
    if (v3 && !dtype_of(pickle_item(args, 6), &t.dtype)) {
        stub(w, "tensor of a number type that is not read");
        return 0;
    }
    if (untyped && !v3) return err_set(ERR_INPUT, "a tensor without a number type");
    if (!offset || offset->kind != PICKLE_INT || offset->i < 0 ||
        !read_ints(t.dim, &t.rank, pickle_item(args, 2)) ||
        !read_ints(t.stride, &strides, pickle_item(args, 3)) || strides != t.rank)
        return err_set(ERR_INPUT, "a tensor without shape and strides");
    if (t.rank > WEIGHT_RANK) {
        stub(w, "tensor of more than 8 dimensions");
        return 0;
    }
    if (mem_mul_overflows((size_t)offset->i, weight_size(t.dtype), &skip) || skip > s.bytes)
        return err_set(ERR_INPUT, "a tensor that begins past its storage");
    t.data = s.data + skip;
    return weight_add(w->out, &t, strlen(t.name), s.bytes - skip, 0);
}

/* 1 and its parts when v is a call of torch's that gives a tensor; wrappers are taken off. */
static int tensor_call(const struct pickle *v, const struct pickle **callee,
                       const struct pickle **args)
{
    for (int layers = 0; layers < 8 && v && v->kind == PICKLE_OBJECT; layers++) {
        const struct pickle *c = v->object->callee, *a = v->object->args;
        if (pickle_is(c, "torch._utils", "_rebuild_parameter") ||
            pickle_is(c, "torch._utils", "_rebuild_parameter_with_state") ||
            pickle_is(c, "torch.nn.parameter", "Parameter")) {
            v = pickle_item(a, 0);
            continue;
        }
        if (pickle_is(c, "torch._tensor", "_rebuild_from_type_v2") ||
            pickle_is(c, "torch.tensor", "_rebuild_from_type") ||
            pickle_is(c, "torch._tensor", "_rebuild_from_type")) {
            c = pickle_item(a, 0);
            a = pickle_item(a, 2);
        }
        if (!pickle_is(c, "torch._utils", "_rebuild_tensor_v2") &&
            !pickle_is(c, "torch._utils", "_rebuild_tensor_v3") &&
            !pickle_is(c, "torch._utils", "_rebuild_tensor"))
            return 0;
        *callee = c;
        *args = a;
        return 1;
    }
    return 0;
}

/* ---- the tree ---- */

static int walk(struct walk *w, const struct pickle *v, int depth);

/* Walk v under path.key, then take the key off again. */
static int walk_named(struct walk *w, const char *key, size_t n, const struct pickle *v, int depth)
{
    size_t before = w->path.len;
    if (before + n + 1 > WEIGHT_NAME_MAX)
        return err_set(ERR_INPUT, "a name of more than %d bytes", WEIGHT_NAME_MAX);
    if (memchr(key, 0, n)) return err_set(ERR_INPUT, "a name with a NUL");
    if (before) str_putc(&w->path, '.');
    str_add(&w->path, key, n);
    int rc = walk(w, v, depth + 1);
    w->path.len = before;
    if (w->path.p) w->path.p[before] = 0;
    return rc;
}

static int walk_pairs(struct walk *w, const struct pickle_items *pairs, int depth)
{
    int rc = 0;
    for (size_t i = 0; i + 1 < pairs->count && !rc; i += 2) {
        const struct pickle *key = pairs->list[i], *value = pairs->list[i + 1];
        char number[32];
        if (key->kind == PICKLE_STRING)
            rc = walk_named(w, key->text.p, key->text.n, value, depth);
        else if (key->kind == PICKLE_INT) {
            int n = snprintf(number, sizeof number, "%lld", (long long)key->i);
            rc = walk_named(w, number, (size_t)n, value, depth);
        } else
            stub(w, "an entry whose key is neither text nor a number");
    }
    return rc;
}

static int walk_list(struct walk *w, const struct pickle_items *items, int depth)
{
    char number[32];
    int rc = 0;
    for (size_t i = 0; i < items->count && !rc; i++) {
        int n = snprintf(number, sizeof number, "%zu", i);
        rc = walk_named(w, number, (size_t)n, items->list[i], depth);
    }
    return rc;
}

static void note_float(struct walk *w, double f)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) { /* the shortest that reads back */
        snprintf(text, sizeof text, "%.*g", digits, f);
        if (strtod(text, NULL) == f) break;
    }
    weight_note(w->out, &w->out->meta, w->path.p, text);
}

static void note_scalar(struct walk *w, const struct pickle *v)
{
    char text[META_TEXT_MAX + 1];
    if (w->out->meta.count >= META_MAX || !w->path.len) return;
    if (v->kind == PICKLE_FLOAT) {
        note_float(w, v->f);
        return;
    }
    if (v->kind == PICKLE_BOOL)
        snprintf(text, sizeof text, "%s", v->i ? "true" : "false");
    else if (v->kind == PICKLE_INT)
        snprintf(text, sizeof text, "%lld", (long long)v->i);
    else if (v->text.n <= META_TEXT_MAX && !memchr(v->text.p, 0, v->text.n)) {
        memcpy(text, v->text.p, v->text.n);
        text[v->text.n] = 0;
    } else
        return;
    weight_note(w->out, &w->out->meta, w->path.p, text);
}

static void stub_name(struct walk *w, const char *before, const struct pickle *global)
{
    char text[256];
    if (global->kind != PICKLE_GLOBAL) {
        stub(w, "the result of a call");
        return;
    }
    int m = global->name[0].n < 100 ? (int)global->name[0].n : 100;
    int n = global->name[1].n < 100 ? (int)global->name[1].n : 100;
    snprintf(text, sizeof text, "%s%.*s.%.*s", before, m, global->name[0].p, n, global->name[1].p);
    stub(w, text);
}

static int starts(struct pickle_text t, const char *head)
{
    size_t n = strlen(head);
    return t.n >= n && !memcmp(t.p, head, n);
}

/* Calls that carry nothing a model needs, and are no cause for alarm. */
static int is_harmless(const struct pickle *callee)
{
    static const char *const known[][2] = {
        {"torch", "Size"},       {"torch", "device"},       {"_codecs", "encode"},
        {"builtins", "set"},     {"builtins", "frozenset"}, {"builtins", "bytearray"},
        {"builtins", "complex"}, {"builtins", "slice"},     {"__builtin__", "set"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (pickle_is(callee, known[i][0], known[i][1])) return 1;
    return 0;
}

static int walk_object(struct walk *w, const struct pickle *v, int depth)
{
    const struct pickle *callee = v->object->callee, *call, *args;
    if (tensor_call(v, &call, &args)) {
        int rc = add_tensor(w, args, pickle_is(call, "torch._utils", "_rebuild_tensor_v3"));
        return rc ? err_wrap(rc, "%s", w->path.len ? w->path.p : "tensor") : 0;
    }
    if (pickle_pairs(v)) return walk_pairs(w, pickle_pairs(v), depth);
    if (w->script && callee->kind == PICKLE_GLOBAL) {
        const struct pickle_items *state = pickle_pairs(v->object->state);
        if (starts(callee->name[0], "__torch__") && state) return walk_pairs(w, state, depth);
        if (starts(callee->name[0], "torch.jit._pickle")) {
            const struct pickle *list = pickle_item(v->object->args, 0);
            return list ? walk(w, list, depth + 1) : 0;
        }
    }
    if (!is_harmless(callee)) stub_name(w, "", callee);
    return 0;
}

static int walk(struct walk *w, const struct pickle *v, int depth)
{
    enum weight_dtype type;
    if (depth > PICKLE_NEST_MAX)
        return err_set(ERR_INPUT, "values nested deeper than %d", PICKLE_NEST_MAX);
    if (++w->steps > STEPS_MAX) return err_set(ERR_INPUT, "more than %d values", STEPS_MAX);
    switch (v->kind) {
    case PICKLE_BOOL:
    case PICKLE_INT:
    case PICKLE_FLOAT:
    case PICKLE_STRING: note_scalar(w, v); return 0;
    case PICKLE_TUPLE:
    case PICKLE_LIST: return walk_list(w, &v->items, depth);
    case PICKLE_DICT: return walk_pairs(w, &v->items, depth);
    case PICKLE_OBJECT: return walk_object(w, v, depth);
    case PICKLE_GLOBAL:
        if (!dtype_of(v, &type)) stub_name(w, "", v);
        return 0;
    case PICKLE_PERSISTENT: stub(w, "a storage without a tensor"); return 0;
    case PICKLE_NONE:
    case PICKLE_BIG:
    case PICKLE_BYTES:
    case PICKLE_SET: return 0;
    }
    return 0;
}

static void walk_release(struct walk *w)
{
    arena_release(&w->arena);
    map_release(&w->keys);
    str_release(&w->path);
    free(w->storages);
}

/* ---- zip ---- */

const char *torch_root(const struct zip *z, int *script, struct arena *a)
{
    static const char tail[] = "/data.pkl";
    for (size_t i = 0; i < z->count; i++) {
        const char *name = z->list[i].name;
        size_t n = strlen(name), t = sizeof tail - 1;
        if (n <= t || strcmp(name + n - t, tail) || strchr(name, '/') != name + n - t) continue;
        char *root = arena_strndup(a, name, n - t);
        *script = zip_find(z, arena_printf(a, "%s/constants.pkl", root)) != NULL;
        return root;
    }
    return NULL;
}

static int check_byteorder(const struct zip *z, const char *root)
{
    char name[1024];
    snprintf(name, sizeof name, "%s/byteorder", root);
    const struct zip_entry *e = zip_find(z, name);
    if (!e || (e->size == 6 && e->method == ZIP_STORED && !memcmp(e->data, "little", 6))) return 0;
    return err_set(ERR_INPUT, "big-endian numbers; save it again on a little-endian machine");
}

int torch_decode_zip(struct weight_list *l, const struct zip *z, const char *root, int script)
{
    struct walk w = {.out = l, .zip = z, .root = root, .script = script};
    struct pickle *tree;
    char name[1024];
    size_t used;
    int rc = check_byteorder(z, root);
    if (rc) return rc;
    snprintf(name, sizeof name, "%s/data.pkl", root);
    const struct zip_entry *e = zip_find(z, name);
    if (!e || e->method != ZIP_STORED) return err_set(ERR_INPUT, "data.pkl is not stored plainly");
    rc = pickle_decode(&tree, NULL, &used, &w.arena, e->data, e->size);
    if (!rc && used != e->size) rc = err_set(ERR_INPUT, "data.pkl goes on after its end");
    if (!rc) rc = walk(&w, tree, 0);
    walk_release(&w);
    return rc;
}

/* ---- legacy ---- */

struct stream {
    const unsigned char *p;
    size_t n;
};

static int next_pickle(struct pickle **out, struct pickle_items *ids, struct arena *a,
                       struct stream *s)
{
    size_t used;
    int rc = pickle_decode(out, ids, &used, a, s->p, s->n);
    if (!rc) *s = (struct stream){s->p + used, s->n - used};
    return rc;
}

static int is_magic(const struct pickle *v)
{
    static const unsigned char magic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9,
                                          0x20, 0x6a, 0xa8, 0x50, 0x19};
    return v && v->kind == PICKLE_BIG && v->text.n == sizeof magic &&
           !memcmp(v->text.p, magic, sizeof magic);
}

int torch_is_legacy(const void *p, size_t n)
{
    struct arena a = {0};
    struct pickle *v = NULL;
    const unsigned char *b = p;
    int yes = n > 16 && b[0] == 0x80 && !pickle_decode(&v, NULL, NULL, &a, p, n < 64 ? n : 64) &&
              is_magic(v);
    arena_release(&a);
    return yes;
}

/* Bytes of one element, per key, as the persistent ids of the pickle tell. */
static int element_sizes(struct map *sizes, const struct pickle_items *ids)
{
    for (size_t i = 0; i < ids->count; i++) {
        const struct pickle *id = ids->list[i]->id;
        enum weight_dtype type;
        int untyped;
        char key[256];
        if (!pickle_text_is(pickle_item(id, 0), "storage")) continue; /* ("module", ...) */
        int rc = storage_key(id, key, sizeof key);
        if (!rc) rc = storage_type(id, &type, &untyped);
        if (rc) return rc;
        uint64_t *size = map_at(sizes, key, strlen(key), 1);
        if (*size && *size != weight_size(type))
            return err_set(ERR_INPUT, "storage %s has two types", key);
        *size = weight_size(type);
    }
    return 0;
}

/* One storage: its element count in eight bytes, then the elements. */
static int read_storage(struct storage *out, uint64_t size, struct stream *s)
{
    uint64_t count = 0;
    size_t bytes;
    if (s->n < 8) return err_set(ERR_INPUT, "the file is cut");
    for (int i = 7; i >= 0; i--) count = count << 8 | s->p[i];
    if (mem_mul_overflows(count, size, &bytes) || bytes > s->n - 8)
        return err_set(ERR_INPUT, "the file is cut");
    *out = (struct storage){s->p + 8, bytes};
    *s = (struct stream){s->p + 8 + bytes, s->n - 8 - bytes};
    return 0;
}

static int read_storages(struct walk *w, const struct pickle *keys, const struct pickle_items *ids,
                         struct stream *s)
{
    struct map sizes = {0};
    int rc = element_sizes(&sizes, ids);
    if (!rc && keys->kind != PICKLE_LIST) rc = err_set(ERR_INPUT, "no list of storages");
    if (!rc) w->storages = mem_alloc(mem_mul(keys->items.count + 1, sizeof *w->storages));
    for (size_t i = 0; !rc && i < keys->items.count; i++) {
        const struct pickle *k = keys->items.list[i];
        uint64_t *size = k->kind == PICKLE_STRING ? map_at(&sizes, k->text.p, k->text.n, 0) : NULL;
        if (!size)
            rc = err_set(ERR_INPUT, "a storage that no tensor uses");
        else if (map_at(&w->keys, k->text.p, k->text.n, 0))
            rc = err_set(ERR_INPUT, "two storages have one key");
        else {
            *map_at(&w->keys, k->text.p, k->text.n, 1) = i;
            rc = read_storage(&w->storages[i], *size, s);
        }
    }
    map_release(&sizes);
    return rc;
}

static int read_legacy(struct walk *w, struct stream s)
{
    struct pickle *magic, *version, *system, *tree, *keys;
    struct pickle_items ids = {0};
    int rc = next_pickle(&magic, NULL, &w->arena, &s);
    if (!rc) rc = next_pickle(&version, NULL, &w->arena, &s);
    if (!rc) rc = next_pickle(&system, NULL, &w->arena, &s);
    if (rc) return rc;
    if (!is_magic(magic) || version->kind != PICKLE_INT || version->i != LEGACY_PROTOCOL)
        return err_set(ERR_INPUT, "not the torch protocol of 2017 to 2020");
    const struct pickle *little = pickle_get(system, "little_endian");
    if (!little || little->kind != PICKLE_BOOL || !little->i)
        return err_set(ERR_INPUT, "big-endian numbers; save it again on a little-endian machine");
    rc = next_pickle(&tree, &ids, &w->arena, &s);
    if (!rc) rc = next_pickle(&keys, NULL, &w->arena, &s);
    if (!rc) rc = read_storages(w, keys, &ids, &s);
    if (!rc && s.n) rc = err_set(ERR_INPUT, "%zu bytes after the last storage", s.n);
    return rc ? rc : walk(w, tree, 0);
}

int torch_decode_legacy(struct weight_list *l, const void *p, size_t n)
{
    struct walk w = {.out = l};
    int rc = read_legacy(&w, (struct stream){p, n});
    walk_release(&w);
    return rc;
}
