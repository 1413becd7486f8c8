/* pickle.c - the pickle machine without its dangerous half.
 * A stack of values, a stack of marks and a memo, as in Python; but REDUCE, NEWOBJ and BUILD only
 * write down what they were asked to do. The values are counted in bytes, so a small file cannot
 * ask for much memory. */
#include "format/pickle.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 << 10 };

struct machine {
    const unsigned char *start, *p, *end;
    struct arena *arena;
    unsigned char *chunk; /* values are small: packed closer than an arena would */
    size_t chunk_left, spent;
    struct pickle **stack;
    size_t height, stack_cap;
    size_t mark[PICKLE_NEST_MAX];
    size_t marks;
    struct pickle **memo;
    size_t memo_count, memo_cap; /* memo_count: one past the highest place ever put */
    struct pickle_items *ids;
    struct pickle *none, *yes, *no;
};

static int fault(const struct machine *m, const char *what)
{
    return err_set(ERR_INPUT, "pickle: %s at byte %zu", what, (size_t)(m->p - m->start));
}

/* ---- memory ---- */

static void *take_memory(struct machine *m, size_t n)
{
    n = (n + 7) & ~(size_t)7;
    m->spent += n;
    if (n > CHUNK / 4) return arena_alloc(m->arena, n);
    if (n > m->chunk_left) {
        m->chunk = arena_alloc(m->arena, CHUNK);
        m->chunk_left = CHUNK;
    }
    void *p = m->chunk;
    m->chunk += n;
    m->chunk_left -= n;
    return p;
}

static struct pickle *new_value(struct machine *m, enum pickle_kind kind)
{
    struct pickle *v = take_memory(m, sizeof *v);
    memset(v, 0, sizeof *v);
    v->kind = kind;
    return v;
}

static void add_items(struct machine *m, struct pickle_items *to, struct pickle *const *from,
                      size_t n)
{
    if (!n) return;
    if (to->count + n > to->cap) {
        size_t cap = to->cap ? 2 * to->cap : n;
        if (cap < to->count + n) cap = to->count + n;
        struct pickle **list = take_memory(m, mem_mul(cap, sizeof *list));
        if (to->count) memcpy(list, to->list, to->count * sizeof *list);
        to->list = list;
        to->cap = cap;
    }
    memcpy(to->list + to->count, from, n * sizeof *from);
    to->count += n;
}

/* ---- stack ---- */

static int push(struct machine *m, struct pickle *v)
{
    if (m->height == PICKLE_STACK_MAX) return fault(m, "the stack is too high");
    if (m->spent > PICKLE_MEMORY_MAX) return fault(m, "too many values");
    vec_push(m->stack, m->height, m->stack_cap);
    m->stack[m->height++] = v;
    return 0;
}

/* Values above the last mark: an opcode may not reach below it. */
static size_t depth(const struct machine *m)
{
    return m->height - (m->marks ? m->mark[m->marks - 1] : 0);
}

static struct pickle *pop(struct machine *m)
{
    return depth(m) ? m->stack[--m->height] : NULL;
}

static struct pickle *top(struct machine *m)
{
    return depth(m) ? m->stack[m->height - 1] : NULL;
}

/* Take everything above the last mark; it stays readable until the next push. */
static int pop_mark(struct machine *m, struct pickle ***items, size_t *n)
{
    if (!m->marks) return fault(m, "no mark");
    m->marks--;
    *items = m->stack ? m->stack + m->mark[m->marks] : NULL;
    *n = m->height - m->mark[m->marks];
    m->height = m->mark[m->marks];
    return 0;
}

/* ---- bytes ---- */

static int take(struct machine *m, const unsigned char **p, size_t n)
{
    if ((size_t)(m->end - m->p) < n) return fault(m, "cut");
    *p = m->p;
    m->p += n;
    return 0;
}

/* A little-endian number of `width` bytes. */
static int take_uint(struct machine *m, uint64_t *v, size_t width)
{
    const unsigned char *p;
    int rc = take(m, &p, width);
    *v = 0;
    for (size_t i = 0; !rc && i < width; i++) *v |= (uint64_t)p[i] << (8 * i);
    return rc;
}

static int take_line(struct machine *m, struct pickle_text *t)
{
    const unsigned char *eol = memchr(m->p, '\n', (size_t)(m->end - m->p));
    if (!eol) return fault(m, "cut");
    *t = (struct pickle_text){(const char *)m->p, (size_t)(eol - m->p)};
    if (t->n > PICKLE_STRING_MAX) return fault(m, "a string too long");
    m->p = eol + 1;
    return 0;
}

/* ---- opcodes that make a value ---- */

static int push_int(struct machine *m, int64_t i)
{
    struct pickle *v = new_value(m, PICKLE_INT);
    v->i = i;
    return push(m, v);
}

static int op_int(struct machine *m, size_t width)
{
    uint64_t v;
    int rc = take_uint(m, &v, width);
    return rc ? rc : push_int(m, width == 4 ? (int64_t)(int32_t)v : (int64_t)v);
}

static int op_long(struct machine *m, size_t width)
{
    const unsigned char *p;
    uint64_t n;
    int rc = take_uint(m, &n, width);
    if (!rc && n > 1024) rc = fault(m, "an integer too long");
    if (!rc) rc = take(m, &p, n);
    if (rc) return rc;
    if (n > 8) {
        struct pickle *v = new_value(m, PICKLE_BIG);
        v->text = (struct pickle_text){(const char *)p, n};
        return push(m, v);
    }
    uint64_t v = n && p[n - 1] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = n; i--;) v = v << 8 | p[i];
    return push_int(m, (int64_t)v);
}

static int op_float(struct machine *m)
{
    const unsigned char *p;
    uint64_t bits = 0;
    int rc = take(m, &p, 8);
    if (rc) return rc;
    struct pickle *v = new_value(m, PICKLE_FLOAT);
    for (int i = 0; i < 8; i++) bits = bits << 8 | p[i]; /* the one big-endian number */
    memcpy(&v->f, &bits, sizeof bits);
    return push(m, v);
}

static int op_text(struct machine *m, enum pickle_kind kind, size_t width)
{
    const unsigned char *p;
    uint64_t n;
    int rc = take_uint(m, &n, width);
    if (!rc && n > PICKLE_STRING_MAX) rc = fault(m, "a string too long");
    if (!rc) rc = take(m, &p, n);
    if (rc) return rc;
    struct pickle *v = new_value(m, kind);
    v->text = (struct pickle_text){(const char *)p, n};
    return push(m, v);
}

static int op_empty(struct machine *m, enum pickle_kind kind)
{
    return push(m, new_value(m, kind));
}

/* The last n values (n < 0: all above the mark) as one tuple or frozen set. */
static int op_tuple(struct machine *m, enum pickle_kind kind, int n)
{
    struct pickle **items;
    size_t count = (size_t)n;
    if (n < 0) {
        int rc = pop_mark(m, &items, &count);
        if (rc) return rc;
    } else {
        if (depth(m) < count) return fault(m, "the stack is empty");
        m->height -= count;
        items = m->stack + m->height;
    }
    struct pickle *v = new_value(m, kind);
    add_items(m, &v->items, items, count);
    return push(m, v);
}

static int push_global(struct machine *m, struct pickle_text module, struct pickle_text name)
{
    struct pickle *v = new_value(m, PICKLE_GLOBAL);
    v->name[0] = module;
    v->name[1] = name;
    return push(m, v);
}

static int op_global(struct machine *m)
{
    struct pickle_text module = {0}, name = {0};
    int rc = take_line(m, &module);
    if (!rc) rc = take_line(m, &name);
    return rc ? rc : push_global(m, module, name);
}

static int op_stack_global(struct machine *m)
{
    struct pickle *name = pop(m), *module = pop(m);
    if (!name || !module || name->kind != PICKLE_STRING || module->kind != PICKLE_STRING)
        return fault(m, "a global without names");
    return push_global(m, module->text, name->text);
}

/* ---- opcodes that would run code ---- */

/* OrderedDict([[k, v], ...]) as Python 2 wrote it, Counter({k: v}): the items in the argument. */
static void add_argument_items(struct machine *m, struct pickle_object *o)
{
    const struct pickle *from = pickle_item(o->args, 0);
    if (!from || (!pickle_is(o->callee, "collections", "OrderedDict") &&
                  !pickle_is(o->callee, "collections", "Counter")))
        return;
    if (from->kind == PICKLE_DICT) add_items(m, &o->items, from->items.list, from->items.count);
    for (size_t i = 0; pickle_item(from, i); i++) {
        const struct pickle *pair = pickle_item(from, i);
        if (pickle_item(pair, 1)) add_items(m, &o->items, pair->items.list, 2);
    }
}

/* REDUCE, NEWOBJ: args; NEWOBJ_EX has keyword arguments too, kept as the state. */
static int op_object(struct machine *m, int keywords)
{
    struct pickle *kw = keywords ? pop(m) : NULL, *args = pop(m), *callee = pop(m);
    if (!callee || (keywords && !kw)) return fault(m, "the stack is empty");
    if (args->kind != PICKLE_TUPLE) return fault(m, "arguments that are no tuple");
    struct pickle *v = new_value(m, PICKLE_OBJECT);
    v->object = take_memory(m, sizeof *v->object);
    *v->object = (struct pickle_object){.callee = callee, .args = args, .state = kw};
    add_argument_items(m, v->object);
    return push(m, v);
}

static int op_build(struct machine *m)
{
    struct pickle *state = pop(m), *v = top(m);
    if (!v) return fault(m, "the stack is empty");
    if (v->kind != PICKLE_OBJECT) return fault(m, "a state for something that is no object");
    v->object->state = state;
    return 0;
}

static int op_persistent(struct machine *m)
{
    struct pickle *id = pop(m);
    if (!id) return fault(m, "the stack is empty");
    struct pickle *v = new_value(m, PICKLE_PERSISTENT);
    v->id = id;
    if (m->ids) add_items(m, m->ids, &v, 1);
    return push(m, v);
}

/* ---- opcodes that fill a container ---- */

static int append(struct machine *m, struct pickle **items, size_t n)
{
    struct pickle *to = top(m);
    if (!to) return fault(m, "the stack is empty");
    if (to->kind == PICKLE_LIST || to->kind == PICKLE_SET)
        add_items(m, &to->items, items, n);
    else if (to->kind == PICKLE_OBJECT)
        add_items(m, &to->object->list, items, n);
    else
        return fault(m, "items for something that is no list");
    return m->spent > PICKLE_MEMORY_MAX ? fault(m, "too many values") : 0;
}

static int set_items(struct machine *m, struct pickle **items, size_t n)
{
    struct pickle *to = top(m);
    if (!to || n % 2) return fault(m, "a key without a value");
    if (to->kind == PICKLE_DICT)
        add_items(m, &to->items, items, n);
    else if (to->kind == PICKLE_OBJECT)
        add_items(m, &to->object->items, items, n);
    else
        return fault(m, "keys for something that is no dictionary");
    return m->spent > PICKLE_MEMORY_MAX ? fault(m, "too many values") : 0;
}

typedef int fill(struct machine *m, struct pickle **items, size_t n);

static int op_fill(struct machine *m, fill *put, int n)
{
    struct pickle **items;
    size_t count = (size_t)n;
    if (n < 0) {
        int rc = pop_mark(m, &items, &count);
        return rc ? rc : put(m, items, count);
    }
    if (depth(m) < count + 1) return fault(m, "the stack is empty");
    m->height -= count;
    return put(m, m->stack + m->height, count);
}

/* ---- memo and marks ---- */

static int memo_put(struct machine *m, uint64_t at)
{
    struct pickle *v = top(m);
    if (!v) return fault(m, "the stack is empty");
    if (at >= PICKLE_MEMO_MAX) return fault(m, "the memo is too large");
    if (at >= m->memo_cap) {
        size_t cap = m->memo_cap ? 2 * m->memo_cap : 256;
        while (cap <= at) cap *= 2;
        m->memo = mem_resize(m->memo, mem_mul(cap, sizeof *m->memo));
        memset(m->memo + m->memo_cap, 0, (cap - m->memo_cap) * sizeof *m->memo);
        m->memo_cap = cap;
    }
    m->memo[at] = v;
    if (at >= m->memo_count) m->memo_count = at + 1;
    return 0;
}

static int op_put(struct machine *m, size_t width)
{
    uint64_t at;
    int rc = take_uint(m, &at, width);
    return rc ? rc : memo_put(m, at);
}

static int op_get(struct machine *m, size_t width)
{
    uint64_t at;
    int rc = take_uint(m, &at, width);
    if (rc) return rc;
    if (at >= m->memo_count || !m->memo[at]) return fault(m, "nothing in that place of the memo");
    return push(m, m->memo[at]);
}

static int op_mark(struct machine *m)
{
    if (m->marks == PICKLE_NEST_MAX) return fault(m, "nested too deep");
    m->mark[m->marks++] = m->height;
    return 0;
}

static int op_pop(struct machine *m)
{
    if (!depth(m) && m->marks)
        m->marks--; /* Python lets POP take a mark */
    else if (!pop(m))
        return fault(m, "the stack is empty");
    return 0;
}

static int op_pop_mark(struct machine *m)
{
    struct pickle **items;
    size_t n;
    return pop_mark(m, &items, &n);
}

static int op_proto(struct machine *m)
{
    uint64_t v;
    int rc = take_uint(m, &v, 1);
    return rc ? rc : v <= 5 ? 0 : fault(m, "an unknown protocol");
}

/* A frame only tells how far the writer buffered; it must not promise more than there is. */
static int op_frame(struct machine *m)
{
    uint64_t n;
    int rc = take_uint(m, &n, 8);
    return rc ? rc : n <= (size_t)(m->end - m->p) ? 0 : fault(m, "cut");
}

static int unknown(struct machine *m, int op)
{
    m->p--;
    return err_set(ERR_INPUT,
                   "pickle: opcode 0x%02x at byte %zu is not one that torch or numpy write", op,
                   (size_t)(m->p - m->start));
}

static int step(struct machine *m, int op)
{
    switch (op) {
    case 0x80: return op_proto(m);
    case 0x95: return op_frame(m);
    case '(': return op_mark(m);
    case '0': return op_pop(m);
    case '1': return op_pop_mark(m);
    case '2': return top(m) ? push(m, top(m)) : fault(m, "the stack is empty");
    case 'N': return push(m, m->none);
    case 0x88: return push(m, m->yes);
    case 0x89: return push(m, m->no);
    case 'J': return op_int(m, 4);
    case 'K': return op_int(m, 1);
    case 'M': return op_int(m, 2);
    case 0x8a: return op_long(m, 1);
    case 0x8b: return op_long(m, 4);
    case 'G': return op_float(m);
    case 'X': return op_text(m, PICKLE_STRING, 4);
    case 0x8c: return op_text(m, PICKLE_STRING, 1);
    case 0x8d: return op_text(m, PICKLE_STRING, 8);
    case 'U': return op_text(m, PICKLE_STRING, 1);
    case 'T': return op_text(m, PICKLE_STRING, 4);
    case 'B': return op_text(m, PICKLE_BYTES, 4);
    case 'C': return op_text(m, PICKLE_BYTES, 1);
    case 0x8e: return op_text(m, PICKLE_BYTES, 8);
    case 0x96: return op_text(m, PICKLE_BYTES, 8);
    case ')': return op_empty(m, PICKLE_TUPLE);
    case ']': return op_empty(m, PICKLE_LIST);
    case '}': return op_empty(m, PICKLE_DICT);
    case 0x8f: return op_empty(m, PICKLE_SET);
    case 't': return op_tuple(m, PICKLE_TUPLE, -1);
    case 0x85: return op_tuple(m, PICKLE_TUPLE, 1);
    case 0x86: return op_tuple(m, PICKLE_TUPLE, 2);
    case 0x87: return op_tuple(m, PICKLE_TUPLE, 3);
    case 0x91: return op_tuple(m, PICKLE_SET, -1);
    case 'c': return op_global(m);
    case 0x93: return op_stack_global(m);
    case 'R': return op_object(m, 0);
    case 0x81: return op_object(m, 0);
    case 0x92: return op_object(m, 1);
    case 'b': return op_build(m);
    case 'Q': return op_persistent(m);
    case 'a': return op_fill(m, append, 1);
    case 'e': return op_fill(m, append, -1);
    case 0x90: return op_fill(m, append, -1);
    case 's': return op_fill(m, set_items, 2);
    case 'u': return op_fill(m, set_items, -1);
    case 'q': return op_put(m, 1);
    case 'r': return op_put(m, 4);
    case 0x94: return memo_put(m, m->memo_count);
    case 'h': return op_get(m, 1);
    case 'j': return op_get(m, 4);
    default: return unknown(m, op);
    }
}

static int run(struct machine *m, struct pickle **out)
{
    for (;;) {
        if (m->p == m->end) return fault(m, "cut");
        int op = *m->p++;
        if (op == '.') break;
        int rc = step(m, op);
        if (rc) return rc;
    }
    if (m->height != 1 || m->marks) return fault(m, "values are left over");
    *out = m->stack[0];
    return 0;
}

int pickle_decode(struct pickle **out, struct pickle_items *ids, size_t *used, struct arena *a,
                  const void *p, size_t n)
{
    size_t limit = n < PICKLE_BYTES_MAX ? n : PICKLE_BYTES_MAX;
    struct machine *m = mem_alloc(sizeof *m);
    m->start = m->p = p;
    m->end = m->start + limit;
    m->arena = a;
    m->ids = ids;
    m->none = new_value(m, PICKLE_NONE);
    m->yes = new_value(m, PICKLE_BOOL);
    m->no = new_value(m, PICKLE_BOOL);
    m->yes->i = 1;
    *out = NULL;
    int rc = run(m, out);
    if (rc && m->p >= m->end && limit < n)
        rc = err_set(ERR_INPUT, "pickle: more than %d bytes", PICKLE_BYTES_MAX);
    if (used) *used = (size_t)(m->p - m->start);
    free(m->stack);
    free(m->memo);
    free(m);
    return rc;
}

/* ---- looking at values ---- */

static int same(struct pickle_text t, const char *s)
{
    return strlen(s) == t.n && !memcmp(t.p, s, t.n);
}

int pickle_is(const struct pickle *v, const char *module, const char *name)
{
    return v && v->kind == PICKLE_GLOBAL && same(v->name[0], module) && same(v->name[1], name);
}

int pickle_text_is(const struct pickle *v, const char *text)
{
    return v && v->kind == PICKLE_STRING && same(v->text, text);
}

const struct pickle *pickle_item(const struct pickle *v, size_t i)
{
    if (!v || (v->kind != PICKLE_TUPLE && v->kind != PICKLE_LIST)) return NULL;
    return i < v->items.count ? v->items.list[i] : NULL;
}

const struct pickle_items *pickle_pairs(const struct pickle *v)
{
    if (v && v->kind == PICKLE_DICT) return &v->items;
    if (!v || v->kind != PICKLE_OBJECT) return NULL;
    const struct pickle *callee = v->object->callee;
    if (pickle_is(callee, "collections", "OrderedDict") ||
        pickle_is(callee, "collections", "defaultdict") ||
        pickle_is(callee, "collections", "Counter"))
        return &v->object->items;
    return NULL;
}

const struct pickle *pickle_get(const struct pickle *v, const char *key)
{
    const struct pickle_items *pairs = pickle_pairs(v);
    for (size_t i = pairs ? pairs->count : 0; i >= 2; i -= 2)
        if (pickle_text_is(pairs->list[i - 2], key)) return pairs->list[i - 1];
    return NULL;
}
