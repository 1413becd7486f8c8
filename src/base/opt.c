/* opt.c - see opt.h. One parser for the command line, defaults and config files. */
#include "base/opt.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void *field(const struct opt *o, void *options)
{
    return (char *)options + o->at;
}

/* Does `name` (len bytes) equal one of the comma-separated words, '_' and '-' alike? */
static int is_one_of(const char *words, const char *name, size_t len)
{
    while (words && *words) {
        size_t n = strcspn(words, ","), i = 0;
        if (n == len) {
            while (i < n && (words[i] == name[i] || (words[i] == '-' && name[i] == '_'))) i++;
            if (i == n) return 1;
        }
        words += n + (words[n] == ',');
    }
    return 0;
}

const struct opt *opt_find(const struct opt_set *set, const char *name, size_t len)
{
    for (int t = 0; set->table[t]; t++)
        for (const struct opt *o = set->table[t]; o->name; o++)
            if (is_one_of(o->name, name, len) || is_one_of(o->also, name, len)) return o;
    return NULL;
}

static const struct opt *find_letter(const struct opt_set *set, char letter)
{
    for (int t = 0; set->table[t]; t++)
        for (const struct opt *o = set->table[t]; o->name; o++)
            if (o->letter && o->letter == letter) return o;
    return NULL;
}

static int parse_bool(int *out, const char *text)
{
    static const char *const yes[] = {"true", "1", "yes", "on"}, *const no[] = {"false", "0", "no",
                                                                                "off"};
    for (int i = 0; i < 4; i++) {
        if (!strcasecmp(text, yes[i])) return *out = 1, 0;
        if (!strcasecmp(text, no[i])) return *out = 0, 0;
    }
    return ERR_USAGE;
}

int opt_size(uint64_t *out, const char *text)
{
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    if (end == text || errno || !(v >= 0)) return ERR_USAGE;
    static const char units[] = "KMGTP";
    const char *u = *end ? memchr(units, *end & ~32, 5) : NULL;
    if (u) {
        v *= pow(1024, (double)(u - units + 1));
        end++;
        if (*end == 'i' || *end == 'I') end++;
    }
    if (*end == 'b' || *end == 'B') end++;
    if (*end || v > 9e18) return ERR_USAGE;
    *out = (uint64_t)v;
    return 0;
}

const char *opt_choice(const struct opt *o, int index, size_t *len)
{
    const char *p = o->arg;
    for (; index > 0; index--) p += strcspn(p, "|") + 1;
    *len = strcspn(p, "|");
    return p;
}

static int parse_choice(const struct opt *o, int *out, const char *text)
{
    int i = 0;
    for (const char *p = o->arg;; i++) {
        size_t n = strcspn(p, "|");
        if (strlen(text) == n && !strncasecmp(p, text, n)) return *out = i, 0;
        if (!p[n]) return ERR_USAGE;
        p += n + 1;
    }
}

static int parse_number(const struct opt *o, void *at, const char *text)
{
    char *end;
    errno = 0;
    if (o->type == OPT_INT)
        *(int64_t *)at = strtoll(text, &end, 10);
    else
        *(double *)at = strtod(text, &end);
    /* 1e6 is how people write large counts */
    if (o->type == OPT_INT && *end && end != text) {
        double v = strtod(text, &end);
        if (v == floor(v) && fabs(v) < 9e18)
            *(int64_t *)at = (int64_t)v;
        else
            return ERR_USAGE;
    }
    return errno || end == text || *end ? ERR_USAGE : 0;
}

static int set_value(const struct opt *o, void *options, const char *text);

/* Python users write None for "as if not given". */
static int set_none(const struct opt *o, void *options)
{
    static const size_t size[] = {[OPT_FLAG] = sizeof(int),     [OPT_BOOL] = sizeof(int),
                                  [OPT_INT] = sizeof(int64_t),  [OPT_SIZE] = sizeof(uint64_t),
                                  [OPT_FLOAT] = sizeof(double), [OPT_STR] = sizeof(char *),
                                  [OPT_CHOICE] = sizeof(int),   [OPT_LIST] = 0};
    memset(field(o, options), 0, size[o->type]);
    return o->value ? set_value(o, options, o->value) : 0;
}

static int set_value(const struct opt *o, void *options, const char *text)
{
    void *at = field(o, options);
    if (!strcmp(text, "None")) return set_none(o, options);
    switch (o->type) {
    case OPT_FLAG: return parse_bool(at, text);
    case OPT_BOOL:
        if (o->value && !strcmp(o->value, "auto") && !strcasecmp(text, "auto")) {
            *(int *)at = -1;
            return 0;
        }
        return parse_bool(at, text);
    case OPT_INT:
    case OPT_FLOAT: return parse_number(o, at, text);
    case OPT_SIZE: return opt_size(at, text);
    case OPT_STR: *(const char **)at = text; return 0;
    case OPT_CHOICE: return parse_choice(o, at, text);
    case OPT_LIST: {
        struct opt_list *l = at;
        l->item = mem_resize(l->item, ((size_t)l->count + 1) * sizeof *l->item);
        l->item[l->count++] = text;
        return 0;
    }
    }
    return ERR_USAGE;
}

void opt_defaults(const struct opt_set *set, void *options)
{
    for (int t = 0; set->table[t]; t++)
        for (const struct opt *o = set->table[t]; o->name; o++)
            if (o->value) set_value(o, options, o->value);
}

static int refuse_value(const struct opt *o, const char *text)
{
    static const char *const wants[] = {
        [OPT_FLAG] = "true or false", [OPT_BOOL] = "true or false",
        [OPT_INT] = "a whole number", [OPT_SIZE] = "a size such as 512M or 4G",
        [OPT_FLOAT] = "a number",     [OPT_STR] = "a word",
        [OPT_CHOICE] = NULL,          [OPT_LIST] = "a word"};
    const char *want = wants[o->type] ? wants[o->type] : o->arg;
    return err_set(ERR_USAGE, "--%s takes %s, not '%s'", o->name, want, text);
}

static int refuse_name(const struct opt_set *set, const char *name, size_t len)
{
    const char *names[512];
    size_t n = 0;
    char word[128];
    snprintf(word, sizeof word, "%.*s", (int)(len > 120 ? 120 : len), name);
    for (int t = 0; set->table[t]; t++)
        for (const struct opt *o = set->table[t]; o->name && n < 511; o++) names[n++] = o->name;
    names[n] = NULL;
    const char *near = str_nearest(word, names);
    if (near) return err_set(ERR_USAGE, "no option --%s; did you mean --%s?", word, near);
    return err_set(ERR_USAGE, "no option --%s", word);
}

int opt_assign(const struct opt_set *set, void *options, const char *name, const char *value)
{
    const struct opt *o = opt_find(set, name, strlen(name));
    if (!o) return refuse_name(set, name, strlen(name));
    return set_value(o, options, value) ? refuse_value(o, value) : 0;
}

/* One option word at argv[*i], its value perhaps in the next one. */
static int parse_long(const struct opt_set *set, void *options, int *i, int argc, char **argv)
{
    const char *name = argv[*i] + 2, *value = strchr(name, '=');
    size_t len = value ? (size_t)(value - name) : strlen(name);
    const struct opt *o = opt_find(set, name, len);
    if (!o) return refuse_name(set, name, len);
    if (value)
        value++;
    else if (o->type == OPT_FLAG)
        value = "1";
    else if (*i + 1 < argc)
        value = argv[++*i];
    else
        return err_set(ERR_USAGE, "--%s needs a value", o->name);
    return set_value(o, options, value) ? refuse_value(o, value) : 0;
}

static int parse_short(const struct opt_set *set, void *options, int *i, int argc, char **argv)
{
    const char *word = argv[*i];
    const struct opt *o = find_letter(set, word[1]);
    if (!o) return err_set(ERR_USAGE, "no option -%c", word[1]);
    const char *value = word[2] ? word + 2 : NULL;
    if (o->type == OPT_FLAG) {
        if (value) return err_set(ERR_USAGE, "-%c takes no value", word[1]);
        value = "1";
    } else if (!value) {
        if (*i + 1 >= argc) return err_set(ERR_USAGE, "-%c needs a value", word[1]);
        value = argv[++*i];
    }
    return set_value(o, options, value) ? refuse_value(o, value) : 0;
}

int opt_parse(const struct opt_set *set, void *options, const char **args, int *nargs, int argc,
              char **argv)
{
    int only_words = 0, rc = 0;
    *nargs = 0;
    for (int i = 0; i < argc && !rc; i++) {
        const char *w = argv[i];
        if (only_words || w[0] != '-' || !w[1])
            args[(*nargs)++] = w;
        else if (!strcmp(w, "--"))
            only_words = 1;
        else if (w[1] == '-')
            rc = parse_long(set, options, &i, argc, argv);
        else
            rc = parse_short(set, options, &i, argc, argv);
    }
    return rc;
}

void opt_print(struct str *out, const struct opt *o, const void *options)
{
    const void *at = (const char *)options + o->at;
    switch (o->type) {
    case OPT_FLAG:
    case OPT_BOOL: {
        int v = *(const int *)at;
        str_puts(out, v < 0 ? "auto" : v ? "true" : "false");
        break;
    }
    case OPT_INT: str_printf(out, "%lld", (long long)*(const int64_t *)at); break;
    case OPT_SIZE: str_printf(out, "%llu", (unsigned long long)*(const uint64_t *)at); break;
    case OPT_FLOAT: str_printf(out, "%.17g", *(const double *)at); break;
    case OPT_STR: {
        const char *s = *(const char *const *)at;
        str_puts(out, s ? s : "");
        break;
    }
    case OPT_CHOICE: {
        size_t n;
        const char *p = opt_choice(o, *(const int *)at, &n);
        str_add(out, p, n);
        break;
    }
    case OPT_LIST: {
        const struct opt_list *l = at;
        for (int i = 0; i < l->count; i++) str_printf(out, "%s%s", i ? "," : "", l->item[i]);
        break;
    }
    }
}

void opt_release(const struct opt_set *set, void *options)
{
    for (int t = 0; set->table[t]; t++)
        for (const struct opt *o = set->table[t]; o->name; o++)
            if (o->type == OPT_LIST) {
                struct opt_list *l = field(o, options);
                free(l->item);
                *l = (struct opt_list){NULL, 0};
            }
}
