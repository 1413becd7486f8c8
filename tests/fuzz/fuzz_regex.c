/* fuzz_regex.c - pattern, NUL, text. A pattern is refused with a place inside it, or it answers,
 * the same when asked again and inside a group. */
#include "base/err.h"
#include "text/regex.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int ask(const char *pattern, size_t n, const char *text, size_t len)
{
    struct regex *r;
    size_t at = 0;
    int rc = regex_new(&r, &at, pattern, n);
    assert(rc == 0 || (rc == ERR_USAGE && at <= n && !r));
    if (rc) return -1;
    int found = regex_find(r, text, len);
    assert(found == regex_find(r, text, len));
    regex_free(r);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *nul = n ? memchr(data, 0, n) : NULL;
    size_t len = nul ? (size_t)(nul - data) : n;
    if (len > 200 || n > 2000) return 0;
    const char *pattern = (const char *)data, *text = nul ? (const char *)nul + 1 : "";
    size_t rest = nul ? n - len - 1 : 0;
    int found = ask(pattern, len, text, rest);
    char *group = malloc(len + 5);
    memcpy(group, "(?:", 3);
    if (len) memcpy(group + 3, data, len);
    group[len + 3] = ')';
    if (found >= 0) assert(ask(group, len + 4, text, rest) == found);
    free(group);
    return 0;
}
