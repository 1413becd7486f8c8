/* rows.c - from rows anywhere to a block of f32 rows on a device. */
#include "algo/rows.h"
#include "base/err.h"
#include "base/mem.h"
#include "tensor/ops.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int matrix_read(void *state, struct tensor *out, int64_t first, int64_t most)
{
    *out = tensor_cut_rows(state, first, most);
    return 0;
}

struct rows rows_of(struct tensor *matrix)
{
    assert(matrix->rank == 2);
    return (struct rows){matrix->dim[0], matrix->dim[1], matrix_read, matrix};
}

enum row_state row_state(float norm, int normalize)
{
    if (!isfinite(norm)) return ROW_NOT_FINITE;
    return normalize && norm == 0 ? ROW_ZERO : ROW_GOOD;
}

int64_t block_size(int64_t dim)
{
    int64_t rows = ((int64_t)16 << 20) / ((dim > 0 ? dim : 1) * (int64_t)sizeof(float));
    return rows < 256 ? 256 : rows > 1 << 16 ? 1 << 16 : rows;
}

int block_init(struct block *b, struct device *d, int64_t most, int64_t dim)
{
    int64_t ld = tensor_pitch(dim);
    *b = (struct block){.device = d, .most = most, .dim = dim};
    b->norm = mem_alloc(mem_mul((size_t)most, sizeof *b->norm));
    b->x = tensor_2d(NULL, F32, 0, dim);
    b->x.ld = ld;
    int rc = op_alloc(d, &b->x.data, mem_mul((size_t)most, (size_t)ld * sizeof(float)));
    if (!rc) rc = op_alloc(d, (void **)&b->norm_dev, (size_t)most * sizeof *b->norm);
    return rc;
}

void block_release(struct block *b)
{
    if (!b->device) return;
    op_free(b->device, b->x.data);
    op_free(b->device, b->norm_dev);
    op_free(b->device, b->stage);
    free(b->norm);
    memset(b, 0, sizeof *b);
}

void block_reset(struct block *b)
{
    b->x.dim[0] = 0;
}

int64_t block_room(const struct block *b)
{
    return b->most - b->x.dim[0];
}

/* A device with memory of its own gets a copy of the rows first. */
static int to_device(struct block *b, struct tensor *view)
{
    if (b->device->host) return 0;
    size_t bytes = (size_t)(view->dim[0] * view->ld) * dtype_size(view->type);
    bytes -= (size_t)(view->ld - view->dim[1]) * dtype_size(view->type);
    if (b->stage_bytes < bytes) {
        op_free(b->device, b->stage);
        b->stage = NULL;
        b->stage_bytes = 0;
        int rc = op_alloc(b->device, &b->stage, bytes);
        if (rc) return rc;
        b->stage_bytes = bytes;
    }
    int rc = op_put(b->device, b->stage, view->data, bytes);
    view->data = b->stage;
    return rc;
}

static int add_view(struct block *b, struct tensor *view, int normalize)
{
    int64_t at = b->x.dim[0], n = view->dim[0];
    int rc = to_device(b, view);
    if (rc) return rc;
    b->x.dim[0] += n;
    struct l2norm a = {.y = tensor_cut_rows(&b->x, at, n),
                       .x = *view,
                       .norm = tensor_1d(b->norm_dev + at, F32, n),
                       .keep = !normalize};
    return op_l2norm(b->device, &a);
}

int block_add(struct block *b, struct rows *r, int64_t first, int64_t n, int normalize)
{
    assert(n <= block_room(b) && r->dim == b->dim);
    for (int64_t done = 0; done < n;) {
        struct tensor view;
        int rc = r->read(r->state, &view, first + done, n - done);
        if (rc) return rc;
        assert(view.rank == 2 && view.dim[0] > 0 && view.dim[0] <= n - done);
        assert(view.dim[1] == b->dim);
        done += view.dim[0];
        rc = add_view(b, &view, normalize);
        if (rc) return rc;
    }
    return 0;
}

int block_finish(struct block *b)
{
    return op_get(b->device, b->norm, b->norm_dev, (size_t)b->x.dim[0] * sizeof *b->norm);
}
