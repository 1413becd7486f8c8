/* embed_sink.c - the sink box: chunks arrive in order; rows go to the sidecars of their
 * partition, bad samples to its errors. When a partition ends its files are committed one by
 * one and the receipt last, so a crash at any moment leaves it either done or to be redone. */
#include "stage/image/embed.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const struct parquet_column error_columns[] = {
    {"key", PARQUET_STRING, 1},   {"shard", PARQUET_STRING, 0},  {"offset", PARQUET_INT64, 0},
    {"stage", PARQUET_STRING, 0}, {"status", PARQUET_STRING, 0}, {"message", PARQUET_STRING, 0}};

static void file_name(struct str *s, const struct embedder *e, const struct partition *p,
                      const char *kind, const char *ext)
{
    str_clear(s);
    str_printf(s, "%s/%s_%0*lld.%s", kind, kind, e->digits, (long long)p->index, ext);
}

static int create(struct embedder *e, struct partition *p, struct sink **sink, const char *kind,
                  const char *ext)
{
    struct str name = {0};
    file_name(&name, e, p, kind, ext);
    int rc = place_create(e->place, name.p, sink);
    str_release(&name);
    return rc;
}

static int open_npy(struct embedder *e, struct partition *p, struct npy_writer *w,
                    struct sink **sink, const char *kind)
{
    int rc = create(e, p, sink, kind, "npy");
    if (rc) return rc;
    return npy_writer_init(w, *sink, e->o->dtype == DTYPE_F32 ? "<f4" : "<f2",
                           (int64_t)e->embed_dim);
}

/* Before the first chunk: the old receipt goes first, so that no moment has a receipt beside
 * files it does not describe. */
static int partition_open(struct embedder *e, struct partition *p)
{
    p->opened = 1;
    int rc = run_still_ours(&e->run, e->place, "embed");
    if (!rc) rc = receipt_remove(e->place, "embed", p->index, e->digits);
    if (!rc) rc = create(e, p, &p->errors_sink, "errors", "parquet");
    if (!rc) rc = parquet_writer_new(&p->errors, p->errors_sink, error_columns, 6, NULL);
    if (!rc) p->metadata = metadata_new(e->place);
    return rc;
}

static int put_error(struct embedder *e, struct partition *p, const struct slot *s)
{
    const char *status = bad_name(s->bad);
    parquet_put_string(p->errors, 0, s->sample.key, strlen(s->sample.key));
    parquet_put_string(p->errors, 1, s->shard, strlen(s->shard));
    parquet_put_int(p->errors, 2, (int64_t)s->sample.offset);
    parquet_put_string(p->errors, 3, s->box, strlen(s->box));
    parquet_put_string(p->errors, 4, status, strlen(status));
    parquet_put_string(p->errors, 5, s->message, strlen(s->message));
    p->receipt.errors[s->bad]++;
    atomic_fetch_add(&e->errors[s->bad], 1);
    log_debug("%s %s: %s: %s", s->shard, s->sample.key, status, s->message);
    return parquet_end_row(p->errors);
}

static int put_row(struct partition *p, const struct slot *s)
{
    struct metadata_row row = {.image_path = s->image_path,
                               .shard = s->shard,
                               .key = s->sample.key,
                               .caption = s->caption,
                               .caption_len = s->caption_len,
                               .width = s->width,
                               .height = s->height,
                               .json = s->json,
                               .json_len = s->json_len};
    return metadata_add(p->metadata, &row);
}

static int put_embeddings(struct embedder *e, struct partition *p, const struct chunk *c)
{
    int rc = 0;
    if (!c->rows) return 0;
    if (e->image && !p->image_sink) rc = open_npy(e, p, &p->image, &p->image_sink, "img_emb");
    if (!rc && e->text && !p->text_sink) rc = open_npy(e, p, &p->text, &p->text_sink, "text_emb");
    if (!rc && e->image) rc = npy_writer_add(&p->image, c->image, c->rows);
    if (!rc && e->text) rc = npy_writer_add(&p->text, c->caption, c->rows);
    return rc;
}

static int put_chunk(struct embedder *e, struct chunk *c)
{
    struct partition *p = c->part;
    int rc = p->opened ? 0 : partition_open(e, p);
    if (!rc) rc = put_embeddings(e, p, c);
    for (int i = 0; i < c->count && !rc; i++)
        rc = c->slot[i].bad ? put_error(e, p, &c->slot[i]) : put_row(p, &c->slot[i]);
    p->receipt.samples += c->count;
    p->receipt.rows += c->rows;
    atomic_fetch_add(&e->samples, c->count);
    atomic_fetch_add(&e->rows, c->rows);
    return rc;
}

/* Commit one file and note it in the receipt; the sink is gone either way. */
static int commit(struct embedder *e, struct partition *p, struct sink **sink, const char *kind,
                  const char *ext)
{
    struct str name = {0};
    char sha256[65];
    uint64_t size;
    struct sink *s = *sink;
    *sink = NULL;
    int rc = sink_commit(s, sha256, &size);
    file_name(&name, e, p, kind, ext);
    if (!rc) receipt_add(&p->receipt.outputs, name.p, size, sha256);
    str_release(&name);
    return rc;
}

static int save_metadata(struct embedder *e, struct partition *p)
{
    struct sink *s;
    int rc = create(e, p, &s, "metadata", "parquet");
    if (rc) return rc;
    rc = metadata_save(p->metadata, s);
    if (rc) {
        sink_abort(s);
        return rc;
    }
    return commit(e, p, &s, "metadata", "parquet");
}

/* A partition without rows has errors and a receipt only; files of an earlier attempt go. */
static int remove_rows(struct embedder *e, struct partition *p)
{
    static const char *const kinds[][2] = {
        {"img_emb", "npy"}, {"text_emb", "npy"}, {"metadata", "parquet"}};
    struct str name = {0};
    int rc = 0;
    for (int i = 0; i < 3 && !rc; i++) {
        file_name(&name, e, p, kinds[i][0], kinds[i][1]);
        rc = place_remove(e->place, name.p);
    }
    str_release(&name);
    return rc;
}

static int save_rows(struct embedder *e, struct partition *p)
{
    int rc = 0;
    if (!p->receipt.rows) return remove_rows(e, p);
    if (p->image_sink) rc = npy_writer_finish(&p->image);
    if (!rc && p->image_sink) rc = commit(e, p, &p->image_sink, "img_emb", "npy");
    if (!rc && p->text_sink) rc = npy_writer_finish(&p->text);
    if (!rc && p->text_sink) rc = commit(e, p, &p->text_sink, "text_emb", "npy");
    return rc ? rc : save_metadata(e, p);
}

static void tell_partition(struct partition *p)
{
    struct str s = {0};
    int64_t bad = p->receipt.samples - p->receipt.rows;
    if (!log_json()) return;
    str_printf(&s,
               "{\"event\": \"partition\", \"partition\": %lld, \"samples\": %lld, "
               "\"rows\": %lld, \"errors\": %lld, \"done\": %s}",
               (long long)p->index, (long long)p->receipt.samples, (long long)p->receipt.rows,
               (long long)bad, p->keep_undone ? "false" : "true");
    log_event(s.p);
    str_release(&s);
}

static int partition_end(struct embedder *e, struct partition *p)
{
    int rc = run_still_ours(&e->run, e->place, "embed");
    if (!rc) rc = save_rows(e, p);
    if (!rc) rc = parquet_finish(p->errors);
    if (!rc) rc = commit(e, p, &p->errors_sink, "errors", "parquet");
    fault_point("before-receipt");
    if (!rc) rc = run_still_ours(&e->run, e->place, "embed");
    if (!rc && !p->keep_undone) rc = receipt_save(&p->receipt, e->place, "embed");
    if (rc) return rc;
    if (p->keep_undone)
        atomic_fetch_add(&e->undone, 1);
    else
        atomic_fetch_add(&e->partitions_done, 1);
    tell_partition(p);
    return 0;
}

void partition_drop(struct embedder *e, struct partition *p)
{
    pthread_mutex_lock(&e->lock);
    for (struct partition **q = &e->parts; *q; q = &(*q)->next)
        if (*q == p) {
            *q = p->next;
            break;
        }
    pthread_mutex_unlock(&e->lock);
    sink_abort(p->image_sink);
    sink_abort(p->text_sink);
    parquet_writer_free(p->errors);
    sink_abort(p->errors_sink);
    metadata_free(p->metadata);
    sha256_release(&p->read);
    receipt_release(&p->receipt);
    free(p);
}

/* An abandoned partition's samples are not counted: they come again. */
static void forget(struct embedder *e, struct partition *p)
{
    atomic_fetch_add(&e->undone, 1);
    atomic_fetch_sub(&e->samples, p->receipt.samples);
    atomic_fetch_sub(&e->rows, p->receipt.rows);
    for (int b = 0; b < BAD_COUNT; b++) atomic_fetch_sub(&e->errors[b], p->receipt.errors[b]);
}

static int work(void *stage, void *state, void *item)
{
    struct embedder *e = stage;
    struct chunk *c = item;
    struct partition *p = c->part;
    int rc = 0;
    (void)state;
    if (!c->end || !p->abandon) rc = put_chunk(e, c);
    if (!rc && c->end) {
        if (p->abandon)
            forget(e, p);
        else
            rc = partition_end(e, p);
        partition_drop(e, p);
    }
    arena_relax(&c->text, KEEP_ARENA);
    return rc;
}

const struct box embed_sink_box = {"sink", 1, NULL, work, NULL};
