/* draw.c - the page: what was found out, section by section. A section without data says which
 * verb makes it. */
#include "stage/report/draw.h"
#include "stage/report/funnel.h"
#include "base/clock.h"
#include "page/html.h"
#include "page/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *place_of(const struct report *r)
{
    return place_url(sidecars_place(r->sidecars));
}

/* "No scores here yet: darkroom score PLACE ..." */
static void missing(struct str *out, const struct report *r, const char *what, const char *verb,
                    const char *more)
{
    struct str command = {0};
    str_printf(&command, "darkroom %s %s%s", verb, place_of(r), more);
    page_missing(out, what, command.p);
    str_release(&command);
}

/* ---- pictures ---- */

void draw_shot(struct str *out, const struct report *r, const struct near *n, const char *badge,
               int decimals)
{
    static const struct shot nobody = {.none = "not shown"};
    const struct shot *s = n->shot < 0 ? &nobody : &r->shot[n->shot];
    char value[64] = "";
    struct str origin = {0};
    if (isfinite(n->value))
        snprintf(value, sizeof value, decimals < 0 ? "%.*g" : "%.*f", decimals < 0 ? 4 : decimals,
                 n->value);
    str_printf(&origin, "partition %lld, row %lld",
               (long long)sidecars_number(r->sidecars, n->part), (long long)n->row);
    if (s->shard.n) str_printf(&origin, ", %.200s", s->shard.p);
    page_picture(out, &(struct page_picture){.jpeg = &s->thumb.jpeg,
                                             .width = s->thumb.width,
                                             .height = s->thumb.height,
                                             .value = value[0] ? value : NULL,
                                             .badge = badge,
                                             .key = s->key.p,
                                             .key_len = s->key.n,
                                             .caption = s->caption.p,
                                             .caption_len = s->caption.n,
                                             .origin = origin.p,
                                             .none = s->none});
    str_release(&origin);
}

/* ---- the head ---- */

static void draw_head(struct str *out, const struct report *r)
{
    static const char *const links[][2] = {
        {"funnel", "Funnel"},     {"scores", "Scores"}, {"duplicates", "Duplicates"},
        {"clusters", "Clusters"}, {"errors", "Errors"}, {"time", "Time"},
        {"runs", "Runs"}};
    struct str s = {0};
    page_begin(out, place_of(r), "report");
    html_count(&s, r->rows);
    str_puts(&s, " rows in ");
    html_count(&s, sidecars_count(r->sidecars));
    str_puts(&s, sidecars_count(r->sidecars) == 1 ? " partition" : " partitions");
    page_fact(out, s.p);
    str_clear(&s);
    str_printf(&s, "laid out by %s", layout_name(sidecars_layout(r->sidecars)));
    page_fact(out, s.p);
    if (sidecars_missing(r->sidecars)) {
        str_clear(&s);
        html_count(&s, sidecars_missing(r->sidecars));
        str_puts(&s, sidecars_missing(r->sidecars) == 1 ? " partition is not embedded yet"
                                                        : " partitions are not embedded yet");
        page_fact(out, s.p);
    }
    for (size_t i = 0; i < r->words.count; i++) page_fact(out, r->words.list[i]);
    page_nav(out);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        page_link(out, links[i][0], links[i][1]);
    page_main(out);
    str_release(&s);
}

static void draw_tiles(struct str *out, const struct report *r)
{
    int last = r->exported >= 0 ? 4 : r->has_dedup ? 3 : r->has_keep ? 2 : 1;
    page_tiles(out);
    page_tile(out, r->seen, "samples seen", 0);
    page_tile(out, r->rows, "embedded", last == 1);
    if (r->has_keep) page_tile(out, r->kept, "passed the filter", last == 2);
    if (r->has_dedup) page_tile(out, r->left, "left without duplicates", last == 3);
    if (r->exported >= 0) page_tile(out, r->exported, "exported", 1);
    page_tiles_end(out);
}

/* ---- the funnel ---- */

static void draw_funnel(struct str *out, const struct report *r)
{
    struct funnel f;
    funnel_init(&f, r);
    page_section(out, "funnel", "From input to export", "What became of every sample, and why.");
    html_put(out, "<div class=\"card\">");
    chart_rows(out, f.row, f.n);
    html_put(out, "</div>\n");
    if (!r->has_keep) missing(out, r, "Nothing was filtered yet:", "filter", " --where '...'");
    if (!r->has_dedup) missing(out, r, "Duplicates were not looked for yet:", "dedup", "");
    if (r->has_keep && !r->kept)
        html_put(out, "<p class=\"missing\">The rules keep nothing.</p>\n");
    if (r->exported < 0) missing(out, r, "Nothing was exported yet:", "export SHARDS", " OUT");
    page_section_end(out);
}

/* ---- errors ---- */

static void draw_fault(struct str *out, const struct fault *f)
{
    html_put(out, "<details><summary>%s, ", f->status);
    html_count(out, f->count);
    html_put(out, f->count > f->examples ? " in all, the first %d</summary>" : "</summary>",
             f->examples);
    html_put(
        out,
        "<div class=\"wide\"><table class=\"even\"><tr><th>key</th><th>shard</th><th>what is wrong"
        "</th></tr>\n");
    for (int i = 0; i < f->examples; i++) {
        const struct fault_example *e = &f->example[i];
        html_put(out, "<tr><td class=\"text\"><bdi class=\"key\">");
        html_clip(out, e->key.p, e->key.n, 80);
        html_put(out, "</bdi></td><td class=\"text\"><bdi>");
        html_clip(out, e->shard.p, e->shard.n, 120);
        html_put(out, "</bdi></td><td class=\"text\"><bdi>");
        html_clip(out, e->message.p, e->message.n, 200);
        html_put(out, "</bdi></td></tr>\n");
    }
    html_put(out, "</table></div></details>\n");
}

static void draw_errors(struct str *out, const struct report *r)
{
    struct chart_row row[16];
    size_t n = r->faults < 16 ? r->faults : 16;
    page_section(out, "errors", "Errors", "Samples that could not be embedded, by reason.");
    if (!r->faults) {
        page_missing(out,
                     sidecars_layout(r->sidecars) == LAYOUT_DARKROOM
                         ? "Every sample seen has a row: there are no errors."
                         : "This folder was not made by darkroom embed, which would record them.",
                     NULL);
        page_section_end(out);
        return;
    }
    for (size_t i = 0; i < n; i++)
        row[i] = (struct chart_row){.name = r->fault[i].status, .value = r->fault[i].count};
    html_put(out, "<div class=\"card\">");
    chart_rows(out, row, n);
    for (size_t i = 0; i < r->faults; i++) draw_fault(out, &r->fault[i]);
    html_put(out, "</div>\n");
    page_section_end(out);
}

/* ---- time ---- */

static void draw_time(struct str *out, const struct report *r)
{
    struct chart_row row[TIMINGS];
    char text[TIMINGS][32], note[TIMINGS][96];
    int slow = 0;
    page_section(out, "time", "Time",
                 "The last run of every stage: time of all its tasks together, samples per second, "
                 "and which part of it the others waited for.");
    if (!r->timings) {
        page_missing(out, "No stage has left its times here: they come with darkroom's own runs.",
                     NULL);
        page_section_end(out);
        return;
    }
    for (int i = 1; i < r->timings; i++)
        if (r->timing[i].seconds > r->timing[slow].seconds) slow = i;
    for (int i = 0; i < r->timings; i++) {
        const struct timing *t = &r->timing[i];
        double rate = t->longest > 0 ? (double)t->samples / t->longest : 0;
        clock_span(text[i], t->seconds);
        snprintf(note[i], sizeof note[i], "%.*f/s%s%s%s%s", rate < 10 ? 1 : 0, rate,
                 t->bottleneck[0] ? ", bottleneck " : "", t->bottleneck,
                 strcmp(t->state, "done") ? ", " : "", strcmp(t->state, "done") ? t->state : "");
        row[i] = (struct chart_row){.name = t->product,
                                    .value = (int64_t)(1000 * t->seconds),
                                    .text = text[i],
                                    .note = note[i],
                                    .accent = i == slow};
    }
    html_put(out, "<div class=\"card\">");
    chart_rows(out, row, (size_t)r->timings);
    html_put(out, "</div>\n");
    page_section_end(out);
}

/* ---- runs ---- */

static void draw_run(struct str *out, struct place *p, const char *product)
{
    struct str name = {0};
    struct run run = {0};
    str_printf(&name, "_darkroom/%s/run.json", product);
    if (place_exists(p, name.p, NULL) && !run_load(&run, p, product)) {
        html_put(out, "<details><summary>%s</summary><div class=\"wide\"><table>\n", product);
        for (size_t i = 0; i < run.count; i++) {
            html_put(out, "<tr><td>%s</td><td class=\"text\"><code>", run.field[i].name);
            html_clip(out, run.field[i].value, strlen(run.field[i].value), 2000);
            html_put(out, "</code></td></tr>\n");
        }
        html_put(out, "</table></div></details>\n");
    }
    run_release(&run);
    str_release(&name);
}

static void draw_runs(struct str *out, const struct report *r)
{
    static const char *const products[] = {"embed",       "score",     "filter", "dedup-clusters",
                                           "dedup-pairs", "dedup-eps", "export"};
    page_section(out, "runs", "Runs", "The options that decided the bytes of each product.");
    html_put(out, "<div class=\"card\">");
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        draw_run(out, sidecars_place(r->sidecars), products[i]);
    html_put(out, "</div>\n");
    page_section_end(out);
}

void report_draw(struct str *out, const struct report *r)
{
    char utc[32];
    struct str foot = {0}, data = {0};
    draw_head(out, r);
    draw_tiles(out, r);
    draw_funnel(out, r);
    draw_scores(out, r);
    draw_duplicates(out, r);
    draw_clusters(out, r);
    draw_errors(out, r);
    draw_time(out, r);
    draw_runs(out, r);
    report_data(&data, r);
    page_data(out, "report-data", &data);
    clock_utc(utc);
    str_printf(&foot, "Written %s.", utc);
    if (r->pictures_from && r->pictures)
        str_printf(&foot, " Pictures from %s.", r->pictures_from);
    else if (r->shots)
        str_puts(&foot, " The shards were not at hand: --shards says where they are.");
    page_end(out, foot.p);
    str_release(&foot);
    str_release(&data);
}
