/* draw_scores.c - a histogram per score, and the samples at its threshold. */
#include "stage/report/draw.h"
#include "page/html.h"
#include "page/page.h"

#include <math.h>
#include <stdlib.h>

static void put_number(struct str *out, const char *name, double v)
{
    html_put(out, "<span>%s %.4g</span>", name, v);
}

/* What stands below a histogram: the numbers it cannot show. */
static void draw_numbers(struct str *out, const struct measure *m)
{
    html_put(out, "<div class=\"facts\">");
    html_put(out, "<span>");
    html_count(out, m->values);
    html_put(out, " values</span>");
    put_number(out, "least", m->min);
    put_number(out, "mean", m->sum / (double)m->values);
    put_number(out, "greatest", m->max);
    if (m->nulls) {
        html_put(out, "<span>");
        html_count(out, m->nulls);
        html_put(out, " without a value</span>");
    }
    if (m->under + m->over) {
        html_put(out, "<span>");
        html_count(out, m->under + m->over);
        html_put(out, " outside the picture</span>");
    }
    html_put(out, "</div>\n");
}

static void draw_passing(struct str *out, const struct measure *m)
{
    if (!m->cuts) return;
    html_put(out, "<p>");
    html_count(out, m->passing);
    html_put(out, m->similarity ? " stay (" : " pass (");
    html_percent(out, m->passing, m->values);
    html_put(out, "), ");
    html_count(out, m->values - m->passing);
    html_put(out, m->similarity ? " go.</p>\n" : " do not.</p>\n");
}

void draw_histogram(struct str *out, const struct measure *m, const char *title)
{
    html_put(out, "<h3><bdi>%s</bdi></h3>\n", title);
    if (!m->values) {
        page_missing(out, "No row has a value here.", NULL);
        return;
    }
    chart_histogram(out, title, &m->bins, m->count, m->cut, m->cuts);
    draw_numbers(out, m);
    draw_passing(out, m);
}

static void draw_strip(struct str *out, const struct report *r, const struct near_list *list,
                       const char *title, int reverse)
{
    if (!list->count) return;
    html_put(out, "<p class=\"side\">%s</p>\n", title);
    page_strip(out);
    for (int i = 0; i < list->count; i++)
        draw_shot(out, r, &list->item[reverse ? list->count - 1 - i : i], NULL, -1);
    page_strip_end(out);
}

static void draw_measure(struct str *out, const struct report *r, const struct measure *m)
{
    html_put(out, "<div class=\"card\">");
    draw_histogram(out, m, m->name);
    if (m->cuts) {
        int above = m->cut[0].passes == CHART_ABOVE;
        draw_strip(out, r, &m->left, above ? "just below: dropped" : "just below: passes", 1);
        draw_strip(out, r, &m->right, above ? "just above: passes" : "just above: dropped", 0);
    } else {
        draw_strip(out, r, &m->left, "lowest", 0);
        draw_strip(out, r, &m->right, "highest", 1);
    }
    html_put(out, "</div>\n");
}

void draw_scores(struct str *out, const struct report *r)
{
    page_section(out, "scores", "Scores",
                 "How each score is spread, where its threshold lies, and what the samples at the "
                 "threshold look like.");
    for (int i = 0; i < r->measures; i++)
        if (!r->measure[i].similarity) draw_measure(out, r, &r->measure[i]);
    if (!r->has_scores) {
        struct str command = {0};
        str_printf(&command, "darkroom score %s --head aesthetic=FILE",
                   place_url(sidecars_place(r->sidecars)));
        page_missing(out, "No scores here yet:", command.p);
        str_release(&command);
    }
    if (r->more_measures)
        html_put(out, "<p class=\"soft\">%d more columns are not drawn.</p>\n", r->more_measures);
    page_section_end(out);
}
