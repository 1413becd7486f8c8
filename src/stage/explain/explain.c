/* explain.c - `darkroom explain`: the story of one sample, from what the sidecars say about its
 * row. Facts are gathered first and then told, as lines or as JSON. */
#include "stage/explain/explain.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HITS_MAX = 100, NEAREST = 3, CHAIN_MAX = 64 };

/* ---- which rows ---- */

static const char *const id_names[] = {"key", "id", "image_id", "image_path", "url"};
enum { IDS = sizeof id_names / sizeof *id_names };

struct hit {
    int64_t part, row;
};

struct search {
    struct report *r;
    const char *key;
    size_t len;
    size_t columns;
    struct hit hit[HITS_MAX];
    int64_t hits;
    /* when there is none: the keys that begin and end most alike */
    struct {
        char *key;
        size_t alike;
    } near[NEAREST];
};

static void look_for(void *arg, const struct rows *rows)
{
    struct search *s = arg;
    for (size_t i = 0; i < rows->count; i++)
        for (size_t k = 0; k < s->columns; k++) {
            if (!row_named(rows, k, i, s->key, s->len)) continue;
            if (s->hits < HITS_MAX)
                s->hit[s->hits] = (struct hit){rows->part, rows->row + (int64_t)i};
            s->hits++;
            break;
        }
}

/* Bytes at the start and at the end that two texts share. */
static size_t alike(const char *a, size_t na, const char *b, size_t nb)
{
    size_t least = na < nb ? na : nb, head = 0, tail = 0;
    while (head < least && a[head] == b[head]) head++;
    while (tail < least - head && a[na - 1 - tail] == b[nb - 1 - tail]) tail++;
    return head + tail;
}

static void add_near(struct search *s, const char *key, size_t n)
{
    size_t score = alike(s->key, s->len, key, n);
    int at = NEAREST;
    if (!score) return;
    while (at && (!s->near[at - 1].key || s->near[at - 1].alike < score)) at--;
    if (at == NEAREST) return;
    free(s->near[NEAREST - 1].key);
    memmove(&s->near[at + 1], &s->near[at], (size_t)(NEAREST - 1 - at) * sizeof *s->near);
    s->near[at].key = mem_strndup(key, n);
    s->near[at].alike = score;
}

static void look_near(void *arg, const struct rows *rows)
{
    struct search *s = arg;
    const struct column *c = rows->col[0];
    if (!c || c->type != COLUMN_STRING) return;
    for (size_t i = 0; i < rows->count; i++)
        if (!c->valid || c->valid[i]) add_near(s, c->strings[i].p, c->strings[i].n);
}

/* "PART:ROW", as dedup names rows that have no key. */
static void look_by_number(struct search *s)
{
    long long part, row;
    int end = 0;
    if (sscanf(s->key, "%lld:%lld%n", &part, &row, &end) != 2 || s->key[end]) return;
    int64_t i = sidecars_find(s->r->sidecars, part);
    if (i < 0 || row < 0 || row >= sidecars_rows(s->r->sidecars, i)) return;
    s->hit[s->hits++] = (struct hit){i, row};
}

static int find_rows(struct search *s)
{
    const struct column_info *want[IDS];
    for (size_t i = 0; i < IDS; i++) {
        const struct column_info *c = columns_find(&s->r->columns, id_names[i]);
        if (c && c->from == SIDE_METADATA) want[s->columns++] = c;
    }
    int rc = report_walk(s->r, want, s->columns, look_for, s);
    if (!rc && !s->hits) look_by_number(s);
    return rc;
}

static int unknown_key(struct search *s)
{
    struct str near = {0};
    const char *id = columns_id(&s->r->columns);
    const struct column_info *want[1] = {id ? columns_find(&s->r->columns, id) : NULL};
    int rc = want[0] ? report_walk(s->r, want, 1, look_near, s) : 0;
    for (int i = 0; i < NEAREST && s->near[i].key; i++)
        str_printf(&near, "%s%s", i ? ", " : "; near it: ", s->near[i].key);
    if (!rc)
        rc = err_set(ERR_INPUT, "%s has no sample '%s'%s",
                     place_url(sidecars_place(s->r->sidecars)), s->key, near.p ? near.p : "");
    for (int i = 0; i < NEAREST; i++) free(s->near[i].key);
    str_release(&near);
    return rc;
}

/* ---- facts about a row ---- */

/* As few digits as tell the number from its neighbours; scores are float32. */
static void put_real(struct str *out, double v)
{
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        double back = strtod(text, NULL);
        if (back == v || ((double)(float)v == v && (float)back == (float)v)) break;
    }
    str_puts(out, text);
}

struct parquet_slice value_text(struct str *room, const struct column *c, size_t i)
{
    str_clear(room);
    if (c->type == COLUMN_STRING) return c->strings[i];
    if (c->type == COLUMN_INT)
        str_printf(room, "%" PRId64, c->ints[i]);
    else if (c->type == COLUMN_BOOL)
        str_puts(room, c->bools[i] ? "true" : "false");
    else
        put_real(room, c->reals[i]);
    return (struct parquet_slice){room->p, room->len};
}

static const char *section_of(const struct column_info *c)
{
    static const char *const own[] = {"shard", "key", "image_path", "caption", "width", "height"};
    if (c->from == SIDE_SCORES) return "scores";
    if (c->from == SIDE_KEEP) return "filter";
    if (c->from == SIDE_ASSIGN) return "dedup";
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(c->name, own[i])) return "";
    return "metadata";
}

struct reading {
    struct story *s;
    const struct column_info *const *want;
    size_t n;
};

static void read_row(void *arg, const struct rows *rows)
{
    struct reading *t = arg;
    struct str room = {0};
    int64_t i = t->s->row - rows->row;
    if (i < 0 || i >= (int64_t)rows->count) return;
    for (size_t k = 0; k < t->n; k++) {
        const struct column *c = rows->col[k];
        if (!c || (c->valid && !c->valid[i])) continue;
        int quoted = c->type == COLUMN_STRING || (c->type == COLUMN_REAL && !isfinite(c->reals[i]));
        story_add(t->s, section_of(t->want[k]), t->want[k]->name, value_text(&room, c, (size_t)i),
                  quoted);
    }
    str_release(&room);
}

/* All columns, as many at a time as a walk takes. */
static int read_columns(struct report *r, struct story *s)
{
    int rc = 0;
    r->only = mem_alloc((size_t)sidecars_count(r->sidecars) + 1);
    r->only[s->part] = 1;
    for (size_t from = 0; from < r->columns.count && !rc; from += WALK_COLUMNS) {
        const struct column_info *want[WALK_COLUMNS];
        struct reading t = {s, want, 0};
        while (t.n < WALK_COLUMNS && from + t.n < r->columns.count) {
            want[t.n] = &r->columns.list[from + t.n];
            t.n++;
        }
        rc = report_walk(r, want, t.n, read_row, &t);
    }
    free(r->only);
    r->only = NULL;
    return rc;
}

struct counting {
    int64_t cluster, rows;
};

static void count_cluster(void *arg, const struct rows *rows)
{
    struct counting *c = arg;
    const struct column *cluster = rows->col[0];
    for (size_t i = 0; cluster && i < rows->count; i++)
        c->rows += (!cluster->valid || cluster->valid[i]) && cluster->ints[i] == c->cluster;
}

static int size_cluster(struct report *r, struct story *s)
{
    const struct column_info *want[1] = {columns_find(&r->columns, "nearest_cent")};
    const char *text = story_get(s, "dedup", "nearest_cent");
    struct counting c = {.cluster = text ? strtoll(text, NULL, 10) : -1};
    if (!text || want[0]->type != COLUMN_INT || c.cluster < 0) return 0;
    int rc = report_walk(r, want, 1, count_cluster, &c);
    if (!rc) story_number(s, "dedup", "cluster_rows", c.rows);
    return rc;
}

/* ---- what became of it ---- */

struct chain {
    struct story *s;
    int64_t cluster;
    char *name, *next; /* the id looked for, and the one it names */
    int found;
};

static void find_self(void *arg, const struct entry *e)
{
    struct chain *c = arg;
    if (e->part == c->s->part && e->row == c->s->row) c->found = 1;
}

static void find_link(void *arg, const struct entry *e)
{
    struct chain *c = arg;
    if (c->next || (e->part == c->s->part && e->row == c->s->row) || e->cluster != c->cluster ||
        e->id.n != strlen(c->name) || memcmp(e->id.p, c->name, e->id.n))
        return;
    c->next = mem_strndup(e->nearest.p, e->nearest.n);
}

static int listed(int *out, struct report *r, struct story *s, const char *file)
{
    struct chain c = {.s = s};
    *out = 0;
    if (!place_exists(sidecars_place(r->sidecars), file, NULL)) return 0;
    int rc =
        entries_each(r->sidecars, file, 1u << ENTRY_PART | 1u << ENTRY_ROW, find_self, &c, NULL);
    *out = c.found;
    return rc;
}

/* Rows that a name of dedup can mean: of that id, in the same cluster, and not the row itself.
 * Shards may repeat keys, so the name alone would not tell. */
enum { MEANT = 3 };
struct meaning {
    struct report *r;
    const struct story *s;
    const char *name;
    int64_t cluster;
    int found;
    struct str where; /* "0:17 of 00000.tar" */
};

static void find_meant(void *arg, const struct rows *rows)
{
    struct meaning *m = arg;
    const struct column *cluster = rows->col[1], *shard = rows->col[2];
    for (size_t i = 0; cluster && i < rows->count; i++) {
        int64_t row = rows->row + (int64_t)i;
        if ((cluster->valid && !cluster->valid[i]) || cluster->ints[i] != m->cluster ||
            (rows->part == m->s->part && row == m->s->row) ||
            !row_named(rows, 0, i, m->name, strlen(m->name)) || m->found++ >= MEANT)
            continue;
        str_printf(&m->where, "%s%" PRId64 ":%" PRId64, m->found > 1 ? " or " : "",
                   sidecars_number(m->r->sidecars, rows->part), row);
        if (shard && shard->type == COLUMN_STRING && (!shard->valid || shard->valid[i]))
            str_printf(&m->where, " of %.*s",
                       shard->strings[i].n < 200 ? (int)shard->strings[i].n : 200,
                       shard->strings[i].p);
    }
}

/* "0:4 of 00000.tar", or nothing when dedup's name cannot be found. */
static int find_row(struct str *out, struct report *r, const struct story *s, const char *name)
{
    const char *id = columns_id(&r->columns), *cluster = story_get(s, "dedup", "nearest_cent");
    struct meaning m = {.r = r, .s = s, .name = name};
    const struct column_info *want[3] = {id ? columns_find(&r->columns, id) : NULL,
                                         columns_find(&r->columns, "nearest_cent"),
                                         columns_find(&r->columns, "shard")};
    int rc = 0;
    m.cluster = cluster ? strtoll(cluster, NULL, 10) : -1;
    if (want[0] && want[1] && cluster && want[1]->type == COLUMN_INT)
        rc = report_walk(r, want, want[2] ? 3 : 2, find_meant, &m);
    if (m.found) str_printf(out, "%s%s", m.where.p, m.found > MEANT ? " or others" : "");
    str_release(&m.where);
    return rc;
}

/* Follow the names from its nearest one until one that was not removed. */
static int find_kept(struct report *r, struct story *s, const char *nearest)
{
    const char *cluster = story_get(s, "dedup", "nearest_cent");
    struct chain c = {.s = s, .cluster = cluster ? strtoll(cluster, NULL, 10) : -1};
    struct str at = {0};
    int rc = 0;
    c.name = mem_strdup(nearest);
    for (int i = 0; i < CHAIN_MAX && !rc; i++) {
        rc = entries_each(r->sidecars, "dedup/removed.parquet",
                          1u << ENTRY_ID | 1u << ENTRY_PART | 1u << ENTRY_ROW |
                              1u << ENTRY_CLUSTER | 1u << ENTRY_NEAREST,
                          find_link, &c, NULL);
        if (!c.next) break;
        free(c.name);
        c.name = c.next;
        c.next = NULL;
    }
    if (!rc) story_words(s, "dedup", "kept_instead", c.name);
    if (!rc) rc = find_row(&at, r, s, c.name);
    if (!rc && at.len) story_words(s, "dedup", "kept_row", at.p);
    str_release(&at);
    free(c.name);
    free(c.next);
    return rc;
}

static int judge_dedup(struct report *r, struct story *s)
{
    int removed, quarantined = 0;
    const char *nearest = story_get(s, "dedup", "max_id");
    const char *score = story_get(s, "dedup", "cosine_sim_score");
    int rc = r->has_dedup ? listed(&removed, r, s, "dedup/removed.parquet") : (removed = 0);
    if (!rc && !removed && r->has_dedup)
        rc = listed(&quarantined, r, s, "dedup/quarantined.parquet");
    if (rc) return rc;
    if (removed) {
        struct str at = {0};
        if (nearest) rc = find_row(&at, r, s, nearest);
        story_end(s, "removed", "removed as a duplicate of %s%s%s%s, similarity %s",
                  nearest ? nearest : "?", at.len ? " (" : "", at.len ? at.p : "",
                  at.len ? ")" : "", score ? score : "?");
        str_release(&at);
        return rc || !nearest ? rc : find_kept(r, s, nearest);
    }
    if (quarantined)
        story_end(s, "quarantined",
                  "set aside by dedup: its embedding is zero or not a number, so it has no "
                  "neighbours");
    return 0;
}

/* One sentence for a sample that stays, of what was done so far. */
static void end_kept(const struct report *r, struct story *s, int filtered)
{
    const char *out = story_get(s, "", "exported");
    struct str text = {0};
    if (filtered) str_puts(&text, ": it passed the filter");
    if (r->has_dedup)
        str_printf(&text, "%s is no duplicate of a kept one", filtered ? " and" : ": it");
    if (!text.len) str_puts(&text, ": nothing was filtered or deduplicated yet");
    if (out) str_printf(&text, "; exported to %s", out);
    story_end(s, "kept", "kept%s", text.p);
    str_release(&text);
}

static int judge(struct report *r, struct story *s)
{
    const char *keep = story_get(s, "filter", "keep"), *reason = story_get(s, "filter", "reason");
    if (keep && strcmp(keep, "true")) {
        story_end(s, "dropped", "dropped by the filter: %s", reason && *reason ? reason : "?");
        return 0;
    }
    int rc = judge_dedup(r, s);
    if (rc) return rc;
    if (!s->outcome || !strcmp(s->outcome, "quarantined")) story_exported(s, r);
    if (!s->outcome) end_kept(r, s, keep != NULL);
    return 0;
}

static int tell_row(struct report *r, const char *key, const struct hit *h)
{
    struct story s = {.key = key, .part = h->part, .row = h->row};
    story_number(&s, "", "partition", sidecars_number(r->sidecars, h->part));
    story_number(&s, "", "row", h->row);
    int rc = read_columns(r, &s);
    if (!rc) rc = story_rules(&s, r);
    if (!rc) rc = size_cluster(r, &s);
    if (!rc) rc = judge(r, &s);
    if (!rc) story_tell(&s);
    story_release(&s);
    return rc;
}

/* ---- samples that have no row ---- */

struct errors_of {
    const char *key;
    int64_t *told;
};

static int tell_file(void *arg, struct parquet_reader *t, int64_t partition)
{
    struct errors_of *e = arg;
    return story_errors(t, e->key, partition, e->told);
}

static int explain_run(void *options, const char **args, int nargs)
{
    (void)options;
    if (nargs != 2) return err_set(ERR_USAGE, "explain takes PLACE and KEY");
    struct report *r = mem_alloc(sizeof *r);
    struct search *s = mem_alloc(sizeof *s);
    int64_t told = 0;
    *s = (struct search){.r = r, .key = args[1], .len = strlen(args[1])};
    int rc = report_open(r, args[0]);
    if (!rc) r->has_dedup = dedup_finished(r);
    if (!rc) rc = find_rows(s);
    for (int64_t i = 0; i < s->hits && i < HITS_MAX && !rc; i++)
        rc = tell_row(r, args[1], &s->hit[i]);
    if (!rc) rc = report_errors(r, tell_file, &(struct errors_of){args[1], &told});
    if (!rc && s->hits > HITS_MAX)
        log_warn("%" PRId64 " rows have this key; the first %d are shown", s->hits, HITS_MAX);
    if (!rc && !s->hits && !told) rc = unknown_key(s);
    report_close(r);
    free(r);
    free(s);
    return rc;
}

const struct verb explain_verb = {
    "explain",
    "PLACE KEY",
    "what happened to one sample, and why",
    "  darkroom explain place 000420031\n  darkroom explain place 3:17          # row 17 of partition 3\n",
    "Tells where the sample came from, its scores, which rules it passed, its cluster and nearest\n"
    "duplicate, and what became of it. Every sample of that name is shown, also one that could not\n"
    "be embedded. With --json one object a sample.\n",
    NULL,
    sizeof(struct common),
    explain_run};
