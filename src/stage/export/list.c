/* list.c - the keys that would be exported, one a line: shard, tab, key. Keys are text from
 * outside: a backslash, tab, newline or carriage return in them is written \\, \t, \n, \r. */
#include "stage/export/export.h"
#include "base/mem.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 64 << 10 }; /* bytes that are written at once */

struct lister {
    struct sidecars *sidecars;
    struct survivors survivors;
    struct columns columns;
    const struct column_info *want[2]; /* key; shard, when there is one */
    size_t count;
    struct sink *sink; /* NULL: standard output */
    struct str text;
};

static void add_text(struct str *out, struct parquet_slice s)
{
    static const char from[] = "\\\t\n\r", to[] = "\\tnr";
    for (size_t i = 0; i < s.n; i++) {
        const char *at = s.p[i] ? strchr(from, s.p[i]) : NULL;
        if (at) str_putc(out, '\\');
        str_putc(out, at ? to[at - from] : s.p[i]);
    }
}

static void add_value(struct str *out, const struct column *c, size_t i)
{
    if (c->type == COLUMN_STRING)
        add_text(out, c->strings[i]);
    else if (c->type == COLUMN_INT)
        str_printf(out, "%lld", (long long)c->ints[i]);
}

static int flush(struct lister *l, size_t above)
{
    int rc = 0;
    if (l->text.len <= above) return 0;
    if (l->sink)
        rc = sink_write(l->sink, l->text.p, l->text.len);
    else if (fwrite(l->text.p, 1, l->text.len, stdout) != l->text.len)
        rc = err_set(ERR_OUTPUT, "standard output: cannot be written");
    str_clear(&l->text);
    return rc;
}

static void add_shard(struct lister *l, const struct batch *b, int64_t part, size_t i)
{
    if (l->count > 1)
        add_value(&l->text, batch_column(b, 1), i);
    else
        str_printf(&l->text, "%0*lld", sidecars_digits(l->sidecars),
                   (long long)sidecars_number(l->sidecars, part));
}

static int list_part(struct lister *l, int64_t part)
{
    struct batch *b = NULL;
    int64_t row = 0;
    size_t n;
    if (l->survivors.first[part] == l->survivors.first[part + 1]) return 0;
    int rc = batch_open(&b, l->sidecars, part, l->want, l->count);
    while (!rc && !(rc = batch_next(b, 0, &n)))
        for (size_t i = 0; i < n && !rc; i++, row++) {
            if (!survivors_has(&l->survivors, part, row)) continue;
            add_shard(l, b, part, i);
            str_putc(&l->text, '\t');
            add_value(&l->text, batch_column(b, 0), i);
            str_putc(&l->text, '\n');
            rc = flush(l, LINES);
        }
    batch_close(b);
    return rc == 1 ? 0 : rc;
}

static int load(struct lister *l, const char *place)
{
    int rc = sidecars_open(&l->sidecars, place);
    if (!rc) rc = survivors_load(&l->survivors, l->sidecars);
    if (!rc) rc = columns_load_from(&l->columns, l->sidecars, 1u << SIDE_METADATA);
    if (rc) return rc;
    const char *id = columns_id(&l->columns);
    if (!id) return err_set(ERR_INPUT, "%s: no column names the samples", place);
    l->want[l->count++] = columns_find(&l->columns, id);
    const struct column_info *shard = columns_find(&l->columns, "shard");
    if (shard) l->want[l->count++] = shard;
    return 0;
}

static int list_all(struct lister *l)
{
    int rc = 0;
    for (int64_t i = 0; i < sidecars_count(l->sidecars) && !rc; i++) rc = list_part(l, i);
    return rc ? rc : flush(l, 0);
}

/* To a file, which appears when it is whole. */
static int list_to(struct lister *l, const char *file)
{
    struct place *p;
    char *folder = mem_strdup(file), *name = mem_strdup(file);
    int rc = file_exists(file) == 2
                 ? err_set(ERR_USAGE, "%s: is a folder; with --list OUT is a file", file)
                 : place_open(&p, dirname(folder), 1);
    if (!rc) {
        rc = place_create(p, basename(name), &l->sink);
        if (!rc) rc = list_all(l);
        if (rc)
            sink_abort(l->sink);
        else
            rc = sink_commit(l->sink, NULL, NULL);
        place_close(p);
    }
    free(folder);
    free(name);
    return rc;
}

int export_list(const struct export_options *o, const char **args, int nargs)
{
    struct lister l = {0};
    if (!nargs) return err_set(ERR_USAGE, "export --list takes PLACE [FILE]");
    if (strcmp(o->common.task, "0/1"))
        return err_set(ERR_USAGE, "a list is one piece: leave --task out");
    const char *file = nargs > 1 ? args[nargs - 1] : "-", *place = args[nargs > 1 ? nargs - 2 : 0];
    int rc = load(&l, place);
    if (!rc) rc = strcmp(file, "-") ? list_to(&l, file) : list_all(&l);
    columns_release(&l.columns);
    survivors_release(&l.survivors);
    sidecars_close(l.sidecars);
    str_release(&l.text);
    return rc;
}
