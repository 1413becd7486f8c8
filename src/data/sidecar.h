/* sidecar.h - a place as the stages after embed see it: partitions of rows. Row i of every
 * sidecar of a partition is the same sample. Three layouts are read alike:
 *   darkroom's own, where receipts say which partitions are whole;
 *   clip-retrieval's and LAION's: img_emb_N.npy, text_emb_N.npy, metadata_N.parquet;
 *   NeMo Curator's: NNNNN.parquet with a list column of embeddings, NNNNN.tar beside it.
 * What we write beside them (scores, keep, dedup) has darkroom's names in every layout. */
#ifndef DATA_SIDECAR_H
#define DATA_SIDECAR_H

#include "data/receipt.h"
#include "io/file.h"
#include "io/place.h"

enum layout { LAYOUT_DARKROOM, LAYOUT_RETRIEVAL, LAYOUT_NEMO };
const char *layout_name(enum layout layout);

enum sidecar {
    SIDE_IMAGE, /* embeddings */
    SIDE_TEXT,
    SIDE_METADATA,
    SIDE_SCORES,
    SIDE_KEEP,
    SIDE_ASSIGN, /* dedup/assign_N.parquet */
    SIDE_ERRORS,
    SIDE_COUNT
};

struct sidecars;

/* ERR_INPUT: nothing that can be read as a place. */
int sidecars_open(struct sidecars **out, const char *url);
void sidecars_close(struct sidecars *s); /* NULL is fine */

struct place *sidecars_place(const struct sidecars *s);
enum layout sidecars_layout(const struct sidecars *s);

/* Partitions are counted from 0 without gaps; number is what stands in file names. */
int64_t sidecars_count(const struct sidecars *s);
int64_t sidecars_number(const struct sidecars *s, int64_t i);
int64_t sidecars_find(const struct sidecars *s, int64_t number); /* index, or -1 */
int sidecars_digits(const struct sidecars *s);

/* Rows of partition i; -1 when it is not there yet (embed has not finished it). */
int64_t sidecars_rows(const struct sidecars *s, int64_t i);
int64_t sidecars_total(const struct sidecars *s);   /* rows of all that are there */
int64_t sidecars_missing(const struct sidecars *s); /* partitions that are not there */
/* The receipt of embed, or NULL in layouts without receipts. */
const struct receipt *sidecars_receipt(const struct sidecars *s, int64_t i);
/* What run.json of embed says, "" where it says nothing. */
const char *sidecars_embedded(const struct sidecars *s, const char *field);

/* The present run of the product that makes this kind (scores: score), or NULL. */
const struct run *sidecars_run(const struct sidecars *s, enum sidecar kind);

/* The file's name inside the place; it need not exist. */
void sidecars_name(struct str *out, const struct sidecars *s, enum sidecar kind, int64_t i);
/* Is it there? A sidecar of ours counts only when its receipt is of the product's present run, and
 * the files of the place that it was made from are still those of now. */
int sidecars_has(const struct sidecars *s, enum sidecar kind, int64_t i);
/* The same for those who cannot do without: ERR_INPUT when it is missing or of another run,
 * ERR_STALE when it was made from other files; the sentence names the file and what to run. */
int sidecars_need(const struct sidecars *s, enum sidecar kind, int64_t i);
/* Partitions whose file was made from others than those here. */
int64_t sidecars_stale(const struct sidecars *s, enum sidecar kind);
/* The same question for any receipt of this place: 0, or ERR_STALE that says what is another. */
int sidecars_fresh(const struct sidecars *s, const struct receipt *r);
const char *sidecars_product(enum sidecar kind); /* "score" makes SIDE_SCORES */
/* Does any partition have it? */
int sidecars_any(const struct sidecars *s, enum sidecar kind);

/* Note the file in a receipt's inputs, with the hash its own receipt promises; a file of others
 * is known by size and time instead. Nothing is noted when it is not there. */
int sidecars_note(struct receipt_files *out, const struct sidecars *s, enum sidecar kind,
                  int64_t i);

/* All files of one kind as a single line: their folder, their bytes, and a hash over
 * their names, sizes and hashes. */
int sidecars_note_all(struct receipt_files *out, const struct sidecars *s, enum sidecar kind);

/* ---- embeddings of one partition ---- */
struct embeddings {
    int64_t rows;
    int dim;
    int half;         /* f16, else f32 */
    const void *data; /* [rows,dim] C order, little-endian, perhaps unaligned */
    /* private */
    struct file_map map;
    void *copy;
    size_t copied;
};
/* kind: SIDE_IMAGE or SIDE_TEXT. Mapped, not read; list columns are unpacked into a nameless file
 * of the place and mapped. ERR_INPUT: missing, damaged, of another type, or not as many rows as
 * the partition has (the sentence names both). No rows: dim is 0 when nothing tells it. */
int embeddings_open(struct embeddings *e, const struct sidecars *s, enum sidecar kind, int64_t i);
void embeddings_close(struct embeddings *e); /* zeroed is fine */
/* Rows [from, from+n) as f32, [n,dim]. */
void embeddings_get(float *out, const struct embeddings *e, int64_t from, int64_t n);

#endif
