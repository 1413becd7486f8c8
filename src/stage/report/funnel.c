/* funnel.c - samples seen, embedded, kept, left and exported, and why the others are not. */
#include "stage/report/funnel.h"
#include "base/log.h"
#include "page/html.h"
#include "text/utf8.h"

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
    if (f->n >= FUNNEL_ROWS - 8) return;
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
    if (r->rows - r->kept > shown) loss(f, "other reasons", r->rows - r->kept - shown, 0);
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

/* A name as a terminal may have it, padded; rules and statuses may be someone else's text. */
static size_t print_name(struct str *out, const struct chart_row *r, size_t width)
{
    enum { LONGEST = 60 };
    struct runes letters = {0};
    struct str name = {0};
    if (r->text) str_puts(&name, "  ");
    html_plain(&name, r->name, strlen(r->name), LONGEST);
    utf8_decode(&letters, name.p, name.len);
    str_add(out, name.p, name.len);
    size_t n = letters.n;
    for (size_t k = n; k < width; k++) str_putc(out, ' ');
    runes_release(&letters);
    str_release(&name);
    return n;
}

void funnel_print(const struct funnel *f)
{
    size_t widest = 0;
    struct str line = {0};
    for (size_t i = 0; i < f->n; i++) {
        size_t n = print_name(&line, &f->row[i], 0);
        if (n > widest) widest = n;
    }
    for (size_t i = 0; i < f->n; i++) {
        const struct chart_row *r = &f->row[i];
        str_clear(&line);
        print_name(&line, r, widest);
        str_printf(&line, " %12lld", r->text ? -(long long)r->value : (long long)r->value);
        if (!r->text) str_puts(&line, "  "), print_bar(&line, r->value, f->row[0].value);
        log_result("%s", line.p);
    }
    str_release(&line);
}
