/* Any bytes as a npy file; accepted arrays are read to the last byte. */
#include "format/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static volatile unsigned sum;

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct npy a;
    if (npy_decode(&a, p, n)) return 0;
    for (size_t i = 0; i < (size_t)a.count * a.item; i++) sum += ((const uint8_t *)a.data)[i];
    return 0;
}
