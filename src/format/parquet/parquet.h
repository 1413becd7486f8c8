/* parquet.h - tables in Apache Parquet files: written row by row, read batch by batch, both in
 * bounded memory. The bytes written depend on rows, schema and options alone. A writer or a
 * reader belongs to one thread at a time. docs/formats-parquet.md lists every limit. */
#ifndef FORMAT_PARQUET_PARQUET_H
#define FORMAT_PARQUET_PARQUET_H

#include "base/platform.h"
#include "io/sink.h"

enum parquet_type {
    PARQUET_BOOL,
    PARQUET_INT32,
    PARQUET_INT64,
    PARQUET_FLOAT,
    PARQUET_DOUBLE,
    PARQUET_STRING, /* UTF-8 */
    PARQUET_BINARY,
    PARQUET_FLOATS /* list of float */
};
const char *parquet_type_name(enum parquet_type type); /* "bool", "int32", ... "list<float>" */

struct parquet_column {
    const char *name; /* UTF-8, unique, not empty */
    enum parquet_type type;
    int nullable;
};

enum parquet_codec { PARQUET_SNAPPY, PARQUET_ZSTD, PARQUET_NONE };

/* All zero means the defaults. A row group is written when either of its limits is reached;
 * the writer holds about two row groups' bytes at most. */
struct parquet_options {
    enum parquet_codec codec;
    int level;                   /* zstd; default 1 */
    size_t row_group_bytes;      /* of values as held in memory; default 32 MiB */
    size_t row_group_rows;       /* default 1 Mi */
    size_t page_bytes;           /* default 1 MiB */
    int no_dictionary;           /* PLAIN everywhere */
    const char *const *metadata; /* key, value, key, value, ..., NULL; or NULL */
};

/* ---- writing ---- */
struct parquet_writer;

/* Columns, names and metadata are copied; the sink is borrowed, must be empty, and is neither
 * committed nor aborted here. ERR_USAGE: no column, a name that is empty, not UTF-8 or twice. */
int parquet_writer_new(struct parquet_writer **out, struct sink *sink,
                       const struct parquet_column *columns, size_t count,
                       const struct parquet_options *options); /* NULL = defaults */

/* The current row: each column at most once, in any order, by the function of its type. Bytes are
 * copied. In a string, each ill-formed part becomes U+FFFD (as Python's errors="replace" does).
 * A value above PARQUET_VALUE_LIMIT bytes fails the row: parquet_end_row says so. */
#define PARQUET_VALUE_LIMIT ((size_t)256 << 20)
void parquet_put_null(struct parquet_writer *w, size_t col);
void parquet_put_bool(struct parquet_writer *w, size_t col, int value);
void parquet_put_int(struct parquet_writer *w, size_t col, int64_t value); /* int32 and int64 */
void parquet_put_real(struct parquet_writer *w, size_t col, double value); /* float and double */
void parquet_put_string(struct parquet_writer *w, size_t col, const void *p, size_t n);
void parquet_put_binary(struct parquet_writer *w, size_t col, const void *p, size_t n);
void parquet_put_floats(struct parquet_writer *w, size_t col, const float *p, size_t n);

/* Columns not put are null. ERR_USAGE: a column that is not nullable got no value, an int32 does
 * not fit or a value is too long; ERR_OUTPUT from the sink. After an error only free is allowed. */
int parquet_end_row(struct parquet_writer *w);
uint64_t parquet_rows_written(const struct parquet_writer *w);

/* Write what is left and the footer; the caller then commits the sink. Zero rows are fine. */
int parquet_finish(struct parquet_writer *w);
void parquet_writer_free(struct parquet_writer *w); /* NULL is fine */

/* ---- reading ---- */
struct parquet_reader;

/* What a column's values mean beyond their type. Times are counts of their unit, dates days, since
 * 1970-01-01 for dates and timestamps. UNSIGNED: read the int64 as uint64. */
enum parquet_meaning {
    PARQUET_PLAIN,
    PARQUET_UNSIGNED,
    PARQUET_DATE,
    PARQUET_TIME_MS,
    PARQUET_TIME_US,
    PARQUET_TIME_NS,
    PARQUET_STAMP_MS,
    PARQUET_STAMP_US,
    PARQUET_STAMP_NS,
    PARQUET_DECIMAL, /* int64 when scale is 0 and 18 digits suffice, else the nearest double */
    PARQUET_JSON,
    PARQUET_UUID
};

struct parquet_field {
    const char *name; /* fields of structs are joined by '.' */
    enum parquet_type type;
    int nullable;
    enum parquet_meaning meaning;
};

/* Parse the footer of a file that lies at data[0..n) until parquet_close. ERR_INPUT when it is no
 * Parquet file, is damaged or encrypted, or goes beyond a limit. */
int parquet_open(struct parquet_reader **out, const void *data, size_t n);
void parquet_close(struct parquet_reader *r); /* NULL is fine */

uint64_t parquet_rows(const struct parquet_reader *r);
size_t parquet_fields(const struct parquet_reader *r);
const struct parquet_field *parquet_field(const struct parquet_reader *r, size_t col);
int parquet_find(const struct parquet_reader *r, const char *name);            /* column, or -1 */
const char *parquet_metadata(const struct parquet_reader *r, const char *key); /* or NULL */

/* Columns that cannot be read (maps, lists of other things, unknown codecs): "name: why". */
size_t parquet_skipped(const struct parquet_reader *r);
const char *parquet_skipped_text(const struct parquet_reader *r, size_t i);

struct parquet_slice {
    const char *p; /* not NUL-terminated; UTF-8 is not checked */
    size_t n;
};

/* One column of a batch. Of the arrays, only the one of the column's type is there; where valid[i]
 * is 0 the value is zero or empty. A null inside a list is NaN. */
struct parquet_values {
    size_t rows;
    const uint8_t *valid;               /* NULL when no row is null */
    const uint8_t *bools;               /* PARQUET_BOOL */
    const int64_t *ints;                /* PARQUET_INT32, PARQUET_INT64 */
    const double *reals;                /* PARQUET_FLOAT, PARQUET_DOUBLE */
    const struct parquet_slice *slices; /* PARQUET_STRING, PARQUET_BINARY */
    const float *floats; /* PARQUET_FLOATS: row i is floats[starts[i]..starts[i+1]) */
    const size_t *starts;
};

/* Select before reading; unselected columns cost nothing. parquet_rewind goes back to row 0 and
 * keeps the selection. */
void parquet_select(struct parquet_reader *r, size_t col);
void parquet_rewind(struct parquet_reader *r);

/* Next batch of at most max_rows rows (0 = as many as suit) for all selected columns: 0, 1 at the
 * end, or ERR_INPUT, after which only rewind and close make sense. A batch never crosses a row
 * group. What parquet_values gave lives until the next call. */
int parquet_next(struct parquet_reader *r, size_t max_rows, size_t *rows);
/* Step over rows, whole row groups unread: 0, 1 when there are not as many, or as parquet_next. */
int parquet_skip(struct parquet_reader *r, uint64_t rows);
const struct parquet_values *parquet_values(const struct parquet_reader *r, size_t col);

#endif
