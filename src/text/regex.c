/* regex.c - runs a pattern's program as an automaton whose states are made when a text first needs
 * them. Code points that no set of the pattern tells apart share a class, so a state's row of
 * next states is short. A state is the places in the program where a match may go on; assertions
 * are decided one step late, when the next class is known. When there are too many states all of
 * them are forgotten: the memory stays, the work starts anew. */
#include "text/regex.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "text/regex_inside.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE_CELLS = 1 << 20, STATES_MIN = 8, STATES_MAX = 1 << 14, PLACES_MAX = 1 << 20 };
enum { MEMBERS_MAX = 16 << 20 };
enum { UNKNOWN, MATCHED, FAILED, FIRST_STATE }; /* what a cell holds, besides states */
enum before { AT_BEGIN, AFTER_WORD, AFTER_LINE, AFTER_OTHER };

struct state {
    uint32_t at, count; /* in places */
    uint32_t before;
};

struct regex {
    struct regex_program program;
    uint32_t *bound; /* the first code points of the intervals, sorted; bound[0] = 0 */
    uint32_t *owner; /* the class of an interval */
    size_t bounds;
    uint32_t classes; /* and one more, numbered `classes`: the end of the text */
    uint32_t ascii[128];
    uint8_t *member; /* [sets][classes] */
    uint8_t *after;  /* [classes] enum before */

    struct state *state;
    uint32_t states, states_max;
    uint32_t *cell; /* [states][classes + 1] */
    uint32_t *places;
    size_t placed, places_max;
    uint32_t *slot; /* state + 1 by hash; 0: free */
    size_t slots;   /* a power of two */

    uint32_t *mark, *stack, *reached, *kernel; /* [program.count], for a step */
    uint32_t round;                            /* mark[i] == round: seen in this step */
};

/* ---- classes ---- */

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void find_bounds(struct regex *r)
{
    size_t n = 1, kept = 0;
    for (size_t s = 0; s < r->program.sets; s++) n += 2 * r->program.set[s].count;
    r->bound = mem_alloc(n * sizeof *r->bound);
    n = 1;
    for (size_t s = 0; s < r->program.sets; s++)
        for (size_t i = 0; i < r->program.set[s].count; i++) {
            r->bound[n++] = r->program.set[s].range[i].from;
            r->bound[n++] = r->program.set[s].range[i].to + 1;
        }
    qsort(r->bound, n, sizeof *r->bound, by_value);
    for (size_t i = 1; i < n; i++)
        if (r->bound[i] != r->bound[kept]) r->bound[++kept] = r->bound[i];
    r->bounds = kept + 1;
}

/* The interval that holds c. */
static size_t interval(const struct regex *r, uint32_t c)
{
    size_t low = 0, high = r->bounds;
    while (high - low > 1) {
        size_t mid = (low + high) / 2;
        if (r->bound[mid] <= c)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* Split every class that the set cuts in two: those inside get the numbers of a fresh class each.
 */
static void split_by(struct regex *r, const struct charset *s, uint32_t *fresh, uint32_t *inside,
                     uint32_t *total)
{
    memset(fresh, 0, r->classes * sizeof *fresh);
    memset(inside, 0, r->classes * sizeof *inside);
    uint32_t before = r->classes;
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = interval(r, s->range[i].from);
             k < r->bounds && r->bound[k] <= s->range[i].to; k++)
            inside[r->owner[k]]++;
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = interval(r, s->range[i].from);
             k < r->bounds && r->bound[k] <= s->range[i].to; k++) {
            uint32_t old = r->owner[k];
            if (inside[old] == total[old]) continue;
            if (!fresh[old]) {
                fresh[old] = r->classes++;
                total[fresh[old]] = inside[old];
            }
            r->owner[k] = fresh[old];
        }
    for (uint32_t c = 0; c < before; c++)
        if (fresh[c]) total[c] -= inside[c];
}

static void find_classes(struct regex *r)
{
    uint32_t *fresh = mem_alloc(r->bounds * sizeof *fresh);
    uint32_t *inside = mem_alloc(r->bounds * sizeof *inside);
    uint32_t *total = mem_alloc((r->bounds + 1) * sizeof *total);
    r->owner = mem_alloc(r->bounds * sizeof *r->owner);
    r->classes = 1;
    total[0] = (uint32_t)r->bounds;
    for (size_t s = 0; s < r->program.sets; s++)
        split_by(r, &r->program.set[s], fresh, inside, total);
    free(fresh);
    free(inside);
    free(total);
    for (uint32_t c = 0; c < 128; c++) r->ascii[c] = r->owner[interval(r, c)];
}

static void find_members(struct regex *r)
{
    r->member = mem_alloc(mem_mul(r->program.sets + 1, r->classes));
    for (size_t s = 0; s < r->program.sets; s++)
        for (size_t i = 0; i < r->program.set[s].count; i++) {
            struct range range = r->program.set[s].range[i];
            for (size_t k = interval(r, range.from); k < r->bounds && r->bound[k] <= range.to; k++)
                r->member[s * r->classes + r->owner[k]] = 1;
        }
}

enum {
    EDGES = 1 << ASSERT_EDGE | 1 << ASSERT_NO_EDGE,
    LINES = 1 << ASSERT_LINE_BEGIN | 1 << ASSERT_LINE_END
};

/* Where assertions ask, a class is wholly of words or not at all, and the line feed stands alone:
 * two more sets, empty when nothing asks, follow the program's own. */
static void add_context(struct regex_program *p)
{
    struct charset word = {0}, feed = {0};
    if (p->asserts & EDGES) charset_word(&word);
    if (p->asserts & LINES) charset_add(&feed, '\n', '\n');
    charset_tidy(&word);
    for (int i = 0; i < 2; i++) {
        vec_push(p->set, p->sets, p->sets_cap);
        p->set[p->sets++] = i ? feed : word;
    }
}

static void find_contexts(struct regex *r)
{
    const uint8_t *word = r->member + (r->program.sets - 2) * r->classes, *feed = word + r->classes;
    r->after = mem_alloc(r->classes);
    for (uint32_t c = 0; c < r->classes; c++)
        r->after[c] = word[c] ? AFTER_WORD : feed[c] ? AFTER_LINE : AFTER_OTHER;
}

/* ---- states ---- */

static void forget(struct regex *r)
{
    r->states = FIRST_STATE;
    r->placed = 0;
    memset(r->slot, 0, r->slots * sizeof *r->slot);
}

/* The state of these places (sorted): found or made. */
static uint32_t state_of(struct regex *r, const uint32_t *places, uint32_t n, uint32_t before)
{
    size_t width = r->classes + 1;
    uint64_t hash = hash64(places, n * sizeof *places) + before;
    for (int again = 0;; again++) {
        size_t at = hash & (r->slots - 1);
        for (; r->slot[at]; at = (at + 1) & (r->slots - 1)) {
            const struct state *s = &r->state[r->slot[at] - 1];
            if (s->count == n && s->before == before &&
                !memcmp(r->places + s->at, places, n * sizeof *places))
                return r->slot[at] - 1;
        }
        if (r->states < r->states_max && r->places_max - r->placed >= n) {
            r->slot[at] = r->states + 1;
            break;
        }
        forget(r);
    }
    uint32_t s = r->states++;
    r->state[s] = (struct state){(uint32_t)r->placed, n, before};
    if (n) memcpy(r->places + r->placed, places, n * sizeof *places);
    r->placed += n;
    memset(r->cell + s * width, 0, width * sizeof *r->cell);
    return s;
}

/* Does the assertion hold between `before` and the class that follows? */
static int holds(const struct regex *r, enum regex_assert kind, uint32_t before, uint32_t next)
{
    int end = next == r->classes;
    int word = !end && r->after[next] == AFTER_WORD;
    switch (kind) {
    case ASSERT_BEGIN: return before == AT_BEGIN;
    case ASSERT_END: return end;
    case ASSERT_LINE_BEGIN: return before == AT_BEGIN || before == AFTER_LINE;
    case ASSERT_LINE_END: return end || r->after[next] == AFTER_LINE;
    case ASSERT_EDGE: return (before == AFTER_WORD) != word;
    case ASSERT_NO_EDGE: return (before == AFTER_WORD) == word;
    }
    return 0;
}

/* Everything reached from the state's places without consuming; 1 when that is a match. */
static int close_over(struct regex *r, const struct state *s, uint32_t next, uint32_t *count)
{
    uint32_t depth = 0;
    *count = 0;
    r->round++;
    for (uint32_t i = s->count; i-- > 0;) r->stack[depth++] = r->places[s->at + i];
    for (uint32_t i = 0; i < depth; i++) r->mark[r->stack[i]] = r->round;
    while (depth) {
        uint32_t pc = r->stack[--depth], to[2], n = 0;
        const struct regex_inst *x = &r->program.inst[pc];
        switch (x->op) {
        case REGEX_SET: r->reached[(*count)++] = pc; break;
        case REGEX_SPLIT: to[n++] = x->y, to[n++] = x->x; break;
        case REGEX_JUMP: to[n++] = x->x; break;
        case REGEX_ASSERT:
            if (holds(r, (enum regex_assert)x->x, s->before, next)) to[n++] = pc + 1;
            break;
        default: return 1;
        }
        while (n) {
            if (r->mark[to[--n]] == r->round) continue;
            r->mark[to[n]] = r->round;
            r->stack[depth++] = to[n];
        }
    }
    return 0;
}

/* Work out one cell. Every step may also begin a match: the first place is always there. */
static uint32_t step(struct regex *r, uint32_t from, uint32_t class)
{
    struct state s = r->state[from];
    size_t cell = from * (size_t)(r->classes + 1) + class;
    uint32_t count, n = 0, to;
    if (close_over(r, &s, class, &count)) return r->cell[cell] = MATCHED;
    if (class == r->classes) return r->cell[cell] = FAILED;
    r->kernel[n++] = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct regex_inst *x = &r->program.inst[r->reached[i]];
        if (r->member[x->x * (size_t)r->classes + class]) r->kernel[n++] = r->reached[i] + 1;
    }
    qsort(r->kernel, n, sizeof *r->kernel, by_value);
    uint32_t states = r->states;
    to = state_of(r, r->kernel, n, r->after[class]);
    if (r->states >= states) r->cell[cell] = to; /* else all was forgotten, this state too */
    return to;
}

int regex_find(struct regex *r, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t width = r->classes + 1;
    uint32_t none = 0, s = state_of(r, &none, 1, AT_BEGIN), next;
    for (size_t i = 0; i < n;) {
        uint32_t c = p[i], class;
        if (c < 128) {
            class = r->ascii[c];
            i++;
        } else {
            i += (size_t)utf8_next(&c, NULL, p + i, n - i);
            class = r->owner[interval(r, c)];
        }
        next = r->cell[s * width + class];
        if (next < FIRST_STATE) {
            if (next == UNKNOWN) next = step(r, s, class);
            if (next == MATCHED) return 1;
        }
        s = next;
    }
    next = r->cell[s * width + r->classes];
    if (next == UNKNOWN) next = step(r, s, r->classes);
    return next == MATCHED;
}

/* Room for states, and for the work of a step. */
static void make_room(struct regex *r)
{
    size_t width = r->classes + 1, count = r->program.count;
    r->states_max = (uint32_t)(TABLE_CELLS / width);
    if (r->states_max > STATES_MAX) r->states_max = STATES_MAX;
    if (count < 10 && r->states_max > 8u << count) r->states_max = 8u << count; /* all there are */
    if (r->states_max < STATES_MIN) r->states_max = STATES_MIN;
    r->places_max = r->states_max * (count + 1);
    if (r->places_max > PLACES_MAX) r->places_max = PLACES_MAX;
    for (r->slots = 16; r->slots < 2 * (size_t)r->states_max;) r->slots *= 2;
    r->state = mem_alloc(r->states_max * sizeof *r->state);
    r->cell = mem_alloc(r->states_max * width * sizeof *r->cell);
    r->places = mem_alloc(r->places_max * sizeof *r->places);
    r->slot = mem_alloc(r->slots * sizeof *r->slot);
    r->mark = mem_alloc(count * sizeof *r->mark);
    r->stack = mem_alloc(count * sizeof *r->stack);
    r->reached = mem_alloc(count * sizeof *r->reached);
    r->kernel = mem_alloc((count + 1) * sizeof *r->kernel);
    forget(r);
}

int regex_new(struct regex **out, size_t *at, const char *pattern, size_t n)
{
    struct regex *r = mem_alloc(sizeof *r);
    int rc = regex_compile(&r->program, at, pattern, n);
    if (!rc) {
        add_context(&r->program);
        find_bounds(r);
        find_classes(r);
        if (r->program.sets * r->classes > MEMBERS_MAX)
            rc = err_set(ERR_USAGE, "the pattern is too large");
    }
    if (!rc) {
        find_members(r);
        find_contexts(r);
        make_room(r);
    }
    *out = rc ? NULL : r;
    if (rc) regex_free(r);
    return rc;
}

void regex_free(struct regex *r)
{
    if (!r) return;
    regex_program_release(&r->program);
    free(r->bound);
    free(r->owner);
    free(r->member);
    free(r->after);
    free(r->state);
    free(r->cell);
    free(r->places);
    free(r->slot);
    free(r->mark);
    free(r->stack);
    free(r->reached);
    free(r->kernel);
    free(r);
}
