/* yaml.c - libyaml's events folded into a tree of bounded depth. */
#include "base/yaml.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { DEPTH = 64, NODES = 1 << 20 };

struct reader {
    yaml_parser_t parser;
    const char *path;
    struct arena *a;
    int nodes;
};

static int bad(const struct reader *r, size_t line, const char *what)
{
    return err_set(ERR_INPUT, "%s:%zu: %s", r->path, line + 1, what);
}

static int next_event(struct reader *r, yaml_event_t *e)
{
    if (yaml_parser_parse(&r->parser, e)) return 0;
    const char *why = r->parser.problem ? r->parser.problem : "not YAML";
    if (strstr(why, "cannot start any token"))
        why = "a character that cannot stand here; lines are indented with spaces, not tabs";
    return bad(r, r->parser.problem_mark.line, why);
}

static int take(struct reader *r, struct yaml **out, yaml_event_t *e, int depth);

/* Children up to the closing event; a map alternates keys and values. */
static int take_children(struct reader *r, struct yaml *parent, int depth)
{
    struct yaml **tail = &parent->child;
    for (;;) {
        yaml_event_t e;
        const char *key = NULL;
        int rc = next_event(r, &e);
        if (rc) return rc;
        if (e.type == YAML_MAPPING_END_EVENT || e.type == YAML_SEQUENCE_END_EVENT)
            return yaml_event_delete(&e), 0;
        if (parent->type == YAML_MAP) {
            if (e.type != YAML_SCALAR_EVENT)
                return rc = bad(r, e.start_mark.line, "a key must be a word"),
                       yaml_event_delete(&e), rc;
            key = arena_strndup(r->a, (char *)e.data.scalar.value, e.data.scalar.length);
            size_t line = e.start_mark.line;
            yaml_event_delete(&e);
            if (yaml_get(parent, key)) return bad(r, line, "this key stands here twice");
            if ((rc = next_event(r, &e))) return rc;
        }
        if ((rc = take(r, tail, &e, depth + 1))) return rc;
        (*tail)->key = key;
        tail = &(*tail)->next;
    }
}

static int take(struct reader *r, struct yaml **out, yaml_event_t *e, int depth)
{
    struct yaml *y = *out = arena_zalloc(r->a, sizeof *y);
    size_t line = e->start_mark.line;
    yaml_event_type_t type = e->type;
    y->line = (int)line + 1;
    if (type == YAML_SCALAR_EVENT)
        y->text = arena_strndup(r->a, (char *)e->data.scalar.value, e->data.scalar.length);
    yaml_event_delete(e);
    if (depth > DEPTH) return bad(r, line, "nested too deeply");
    if (++r->nodes > NODES) return bad(r, line, "too many values");
    switch (type) {
    case YAML_SCALAR_EVENT: return 0;
    case YAML_SEQUENCE_START_EVENT: y->type = YAML_LIST; return take_children(r, y, depth);
    case YAML_MAPPING_START_EVENT: y->type = YAML_MAP; return take_children(r, y, depth);
    default: return bad(r, line, "anchors and aliases are not read here");
    }
}

/* Stream start, document start, then the one node; an empty stream is an empty map. */
static int take_document(struct reader *r, struct yaml **out)
{
    yaml_event_t e;
    for (;;) {
        int rc = next_event(r, &e);
        if (rc) return rc;
        if (e.type != YAML_STREAM_START_EVENT && e.type != YAML_DOCUMENT_START_EVENT) break;
        yaml_event_delete(&e);
    }
    if (e.type != YAML_STREAM_END_EVENT) return take(r, out, &e, 0);
    yaml_event_delete(&e);
    *out = arena_zalloc(r->a, sizeof **out);
    (*out)->type = YAML_MAP;
    return 0;
}

int yaml_load(struct yaml **out, const char *path, struct arena *a)
{
    struct reader r = {.path = path, .a = a};
    FILE *f = fopen(path, "rb");
    if (!f) return err_set(ERR_INPUT, "%s: cannot be opened", path);
    int rc = yaml_parser_initialize(&r.parser) ? 0 : err_set(ERR_FAIL, "no YAML parser");
    if (!rc) {
        yaml_parser_set_input_file(&r.parser, f);
        rc = take_document(&r, out);
        yaml_parser_delete(&r.parser);
    }
    fclose(f);
    return rc;
}

int yaml_parse(struct yaml **out, const char *text, const char *name, struct arena *a)
{
    struct reader r = {.path = name, .a = a};
    if (!yaml_parser_initialize(&r.parser)) return err_set(ERR_FAIL, "no YAML parser");
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, strlen(text));
    int rc = take_document(&r, out);
    yaml_parser_delete(&r.parser);
    return rc;
}

const struct yaml *yaml_get(const struct yaml *map, const char *key)
{
    for (const struct yaml *c = map ? map->child : NULL; c; c = c->next)
        if (c->key && !strcmp(c->key, key)) return c;
    return NULL;
}
