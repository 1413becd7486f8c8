/* footer.h - the footer of a Parquet file: schema, row groups and where their columns lie. */
#ifndef FORMAT_PARQUET_FOOTER_H
#define FORMAT_PARQUET_FOOTER_H

#include "format/parquet/schema.h"

/* Row groups stay in the file's own form until one is read: a hostile footer costs no more
 * memory than its own size. */
struct footer_group {
    const unsigned char *at;
    uint64_t rows;
};

struct footer_chunk {
    const unsigned char *p, *end; /* its pages */
    enum codec codec;
    uint64_t values; /* levels, that is */
    uint64_t raw;    /* bytes before compression, as claimed */
};

struct footer {
    const unsigned char *data; /* the file */
    const unsigned char *p, *end;
    struct schema schema;
    struct footer_group *groups;
    size_t ngroups, groups_cap;
    uint64_t rows;
    char **texts; /* key, value, key, value, ... */
    size_t ntexts, texts_cap;
};

/* Released by the caller also on error. Leaves whose chunks cannot be read get their `why`. */
int footer_parse(struct footer *f, const void *data, size_t n);
int footer_group(struct footer *f, size_t group, struct footer_chunk *out); /* one for each leaf */
void footer_release(struct footer *f);

#endif
