/* Any bytes as a safetensors file and as a shard index; accepted tensors are read to the end. */
#include "format/safetensors.h"
#include "format/weights.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct weight_list l = {0};
    struct shard_index x;
    if (!safetensors_decode(&l, p, n, NULL, 0))
        for (size_t i = 0; i < l.count; i++) {
            float *v = malloc((size_t)l.list[i].count * sizeof *v + 1);
            weights_read_f32(v, &l.list[i]);
            free(v);
        }
    weight_list_release(&l);
    shard_index_decode(&x, p, n);
    shard_index_release(&x);
    return 0;
}
