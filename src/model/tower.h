/* tower.h - the arithmetic of the two towers, on a tape. */
#ifndef MODEL_TOWER_H
#define MODEL_TOWER_H

#include "model/load.h"

/* The sequences of one pass: `count` of them, rows at[i]..at[i+1] of the token matrix.
 * Host arrays, sized for the largest pass. */
struct pass {
    int count, rows;
    int32_t *at;    /* [count+1] */
    int32_t *unit;  /* [count+1]: 0, 1, 2, ... */
    int32_t *picks; /* [count]: the row whose output is the embedding */
    int32_t *ids;   /* [rows]: token, or row of the patch matrix */
    int32_t *pos;   /* [rows]: place in the sequence */
    int whole;      /* compute all rows of the last block, then pick */
};

/* patches [count*(tokens-1), 3*p*p] -> embeddings [count, embed]. */
struct var image_fwd(struct tape *t, const struct tower *w, const struct clip_config *c,
                     const struct var *patches, const struct pass *p);

/* p->ids are tokens -> embeddings [count, embed]. */
struct var text_fwd(struct tape *t, const struct tower *w, const struct clip_config *c,
                    const struct pass *p);

#endif
