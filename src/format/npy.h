/* npy.h - numpy's array file: a short text header, then the numbers in C order.
 * Written byte for byte as np.save writes it (format 1.0, 64-byte aligned). numpy leaves room in
 * the header for the first dimension to grow, so rows are streamed and counted afterwards. */
#ifndef FORMAT_NPY_H
#define FORMAT_NPY_H

#include "base/platform.h"
#include "base/str.h"
#include "io/sink.h"

enum { NPY_RANK = 8, NPY_HEADER_MAX = 64 << 10 };

/* An array in memory that belongs to someone else. data may be unaligned. */
struct npy {
    char descr[4]; /* "<f4": order, kind (f i u b c), bytes; one byte has order '|' */
    size_t item;   /* bytes of one number */
    int rank;      /* 0 is a scalar */
    int64_t dim[NPY_RANK];
    int64_t count;    /* product of dim */
    const void *data; /* [dim...] C order */
};

/* A whole .npy file of version 1, 2 or 3 at p. ERR_INPUT: not one, a dtype of objects, text or
 * records, big-endian, Fortran order, header over 64 KiB, or a size other than the header says. */
int npy_decode(struct npy *out, const void *p, size_t n);

/* The header that stands before an array of that dtype and shape. ERR_USAGE: no such dtype. */
int npy_encode_header(struct str *out, const char *descr, const int64_t *dim, int rank);

/* Rows [?,cols] of unknown count, through a sink that stays the caller's. */
struct npy_writer {
    struct sink *sink;
    char descr[4];
    int64_t cols; /* < 0: the array is one-dimensional */
    size_t row;   /* bytes of one row */
    int64_t rows;
    uint64_t at; /* where in the sink the header stands */
};

/* Writes a header for no rows. descr: "<f2" "<f4" "<f8" "<i4" "<i8" "|u1" and the like. */
int npy_writer_init(struct npy_writer *w, struct sink *sink, const char *descr, int64_t cols);
int npy_writer_add(struct npy_writer *w, const void *rows, int64_t count);
int npy_writer_finish(struct npy_writer *w); /* the header now tells the rows; commit the sink */

#endif
