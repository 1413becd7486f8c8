/* thrift.h - Thrift's compact protocol, as far as Parquet's headers need it. */
#ifndef FORMAT_PARQUET_THRIFT_H
#define FORMAT_PARQUET_THRIFT_H

#include "base/str.h"

enum thrift_type {
    THRIFT_STOP,
    THRIFT_TRUE,
    THRIFT_FALSE,
    THRIFT_BYTE,
    THRIFT_I16,
    THRIFT_I32,
    THRIFT_I64,
    THRIFT_DOUBLE,
    THRIFT_BINARY,
    THRIFT_LIST,
    THRIFT_SET,
    THRIFT_MAP,
    THRIFT_STRUCT
};

/* ---- writing: fields of one struct in ascending id; nested structs between begin and end ---- */
#define THRIFT_NEST 12
struct thrift_out {
    struct str *out;
    int last[THRIFT_NEST]; /* last field id of each open struct */
    int depth;
};
void thrift_varint(struct str *out, uint64_t v);
void thrift_int(struct thrift_out *t, int id, enum thrift_type type, int64_t v); /* i16 i32 i64 */
void thrift_bool(struct thrift_out *t, int id, int v);
void thrift_bytes(struct thrift_out *t, int id, const void *p, size_t n);
void thrift_begin(struct thrift_out *t, int id); /* a struct field */
void thrift_list(struct thrift_out *t, int id, enum thrift_type element, size_t n);
void thrift_begin_element(struct thrift_out *t); /* a struct in a list, or the outermost one */
void thrift_end(struct thrift_out *t);
void thrift_int_element(struct thrift_out *t, int64_t v);
void thrift_bytes_element(struct thrift_out *t, const void *p, size_t n);

/* ---- reading: nothing is trusted; the first mistake sticks and all later reads give zero ---- */
struct thrift_in {
    const unsigned char *p, *end;
    const char *bad; /* what is wrong, or NULL */
    int depth;
};
struct thrift_field {
    int id;
    enum thrift_type type;
};

/* Structs are walked so, every field either read by its type or skipped:
 *     thrift_enter(t);
 *     for (struct thrift_field f = {0}; thrift_next(t, &f);)
 *         if (f.id == 1) x = thrift_get_int(t, f); else thrift_skip(t, f.type); */
void thrift_enter(struct thrift_in *t);
int thrift_next(struct thrift_in *t, struct thrift_field *f);       /* 0 at the end, which leaves */
int64_t thrift_get_int(struct thrift_in *t, struct thrift_field f); /* any integer or bool */
size_t thrift_get_bytes(struct thrift_in *t, struct thrift_field f, const char **p);
/* Elements of a list field; never more than bytes are left. A list of another type is an error. */
size_t thrift_get_list(struct thrift_in *t, struct thrift_field f, enum thrift_type element);
void thrift_skip(struct thrift_in *t, enum thrift_type type);

#endif
