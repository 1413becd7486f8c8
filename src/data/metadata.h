/* metadata.h - the rows of one partition on their way to metadata_N.parquet.
 * A column's type is known only after the last row, so rows are spilled as they come and the
 * table is written in a second pass. Our columns come first (image_path, caption, shard, key,
 * width, height), then the JSON fields in order of first appearance: nested ones joined by '.',
 * caption, metadata and image_path dropped as clip-retrieval does, other names of ours as
 * json.<name>. Types: bool, int64, double (int and float mixed), else string (lists and
 * mixtures as JSON text). */
#ifndef DATA_METADATA_H
#define DATA_METADATA_H

#include "io/place.h"
#include "io/sink.h"

struct metadata;

struct metadata_row {
    const char *image_path, *shard, *key;
    const char *caption; /* NULL: none */
    size_t caption_len;
    int width, height; /* 0 x 0: no picture */
    const char *json;  /* NULL: none */
    size_t json_len;
};

struct metadata *metadata_new(struct place *p);
void metadata_free(struct metadata *m);

/* The JSON was checked with metadata_check before. ERR_OUTPUT. */
int metadata_add(struct metadata *m, const struct metadata_row *row);
int metadata_save(struct metadata *m, struct sink *sink); /* once, after the last row */

/* Is this text an object whose fields we can keep? ERR_DATA (bad_json) if not. */
struct arena;
int metadata_check(const char *json, size_t n, struct arena *scratch);

#endif
