/* funnel.c - samples seen, embedded, kept, left and exported, and why the others are not. */
#include "stage/report/funnel.h"
#include "base/log.h"
#include "page/html.h"

#include <stdio.h>
#include <string.h>

static void step(struct funnel *f, const char *name, int64_t value, int64_t before, int64_t seen)
{
    if (f->n == FUNNEL_ROWS) return;
    struct str s = {0};
    html_percent(&s, value, seen);
    snprintf(f->note[f->n], FUNNEL_TEXT, "%s", s.p ? s.p : "");
    f->row[f->n] = (struct chart_row){.name = name,
                                      .value = value,
                                      .lost = before > value ? before - value : 0,
                                      .note = f->note[f->n],
                                      .accent = 1};
    f->n++;
    str_release(&s);
}

/* The last places are kept for the steps to come. */
static void loss(struct funnel *f, const char *name, int64_t value, int64_t nulls)
{
    if (!value || f->n >= FUNNEL_ROWS - 8) return;
    struct str s = {0};
    html_count(&s, -value);
    snprintf(f->text[f->n], FUNNEL_TEXT, "%s", s.p);
    str_clear(&s);
    if (nulls) {
        html_count(&s, nulls);
        str_puts(&s, " for want of a value");
    }
    snprintf(f->note[f->n], FUNNEL_TEXT, "%s", s.p);
    f->row[f->n] = (struct chart_row){
        .name = name, .value = value, .text = f->text[f->n], .note = f->note[f->n], .rule = 1};
    f->n++;
    str_release(&s);
}

static void filter_steps(struct funnel *f, const struct report *r)
{
    int64_t shown = 0;
    for (size_t i = 0; i < r->rules.count; i++) {
        size_t before = f->n;
        loss(f, r->rules.list[i].text, r->rules.list[i].dropped, r->rules.list[i].nulls);
        if (f->n > before) shown += r->rules.list[i].dropped;
    }
    loss(f, "other reasons", r->rows - r->kept - shown, 0);
    step(f, "passed the filter", r->kept, r->rows, r->seen);
}

void funnel_init(struct funnel *f, const struct report *r)
{
    f->n = 0;
    step(f, "samples seen", r->seen, 0, 0);
    for (size_t i = 0; i < r->faults && r->errors; i++)
        loss(f, r->fault[i].status, r->fault[i].count, 0);
    step(f, "embedded", r->rows, r->seen, r->seen);
    if (r->has_keep) filter_steps(f, r);
    if (r->has_dedup) {
        loss(f, "duplicates of another", r->removed_kept, 0);
        step(f, "left without duplicates", r->left, r->kept, r->seen);
    }
    if (r->exported >= 0)
        step(f, "exported", r->exported, r->has_dedup ? r->left : r->kept, r->seen);
}

/* A bar of at most so many columns, in eighths. */
static void print_bar(struct str *out, int64_t value, int64_t most)
{
    static const char *const part[] = {"",       "\u258f", "\u258e", "\u258d",
                                       "\u258c", "\u258b", "\u258a", "\u2589"};
    enum { BAR = 30 };
    int64_t eighths = most ? (value * BAR * 8 + most - 1) / most : 0;
    for (; eighths >= 8; eighths -= 8) str_puts(out, "\u2588");
    str_puts(out, part[eighths]);
}

void funnel_print(const struct funnel *f)
{
    size_t widest = 0;
    for (size_t i = 0; i < f->n; i++) {
        size_t n = strlen(f->row[i].name) + (f->row[i].text ? 2 : 0);
        if (n > widest) widest = n < 60 ? n : 60;
    }
    for (size_t i = 0; i < f->n; i++) {
        const struct chart_row *r = &f->row[i];
        struct str bar = {0};
        print_bar(&bar, r->value, f->row[0].value);
        if (r->text)
            log_result("  %-*.*s %12lld", (int)widest - 2, (int)widest - 2, r->name,
                       -(long long)r->value);
        else
            log_result("%-*.*s %12lld  %s", (int)widest, (int)widest, r->name, (long long)r->value,
                       bar.p ? bar.p : "");
        str_release(&bar);
    }
}
