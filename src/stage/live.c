/* live.c - one small JSON file per task. */
#include "stage/live.h"
#include "base/clock.h"
#include "format/json.h"

#include <string.h>
#include <unistd.h>

enum { LIVE_EVERY = 30 };

void live_start(struct live *l, struct place *place, const char *product, struct task task)
{
    *l = (struct live){place, product, task, clock_now(), 0};
}

/* A young run tells of itself sooner: people look right after they started it. */
int live_due(const struct live *l)
{
    double now = clock_now(), age = now - l->written;
    return age >= LIVE_EVERY || (now - l->started < LIVE_EVERY && age >= 3);
}

static void quote(struct str *out, const char *text)
{
    json_quote(out, text ? text : "none", strlen(text ? text : "none"));
}

void live_write(struct live *l, const char *state, const struct live_counts *c)
{
    struct str s = {0}, name = {0};
    char host[64] = "", utc[32];
    double spent = clock_now() - l->started;
    l->written = clock_now();
    gethostname(host, sizeof host - 1);
    clock_utc(utc);
    str_printf(&s, "{\"task\": \"%lld/%lld\", \"host\": ", (long long)l->task.index,
               (long long)l->task.count);
    quote(&s, host);
    str_printf(&s,
               ", \"pid\": %ld, \"time\": \"%s\", \"state\": \"%s\", \"samples\": %lld, "
               "\"rows\": %lld, \"bad\": %lld, \"partitions_done\": %lld, \"seconds\": %.3f, "
               "\"rate\": %.2f, \"bottleneck\": ",
               (long)getpid(), utc, state, c->samples, c->rows, c->bad, c->partitions_done, spent,
               spent > 0 ? (double)c->samples / spent : 0);
    quote(&s, c->bottleneck);
    str_puts(&s, ", \"last_error\": ");
    quote(&s, c->last_error);
    if (c->inputs) {
        str_puts(&s, ", \"inputs\": ");
        quote(&s, c->inputs);
    }
    str_puts(&s, "}\n");
    str_printf(&name, "_darkroom/%s/live/%lld.json", l->product, (long long)l->task.index);
    (void)place_write(l->place, name.p, s.p, s.len);
    str_release(&s);
    str_release(&name);
}
