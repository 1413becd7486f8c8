/* fuzz_pick.c - samples picked out of anything. The first byte says which key is looked for. */
#include "data/pick.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    struct pick *p = pick_of(data + 1, size - 1);
    const void *bytes;
    size_t n;
    char key[16];
    unsigned char sum = 0;
    snprintf(key, sizeof key, "%u", data[0] % 16u);
    if (!pick_find(p, &bytes, &n, key, "jpg;png"))
        for (size_t i = 0; i < n; i++)
            sum = (unsigned char)(sum + ((const unsigned char *)bytes)[i]);
    if (!pick_find(p, &bytes, &n, pick_first(p), "jpg;txt") && n)
        sum ^= *(const unsigned char *)bytes;
    pick_close(p);
    return sum ? 0 : 0;
}
