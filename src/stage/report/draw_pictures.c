/* draw_pictures.c - the sections that show pictures: a histogram per score with the samples at its
 * threshold; the largest groups of duplicates, the pairs at the threshold, the sizes of clusters.
 */
#include "stage/report/draw.h"
#include "page/html.h"
#include "page/page.h"

#include <math.h>
#include <stdlib.h>

/* ---- scores ---- */

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
    html_put(out, m->similarity ? " go." : " do not.");
    for (int c = 0; c < m->cuts; c++)
        if (m->cut[c].value < m->min || m->cut[c].value > m->max)
            html_put(out, " The threshold %s lies %s all values, outside the picture.",
                     m->cut[c].name, m->cut[c].value < m->min ? "below" : "above");
    html_put(out, "</p>\n");
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

/* ---- duplicates ---- */

static void draw_group(struct str *out, const struct report *r, const struct group *g)
{
    html_put(out, "<div class=\"group\"><div class=\"head\"><h3>");
    html_count(out, g->size);
    html_put(out, " pictures</h3><small>cluster %lld", (long long)g->cluster);
    if (g->least.count)
        html_put(out, "; the %d most and the %d least similar to the kept one", g->most.count,
                 g->least.count);
    html_put(out, "</small></div>\n");
    page_strip(out);
    if (g->has_kept) {
        struct near kept = g->kept;
        kept.value = NAN;
        draw_shot(out, r, &kept, "kept", 4);
    }
    for (int i = 0; i < g->most.count; i++) draw_shot(out, r, &g->most.item[i], NULL, 4);
    for (int i = g->least.count; i--;) draw_shot(out, r, &g->least.item[i], NULL, 4);
    page_strip_end(out);
    html_put(out, "</div>\n");
}

static void draw_eps(struct str *out, const struct report *r)
{
    if (!r->eps_count) return;
    html_put(out, "<div class=\"card wide\"><table class=\"slim\"><tr><th class=\"num\">eps</th>"
                  "<th class=\"num\">similarity from</th><th class=\"num\">kept</th>"
                  "<th class=\"num\">removed</th></tr>\n");
    for (size_t i = 0; i < r->eps_count; i++) {
        const struct eps_row *e = &r->eps_rows[i];
        html_put(out, "<tr class=\"%s\"><td class=\"num\">%.6g</td><td class=\"num\">%.6g</td>",
                 e->eps == r->eps ? "here" : "other", e->eps, 1 - e->eps);
        html_put(out, "<td class=\"num\">");
        html_count(out, e->kept);
        html_put(out, "</td><td class=\"num\">");
        html_count(out, e->removed);
        html_put(out, "</td></tr>\n");
    }
    html_put(out, "</table></div>\n");
}

static void draw_pairs(struct str *out, const struct report *r, int removed)
{
    int any = 0;
    for (int i = 0; i < r->pairs; i++) any |= r->pair[i].removed == removed;
    if (!any) return;
    html_put(out, "<p class=\"side\">%s</p>\n<div class=\"pairs\">",
             removed ? "just similar enough: the second was removed"
                     : "just not similar enough: both stayed");
    for (int i = 0; i < r->pairs; i++) {
        const struct pair *p = &r->pair[i];
        if (p->removed != removed) continue;
        struct near other = p->other;
        other.value = NAN;
        html_put(out, "<div>");
        if (other.part >= 0) draw_shot(out, r, &other, NULL, 4);
        draw_shot(out, r, &p->one, NULL, 4);
        html_put(out, "</div>\n");
    }
    html_put(out, "</div>\n");
}

static void draw_similarity(struct str *out, const struct report *r)
{
    for (int i = 0; i < r->measures; i++) {
        const struct measure *m = &r->measure[i];
        if (!m->similarity) continue;
        html_put(out, "<div class=\"card\">");
        draw_histogram(out, m, "similarity to the nearest earlier picture of the cluster");
        draw_pairs(out, r, 0);
        draw_pairs(out, r, 1);
        html_put(out, "</div>\n");
    }
}

void draw_duplicates(struct str *out, const struct report *r)
{
    page_section(out, "duplicates", "Duplicates",
                 "Groups of pictures of which one was kept, with their similarity to it.");
    if (!r->has_dedup) {
        struct str command = {0};
        str_printf(&command, "darkroom dedup %s", place_url(sidecars_place(r->sidecars)));
        page_missing(out, "Duplicates were not looked for yet:", command.p);
        str_release(&command);
    } else {
        html_put(out, "<p>");
        html_count(out, r->nremoved);
        html_put(out, " rows were removed in ");
        html_count(out, r->group_count);
        html_put(out, r->group_count == 1 ? " group" : " groups");
        if (r->nquarantined) {
            html_put(out, "; ");
            html_count(out, r->nquarantined);
            html_put(out, r->nquarantined == 1 ? " was" : " were");
            html_put(out, " set aside: no direction, the embedding is zero or not a number");
        }
        html_put(out, ".</p>\n");
    }
    draw_eps(out, r);
    if (r->groups) html_put(out, "<div class=\"card groups\">\n");
    for (int i = 0; i < r->groups; i++) draw_group(out, r, &r->group[i]);
    if (r->groups) html_put(out, "</div>\n");
    draw_similarity(out, r);
    page_section_end(out);
}

void draw_clusters(struct str *out, const struct report *r)
{
    page_section(out, "clusters", "Clusters", "How many clusters have which size.");
    if (!r->has_assign) {
        struct str command = {0};
        str_printf(&command, "darkroom dedup %s", place_url(sidecars_place(r->sidecars)));
        page_missing(out, "There are no clusters yet:", command.p);
        str_release(&command);
        page_section_end(out);
        return;
    }
    html_put(out, "<div class=\"card\">");
    chart_sizes(out, "sizes of clusters", r->sizes);
    html_put(out, "<div class=\"facts\"><span>");
    html_count(out, r->clusters_count);
    html_put(out, " clusters with rows</span><span>largest ");
    html_count(out, r->largest);
    html_put(out, "</span></div></div>\n");
    page_section_end(out);
}
