/* fuzz_head.c - descriptions of heads, over the tensors of a small file: what is understood must
 * fold to layers that fit together, what is not must be refused. */
#include "base/err.h"
#include "base/mem.h"
#include "model/head/read.h"

#include <stdint.h>
#include <stdlib.h>

static struct weights *tensors(void)
{
    static struct weights *w;
    if (!w && weights_open(&w, "tests/golden/heads/layernorm/head.safetensors")) abort();
    return w;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_error_t e;
    struct head_net n;
    struct reader r = {.net = &n, .weights = tensors(), .prefix = ""};
    json_t *j = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, &e);
    if (!json_is_object(j)) {
        json_decref(j);
        return 0;
    }
    head_net_init(&n);
    r.used = mem_alloc(weights_count(r.weights) + 1);
    int rc = read_described(&r, j);
    if (!rc) rc = head_net_fold(&n);
    if (rc != 0 && rc != ERR_INPUT) abort();
    for (int i = 0; !rc && i < n.count; i++) {
        const struct head_layer *l = &n.layer[i];
        if (l->kind == HEAD_DIAGONAL || l->in != (i ? n.layer[i - 1].out : n.width)) abort();
    }
    if (!rc && (n.take < 0 || n.take >= head_net_out(&n))) abort();
    free(r.used);
    str_release(&r.name);
    head_net_release(&n);
    json_decref(j);
    return 0;
}
