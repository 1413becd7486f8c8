/* Any bytes as a torch archive or legacy stream, and as a data.pkl whose storages 0 to 3 exist;
 * accepted tensors are read. */
#include "format/torch.h"
#include "format/weights.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void read_all(struct weight_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->list[i].count > 1 << 16) continue; /* stride 0 makes small storages large */
        float *v = malloc((size_t)l->list[i].count * sizeof *v + 1);
        weights_read_f32(v, &l->list[i]);
        free(v);
    }
    weight_list_release(l);
}

/* The same bytes behind a directory that always agrees: most of the fuzzing happens here. */
static void decode_pickle(const uint8_t *p, size_t n)
{
    static const char *const names[] = {"a/data.pkl", "a/data/0", "a/data/1", "a/data/2"};
    struct zip_entry entries[4];
    struct zip z = {.list = entries, .count = 4};
    struct weight_list l = {0};
    uint8_t *storage = calloc(1, 64);
    for (uint64_t i = 0; i < 4; i++) {
        entries[i] = (struct zip_entry){.name = names[i], .data = i ? storage : p};
        entries[i].size = entries[i].packed = i ? 16 * i : n;
        map_put(&z.index, names[i], i + 1);
    }
    torch_decode_zip(&l, &z, "a", 1);
    read_all(&l);
    map_release(&z.index);
    free(storage);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct weight_list l = {0};
    struct zip z;
    int script = 0;
    if (zip_is(p, n) && !zip_init(&z, p, n)) {
        const char *root = torch_root(&z, &script, &z.arena);
        if (root) torch_decode_zip(&l, &z, root, script);
        read_all(&l);
        zip_release(&z);
    } else if (zip_is(p, n))
        zip_release(&z);
    else if (torch_is_legacy(p, n)) {
        torch_decode_legacy(&l, p, n);
        read_all(&l);
    } else
        decode_pickle(p, n);
    return 0;
}
