/* output.c - see output.h. */
#include "stage/export/output.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void output_drop(struct output *o)
{
    if (!o) return;
    parquet_writer_free(o->table);
    sink_abort(o->tar_sink);
    sink_abort(o->table_sink);
    receipt_release(&o->receipt);
    free(o);
}

static void name_of(struct str *s, const struct exporter *x, int64_t number, const char *ext)
{
    str_clear(s);
    str_printf(s, "%0*lld.%s", (int)x->o->max_shards, (long long)number, ext);
}

int output_begin(struct output **out, const struct exporter *x, int64_t number)
{
    /* small row groups: memory does not grow with the shard */
    static const struct parquet_options small = {.row_group_bytes = 4 << 20};
    struct output *o = *out = mem_alloc(sizeof *o);
    struct str name = {0};
    o->number = o->receipt.partition = number;
    o->receipt.digits = x->digits;
    memcpy(o->receipt.fingerprint, x->run.fingerprint, sizeof o->receipt.fingerprint);
    name_of(&name, x, number, "tar");
    int rc = place_create(x->out, name.p, &o->tar_sink);
    if (!rc) rc = sink_flow(o->tar_sink);
    name_of(&name, x, number, "parquet");
    if (!rc) rc = place_create(x->out, name.p, &o->table_sink);
    if (!rc)
        rc = parquet_writer_new(&o->table, o->table_sink, x->sheet.out, x->sheet.total, &small);
    if (!rc) tar_writer_init(&o->tar, o->tar_sink);
    str_release(&name);
    return rc;
}

int output_end(struct output *o)
{
    int rc = tar_writer_end(&o->tar);
    if (!rc) rc = parquet_finish(o->table);
    parquet_writer_free(o->table); /* it may wait for long */
    o->table = NULL;
    if (!rc) rc = sink_settle(o->tar_sink);
    return rc ? rc : sink_settle(o->table_sink);
}

static int commit_file(struct output *o, const struct exporter *x, struct sink **sink,
                       const char *ext)
{
    char sha256[65];
    uint64_t size;
    struct str name = {0};
    struct sink *s = *sink;
    *sink = NULL;
    int rc = sink_commit(s, sha256, &size);
    name_of(&name, x, o->number, ext);
    if (!rc) receipt_add(&o->receipt.outputs, name.p, size, sha256);
    str_release(&name);
    return rc;
}

static void tell(const struct output *o)
{
    struct str s = {0};
    if (!log_json()) return;
    str_printf(&s, "{\"event\": \"shard\", \"shard\": %lld, \"samples\": %lld, \"bytes\": %llu}",
               (long long)o->number, (long long)o->receipt.rows,
               (unsigned long long)o->receipt.outputs.file[0].size);
    log_event(s.p);
    str_release(&s);
}

/* The old receipt goes first, so that no moment has a receipt beside files it does not describe. */
int output_commit(struct output *o, struct exporter *x)
{
    int rc = run_still_ours(&x->run, x->out, "export");
    if (!rc) rc = receipt_remove(x->out, "export", o->number, x->digits);
    if (!rc) rc = commit_file(o, x, &o->tar_sink, "tar");
    if (!rc) rc = commit_file(o, x, &o->table_sink, "parquet");
    fault_point("before-receipt");
    if (!rc) rc = receipt_save(&o->receipt, x->out, "export");
    if (rc) return rc;
    atomic_fetch_add(&x->written, 1);
    tell(o);
    return 0;
}

void output_source(struct output *o, const char *label)
{
    struct receipt_files *in = &o->receipt.inputs;
    if (!in->count || strcmp(in->file[in->count - 1].name, label)) receipt_add(in, label, 0, "");
}

void output_note(struct output *o, const struct receipt_files *read)
{
    struct receipt_files *in = &o->receipt.inputs;
    for (size_t i = 0; i < in->count; i++)
        for (size_t k = 0; k < read->count && !in->file[i].sha256[0]; k++) {
            if (strcmp(in->file[i].name, read->file[k].name)) continue;
            in->file[i].size = read->file[k].size;
            memcpy(in->file[i].sha256, read->file[k].sha256, 65);
        }
}
