/* schema.h - a file's schema tree as a list of leaves, each either readable as one of our types or
 * skipped with a reason. */
#ifndef FORMAT_PARQUET_SCHEMA_H
#define FORMAT_PARQUET_SCHEMA_H

#include "base/arena.h"
#include "format/parquet/parquet.h"
#include "format/parquet/spec.h"
#include "format/parquet/thrift.h"

/* How stored values become ours. */
enum convert {
    CONVERT_BOOL,
    CONVERT_I32,
    CONVERT_U32,
    CONVERT_I64,
    CONVERT_INT96,
    CONVERT_F16,
    CONVERT_F32,
    CONVERT_F64,
    CONVERT_BYTES,
    CONVERT_DECIMAL /* of any physical type */
};

struct leaf {
    struct parquet_field field;
    const char *why; /* it cannot be read, or NULL */
    enum physical physical;
    enum convert convert;
    size_t width; /* bytes of a stored value; 0 for BYTE_ARRAY and BOOLEAN */
    int scale;    /* of a decimal */
    int max_def, max_rep;
    int list_def; /* with max_rep 1: definition level of an empty list; below it is null */
};

struct schema {
    struct arena names;
    struct leaf *leaves;
    size_t count, cap;
};

/* The list of SchemaElement at t: 0, or ERR_INPUT. Released by the caller also on error. */
int schema_parse(struct schema *s, struct thrift_in *t, size_t elements);
void schema_release(struct schema *s);

#endif
