/* sidecar.c - which partitions a place has, in which layout, and what their files are called.
 * The layout is found by looking: our run file, then img_emb/ or metadata/, then tables in the
 * folder itself. Whether a sidecar of ours counts is promise.c's question. */
#include "data/sidecar.h"
#include "base/log.h"
#include "base/mem.h"
#include "data/promise.h"
#include "format/npy.h"
#include "format/parquet/parquet.h"

#include <stdlib.h>
#include <string.h>

static const struct kind {
    const char *folder, *stem, *ext, *product;
} kinds[SIDE_COUNT] = {
    [SIDE_IMAGE] = {"img_emb", "img_emb", "npy", "embed"},
    [SIDE_TEXT] = {"text_emb", "text_emb", "npy", "embed"},
    [SIDE_METADATA] = {"metadata", "metadata", "parquet", "embed"},
    [SIDE_SCORES] = {"scores", "scores", "parquet", "score"},
    [SIDE_KEEP] = {"keep", "keep", "parquet", "filter"},
    [SIDE_ASSIGN] = {"dedup", "assign", "parquet", "dedup-pairs"},
    [SIDE_ERRORS] = {"errors", "errors", "parquet", "embed"},
};

struct part {
    int64_t number, rows; /* rows: -1 = not there */
    char *table;          /* NeMo: its parquet file */
    struct receipt receipt;
};

struct sidecars {
    struct place *place;
    enum layout layout;
    struct run embed, run[SIDE_COUNT]; /* of the products that made them; empty: none */
    int digits;
    struct part *part;
    size_t count, cap;
    struct promises *promises;
};

const char *layout_name(enum layout layout)
{
    static const char *const names[] = {"darkroom", "clip-retrieval", "NeMo Curator"};
    return names[layout];
}

/* ---- our own layout ---- */

/* A receipt may come from anyone. Its files are there with the sizes it names, so no more rows can
 * be than its embeddings have numbers. */
static int check_rows(const struct sidecars *s, const struct receipt *r)
{
    uint64_t most = 0;
    for (size_t i = 0; i < r->outputs.count; i++)
        if (str_ends(r->outputs.file[i].name, ".npy") && r->outputs.file[i].size / 2 > most)
            most = r->outputs.file[i].size / 2;
    if (!most || (uint64_t)r->rows <= most) return 0; /* none: check_total bounds them */
    return err_set(ERR_STALE, "%s: the receipt of partition %lld claims more rows than there are",
                   place_url(s->place), (long long)r->partition);
}

static void load_receipt(struct sidecars *s, int64_t number)
{
    vec_push(s->part, s->count, s->cap);
    struct part *p = &s->part[s->count++];
    memset(p, 0, sizeof *p);
    p->number = number;
    int rc = receipt_load(&p->receipt, s->place, "embed", number, s->digits);
    if (!rc && strcmp(p->receipt.fingerprint, s->embed.fingerprint))
        rc = err_set(ERR_STALE, "partition %lld: its receipt is of another run", (long long)number);
    if (!rc) rc = receipt_check(&p->receipt, s->place, 0);
    if (!rc) rc = check_rows(s, &p->receipt);
    if (rc == ERR_STALE) log_warn("%s; as if not embedded", err_text());
    p->rows = rc ? -1 : p->receipt.rows;
}

static int open_own(struct sidecars *s)
{
    int rc = run_load(&s->embed, s->place, "embed");
    if (rc) return rc;
    const char *text = run_get(&s->embed, "partitions");
    int64_t count = text ? strtoll(text, NULL, 10) : 0;
    if (count < 1 || count > PARTITIONS_MAX)
        return err_set(ERR_STALE, "%s/_darkroom/embed/run.json: '%s' partitions cannot be",
                       place_url(s->place), text ? text : "");
    s->digits = partition_digits(count);
    for (int64_t i = 0; i < count; i++) load_receipt(s, i);
    return 0;
}

/* ---- layouts of others ---- */

static int rows_of_npy(int64_t *rows, struct place *p, const char *name)
{
    struct file_map m;
    struct npy a;
    int rc = place_map(p, name, &m);
    if (rc) return rc;
    rc = npy_decode(&a, m.p, m.n);
    if (!rc && (a.rank != 2 || a.dim[1] < 1))
        rc = err_set(ERR_INPUT, "is no table of embeddings [rows, dim]");
    if (!rc) *rows = a.dim[0];
    file_unmap(&m);
    return rc ? err_wrap(rc, "%s/%s", place_url(p), name) : 0;
}

static int rows_of_table(int64_t *rows, struct place *p, const char *name)
{
    struct file_map m;
    struct parquet_reader *r = NULL;
    int rc = place_map(p, name, &m);
    if (rc) return rc;
    rc = parquet_open(&r, m.p, m.n);
    if (!rc) *rows = (int64_t)parquet_rows(r);
    parquet_close(r);
    file_unmap(&m);
    return rc ? err_wrap(rc, "%s/%s", place_url(p), name) : 0;
}

/* "img_emb_0042.npy" -> 42 and 4 digits; 0 when the name is not of that form. */
static int number_in(int64_t *number, int *digits, const char *name, const char *stem,
                     const char *ext)
{
    size_t n = strlen(stem);
    if (strncmp(name, stem, n)) return 0;
    const char *p = name + n;
    *digits = (int)strspn(p, "0123456789");
    if (*digits < 1 || *digits > 12 || p[*digits] != '.' || strcmp(p + *digits + 1, ext)) return 0;
    *number = strtoll(p, NULL, 10);
    return 1;
}

static int by_number(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static struct part *add_part(struct sidecars *s, int64_t number)
{
    vec_push(s->part, s->count, s->cap);
    struct part *p = &s->part[s->count++];
    *p = (struct part){.number = number, .rows = -1};
    return p;
}

/* Files of one kind in clip-retrieval's layout; *found counts them. */
static int open_retrieval(struct sidecars *s, enum sidecar kind)
{
    const struct kind *k = &kinds[kind];
    struct names n = {0};
    struct str stem = {0};
    str_printf(&stem, "%s_", k->stem);
    int rc = place_list(s->place, k->folder, &n);
    for (size_t i = 0; i < n.count && !rc; i++) {
        struct str name = {0};
        int64_t number;
        int digits;
        if (!number_in(&number, &digits, n.list[i], stem.p, k->ext)) continue;
        if (!s->digits || digits < s->digits) s->digits = digits;
        struct part *p = add_part(s, number);
        str_printf(&name, "%s/%s", k->folder, n.list[i]);
        rc = kind == SIDE_METADATA ? rows_of_table(&p->rows, s->place, name.p)
                                   : rows_of_npy(&p->rows, s->place, name.p);
        str_release(&name);
    }
    s->layout = LAYOUT_RETRIEVAL;
    str_release(&stem);
    names_release(&n);
    return rc;
}

/* NNNNN.parquet in the folder itself. Names that are no numbers of one width are counted. */
static int open_nemo(struct sidecars *s)
{
    struct names n = {0};
    int64_t number;
    int digits, numbered = 1, rc = place_list(s->place, "", &n);
    for (size_t i = 0; i < n.count && !rc; i++) {
        if (!str_ends(n.list[i], ".parquet") || str_starts(n.list[i], "temp_")) continue;
        struct part *p = add_part(s, (int64_t)s->count);
        p->table = mem_strdup(n.list[i]);
        if (!number_in(&number, &digits, p->table, "", "parquet") ||
            (s->digits && digits != s->digits))
            numbered = 0;
        else
            s->digits = digits;
        rc = rows_of_table(&p->rows, s->place, p->table);
    }
    for (size_t i = 0; i < s->count && numbered; i++)
        if (number_in(&number, &digits, s->part[i].table, "", "parquet"))
            s->part[i].number = number;
    if (!numbered) s->digits = partition_digits((int64_t)s->count);
    s->layout = LAYOUT_NEMO;
    names_release(&n);
    return rc;
}

static int check_numbers(const struct sidecars *s)
{
    for (size_t i = 1; i < s->count; i++)
        if (s->part[i].number == s->part[i - 1].number)
            return err_set(ERR_INPUT, "%s: two files claim to be partition %lld",
                           place_url(s->place), (long long)s->part[i].number);
    return 0;
}

/* Partitions of which only the other files are there: a copy that is not whole must not pass for
 * one that is. */
static int add_missing(struct sidecars *s, enum sidecar kind)
{
    const struct kind *k = &kinds[kind];
    size_t known = s->count;
    struct names n = {0};
    struct str stem = {0};
    str_printf(&stem, "%s_", k->stem);
    int rc = place_list(s->place, k->folder, &n);
    for (size_t i = 0; i < n.count && !rc; i++) {
        int64_t number;
        int digits;
        struct part key = {0};
        if (!number_in(&number, &digits, n.list[i], stem.p, k->ext)) continue;
        key.number = number;
        if (bsearch(&key, s->part, known, sizeof *s->part, by_number)) continue;
        log_warn("%s/%s/%s has no embeddings beside it", place_url(s->place), k->folder, n.list[i]);
        add_part(s, number);
    }
    qsort(s->part, s->count, sizeof *s->part, by_number);
    str_release(&stem);
    names_release(&n);
    return rc;
}

static int open_foreign(struct sidecars *s)
{
    int rc = open_retrieval(s, SIDE_IMAGE);
    if (!rc && !s->count) rc = open_retrieval(s, SIDE_TEXT);
    if (!rc && !s->count) rc = open_retrieval(s, SIDE_METADATA);
    if (!rc && !s->count) rc = open_nemo(s);
    if (!rc && !s->count)
        return err_set(ERR_INPUT,
                       "%s holds no embeddings: neither img_emb/ nor NNNNN.parquet files; "
                       "darkroom embed makes them",
                       place_url(s->place));
    if (rc) return rc;
    qsort(s->part, s->count, sizeof *s->part, by_number);
    rc = check_numbers(s);
    if (!rc && s->layout == LAYOUT_RETRIEVAL) rc = add_missing(s, SIDE_TEXT);
    if (!rc && s->layout == LAYOUT_RETRIEVAL) rc = add_missing(s, SIDE_METADATA);
    return rc;
}

enum { ROWS_BITS = 36 }; /* of a place: sums and bit sets of rows stay far from any limit */

static int check_total(const struct sidecars *s)
{
    uint64_t total = 0;
    for (size_t i = 0; i < s->count; i++) {
        uint64_t rows = s->part[i].rows > 0 ? (uint64_t)s->part[i].rows : 0;
        if (rows >> ROWS_BITS || (total += rows) >> ROWS_BITS)
            return err_set(ERR_INPUT, "%s claims more than 2^%d rows", place_url(s->place),
                           ROWS_BITS);
    }
    return 0;
}

int sidecars_open(struct sidecars **out, const char *url)
{
    struct sidecars *s = mem_alloc(sizeof *s);
    s->promises = promises_new(s);
    int rc = place_open(&s->place, url, 0);
    if (!rc && place_exists(s->place, "_darkroom/embed/run.json", NULL))
        rc = open_own(s);
    else if (!rc)
        rc = open_foreign(s);
    if (!rc) rc = check_total(s);
    for (int k = SIDE_SCORES; k <= SIDE_ASSIGN && !rc; k++) {
        struct str name = {0};
        str_printf(&name, "_darkroom/%s/run.json", kinds[k].product);
        if (place_exists(s->place, name.p, NULL))
            rc = run_load(&s->run[k], s->place, kinds[k].product);
        str_release(&name);
    }
    *out = rc ? NULL : s;
    if (rc) sidecars_close(s);
    return rc;
}

void sidecars_close(struct sidecars *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->count; i++) {
        free(s->part[i].table);
        receipt_release(&s->part[i].receipt);
    }
    free(s->part);
    promises_free(s->promises);
    run_release(&s->embed);
    for (int k = 0; k < SIDE_COUNT; k++) run_release(&s->run[k]);
    place_close(s->place);
    free(s);
}

/* ---- questions ---- */

struct place *sidecars_place(const struct sidecars *s)
{
    return s->place;
}

enum layout sidecars_layout(const struct sidecars *s)
{
    return s->layout;
}

int64_t sidecars_count(const struct sidecars *s)
{
    return (int64_t)s->count;
}

int64_t sidecars_number(const struct sidecars *s, int64_t i)
{
    return s->part[i].number;
}

int64_t sidecars_find(const struct sidecars *s, int64_t number)
{
    struct part key = {.number = number};
    const struct part *p =
        s->count ? bsearch(&key, s->part, s->count, sizeof *s->part, by_number) : NULL;
    return p ? p - s->part : -1;
}

int sidecars_digits(const struct sidecars *s)
{
    return s->digits;
}

int64_t sidecars_rows(const struct sidecars *s, int64_t i)
{
    return s->part[i].rows;
}

int64_t sidecars_total(const struct sidecars *s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->part[i].rows > 0) n += s->part[i].rows;
    return n;
}

int64_t sidecars_missing(const struct sidecars *s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s->count; i++) n += s->part[i].rows < 0;
    return n;
}

const struct receipt *sidecars_receipt(const struct sidecars *s, int64_t i)
{
    return s->layout == LAYOUT_DARKROOM && s->part[i].rows >= 0 ? &s->part[i].receipt : NULL;
}

const char *sidecars_embedded(const struct sidecars *s, const char *field)
{
    const char *value = run_get(&s->embed, field);
    return value ? value : "";
}

const struct run *sidecars_run(const struct sidecars *s, enum sidecar kind)
{
    return s->run[kind].count ? &s->run[kind] : NULL;
}

/* ---- files ---- */

void sidecars_name(struct str *out, const struct sidecars *s, enum sidecar kind, int64_t i)
{
    const struct kind *k = &kinds[kind];
    str_clear(out);
    if (s->layout == LAYOUT_NEMO && (kind == SIDE_IMAGE || kind == SIDE_METADATA))
        str_puts(out, s->part[i].table);
    else
        str_printf(out, "%s/%s_%0*lld.%s", k->folder, k->stem, s->digits,
                   (long long)s->part[i].number, k->ext);
}

int sidecars_has(const struct sidecars *s, enum sidecar kind, int64_t i)
{
    return promises_ask(s->promises, kind, i).state == PROMISE_WHOLE;
}

const char *sidecars_product(enum sidecar kind)
{
    return kinds[kind].product;
}

/* "run darkroom score again" */
static const char *verb_of(enum sidecar kind)
{
    return kind == SIDE_ASSIGN ? "dedup" : kinds[kind].product;
}

static const char *word_of(enum sidecar kind)
{
    static const char *const words[SIDE_COUNT] = {[SIDE_IMAGE] = "embeddings",
                                                  [SIDE_TEXT] = "embeddings of captions",
                                                  [SIDE_METADATA] = "metadata",
                                                  [SIDE_SCORES] = "scores",
                                                  [SIDE_KEEP] = "verdicts of filter",
                                                  [SIDE_ASSIGN] = "clusters and pairs",
                                                  [SIDE_ERRORS] = "errors"};
    return words[kind];
}

int sidecars_need(const struct sidecars *s, enum sidecar kind, int64_t i)
{
    struct promise one = promises_ask(s->promises, kind, i);
    struct str name = {0};
    int rc = 0;
    sidecars_name(&name, s, kind, i);
    if (one.state == PROMISE_STALE)
        rc = err_set(ERR_STALE,
                     "%s/%s was made from other %s than those here; run darkroom %s again",
                     place_url(s->place), name.p, word_of(one.changed), verb_of(kind));
    else if (one.state != PROMISE_WHOLE)
        rc = err_set(ERR_INPUT,
                     "%s/%s: is missing or of another run than the others; run darkroom %s to its "
                     "end",
                     place_url(s->place), name.p, verb_of(kind));
    str_release(&name);
    return rc;
}

int64_t sidecars_stale(const struct sidecars *s, enum sidecar kind)
{
    int64_t n = 0;
    for (int64_t i = 0; i < (int64_t)s->count; i++)
        n += promises_ask(s->promises, kind, i).state == PROMISE_STALE;
    return n;
}

int sidecars_fresh(const struct sidecars *s, const struct receipt *r)
{
    enum sidecar which;
    if (!promises_changed(s->promises, r, r->partition, &which)) return 0;
    return err_set(ERR_STALE, "made from other %s than those here", word_of(which));
}

int sidecars_any(const struct sidecars *s, enum sidecar kind)
{
    for (int64_t i = 0; i < (int64_t)s->count; i++)
        if (sidecars_has(s, kind, i)) return 1;
    return 0;
}

int sidecars_note(struct receipt_files *out, const struct sidecars *s, enum sidecar kind, int64_t i)
{
    struct promise one = promises_ask(s->promises, kind, i);
    struct str name = {0};
    if (one.state != PROMISE_WHOLE) return 0;
    sidecars_name(&name, s, kind, i);
    receipt_add(out, name.p, one.size, one.sha256);
    str_release(&name);
    return 0;
}

int sidecars_note_all(struct receipt_files *out, const struct sidecars *s, enum sidecar kind)
{
    struct promise all = promises_ask_all(s->promises, kind);
    struct str name = {0};
    if (all.state != PROMISE_WHOLE) return 0;
    sidecars_name(&name, s, kind, 0);
    char *slash = strrchr(name.p, '/');
    if (slash) *slash = 0;
    receipt_add(out, slash ? name.p : ".", all.size, all.sha256);
    str_release(&name);
    return 0;
}
