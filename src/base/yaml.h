/* yaml.h - a YAML (or JSON) file as a tree with line numbers, for configuration files.
 * Scalars stay text; anchors, aliases and tags are refused, repeated keys too. */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/arena.h"

enum yaml_type { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml {
    enum yaml_type type;
    const char *key;  /* in a map */
    const char *text; /* of a scalar; "" for an empty one */
    int line;         /* from 1 */
    struct yaml *child, *next;
};

/* ERR_INPUT with file:line. An empty file is an empty map. */
int yaml_load(struct yaml **out, const char *path, struct arena *a);
/* The same from text; name stands for the file in errors. */
int yaml_parse(struct yaml **out, const char *text, const char *name, struct arena *a);
const struct yaml *yaml_get(const struct yaml *map, const char *key);

#endif
