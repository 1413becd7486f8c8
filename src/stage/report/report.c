/* report.c - `darkroom report`: a place as one page that people can look at and send around.
 * Gather (a few streams over the sidecars), then draw. */
#include "stage/report/report.h"
#include "stage/report/funnel.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stop.h"
#include "format/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(f) offsetof(struct report_options, f)

static const struct opt options[] = {
    {"output", NULL, 'o', OPT_STR, AT(output), NULL, "FILE",
     "where the page goes; PLACE/report.html when not said", 0},
    {"shards", NULL, 0, OPT_LIST, AT(shards), NULL, "INPUT",
     "where the pictures are: shards or a folder, spelled as for embed; else where embed read them",
     0},
    {"pictures", NULL, 0, OPT_INT, AT(pictures), "400", "N",
     "at most so many pictures in the page, up to 400; 0: none", 0},
    OPT_END};

static int gather(struct report *r)
{
    log_progress("report: duplicates");
    int rc = report_groups(r);
    log_progress("report: counts");
    if (!rc) rc = report_tally(r);
    log_progress("report: scores");
    if (!rc) rc = report_measure(r);
    if (!rc) rc = report_pairs(r);
    if (!rc) rc = report_faults(r);
    if (!rc) report_times(r);
    log_progress("report: pictures");
    if (!rc) rc = report_shots(r);
    log_progress_end();
    if (!rc && stop_asked()) rc = err_set(ERR_STOPPED, "stopped by a signal");
    return rc;
}

/* The page appears whole or not at all, as every file of ours. */
static int save(const char *path, const struct str *page)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? mem_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : NULL;
    struct place *p;
    int rc = place_open(&p, folder ? folder : ".", 0);
    if (rc) rc = err_wrap(ERR_OUTPUT, "%s", path);
    if (!rc) {
        rc = place_write(p, slash ? slash + 1 : path, page->p, page->len);
        place_close(p);
    }
    free(folder);
    return rc;
}

static void tell(const struct report *r, const char *path, size_t size, double seconds)
{
    struct str s = {0};
    struct funnel f;
    funnel_init(&f, r);
    if (!r->o->common.quiet) funnel_print(&f);
    log_info("report: %lld rows, %d pictures, %.1f MB in %.1f s", (long long)r->rows, r->pictures,
             (double)size / 1e6, seconds);
    if (r->shots && !r->pictures && r->o->pictures)
        log_info("report: the shards are not at hand, so it has no pictures; --shards says where "
                 "they are");
    log_info("%s", path);
    str_puts(&s, "{\"event\": \"done\", \"report\": ");
    json_quote(&s, path, strlen(path));
    str_printf(&s, ", \"bytes\": %zu, \"rows\": %lld, \"pictures\": %d, \"seconds\": %.3f}", size,
               (long long)r->rows, r->pictures, seconds);
    log_event(s.p);
    str_release(&s);
}

static void release(struct report *r)
{
    for (int i = 0; i < r->shots; i++) {
        struct shot *s = &r->shot[i];
        free(s->key.p), free(s->caption.p), free(s->shard.p), free(s->path.p);
        thumb_release(&s->thumb);
    }
    for (size_t i = 0; i < r->faults; i++) {
        free(r->fault[i].status);
        for (int k = 0; k < r->fault[i].examples; k++) {
            struct fault_example *e = &r->fault[i].example[k];
            free(e->key.p), free(e->shard.p), free(e->message.p);
        }
    }
    for (int i = 0; i < r->measures; i++) free(r->measure[i].octave);
    for (int i = 0; i < r->pairs; i++) free(r->pair[i].name);
    free(r->fault);
    free(r->measure);
    free(r->shot);
    free(r->clusters);
    free(r->removed);
    free(r->eps_rows);
    free(r->pictures_from);
    rules_release(&r->rules);
    report_close(r);
}

static int report_run(void *opts, const char **args, int nargs)
{
    struct report_options *o = opts;
    struct str page = {0}, path = {0};
    double started = clock_now();
    if (nargs != 1) return err_set(ERR_USAGE, "report takes one PLACE");
    if (o->pictures < 0 || o->pictures > SHOTS_MAX)
        return err_set(ERR_USAGE, "--pictures must be 0 to %d", SHOTS_MAX);
    stop_catch_signals();
    struct report *r = mem_alloc(sizeof *r);
    r->o = o;
    r->shot = mem_alloc(SHOTS_MAX * sizeof *r->shot);
    str_printf(&path, "%s", o->output ? o->output : args[0]);
    if (!o->output) str_puts(&path, "/report.html");
    int rc = report_open(r, args[0]);
    if (!rc) rc = gather(r);
    if (!rc) report_draw(&page, r);
    if (!rc) rc = save(path.p, &page);
    if (!rc) tell(r, path.p, page.len, clock_now() - started);
    release(r);
    free(r);
    str_release(&page);
    str_release(&path);
    return rc;
}

const struct verb report_verb = {
    "report",
    "PLACE",
    "one page about a place: funnel, scores, duplicates, errors, times",
    "  darkroom report place\n"
    "  darkroom report place -o report.html --shards 'shards/{00000..00127}.tar'\n",
    "The page is one HTML file that needs no network and runs no script; pictures in it are small\n"
    "copies. They are taken from the shards that embed read, or those that --shards names; without\n"
    "any the page says so. Folders that clip-retrieval or NeMo Curator made are taken as they are.\n"
    "A part for which nothing was computed yet names the verb that does.\n",
    options,
    sizeof(struct report_options),
    report_run};
