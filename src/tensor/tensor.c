/* tensor.c - views: sizes and cuts, no memory of its own. */
#include "tensor/tensor.h"

#include <assert.h>

size_t dtype_size(enum dtype t)
{
    static const size_t size[] = {[F32] = 4, [F16] = 2, [BF16] = 2, [U8] = 1, [I32] = 4, [I64] = 8};
    return size[t];
}

const char *dtype_name(enum dtype t)
{
    static const char *const name[] = {
        [F32] = "f32", [F16] = "f16", [BF16] = "bf16", [U8] = "u8", [I32] = "i32", [I64] = "i64"};
    return name[t];
}

int64_t tensor_rows(const struct tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i + 1 < t->rank; i++) n *= t->dim[i];
    return n;
}

int64_t tensor_cols(const struct tensor *t)
{
    return t->rank ? t->dim[t->rank - 1] : 1;
}

int64_t tensor_count(const struct tensor *t)
{
    return tensor_rows(t) * tensor_cols(t);
}

int64_t tensor_pitch(int64_t cols)
{
    int64_t lines = (cols + 15) / 16;
    return 16 * (lines % 32 ? lines : lines + 1); /* rows 2 KiB apart would share two sets */
}

static struct tensor view(void *data, enum dtype type, int rank, const int64_t *dim)
{
    struct tensor t = {.data = data, .type = type, .rank = rank, .ld = dim[rank - 1]};
    for (int i = 0; i < rank; i++) t.dim[i] = dim[i];
    return t;
}

struct tensor tensor_1d(void *data, enum dtype type, int64_t a)
{
    return view(data, type, 1, (int64_t[]){a});
}

struct tensor tensor_2d(void *data, enum dtype type, int64_t a, int64_t b)
{
    return view(data, type, 2, (int64_t[]){a, b});
}

struct tensor tensor_3d(void *data, enum dtype type, int64_t a, int64_t b, int64_t c)
{
    return view(data, type, 3, (int64_t[]){a, b, c});
}

struct tensor tensor_4d(void *data, enum dtype type, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return view(data, type, 4, (int64_t[]){a, b, c, d});
}

struct tensor tensor_cut_rows(const struct tensor *t, int64_t first, int64_t count)
{
    assert(t->rank == 2 && first >= 0 && count >= 0 && first + count <= t->dim[0]);
    struct tensor cut = *t;
    cut.data = (char *)t->data + (size_t)(first * t->ld) * dtype_size(t->type);
    cut.dim[0] = count;
    return cut;
}

struct tensor tensor_cut_cols(const struct tensor *t, int64_t first, int64_t count)
{
    assert(t->rank >= 1 && first >= 0 && count >= 0 && first + count <= tensor_cols(t));
    struct tensor cut = *t;
    cut.data = (char *)t->data + (size_t)first * dtype_size(t->type);
    cut.dim[t->rank - 1] = count;
    return cut;
}
