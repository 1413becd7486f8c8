/* embed_read.c - the reader box: partitions in order, their shards in order, samples in file
 * order, packed into chunks. Bytes under way are charged to a budget, so that a row of huge
 * pictures slows reading down instead of filling memory. */
#include "stage/image/embed.h"
#include "base/log.h"
#include "base/mem.h"
#include "data/shard.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CHUNK_BYTES = 8 << 20, /* of good samples in one chunk */
    CHUNK_ARENA = 64 << 20 /* taken for them; bad samples were read, too, before they were bad */
};

struct reader {
    struct partition *part;
    struct shard *shard;
    size_t at;      /* input to open next: at % partitions == part->index */
    size_t current; /* input being read */
    uint64_t seen;  /* bytes of the current shard already counted */
};

static int start(void *stage, void **state)
{
    (void)stage;
    *state = mem_alloc(sizeof(struct reader));
    return 0;
}

static void stop(void *stage, void *state)
{
    struct reader *r = state;
    (void)stage;
    if (!r) return;
    shard_close(r->shard);
    free(r);
}

/* Wait until the bytes under way leave room. */
static void wait_for_room(struct embedder *e)
{
    pthread_mutex_lock(&e->lock);
    while (e->held && e->held >= e->budget && !stage_over(&e->stage)) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += 50000000;
        if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&e->room, &e->lock, &t);
    }
    pthread_mutex_unlock(&e->lock);
}

static struct partition *partition_begin(struct embedder *e)
{
    size_t i = atomic_fetch_add(&e->next_todo, 1);
    if (i >= e->ntodo) return NULL;
    struct partition *p = mem_alloc(sizeof *p);
    p->index = p->receipt.partition = e->todo[i];
    p->receipt.digits = e->digits;
    memcpy(p->receipt.fingerprint, e->run.fingerprint, sizeof p->receipt.fingerprint);
    pthread_mutex_lock(&e->lock);
    p->next = e->parts;
    e->parts = p;
    pthread_mutex_unlock(&e->lock);
    return p;
}

static struct slot *slot_add(struct chunk *c, const char *shard)
{
    struct slot *s = &c->slot[c->count++];
    memset(s, 0, sizeof *s);
    s->sample.key = "";
    s->shard = shard;
    return s;
}

/* The sample in s could not be used; the thread's error says why. */
static void slot_bad(struct chunk *c, struct slot *s)
{
    s->bad = err_why();
    s->box = "read";
    s->message = arena_strndup(&c->text, err_text(), strlen(err_text()));
}

/* A missing shard is a row of its own and is tried again next time; an input that fails in
 * another way says nothing about its samples, so the partition stays undone. */
static void input_failed(struct embedder *e, struct reader *r, struct chunk *c, int missing)
{
    log_warn("%s", err_text());
    embed_note_error(e, err_text());
    if (missing) {
        struct slot *s = slot_add(c, embed_input_name(e, r->current));
        s->bad = BAD_SHARD_MISSING;
        s->box = "read";
        s->message = "the shard is missing";
        r->part->keep_undone = 1;
    } else {
        r->part->abandon = 1;
    }
}

static int open_shard(struct embedder *e, struct reader *r, struct chunk *c)
{
    const char *path = e->inputs.names.list[r->current];
    struct shard_options so = {.member_limit = PREP_MAX_BYTES,
                               .wanted = e->wanted.p,
                               .hash = 1,
                               .allow_unterminated = e->o->allow_unterminated,
                               .expected = embed_expected(path)};
    r->seen = 0;
    if (!shard_open(&r->shard, path, (uint32_t)r->current, &so)) return 0;
    input_failed(e, r, c, !source_is_pipe(path) && !file_exists(path));
    return 1;
}

static void shard_done(struct embedder *e, struct reader *r)
{
    receipt_add(&r->part->receipt.inputs, embed_input_name(e, r->current), shard_size(r->shard),
                shard_sha256(r->shard));
    atomic_fetch_add(&e->bytes_read, (long long)shard_size(r->shard) - (long long)r->seen);
    shard_close(r->shard);
    r->shard = NULL;
}

static size_t sample_bytes(const struct sample *s)
{
    size_t n = 0;
    for (int i = 0; i < s->count; i++) n += s->members[i].data ? s->members[i].size : 0;
    return n;
}

/* One sample of the open shard into the chunk; 1 when the shard is done or given up. */
static int take_sample(struct embedder *e, struct reader *r, struct chunk *c)
{
    struct slot *s = slot_add(c, embed_input_name(e, r->current));
    int rc = shard_next(r->shard, &s->sample, &c->bytes);
    if (rc == 0 && s->sample.offset > r->seen) {
        atomic_fetch_add(&e->bytes_read, (long long)(s->sample.offset - r->seen));
        r->seen = s->sample.offset;
    }
    if (rc == 0) {
        s->image_path = s->sample.key;
        c->held += sample_bytes(&s->sample);
        return 0;
    }
    if (rc == ERR_DATA) {
        if (err_why() == BAD_TAR_DAMAGED) {
            log_warn("%s: %s", e->inputs.names.list[r->current], err_text());
            embed_note_error(e, err_text());
        }
        slot_bad(c, s);
        return 0;
    }
    c->count--;
    if (rc == 1) {
        shard_done(e, r);
        return 1;
    }
    shard_close(r->shard);
    r->shard = NULL;
    err_wrap(rc, "partition %lld stays undone", (long long)r->part->index);
    input_failed(e, r, c, 0);
    return 1;
}

/* A receipt cannot list a million pictures: one line stands for all that a partition read. */
static void note_read(struct partition *p, const struct sample *s)
{
    if (!p->read.ctx) sha256_init(&p->read);
    sha256_add(&p->read, s->key, strlen(s->key) + 1);
    for (int i = 0; i < s->count; i++) {
        sha256_add(&p->read, s->members[i].data, s->members[i].size);
        p->read_bytes += s->members[i].size;
    }
}

static void folder_done(struct embedder *e, struct partition *p)
{
    char hex[65] = "";
    if (!p->read.ctx) return;
    sha256_end(&p->read, hex);
    receipt_add(&p->receipt.inputs, embed_input_name(e, 0), p->read_bytes, hex);
}

/* Pictures in a folder: sample r->at of the list, read whole. */
static int take_picture(struct embedder *e, struct reader *r, struct chunk *c)
{
    struct slot *s = slot_add(c, embed_input_name(e, r->at));
    r->current = r->at;
    int rc = embed_load_picture(e, &s->sample, &c->bytes, r->current);
    if (rc == ERR_DATA) slot_bad(c, s);
    if (rc && rc != ERR_DATA) {
        c->count--;
        input_failed(e, r, c, 0);
    } else if (!rc) {
        const struct sample_member *m = sample_find(&s->sample, e->image_keys);
        s->image_path = m && m->path ? m->path : s->sample.key;
        c->held += sample_bytes(&s->sample);
        note_read(r->part, &s->sample);
    }
    return rc && rc != ERR_DATA;
}

/* Step to the next input of the partition: 0 when one is being read, 1 when it has no more. */
static int advance(struct embedder *e, struct reader *r, struct chunk *c)
{
    while (!r->shard) {
        if (r->at >= e->count || r->part->abandon) return 1;
        r->current = r->at;
        r->at += (size_t)e->partitions;
        open_shard(e, r, c);
        if (c->count == e->chunk_cap) break;
    }
    return 0;
}

static int has_room(const struct embedder *e, const struct chunk *c)
{
    return c->count < e->chunk_cap && c->held < CHUNK_BYTES && arena_bytes(&c->bytes) < CHUNK_ARENA;
}

static void fill_from_shards(struct embedder *e, struct reader *r, struct chunk *c)
{
    while (has_room(e, c) && !stage_over(&e->stage)) {
        if (advance(e, r, c)) {
            c->end = 1;
            return;
        }
        if (r->shard && c->count < e->chunk_cap) take_sample(e, r, c);
    }
}

static void fill_from_folder(struct embedder *e, struct reader *r, struct chunk *c)
{
    while (has_room(e, c) && !stage_over(&e->stage)) {
        if (r->at >= e->count || r->part->abandon) {
            folder_done(e, r->part);
            c->end = 1;
            return;
        }
        take_picture(e, r, c);
        r->at += (size_t)e->partitions;
    }
}

static int work(void *stage, void *state, void *item)
{
    struct embedder *e = stage;
    struct reader *r = state;
    struct chunk *c = item;
    c->count = c->rows = c->end = 0;
    c->held = 0;
    wait_for_room(e);
    if (!r->part) {
        r->part = partition_begin(e);
        if (!r->part) return 1;
        r->at = (size_t)r->part->index;
    }
    c->part = r->part;
    if (embed_of_pictures(e))
        fill_from_folder(e, r, c);
    else
        fill_from_shards(e, r, c);
    if (c->end) r->part = NULL;
    pthread_mutex_lock(&e->lock);
    e->held += c->held;
    pthread_mutex_unlock(&e->lock);
    return 0;
}

const struct box embed_read_box = {"reader", 1, start, work, stop};
