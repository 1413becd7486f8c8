/* weight.h - one tensor of a model file, and the list the readers fill. */
#ifndef FORMAT_WEIGHT_H
#define FORMAT_WEIGHT_H

#include "base/arena.h"
#include "base/map.h"

enum weight_dtype {
    WEIGHT_F32,
    WEIGHT_F16,
    WEIGHT_BF16,
    WEIGHT_F64,
    WEIGHT_F8_E4M3, /* the "fn" kind: no infinity */
    WEIGHT_F8_E5M2,
    WEIGHT_I64,
    WEIGHT_I32,
    WEIGHT_I16,
    WEIGHT_I8,
    WEIGHT_U64,
    WEIGHT_U32,
    WEIGHT_U16,
    WEIGHT_U8,
    WEIGHT_BOOL,
    WEIGHT_C64, /* two f32; cannot be read as f32 */
    WEIGHT_DTYPES
};
enum { WEIGHT_RANK = 8, WEIGHT_NAME_MAX = 1024, WEIGHT_COUNT_MAX = 1 << 20 };

/* Element (i, j, ...) stands at data + size * (i * stride[0] + j * stride[1] + ...). data is
 * little-endian, perhaps unaligned, and borrowed from the file; strides are never negative. */
struct weight {
    const char *name;
    enum weight_dtype dtype;
    int rank; /* 0 is a scalar */
    int64_t dim[WEIGHT_RANK], stride[WEIGHT_RANK];
    int64_t count; /* product of dim */
    const void *data;
};

size_t weight_size(enum weight_dtype t);      /* bytes of one number */
const char *weight_type(enum weight_dtype t); /* "f32" */
int weight_is_dense(const struct weight *w);  /* C order without gaps */

/* ---- for the readers ---- */

struct weight_note {
    const char *key, *text;
};
struct weight_notes {
    struct weight_note *list;
    size_t count, cap;
};

/* Zeroed is empty. Names and texts are copied into the arena. */
struct weight_list {
    struct weight *list;
    size_t count, cap;
    struct map index; /* name -> 1 + place in list */
    struct weight_notes meta, stubs;
    struct arena arena;
};

/* Append a copy; w->name is n bytes, not NUL-terminated. Fills count, and strides when dense is
 * set. ERR_INPUT: a bad or repeated name, too many tensors, an overflowing shape, or elements
 * outside the room bytes that start at w->data. */
int weight_add(struct weight_list *l, const struct weight *w, size_t n, size_t room, int dense);
const struct weight *weight_find(const struct weight_list *l, const char *name); /* or NULL */
void weight_note(struct weight_list *l, struct weight_notes *to, const char *key, const char *text);
void weight_list_release(struct weight_list *l);

#endif
