/* rowset.h - all embeddings of a place by one number: row 0 is the first of partition 0, then
 * partition after partition. Mapped, never held. */
#ifndef STAGE_DEDUP_ROWSET_H
#define STAGE_DEDUP_ROWSET_H

#include "algo/rows.h"
#include "data/sidecar.h"

struct rowset {
    const struct sidecars *sidecars;
    struct embeddings *part; /* [parts] */
    int64_t *first;          /* [parts+1]: the number of a partition's first row */
    int *fd;                 /* [parts]: for rows here and there; -1: only mapped */
    int64_t parts, total;
    int dim;       /* 0 when there are no rows */
    int half;      /* every partition is f16 */
    size_t budget; /* larger than this, pages leave us as soon as they are used */
};

/* Partitions that are not embedded have no rows. ERR_INPUT also when dimensions differ. */
int rowset_open(struct rowset *r, const struct sidecars *s, size_t budget);
void rowset_close(struct rowset *r); /* zeroed is fine */

int64_t rowset_part(const struct rowset *r, int64_t row); /* which partition */

enum access { ACCESS_IN_ORDER, ACCESS_ANYWHERE };
void rowset_access(const struct rowset *r, enum access how); /* how it will be read from now on */

/* Rows by their numbers into out: f16 when all are f16, else f32, [n,dim]. Any thread. ERR_INPUT:
 * a file has become shorter. */
int rowset_gather(void *out, const struct rowset *r, const int64_t *rows, int64_t n);
void rowset_read(float *out, const struct rowset *r, int64_t row); /* one, as f32 */
/* They will be gathered soon: start reading. */
void rowset_expect(const struct rowset *r, const int64_t *rows, int64_t n);

/* The rows as an algorithm reads them: all in order, or those of a list. */
struct rowset_reader {
    const struct rowset *set;
    const int64_t *list; /* NULL: all */
    void *buffer;        /* of rows that do not stand together */
    size_t held;         /* bytes of the buffer */
    const char *seen;    /* the view given last */
    size_t seen_bytes;
};
struct rows rowset_rows(struct rowset_reader *state, const struct rowset *r, const int64_t *list,
                        int64_t count);
void rowset_reader_release(struct rowset_reader *s);

#endif
