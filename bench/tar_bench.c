/* tar_bench.c - how fast the samples of a tar come to memory, on one core.
 *   tar_bench FILE members|samples|hashed    prints: seconds (CPU and wall), samples, bytes
 * members: tar layer alone, every body copied into one buffer; samples: grouped, in an arena;
 * hashed: the same with the sha256 of the file. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "data/shard.h"
#include "format/tar.h"

#include <stdio.h>
#include <string.h>

static int read_members(const char *path, uint64_t *count, uint64_t *bytes)
{
    static unsigned char body[1 << 20];
    struct source *s;
    struct tar_member m;
    int rc = source_open(&s, path);
    if (rc) return rc;
    struct tar *t = tar_open(s, NULL);
    while (!(rc = tar_next(t, &m))) {
        if (m.size > sizeof body) return 1;
        if ((rc = tar_read(t, body, m.size))) break;
        ++*count;
        *bytes += m.size;
    }
    tar_close(t);
    return rc;
}

static int read_samples(const char *path, int hash, uint64_t *count, uint64_t *bytes)
{
    struct shard *r;
    struct sample s;
    struct arena a = {0};
    int rc = shard_open(&r, path, 0, &(struct shard_options){.hash = hash});
    if (rc) return rc;
    while (!(rc = shard_next(r, &s, &a))) {
        ++*count;
        for (int i = 0; i < s.count; i++) *bytes += s.members[i].size;
        arena_reset(&a);
    }
    shard_close(r);
    arena_release(&a);
    return rc;
}

int main(int argc, char **argv)
{
    uint64_t count = 0, bytes = 0;
    if (argc != 3) return 2;
    double cpu = clock_cpu(), wall = clock_now();
    int rc = !strcmp(argv[2], "members")
                 ? read_members(argv[1], &count, &bytes)
                 : read_samples(argv[1], !strcmp(argv[2], "hashed"), &count, &bytes);
    if (rc != 1) {
        fprintf(stderr, "%s: %s\n", argv[1], err_text());
        return 1;
    }
    printf("%.6f %.6f %llu %llu\n", clock_cpu() - cpu, clock_now() - wall,
           (unsigned long long)count, (unsigned long long)bytes);
    return 0;
}
