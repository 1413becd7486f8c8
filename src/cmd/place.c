/* place.c - status, verify and gc: what is in a place, whether it is whole, what is left over. */
#include "cmd/verbs.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "data/sidecar.h"
#include "format/json.h"
#include "io/place.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const products[] = {"embed",       "score",     "filter",     "dedup-clusters",
                                       "dedup-pairs", "dedup-eps", "dedup-nemo", "export"};

struct tally {
    int64_t partitions, done, missing, bad;
    int64_t samples, rows, errors[BAD_COUNT];
};

static int open_one(struct place **p, const char **args, int nargs, const char *verb)
{
    if (nargs != 1) return err_set(ERR_USAGE, "%s takes one PLACE", verb);
    return place_open(p, args[0], 0);
}

static void count_receipt(struct tally *t, const struct receipt *r)
{
    t->done++;
    t->samples += r->samples;
    t->rows += r->rows;
    for (int b = 1; b < BAD_COUNT; b++) t->errors[b] += r->errors[b];
}

/* How far to go: trust sizes, read the bytes, or also take away receipts that lie. */
enum depth { LOOK, READ, DROP };

/* Do files and receipt agree, and is what it was made from still there? */
static int check_part(const struct receipt *r, const struct run *run, struct place *p,
                      const struct sidecars *s, const char *product, enum depth depth)
{
    if (strcmp(r->fingerprint, run->fingerprint))
        return err_set(ERR_STALE, "partition %" PRId64 ": its receipt is of another run",
                       r->partition);
    int rc = receipt_check(r, p, depth != LOOK);
    if (!rc && s && strcmp(product, "embed") && strcmp(product, "export") &&
        r->partition < sidecars_count(s))
        rc = sidecars_fresh(s, r);
    else
        return rc;
    return rc ? err_wrap(rc, "%s: partition %" PRId64 " of %s", place_url(p), r->partition, product)
              : 0;
}

/* Look at every partition's receipt. Disagreements are told one by one and counted. s: NULL when
 * the place has no rows. */
static int walk_product(struct tally *t, struct place *p, const struct sidecars *s,
                        const char *product, enum depth depth)
{
    struct run run = {0};
    memset(t, 0, sizeof *t);
    int rc = run_load(&run, p, product);
    if (rc) return rc;
    const char *count = run_get(&run, "partitions");
    t->partitions = count ? strtoll(count, NULL, 10) : 0;
    int none = count && !strcmp(count, "0"); /* an export of nothing */
    if (!none && (t->partitions < 1 || t->partitions > PARTITIONS_MAX))
        t->partitions = err_set(ERR_STALE, "%s/_darkroom/%s/run.json: '%s' partitions cannot be",
                                place_url(p), product, count ? count : "");
    for (int64_t i = 0; i < t->partitions; i++) {
        struct receipt r;
        rc = receipt_load(&r, p, product, i, partition_digits(t->partitions));
        if (!rc) rc = check_part(&r, &run, p, s, product, depth);
        if (!rc)
            count_receipt(t, &r);
        else if (rc == ERR_INPUT)
            t->missing++;
        else
            t->bad++, log_warn("%s", err_text());
        if (rc == ERR_STALE && depth == DROP) receipt_remove(p, product, i, r.digits);
        receipt_release(&r);
        if (depth != LOOK)
            log_progress("verify %s: %" PRId64 " of %" PRId64 " partitions", product, i + 1,
                         t->partitions);
    }
    log_progress_end();
    run_release(&run);
    return t->partitions < 0 ? (int)t->partitions : 0;
}

static void print_errors(struct str *out, const int64_t errors[BAD_COUNT], int json)
{
    const char *comma = "", *quote = json ? "\"" : "", *colon = json ? ":" : "";
    for (int b = 1; b < BAD_COUNT; b++) {
        if (!errors[b]) continue;
        str_printf(out, "%s%s%s%s%s %" PRId64, comma, quote, bad_name(b), quote, colon, errors[b]);
        comma = ", ";
    }
}

static int64_t sum_errors(const struct tally *t)
{
    int64_t n = 0;
    for (int b = 1; b < BAD_COUNT; b++) n += t->errors[b];
    return n;
}

static void print_tally(const char *product, const struct tally *t, int json)
{
    struct str e = {0};
    str_puts(&e, "");
    print_errors(&e, t->errors, json);
    if (json)
        printf("{\"product\": \"%s\", \"partitions\": %" PRId64 ", \"done\": %" PRId64
               ", \"missing\": %" PRId64 ", \"bad\": %" PRId64 ", \"samples\": %" PRId64
               ", \"rows\": %" PRId64 ", \"errors\": {%s}}\n",
               product, t->partitions, t->done, t->missing, t->bad, t->samples, t->rows,
               e.p ? e.p : "");
    else
        printf("%s: %" PRId64 " of %" PRId64 " partitions done, %" PRId64 " missing, %" PRId64
               " disagree; %" PRId64 " samples = %" PRId64 " rows + %" PRId64 " errors%s%s%s\n",
               product, t->done, t->partitions, t->missing, t->bad, t->samples, t->rows,
               sum_errors(t), e.len ? " (" : "", e.p ? e.p : "", e.len ? ")" : "");
    str_release(&e);
}

/* A word of a file that anyone may have written: a line stays a line, a terminal unharmed. */
static const char *word_of(struct arena *a, const struct json *j, const char *key, const char *none)
{
    const char *text = json_text(j, key, none);
    char *word = arena_strndup(a, text, strlen(text));
    for (char *c = word; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    return word;
}

/* A task that still says "running" although its process on this host is gone. */
static const char *live_state(struct arena *a, const struct json *j)
{
    char host[64] = "";
    const char *state = word_of(a, j, "state", "?");
    int64_t pid = json_int(j, "pid", 0);
    gethostname(host, sizeof host - 1);
    if (strcmp(state, "running") || strcmp(host, json_text(j, "host", "")) || pid < 1) return state;
    return kill((pid_t)pid, 0) && errno == ESRCH ? "ended without a word" : state;
}

/* live/<task>.json of tasks that run or ran: one line each. */
static void print_live(struct place *p, const char *product)
{
    struct names n = {0};
    struct str folder = {0};
    str_printf(&folder, "_darkroom/%s/live", product);
    if (place_list(p, folder.p, &n)) n.count = 0;
    for (size_t i = 0; i < n.count; i++) {
        struct arena a = {0};
        struct str name = {0}, text = {0};
        struct json *j;
        str_printf(&name, "%s/%s", folder.p, n.list[i]);
        if (!place_read(p, name.p, &text, 1 << 20) && !json_parse(&j, text.p, text.len, &a))
            printf("  task %s on %s at %s: %s, %" PRId64 " samples, last error: %s\n",
                   word_of(&a, j, "task", "?"), word_of(&a, j, "host", "?"),
                   word_of(&a, j, "time", "?"), live_state(&a, j), json_int(j, "samples", 0),
                   word_of(&a, j, "last_error", "none"));
        str_release(&name);
        str_release(&text);
        arena_release(&a);
    }
    str_release(&folder);
    names_release(&n);
}

/* The place as the stages after embed see it, or NULL: it is an export, or nothing is whole. */
static struct sidecars *open_rows(struct place *p)
{
    static const char *const after[] = {"score", "filter", "dedup-clusters"};
    struct sidecars *s = NULL;
    struct str run = {0};
    int there = 0;
    for (size_t i = 0; i < sizeof after / sizeof *after && !there; i++) {
        str_clear(&run);
        str_printf(&run, "_darkroom/%s/run.json", after[i]);
        there = place_exists(p, run.p, NULL);
    }
    str_release(&run);
    return there && !sidecars_open(&s, place_url(p)) ? s : NULL;
}

/* Walk every product of the place: 7 when something disagrees, 3 when something is missing. */
static int walk_place(struct common *c, const char **args, int nargs, const char *verb,
                      enum depth depth)
{
    struct place *p;
    int rc = open_one(&p, args, nargs, verb), found = 0, disagree = 0, missing = 0;
    if (rc) return rc;
    struct sidecars *s = open_rows(p);
    for (size_t i = 0; i < sizeof products / sizeof *products && !rc; i++) {
        struct tally t;
        struct str run = {0};
        str_printf(&run, "_darkroom/%s/run.json", products[i]);
        if (place_exists(p, run.p, NULL) && !(rc = walk_product(&t, p, s, products[i], depth))) {
            print_tally(products[i], &t, c->json);
            if (depth == LOOK && !c->json) print_live(p, products[i]);
            found = 1;
            disagree |= t.bad > 0;
            missing |= t.missing > 0;
        }
        str_release(&run);
    }
    if (!rc && !found)
        rc = err_set(ERR_INPUT, "%s: nothing that darkroom made is here", place_url(p));
    if (!rc && disagree && depth == DROP)
        log_warn("the receipts that disagree are gone: run the same command again to redo them");
    else if (!rc && disagree && depth == READ) /* status tells; verify judges */
        rc = err_set(
            ERR_STALE,
            "%s: files and receipts disagree; verify --drop takes those receipts away, then the "
            "same command redoes their partitions",
            place_url(p));
    if (!rc && missing && depth != LOOK)
        log_warn("%s: not whole; run the same command again for what is missing", place_url(p));
    sidecars_close(s);
    place_close(p);
    return rc ? rc : missing || disagree ? 3 : 0;
}

static int run_status(void *options, const char **args, int nargs)
{
    int rc = walk_place(options, args, nargs, "status", LOOK);
    return rc > 0 ? 0 : rc;
}

struct verify_options {
    struct common common;
    int drop;
};

static const struct opt verify_options[] = {
    {"drop", NULL, 0, OPT_FLAG, offsetof(struct verify_options, drop), NULL, NULL,
     "remove receipts that disagree, so that their partitions are done again", 0},
    OPT_END};

static int run_verify(void *options, const char **args, int nargs)
{
    struct verify_options *o = options;
    return walk_place(options, args, nargs, "verify", o->drop ? DROP : READ);
}

static int run_gc(void *options, const char **args, int nargs)
{
    struct place *p;
    int removed = 0, rc = open_one(&p, args, nargs, "gc");
    (void)options;
    if (rc) return rc;
    rc = place_sweep(p, &removed);
    if (!rc) printf("%d leftover file%s removed\n", removed, removed == 1 ? "" : "s");
    place_close(p);
    return rc;
}

const struct verb status_verb = {"status",
                                 "PLACE",
                                 "what is done, missing or bad in a place",
                                 "  darkroom status place\n  darkroom status --json place\n",
                                 NULL,
                                 NULL,
                                 sizeof(struct common),
                                 run_status};
const struct verb verify_verb = {
    "verify",
    "PLACE",
    "read every output again and compare with its receipt",
    "  darkroom verify place && echo whole\n  darkroom verify --drop place\n",
    "Exit 0: every partition is there and agrees; 3: some are missing; 7: some disagree.\n",
    verify_options,
    sizeof(struct verify_options),
    run_verify};
const struct verb gc_verb = {
    "gc",
    "PLACE",
    "remove what interrupted runs left behind",
    "  darkroom gc place\n",
    "Only temporary files whose writer is gone are removed; a running task is never disturbed.\n",
    NULL,
    sizeof(struct common),
    run_gc};
