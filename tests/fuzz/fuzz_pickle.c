/* Any bytes as a pickle; the tree is walked as far as its text reaches. */
#include "format/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static volatile unsigned sum;

static void walk(const struct pickle *v, int depth)
{
    if (!v || depth > 6) return;
    switch (v->kind) {
    case PICKLE_STRING:
    case PICKLE_BYTES:
    case PICKLE_BIG:
        for (size_t i = 0; i < v->text.n; i++) sum += (unsigned char)v->text.p[i];
        break;
    case PICKLE_TUPLE:
    case PICKLE_LIST:
    case PICKLE_SET:
    case PICKLE_DICT:
        for (size_t i = 0; i < v->items.count && i < 8; i++) walk(v->items.list[i], depth + 1);
        break;
    case PICKLE_OBJECT:
        walk(v->object->callee, depth + 1);
        walk(v->object->args, depth + 1);
        walk(v->object->state, depth + 1);
        break;
    case PICKLE_GLOBAL:
        for (size_t i = 0; i < v->name[0].n; i++) sum += (unsigned char)v->name[0].p[i];
        break;
    case PICKLE_PERSISTENT: walk(v->id, depth + 1); break;
    default: break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct arena a = {0};
    struct pickle_items ids = {0};
    struct pickle *v;
    size_t used;
    if (!pickle_decode(&v, &ids, &used, &a, p, n)) {
        walk(v, 0);
        pickle_get(v, "a");
        for (size_t i = 0; i < ids.count; i++) walk(ids.list[i], 0);
    }
    arena_release(&a);
    return 0;
}
