/* act.c - activations by the names that configurations use. */
#include "base/err.h"
#include "base/str.h"
#include "nn/layers.h"

static const struct {
    const char *name;
    enum act act;
} names[] = {
    {"quick_gelu", ACT_QUICK_GELU},
    {"gelu", ACT_GELU},
    {"relu", ACT_RELU},
    {"silu", ACT_SILU},
    {"swish", ACT_SILU},
    {"sigmoid", ACT_SIGMOID},
    {"quickgelu", ACT_QUICK_GELU},
    {"none", ACT_NONE},
};
enum { NAMES = sizeof names / sizeof *names };

int act_parse(enum act *out, const char *name)
{
    for (int i = 0; i < NAMES; i++) {
        if (!str_same(name, names[i].name)) continue;
        *out = names[i].act;
        return 0;
    }
    return err_set(ERR_USAGE, "unknown activation \"%s\": use quick_gelu or gelu", name);
}

const char *act_name(enum act a)
{
    for (int i = 0; i < NAMES; i++)
        if (names[i].act == a) return names[i].name;
    return "?";
}
