/* regex_parse.c - a pattern to a program, by way of a small tree: a counted repetition is its part
 * emitted as often as it may occur, so the runner knows no counters. The program's size is bounded,
 * and with it everything that follows from it. */
#include "text/regex_inside.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 100, REPEAT_MAX = 1000, PATTERN_MAX = 64 << 10 };
enum { SETS_MAX = 8192, RANGES_MAX = 1 << 18 };
enum { FLAG_CASE = 1, FLAG_DOTALL = 2, FLAG_LINES = 4 };

enum piece_kind { PIECE_EMPTY, PIECE_SET, PIECE_ASSERT, PIECE_CAT, PIECE_ALT, PIECE_REP };

struct piece {
    enum piece_kind kind;
    uint32_t x;                /* set or assertion */
    int min, max;              /* of a repetition; max < 0: no limit */
    struct piece *part, *next; /* the first part, and the next one of the whole it belongs to */
};

struct parser {
    const unsigned char *text;
    size_t n, at, wrong; /* wrong: the byte an error is about */
    unsigned flags;
    int depth;
    size_t ranges;  /* of all sets */
    size_t emitted; /* pieces, empty ones too: a repetition of nothing costs time */
    struct arena pieces;
    struct map known; /* sets by their bytes */
    struct regex_program *out;
};

static int refuse(struct parser *p, size_t at, const char *what)
{
    p->wrong = at;
    return err_set(ERR_USAGE, "%s", what);
}

static struct piece *piece_new(struct parser *p, enum piece_kind kind)
{
    struct piece *x = arena_zalloc(&p->pieces, sizeof *x);
    x->kind = kind;
    return x;
}

static int more(const struct parser *p)
{
    return p->at < p->n;
}

static int looking_at(const struct parser *p, const char *text)
{
    size_t n = strlen(text);
    return p->n - p->at >= n && !memcmp(p->text + p->at, text, n);
}

static uint32_t next_rune(struct parser *p)
{
    uint32_t c;
    p->at += (size_t)utf8_next(&c, NULL, p->text + p->at, p->n - p->at);
    return c;
}

/* Give the set to the program, or find the same one there; the set is gone. */
static uint32_t keep_set(struct parser *p, struct charset *s)
{
    struct regex_program *out = p->out;
    charset_tidy(s);
    const char *key = s->count ? (const char *)s->range : "";
    uint64_t *at = map_at(&p->known, key, s->count * sizeof *s->range, 1);
    if (*at) {
        charset_release(s);
    } else {
        vec_push(out->set, out->sets, out->sets_cap);
        out->set[out->sets++] = *s;
        p->ranges += s->count;
        *at = out->sets;
    }
    return (uint32_t)(*at - 1);
}

static struct piece *set_piece(struct parser *p, struct charset *s)
{
    struct piece *x = piece_new(p, PIECE_SET);
    x->x = keep_set(p, s);
    return x;
}

static struct piece *rune_piece(struct parser *p, uint32_t c)
{
    struct charset s = {0};
    charset_add(&s, c, c);
    if (p->flags & FLAG_CASE) charset_fold(&s);
    return set_piece(p, &s);
}

static struct piece *assert_piece(struct parser *p, enum regex_assert kind)
{
    struct piece *x = piece_new(p, PIECE_ASSERT);
    x->x = kind;
    p->out->asserts |= 1u << kind;
    return x;
}

/* \d \D \w \W \s \S into the set; 0 when c is none of them. */
static int add_class(struct charset *s, uint32_t c)
{
    struct charset one = {0};
    uint32_t kind = c | 32;
    if (kind == 'w') {
        charset_word(&one);
    } else if (kind == 'd') {
        for (size_t i = 0; i < unicode_range_count; i++) {
            uint32_t next = i + 1 < unicode_range_count ? unicode_ranges[i + 1] >> 8 : RUNE_MAX + 1;
            if (unicode_ranges[i] & RUNE_DIGIT) charset_add(&one, unicode_ranges[i] >> 8, next - 1);
        }
    } else if (kind == 's') {
        for (uint32_t r = 0; r <= 0x3000; r++)
            if (unicode_is_space(r)) charset_add(&one, r, r);
    } else {
        return 0;
    }
    if (c != kind) charset_invert(&one);
    for (size_t i = 0; i < one.count; i++) charset_add(s, one.range[i].from, one.range[i].to);
    charset_release(&one);
    return 1;
}

static int hex_digits(struct parser *p, uint32_t *c, int digits)
{
    size_t start = p->at - 2;
    *c = 0;
    for (int i = 0; i < digits; i++, p->at++) {
        int d = more(p) ? p->text[p->at] : 0;
        if (d >= '0' && d <= '9')
            d -= '0';
        else if ((d | 32) >= 'a' && (d | 32) <= 'f')
            d = (d | 32) - 'a' + 10;
        else
            return refuse(p, start, "an escape with too few hexadecimal digits");
        *c = *c << 4 | (uint32_t)d;
    }
    if (*c > RUNE_MAX || (*c >= 0xD800 && *c < 0xE000))
        return refuse(p, start, "an escape that is no character");
    return 0;
}

/* The character that stands behind a backslash, for those that mean one character. */
static int escaped_rune(struct parser *p, uint32_t *c)
{
    static const char letters[] = "afnrtv", codes[] = "\a\f\n\r\t\v";
    size_t start = p->at - 1;
    if (!more(p)) return refuse(p, start, "a backslash with nothing behind it");
    *c = next_rune(p);
    const char *at = *c < 128 && *c ? strchr(letters, (int)*c) : NULL;
    if (at) {
        *c = (unsigned char)codes[at - letters];
    } else if (*c == 'x' || *c == 'u' || *c == 'U') {
        return hex_digits(p, c, *c == 'x' ? 2 : *c == 'u' ? 4 : 8);
    } else if (*c >= '1' && *c <= '9') {
        return refuse(p, start, "back-references cannot be matched in linear time");
    } else if (*c == '0') {
        *c = 0;
    } else if (*c < 128 && (*c | 32) >= 'a' && (*c | 32) <= 'z') {
        return refuse(p, start, "an unknown escape");
    }
    return 0;
}

/* One end of a range, or a class, inside brackets: 1 when it was a class. */
static int class_item(struct parser *p, struct charset *s, uint32_t *c)
{
    *c = next_rune(p);
    if (*c != '\\') return 0;
    if (more(p) && add_class(s, p->text[p->at])) return p->at++, 1;
    if (more(p) && p->text[p->at] == 'b') return p->at++, *c = '\b', 0;
    return escaped_rune(p, c);
}

static int parse_items(struct parser *p, struct charset *s, size_t start)
{
    for (int first = 1;; first = 0) {
        uint32_t from, to;
        size_t at = p->at;
        if (!more(p)) return refuse(p, start, "a '[' without its ']'");
        if (!first && p->text[p->at] == ']') return 0;
        if (looking_at(p, "[:"))
            return refuse(p, at, "classes such as [:alpha:] are not known; write \\w, \\d or \\s");
        int rc = class_item(p, s, &from);
        if (rc < 0) return rc;
        if (rc) continue;
        to = from;
        if (p->n - p->at >= 2 && p->text[p->at] == '-' && p->text[p->at + 1] != ']') {
            p->at++;
            if ((rc = class_item(p, s, &to)) < 0) return rc;
            if (rc || to < from) return refuse(p, at, "a range whose ends are not in order");
        }
        charset_add(s, from, to);
    }
}

static int parse_class(struct parser *p, struct piece **out)
{
    struct charset s = {0};
    size_t start = p->at++;
    int inverted = more(p) && p->text[p->at] == '^';
    p->at += (size_t)inverted;
    int rc = parse_items(p, &s, start);
    if (rc) {
        charset_release(&s);
        return rc;
    }
    p->at++;
    if (p->flags & FLAG_CASE) charset_fold(&s);
    if (inverted) charset_invert(&s);
    *out = set_piece(p, &s);
    return 0;
}

static int parse_escape(struct parser *p, struct piece **out)
{
    struct charset s = {0};
    uint32_t c;
    p->at++;
    int letter = more(p) ? p->text[p->at] : 0;
    p->at += letter != 0;
    switch (letter) {
    case 'A': *out = assert_piece(p, ASSERT_BEGIN); return 0;
    case 'Z':
    case 'z': *out = assert_piece(p, ASSERT_END); return 0;
    case 'b': *out = assert_piece(p, ASSERT_EDGE); return 0;
    case 'B': *out = assert_piece(p, ASSERT_NO_EDGE); return 0;
    default: break;
    }
    if (add_class(&s, (uint32_t)letter)) {
        *out = set_piece(p, &s);
        return 0;
    }
    p->at -= letter != 0;
    int rc = escaped_rune(p, &c);
    if (!rc) *out = rune_piece(p, c);
    return rc;
}

static struct piece *dot(struct parser *p)
{
    struct charset s = {0};
    if (!(p->flags & FLAG_DOTALL)) charset_add(&s, '\n', '\n');
    charset_invert(&s);
    return set_piece(p, &s);
}

/* As Python has it, $ also stands before a line feed that ends the text. */
static struct piece *dollar(struct parser *p)
{
    if (p->flags & FLAG_LINES) return assert_piece(p, ASSERT_LINE_END);
    struct charset feed = {0};
    struct piece *alt = piece_new(p, PIECE_ALT), *cat = piece_new(p, PIECE_CAT);
    charset_add(&feed, '\n', '\n');
    cat->part = set_piece(p, &feed);
    cat->part->next = assert_piece(p, ASSERT_END);
    alt->part = assert_piece(p, ASSERT_END);
    alt->part->next = cat;
    return alt;
}

static int parse_alternatives(struct parser *p, struct piece **out);

/* The letters of (?ims) or (?ims: */
static int parse_flags(struct parser *p, size_t start)
{
    for (; more(p) && p->text[p->at] != ')' && p->text[p->at] != ':'; p->at++) {
        switch (p->text[p->at]) {
        case 'i': p->flags |= FLAG_CASE; break;
        case 's': p->flags |= FLAG_DOTALL; break;
        case 'm': p->flags |= FLAG_LINES; break;
        case 'u': break;
        case '=':
        case '!':
        case '<': return refuse(p, start, "look-around cannot be matched in linear time");
        default: return refuse(p, start, "an unknown kind of group; known: (?: (?i (?s (?m (?P<");
        }
    }
    return 0;
}

/* What stands between "(" and the expression in it: 1 when the group is over already. */
static int parse_group_kind(struct parser *p, size_t start)
{
    if (!looking_at(p, "?")) return 0;
    if (looking_at(p, "?P<")) {
        const unsigned char *end = memchr(p->text + p->at, '>', p->n - p->at);
        if (!end) return refuse(p, start, "a group's name without its '>'");
        p->at = (size_t)(end - p->text) + 1;
        return 0;
    }
    p->at++;
    if (looking_at(p, "P"))
        return refuse(p, start, "back-references cannot be matched in linear time");
    int rc = parse_flags(p, start);
    if (rc) return rc;
    if (!more(p)) return refuse(p, start, "a '(' without its ')'");
    return p->text[p->at++] == ')';
}

static int parse_group(struct parser *p, struct piece **out)
{
    size_t start = p->at++;
    unsigned outside = p->flags;
    int rc = parse_group_kind(p, start);
    if (rc) { /* flags alone hold until the end of the group around them */
        *out = piece_new(p, PIECE_EMPTY);
        return rc < 0 ? rc : 0;
    }
    if (++p->depth > DEPTH_MAX) return refuse(p, start, "groups are nested too deep");
    rc = parse_alternatives(p, out);
    p->depth--;
    if (!rc && !more(p)) rc = refuse(p, start, "a '(' without its ')'");
    p->at++;
    p->flags = outside;
    return rc;
}

static int parse_atom(struct parser *p, struct piece **out)
{
    switch (p->text[p->at]) {
    case '(': return parse_group(p, out);
    case '[': return parse_class(p, out);
    case '\\': return parse_escape(p, out);
    case '*':
    case '+':
    case '?': return refuse(p, p->at, "nothing to repeat");
    case '.': *out = dot(p); break;
    case '^':
        *out = assert_piece(p, p->flags & FLAG_LINES ? ASSERT_LINE_BEGIN : ASSERT_BEGIN);
        break;
    case '$': *out = dollar(p); break;
    default: *out = rune_piece(p, next_rune(p)); return 0;
    }
    p->at++;
    return 0;
}

static size_t parse_count(const struct parser *p, size_t at, int *v)
{
    size_t start = at;
    for (*v = 0; at < p->n && p->text[at] >= '0' && p->text[at] <= '9'; at++)
        if (*v <= REPEAT_MAX) *v = 10 * *v + (p->text[at] - '0');
    return at - start;
}

/* {m} {m,} {,n} {m,n}: the bytes it takes, or 0 when it is only text, as in Python. */
static size_t braces(const struct parser *p, int *min, int *max)
{
    size_t at = p->at + 1, low = parse_count(p, at, min), high = 0;
    at += low;
    *max = *min;
    if (at < p->n && p->text[at] == ',') {
        high = parse_count(p, ++at, max);
        at += high;
        if (!high) *max = -1;
    } else if (!low) {
        return 0;
    }
    return at < p->n && p->text[at] == '}' ? at + 1 - p->at : 0;
}

static size_t quantifier(const struct parser *p, int *min, int *max)
{
    *min = 0;
    *max = -1;
    if (!more(p)) return 0;
    switch (p->text[p->at]) {
    case '*': return 1;
    case '+': *min = 1; return 1;
    case '?': *max = 1; return 1;
    case '{': return braces(p, min, max);
    default: return 0;
    }
}

static int parse_repeat(struct parser *p, struct piece **out)
{
    int min, max, rc = parse_atom(p, out);
    if (rc) return rc;
    size_t at = p->at, n = quantifier(p, &min, &max);
    if (!n) return 0;
    if (min > REPEAT_MAX || max > REPEAT_MAX) return refuse(p, at, "more than 1000 repetitions");
    if (max >= 0 && max < min) return refuse(p, at, "a repetition whose ends are not in order");
    struct piece *rep = piece_new(p, PIECE_REP);
    rep->part = *out;
    rep->min = min;
    rep->max = max;
    *out = rep;
    p->at += n;
    if (looking_at(p, "?")) p->at++; /* greedy or not, it occurs or it does not */
    at = p->at;
    return quantifier(p, &min, &max) ? refuse(p, at, "a repetition of a repetition") : 0;
}

static int parse_sequence(struct parser *p, struct piece **out)
{
    struct piece *cat = piece_new(p, PIECE_CAT), **tail = &cat->part;
    *out = cat;
    while (more(p) && p->text[p->at] != '|' && p->text[p->at] != ')') {
        int rc = parse_repeat(p, tail);
        if (rc) return rc;
        if (p->out->sets > SETS_MAX || p->ranges > RANGES_MAX)
            return refuse(p, 0, "the pattern is too large");
        tail = &(*tail)->next;
    }
    return 0;
}

static int parse_alternatives(struct parser *p, struct piece **out)
{
    struct piece *alt = piece_new(p, PIECE_ALT), **tail = &alt->part;
    *out = alt;
    for (;;) {
        int rc = parse_sequence(p, tail);
        if (rc) return rc;
        tail = &(*tail)->next;
        if (!more(p) || p->text[p->at] != '|') return 0;
        p->at++;
    }
}

/* ---- the program ---- */

static uint32_t put(struct parser *p, enum regex_op op, uint32_t x, uint32_t y)
{
    struct regex_program *out = p->out;
    vec_push(out->inst, out->count, out->cap);
    out->inst[out->count] = (struct regex_inst){op, x, y};
    return (uint32_t)out->count++;
}

static int emit(struct parser *p, const struct piece *x);

static int emit_alternatives(struct parser *p, const struct piece *x)
{
    uint32_t last = UINT32_MAX; /* the jumps to the end, each naming the one before */
    for (const struct piece *part = x->part; part; part = part->next) {
        uint32_t split = part->next ? put(p, REGEX_SPLIT, 0, 0) : 0;
        int rc = emit(p, part);
        if (rc) return rc;
        if (!part->next) break;
        last = put(p, REGEX_JUMP, last, 0);
        p->out->inst[split].x = split + 1;
        p->out->inst[split].y = (uint32_t)p->out->count;
    }
    while (last != UINT32_MAX) {
        uint32_t before = p->out->inst[last].x;
        p->out->inst[last].x = (uint32_t)p->out->count;
        last = before;
    }
    return 0;
}

static int emit_repeat(struct parser *p, const struct piece *x)
{
    int rc = 0;
    for (int i = 0; i < x->min && !rc; i++) rc = emit(p, x->part);
    if (x->max < 0 && !rc) {
        uint32_t split = put(p, REGEX_SPLIT, 0, 0);
        rc = emit(p, x->part);
        put(p, REGEX_JUMP, split, 0);
        p->out->inst[split].x = split + 1;
        p->out->inst[split].y = (uint32_t)p->out->count;
    }
    for (int i = x->min; i < x->max && !rc; i++) { /* one more, or not; either way the next one */
        uint32_t split = put(p, REGEX_SPLIT, 0, 0);
        rc = emit(p, x->part);
        p->out->inst[split].x = split + 1;
        p->out->inst[split].y = (uint32_t)p->out->count;
    }
    return rc;
}

static int emit(struct parser *p, const struct piece *x)
{
    int rc = 0;
    if (p->out->count > REGEX_PROGRAM_MAX || p->emitted++ > 10 * REGEX_PROGRAM_MAX)
        return refuse(p, 0, "the pattern is too large");
    switch (x->kind) {
    case PIECE_EMPTY: break;
    case PIECE_SET: put(p, REGEX_SET, x->x, 0); break;
    case PIECE_ASSERT: put(p, REGEX_ASSERT, x->x, 0); break;
    case PIECE_CAT:
        for (const struct piece *part = x->part; part && !rc; part = part->next) rc = emit(p, part);
        break;
    case PIECE_ALT: return emit_alternatives(p, x);
    case PIECE_REP: return emit_repeat(p, x);
    }
    return rc;
}

int regex_compile(struct regex_program *out, size_t *at, const char *pattern, size_t n)
{
    struct parser p = {.text = (const unsigned char *)pattern, .n = n, .out = out};
    struct piece *all;
    memset(out, 0, sizeof *out);
    int rc = n > PATTERN_MAX ? refuse(&p, 0, "the pattern is too large") : 0;
    if (!rc && !utf8_valid(pattern, n)) rc = refuse(&p, 0, "the pattern is not UTF-8");
    if (!rc) rc = parse_alternatives(&p, &all);
    if (!rc && more(&p)) rc = refuse(&p, p.at, "a ')' without its '('");
    if (!rc) rc = emit(&p, all);
    put(&p, REGEX_MATCH, 0, 0);
    *at = p.wrong;
    map_release(&p.known);
    arena_release(&p.pieces);
    if (rc) regex_program_release(out);
    return rc;
}

void regex_program_release(struct regex_program *p)
{
    for (size_t i = 0; i < p->sets; i++) charset_release(&p->set[i]);
    free(p->set);
    free(p->inst);
    memset(p, 0, sizeof *p);
}
