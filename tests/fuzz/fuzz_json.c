/* Any bytes as JSON: no crash, and what parses prints to something that parses the same. */
#include "format/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = {0};
    struct str one = {0}, two = {0};
    struct json *j, *k;
    if (!json_parse(&j, (const char *)data, n, &a)) {
        json_print(&one, j);
        if (json_parse(&k, one.p, one.len, &a)) abort();
        json_print(&two, k);
        if (one.len != two.len) abort();
    }
    str_release(&one);
    str_release(&two);
    arena_release(&a);
    return 0;
}
