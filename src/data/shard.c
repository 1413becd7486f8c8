/* shard.c - grouping members into samples.
 * The header of the next member is read before the sample is given out, its body after: so a
 * sample is known to be whole without ever holding two. Keys seen are kept as 64-bit hashes. */
#include "data/shard.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/seen.h"
#include "format/tar.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_MAX = 1024,
    MEMBERS_MAX = 1000, /* of one sample */
    TRUSTED = 4 << 20   /* bytes taken on a header's word alone */
};

struct shard {
    struct tar *tar;
    struct shard_options options;
    struct shard_counts counts;
    uint32_t index;
    struct tar_member next; /* header read, body not */
    const char *next_ext;
    size_t next_key; /* length of its key */
    int ahead;       /* next is filled */
    int over;        /* what ended the tar: 1 or an error; 1 once damage was told */
    int dropped;     /* the damage cost a sample */
    struct str key;  /* of the sample being gathered */
    struct sample_member *members;
    size_t count, cap;
    uint64_t bytes; /* held for this sample */
    enum bad bad;   /* why it is bad, BAD_NONE while it is good */
    const char *why;
    uint64_t shape, last_shape; /* its set of extensions, and that of the sample before */
    struct seen seen;
    struct str large; /* where a member grows that only its header vouches for */
};

struct shard *shard_of(struct source *s, uint32_t index, const struct shard_options *options)
{
    struct shard *r = mem_alloc(sizeof *r);
    if (options) r->options = *options;
    r->index = index;
    struct tar_options t = {.hash = r->options.hash};
    if (!r->options.member_limit) r->options.member_limit = (uint64_t)2 << 30;
    t.member_limit = (uint64_t)2 << 30;
    if (t.member_limit < r->options.member_limit) t.member_limit = r->options.member_limit;
    r->tar = tar_open(s, &t);
    return r;
}

int shard_open(struct shard **out, const char *name, uint32_t index,
               const struct shard_options *options)
{
    struct source *s;
    int rc = source_open(&s, name);
    if (rc) return rc;
    *out = shard_of(s, index, options);
    return 0;
}

void shard_close(struct shard *r)
{
    if (!r) return;
    tar_close(r->tar);
    str_release(&r->key);
    str_release(&r->large);
    free(r->members);
    seen_release(&r->seen);
    free(r);
}

const struct shard_counts *shard_counts(const struct shard *r)
{
    return &r->counts;
}

const char *shard_sha256(const struct shard *r)
{
    return tar_sha256(r->tar);
}

uint64_t shard_size(const struct shard *r)
{
    return tar_stored(r->tar);
}

/* webdataset's regular expression has a corner: a last part that begins with a dot gives its
 * folder, with the slash, as the key, unless that folder's name has a dot. */
size_t shard_key(const char *name, const char **ext)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    const char *dot = strchr(base, '.');
    if (!dot) return 0;
    if (dot == base) {
        if (!slash) return 0;
        const char *folder = slash;
        while (folder > name && folder[-1] != '/') folder--;
        if (memchr(folder, '.', (size_t)(slash - folder))) return 0;
    }
    *ext = dot + 1;
    return (size_t)(dot - name);
}

/* `__x__` at the top, as a file or as a folder with all it holds. */
static int is_meta(const char *name)
{
    size_t n = strcspn(name, "/");
    return n >= 4 && !memcmp(name, "__", 2) && !memcmp(name + n - 2, "__", 2);
}

size_t shard_member(const struct tar_member *m, const char **ext)
{
    return m->regular && !is_meta(m->name) ? shard_key(m->name, ext) : 0;
}

/* Step to the next member that belongs to a sample. */
static int pull(struct shard *r)
{
    r->ahead = 0;
    for (;;) {
        int rc = tar_next(r->tar, &r->next);
        if (rc) return r->over = rc;
        r->next_key = shard_member(&r->next, &r->next_ext);
        if (r->next_key) break;
        r->counts.passed_over++;
    }
    r->ahead = 1;
    return 0;
}

static void spoil(struct shard *r, enum bad bad, const char *why)
{
    if (r->bad) return;
    r->bad = bad;
    r->why = why;
}

/* The body, in the arena. Where the source may be shorter than the header claims, memory is
 * taken as the bytes come. */
static int load(struct shard *r, struct sample_member *m, struct arena *a)
{
    unsigned char *data;
    if (m->size <= TRUSTED || tar_has(r->tar, m->size)) {
        data = arena_alloc(a, m->size);
        m->data = data;
        return tar_read(r->tar, data, m->size);
    }
    str_clear(&r->large);
    while (r->large.len < m->size) {
        size_t part = m->size - r->large.len;
        if (part > TRUSTED) part = TRUSTED;
        str_reserve(&r->large, part);
        int rc = tar_read(r->tar, r->large.p + r->large.len, part);
        if (rc) return rc;
        r->large.len += part;
    }
    data = arena_alloc(a, m->size);
    m->data = memcpy(data, r->large.p, m->size);
    str_release(&r->large);
    return 0;
}

static char *lower(struct arena *a, const char *s)
{
    size_t n = strlen(s);
    char *p = arena_strndup(a, s, n);
    for (size_t i = 0; i < n; i++)
        if (p[i] >= 'A' && p[i] <= 'Z') p[i] = (char)(p[i] + 32);
    return p;
}

/* Add the member ahead to the sample. */
static int gather(struct shard *r, struct arena *a)
{
    struct sample_member m = {.size = (size_t)r->next.size, .offset = r->next.body};
    if (r->count >= MEMBERS_MAX) spoil(r, BAD_TOO_LARGE, "more than 1,000 members");
    if (r->bad) return 0;
    m.ext = lower(a, r->next_ext);
    for (size_t i = 0; i < r->count; i++)
        if (!strcmp(r->members[i].ext, m.ext)) {
            spoil(r, BAD_DUPLICATE_MEMBER, "an extension occurs twice");
            return 0;
        }
    int wanted = !r->options.wanted || sample_is_one_of(r->options.wanted, m.ext);
    if (wanted &&
        (m.size > r->options.member_limit || (r->bytes += m.size) / 4 > r->options.member_limit))
        spoil(r, BAD_TOO_LARGE, "more bytes than the limit");
    r->shape += hash64(m.ext, strlen(m.ext));
    if (wanted && !r->bad) {
        int rc = load(r, &m, a);
        if (rc) {
            r->ahead = 0;
            return r->over = rc;
        }
    }
    vec_push(r->members, r->count, r->cap);
    r->members[r->count++] = m;
    return 0;
}

static void begin(struct shard *r, struct sample *s, struct arena *a)
{
    r->count = 0;
    r->bytes = r->shape = 0;
    r->bad = BAD_NONE;
    str_clear(&r->key);
    str_add(&r->key, r->next.name, r->next_key);
    s->offset = r->next.offset;
    s->key = arena_strndup(a, r->key.p, r->key.len < KEY_MAX ? r->key.len : KEY_MAX);
    if (r->key.len > KEY_MAX) spoil(r, BAD_TOO_LARGE, "the key is longer than 1 KiB");
    if (seen_before(&r->seen, r->key.p, r->key.len))
        spoil(r, BAD_NON_ADJACENT, "the key was there before, with others in between");
}

static int same_key(const struct shard *r)
{
    return r->next_key == r->key.len && !memcmp(r->next.name, r->key.p, r->key.len);
}

/* Nothing is wrong but the missing end mark, and we are told that this is fine. */
static int is_whole(const struct shard *r, uint64_t samples)
{
    if (!tar_unterminated(r->tar)) return 0;
    return r->options.allow_unterminated ||
           (r->options.expected > 0 && (uint64_t)r->options.expected == samples);
}

/* No member is ahead: the end, or what ended the shard early. */
static int finish(struct shard *r, struct sample *s)
{
    struct tar_member none;
    if (r->over == ERR_DATA && is_whole(r, r->counts.samples + r->counts.bad)) r->over = 1;
    if (r->over == 1) return 1;
    int rc = tar_next(r->tar, &none); /* its sentence again */
    if (r->over != ERR_DATA) return rc;
    s->offset = tar_damage_offset(r->tar);
    r->counts.damaged = 1;
    r->over = 1;
    if (!r->dropped) return rc;
    char *why = mem_strdup(err_text());
    rc = err_bad(BAD_TAR_DAMAGED, "%s; the sample before that may be incomplete and is not used",
                 why);
    free(why);
    return rc;
}

/* Damage behind the gathered sample: may it be used all the same? */
static int is_usable(const struct shard *r)
{
    if (is_whole(r, r->counts.samples + r->counts.bad + 1)) return 1;
    return tar_unterminated(r->tar) && r->counts.samples && r->shape == r->last_shape;
}

int shard_next(struct shard *r, struct sample *s, struct arena *a)
{
    *s = (struct sample){.key = "", .shard = r->index};
    if (!r->ahead && !r->over) pull(r);
    if (!r->ahead) return finish(r, s);
    begin(r, s, a);
    while (!gather(r, a) && !pull(r) && same_key(r)) {
    }
    if (r->over < 0 && r->over != ERR_DATA) return r->over;
    if (r->bad) {
        r->counts.bad++;
        return err_bad(r->bad, "%s", r->why);
    }
    if (r->over == ERR_DATA && !is_usable(r)) {
        r->dropped = 1;
        s->key = "";
        return finish(r, s);
    }
    size_t n = r->count * sizeof *r->members;
    s->members = memcpy(arena_alloc(a, n), r->members, n);
    s->count = (int)r->count;
    r->last_shape = r->shape;
    r->counts.samples++;
    return 0;
}
