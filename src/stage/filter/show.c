/* show.c - what a filter did, rule by rule. */
#include "stage/filter/filter.h"
#include "base/log.h"
#include "format/json.h"

#include <stdio.h>
#include <string.h>

/* The rule on one line, whatever its author typed. */
static void put_rule(struct str *out, const char *rule)
{
    for (; *rule; rule++) str_putc(out, (unsigned char)*rule < ' ' || *rule == 127 ? ' ' : *rule);
}

static int digits_of(int64_t n)
{
    return snprintf(NULL, 0, "%lld", (long long)n);
}

void filter_show(const struct filter *f)
{
    struct str line = {0};
    int width = digits_of(f->rows) + 1;
    log_result("%*lld  rows", width, (long long)f->rows);
    for (size_t i = 0; i < expr_rules(f->expr); i++) {
        const struct expr_tally *t = &f->tally[i];
        str_clear(&line);
        str_printf(&line, "%*lld  ", width, -(long long)t->dropped);
        put_rule(&line, expr_rule(f->expr, i));
        if (t->null) str_printf(&line, "  (%llu for want of a value)", (unsigned long long)t->null);
        if (f->o->dry_run && t->fails > t->dropped)
            str_printf(&line, "  (%llu fail it, earlier rules aside)",
                       (unsigned long long)t->fails);
        log_result("%s", line.p);
    }
    log_result("%*lld  kept%s (%.1f %%)", width, (long long)f->kept,
               f->o->dry_run ? ", nothing was written" : "",
               f->rows ? 100.0 * (double)f->kept / (double)f->rows : 0.0);
    str_release(&line);
}

void filter_events(struct str *out, const struct filter *f)
{
    str_printf(out, ", \"judged\": %lld, \"kept\": %lld, \"dropped\": %lld, \"rules\": [",
               (long long)f->rows, (long long)f->kept, (long long)(f->rows - f->kept));
    for (size_t i = 0; i < expr_rules(f->expr); i++) {
        const struct expr_tally *t = &f->tally[i];
        const char *rule = expr_rule(f->expr, i);
        str_puts(out, i ? ", {\"rule\": " : "{\"rule\": ");
        json_quote(out, rule, strlen(rule));
        str_printf(out, ", \"dropped\": %llu, \"null\": %llu", (unsigned long long)t->dropped,
                   (unsigned long long)t->null);
        if (f->o->dry_run) str_printf(out, ", \"fails\": %llu", (unsigned long long)t->fails);
        str_putc(out, '}');
    }
    str_putc(out, ']');
}
