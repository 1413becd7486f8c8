/* cluster_body.h - the kernels of cluster.c, written once over `struct vec` and `struct wide`;
 * included like kernels_body.h, after a wide header. */
#include "tensor/cpu/vec_math.h"

#include <math.h>

static void widen_row(float *y, const uint16_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += VEC)
        vec_store_n(y + i, vec_load_half(x + i, part(i, n)), part(i, n));
}

/* Sixteen columns of one row. A value that is no number changes nothing but `next`, which may
 * only be too good. */
struct lanes {
    struct vec value, next, chunk;
};

static inline struct lanes best_of(struct lanes s, struct vec v, struct vec chunk)
{
    s.next = vec_max(vec_min(v, s.value), s.next);
    s.chunk = vec_if_less(s.value, v, chunk, s.chunk);
    s.value = vec_max(v, s.value);
    return s;
}

static inline __attribute__((always_inline)) void best_rows(struct best *b, const float *tile,
                                                            const float *less, int64_t col,
                                                            int rows, const int cols)
{
    const struct vec never = vec_set(-INFINITY);
    for (int r = 0; r < rows; r++, b++, tile += PANEL) {
        struct lanes s = {vec_load(b->value), vec_load(b->next), vec_load(b->chunk)};
        for (int c = 0; c < cols; c += VEC) {
            int n = part(c, cols);
            struct vec v = vec_load(tile + c);
            if (less) v = vec_sub(v, vec_load_n(less + col + c, n));
            if (n < VEC) v = vec_fill_n(v, n, never);
            s = best_of(s, v, vec_set((float)((col + c) / VEC)));
        }
        vec_store(b->value, s.value);
        vec_store(b->next, s.next);
        vec_store(b->chunk, s.chunk);
    }
}

static void best_tile(struct best *b, const float *tile, const float *less, int64_t col, int rows,
                      int cols)
{
    if (cols == PANEL)
        best_rows(b, tile, less, col, rows, PANEL);
    else
        best_rows(b, tile, less, col, rows, cols);
}

static void distance_row(double *square, double *dot, const float *x, const float *c, int64_t n)
{
    struct wide s = wide_zero(), p = wide_zero();
    for (int64_t i = 0; i < n; i += VEC) {
        struct vec a = vec_load_n(x + i, part(i, n)), b = vec_load_n(c + i, part(i, n));
        s = wide_add_square(s, a, b);
        p = wide_add_product(p, a, b);
    }
    *square = wide_sum(s);
    *dot = wide_sum(p);
}

static void add_fixed_row(int64_t *sums, const float *x, int64_t n, double scale)
{
    int64_t whole = n - n % VEC;
    for (int64_t i = 0; i < whole; i += VEC) vec_add_fixed(sums + i, vec_load(x + i), scale);
    for (int64_t i = whole; i < n; i++) sums[i] += fixed_from(x[i], scale);
}
