/* funnel.h - what became of every sample, as rows: steps with what is left, and between them the
 * reasons with what they took. For the page and for a terminal. */
#ifndef STAGE_REPORT_FUNNEL_H
#define STAGE_REPORT_FUNNEL_H

#include "page/chart.h"
#include "stage/report/report.h"

enum { FUNNEL_ROWS = 64, FUNNEL_TEXT = 48 };

struct funnel {
    struct chart_row row[FUNNEL_ROWS];
    char text[FUNNEL_ROWS][FUNNEL_TEXT], note[FUNNEL_ROWS][FUNNEL_TEXT];
    size_t n;
};

void funnel_init(struct funnel *f, const struct report *r); /* names point into r */
void funnel_print(const struct funnel *f);                  /* lines of results */

#endif
