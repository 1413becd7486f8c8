/* fuzz_braces.c - any text as a brace pattern: no crash, no more names than allowed, and without
 * braces and backslashes the name is the pattern. */
#include "base/err.h"
#include "data/braces.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct names names = {0};
    char *pattern = malloc(n + 1);
    if (n) memcpy(pattern, data, n);
    pattern[n] = 0;
    int rc = braces_expand(&names, pattern, 1000);
    assert(rc == 0 || rc == ERR_USAGE);
    assert(rc ? names.count == 0 : names.count >= 1 && names.count <= 1000);
    if (!rc && !strpbrk(pattern, "{}\\"))
        assert(names.count == 1 && !strcmp(names.list[0], pattern));
    names_release(&names);
    free(pattern);
    return 0;
}
