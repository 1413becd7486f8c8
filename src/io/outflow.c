/* outflow.c - see outflow.h. Two queues of blocks: the filled ones to the thread, the empty ones
 * back. After an error the thread goes on emptying blocks, so that the producer never waits for
 * something that will not come. */
#include "io/outflow.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 128 << 10, BLOCKS = 8, STRIDE = 16 << 20 };

struct block {
    unsigned char *p;
    size_t used;
};

struct outflow {
    int fd;
    char *path;
    pthread_t thread;
    struct queue *full, *empty;
    struct block block[BLOCKS], *now;
    struct sha256 hash;
    uint64_t written, started; /* bytes given to the system; to the disk */
    atomic_int failed;         /* errno of the first write that failed */
};

static void write_block(struct outflow *o, const struct block *b)
{
    for (size_t at = 0; at < b->used && !atomic_load(&o->failed);) {
        ssize_t n = write(o->fd, b->p + at, b->used - at);
        if (n < 0 && errno != EINTR) atomic_store(&o->failed, errno);
        if (n > 0) at += (size_t)n;
    }
    o->written += b->used;
}

/* Without this the system collects pages for half a minute and fsync waits for all of them. */
static void start_disk(struct outflow *o)
{
    if (o->written - o->started < STRIDE) return;
    sync_file_range(o->fd, (off_t)o->started, (off_t)(o->written - o->started),
                    SYNC_FILE_RANGE_WRITE);
    o->started = o->written;
}

static void *run(void *arg)
{
    struct outflow *o = arg;
    for (struct block *b; (b = queue_pop(o->full));) {
        if (!atomic_load(&o->failed)) {
            write_block(o, b);
            sha256_add(&o->hash, b->p, b->used);
            start_disk(o);
        }
        b->used = 0;
        queue_push(o->empty, b);
    }
    return NULL;
}

static void outflow_free(struct outflow *o)
{
    for (int i = 0; i < BLOCKS; i++) free(o->block[i].p);
    sha256_release(&o->hash);
    queue_free(o->full);
    queue_free(o->empty);
    free(o->path);
    free(o);
}

int outflow_open(struct outflow **out, int fd, const char *path)
{
    struct outflow *o = mem_alloc(sizeof *o);
    o->fd = fd;
    o->path = mem_strdup(path);
    o->full = queue_new(BLOCKS);
    o->empty = queue_new(BLOCKS);
    sha256_init(&o->hash);
    for (int i = 0; i < BLOCKS; i++) {
        o->block[i].p = mem_aligned(BLOCK);
        if (i) queue_push(o->empty, &o->block[i]);
    }
    o->now = &o->block[0];
    int failed = pthread_create(&o->thread, NULL, run, o);
    if (failed) {
        outflow_free(o);
        return err_set(ERR_FAIL, "no thread for writing: %s", strerror(failed));
    }
    *out = o;
    return 0;
}

static int state(const struct outflow *o)
{
    int failed = atomic_load(&o->failed);
    return failed ? err_set(ERR_OUTPUT, "%s: %s", o->path, strerror(failed)) : 0;
}

int outflow_write(struct outflow *o, const void *p, size_t n)
{
    while (n) {
        size_t part = BLOCK - o->now->used;
        if (part > n) part = n;
        memcpy(o->now->p + o->now->used, p, part);
        o->now->used += part;
        p = (const char *)p + part;
        n -= part;
        if (o->now->used < BLOCK) break;
        queue_push(o->full, o->now);
        o->now = queue_pop(o->empty);
        int rc = state(o);
        if (rc) return rc;
    }
    return 0;
}

int outflow_close(struct outflow *o, char sha256[65])
{
    if (sha256 && o->now->used) queue_push(o->full, o->now);
    queue_close(o->full);
    pthread_join(o->thread, NULL);
    int rc = state(o);
    if (!rc && sha256) sha256_end(&o->hash, sha256);
    outflow_free(o);
    return rc;
}
