/* draw.h - the sections of the page, by file. */
#ifndef STAGE_REPORT_DRAW_H
#define STAGE_REPORT_DRAW_H

#include "stage/report/report.h"

/* draw.c: one picture with its number, to so many decimals (-1: as many as it takes). */
void draw_shot(struct str *out, const struct report *r, const struct near *n, const char *badge,
               int decimals);

/* draw_pictures.c */
void draw_scores(struct str *out, const struct report *r);
void draw_histogram(struct str *out, const struct measure *m, const char *title);

/* draw_pictures.c */
void draw_duplicates(struct str *out, const struct report *r);
void draw_clusters(struct str *out, const struct report *r);

#endif
