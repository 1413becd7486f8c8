/* chart.c - histogram, rows of bars (the funnel is one), distribution of sizes. */
#include "page/chart.h"
#include "page/html.h"

#include <math.h>
#include <stdio.h>

enum { TOP = 22, BASE = 182, HEIGHT = 206 }; /* of a plot: the label row, the axis, all of it */

/* The smallest of 1, 2, 5 x 10^k that is at least `least`. */
static double round_step(double least)
{
    double power = pow(10, floor(log10(least)));
    double f = least / power;
    return power * (f <= 1.0000001 ? 1 : f <= 2.0000001 ? 2 : f <= 5.0000001 ? 5 : 10);
}

struct chart_bins chart_bins(double min, double max)
{
    struct chart_bins b;
    double span = max - min;
    double tiny = fmax(fabs(min), fabs(max)) * 1e-6; /* below what float32 tells apart */
    if (!(span > tiny)) span = tiny > 0 ? tiny : 1e-6;
    b.width = round_step(span / (CHART_BINS - 2));
    b.lo = floor(min / b.width) * b.width;
    b.count = (int)fmin(CHART_BINS, fmax(1, ceil((max - b.lo) / b.width)));
    if (b.lo + b.count * b.width < max && b.count < CHART_BINS) b.count++;
    return b;
}

int chart_bin(const struct chart_bins *b, double v)
{
    double hi = b->lo + b->count * b->width;
    if (v < b->lo) return -1;
    if (v > hi) return b->count;
    int i = (int)((v - b->lo) / b->width);
    return i < b->count ? i : b->count - 1;
}

void chart_number(struct str *out, double v, double step)
{
    int digits = 0;
    for (double s = step; s > 0 && digits < 7 && fabs(s - nearbyint(s)) > 1e-6 * s; s *= 10)
        digits++;
    if (fabs(v) < 1e-9 * step) v = 0;
    if (fabs(v) >= 1e7 || (digits == 7 && fabs(v) < 1e-3 && v != 0))
        html_put(out, "%.3g", v);
    else
        html_put(out, "%.*f", digits, v);
}

static void put_title(struct str *out, const struct chart_bins *b, int i, int64_t n)
{
    html_put(out, "<title>");
    chart_number(out, b->lo + i * b->width, b->width);
    html_put(out, " to ");
    chart_number(out, b->lo + (i + 1) * b->width, b->width);
    html_put(out, ": ");
    html_count(out, n);
    html_put(out, "</title>");
}

static int passes(double v, const struct chart_cut *cuts, int n)
{
    for (int i = 0; i < n; i++)
        if (cuts[i].passes == CHART_ABOVE ? v < cuts[i].value : v > cuts[i].value) return 0;
    return 1;
}

/* Where in percent of the width. */
static double across(const struct chart_bins *b, double v)
{
    return 100 * (v - b->lo) / (b->count * b->width);
}

static void put_bar(struct str *out, double from, double to, double height, int on)
{
    double gap = 0.12;
    if (to - from > 4 * gap) to -= gap;
    html_put(out, "<rect class=\"%s\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"%.1f\" height=\"%.1f\"/>",
             on ? "on" : "off", from, to - from, BASE - height, height);
}

/* One bin, cut where a line goes through it, so that colour and line agree. */
static void put_bin(struct str *out, const struct chart_bins *b, int i, int64_t n, double height,
                    const struct chart_cut *cuts, int ncuts)
{
    double from = b->lo + i * b->width, end = b->lo + (i + 1) * b->width;
    double x = across(b, from), width = across(b, end) - x;
    html_put(out, "<g>");
    put_title(out, b, i, n);
    while (from < end) {
        double to = end;
        for (int c = 0; c < ncuts; c++)
            if (cuts[c].value > from && cuts[c].value < to) to = cuts[c].value;
        put_bar(out, across(b, from), across(b, to), height, passes((from + to) / 2, cuts, ncuts));
        from = to;
    }
    html_put(out,
             "<rect class=\"hit\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"%d\" height=\"%d\"/></g>\n", x,
             width, TOP, BASE - TOP);
}

static void svg_begin(struct str *out, const char *title)
{
    html_put(out,
             "<svg class=\"chart\" width=\"100%%\" height=\"%d\" role=\"img\" "
             "aria-label=\"%s\">\n",
             HEIGHT, title);
}

/* A line across at height y with its number left of the plot, in the padding the stylesheet
 * leaves there. */
static void put_line(struct str *out, double y, double v)
{
    html_put(out,
             "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>"
             "<text x=\"-7\" y=\"%.1f\" text-anchor=\"end\">",
             y, y, y + 4);
    html_short(out, v);
    html_put(out, "</text>");
}

static void put_grid(struct str *out, double max)
{
    double step = fmax(1, round_step(max / 4));
    for (double v = step; v <= max; v += step) put_line(out, BASE - (BASE - TOP) * v / max, v);
}

static void put_axis_text(struct str *out, double x, double v, double step)
{
    const char *anchor = x < 2 ? "start" : x > 98 ? "end" : "middle";
    html_put(out, "<text x=\"%.3f%%\" y=\"%d\" text-anchor=\"%s\">", x, BASE + 17, anchor);
    chart_number(out, v, step);
    html_put(out, "</text>");
}

/* The finest round step whose labels stand apart also on a phone, some 280 pixels wide. */
static double axis_step(const struct chart_bins *b)
{
    double span = b->count * b->width, step = round_step(span / 9);
    for (;; step = round_step(1.5 * step)) {
        struct str low = {0}, high = {0};
        chart_number(&low, b->lo, step);
        chart_number(&high, b->lo + span, step);
        size_t letters = low.len > high.len ? low.len : high.len;
        str_release(&low);
        str_release(&high);
        if (span / step * (7 * (double)letters + 12) <= 280 || step >= span) return step;
    }
}

static void put_axis(struct str *out, const struct chart_bins *b)
{
    double span = b->count * b->width, step = axis_step(b);
    html_put(out, "<line class=\"axis\" x1=\"0\" x2=\"100%%\" y1=\"%d\" y2=\"%d\"/>", BASE, BASE);
    for (double k = ceil(b->lo / step - 1e-9); k * step <= b->lo + span * (1 + 1e-9); k++)
        put_axis_text(out, across(b, k * step), k * step, step);
}

static void put_cut(struct str *out, const struct chart_bins *b, const struct chart_cut *c)
{
    double x = across(b, c->value);
    if (x < 0 || x > 100) return;
    html_put(
        out,
        "<line class=\"cut\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%d\" y2=\"%d\"/>"
        "<text class=\"cut-name\" x=\"%.3f%%\" dx=\"%d\" y=\"12\" text-anchor=\"%s\">%s</text>\n",
        x, x, TOP - 18, BASE, x, x > 60 ? -6 : 6, x > 60 ? "end" : "start", c->name);
}

void chart_histogram(struct str *out, const char *title, const struct chart_bins *bins,
                     const int64_t *count, const struct chart_cut *cuts, int ncuts)
{
    int64_t max = 1;
    for (int i = 0; i < bins->count; i++)
        if (count[i] > max) max = count[i];
    svg_begin(out, title);
    put_grid(out, (double)max);
    for (int i = 0; i < bins->count; i++) {
        double height = (BASE - TOP) * (double)count[i] / (double)max;
        if (count[i] && height < 1) height = 1; /* one sample among a million is still seen */
        if (count[i]) put_bin(out, bins, i, count[i], height, cuts, ncuts);
    }
    put_axis(out, bins);
    for (int i = 0; i < ncuts; i++) put_cut(out, bins, &cuts[i]);
    html_put(out, "</svg>\n");
}

static void put_row_bar(struct str *out, const struct chart_row *r, double max)
{
    double length = 100 * (double)r->value / max, lost = 100 * (double)r->lost / max;
    int height = r->rule ? 8 : 16;
    if (r->value && length < 0.3) length = 0.3;
    html_put(out, "<svg class=\"bar\" width=\"100%%\" height=\"%d\" aria-hidden=\"true\">", height);
    if (r->lost)
        html_put(out, "<rect class=\"off\" width=\"%.3f%%\" height=\"%d\" rx=\"3\"/>",
                 length + lost > 100 ? 100 : length + lost, height);
    html_put(out, "<rect class=\"%s\" width=\"%.3f%%\" height=\"%d\" rx=\"3\"/></svg>",
             r->accent ? "on" : "off", length, height);
}

void chart_rows(struct str *out, const struct chart_row *rows, size_t n)
{
    int64_t max = 1;
    for (size_t i = 0; i < n; i++)
        if (rows[i].value + rows[i].lost > max) max = rows[i].value + rows[i].lost;
    html_put(out, "<div class=\"rows\">\n");
    for (size_t i = 0; i < n; i++) {
        const struct chart_row *r = &rows[i];
        html_put(out, "<div class=\"row %s\"><div class=\"name\">%s</div>",
                 r->rule ? "rule" : "step", r->name);
        put_row_bar(out, r, (double)max);
        html_put(out, "<div class=\"num\">");
        if (r->text)
            html_put(out, "%s", r->text);
        else
            html_count(out, r->value);
        html_put(out, "</div><div class=\"note\">%s</div></div>\n", r->note ? r->note : "");
    }
    html_put(out, "</div>\n");
}

static double log_height(double n, double max)
{
    return (BASE - TOP) * log10(1 + n) / log10(1 + max);
}

static void put_size_bar(struct str *out, int b, int first, int buckets, int64_t n, double max)
{
    double x = 100.0 * (b - first) / buckets, width = 100.0 / buckets;
    html_put(out, "<g><title>");
    html_count(out, n);
    html_put(out, " of size ");
    html_count(out, (int64_t)1 << b);
    if (b) {
        html_put(out, " to ");
        html_count(out, (int64_t)(((uint64_t)2 << b) - 1));
    }
    html_put(out, "</title>");
    put_bar(out, x + width * 0.06, x + width * 0.94, log_height((double)n, max), 1);
    html_put(out,
             "<rect class=\"hit\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"%d\" height=\"%d\"/></g>\n", x,
             width, TOP, BASE - TOP);
}

static void put_size_label(struct str *out, int b, int first, int buckets)
{
    html_put(out, "<text x=\"%.3f%%\" y=\"%d\" text-anchor=\"middle\">",
             100.0 * (b - first + 0.5) / buckets, BASE + 17);
    html_short(out, pow(2, b));
    html_put(out, b ? "+</text>" : "</text>");
}

static void put_size_grid(struct str *out, double max)
{
    for (double v = 1; v <= max; v *= 10) put_line(out, BASE - log_height(v, max), v);
}

void chart_sizes(struct str *out, const char *title, const int64_t count[CHART_POWERS])
{
    int first = 0, last = 0;
    double max = 1;
    while (first < CHART_POWERS - 1 && !count[first]) first++;
    for (int b = 0; b < CHART_POWERS; b++) {
        if (count[b]) last = b;
        if ((double)count[b] > max) max = (double)count[b];
    }
    if (first > last) first = last;
    int buckets = last - first + 1, every = buckets > 24 ? 4 : buckets > 10 ? 2 : 1;
    svg_begin(out, title);
    put_size_grid(out, max);
    for (int b = first; b <= last; b++)
        if (count[b]) put_size_bar(out, b, first, buckets, count[b], max);
    html_put(out, "<line class=\"axis\" x1=\"0\" x2=\"100%%\" y1=\"%d\" y2=\"%d\"/>", BASE, BASE);
    for (int b = first; b <= last; b += every) put_size_label(out, b, first, buckets);
    html_put(out, "</svg>\n");
}
