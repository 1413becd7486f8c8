/* sample.c - looking up members. Samples have a handful: a walk beats any table. */
#include "data/sample.h"

#include <string.h>
#include <strings.h>

/* The next of "a;b;c": its length, 0 at the end of the list. */
static size_t next_ext(const char **at, const char **ext)
{
    *at += strspn(*at, ";");
    size_t n = strcspn(*at, ";");
    *ext = *at;
    *at += n;
    return n;
}

static int same(const char *ext, const char *want, size_t n)
{
    return strlen(ext) == n && !strncasecmp(ext, want, n);
}

const struct sample_member *sample_find(const struct sample *s, const char *exts)
{
    const char *ext;
    for (size_t n; (n = next_ext(&exts, &ext));)
        for (int i = 0; i < s->count; i++)
            if (same(s->members[i].ext, ext, n)) return &s->members[i];
    return NULL;
}

int sample_is_one_of(const char *exts, const char *ext)
{
    const char *one;
    for (size_t n; (n = next_ext(&exts, &one));)
        if (same(ext, one, n)) return 1;
    return 0;
}
