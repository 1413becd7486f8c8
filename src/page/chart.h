/* chart.h - charts as inline SVG, drawn by us and coloured by the stylesheet.
 * Across, everything is in percent of the width there is, so a chart fits a phone without
 * shrinking its letters; down, in pixels. Every bar tells its numbers when pointed at. */
#ifndef PAGE_CHART_H
#define PAGE_CHART_H

#include "base/platform.h"
#include "base/str.h"

/* A line at `value`; what lies on the side that passes is drawn in the accent colour. */
struct chart_cut {
    double value;
    enum chart_side { CHART_ABOVE, CHART_BELOW } passes;
    const char *name; /* ">= 6" */
};

/* Equal bins from lo: bin i is [lo + i*width, lo + (i+1)*width), the last one closed. */
struct chart_bins {
    double lo, width;
    int count;
};
enum { CHART_BINS = 64 };

/* Round bins that hold min..max: at most CHART_BINS of width 1, 2 or 5 times a power of ten.
 * Bounds are finite. */
struct chart_bins chart_bins(double min, double max);
int chart_bin(const struct chart_bins *b, double v); /* -1 or count when outside */

void chart_histogram(struct str *out, const char *title, const struct chart_bins *bins,
                     const int64_t *count, const struct chart_cut *cuts, int ncuts);

/* Horizontal bars, one a row: name, bar, number, note. */
struct chart_row {
    const char *name;
    int64_t value;    /* length of the bar */
    int64_t lost;     /* drawn pale behind it; 0 = nothing */
    const char *text; /* instead of the value as a number; NULL = the number */
    const char *note; /* may be NULL */
    int accent;
    int rule; /* a reason below a step: drawn smaller */
};
void chart_rows(struct str *out, const struct chart_row *rows, size_t n);

/* How many things have size 1, 2-3, 4-7, ...: both axes logarithmic. count[b] is the number of
 * sizes in [2^b, 2^(b+1)). */
enum { CHART_POWERS = 63 };
void chart_sizes(struct str *out, const char *title, const int64_t count[CHART_POWERS]);

/* A number as an axis or a caption shows it: no more digits than `step` needs. */
void chart_number(struct str *out, double v, double step);

#endif
