/* Any bytes as a zip archive; every member that is accepted is read or inflated. */
#include "format/zip.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct zip z;
    if (!zip_init(&z, p, n))
        for (size_t i = 0; i < z.count; i++) {
            const struct zip_entry *e = &z.list[i];
            if (e->method == ZIP_STORED)
                zip_check(e, e->data);
            else if (e->size < 1 << 20) {
                void *dst = malloc(e->size + 1);
                zip_inflate(dst, e);
                free(dst);
            }
        }
    zip_release(&z);
    return 0;
}
