/* receipt.c - receipts and runs as small JSON files, one value a line so that people can diff
 * them. */
#include "data/receipt.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/version.h"
#include "base/mem.h"
#include "format/json.h"

#include <stdlib.h>
#include <string.h>

enum { RUN_MAX = 1 << 20, RECEIPT_MAX = 64 << 20 };

void run_add(struct run *r, const char *name, const char *value)
{
    vec_push(r->field, r->count, r->cap);
    r->field[r->count++] = (struct run_field){mem_strdup(name), mem_strdup(value)};
}

const char *run_get(const struct run *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (!strcmp(r->field[i].name, name)) return r->field[i].value;
    return NULL;
}

void run_release(struct run *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->field[i].name);
        free(r->field[i].value);
    }
    free(r->field);
    memset(r, 0, sizeof *r);
}

static void run_print(struct str *out, const struct run *r)
{
    str_printf(out, "{\n \"format\": %d", RECEIPT_FORMAT);
    for (size_t i = 0; i < r->count; i++) {
        str_puts(out, ",\n ");
        json_quote(out, r->field[i].name, strlen(r->field[i].name));
        str_puts(out, ": ");
        json_quote(out, r->field[i].value, strlen(r->field[i].value));
    }
    str_puts(out, "\n}\n");
}

static char *run_path(const char *product)
{
    struct str s = {0};
    str_printf(&s, "_darkroom/%s/run.json", product);
    return str_steal(&s);
}

int run_load(struct run *r, struct place *p, const char *product)
{
    struct arena a = {0};
    struct str text = {0};
    struct json *j;
    char *path = run_path(product);
    int rc = place_read(p, path, &text, RUN_MAX);
    if (!rc && (json_parse(&j, text.p, text.len, &a) || j->type != JSON_OBJECT))
        rc = err_set(ERR_STALE, "%s/%s: not a run file; --force-new-run replaces it", place_url(p),
                     path);
    if (!rc && json_int(j, "format", 0) != RECEIPT_FORMAT)
        rc = err_set(ERR_STALE, "%s/%s: format %lld, this program writes %d", place_url(p), path,
                     (long long)json_int(j, "format", 0), RECEIPT_FORMAT);
    for (const struct json *f = rc ? NULL : j->child; f; f = f->next)
        if (f->type == JSON_STRING) run_add(r, f->key, f->text);
    if (!rc) sha256_of(r->fingerprint, text.p, text.len);
    free(path);
    str_release(&text);
    arena_release(&a);
    return rc;
}

/* The first field in which two runs differ, as a sentence. */
static int run_differs(const struct run *ours, const struct run *theirs, struct place *p)
{
    for (size_t i = 0; i < ours->count; i++) {
        const char *v = run_get(theirs, ours->field[i].name);
        if (v && strcmp(v, ours->field[i].value) && !strcmp(ours->field[i].name, "inputs"))
            return err_set(ERR_STALE,
                           "%s holds a run over other inputs: names were added, removed or "
                           "renamed; use another place, the same inputs, or --force-new-run to "
                           "replace it",
                           place_url(p));
        if (!v || strcmp(v, ours->field[i].value))
            return err_set(ERR_STALE,
                           "%s holds another run: %s was '%s', now '%s'; use another place, the "
                           "same options, or --force-new-run to replace it",
                           place_url(p), ours->field[i].name, v ? v : "", ours->field[i].value);
    }
    return err_set(ERR_STALE,
                   "%s holds a run of another version of darkroom; use another place or "
                   "--force-new-run",
                   place_url(p));
}

/* Receipts can be edited: a product's receipt removes only files of that product's folders. */
static int is_product_file(const char *product, const char *name)
{
    static const char *const own[][2] = {
        {"embed", "img_emb/"}, {"embed", "text_emb/"}, {"embed", "metadata/"}, {"embed", "errors/"},
        {"score", "scores/"},  {"filter", "keep/"},    {"export", "export/"}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(product, own[i][0]) && str_starts(name, own[i][1])) return 1;
    if (str_starts(product, "dedup")) return str_starts(name, "dedup/");
    return !strcmp(product, "export") && !strchr(name, '/');
}

/* The files a receipt names, then the receipt itself. */
static int drop_receipt(struct place *p, const char *product, const char *name)
{
    struct receipt r;
    struct str path = {0};
    char *end;
    long long partition = strtoll(name, &end, 10);
    int rc = 0;
    if (end != name && !strcmp(end, ".json")) {
        int unread = receipt_load(&r, p, product, partition, (int)(end - name));
        for (size_t i = 0; !unread && i < r.outputs.count && !rc; i++)
            if (is_product_file(product, r.outputs.file[i].name))
                rc = place_remove(p, r.outputs.file[i].name);
        receipt_release(&r);
    }
    str_printf(&path, "_darkroom/%s/%s", product, name);
    if (!rc) rc = place_remove(p, path.p);
    str_release(&path);
    return rc;
}

static int drop_receipts(struct place *p, const char *product)
{
    struct names n = {0};
    struct str folder = {0};
    str_printf(&folder, "_darkroom/%s", product);
    int rc = place_list(p, folder.p, &n);
    for (size_t i = 0; i < n.count && !rc; i++)
        if (str_ends(n.list[i], ".json")) rc = drop_receipt(p, product, n.list[i]);
    str_release(&folder);
    names_release(&n);
    return rc;
}

int run_claim(struct run *r, struct place *p, const char *product, enum run_mode mode)
{
    struct str text = {0};
    struct run old = {0};
    char *path = run_path(product);
    run_print(&text, r);
    sha256_of(r->fingerprint, text.p, text.len);
    int rc = 0, there = place_exists(p, path, NULL);
    if (there) rc = run_load(&old, p, product);
    if (there && !rc && strcmp(old.fingerprint, r->fingerprint)) rc = run_differs(r, &old, p);
    if (rc == ERR_STALE && mode == RUN_FORCE) {
        log_info("starting a new run in %s; the old one's files go", place_url(p));
        rc = drop_receipts(p, product);
        there = 0;
    } else if (rc == ERR_STALE && mode == RUN_REPLACE) {
        log_info("%s: the options differ from those of before; the old results are replaced",
                 product);
        rc = there = 0;
    }
    if (!rc && !there) rc = place_write(p, path, text.p, text.len);
    run_release(&old);
    str_release(&text);
    free(path);
    return rc;
}

int run_still_ours(const struct run *r, struct place *p, const char *product)
{
    struct run now = {0};
    int rc = run_load(&now, p, product);
    if (rc || strcmp(now.fingerprint, r->fingerprint))
        rc = err_set(ERR_STALE,
                     "%s: another run has taken this place over; what it has not replaced yet "
                     "stays as it is. Use another place",
                     place_url(p));
    run_release(&now);
    return rc;
}

void receipt_add(struct receipt_files *f, const char *name, uint64_t size, const char *sha256)
{
    vec_push(f->file, f->count, f->cap);
    struct receipt_file *one = &f->file[f->count++];
    memset(one, 0, sizeof *one);
    one->name = mem_strdup(name);
    one->size = size;
    memcpy(one->sha256, sha256, strnlen(sha256, 64));
}

static void files_release(struct receipt_files *f)
{
    for (size_t i = 0; i < f->count; i++) free(f->file[i].name);
    free(f->file);
}

void receipt_release(struct receipt *r)
{
    files_release(&r->inputs);
    files_release(&r->outputs);
    memset(r, 0, sizeof *r);
}

int partition_digits(int64_t count)
{
    int d = 1;
    for (; count >= 10; count /= 10) d++;
    return d;
}

void receipt_name(struct str *out, const char *product, int64_t partition, int digits)
{
    str_printf(out, "_darkroom/%s/%0*lld.json", product, digits, (long long)partition);
}

static void files_print(struct str *out, const char *title, const struct receipt_files *f)
{
    str_printf(out, ",\n \"%s\": [", title);
    for (size_t i = 0; i < f->count; i++) {
        str_printf(out, "%s\n  {\"name\": ", i ? "," : "");
        json_quote(out, f->file[i].name, strlen(f->file[i].name));
        str_printf(out, ", \"size\": %llu, \"sha256\": \"%s\"}",
                   (unsigned long long)f->file[i].size, f->file[i].sha256);
    }
    str_puts(out, "]");
}

int receipt_save(const struct receipt *r, struct place *p, const char *product)
{
    struct str s = {0}, name = {0};
    const char *comma = "";
    str_printf(&s, "{\n \"format\": %d,\n \"version\": \"%s\",\n \"partition\": %lld",
               RECEIPT_FORMAT, DARKROOM_VERSION, (long long)r->partition);
    str_printf(&s, ",\n \"fingerprint\": \"%s\"", r->fingerprint);
    str_printf(&s, ",\n \"samples\": %lld,\n \"rows\": %lld,\n \"errors\": {",
               (long long)r->samples, (long long)r->rows);
    for (int b = 1; b < BAD_COUNT; b++) {
        if (!r->errors[b]) continue;
        str_printf(&s, "%s\"%s\": %lld", comma, bad_name(b), (long long)r->errors[b]);
        comma = ", ";
    }
    str_puts(&s, "}");
    files_print(&s, "inputs", &r->inputs);
    files_print(&s, "outputs", &r->outputs);
    str_puts(&s, "\n}\n");
    receipt_name(&name, product, r->partition, r->digits);
    int rc = place_write(p, name.p, s.p, s.len);
    str_release(&s);
    str_release(&name);
    return rc;
}

static void files_parse(struct receipt_files *f, const struct json *list)
{
    for (const struct json *j = list ? list->child : NULL; j; j = j->next)
        receipt_add(f, json_text(j, "name", ""), (uint64_t)json_int(j, "size", 0),
                    json_text(j, "sha256", ""));
}

static void receipt_parse(struct receipt *r, const struct json *j)
{
    const struct json *errors = json_get(j, "errors");
    strncpy(r->fingerprint, json_text(j, "fingerprint", ""), 64);
    r->samples = json_int(j, "samples", -1);
    r->rows = json_int(j, "rows", -1);
    for (int b = 1; b < BAD_COUNT; b++) r->errors[b] = json_int(errors, bad_name(b), 0);
    files_parse(&r->inputs, json_get(j, "inputs"));
    files_parse(&r->outputs, json_get(j, "outputs"));
}

/* samples = rows + errors, and rows are somewhere: what every receipt of ours fulfils. */
static int receipt_closes(const struct receipt *r)
{
    int64_t left = r->samples;
    if (r->rows < 0 || r->rows > left) return 0;
    left -= r->rows;
    for (int b = 1; b < BAD_COUNT; b++) {
        if (r->errors[b] < 0 || r->errors[b] > left) return 0;
        left -= r->errors[b];
    }
    return !left && r->outputs.count;
}

int receipt_load(struct receipt *r, struct place *p, const char *product, int64_t partition,
                 int digits)
{
    struct arena a = {0};
    struct str text = {0}, name = {0};
    struct json *j;
    memset(r, 0, sizeof *r);
    r->partition = partition;
    r->digits = digits;
    receipt_name(&name, product, partition, digits);
    int rc = place_read(p, name.p, &text, RECEIPT_MAX);
    if (!rc &&
        (json_parse(&j, text.p, text.len, &a) || j->type != JSON_OBJECT ||
         json_int(j, "format", 0) != RECEIPT_FORMAT || json_int(j, "partition", -1) != partition))
        rc = err_set(ERR_STALE, "%s/%s: not a receipt of this partition", place_url(p), name.p);
    if (rc == ERR_INPUT && place_exists(p, name.p, NULL))
        rc = ERR_STALE; /* there, but unreadable */
    if (!rc) receipt_parse(r, j);
    for (size_t i = 0; i < r->outputs.count && !rc; i++)
        if (!place_name_ok(r->outputs.file[i].name))
            rc = err_set(ERR_STALE, "%s/%s: names a file outside the place", place_url(p), name.p);
    if (!rc && !receipt_closes(r))
        rc = err_set(ERR_STALE, "%s/%s: its counts do not close", place_url(p), name.p);
    str_release(&text);
    str_release(&name);
    arena_release(&a);
    return rc;
}

int receipt_remove(struct place *p, const char *product, int64_t partition, int digits)
{
    struct str name = {0};
    receipt_name(&name, product, partition, digits);
    int rc = place_remove(p, name.p);
    str_release(&name);
    return rc;
}

static int file_rehash(struct place *p, const struct receipt_file *f)
{
    struct file_map m;
    char hex[65];
    if (place_map(p, f->name, &m)) return ERR_STALE; /* it is there, but cannot be read */
    sha256_of(hex, m.p, m.n);
    file_unmap(&m);
    if (!strcmp(hex, f->sha256)) return 0;
    return err_set(ERR_STALE, "%s/%s: its bytes are not those of the receipt", place_url(p),
                   f->name);
}

int receipt_check(const struct receipt *r, struct place *p, int rehash)
{
    for (size_t i = 0; i < r->outputs.count; i++) {
        const struct receipt_file *f = &r->outputs.file[i];
        uint64_t size;
        if (!place_exists(p, f->name, &size))
            return err_set(ERR_STALE, "%s/%s: is missing", place_url(p), f->name);
        if (size != f->size)
            return err_set(ERR_STALE, "%s/%s: has %llu bytes, the receipt says %llu", place_url(p),
                           f->name, (unsigned long long)size, (unsigned long long)f->size);
        int rc = rehash ? file_rehash(p, f) : 0;
        if (rc) return rc;
    }
    return 0;
}
