/* times.c - how long each product took, from the live files of its tasks. They tell of the last
 * run of a task; what an earlier, interrupted one did is not added. */
#include "stage/report/report.h"
#include "base/arena.h"
#include "format/json.h"

#include <stdio.h>
#include <string.h>

static const char *const products[] = {"embed",          "score",       "filter",
                                       "dedup-clusters", "dedup-pairs", "dedup-eps"};

static double number(const struct json *j, const char *key)
{
    const struct json *v = json_get(j, key);
    return v && (v->type == JSON_INT || v->type == JSON_REAL) ? v->real : 0;
}

static void add_task(struct timing *t, const struct json *j)
{
    double seconds = number(j, "seconds"), samples = number(j, "samples");
    const char *state = json_text(j, "state", "?"), *slow = json_text(j, "bottleneck", "none");
    if (!(seconds >= 0 && seconds < 1e12) || !(samples >= 0 && samples < 1e15)) return;
    t->tasks++;
    t->seconds += seconds;
    t->samples += (int64_t)samples;
    t->running += !strcmp(state, "running");
    /* The slowest task's word counts for all. */
    if (seconds >= t->longest) {
        t->longest = seconds;
        snprintf(t->bottleneck, sizeof t->bottleneck, "%s", strcmp(slow, "none") ? slow : "");
    }
    if (strcmp(state, "done") || !t->state[0]) snprintf(t->state, sizeof t->state, "%s", state);
}

static void read_product(struct report *r, struct place *p, const char *product)
{
    struct timing t = {.product = product};
    struct names n = {0};
    struct str folder = {0}, name = {0}, text = {0};
    str_printf(&folder, "_darkroom/%s/live", product);
    if (place_list(p, folder.p, &n)) n.count = 0;
    for (size_t i = 0; i < n.count; i++) {
        struct arena a = {0};
        struct json *j;
        str_clear(&name);
        str_clear(&text);
        str_printf(&name, "%s/%s", folder.p, n.list[i]);
        if (!place_read(p, name.p, &text, 1 << 20) && !json_parse(&j, text.p, text.len, &a) &&
            j->type == JSON_OBJECT)
            add_task(&t, j);
        arena_release(&a);
    }
    if (t.tasks && r->timings < TIMINGS) r->timing[r->timings++] = t;
    str_release(&folder);
    str_release(&name);
    str_release(&text);
    names_release(&n);
}

/* Export lives in the folder it writes to, which the note in the place names. */
static void read_export(struct report *r)
{
    struct run run = {0};
    struct place *p = sidecars_place(r->sidecars), *out;
    if (place_exists(p, "_darkroom/export/run.json", NULL) && !run_load(&run, p, "export") &&
        run_get(&run, "out") && !place_open(&out, run_get(&run, "out"), 0)) {
        read_product(r, out, "export");
        place_close(out);
    }
    run_release(&run);
}

void report_times(struct report *r)
{
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        read_product(r, sidecars_place(r->sidecars), products[i]);
    read_export(r);
}
