/* weight.c - the checks every tensor passes, whichever file it came from: a usable name, a shape
 * that does not overflow, and all elements inside the bytes that hold them. */
#include "format/weight.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static const struct {
    const char *name;
    size_t size;
} types[WEIGHT_DTYPES] = {
    [WEIGHT_F32] = {"f32", 4}, [WEIGHT_F16] = {"f16", 2},         [WEIGHT_BF16] = {"bf16", 2},
    [WEIGHT_F64] = {"f64", 8}, [WEIGHT_F8_E4M3] = {"f8_e4m3", 1}, [WEIGHT_F8_E5M2] = {"f8_e5m2", 1},
    [WEIGHT_I64] = {"i64", 8}, [WEIGHT_I32] = {"i32", 4},         [WEIGHT_I16] = {"i16", 2},
    [WEIGHT_I8] = {"i8", 1},   [WEIGHT_U64] = {"u64", 8},         [WEIGHT_U32] = {"u32", 4},
    [WEIGHT_U16] = {"u16", 2}, [WEIGHT_U8] = {"u8", 1},           [WEIGHT_BOOL] = {"bool", 1},
    [WEIGHT_C64] = {"c64", 8},
};

size_t weight_size(enum weight_dtype t)
{
    return types[t].size;
}

const char *weight_type(enum weight_dtype t)
{
    return types[t].name;
}

int weight_is_dense(const struct weight *w)
{
    int64_t want = 1;
    for (int i = w->rank - 1; i >= 0; i--) {
        if (w->dim[i] != 1 && w->stride[i] != want) return 0;
        want *= w->dim[i];
    }
    return 1;
}

static int name_is_good(const char *name, size_t n)
{
    const unsigned char *p = (const unsigned char *)name;
    for (size_t at = 0; at < n;) {
        int32_t c;
        utf8proc_ssize_t k = utf8proc_iterate(p + at, (utf8proc_ssize_t)(n - at), &c);
        if (k <= 0 || c == 0) return 0;
        at += (size_t)k;
    }
    return n <= WEIGHT_NAME_MAX;
}

static int count_elements(struct weight *w, int dense)
{
    int64_t count = 1;
    if (w->rank > WEIGHT_RANK)
        return err_set(ERR_INPUT, "%d dimensions (limit %d)", w->rank, WEIGHT_RANK);
    for (int i = w->rank - 1; i >= 0; i--) {
        if (dense) w->stride[i] = count;
        if (w->dim[i] < 0 || __builtin_mul_overflow(count, w->dim[i], &count))
            return err_set(ERR_INPUT, "its shape overflows");
    }
    w->count = count;
    return 0;
}

/* Bytes from the first element to the end of the last one. */
static int span(size_t *out, const struct weight *w)
{
    size_t last = 0, step;
    *out = 0;
    if (!w->count) return 0;
    for (int i = 0; i < w->rank; i++)
        if (w->stride[i] < 0 ||
            mem_mul_overflows((size_t)w->dim[i] - 1, (size_t)w->stride[i], &step) ||
            mem_add_overflows(last, step, &last))
            return err_set(ERR_INPUT, "its strides overflow");
    if (mem_add_overflows(last, 1, &last) || mem_mul_overflows(last, types[w->dtype].size, out))
        return err_set(ERR_INPUT, "its strides overflow");
    return 0;
}

int weight_add(struct weight_list *l, const struct weight *w, size_t n, size_t room, int dense)
{
    struct weight copy = *w;
    size_t need;
    if (!name_is_good(w->name, n))
        return err_set(ERR_INPUT, "tensor %zu has a name that is too long or no text", l->count);
    int rc = count_elements(&copy, dense);
    if (!rc) rc = span(&need, &copy);
    if (!rc && need > room)
        rc = err_set(ERR_INPUT, "needs %zu bytes of a storage that has %zu", need, room);
    if (!rc && l->count == WEIGHT_COUNT_MAX)
        rc = err_set(ERR_INPUT, "more than %d tensors", WEIGHT_COUNT_MAX);
    if (rc) return err_wrap(rc, "tensor %.*s", (int)n, w->name);
    uint64_t *at = map_at(&l->index, w->name, n, 1);
    if (*at) return err_set(ERR_INPUT, "two tensors are named %.*s", (int)n, w->name);
    vec_push(l->list, l->count, l->cap);
    copy.name = arena_strndup(&l->arena, w->name, n);
    l->list[l->count++] = copy;
    *at = l->count;
    return 0;
}

const struct weight *weight_find(const struct weight_list *l, const char *name)
{
    uint64_t at;
    return map_get(&l->index, name, &at) && at ? &l->list[at - 1] : NULL;
}

void weight_note(struct weight_list *l, struct weight_notes *to, const char *key, const char *text)
{
    vec_push(to->list, to->count, to->cap);
    to->list[to->count++] = (struct weight_note){
        arena_strndup(&l->arena, key, strlen(key)),
        arena_strndup(&l->arena, text, strlen(text)),
    };
}

void weight_list_release(struct weight_list *l)
{
    free(l->list);
    free(l->meta.list);
    free(l->stubs.list);
    map_release(&l->index);
    arena_release(&l->arena);
    memset(l, 0, sizeof *l);
}
