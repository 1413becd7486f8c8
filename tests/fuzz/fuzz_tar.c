/* fuzz_tar.c - any bytes as a shard: no crash, counts close, samples lie inside the input, and a
 * plain archive gives the same samples whatever is hashed or believed. */
#include "base/arena.h"
#include "base/err.h"
#include "data/shard.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint64_t read_all(const uint8_t *data, size_t n, const struct shard_options *o)
{
    static struct arena a;
    struct shard *r = shard_of(source_of_bytes(data, n), 0, o);
    struct sample s;
    uint64_t good = 0, bad = 0, bytes = 0;
    int rc;
    while ((rc = shard_next(r, &s, &a)) == 0 || rc == ERR_DATA) {
        if (rc)
            bad++;
        else
            good++;
        if (rc) assert(err_why() != BAD_NONE && err_text()[0]);
        for (int i = 0; i < s.count; i++)
            for (size_t k = 0; s.members[i].data && k < s.members[i].size; k++)
                bytes += s.members[i].data[k];
        assert(strlen(s.key) <= 1024);
        arena_reset(&a);
    }
    const struct shard_counts *c = shard_counts(r);
    assert(rc == 1 && shard_next(r, &s, &a) == 1);
    assert(c->samples == good && c->bad + c->damaged == bad && c->damaged <= 1);
    assert(shard_size(r) == n);
    shard_close(r);
    return 31 * bytes + good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    /* The limits keep a bomb of a few bytes from costing seconds. */
    struct shard_options o = {.member_limit = 1 << 20};
    uint64_t first = read_all(data, n, &o);
    o.hash = 1;
    assert(read_all(data, n, &o) == first);
    o.allow_unterminated = 1;
    o.wanted = "jpg;txt";
    read_all(data, n, &o);
    return 0;
}
