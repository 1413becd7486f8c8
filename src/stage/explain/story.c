/* story.c - facts in the order they were found, told as lines for people or as JSON. */
#include "stage/explain/explain.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "format/json.h"
#include "page/html.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 400 }; /* characters of a value in a line */

void story_add(struct story *s, const char *section, const char *name, struct parquet_slice text,
               int quoted)
{
    vec_push(s->fact, s->count, s->cap);
    s->fact[s->count++] =
        (struct fact){section, mem_strdup(name), text_copy(text.p, text.n, SIZE_MAX), NULL, quoted};
}

void story_words(struct story *s, const char *section, const char *name, const char *text)
{
    story_add(s, section, name, (struct parquet_slice){text, strlen(text)}, 1);
}

void story_rule(struct story *s, const char *rule, const char *verdict, const char *words,
                const char *json)
{
    struct str text = {0};
    str_printf(&text, "{\"verdict\": \"%s\", \"values\": {%s}}", verdict, json);
    story_add(s, "rules", rule, (struct parquet_slice){text.p, text.len}, 0);
    str_clear(&text);
    str_puts(&text, verdict);
    if (*words) str_printf(&text, " (%s)", words);
    s->fact[s->count - 1].words = mem_strdup(text.p);
    str_release(&text);
}

void story_number(struct story *s, const char *section, const char *name, int64_t n)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%" PRId64, n);
    story_add(s, section, name, (struct parquet_slice){text, (size_t)len}, 0);
}

const char *story_get(const struct story *s, const char *section, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->fact[i].section, section) && !strcmp(s->fact[i].name, name))
            return s->fact[i].text.p;
    return NULL;
}

void story_end(struct story *s, const char *outcome, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    s->outcome = outcome;
    free(s->ending);
    s->ending = mem_strdup(text);
}

void story_release(struct story *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->fact[i].name);
        free(s->fact[i].text.p);
        free(s->fact[i].words);
    }
    free(s->fact);
    free(s->ending);
    memset(s, 0, sizeof *s);
}

/* "  scores     aesthetic_score = 6.2": text of others is made harmless for a terminal. */
static void tell_line(const char *label, const char *name, const char *between, const char *text,
                      size_t n)
{
    struct str line = {0};
    str_printf(&line, "  %-11s ", label);
    html_plain(&line, name, strlen(name), SHOWN);
    str_puts(&line, between);
    html_plain(&line, text, n, SHOWN);
    log_result("%s", line.p);
    str_release(&line);
}

/* One section in the order its facts were found; label NULL: each fact's own name. */
static void tell_section(const struct story *s, const char *section, const char *label)
{
    int rule = !strcmp(section, "rules");
    for (size_t i = 0; i < s->count; i++) {
        const struct fact *f = &s->fact[i];
        if (strcmp(f->section, section)) continue;
        if (rule)
            tell_line(label, f->name, ": ", f->words, strlen(f->words));
        else
            tell_line(label ? label : f->name, label ? f->name : "", label ? " = " : "", f->text.p,
                      f->text.n);
    }
}

/* The filter's verdict stands in its rules and in the outcome. */
static void tell_lines(const struct story *s)
{
    struct str key = {0};
    html_plain(&key, s->key, strlen(s->key), SHOWN);
    log_result("%s", key.p ? key.p : "");
    tell_section(s, "", NULL);
    tell_section(s, "metadata", "metadata");
    tell_section(s, "scores", "score");
    tell_section(s, "rules", "rule");
    tell_section(s, "dedup", "dedup");
    tell_line("outcome", "", "", s->ending, strlen(s->ending));
    str_release(&key);
}

static void put_fact(struct str *out, const struct fact *f)
{
    json_quote(out, f->name, strlen(f->name));
    str_puts(out, ": ");
    if (f->quoted)
        json_quote(out, f->text.p, f->text.n);
    else
        str_puts(out, f->text.p);
}

static void put_section(struct str *out, const struct story *s, const char *section)
{
    const char *comma = "";
    str_printf(out, ", \"%s\": {", section);
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(s->fact[i].section, section)) continue;
        str_puts(out, comma);
        put_fact(out, &s->fact[i]);
        comma = ", ";
    }
    str_puts(out, "}");
}

static void tell_json(const struct story *s)
{
    static const char *const sections[] = {"metadata", "scores", "filter", "rules", "dedup"};
    struct str out = {0};
    str_puts(&out, "{\"event\": \"sample\", \"asked\": ");
    json_quote(&out, s->key, strlen(s->key));
    for (size_t i = 0; i < s->count; i++) {
        if (*s->fact[i].section) continue;
        str_puts(&out, ", ");
        put_fact(&out, &s->fact[i]);
    }
    for (size_t k = 0; k < sizeof sections / sizeof *sections; k++)
        put_section(&out, s, sections[k]);
    str_printf(&out, ", \"outcome\": \"%s\", \"why\": ", s->outcome);
    json_quote(&out, s->ending, strlen(s->ending));
    str_puts(&out, "}");
    log_event(out.p);
    str_release(&out);
}

void story_tell(const struct story *s)
{
    if (log_json())
        tell_json(s);
    else
        tell_lines(s);
}

/* ---- errors ---- */

static void tell_error(const char *key, int64_t partition, const struct parquet_values *const *v,
                       const char *const *names, size_t n, size_t i)
{
    struct story s = {.key = key};
    story_number(&s, "", "partition", partition);
    for (size_t k = 0; k < n; k++) {
        if (v[k] && v[k]->slices)
            story_add(&s, "", names[k], v[k]->slices[i], 1);
        else if (v[k] && v[k]->ints)
            story_number(&s, "", names[k], v[k]->ints[i]);
    }
    const char *status = story_get(&s, "", "status"), *message = story_get(&s, "", "message");
    story_end(&s, "error", "it has no row: %s, %s", status ? status : "?", message ? message : "?");
    story_tell(&s);
    story_release(&s);
}

int story_errors(struct parquet_reader *t, const char *key, int64_t partition, int64_t *told)
{
    static const char *const names[] = {"key", "shard", "offset", "stage", "status", "message"};
    enum { N = sizeof names / sizeof *names };
    const struct parquet_values *v[N];
    int col[N], rc;
    size_t rows, len = strlen(key);
    for (int k = 0; k < N; k++) {
        col[k] = parquet_find(t, names[k]);
        if (col[k] >= 0) parquet_select(t, (size_t)col[k]);
    }
    if (col[0] < 0 || parquet_field(t, (size_t)col[0])->type != PARQUET_STRING)
        return err_set(ERR_INPUT, "has no column key");
    while (!(rc = parquet_next(t, 0, &rows))) {
        for (int k = 0; k < N; k++) v[k] = col[k] < 0 ? NULL : parquet_values(t, (size_t)col[k]);
        for (size_t i = 0; i < rows; i++) {
            const struct parquet_slice *s = &v[0]->slices[i];
            if ((v[0]->valid && !v[0]->valid[i]) || s->n != len || memcmp(s->p, key, len)) continue;
            tell_error(key, partition, v, names, N, i);
            ++*told;
        }
    }
    return rc < 0 ? rc : 0;
}
